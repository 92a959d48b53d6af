// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/golden"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func run(t *testing.T, ctx context.Context, names ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := Run(ctx, &out, names...)
	return out.String(), err
}

func TestRun_Output(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, err := run(t, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, "demo.golden", out)
	})
}

// The clock of the machine must not show.
func TestRun_SameUnderTheRealClock(t *testing.T) {
	t.Parallel()
	const node = "aws-nitro"
	out, err := run(t, t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		want, err := run(t, t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		if out != want {
			t.Errorf("under the real clock:\n%s\nunder the bubble's:\n%s", out, want)
		}
	})
}

func TestRun_FitsTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, err := run(t, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%d columns: %s", n, line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("blanks at the end: %q", line)
			}
		}
	})
}

func TestRun_UnknownNode(t *testing.T) {
	if _, err := run(t, t.Context(), "no-such-node"); err == nil {
		t.Error("no error")
	}
}

func TestRun_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := run(t, ctx, "aws-nitro"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
}

// The walk leaves a node as it found it, but for the disk, which has grown and
// lost its first contents.
func TestWalk_LeavesNothingBehind(t *testing.T) {
	for _, name := range simhost.Names() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, err := newWalk(name)
				if err != nil {
					t.Fatal(err)
				}
				defer w.node.Close()
				before := w.node.Snapshot()
				if _, err := w.run(t.Context(), &strings.Builder{}); err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(simhost.Diff(before, w.node.Snapshot())) {
					if !strings.Contains(line, "disk "+w.platform.disk) {
						t.Errorf("left behind: %s", line)
					}
				}
				if n := w.node.OpenHandles(); n != 0 {
					t.Errorf("%d handles are open", n)
				}
				if v := w.node.Violations(); len(v) > 0 {
					t.Errorf("WMI was misused: %q", v)
				}
			})
		})
	}
}

func TestShorten(t *testing.T) {
	for _, test := range []struct{ name, change, want string }{
		{"short", "~ disk a state: detached -> attached", "~ disk a state: detached -> attached"},
		{"media", "~ disk a media: 1 -> 2", ""},
		{
			"ids",
			`+ volume \\?\Volume{2b7f7f86-1710-43cf-a4fa-c21e62de6b0b}\: NTFS in units of 4096, serial 83914f64, id 00cc4d19-0f16-454e-9913-fd56c05e4044`,
			`+ volume \\?\Volume{2b7f7f86...}\: NTFS`,
		},
		{
			"long",
			"~ x: " + strings.Repeat("a", 40) + " -> " + strings.Repeat("b", 50),
			"~ x: " + strings.Repeat("a", 40) + "\n" + margin + "  -> " + strings.Repeat("b", 50),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := shorten(test.change)
			if got != test.want || ok != (test.want != "") {
				t.Errorf("got %q, %t, want %q", got, ok, test.want)
			}
		})
	}
}

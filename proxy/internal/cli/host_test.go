// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func TestLocalHost_OffWindows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this is Windows")
	}
	want := "error: --host local: this machine runs " + runtime.GOOS + ", not Windows: unsupported operation\n" +
		"hint: try a simulated node: --host sim:aws-nitro, or csi-proxy demo\n"
	for _, args := range [][]string{
		{"disk", "list"},
		{"disk", "partition", "1"},
		{"filesystem", "rmdir", "/tmp", "--force", "--yes", "--host", "local"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			if r := runAlone(args...); r.code != 6 || r.out != "" || r.err != want {
				t.Errorf("%s", r.transcript(args))
			}
		})
	}
}

func TestSimulatedHost(t *testing.T) {
	for _, name := range simhost.Names() {
		t.Run(name, func(t *testing.T) {
			spec, err := simhost.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			r := runAlone("disk", "list", "--host", "sim:"+name)
			if want := 1 + len(spec.Disks) + len(spec.Attachable); r.code != 0 || r.err != "" || strings.Count(r.out, "\n") != want {
				t.Errorf("%swant %d lines", r.transcript(nil), want)
			}
		})
	}
	t.Run("file", func(t *testing.T) {
		if r := runAlone("disk", "list", "--host", "sim:testdata/node.json"); r.code != 0 || !strings.Contains(r.out, "BLANK 1") {
			t.Errorf("%s", r.transcript(nil))
		}
	})
	t.Run("asks nothing", func(t *testing.T) {
		if r := runAlone("disk", "online", "2", "--host", "sim:testdata/node.json"); r.code != 0 || r.out != "disk 2 is online\n" {
			t.Errorf("%s", r.transcript(nil))
		}
	})
	t.Run("no file", func(t *testing.T) {
		want := "error: --host sim:nowhere: neither a file nor one of " + strings.Join(simhost.Names(), ", ")
		if r := runAlone("disk", "list", "--host", "sim:nowhere"); r.code != 3 || !strings.HasPrefix(r.err, want) {
			t.Errorf("%s", r.transcript(nil))
		}
	})
	t.Run("bad file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "node.json")
		if err := os.WriteFile(path, []byte(`{"version": 1, "disks": [], "colour": "red"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := runAlone("disk", "list", "--host", "sim:"+path); r.code != 1 || !strings.Contains(r.err, "colour") {
			t.Errorf("%s", r.transcript(nil))
		}
	})
}

// answers are what a person may say when asked.
var answers = []struct {
	name   string
	answer *string
	yes    bool
	code   int
	done   bool
	once   bool // enough to see of one change
}{
	{name: "nobody", code: 2},
	{name: "no", answer: text("n\n"), code: 1},
	{name: "yes", answer: text("y\n"), done: true},
	{name: "just enter", answer: text("\n"), code: 1, once: true},
	{name: "end of input", answer: text(""), code: 2, once: true},
	{name: "yes and end of input", answer: text("y"), done: true, once: true},
	{name: "the whole word", answer: text("Yes\n"), done: true, once: true},
	{name: "--yes", yes: true, done: true, once: true},
}

// On the local host, what changes something asks first, and nothing else does.
func TestLocalHost_AsksBeforeChanges(t *testing.T) {
	for _, test := range methods {
		t.Run(test.method, func(t *testing.T) {
			for _, person := range answers {
				if test.changed == "" && person.name != "nobody" || person.once && test.method != "disk.SetDiskState" {
					continue
				}
				t.Run(person.name, func(t *testing.T) {
					s := newSite(t)
					s.prepare(test.before)
					before := s.node.Snapshot()
					s.local, s.person = true, person.answer
					args := test.args
					if person.yes {
						args = append([]string{"--yes"}, args...)
					}

					r := s.run(args...)

					changed := simhost.Diff(before, s.node.Snapshot())
					asked := strings.HasPrefix(r.err, "About to ") && strings.Contains(r.err, " on this machine. Go on? [y/N] ")
					switch {
					case test.changed == "": // only asks, or is harmless
						if r.code != 0 || r.err != "" {
							t.Errorf("%s", r.transcript(args))
						}
					case person.done:
						if r.code != 0 || !strings.Contains(changed, test.changed) || asked == person.yes {
							t.Errorf("%schanged %q", r.transcript(args), changed)
						}
					default:
						if r.code != person.code || changed != "" || r.out != "" || asked != (person.answer != nil) {
							t.Errorf("%schanged %q", r.transcript(args), changed)
						}
					}
				})
			}
		})
	}
}

// A person who interrupts the question has not said yes, and need not wait.
func TestLocalHost_QuestionInterrupted(t *testing.T) {
	s := newSite(t)
	s.local = true
	before := s.node.Snapshot()
	in, person := io.Pipe()
	defer func() { _ = person.Close() }()
	ctx, interrupt := context.WithCancel(t.Context())
	asked := interruptOn{interrupt}
	a := newApp(Streams{In: in, Out: io.Discard, Err: asked, Terminal: true}, s.open)
	if code := a.run(ctx, []string{"disk", "partition", "1"}); code != 130 {
		t.Errorf("got exit code %d, want 130", code)
	}
	if changed := simhost.Diff(before, s.node.Snapshot()); changed != "" {
		t.Errorf("changed %s", changed)
	}
}

// interruptOn interrupts at the first thing that is written.
type interruptOn struct{ interrupt func() }

func (i interruptOn) Write(text []byte) (int, error) {
	i.interrupt()
	return len(text), nil
}

func text(s string) *string { return &s }

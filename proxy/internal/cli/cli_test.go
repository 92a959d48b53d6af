// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/golden"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// runAlone runs a command line as main does.
func runAlone(args ...string) result {
	var out, err strings.Builder
	code := Run(context.Background(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	return result{out.String(), err.String(), code}
}

func TestHelp(t *testing.T) {
	var out strings.Builder
	var help func(cmd *cobra.Command, path ...string)
	help = func(cmd *cobra.Command, path ...string) {
		args := append(path, "--help")
		r := runAlone(args...)
		if r.code != 0 || r.err != "" {
			t.Errorf("%s", r.transcript(args))
		}
		out.WriteString(r.transcript(args))
		for _, c := range cmd.Commands() {
			help(c, append(path, c.Name())...)
		}
	}
	help((&app{}).rootCommand())
	golden.Compare(t, "help.golden", out.String())
}

func TestVersion(t *testing.T) {
	r := runAlone("version")
	if want := fmt.Sprintf("%s/%s %s\n", runtime.GOOS, runtime.GOARCH, runtime.Version()); r.code != 0 || !strings.HasPrefix(r.out, "csi-proxy ") || !strings.HasSuffix(r.out, want) {
		t.Errorf("got %+v", r)
	}
}

func TestDemo(t *testing.T) {
	if r := runAlone("demo", "--node", "gce-scsi"); r.code != 0 || r.err != "" || !strings.Contains(r.out, "17. detach") {
		t.Errorf("got %+v", r)
	}
	if r := runAlone("demo", "--scenario", "smb"); r.code != 0 || r.err != "" || !strings.Contains(r.out, "10. unstage") {
		t.Errorf("got %+v", r)
	}
	if r := runAlone("demo", "--scenario", "none"); r.code != 2 || r.out != "" {
		t.Errorf("got %+v", r)
	}
	if r := runAlone("demo", "--node", "nowhere"); r.code != 2 || r.out != "" {
		t.Errorf("got %+v, want exit code 2", r)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"dsk"}, `error: unknown command "dsk", did you mean disk?` + "\nusage: csi-proxy\n"},
		{[]string{"get", "disks"}, `error: unknown command "get", did you mean csi-proxy disk get?` + "\nusage: csi-proxy\n"},
		{[]string{"delete", "portal"}, `error: unknown command "delete", did you mean csi-proxy iscsi portal delete?` + "\nusage: csi-proxy\n"},
		{[]string{"get", "pods"}, `error: unknown command "get"` + "\nusage: csi-proxy\n"},
		{[]string{"disk", "fly"}, `error: unknown command "fly"` + "\nusage: csi-proxy disk\n"},
		{[]string{"disk", "stats"}, "error: csi-proxy disk stats takes DISK, 0 given\nusage: csi-proxy disk stats DISK [flags]\n"},
		{[]string{"disk", "ids", "1"}, "error: csi-proxy disk ids takes no argument, 1 given\nusage: csi-proxy disk ids [flags]\n"},
		{[]string{"disk", "list", "--fast"}, "error: unknown flag: --fast\nusage: csi-proxy disk list [DISK...] [flags]\n"},
		{[]string{"disk", "list", "--timeout", "soon"}, `error: invalid argument "soon" for "--timeout" flag: time: invalid duration "soon"` + "\nusage: csi-proxy disk list [DISK...] [flags]\n"},
		{[]string{"disk", "stats", "-1", "--host", "sim:aws-nitro"}, "error: unknown shorthand flag: '1' in -1\nusage: csi-proxy disk stats DISK [flags]\n"},
		{[]string{"disk", "stats", "one", "--host", "sim:aws-nitro"}, `error: "one" is no disk number; csi-proxy disk list shows them` + "\n"},
		{[]string{"disk", "stats", "4294967296", "--host", "sim:aws-nitro"}, `error: "4294967296" is no disk number; csi-proxy disk list shows them` + "\n"},
		{[]string{"disk", "list", "--host", "remote"}, `error: no host "remote": --host takes local, sim:NAME or sim:FILE` + "\n"},
		{[]string{"volume", "resize", "C:", "--size", "-1"}, `error: invalid argument "-1" for "--size" flag: no size; write bytes, or a number and one of KiB, MiB, GiB, TiB, PiB, EiB` + "\nusage: csi-proxy volume resize VOLUME [flags]\n"},
		{[]string{"volume", "list", "C:", "--disk", "0", "--host", "sim:aws-nitro"}, "error: --disk is for a list without names\n"},
		{[]string{"version", "now"}, "error: csi-proxy version takes no argument, 1 given\nusage: csi-proxy version [flags]\n"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			if r := runAlone(test.args...); r.code != 2 || r.out != "" || r.err != test.want {
				t.Errorf("got\n%swant\n%s", r.transcript(test.args), test.want)
			}
		})
	}
}

// Who knows kubectl, or a shell, finds the verbs.
func TestAliases(t *testing.T) {
	root := newApp(Streams{}, openHost).rootCommand()
	for given, want := range map[string]string{
		"disk get":            "disk list",
		"disks ls":            "disk list",
		"volumes get":         "volume list",
		"vol describe":        "volume describe",
		"volume expand":       "volume resize",
		"fs rm":               "filesystem rmdir",
		"fs ln":               "filesystem link",
		"shares get":          "smb list",
		"share describe":      "smb show",
		"smb delete":          "smb unmap",
		"iscsi portals get":   "iscsi portal list",
		"iscsi portal create": "iscsi portal add",
		"iscsi login":         "iscsi connect",
		"service get":         "system service",
		"service start":       "system start",
	} {
		cmd, rest, err := root.Find(strings.Fields(given))
		if err != nil || len(rest) > 0 || cmd.CommandPath() != "csi-proxy "+want {
			t.Errorf("%s is %q %q, %v, want %s", given, cmd.CommandPath(), rest, err, want)
		}
	}
}

func TestExitCode(t *testing.T) {
	for kind, want := range map[errdefs.Kind]int{
		errdefs.None:               0,
		errdefs.InvalidArgument:    2,
		errdefs.NotFound:           3,
		errdefs.AlreadyExists:      1,
		errdefs.PermissionDenied:   4,
		errdefs.FailedPrecondition: 1,
		errdefs.Busy:               5,
		errdefs.Unavailable:        5,
		errdefs.ResourceExhausted:  1,
		errdefs.OutOfRange:         1,
		errdefs.Unsupported:        6,
		errdefs.Internal:           1,
		errdefs.Canceled:           130,
		errdefs.DeadlineExceeded:   5,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			var err error
			if kind != errdefs.None {
				err = fmt.Errorf("outside: %w", errdefs.New(kind, "op", "subject", "text"))
			}
			if got := exitCode(err); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
	t.Run("usage", func(t *testing.T) {
		if got := exitCode(fmt.Errorf("outside: %w", &usageError{message: "m"})); got != 2 {
			t.Errorf("got %d, want 2", got)
		}
	})
}

func TestExitCode_OfCommands(t *testing.T) {
	s := newSite(t)
	for _, test := range []struct {
		name string
		args []string
		want int
	}{
		{"done", []string{"disk", "list"}, 0},
		{"precondition", []string{"disk", "partition", "0"}, 1},
		{"wrong volume id", []string{"volume", "stats", `\\?\Volume{1}\`}, 2},
		{"wrong path", []string{"filesystem", "exists", `C:\a\..\b`}, 2},
		{"empty path", []string{"filesystem", "mkdir", ""}, 2},
		{"no such disk", []string{"disk", "stats", "99"}, 3},
		{"no such volume", []string{"volume", "stats", volMissing}, 3},
		{"no such path", []string{"filesystem", "rmdir", `C:\missing`}, 3},
		{"denied", []string{"volume", "formatted", volDenied}, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := s.run(test.args...)
			if r.code != test.want || (r.code != 0) != strings.HasPrefix(r.err, "error: ") {
				t.Errorf("got\n%swant exit code %d", r.transcript(test.args), test.want)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		release := make(chan struct{})
		s.node.OnCall(func(_ simhost.Call, do func() error) error {
			<-release
			return do()
		})
		start := time.Now()

		r := s.run("disk", "stats", "1", "--timeout", "3s")

		close(release)
		synctest.Wait()
		if passed := time.Since(start); r.code != 5 || passed != 3*time.Second || !strings.HasSuffix(r.err, "hint: --timeout gives it another time\n") {
			t.Errorf("after %s\n%s", passed, r.transcript(nil))
		}
	})
}

// What one disk does not tell is a ? in the list, and no reason to fail.
func TestList_WithWhatCannotBeRead(t *testing.T) {
	const geometry = 0x700A0 // IOCTL_DISK_GET_DRIVE_GEOMETRY_EX
	s := newSite(t)
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Code == geometry {
			return errors.New("torn cable")
		}
		return do()
	})
	r := s.run("disk", "list")
	if r.code != 0 || !strings.Contains(r.out, "1     online   ?     1        2") {
		t.Errorf("%s", r.transcript(nil))
	}
	if want := `warning: disk.ListDisks "disk 1": torn cable`; !strings.Contains(r.err, want) {
		t.Errorf("got %q, want %q", r.err, want)
	}
}

// A disk that does not tell its state is not online.
func TestList_StateUnknown(t *testing.T) {
	const attributes = 0x700F0 // IOCTL_DISK_GET_DISK_ATTRIBUTES
	s := newSite(t)
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Code == attributes {
			return errors.New("torn cable")
		}
		return do()
	})
	if r := s.run("disk", "list"); r.code != 0 || !strings.Contains(r.out, "\n1     ?      10.0GiB") {
		t.Errorf("%s", r.transcript(nil))
	}
	if r := s.run("disk", "list", "-o", "json"); r.code != 0 || strings.Contains(r.out, `"state"`) || strings.Contains(r.out, `"readOnly"`) {
		t.Errorf("%s", r.transcript(nil))
	}
	if r := s.run("tree"); r.code != 0 || !strings.Contains(r.out, "! state unknown\n") {
		t.Errorf("%s", r.transcript(nil))
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutput_ThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{
		{"version"},
		{"disk", "list", "--host", "sim:aws-nitro"},
		{"demo", "--node", "aws-nitro"},
	} {
		t.Run(args[0], func(t *testing.T) {
			var stderr strings.Builder
			code := Run(t.Context(), args, Streams{In: strings.NewReader(""), Out: brokenPipe{}, Err: &stderr})
			if code != 1 || stderr.String() != "error: broken pipe\n" {
				t.Errorf("got %d, %q", code, stderr.String())
			}
		})
	}
}

func TestSize(t *testing.T) {
	for _, test := range []struct {
		text string
		want int64
	}{
		{"0", 0},
		{"512", 512},
		{"512B", 512},
		{"1KiB", 1 << 10},
		{"20GiB", 20 << 30},
		{"7EiB", 7 << 60},
		{"8EiB", -1},
		{"-1", -1},
		{"1.5GiB", -1},
		{"GiB", -1},
		{"", -1},
		{"1GB", -1},
		{"9223372036854775808", -1},
	} {
		t.Run(test.text, func(t *testing.T) {
			got := size(-1)
			if err := got.Set(test.text); int64(got) != test.want || (err == nil) != (test.want >= 0) {
				t.Errorf("got %d, %v, want %d", got, err, test.want)
			}
		})
	}
	for bytes, want := range map[size]string{0: "0B", 1023: "1023B", 1024: "1.0KiB", 10723786752: "10.0GiB", 1<<63 - 1: "8.0EiB"} {
		t.Run(want, func(t *testing.T) {
			if got := bytes.String(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

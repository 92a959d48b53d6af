// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/golden"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// Each verb that only asks answers in each format, and the same in each.
func TestFormats(t *testing.T) {
	for _, test := range methods {
		if test.changed != "" {
			continue
		}
		t.Run(test.method, func(t *testing.T) {
			s := newSite(t)
			s.prepare(test.before)
			as := func(flags ...string) string {
				r := s.run(append(slices.Clone(test.args), flags...)...)
				if r.code != 0 {
					t.Fatalf("%s", r.transcript(test.args))
				}
				return r.out
			}
			var fromJSON, fromYAML map[string]any
			if err := json.Unmarshal([]byte(as("-o", "json")), &fromJSON); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(as("-o", "yaml")), &fromYAML); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(fromYAML)
			if err != nil {
				t.Fatal(err)
			}
			if want, _ := json.Marshal(fromJSON); string(again) != string(want) {
				t.Errorf("YAML has %s\nJSON has %s", again, want)
			}
			items, _ := fromJSON["items"].([]any)
			kind, _ := fromJSON["kind"].(string)
			if fromJSON["apiVersion"] != "csi-proxy/v1" || !strings.HasSuffix(kind, "List") || len(items) == 0 {
				t.Errorf("got %v", fromJSON)
			}
			if names := as("-o", "name"); strings.Count(names, "\n") != len(items) || strings.Contains(names, "\n\n") {
				t.Errorf("names %q of %d items", names, len(items))
			}
			table, bare := as(), as("--no-headers")
			if strings.Count(bare, "\n") != len(items) && !test.facts {
				t.Errorf("%d items, without header\n%s", len(items), bare)
			}
			if wide := as("-o", "wide"); len(wide) < len(table) {
				t.Errorf("wide\n%stable\n%s", wide, table)
			}
		})
	}
}

func TestFormats_Golden(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows words its errors itself, in its language")
	}
	s := newSite(t)
	s.prepare([][]string{{"volume", "mount", volD, `C:\mnt`}, {"smb", "map", `\\domain\share`}})
	var out strings.Builder
	for _, args := range [][]string{
		{"disk", "list", "-o", "wide"},
		{"disk", "list", "-o", "name"},
		{"disk", "list", "--no-headers"},
		{"disk", "get", "3", "1"},
		{"disk", "get", "99"},
		{"volume", "get", `C:`, volRAW},
		{"volume", "get", `E:`},
		{"disk", "list", "-o", "json"},
		{"disk", "state", "2", "-o", "json"},
		{"disk", "describe", "0"},
		{"disk", "describe", "2", "-o", "yaml"},
		{"disk", "describe", "99"},
		{"disk", "wait", "serial", "BLANK 1"},
		{"disk", "wait", "t10", "x"},
		{"disk", "wait", "azure-lun", "x"},
		{"volume", "list", "-o", "wide"},
		{"volume", "list", "--disk", "3", "-o", "yaml"},
		{"volume", "list", "--disk", "1", "-o", "json"},
		{"volume", "describe", `C:\mnt`},
		{"volume", "describe", volExt4},
		{"volume", "stats", `C:\mnt`, "-o", "wide"},
		{"volume", "resolve", `C:\mnt`},
		{"volume", "resolve", `C:\mnt`, "-o", "json"},
		{"fs", "exists", `C:\none`, "-o", "json"},
		{"smb", "list", "-o", "yaml"},
		{"system", "service", "MSiSCSI", "-o", "json"},
		{"system", "bios", "-o", "json"},
		{"disk", "list", "-o", "xml"},
		{"disk", "partition", "1", "--dry-run", "-o", "json"},
		{"system", "stop", "Agent", "--dry-run", "-o", "yaml"},
		{"system", "stop", "Agent", "--dry-run", "-o", "name"},
		{"disk", "online", "2", "-o", "json"},
		{"disk", "ready", "2"},
		{"disk", "rescan", "-o", "name"},
		{"disk", "find", "serial", "none"},
		{"volume", "resize", volGrowable, "-o", "yaml"},
		{"volume", "flush", volD, "-o", "name"},
		{"fs", "link-state", `C:\mnt`},
		{"fs", "link-state", `C:\mnt`, "-o", "yaml"},
		{"fs", "mkdir", `C:\new`, "-o", "json"},
		{"smb", "map", `\\domain\share`, "--link", `C:\share`, "-o", "yaml"},
		{"smb", "of", `C:\share`, "-o", "yaml"},
		{"system", "start", "Base", "-o", "yaml"},
		{"disk", "list", "--dry-run"},
	} {
		out.WriteString(s.run(args...).transcript(args))
	}
	golden.Compare(t, "formats.golden", out.String())
}

// --dry-run tells what would be done, and to what, and neither asks nor changes anything,
// wherever it is.
func TestDryRun(t *testing.T) {
	var told strings.Builder
	defer func() {
		if runtime.GOOS != "windows" { // which words its errors itself
			golden.Compare(t, "dryrun.golden", told.String())
		}
	}()
	for _, test := range methods {
		if test.changed == "" && !test.harmless {
			continue
		}
		t.Run(test.method, func(t *testing.T) {
			for _, local := range []bool{true, false} {
				s := newSite(t)
				s.prepare(test.before)
				s.local = local
				before := s.node.Snapshot()
				args := append(slices.Clone(test.args), "--dry-run")
				r := s.run(args...)
				if changed := simhost.Diff(before, s.node.Snapshot()); changed != "" || r.code != 0 || r.err != "" || !strings.HasPrefix(r.out, "would ") {
					t.Errorf("%schanged %s", r.transcript(args), changed)
				}
				if local {
					told.WriteString(r.transcript(args))
				}
			}
		})
	}
	s := newSite(t)
	for _, args := range [][]string{
		{"volume", "format", volExt4, "--overwrite", "--fs", "refs", "--label", "my data", "--unit", "64KiB", "--dry-run"},
		{"volume", "resize", volGrowable, "--size", "20GiB", "--dry-run"},
		{"disk", "partition", "4", "--overwrite", "--dry-run"},
		{"disk", "offline", "3", "--dry-run"},
		{"disk", "offline", "99", "--dry-run"},
		{"volume", "format", volMissing, "--dry-run"},
		{"volume", "unmount", volMissing, `C:\mnt`, "--dry-run"},
		{"fs", "link", `C:\none`, `C:\link`, "--allow-missing"},
		{"fs", "rmdir", `C:\link`, "--dry-run"},
		{"fs", "mkdir", `C:\a\..\b`, "--dry-run"},
		{"smb", "map", `files`, "--dry-run"},
		{"system", "stop", "Nobody", "--dry-run"},
	} {
		told.WriteString(s.run(args...).transcript(args))
	}
}

// A rescan and a flush are only told of, too.
func TestDryRun_Harmless(t *testing.T) {
	for name, test := range map[string]struct {
		args  []string
		calls func(simhost.Call) bool
	}{
		"rescan": {[]string{"disk", "rescan"}, func(c simhost.Call) bool { return strings.Contains(c.Subject, "UpdateHostStorageCache") }},
		"flush":  {[]string{"volume", "flush", volD}, func(c simhost.Call) bool { return c.Method == "Device.Flush" }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			if r := s.run(append(test.args, "--dry-run")...); r.code != 0 || !strings.HasPrefix(r.out, "would ") || slices.ContainsFunc(s.node.Calls().Calls(), test.calls) {
				t.Errorf("%s", r.transcript(nil))
			}
			if r := s.run(test.args...); r.code != 0 || !slices.ContainsFunc(s.node.Calls().Calls(), test.calls) {
				t.Errorf("%s", r.transcript(nil))
			}
		})
	}
}

func TestFormat_Options(t *testing.T) {
	s := newSite(t)
	r := s.run("volume", "format", volRAW, "--fs", "refs", "--label", "my data", "--unit", "64KiB")
	if want := `RAW -> ReFS "my data", 1GiB in units of 65536`; r.code != 0 || !strings.Contains(r.err, want) {
		t.Errorf("%s", r.transcript(nil))
	}
	r = s.run("volume", "format", volRAW, "--fs", "ext4")
	if want := `"ext4" is none of NTFS, ReFS, FAT32, exFAT`; r.code != 2 || !strings.Contains(r.err, want) {
		t.Errorf("%s", r.transcript(nil))
	}
}

func TestWait_TimesOut(t *testing.T) {
	s := newSite(t)
	if r := s.run("disk", "wait", "serial", "nobody's", "--timeout", "1ms"); r.code != 5 {
		t.Errorf("%s", r.transcript(nil))
	}
}

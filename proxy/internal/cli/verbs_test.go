// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/golden"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// Each method of the groups has a verb that does what the method does.
var methods = []struct {
	method   string
	before   [][]string // commands that make the verb possible
	args     []string
	answer   string // a part of the answer
	changed  string // a part of what changed; "" is nothing
	harmless bool   // a change that the node does not show
	facts    bool   // each line of the answer is a fact of one object
}{
	{method: "disk.GetDiskState", args: []string{"disk", "state", "2"}, answer: "offline\n"},
	{method: "disk.GetDiskStats", args: []string{"disk", "stats", "1"}, answer: "10737418240 (10.0GiB)"},
	{method: "disk.ListDiskIDs", args: []string{"disk", "ids"}, answer: `1     "  BLANK 1  "  "Maker  blank-1"`},
	{method: "disk.ListDiskLocations", args: []string{"disk", "locations"}, answer: "1     1        -    2       3\n"},
	{method: "disk.PartitionDisk", args: []string{"disk", "partition", "1"}, answer: "disk 1 is partitioned\n", changed: "disk blank partition 2: basic data"},
	{method: "disk.Rescan", args: []string{"disk", "rescan"}, answer: "1     \"  BLANK 1  \"", harmless: true},
	{method: "disk.SetDiskState", args: []string{"disk", "online", "2"}, answer: "disk 2 is online\n", changed: "~ disk offline state"},
	{method: "disk.DescribeDisk", args: []string{"disk", "describe", "0"}, answer: "needed by Windows  ", facts: true},
	{
		method: "disk.EnsureOnlineWritable", args: []string{"disk", "ready", "2"},
		answer: "disk 2 is online and writable, and was offline and read-only\n", changed: "~ disk offline state",
	},
	{method: "disk.FindDisk", args: []string{"disk", "find", "serial", "BLANK 1"}, answer: "\n1     online  10.0GiB"},
	{method: "disk.GetReadOnly", args: []string{"disk", "is-read-only", "2"}, answer: "yes\n"},
	{method: "disk.ListDisks", args: []string{"disk", "list"}, answer: "\n2     offline  10.0GiB"},
	{method: "disk.SANPolicy", args: []string{"disk", "san-policy"}, answer: "online all\n"},
	{method: "disk.SetReadOnly", args: []string{"disk", "read-only", "1"}, answer: "disk 1 is read-only\n", changed: "~ disk blank state"},
	{method: "disk.WaitForDisk", args: []string{"disk", "wait", "serial", "BLANK 1"}, answer: "\n1     online  10.0GiB"},

	{method: "volume.FormatVolume", args: []string{"volume", "format", volRAW}, answer: volRAW + " is formatted\n", changed: "file system: RAW -> NTFS"},
	{method: "volume.GetClosestVolumeIDFromTargetPath", args: []string{"volume", "closest", `C:\Windows`}, answer: volC + "\n"},
	{method: "volume.GetDiskNumberFromVolumeID", args: []string{"volume", "disk", volD}, answer: "3\n"},
	{
		method: "volume.GetVolumeIDFromTargetPath", before: [][]string{{"volume", "mount", volD, `C:\mnt`}},
		args: []string{"volume", "of", `C:\mnt`}, answer: volD + "\n",
	},
	{method: "volume.GetVolumeStats", args: []string{"volume", "stats", volC}, answer: "21474836480 (20.0GiB)"},
	{method: "volume.IsVolumeFormatted", args: []string{"volume", "formatted", volRAW}, answer: "no\n"},
	{method: "volume.ListVolumesOnDisk", args: []string{"volume", "list", "--disk", "0"}, answer: volC + "  0     C:\\    "},
	{
		method: "volume.MountVolume", args: []string{"volume", "mount", volD, `C:\mnt`},
		answer: volD + ` is mounted at C:\mnt`, changed: `~ file C:\mnt: directory -> mount point`,
	},
	{
		method: "volume.ResizeVolume", args: []string{"volume", "resize", volGrowable}, before: [][]string{{"grow"}},
		answer: volGrowable + " has grown from 3.0GiB to 13.0GiB, of at most 13.0GiB\n", changed: "volume " + volGrowable + " file system: NTFS",
	},
	{
		method: "volume.UnmountVolume", before: [][]string{{"volume", "mount", volD, `C:\mnt`}},
		args: []string{"volume", "unmount", volD, `C:\mnt`}, answer: volD + ` is unmounted from C:\mnt`, changed: `-> directory`,
	},
	{method: "volume.WriteVolumeCache", args: []string{"volume", "flush", volD}, answer: volD + " is flushed\n", harmless: true},
	{method: "volume.DescribeVolume", args: []string{"volume", "describe", `D:\`}, answer: "volume       " + volD, facts: true},
	{method: "volume.Resolve", args: []string{"volume", "resolve", `C:\Windows`}, answer: volC + "  0     3\n"},

	{
		method: "filesystem.CreateSymlink", args: []string{"filesystem", "link", `C:\mnt`, `C:\link`},
		answer: `C:\link leads to C:\mnt`, changed: `+ file C:\link: directory link`,
	},
	{
		method: "filesystem.IsSymlink", before: [][]string{{"filesystem", "link", `C:\mnt`, `C:\link`}},
		args: []string{"filesystem", "is-link", `C:\link`}, answer: "yes\n",
	},
	{
		method: "filesystem.LinkState", before: [][]string{{"filesystem", "link", `C:\none`, `C:\link`, "--allow-missing"}},
		args: []string{"filesystem", "link-state", `C:\link`}, answer: `C:\link  dangling  "symbolic link"  C:\none`,
	},
	{method: "filesystem.Mkdir", args: []string{"filesystem", "mkdir", `C:\a\b`}, answer: `C:\a\b is a directory`, changed: `+ file C:\a\b: directory`},
	{method: "filesystem.PathExists", args: []string{"filesystem", "exists", `C:\mnt`}, answer: "yes\n"},
	{method: "filesystem.PathValid", args: []string{"filesystem", "valid", `C:`}, answer: "yes\n"},
	{method: "filesystem.Rmdir", args: []string{"filesystem", "rmdir", `C:\mnt`}, answer: `C:\mnt is removed`, changed: `- file C:\mnt: directory`},
	{method: "filesystem.RmdirContents", args: []string{"filesystem", "rmdir-contents", `C:\full`}, answer: `C:\full is empty`, changed: `- file C:\full\below: directory`},

	{
		method: "smb.NewSMBGlobalMapping", args: []string{"smb", "map", `//domain/share`, "--link", `C:\link`},
		answer: "//domain/share is mapped\n", changed: `+ smb mapping \\domain\share: OK, encrypted`,
	},
	{
		method: "smb.RemoveSMBGlobalMapping", before: [][]string{{"smb", "map", `\\domain\share`}}, args: []string{"smb", "unmap", `\\domain\share`},
		answer: `\\domain\share is not mapped` + "\n", changed: `- smb mapping \\domain\share`,
	},
	{
		method: "smb.GetMapping", before: mappedShare, args: []string{"smb", "show", `\\domain\share`},
		answer: `\\domain\share  -      OK     yes        yes`,
	},
	{method: "smb.LinkedShare", before: mappedShare, args: []string{"smb", "of", `C:\link`}, answer: `\\domain\share\` + "\n"},
	{method: "smb.ListMappings", before: mappedShare, args: []string{"smb", "list"}, answer: `\\domain\share  -      OK     yes        yes`},

	{
		method: "iscsi.AddTargetPortal", before: initiator, args: []string{"iscsi", "portal", "add", "10.0.0.10"},
		answer: "10.0.0.10:3260 is registered\n", changed: "+ iSCSI portal 10.0.0.10:3260: offers 2 targets",
	},
	{
		method: "iscsi.ConnectTarget", before: portalAdded, args: []string{"iscsi", "connect", "10.0.0.10", iqnOpen},
		answer: iqnOpen + " is connected through 10.0.0.10:3260\n", changed: "+ iSCSI session of " + iqnOpen,
	},
	{
		method: "iscsi.DisconnectTarget", before: connected, args: []string{"iscsi", "disconnect", "10.0.0.10:3260", iqnOpen},
		answer: iqnOpen + " is not connected through 10.0.0.10:3260\n", changed: "- iSCSI session of " + iqnOpen,
	},
	{method: "iscsi.DiscoverTargetPortal", before: portalAdded, args: []string{"iscsi", "portal", "discover", "10.0.0.10"}, answer: iqnOpen + "\n" + iqnCHAP + "\n"},
	{method: "iscsi.GetTargetDisks", before: connected, args: []string{"iscsi", "disks", "10.0.0.10", iqnOpen}, answer: "5\n"},
	{method: "iscsi.ListTargetPortals", before: portalAdded, args: []string{"iscsi", "portal", "list"}, answer: "10.0.0.10  3260\n"},
	{
		method: "iscsi.RemoveTargetPortal", before: portalAdded, args: []string{"iscsi", "portal", "remove", "10.0.0.10"},
		answer: "10.0.0.10:3260 is not registered\n", changed: "- iSCSI portal 10.0.0.10:3260",
	},
	{
		method: "iscsi.SetMutualChapSecret", before: initiator, args: []string{"iscsi", "mutual-chap", "--secret-file", "testdata/secret"},
		answer: "the secret is set\n", changed: "with a secret of its own",
	},

	{method: "system.GetBIOSSerialNumber", args: []string{"system", "bios"}, answer: "0000-0004-8173-2290-5672-1135-24\n"},
	{
		method: "system.GetService", args: []string{"system", "service", "msiscsi"},
		answer: `msiscsi  Stopped  Manual  "Microsoft iSCSI Initiator Service"` + "\n",
	},
	{
		method: "system.StartService", args: []string{"system", "start", "MSiSCSI"},
		answer: "MSiSCSI is running\n", changed: "~ service MSiSCSI: manual, stopped -> manual, running",
	},
	{
		method: "system.StopService", before: [][]string{{"system", "start", "MSiSCSI"}}, args: []string{"system", "stop", "MSiSCSI"},
		answer: "MSiSCSI is stopped\n", changed: "~ service MSiSCSI: manual, running -> manual, stopped",
	},
}

// What comes before the verbs of smb.
var mappedShare = [][]string{{"smb", "map", `\\domain\share`, "--link", `C:\link`}}

// What comes before the verbs of iscsi.
const (
	iqnOpen = "iqn.2020-01.example.san:open"
	iqnCHAP = "iqn.2020-01.example.san:chap"
)

var (
	initiator   = [][]string{{"system", "start", "MSiSCSI"}}
	portalAdded = append(slices.Clip(initiator), []string{"iscsi", "portal", "add", "10.0.0.10"})
	connected   = append(slices.Clip(portalAdded), []string{"iscsi", "connect", "10.0.0.10", iqnOpen})
)

// Each exported method of the groups has a verb, those beyond the interfaces too.
func TestVerbs_CoverTheGroups(t *testing.T) {
	var want []string
	for group, methods := range map[string]reflect.Type{
		"disk":       reflect.TypeFor[*disk.Disk](),
		"volume":     reflect.TypeFor[*volume.Volume](),
		"filesystem": reflect.TypeFor[*filesystem.Filesystem](),
		"smb":        reflect.TypeFor[*smb.SMB](),
		"iscsi":      reflect.TypeFor[*iscsi.ISCSI](),
		"system":     reflect.TypeFor[*system.System](),
	} {
		for i := range methods.NumMethod() {
			want = append(want, group+"."+methods.Method(i).Name)
		}
	}
	var got []string
	for _, m := range methods {
		got = append(got, m.method)
	}
	for _, m := range want {
		if !slices.Contains(got, m) {
			t.Errorf("%s has no verb", m)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d methods, %d verbs for them", len(want), len(got))
	}
}

// Each matcher of the library has a rule.
func TestRules_CoverTheMatchers(t *testing.T) {
	files, err := filepath.Glob("../../../pkg/disk/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var matchers []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Match") {
				matchers = append(matchers, f.Name.Name)
			}
		}
	}
	if len(matchers) == 0 || len(matchers) != len(rules) {
		t.Errorf("%d rules for %d matchers: %q", len(rules), len(matchers), matchers)
	}
}

// questions are the verbs that change nothing. Every other verb takes --dry-run.
var questions = []string{
	"disk describe", "disk find", "disk ids", "disk is-read-only", "disk list", "disk locations", "disk san-policy", "disk state", "disk stats", "disk wait",
	"volume closest", "volume describe", "volume disk", "volume formatted", "volume list", "volume of", "volume resolve", "volume stats",
	"filesystem exists", "filesystem is-link", "filesystem link-state", "filesystem valid",
	"smb list", "smb of", "smb show",
	"iscsi disks", "iscsi portal discover", "iscsi portal list",
	"system bios", "system service",
	"tree",
}

// others are the commands that are no verbs.
var others = []string{"completion", "demo", "help", "version"}

func TestVerbs_TakeTheSameFlags(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "csi-proxy ")
		if slices.Contains(others, path) {
			return
		}
		if cmd.HasSubCommands() {
			for _, below := range cmd.Commands() {
				walk(below)
			}
			return
		}
		t.Run(path, func(t *testing.T) {
			flags := []string{"output", "no-headers", "yes", "host", "timeout"}
			if !slices.Contains(questions, path) {
				flags = append(flags, "dry-run")
			}
			cmd.InheritedFlags() // makes Flag find them
			for _, flag := range flags {
				if cmd.Flag(flag) == nil {
					t.Errorf("no --%s", flag)
				}
			}
			if slices.Contains(questions, path) && cmd.Flag("dry-run") != nil {
				t.Error("--dry-run of what changes nothing")
			}
			if strings.TrimPrefix(cmd.Example, "  ") == cmd.CommandPath() || !strings.HasPrefix(cmd.Example, "  "+cmd.CommandPath()) {
				t.Errorf("no example: %q", cmd.Example)
			}
			_, names, _ := strings.Cut(cmd.Use, " ")
			if name, many := repeated(names); many {
				names = name
			}
			for _, name := range strings.Fields(names) {
				if completers[name] == nil && fixedWords[name] == nil && !slices.Contains(unforeseen, name) {
					t.Errorf("%s is not completed", name)
				}
			}
		})
	}
	walk(newApp(Streams{}, openHost).rootCommand())
}

// unforeseen are arguments that nothing lists, or that shells complete.
var unforeseen = []string{"PATH", "SOURCE", "TARGET", "VALUE", "NAME"}

// prepare runs commands before a test; "grow" stands for the cloud.
func (s *site) prepare(commands [][]string) {
	s.t.Helper()
	for _, args := range commands {
		if args[0] == "grow" {
			if err := s.node.GrowDisk("full", 20<<30); err != nil {
				s.t.Fatal(err)
			}
			continue
		}
		if r := s.run(args...); r.code != 0 {
			s.t.Fatalf("%s", r.transcript(args))
		}
	}
}

func TestVerbs(t *testing.T) {
	for _, test := range methods {
		t.Run(test.method, func(t *testing.T) {
			s := newSite(t)
			s.prepare(test.before)
			before := s.node.Snapshot()

			r := s.run(test.args...)

			if r.code != 0 || !strings.Contains(r.out, test.answer) {
				t.Errorf("got\n%swant %q", r.transcript(test.args), test.answer)
			}
			changed := simhost.Diff(before, s.node.Snapshot())
			if !strings.Contains(changed, test.changed) || test.changed == "" && changed != "" {
				t.Errorf("changed\n%swant %q", changed, test.changed)
			}
			if (r.err != "") != (changed != "") || changed != "" && r.err != "changed on the simulated node:\n"+indent(changed) {
				t.Errorf("said %q of\n%s", r.err, changed)
			}
		})
	}
}

// A disk's life by hand. Commands that fail, and lists, are read best as they
// look.
func TestVerbs_Transcript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows words its errors itself, in its language")
	}
	s := newSite(t)
	var out strings.Builder
	for _, args := range [][]string{
		{"disk", "list"},
		{"volume", "list"},
		{"disk", "partition", "1"},
		{"disk", "partition", "1"},
		{"disk", "partition", "4"},
		{"disk", "partition", "4", "--overwrite"},
		{"disk", "partition", "0"},
		{"disk", "offline", "3"},
		{"disk", "online", "3"},
		{"volume", "list", "--disk", "2"},
		{"volume", "list", "--disk", "3", "--partition", "2"},
		{"volume", "format", volExt4},
		{"volume", "format", volExt4, "--overwrite"},
		{"volume", "formatted", volDenied},
		{"volume", "mount", volD, `C:\mnt`},
		{"volume", "stats", `C:\mnt`},
		{"volume", "stats", `D:`},
		{"volume", "disk", `c:/`},
		{"volume", "mount", volGrowable, `C:\mnt`},
		{"volume", "resize", `C:\mnt`, "--size", "1TiB"},
		{"volume", "unmount", volD, `C:\mnt`},
		{"volume", "of", `C:\mnt`},
		{"volume", "stats", volMissing},
		{"filesystem", "rmdir", `C:\full`},
		{"fs", "rmdir", `C:\full`, "--force"},
		{"fs", "exists", `C:\full`},
		{"fs", "link", `C:\missing`, `C:\link`},
		{"fs", "link", `C:\missing`, `C:\link`, "--allow-missing"},
		{"fs", "is-link", `C:\link`},
		{"smb", "map", `\\domain\share`, "--link", `C:\share`},
		{"smb", "map", `\\domain\share`, "--user", "bob"},
		{"smb", "map", `\\files\data`, "--user", "bob"},
		{"smb", "map", `\\files\data`, "--password-file", "testdata/node.json"},
		{"smb", "map", `files\data`},
		{"smb", "list"},
		{"smb", "show", `C:\share`},
		{"smb", "show", `\\files\data`},
		{"smb", "unmap", `\\domain\share`},
		{"smb", "unmap", `\\domain\share`},
		{"iscsi", "portal", "list"},
		{"system", "start", "MSiSCSI"},
		{"iscsi", "portal", "list"},
		{"iscsi", "portal", "add", "[fd00::10]"},
		{"iscsi", "portal", "add", "10.0.0.99"},
		{"iscsi", "portal", "discover", "fd00::10"},
		{"iscsi", "portal", "discover", "10.0.0.10:33000"},
		{"iscsi", "connect", "fd00::10", iqnCHAP},
		{"iscsi", "connect", "fd00::10", iqnCHAP, "--user", "node1", "--secret-file", "testdata/secret"},
		{"iscsi", "mutual-chap", "--secret-file", "testdata/secret"},
		{"iscsi", "connect", "fd00::10", iqnCHAP, "--user", "node1", "--secret-file", "testdata/secret", "--mutual"},
		{"iscsi", "disks", "fd00::10", iqnCHAP},
		{"iscsi", "connect", "10.0.0.11", iqnCHAP, "--user", "node1", "--secret-file", "testdata/secret"},
		{"disk", "partition", "5"},
		{"iscsi", "disconnect", "fd00::10", iqnCHAP},
		{"iscsi", "disks", "fd00::10", iqnCHAP},
		{"iscsi", "disks", "fd00::10", iqnOpen},
		{"iscsi", "portal", "remove", "fd00::10"},
		{"iscsi", "portal", "remove", "fd00::10"},
		{"system", "bios"},
		{"system", "service", "Agent"},
		{"system", "stop", "Base"},
		{"system", "stop", "Base", "--force"},
		{"system", "start", "Agent"},
		{"system", "stop", "RpcSs", "--force"},
		{"system", "start", "Broken"},
		{"system", "service", "MSi*"},
	} {
		out.WriteString(s.run(args...).transcript(args))
	}
	golden.Compare(t, "transcript.golden", out.String())
}

func TestVolumeArgument(t *testing.T) {
	s := newSite(t)
	s.prepare([][]string{{"volume", "mount", volD, `C:\mnt`}, {"fs", "link", `C:\mnt`, `C:\link`}})
	for _, test := range []struct{ name, want string }{
		{volD, "3\n"},
		{`\\?\VOLUME{D0000000-0000-4000-8000-000000000001}`, "3\n"},
		{`C:\`, "0\n"},
		{`c:/`, "0\n"},
		{`C:`, "0\n"},
		{`C:\mnt`, "3\n"},
		{`C:/mnt`, "3\n"},
		{`\mnt`, "3\n"},
		{`C:\link`, "3\n"},
		{`C:\Windows`, ""},
		{`E:\`, ""},
		{``, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if r := s.run("volume", "disk", test.name); r.out != test.want || (r.code == 0) != (test.want != "") {
				t.Errorf("got %+v, want %q", r, test.want)
			}
		})
	}
}

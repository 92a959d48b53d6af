// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func live(kind filesystem.LinkKind, target, final string) *filesystem.LinkStateResponse {
	return &filesystem.LinkStateResponse{State: filesystem.LiveLink, Kind: kind, Target: target, FinalTarget: final}
}

func dangling(kind filesystem.LinkKind, target, final string) *filesystem.LinkStateResponse {
	return &filesystem.LinkStateResponse{State: filesystem.DanglingLink, Kind: kind, Target: target, FinalTarget: final}
}

// FS-36 to FS-43, V06 to V08, F07: every kind of link, to every kind of end, and
// no handle that stays open.
func TestLinkState(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\dir\sub`)
	s.directory(`C:\t\real\deep`)
	s.file(`C:\t\file`)
	s.mount(`C:\t\mount`, data)
	s.directory(data + `in`)
	s.symlink(`C:\t\link`, `C:\t\dir`)
	s.symlink(`C:\t\slash`, `C:\t\dir\`)
	s.fileLink(`C:\t\filelink`, `C:\t\file`)
	s.symlink(`C:\t\gone`, `C:\t\nowhere`)
	s.symlink(`C:\t\gonedrive`, `Q:\x`)
	s.junction(`C:\t\junction`, `C:\t\dir`)
	s.junction(`C:\t\gonejunction`, `C:\t\nowhere`)
	s.junction(`C:\t\rootjunction`, `D:\`)
	s.symlink(`C:\t\tomount`, `C:\t\mount`)
	s.symlink(`C:\t\intomount`, `C:\t\mount\in`)
	s.symlink(`C:\t\tovolume`, data)
	s.symlink(`C:\t\tolink`, `C:\t\link`)
	s.symlink(`C:\t\togone`, `C:\t\gone`)
	s.symlink(`C:\t\relative`, `dir\sub`)
	s.symlink(`C:\t\dir\up`, `..\file`)
	s.symlink(`C:\t\rooted`, `\t\dir`)
	s.symlink(`C:\t\through`, `C:\t\link\sub`)
	s.symlink(`C:\t\toreal`, `C:\t\real\deep`)
	s.symlink(`C:\t\real\deep\up`, `..\..\dir`)
	s.reparse(`C:\t\dead`, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: `\??\Volume{` + deadID + `}\`})
	s.reparse(`C:\t\rawmount`, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: `\??\` + raw[4:]})
	s.reparse(`C:\t\dedup`, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_DEDUP, Data: []byte{1, 2, 3}})
	s.reparse(`C:\t\cloud`, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_CLOUD, Data: []byte{1}})

	none := &filesystem.LinkStateResponse{}
	tests := []struct {
		rule, path string
		want       *filesystem.LinkStateResponse
	}{
		{"FS-37 directory", `C:\t\dir`, none},
		{"FS-37 file", `C:\t\file`, none},
		{"FS-37 root", `C:\`, none},
		{"FS-37 volume root", data, none},
		{"FS-37 FAT", `F:\`, none},
		{"FS-38 live", `C:\t\link`, live(filesystem.Symlink, `C:\t\dir`, `C:\t\dir`)},
		{"FS-38 trailing backslash", `C:\t\slash`, live(filesystem.Symlink, `C:\t\dir\`, `C:\t\dir`)},
		{"FS-38 file link", `C:\t\filelink`, live(filesystem.Symlink, `C:\t\file`, `C:\t\file`)},
		{"FS-38 dangling", `C:\t\gone`, dangling(filesystem.Symlink, `C:\t\nowhere`, `C:\t\nowhere`)},
		{"FS-38 dangling, no drive", `C:\t\gonedrive`, dangling(filesystem.Symlink, `Q:\x`, `Q:\x`)},
		{"F07 spelled with a backslash", `C:\t\link\`, live(filesystem.Symlink, `C:\t\dir`, `C:\t\dir`)},
		{"F07 file link spelled with a backslash", `C:\t\filelink\`, live(filesystem.Symlink, `C:\t\file`, `C:\t\file`)},
		{"F07 dangling, spelled with a backslash", `C:\t\gone\`, dangling(filesystem.Symlink, `C:\t\nowhere`, `C:\t\nowhere`)},
		{"FS-39 mount folder", `C:\t\mount`, live(filesystem.MountPoint, data, data)},
		{"FS-39 spelled with a backslash", `C:\t\mount\`, live(filesystem.MountPoint, data, data)},
		{"FS-39 RAW volume", `C:\t\rawmount`, live(filesystem.MountPoint, raw, raw)},
		{"V07 dead mount folder", `C:\t\dead`, dangling(filesystem.MountPoint, dead, dead)},
		{"junction", `C:\t\junction`, live(filesystem.Junction, `C:\t\dir`, `C:\t\dir`)},
		{"junction to a drive", `C:\t\rootjunction`, live(filesystem.Junction, `D:\`, `D:\`)},
		{"dangling junction", `C:\t\gonejunction`, dangling(filesystem.Junction, `C:\t\nowhere`, `C:\t\nowhere`)},
		{"FLOW-5 link to a mount folder", `C:\t\tomount`, live(filesystem.Symlink, `C:\t\mount`, data)},
		{"link into a mounted volume", `C:\t\intomount`, live(filesystem.Symlink, `C:\t\mount\in`, `C:\t\mount\in`)},
		{"link to a volume", `C:\t\tovolume`, live(filesystem.Symlink, data, data)},
		{"FS-41 chain", `C:\t\tolink`, live(filesystem.Symlink, `C:\t\link`, `C:\t\dir`)},
		{"FS-41 chain with a dangling end", `C:\t\togone`, dangling(filesystem.Symlink, `C:\t\gone`, `C:\t\nowhere`)},
		{"FS-41 relative", `C:\t\relative`, live(filesystem.Symlink, `dir\sub`, `C:\t\dir\sub`)},
		{"FS-41 relative, up", `C:\t\dir\up`, live(filesystem.Symlink, `..\file`, finalC(s, `t\file`))},
		{"FS-41 relative to the root", `C:\t\rooted`, live(filesystem.Symlink, `\t\dir`, finalC(s, `t\dir`))},
		{"FS-41 up from where the link really is", `C:\t\toreal\up`, live(filesystem.Symlink, `..\..\dir`, finalC(s, `t\dir`))},
		{"target through a link", `C:\t\through`, live(filesystem.Symlink, `C:\t\link\sub`, `C:\t\link\sub`)},
		{"FS-42 deduplicated", `C:\t\dedup`, none},
		{"FS-42 cloud file", `C:\t\cloud`, none},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			got, err := s.state(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: -want +got\n%s", tt.path, diff)
			}
			isLink, err := s.isSymlink(tt.path)
			if err != nil || isLink != (tt.want.State == filesystem.LiveLink) {
				t.Errorf("IsSymlink: got %v, %v", isLink, err)
			}
		})
	}
}

// finalC is a path on C: as a handle names it, by its volume.
func finalC(s *site, path string) string {
	s.Helper()
	f := s.raw(`C:\`, win.OpenFile{Disposition: win.OpenExisting})
	root, err := f.FinalPath(win.VolumeNameGUID)
	s.must(err)
	s.must(f.Close())
	return root + path
}

// FS-44: what upstream's own tests say of files, directories, links and mount
// folders. They take a link for a mount folder, which is BUG 12.
func TestFS44_UpstreamsTables(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\dir`)
	s.file(`C:\t\file`)
	s.mount(`C:\t\mount`, data)
	s.must(s.link(`C:\t\file`, `C:\t\filelink`))
	s.must(s.link(`C:\t\dir`, `C:\t\dirlink`))
	for name, want := range map[string]filesystem.LinkKind{
		"dir": filesystem.NoLink, "file": filesystem.NoLink, "mount": filesystem.MountPoint,
		"filelink": filesystem.Symlink, "dirlink": filesystem.Symlink,
	} {
		s.wantPath(`C:\t\`+name, true)
		if state, err := s.state(`C:\t\` + name); err != nil || state.Kind != want {
			t.Errorf("%s: got %v, %v, want %v", name, state.Kind, err, want)
		}
		if isLink, err := s.isSymlink(`C:\t\` + name); err != nil || isLink != (want != filesystem.NoLink) {
			t.Errorf("IsSymlink(%s): got %v, %v", name, isLink, err)
		}
	}
	s.wantPath(`C:\t\missing`, false)
	if _, err := s.state(`C:\t\missing`); !isNotExist(err) || !strings.Contains(err.Error(), text(win.ERROR_FILE_NOT_FOUND, "The system cannot find the file specified")) {
		t.Errorf("missing: %v", err)
	}
	if resp, err := s.fs.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: "C:\\t\\a\x00"}); resp.Exists || !errors.Is(err, errdefs.ErrInvalidArgument) {
		t.Errorf("NUL: got %v, %v", resp.Exists, err)
	}
}

// FS-36: a missing path is an error, not false.
func TestFS36_MissingPath(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{`C:\missing`, `C:\missing\x`, `Q:\x`} {
		isLink, err := s.isSymlink(path)
		if isLink || !isNotExist(err) {
			t.Errorf("%s: got %v, %v", path, isLink, err)
		}
	}
}

// L06: no chain of links is followed for ever.
func TestLinkState_Loops(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t`)
	s.symlink(`C:\t\self`, `C:\t\self`)
	s.symlink(`C:\t\anycase`, `C:\T\ANYCASE`)
	s.symlink(`C:\t\a`, `C:\t\b`)
	s.symlink(`C:\t\b`, `a`)
	s.junction(`C:\t\j`, `C:\t\j`)
	for i := range 300 {
		s.symlink(fmt.Sprintf(`C:\t\chain%d`, i), fmt.Sprintf(`C:\t\chain%d`, i+1))
	}
	s.directory(`C:\t\chain300`)
	s.symlink(`C:\t\grow`, `C:\t\grow\x`)
	for _, path := range []string{`C:\t\self`, `C:\t\anycase`, `C:\t\a`, `C:\t\j`, `C:\t\chain0`} {
		s.node.Calls().Reset()
		state, err := s.state(path)
		if !errors.Is(err, errdefs.ErrLinkLoop) || errdefs.KindOf(err) != errdefs.FailedPrecondition {
			t.Errorf("%s: %v", path, err)
		}
		if state.Kind == filesystem.NoLink || state.Target == "" {
			t.Errorf("%s: got %+v beside the error", path, state)
		}
		if n := s.node.Calls().Total(); n > 2*64 {
			t.Errorf("%s: %d calls", path, n)
		}
	}
	if state, err := s.state(`C:\t\chain238`); err != nil || state.FinalTarget != `C:\t\chain300` {
		t.Errorf("62 links: got %+v, %v", state, err)
	}
	if _, err := s.state(`C:\t\grow`); err == nil {
		t.Error("a link below itself is live")
	}
	for _, path := range []string{`C:\t\self`, `C:\t\chain0`, `C:\t\grow`} {
		s.wantPath(path, true)
		s.must(s.rmdir(path, true))
		s.wantPath(path, false)
	}
}

// What no path leads to is neither live nor dangling.
func TestLinkState_HostileTargets(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t`)
	for i, target := range []string{`\Device\HarddiskVolume1\`, `\??\GLOBALROOT\Device\x`, `\??\C:`, `\??\C:\a:stream`, `\??\C:\NUL`, `\??\UNC\host\pipe\x`, `\??\Volume{x}\`, `\??\C:\..\x`} {
		path := fmt.Sprintf(`C:\t\%d`, i)
		s.reparse(path, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_SYMLINK, Substitute: target})
		state, err := s.state(path)
		if errdefs.KindOf(err) != errdefs.FailedPrecondition || state.State != filesystem.NotALink || state.Kind != filesystem.Symlink {
			t.Errorf("%s: got %+v, %v", target, state, err)
		}
		s.must(s.rmdir(path, true))
	}
}

// A mount folder is dead or alive in every position of the switches; where that
// cannot be told it is an error.
func TestLinkState_Switches(t *testing.T) {
	for _, sw := range simhost.AllSwitches() {
		t.Run(sw.Name, func(t *testing.T) {
			s := newSiteWith(t, sw.Switches)
			s.mount(`C:\t\mount`, data)
			s.symlink(`C:\t\link`, `C:\t\mount`)
			for _, path := range []string{`C:\t\mount`, `C:\t\link`} {
				if state, err := s.state(path); err != nil || state.State != filesystem.LiveLink {
					t.Errorf("%s: got %v, %v", path, state.State, err)
				}
			}
			s.must(s.node.DetachDisk("data"))
			for _, path := range []string{`C:\t\mount`, `C:\t\link`} {
				if state, err := s.state(path); err != nil || state.State != filesystem.DanglingLink || state.FinalTarget != data {
					t.Errorf("detached, %s: got %+v, %v", path, state, err)
				}
			}
		})
	}
}

func TestFS31_CreateSymlink(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\dir`)
	s.file(`C:\t\file`)
	s.mount(`C:\t\mount`, data)
	s.symlink(`C:\t\alink`, `C:\t\dir`)
	s.fileLink(`C:\t\afile`, `C:\t\file`)
	long := `C:\` + strings.Repeat(strings.Repeat("d", 200)+`\`, 3) + "end"
	s.directory(long)
	tests := []struct{ name, source, target, want string }{
		{"directory", `C:\t\dir`, `C:\t\1`, `directory link to \??\C:\t\dir`},
		{"file", `C:\t\file`, `C:\t\2`, `file link to \??\C:\t\file`},
		{"FLOW-4 mount folder", `C:\t\mount`, `C:\t\3`, `directory link to \??\C:\t\mount`},
		{"link", `C:\t\alink`, `C:\t\4`, `directory link to \??\C:\t\alink`},
		{"file link", `C:\t\afile`, `C:\t\5`, `file link to \??\C:\t\afile`},
		{"volume", data, `C:\t\6`, `directory link to \??\` + data[4:]},
		{"slashes", `c:/t/dir`, `C:/t/7`, `directory link to \??\C:\t\dir`},
		{"rooted", `\t\dir`, `\t\8`, `directory link to \??\C:\t\dir`},
		{"SMB-12 trailing backslash", `C:\t\dir\`, `C:\t\9\`, `directory link to \??\C:\t\dir\`},
		{"F10 long", long, `C:\t\10`, `directory link to \??\` + long},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // FS-32: the same link again
				if err := s.link(tt.source, tt.target); err != nil {
					t.Fatal(err)
				}
			}
			name := `C:\t\` + strings.Trim(tt.target[strings.LastIndexAny(strings.TrimRight(tt.target, `\`), `\/`):], `\/`)
			if want := name + ": " + tt.want; !strings.Contains(strings.Join(s.files(), "\n")+"\n", want+"\n") {
				t.Errorf("no %q in\n%s", want, strings.Join(s.files(), "\n"))
			}
		})
	}
}

// FS-32: anything else at the target is AlreadyExists, and stays.
func TestFS32_CreateSymlinkTaken(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\source`)
	s.file(`C:\t\file`)
	s.directory(`C:\t\dir`)
	s.mount(`C:\t\mount`, data)
	s.symlink(`C:\t\alink`, `C:\t\dir`)
	s.fileLink(`C:\t\filelink`, `C:\t\source`) // of the wrong kind
	s.junction(`C:\t\junction`, `C:\t\source`)
	s.symlink(`C:\t\dangling`, `C:\t\nowhere`)
	s.reparse(`C:\t\odd`, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_SYMLINK, Substitute: `\Device\x`})
	unchanged := s.unchanged()
	for _, name := range []string{"file", "dir", "mount", "alink", "filelink", "junction", "dangling", "odd", "source"} {
		err := s.link(`C:\t\source`, `C:\t\`+name)
		var link *os.LinkError
		if !isExist(err) || !errors.As(err, &link) || link.Op != "symlink" {
			t.Errorf("%s: %v", name, err)
		}
	}
	unchanged()
}

func TestFS33_CreateSymlinkWithoutParent(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t`)
	if err := s.link(`C:\t`, `C:\missing\link`); !isNotExist(err) {
		t.Errorf("got %v", err)
	}
}

// FS-34, F08.
func TestFS34_CreateSymlinkMissingSource(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t`)
	unchanged := s.unchanged()
	if err := s.link(`C:\t\later`, `C:\t\link`); !isNotExist(err) {
		t.Errorf("got %v", err)
	}
	unchanged()

	for range 2 {
		_, err := s.fs.CreateSymlink(t.Context(), &filesystem.CreateSymlinkRequest{SourcePath: `C:\t\later`, TargetPath: `C:\t\link`, AllowMissing: true})
		s.must(err)
	}
	if isLink, err := s.isSymlink(`C:\t\link`); isLink || err != nil {
		t.Errorf("dangling: got %v, %v", isLink, err)
	}
	s.directory(`C:\t\later`) // BUG 9: a file link would stay useless
	if isLink, err := s.isSymlink(`C:\t\link`); !isLink || err != nil {
		t.Errorf("live: got %v, %v", isLink, err)
	}
	s.directory(`C:\t\link\through`)
}

// A path that ends in a separator names a directory: a file there gets no link,
// which nothing could be reached through.
func TestFS34_CreateSymlinkFileAsDirectory(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t`)
	s.file(`C:\t\file`)
	unchanged := s.unchanged()
	if err := s.link(`C:\t\file\`, `C:\t\link`); errdefs.KindOf(err) != errdefs.FailedPrecondition {
		t.Errorf("got %v", err)
	}
	unchanged()
}

// A server that does not answer is not a missing source.
func TestCreateSymlink_SilentServer(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t`)
	for _, allow := range []bool{false, true} {
		_, err := s.fs.CreateSymlink(t.Context(), &filesystem.CreateSymlinkRequest{SourcePath: `\\host\share`, TargetPath: `C:\t\link`, AllowMissing: allow})
		if errdefs.KindOf(err) != errdefs.Unavailable {
			t.Errorf("got %v", err)
		}
	}
}

func TestCreateSymlink_WithoutPrivilege(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t`)
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method == "Files.SymbolicLink" {
			return win.ERROR_PRIVILEGE_NOT_HELD
		}
		return do()
	})
	if err := s.link(`C:\t`, `C:\t\link`); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

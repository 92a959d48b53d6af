// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"fmt"
	"io/fs"
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

func TestCreateSymlink_WithoutPrivilege(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t`)
	s.failOn("Files.SymbolicLink", 0, win.ERROR_PRIVILEGE_NOT_HELD)
	if err := s.link(`C:\t`, `C:\t\link`); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

// What is beyond the lists has a name, too.
func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		filesystem.DanglingLink.String(): "dangling", filesystem.MountPoint.String(): "mount point",
		filesystem.LinkState(3).String(): "unknown", filesystem.LinkKind(-1).String(): "unknown",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// The volumes of a site: data is nowhere mounted and alone on its disk, other is
// D:, and F: is FAT32.
const (
	dataID  = "11111111-1111-1111-1111-111111111111"
	otherID = "22222222-2222-2222-2222-222222222222"
	fatID   = "33333333-3333-3333-3333-333333333333"
	rawID   = "44444444-4444-4444-4444-444444444444"
	deadID  = "99999999-9999-9999-9999-999999999999"
	data    = `\\?\Volume{` + dataID + `}\`
	other   = `\\?\Volume{` + otherID + `}\`
	raw     = `\\?\Volume{` + rawID + `}\`
	dead    = `\\?\Volume{` + deadID + `}\`
	kubelet = `C:\var\lib\kubelet`
	staging = kubelet + `\plugins\kubernetes.io\csi\testplugin-1.csi.io\volume1\globalmount`
)

// site is a simulated node and its filesystem group, with means to set up what
// no driver would.
type site struct {
	*testing.T
	node *simhost.Node
	fs   *filesystem.Filesystem
}

func newSite(t *testing.T) *site {
	t.Helper()
	return newSiteWith(t, simhost.Switches{})
}

// newSiteWith wants every handle closed at the end: a look at a reparse point
// costs none (FS-43, BUG 13).
func newSiteWith(t *testing.T, switches simhost.Switches) *site {
	t.Helper()
	s := &site{T: t, node: newNode(t, switches)}
	s.fs = group(t, s.node)
	t.Cleanup(func() {
		if err := blocking.On(s.node.Host()).Clean(); err != nil {
			t.Error(err)
		}
		if n := s.node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
	})
	return s
}

func newNode(t *testing.T, switches simhost.Switches) *simhost.Node {
	t.Helper()
	disk := func(name string, partitions ...simhost.PartitionSpec) simhost.DiskSpec {
		return simhost.DiskSpec{Name: name, Size: simhost.GiB, Bus: "scsi", Style: "gpt", Address: &simhost.AddressSpec{}, Partitions: partitions}
	}
	volume := func(id, letter, fs string) simhost.PartitionSpec {
		return simhost.PartitionSpec{Size: 100 * simhost.MiB, Volume: &simhost.VolumeSpec{ID: id, FileSystem: fs, Letter: letter}}
	}
	node, err := simhost.New(simhost.NodeSpec{
		Version: simhost.SpecVersion, Name: "site", Switches: switches,
		Directories: []string{kubelet + `\plugins`, kubelet + `\pods`},
		Disks: []simhost.DiskSpec{
			simhost.BootDisk(),
			disk("data", volume(dataID, "", "NTFS")),
			disk("other", volume(otherID, "D", "NTFS"), volume(fatID, "F", "FAT32"), volume(rawID, "", "")),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func group(t *testing.T, node *simhost.Node) *filesystem.Filesystem {
	t.Helper()
	fs, err := filesystem.New(node.Filesystem())
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// extended is the form that the boundary takes.
func extended(path string) string {
	if strings.HasPrefix(path, `\\?\`) {
		return path
	}
	return `\\?\` + path
}

// raw opens or creates through the boundary.
func (s *site) raw(path string, how win.OpenFile) win.File {
	s.Helper()
	how.Access |= win.Synchronize | win.FileReadAttributes
	f, err := s.node.Host().Files.Open(nil, extended(path), how)
	if err != nil {
		s.Fatalf("%s: %v", path, err)
	}
	return f
}

// directory makes a directory and its parents.
func (s *site) directory(path string) {
	s.Helper()
	root := strings.IndexByte(path[4:], '\\') + 5
	if path[1] == ':' {
		root = 3
	}
	for end := root; end < len(path); {
		next := strings.IndexByte(path[end:], '\\')
		if next < 0 {
			next = len(path) - end
		}
		end += next
		f, err := s.node.Host().Files.Open(nil, extended(path[:end]), win.OpenFile{
			Access: win.Synchronize, Disposition: win.CreateNew, Options: win.FileDirectoryFile,
		})
		if err == nil {
			s.must(f.Close())
		} else if !errors.Is(err, win.ERROR_ALREADY_EXISTS) {
			s.Fatalf("%s: %v", path[:end], err)
		}
		end++
	}
}

func (s *site) file(path string) {
	s.Helper()
	s.must(s.node.AddFile(path, 1))
}

// symlink makes a directory link.
func (s *site) symlink(path, target string) {
	s.Helper()
	s.must(s.node.Host().Files.SymbolicLink(extended(path), target, win.SymbolicLinkFlagDirectory))
}

func (s *site) fileLink(path, target string) {
	s.Helper()
	s.must(s.node.Host().Files.SymbolicLink(extended(path), target, 0))
}

// reparse makes a directory a reparse point, behind the mount manager's back.
func (s *site) reparse(path string, point abi.ReparsePoint) {
	s.Helper()
	s.directory(path)
	f := s.raw(path, win.OpenFile{Access: win.FileWriteAttributes, Disposition: win.OpenExisting})
	b, err := point.Encode()
	s.must(err)
	_, err = f.Control(abi.FSCTL_SET_REPARSE_POINT, b, nil)
	s.must(err)
	s.must(f.Close())
}

func (s *site) junction(path, target string) {
	s.Helper()
	s.reparse(path, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: `\??\` + target, Print: target})
}

// mount mounts a volume at a new directory.
func (s *site) mount(path, volume string) {
	s.Helper()
	s.directory(path)
	s.must(s.node.Host().Mounts.SetPoint(path+`\`, volume))
}

func (s *site) readOnly(path string) {
	s.Helper()
	f := s.raw(path, win.OpenFile{Access: win.FileWriteAttributes, Disposition: win.OpenExisting})
	s.must(f.SetInformation(abi.FileBasicInfoClass, abi.FileBasicInfo{Attributes: abi.FILE_ATTRIBUTE_READONLY}.Encode()))
	s.must(f.Close())
}

// files are the names on all volumes and what they are, without those that
// every site has.
func (s *site) files() []string {
	var list []string
	for line := range strings.Lines(string(s.node.Snapshot())) {
		fact, ok := strings.CutPrefix(strings.TrimSpace(line), "file ")
		if ok && !strings.HasPrefix(fact, `C:\Windows`) {
			list = append(list, fact)
		}
	}
	return list
}

// mountManager is what the mount manager knows.
func (s *site) mountManager() []string {
	var list []string
	for line := range strings.Lines(string(s.node.Snapshot())) {
		if fact, ok := strings.CutPrefix(strings.TrimSpace(line), "mount manager "); ok {
			list = append(list, fact)
		}
	}
	return list
}

func (s *site) wantPath(path string, want bool) {
	s.Helper()
	resp, err := s.fs.PathExists(s.Context(), &filesystem.PathExistsRequest{Path: path})
	if err != nil || resp.Exists != want {
		s.Errorf("PathExists(%q): got %v, %v, want %v", path, resp.Exists, err, want)
	}
}

// unchanged returns a check that no file has changed since.
func (s *site) unchanged() func() {
	before := s.node.Snapshot()
	return func() {
		s.Helper()
		if after := s.node.Snapshot(); after != before {
			s.Errorf("changed:\n%s", simhost.Diff(before, after))
		}
	}
}

// rmdir and rmdirContents want a response also on success (FS-29, BUG 8).
func (s *site) rmdir(path string, force bool) error {
	resp, err := s.fs.Rmdir(s.Context(), &filesystem.RmdirRequest{Path: path, Force: force})
	if resp == nil {
		s.Error("Rmdir: nil response")
	}
	return err
}

func (s *site) rmdirContents(path string) error {
	resp, err := s.fs.RmdirContents(s.Context(), &filesystem.RmdirContentsRequest{Path: path})
	if resp == nil {
		s.Error("RmdirContents: nil response")
	}
	return err
}

func (s *site) mkdir(path string) error {
	resp, err := s.fs.Mkdir(s.Context(), &filesystem.MkdirRequest{Path: path})
	if resp == nil {
		s.Error("Mkdir: nil response")
	}
	return err
}

func (s *site) link(source, target string) error {
	resp, err := s.fs.CreateSymlink(s.Context(), &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
	if resp == nil {
		s.Error("CreateSymlink: nil response")
	}
	return err
}

func (s *site) isSymlink(path string) (bool, error) {
	resp, err := s.fs.IsSymlink(s.Context(), &filesystem.IsSymlinkRequest{Path: path})
	return resp.IsSymlink, err
}

func (s *site) state(path string) (*filesystem.LinkStateResponse, error) {
	return s.fs.LinkState(s.Context(), &filesystem.LinkStateRequest{Path: path})
}

// isNotExist and isExist are as drivers ask. Package os knows the numbers of
// Windows only there.
func isNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && (runtime.GOOS != "windows" || os.IsNotExist(err))
}

func isExist(err error) bool {
	return errors.Is(err, fs.ErrExist) && (runtime.GOOS != "windows" || os.IsExist(err))
}

// failOn fails the calls of a method, with a code of their own where that is
// not 0.
func (s *site) failOn(method string, code uint32, with error) {
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method == method && (code == 0 || c.Code == code) {
			return with
		}
		return do()
	})
}

// mountAgain mounts the other volume at a path as soon as its mount point is gone.
func (s *site) mountAgain(path string) {
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		err := do()
		if c.Method == "Mounts.DeletePoint" && err == nil {
			s.node.OnCall(nil)
			s.reparse(path, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: `\??\Volume{` + otherID + `}\`})
		}
		return err
	})
}

// over puts files in the place of the node's.
func (s *site) over(files win.Files) {
	s.Helper()
	h := s.node.Host()
	fs, err := filesystem.New(hostapi.On(&win.Host{Devices: h.Devices, Mounts: h.Mounts, Files: files, System: h.System, WMI: h.WMI}))
	s.must(err)
	s.fs = fs
}

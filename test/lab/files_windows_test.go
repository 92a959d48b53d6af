// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// With the hook: what the boundary says of files and mounts is what the node
// says.
func TestFilesAndMounts(t *testing.T) {
	shipped(t, func(t *testing.T, name string) {
		node, twin := named(t, name), named(t, name)
		l := hooked(t, node)
		want, got := filesAndMounts(t, twin.Host()), filesAndMounts(t, near(l))
		same(t, strings.Split(want, "\n"), strings.Split(got, "\n"))
		if diff := simhost.Diff(twin.Snapshot(), node.Snapshot()); diff != "" {
			t.Error(diff)
		}
	})
}

// filesAndMounts calls each method of Files, File and Mounts, and tells what it
// got.
func filesAndMounts(t *testing.T, h *win.Host) string {
	t.Helper()
	var said strings.Builder
	say := func(what string, results ...any) { fmt.Fprintf(&said, "%s: %+v\n", what, results) }
	open := func(directory win.File, name string, how win.OpenFile) win.File {
		f, err := h.Files.Open(directory, name, how)
		say("open "+name, f != nil, err)
		return f
	}
	shut := func(f win.File) {
		if f != nil {
			say("close", f.Close())
		}
	}
	const (
		rights = win.FileReadAttributes | win.FileReadData
		change = rights | win.FileWriteData | win.Delete | win.FileWriteAttributes
	)
	volumes, err := h.Mounts.Volumes()
	say("volumes", volumes, err)
	for _, volume := range append(volumes, `\\?\Volume{00000000-0000-0000-0000-000000000001}\`, `\\?\Volume{x}\`) {
		paths, err := h.Mounts.Paths(volume)
		say("paths of "+volume, paths, err)
		info, err := h.Mounts.Information(volume)
		say("information", info, err)
		space, err := h.Mounts.FreeSpace(volume)
		say("space", space, err)
	}
	for _, point := range []string{`C:\`, `C:`, `Q:\`, `C:\var\`, `C:\none\`} {
		volume, err := h.Mounts.VolumeAt(point)
		say("volume at "+point, volume, err)
		info, err := h.Mounts.Information(point)
		say("information", info, err)
	}
	root := open(nil, `\\?\C:\`, win.OpenFile{Access: rights, Disposition: win.OpenExisting})
	open(nil, `\\?\C:\none\deeper`, win.OpenFile{Access: rights, Disposition: win.OpenExisting})
	open(root, `none`, win.OpenFile{Access: rights, Disposition: win.OpenExisting})
	folder := open(root, `lab`, win.OpenFile{Access: change, Disposition: win.CreateNew, Options: win.FileDirectoryFile})
	open(root, `lab`, win.OpenFile{Access: rights, Disposition: win.CreateNew, Options: win.FileDirectoryFile})
	if root == nil || folder == nil {
		return said.String()
	}
	for _, name := range []string{"a", "b", "c"} {
		shut(open(folder, name, win.OpenFile{Access: rights, Disposition: win.CreateNew, Options: win.FileDirectoryFile}))
	}
	shut(open(folder, "file", win.OpenFile{Access: rights, Disposition: win.CreateNew, Options: win.FileNonDirectoryFile}))
	open(folder, "file", win.OpenFile{Access: rights, Disposition: win.OpenExisting, Options: win.FileDirectoryFile})
	say("link", h.Files.SymbolicLink(`C:\lab\link`, `C:\lab\a`, win.SymbolicLinkFlagDirectory))
	say("link again", h.Files.SymbolicLink(`C:\lab\link`, `C:\lab\a`, win.SymbolicLinkFlagDirectory))
	say("mount", h.Mounts.SetPoint(`C:\lab\b\`, volumes[0]))
	say("mount again", h.Mounts.SetPoint(`C:\lab\b\`, volumes[0]))
	volume, err := h.Mounts.VolumeAt(`C:\lab\b\`)
	say("mounted", volume, err)
	info, err := h.Mounts.Information(`C:\lab\b\`)
	say("mounted", info, err)
	listed := make([]byte, 4096)
	n, err := folder.List(listed, true)
	entries, bad := abi.DecodeDirEntries(listed[:n])
	say("list", entries, err, bad)
	n, err = folder.List(listed, false)
	say("list on", n, err)
	n, err = folder.List(listed, true)
	entries, bad = abi.DecodeDirEntries(listed[:n])
	say("list anew", entries, err, bad)
	for _, name := range []string{"a", "b", "link", "file"} {
		f := open(folder, name, win.OpenFile{Access: change, Disposition: win.OpenExisting})
		if f == nil {
			continue
		}
		for _, class := range []uint32{
			abi.FileBasicInfoClass, abi.FileStandardInfoClass, abi.FileAttributeTagInfoClass, abi.FileIDInfoClass,
		} {
			for _, room := range []int{64, 4} {
				buf := make([]byte, room)
				n, err := f.Information(class, buf)
				say(fmt.Sprintf("%s class %d", name, class), buf[:n], err)
			}
		}
		buf := make([]byte, 1024)
		n, err := f.Control(abi.FSCTL_GET_REPARSE_POINT, nil, buf)
		say("reparse point", buf[:n], err)
		n, err = f.Control(abi.FSCTL_GET_REPARSE_POINT, nil, buf[:10])
		say("reparse point", buf[:n], err)
		for _, flags := range []uint32{win.VolumeNameDOS, win.VolumeNameGUID} {
			path, err := f.FinalPath(flags)
			say("final path", path, err)
		}
		shut(f)
	}
	say("unmount", h.Mounts.DeletePoint(`C:\lab\b\`))
	say("unmount again", h.Mounts.DeletePoint(`C:\lab\b\`))
	for _, name := range []string{"c", "file", "link"} {
		f := open(folder, name, win.OpenFile{Access: change, Disposition: win.OpenExisting})
		if f == nil {
			continue
		}
		say("delete "+name, f.SetInformation(abi.FileDispositionInfoExClass, abi.EncodeFileDispositionInfoEx(abi.FILE_DISPOSITION_FLAG_DELETE|abi.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS)))
		shut(f)
		open(folder, name, win.OpenFile{Access: rights, Disposition: win.OpenExisting})
	}
	say("delete full", folder.SetInformation(abi.FileDispositionInfoClass, []byte{1}))
	shut(folder)
	shut(root)
	return said.String()
}

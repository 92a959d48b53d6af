// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/lab"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// Whatever the groups do on a node directly they do through the lab: the same
// results, the same boundary calls, the same node afterwards.
func TestGroups(t *testing.T) {
	for name, flow := range map[string]func(t *testing.T, s *session){
		"life of a disk": lifeOfDisk, "paths": paths, "refusals": refusals,
	} {
		t.Run(name, func(t *testing.T) {
			shipped(t, func(t *testing.T, node string) {
				want, got := direct(t, node), through(t, node)
				flow(t, want)
				flow(t, got)
				same(t, want.said, got.said)
				if diff := simhost.Diff(want.node.Snapshot(), got.node.Snapshot()); diff != "" {
					t.Error(diff)
				}
				if err := got.lab.Settle(); err != nil {
					t.Error(err)
				}
				for _, o := range got.lab.Openings() {
					if extra := o.Surplus() &^ mayNeed(o); extra != 0 {
						t.Errorf("%s was opened with %#x, of which %#x was not needed", o.Path, o.Asked, extra)
					}
				}
			})
		})
	}
}

// mayNeed is what must be asked for before it is known whether it is needed.
func mayNeed(o lab.Opening) win.Access {
	const change = win.GenericRead | win.GenericWrite
	switch {
	case strings.HasPrefix(o.Path, `\\?\Volume{`) && o.Asked == change:
		return change // to grow, until the layout says that there is nothing to do
	case o.Asked&win.Delete != 0:
		// What is read-only must first be made writable, and what is no directory
		// cannot be listed.
		return win.FileWriteAttributes | win.FileReadData
	case o.Asked == win.FileReadAttributes|win.FileReadData:
		return win.FileReadData
	}
	return 0
}

// attachable is a disk that a node can attach.
func attachable(t *testing.T, s *session) string {
	t.Helper()
	for _, name := range s.node.Disks() {
		if _, attached := s.node.DiskNumber(name); !attached {
			return name
		}
	}
	t.Fatal("no disk to attach")
	return ""
}

const folder = `C:\var\lib\kubelet\pods\lab\mount`

// lifeOfDisk takes a disk from attach to detach, with every method of disk and
// volume.
func lifeOfDisk(t *testing.T, s *session) {
	t.Helper()
	ctx := t.Context()
	name := attachable(t, s)
	number, err := s.node.AttachDisk(name)
	if err != nil {
		t.Fatal(err)
	}
	rescan, err := s.disk.Rescan(ctx, &disk.RescanRequest{})
	s.say("rescan", rescan, err)
	ids, err := s.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	s.sayOfAll("ids", contents(ids.DiskIDs), err)
	locations, err := s.disk.ListDiskLocations(ctx, &disk.ListDiskLocationsRequest{})
	s.sayOfAll("locations", contents(locations.DiskLocations), err)
	set, err := s.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true})
	s.sayOfAll("set state", set, err) // it reads what Windows needs, for a minute
	for _, online := range []bool{false, true, true} {
		set, err := s.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
		s.say("set state", set, err)
		state, err := s.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: number})
		s.say("state", state, err)
	}
	stats, err := s.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: number})
	s.say("disk stats", stats, err)
	for range 2 {
		partition, err := s.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number})
		s.say("partition", partition, err)
	}
	volumes, err := s.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	s.say("volumes", volumes, err)
	if len(volumes.VolumeIDs) == 0 {
		t.Fatalf("no volume: %v", err)
	}
	s.lifeOfVolume(t, volumes.VolumeIDs[0], name)
	set, err = s.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: false})
	s.say("offline", set, err)
	if err := s.node.DetachDisk(name); err != nil {
		t.Fatal(err)
	}
}

func (s *session) lifeOfVolume(t *testing.T, id, diskName string) {
	t.Helper()
	ctx := t.Context()
	formatted := func() {
		is, err := s.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
		s.say("formatted", is, err)
	}
	stats := func() {
		got, err := s.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: id})
		s.say("volume stats", got, err)
	}
	formatted()
	format, err := s.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id})
	s.say("format", format, err)
	formatted()
	made, err := s.filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: folder})
	s.say("mkdir", made, err)
	for range 2 {
		mount, err := s.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: folder})
		s.say("mount", mount, err)
	}
	at, err := s.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: folder})
	s.say("volume at", at, err)
	made, err = s.filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: folder + `\data\deeper`})
	s.say("mkdir in the volume", made, err)
	closest, err := s.volume.GetClosestVolumeIDFromTargetPath(ctx, &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: folder + `\data`})
	s.say("closest", closest, err)
	number, err := s.volume.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
	s.say("disk of the volume", number, err)
	stats()
	flush, err := s.volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: id})
	s.say("flush", flush, err)
	if err := s.node.GrowDisk(diskName, 5*simhost.TiB); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		resize, err := s.volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: id})
		s.say("resize", resize, err)
		stats()
	}
	for range 2 {
		unmount, err := s.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: folder})
		s.say("unmount", unmount, err)
	}
	removed, err := s.filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: folder})
	s.say("rmdir", removed, err)
}

// contents are the values of a map of pointers.
func contents[K comparable, V any](m map[K]*V) map[K]V {
	values := map[K]V{}
	for k, v := range m {
		values[k] = *v
	}
	return values
}

// paths uses every method of filesystem.
func paths(t *testing.T, s *session) {
	t.Helper()
	ctx := t.Context()
	const root = `C:\var\lib\kubelet\plugins\lab`
	look := func(path string) {
		exists, err := s.filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
		s.say("exists "+path, exists, err)
		valid, err := s.filesystem.PathValid(ctx, &filesystem.PathValidRequest{Path: path})
		s.say("valid", valid, err)
		link, err := s.filesystem.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: path})
		s.say("link", link, err)
		state, err := s.filesystem.LinkState(ctx, &filesystem.LinkStateRequest{Path: path})
		s.say("link state", state, err)
	}
	mkdir := func(path string) {
		made, err := s.filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: path})
		s.say("mkdir "+path, made, err)
	}
	link := func(source, target string) {
		made, err := s.filesystem.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
		s.say("link "+target, made, err)
	}
	remove := func(path string, force bool) {
		removed, err := s.filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: force})
		s.say("rmdir "+path, removed, err)
	}
	look(root)
	mkdir(root + `\a\b\c`)
	mkdir(root + `\a\b\c`)
	if err := s.node.AddFile(root+`\a\b\file`, 1000); err != nil {
		t.Fatal(err)
	}
	link(root+`\a\b`, root+`\to-directory`)
	link(root+`\a\b`, root+`\to-directory`)
	link(root+`\a`, root+`\to-directory`)
	link(root+`\a\b\file`, root+`\to-file`)
	link(root+`\to-directory`, root+`\to-link`)
	link(root+`\missing`, root+`\to-nothing`)
	for _, path := range []string{
		root, root + `\a\b\file`, root + `\to-directory`, root + `\to-file`, root + `\to-link`, root + `\to-link\c`,
		root + `\missing\deeper`, `C:\`, `Q:\none`, `C:\con`, `relative`, `C:\a..b`, `/var/lib/kubelet`,
	} {
		look(path)
	}
	mkdir(root + `\to-directory\d`)
	mkdir(root + `\a\b\file\d`)
	remove(root+`\a`, false)
	remove(root+`\a\b`, true)
	look(root + `\to-link`)
	emptied, err := s.filesystem.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: root})
	s.say("empty", emptied, err)
	look(root + `\to-link`)
	remove(root, false)
	remove(root, false)
	remove(root, true)
}

// refusals asks for what is not there or must not be done.
func refusals(t *testing.T, s *session) {
	t.Helper()
	ctx := t.Context()
	const none = `\\?\Volume{00000000-0000-0000-0000-00000000dead}\`
	for _, number := range []uint32{0, 77} { // Windows' own, and none
		stats, err := s.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: number})
		s.say("disk stats", stats, err)
		set, err := s.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number})
		s.sayOfAll("offline", set, err)
		partition, err := s.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number})
		s.say("partition", partition, err)
		volumes, err := s.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: 1})
		s.say("volumes", volumes, err)
	}
	stats, err := s.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: none})
	s.say("volume stats", stats, err)
	format, err := s.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: none})
	s.say("format", format, err)
	flush, err := s.volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: none})
	s.say("flush", flush, err)
	mount, err := s.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: none, TargetPath: `C:\var`})
	s.say("mount", mount, err)
	unmount, err := s.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: none, TargetPath: `C:\var`})
	s.say("unmount", unmount, err)
	at, err := s.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: `C:\var`})
	s.say("volume at", at, err)
}

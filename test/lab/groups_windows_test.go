// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
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
				compare(t, func() *simhost.Node { return named(t, node) }, flow)
			})
		})
	}
}

// compare runs a flow on a node and through the lab on its twin.
func compare(t *testing.T, node func() *simhost.Node, flow func(t *testing.T, s *session)) {
	t.Helper()
	want, got := direct(t, node()), through(t, node())
	flow(t, want)
	flow(t, got)
	got.sameAs(t, want)
	if err := got.lab.Settle(); err != nil {
		t.Error(err)
	}
	for _, o := range got.lab.Openings() {
		if extra := o.Surplus() &^ mayNeed(o); extra != 0 {
			t.Errorf("%s was opened with %#x, of which %#x was not needed", o.Path, o.Asked, extra)
		}
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
	name := attachable(t, s)
	number, err := s.node.AttachDisk(name)
	if err != nil {
		t.Fatal(err)
	}
	ask(t, s, s.disk.Rescan, &disk.RescanRequest{})
	s.lookForDisk(t, number)
	// It reads what Windows needs, for a minute.
	askOfAll(t, s, s.disk.SetDiskState, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true})
	for _, online := range []bool{false, true, true} {
		ask(t, s, s.disk.SetDiskState, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
		ask(t, s, s.disk.GetDiskState, &disk.GetDiskStateRequest{DiskNumber: number})
	}
	for _, readOnly := range []bool{true, false} {
		ask(t, s, s.disk.SetReadOnly, &disk.SetReadOnlyRequest{DiskNumber: number, IsReadOnly: readOnly})
		ask(t, s, s.disk.GetReadOnly, &disk.GetReadOnlyRequest{DiskNumber: number})
	}
	ask(t, s, s.disk.GetDiskStats, &disk.GetDiskStatsRequest{DiskNumber: number})
	for range 2 {
		ask(t, s, s.disk.PartitionDisk, &disk.PartitionDiskRequest{DiskNumber: number})
	}
	volumes := ask(t, s, s.volume.ListVolumesOnDisk, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	if len(volumes.VolumeIDs) == 0 {
		t.Fatal("no volume")
	}
	s.lifeOfVolume(t, volumes.VolumeIDs[0], name)
	ask(t, s, s.disk.SetDiskState, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: false})
	for range 2 {
		ask(t, s, s.disk.EnsureOnlineWritable, &disk.EnsureOnlineWritableRequest{DiskNumber: number})
	}
	if err := s.node.DetachDisk(name); err != nil {
		t.Fatal(err)
	}
}

// lookForDisk finds a disk among all.
func (s *session) lookForDisk(t *testing.T, number uint32) {
	t.Helper()
	askOfAll(t, s, s.disk.ListDiskIDs, &disk.ListDiskIDsRequest{})
	askOfAll(t, s, s.disk.ListDiskLocations, &disk.ListDiskLocationsRequest{})
	list(t, s, s.disk.SANPolicy)
	askOfAll(t, s, s.disk.DescribeDisk, number)
	disks := list(t, s, s.disk.ListDisks)
	i := slices.IndexFunc(disks, func(d disk.Description) bool { return d.Number == number })
	if i < 0 {
		t.Fatalf("disk %d is not listed", number)
	}
	askOfAll(t, s, s.disk.FindDisk, identity(disks[i]))
	askOfAll(t, s, s.disk.WaitForDisk, identity(disks[i]))
}

// identity finds a disk by what it says of itself. Of one that says nothing it
// is a matcher without a value, which is refused.
func identity(d disk.Description) disk.Matcher {
	for _, i := range d.Identifiers {
		if i.Association == disk.AssociationDevice {
			return disk.MatchPage83(i.Text())
		}
	}
	return disk.MatchSerial(d.Serial())
}

// A disk that arrives while a driver waits for it, which is while Windows looks
// for new ones, is found.
func TestLateDisk(t *testing.T) {
	s := through(t, named(t, simhost.Names()[0]))
	name := attachable(t, s)
	number, err := s.node.AttachDisk(name)
	if err != nil {
		t.Fatal(err)
	}
	disks, err := s.disk.ListDisks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(disks, func(d disk.Description) bool { return d.Number == number })
	if err := s.node.DetachDisk(name); err != nil {
		t.Fatal(err)
	}
	var arrival sync.Once
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method == "Session.Start" {
			arrival.Do(func() { number, err = s.node.AttachDisk(name) })
		}
		return do()
	})
	found, waitErr := s.disk.WaitForDisk(t.Context(), identity(disks[i]))
	s.node.OnCall(nil)
	if err := errors.Join(err, waitErr); err != nil || found.Number != number {
		t.Errorf("disk %d, %v; want disk %d", found.Number, err, number)
	}
}

func (s *session) lifeOfVolume(t *testing.T, id, diskName string) {
	t.Helper()
	ask(t, s, s.volume.IsVolumeFormatted, &volume.IsVolumeFormattedRequest{VolumeID: id})
	ask(t, s, s.volume.FormatVolume, &volume.FormatVolumeRequest{VolumeID: id})
	ask(t, s, s.volume.IsVolumeFormatted, &volume.IsVolumeFormattedRequest{VolumeID: id})
	ask(t, s, s.filesystem.Mkdir, &filesystem.MkdirRequest{Path: folder})
	for range 2 {
		ask(t, s, s.volume.MountVolume, &volume.MountVolumeRequest{VolumeID: id, TargetPath: folder})
	}
	ask(t, s, s.volume.GetVolumeIDFromTargetPath, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: folder})
	ask(t, s, s.filesystem.Mkdir, &filesystem.MkdirRequest{Path: folder + `\data\deeper`})
	ask(t, s, s.volume.GetClosestVolumeIDFromTargetPath, &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: folder + `\data`})
	ask(t, s, s.volume.Resolve, folder+`\data`)
	ask(t, s, s.volume.DescribeVolume, id)
	ask(t, s, s.volume.GetDiskNumberFromVolumeID, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
	ask(t, s, s.volume.GetVolumeStats, &volume.GetVolumeStatsRequest{VolumeID: id})
	ask(t, s, s.volume.WriteVolumeCache, &volume.WriteVolumeCacheRequest{VolumeID: id})
	if err := s.node.GrowDisk(diskName, 5*simhost.TiB); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ask(t, s, s.volume.ResizeVolume, &volume.ResizeVolumeRequest{VolumeID: id})
		ask(t, s, s.volume.GetVolumeStats, &volume.GetVolumeStatsRequest{VolumeID: id})
	}
	for range 2 {
		ask(t, s, s.volume.UnmountVolume, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: folder})
	}
	ask(t, s, s.filesystem.Rmdir, &filesystem.RmdirRequest{Path: folder})
}

// paths uses every method of filesystem.
func paths(t *testing.T, s *session) {
	t.Helper()
	const root = `C:\var\lib\kubelet\plugins\lab`
	look := func(path string) {
		ask(t, s, s.filesystem.PathExists, &filesystem.PathExistsRequest{Path: path})
		ask(t, s, s.filesystem.PathValid, &filesystem.PathValidRequest{Path: path})
		ask(t, s, s.filesystem.IsSymlink, &filesystem.IsSymlinkRequest{Path: path})
		ask(t, s, s.filesystem.LinkState, &filesystem.LinkStateRequest{Path: path})
	}
	mkdir := func(path string) { ask(t, s, s.filesystem.Mkdir, &filesystem.MkdirRequest{Path: path}) }
	link := func(source, target string) {
		ask(t, s, s.filesystem.CreateSymlink, &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
	}
	remove := func(path string, force bool) {
		ask(t, s, s.filesystem.Rmdir, &filesystem.RmdirRequest{Path: path, Force: force})
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
	ask(t, s, s.filesystem.RmdirContents, &filesystem.RmdirContentsRequest{Path: root})
	look(root + `\to-link`)
	remove(root, false)
	remove(root, false)
	remove(root, true)
}

// refusals asks for what is not there or must not be done.
func refusals(t *testing.T, s *session) {
	t.Helper()
	const none = `\\?\Volume{00000000-0000-0000-0000-00000000dead}\`
	for _, number := range []uint32{0, 77} { // Windows' own, and none
		ask(t, s, s.disk.GetDiskStats, &disk.GetDiskStatsRequest{DiskNumber: number})
		askOfAll(t, s, s.disk.SetDiskState, &disk.SetDiskStateRequest{DiskNumber: number})
		ask(t, s, s.disk.SetReadOnly, &disk.SetReadOnlyRequest{DiskNumber: number, IsReadOnly: true})
		ask(t, s, s.disk.EnsureOnlineWritable, &disk.EnsureOnlineWritableRequest{DiskNumber: number})
		askOfAll(t, s, s.disk.DescribeDisk, number)
		ask(t, s, s.disk.PartitionDisk, &disk.PartitionDiskRequest{DiskNumber: number})
		ask(t, s, s.volume.ListVolumesOnDisk, &volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: 1})
	}
	askOfAll(t, s, s.disk.FindDisk, disk.MatchSerial("none"))
	ask(t, s, s.volume.GetVolumeStats, &volume.GetVolumeStatsRequest{VolumeID: none})
	ask(t, s, s.volume.DescribeVolume, none)
	ask(t, s, s.volume.FormatVolume, &volume.FormatVolumeRequest{VolumeID: none})
	ask(t, s, s.volume.WriteVolumeCache, &volume.WriteVolumeCacheRequest{VolumeID: none})
	ask(t, s, s.volume.MountVolume, &volume.MountVolumeRequest{VolumeID: none, TargetPath: `C:\var`})
	ask(t, s, s.volume.UnmountVolume, &volume.UnmountVolumeRequest{VolumeID: none, TargetPath: `C:\var`})
	ask(t, s, s.volume.GetVolumeIDFromTargetPath, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: `C:\var`})
	ask(t, s, s.volume.Resolve, `C:\none`)
}

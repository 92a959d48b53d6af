// SPDX-License-Identifier: Apache-2.0

// Package flow_test replays what CSI drivers do to a node, call by call
// (behaviour.md FLOW), on each shipped node.
package flow_test

import (
	"context"
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// driver is a CSI driver's process on a node. Its methods are what drivers do
// between kubelet and the groups, in their order; the paths are as they pass
// them.
type driver struct {
	disks   disk.Interface
	volumes volume.Interface
	files   filesystem.Interface
}

func newDriver(t *testing.T, node *simhost.Node) driver {
	t.Helper()
	d, err := disk.New(node.Disk())
	v, err2 := volume.New(node.Volume())
	f, err3 := filesystem.New(node.Filesystem())
	for _, err := range []error{err, err2, err3} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return driver{d, v, f}
}

// stage is FLOW-2 as the drivers of GCP and EBS do it; Azure's does not bring
// the disk online. They take the first volume without a look at how many there
// are.
func (d driver) stage(ctx context.Context, number uint32, online bool, path string) (id string, err error) {
	if _, err := d.disks.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return "", err
	}
	if online {
		if _, err := d.disks.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true}); err != nil {
			return "", err
		}
	}
	list, err := d.volumes.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		return "", err
	}
	id = list.VolumeIDs[0]
	formatted, err := d.volumes.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
	if err != nil {
		return id, err
	}
	if !formatted.Formatted {
		if _, err := d.volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id}); err != nil {
			return id, err
		}
	}
	if _, err := d.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: path}); err != nil {
		return id, err
	}
	_, err = d.volumes.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
	return id, err
}

// unstage is FLOW-3 as the drivers of GCP and EBS do it.
func (d driver) unstage(ctx context.Context, path string) error {
	exists, err := d.files.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
	if err != nil || !exists.Exists {
		return err
	}
	at, err := d.volumes.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if err != nil {
		return err
	}
	if _, err := d.volumes.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: at.VolumeID, TargetPath: path}); err != nil {
		return err
	}
	if _, err := d.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: true}); err != nil {
		return err
	}
	number, err := d.volumes.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: at.VolumeID})
	if err != nil {
		return err
	}
	_, err = d.disks.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number.DiskNumber, IsOnline: false})
	return err
}

// publish is FLOW-4: kubelet has made the target, which a link replaces.
func (d driver) publish(ctx context.Context, path, target string) error {
	exists, err := d.files.PathExists(ctx, &filesystem.PathExistsRequest{Path: target})
	if err != nil {
		return err
	}
	if exists.Exists {
		if _, err := d.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: target, Force: true}); err != nil {
			return err
		}
	}
	_, err = d.files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: path, TargetPath: target})
	return err
}

// unpublish is FLOW-4 as the drivers of Azure and EBS do it: the cache is
// written through the link, and whether that works is not looked at.
func (d driver) unpublish(ctx context.Context, target string) error {
	at, err := d.volumes.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: target})
	if err == nil {
		_, _ = d.volumes.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: at.VolumeID})
	}
	_, err = d.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: target, Force: true})
	return err
}

// isMount is FLOW-5: what is not there is no mount.
func (d driver) isMount(ctx context.Context, path string) (bool, error) {
	exists, err := d.files.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
	if err != nil {
		return false, err
	}
	if !exists.Exists {
		return false, os.ErrNotExist
	}
	link, err := d.files.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: path})
	return link.IsSymlink, err
}

// expand is FLOW-10: to all that the disk has, and no more is looked at but the
// size that came of it.
func (d driver) expand(ctx context.Context, path string) (total int64, err error) {
	at, err := d.volumes.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if err != nil {
		return 0, err
	}
	if _, err := d.volumes.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: at.VolumeID, SizeBytes: 0}); err != nil {
		return 0, err
	}
	stats, err := d.volumes.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: at.VolumeID})
	return stats.TotalBytes, err
}

// site is a shipped node whose test is in a bubble.
type site struct {
	*testing.T
	spec simhost.NodeSpec
	node *simhost.Node
	driver
}

func newSite(t *testing.T, name string, switches simhost.Switches) *site {
	t.Helper()
	spec, err := simhost.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	spec.Switches = switches
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		wmi.On(node.Host()).Close()
		if n := node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
	})
	return &site{t, spec, node, newDriver(t, node)}
}

// restart is a new process of the driver, which knows nothing.
func (s *site) restart() { s.driver = newDriver(s.T, s.node) }

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// attach attaches the data disk, as the cloud does.
func (s *site) attach() uint32 {
	s.Helper()
	number, err := s.node.AttachDisk("data")
	s.must(err)
	return number
}

// mkdir is what kubelet or a pod does on the node itself.
func (s *site) mkdir(path string) {
	s.Helper()
	_, err := s.files.Mkdir(s.Context(), &filesystem.MkdirRequest{Path: path})
	s.must(err)
}

// size is that of the data disk when it is attached.
func (s *site) size() simhost.Size {
	s.Helper()
	for _, d := range s.spec.Attachable {
		if d.Name == "data" {
			return d.Size
		}
	}
	s.Fatal("no data disk")
	return 0
}

func (s *site) exists(path string) bool {
	s.Helper()
	got, err := s.files.PathExists(s.Context(), &filesystem.PathExistsRequest{Path: path})
	s.must(err)
	return got.Exists
}

// write leaves a mark in a volume, through its path.
func (s *site) write(path string) {
	s.Helper()
	s.must(s.node.AddFile(path+`\mark`, 4096))
}

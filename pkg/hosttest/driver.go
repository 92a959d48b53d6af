// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"context"
	"io/fs"
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// Driver is a CSI driver's process on a host. Its methods are what drivers do
// between kubelet and the groups, in their order (behaviour.md FLOW); paths go to
// the groups as they are given.
type Driver struct{ Groups }

// Stage is FLOW-2 as the drivers of GCP and EBS do it; Azure's does not bring the
// disk online. They take the first volume without a look at how many there are.
func (d Driver) Stage(ctx context.Context, number uint32, online bool, path string) (id string, err error) {
	if _, err := d.Disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return "", err
	}
	if online {
		if _, err := d.Disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true}); err != nil {
			return "", err
		}
	}
	list, err := d.Volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		return "", err
	}
	id = list.VolumeIDs[0]
	formatted, err := d.Volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
	if err != nil {
		return id, err
	}
	if !formatted.Formatted {
		if _, err := d.Volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id}); err != nil {
			return id, err
		}
	}
	if _, err := d.Filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: path}); err != nil {
		return id, err
	}
	_, err = d.Volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
	return id, err
}

// Unstage is FLOW-3 as the drivers of GCP and EBS do it.
func (d Driver) Unstage(ctx context.Context, path string) error {
	exists, err := d.Filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
	if err != nil || !exists.Exists {
		return err
	}
	at, err := d.Volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if err != nil {
		return err
	}
	if _, err := d.Volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: at.VolumeID, TargetPath: path}); err != nil {
		return err
	}
	if _, err := d.Filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: true}); err != nil {
		return err
	}
	number, err := d.Volume.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: at.VolumeID})
	if err != nil {
		return err
	}
	_, err = d.Disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number.DiskNumber, IsOnline: false})
	return err
}

// Publish is FLOW-4: kubelet has made the target, which a link replaces.
func (d Driver) Publish(ctx context.Context, path, target string) error {
	exists, err := d.Filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: target})
	if err != nil {
		return err
	}
	if exists.Exists {
		if _, err := d.Filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: target, Force: true}); err != nil {
			return err
		}
	}
	_, err = d.Filesystem.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: path, TargetPath: target})
	return err
}

// Unpublish is FLOW-4 as the drivers of Azure and EBS do it: the cache is written
// through the link, and whether that works is not looked at.
func (d Driver) Unpublish(ctx context.Context, target string) error {
	at, err := d.Volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: target})
	if err == nil {
		_, _ = d.Volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: at.VolumeID})
	}
	_, err = d.Filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: target, Force: true})
	return err
}

// IsMount is FLOW-5. For a path that is not there it gives fs.ErrNotExist.
func (d Driver) IsMount(ctx context.Context, path string) (bool, error) {
	exists, err := d.Filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
	if err != nil {
		return false, err
	}
	if !exists.Exists {
		return false, fs.ErrNotExist
	}
	link, err := d.Filesystem.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: path})
	return link.IsSymlink, err
}

// Expand is FLOW-10: to all that the disk has, and no more is looked at but the
// size in bytes that came of it.
func (d Driver) Expand(ctx context.Context, path string) (total int64, err error) {
	at, err := d.Volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if err != nil {
		return 0, err
	}
	if _, err := d.Volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: at.VolumeID, SizeBytes: 0}); err != nil {
		return 0, err
	}
	stats, err := d.Volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: at.VolumeID})
	return stats.TotalBytes, err
}

// StageShare is FLOW-6: the parent of path exists or is made, path does not.
func (d Driver) StageShare(ctx context.Context, remote, parent, path, user, password string) error {
	if _, err := d.Filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: parent}); err != nil {
		return err
	}
	_, err := d.SMB.NewSMBGlobalMapping(ctx, &smb.NewSMBGlobalMappingRequest{RemotePath: remote, LocalPath: path, Username: user, Password: password})
	return err
}

// UnstageShare is FLOW-6 for the last user of a share.
func (d Driver) UnstageShare(ctx context.Context, remote, path string) error {
	if _, err := d.SMB.RemoveSMBGlobalMapping(ctx, &smb.RemoveSMBGlobalMappingRequest{RemotePath: remote}); err != nil {
		return err
	}
	_, err := d.Filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: true})
	return err
}

// StageTarget is FLOW-11 up to the disk, of which the target has one.
func (d Driver) StageTarget(ctx context.Context, portal *iscsi.TargetPortal, iqn, path string) (id string, err error) {
	if _, err := d.ISCSI.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: portal}); err != nil {
		return "", err
	}
	if _, err := d.ISCSI.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{TargetPortal: portal, IQN: iqn}); err != nil {
		return "", err
	}
	if _, err := d.Disk.Rescan(ctx, &disk.RescanRequest{}); err != nil {
		return "", err
	}
	disks, err := d.ISCSI.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: portal, IQN: iqn})
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseUint(disks.DiskIDs[0], 10, 32)
	if err != nil {
		return "", err
	}
	return d.Stage(ctx, uint32(number), true, path)
}

// UnstageTarget is FLOW-11 down again.
func (d Driver) UnstageTarget(ctx context.Context, portal *iscsi.TargetPortal, iqn, id, path string) error {
	if _, err := d.Volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: id}); err != nil {
		return err
	}
	if _, err := d.Volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path}); err != nil {
		return err
	}
	if _, err := d.ISCSI.DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{TargetPortal: portal, IQN: iqn}); err != nil {
		return err
	}
	_, err := d.Filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: true})
	return err
}

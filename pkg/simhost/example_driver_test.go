// SPDX-License-Identifier: Apache-2.0

package simhost_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// driver is what a CSI driver needs of its node.
type driver struct {
	disks   *disk.Disk
	volumes volume.Interface
	files   filesystem.Interface
}

// stage makes the volume ready at a path, as NodeStageVolume does. It may be
// repeated, wherever it stopped.
func (d *driver) stage(ctx context.Context, id, path string) error {
	found, err := d.disks.WaitForDisk(ctx, disk.MatchEBS(id))
	if err != nil {
		return err
	}
	if _, err := d.disks.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: found.Number}); err != nil {
		return err
	}
	list, err := d.volumes.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: found.Number})
	if err != nil {
		return err
	}
	is, err := d.volumes.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: list.VolumeIDs[0]})
	if err != nil {
		return err
	}
	if !is.Formatted {
		if _, err := d.volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: list.VolumeIDs[0]}); err != nil {
			return err
		}
	}
	if _, err := d.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: path}); err != nil {
		return err
	}
	_, err = d.volumes.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: list.VolumeIDs[0], TargetPath: path})
	return err
}

// A driver's unit test runs on any system. Here formatting fails once, kubelet
// calls again, and a third call changes nothing.
func Example_driverTest() {
	spec, err := simhost.Named("aws-nitro")
	if err != nil {
		log.Fatal(err)
	}
	spec.Arrival = 0 // volumes arrive at once
	node, err := simhost.New(spec)
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	disks, err1 := disk.New(node.Disk())
	volumes, err2 := volume.New(node.Volume())
	files, err3 := filesystem.New(node.Filesystem())
	if err := errors.Join(err1, err2, err3); err != nil {
		log.Fatal(err)
	}
	d := &driver{disks, volumes, files}

	// The cloud attaches the disk, and Windows is out of memory when it is formatted.
	if _, err := node.AttachDisk("data"); err != nil {
		log.Fatal(err)
	}
	node.ReturnNext("MSFT_Volume.Format", 40002, false)
	const id, path = "vol-0123456789abcdef0", `C:\var\lib\kubelet\plugins\pv1`
	err = d.stage(context.Background(), id, path)
	fmt.Println("first:", errdefs.KindOf(err))

	fmt.Println("second:", d.stage(context.Background(), id, path))
	before := node.Snapshot()
	fmt.Println("third:", d.stage(context.Background(), id, path))
	fmt.Println("unchanged:", simhost.Diff(before, node.Snapshot()) == "")
	// Output:
	// first: ResourceExhausted
	// second: <nil>
	// third: <nil>
	// unchanged: true
}

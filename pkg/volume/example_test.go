// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// newExample is the volume group of a node with a volume that is not formatted
// yet. On Windows it is volume.New(hostapi.New()).
func newExample(ctx context.Context) (node *simhost.Node, volumes *volume.Volume, id string) {
	spec, err := simhost.Named("aws-nitro")
	if err != nil {
		log.Fatal(err)
	}
	if node, err = simhost.New(spec); err != nil {
		log.Fatal(err)
	}
	number, err := node.AttachDisk("data")
	if err != nil {
		log.Fatal(err)
	}
	disks, err := disk.New(node.Disk())
	if err != nil {
		log.Fatal(err)
	}
	if _, err := disks.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
		log.Fatal(err)
	}
	if volumes, err = volume.New(node.Volume()); err != nil {
		log.Fatal(err)
	}
	list, err := volumes.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		log.Fatal(err)
	}
	return node, volumes, list.VolumeIDs[0]
}

// A volume is formatted, mounted at an empty directory, and unmounted.
func Example() {
	ctx := context.Background()
	_, volumes, id := newExample(ctx)
	const path = `C:\var\lib\kubelet\plugins`

	_, err := volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id})
	fmt.Println(err)
	_, err = volumes.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
	fmt.Println(err)
	mounted, err := volumes.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	fmt.Println(mounted.VolumeID == id, err)
	_, err = volumes.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path})
	fmt.Println(err)
	_, err = volumes.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	fmt.Println(errors.Is(err, errdefs.ErrNotMounted))
	// Output:
	// <nil>
	// <nil>
	// true <nil>
	// <nil>
	// true
}

// What the cloud has grown, ResizeVolume takes, without a rescan.
func ExampleVolume_ResizeVolume() {
	ctx := context.Background()
	node, volumes, id := newExample(ctx)
	if _, err := volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id}); err != nil {
		log.Fatal(err)
	}
	size := func() int64 {
		stats, err := volumes.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: id})
		if err != nil {
			log.Fatal(err)
		}
		return stats.TotalBytes >> 20
	}
	fmt.Println(size(), "MiB")
	if err := node.GrowDisk("data", 20*simhost.GiB); err != nil {
		log.Fatal(err)
	}
	_, err := volumes.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: id})
	fmt.Println(size(), "MiB", err)
	// Output:
	// 10223 MiB
	// 20463 MiB <nil>
}

// An error of IsVolumeFormatted never reads as "format it".
func ExampleVolume_IsVolumeFormatted() {
	ctx := context.Background()
	node, volumes, id := newExample(ctx)
	formatted, err := volumes.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
	fmt.Println(formatted.Formatted, err)

	const partition = 16 << 20 // where it begins on the disk
	if err := node.SetMedia("data", partition, []byte("LUKS\xba\xbe\x00\x02")); err != nil {
		log.Fatal(err)
	}
	formatted, err = volumes.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
	fmt.Println(formatted.Formatted, errors.Is(err, errdefs.ErrForeignContent))
	// Output:
	// false <nil>
	// false true
}

// A database gets large allocation units, and its volume is described.
func ExampleVolume_DescribeVolume() {
	ctx := context.Background()
	_, volumes, id := newExample(ctx)
	const path = `C:\var\lib\kubelet\plugins`

	_, err := volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id, FileSystem: "ext4"})
	fmt.Println(errors.Is(err, errdefs.ErrInvalidArgument))
	_, err = volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id, Label: "SQL", AllocationUnitSize: 64 << 10})
	fmt.Println(err)
	_, err = volumes.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
	fmt.Println(err)
	about, err := volumes.DescribeVolume(ctx, id)
	fmt.Println(about.FileSystem, about.Label, about.Mounts, err)
	at, err := volumes.Resolve(ctx, path)
	fmt.Println(at.VolumeID == id, at.DiskNumber, at.PartitionNumber, err)
	// Output:
	// true
	// <nil>
	// <nil>
	// NTFS SQL [{C:\var\lib\kubelet\plugins false}] <nil>
	// true 1 2 <nil>
}

// SPDX-License-Identifier: Apache-2.0

// Command quickstart takes a disk that a cloud has just attached to a mounted
// volume, on a simulated Windows node and so on any system.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func main() {
	ctx := context.Background()
	spec, err := simhost.Named("aws-nitro")
	check(err)
	node, err := simhost.New(spec)
	check(err)
	_, err = node.AttachDisk("data") // what the cloud does
	check(err)
	disks, _ := disk.New(node.Disk()) // on a Windows node: hostapi.New() of each group
	volumes, _ := volume.New(node.Volume())
	files, _ := filesystem.New(node.Filesystem())

	found, err := disks.WaitForDisk(ctx, disk.MatchEBS("vol-0123456789abcdef0"))
	check(err)
	_, err = disks.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: found.Number})
	check(err)
	list, err := volumes.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: found.Number})
	check(err)
	id, path := list.VolumeIDs[0], `C:\var\lib\kubelet\plugins\data`
	_, err = volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id})
	check(err)
	_, err = files.Mkdir(ctx, &filesystem.MkdirRequest{Path: path})
	check(err)
	_, err = volumes.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
	check(err)
	stats, err := volumes.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: id})
	check(err)
	fmt.Printf("disk %d, serial number %s: %d MiB at %s\n", found.Number, found.SerialNumber, stats.TotalBytes>>20, path)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

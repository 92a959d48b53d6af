// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// newExample is the disk group of a node with an attached disk named data. On
// Windows it is disk.New(hostapi.New()).
func newExample(name string) (*simhost.Node, *disk.Disk) {
	spec, err := simhost.Named(name)
	if err != nil {
		log.Fatal(err)
	}
	node, err := simhost.New(spec)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := node.AttachDisk("data"); err != nil {
		log.Fatal(err)
	}
	disks, err := disk.New(node.Disk())
	if err != nil {
		log.Fatal(err)
	}
	return node, disks
}

// A driver knows its disk by an identifier, never by a number.
func ExampleDisk_FindDisk() {
	_, disks := newExample("vsphere-pvscsi")
	found, err := disks.FindDisk(context.Background(), disk.MatchPage83("6000C295-7A5D-0E1B-2C3D-4E5F60718293"))
	fmt.Println(found.Number, err)

	_, err = disks.FindDisk(context.Background(), disk.MatchPage83("6000c2900000000000000000000000ff"))
	fmt.Println(errors.Is(err, errdefs.ErrNotFound))
	// Output:
	// 1 <nil>
	// true
}

// PartitionDisk is for empty disks: what it does not know it does not touch.
func ExampleDisk_PartitionDisk() {
	node, disks := newExample("aws-nitro")
	if err := node.WriteMedia("data", "ext4"); err != nil {
		log.Fatal(err)
	}
	_, err := disks.PartitionDisk(context.Background(), &disk.PartitionDiskRequest{DiskNumber: 1})
	fmt.Println(errors.Is(err, errdefs.ErrForeignContent))
	fmt.Println(err)

	_, err = disks.PartitionDisk(context.Background(), &disk.PartitionDiskRequest{DiskNumber: 1, Overwrite: true})
	fmt.Println(err)
	// Output:
	// true
	// disk.PartitionDisk "disk 1": foreign content: found ext2, ext3 or ext4; ask for Overwrite to lose it
	// <nil>
}

// Under a SAN policy disks arrive offline and read-only.
func ExampleDisk_EnsureOnlineWritable() {
	_, disks := newExample("vsphere-pvscsi")
	was, err := disks.EnsureOnlineWritable(context.Background(), &disk.EnsureOnlineWritableRequest{DiskNumber: 1})
	fmt.Printf("%+v %v\n", *was, err)

	_, err = disks.EnsureOnlineWritable(context.Background(), &disk.EnsureOnlineWritableRequest{DiskNumber: 0})
	fmt.Println(err)
	// Output:
	// {WasOffline:true WasReadOnly:true} <nil>
	// disk.EnsureOnlineWritable "disk 0": in use by Windows itself: disk 0 holds the boot volume
}

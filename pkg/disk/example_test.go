// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

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

// A disk that arrives while somebody waits is found as soon as it is there.
func ExampleDisk_WaitForDisk() {
	node, disks := newExample("azure-nvme")
	time.AfterFunc(10*time.Millisecond, func() {
		if _, err := node.AttachDisk("data-lun5"); err != nil {
			log.Fatal(err)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	found, err := disks.WaitForDisk(ctx, disk.MatchAzureNVMe(5))
	fmt.Println(found.Number, found.Size>>30, "GiB", err)
	// Output: 2 64 GiB <nil>
}

// A matcher that looks for nothing takes no disk; the error lists what there is.
func ExampleDisk_FindDisk_candidates() {
	_, disks := newExample("azure-scsi")
	_, err := disks.FindDisk(context.Background(), disk.MatchSerial(""))
	fmt.Println(err)
	// Output:
	// disk.FindDisk "serial number \"\"": invalid argument: the matcher has no value to look for; there are disk 0 (SAS, page 83 "600224808f1c2b7ad34e5f6011223301", address 0:0:0:0), disk 1 (SAS, page 83 "600224808f1c2b7ad34e5f6011223302", address 0:0:0:1), disk 2 (SAS, page 83 "600224803b9ae5f1a0c4d2e655667701", address 1:0:0:0)
}

// A disk in full, for people and logs.
func ExampleDisk_DescribeDisk() {
	_, disks := newExample("san-fibre")
	d, err := disks.DescribeDisk(context.Background(), 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range d.Identifiers {
		fmt.Printf("%s of the %s, %s: %q\n", id.Type, id.Association, id.CodeSet, id.Text())
	}
	fmt.Printf("%s, %d GiB in sectors of %d\n", d.BusType, d.Size>>30, d.SectorSize)
	fmt.Printf("offline %v, read-only %v, reason: %s\n", d.State.Offline, d.State.ReadOnly, d.Provider.OfflineReason)
	policy, err := disks.SANPolicy(context.Background())
	fmt.Println("new disks:", policy, err)
	// Output:
	// T10 vendor id of the target, ASCII: "NETAPP  "
	// NAA of the device, binary: "600a098038304441462b4e5274545130"
	// T10 vendor id of the device, ASCII: "NETAPP   LUN 80DAF+NRtTQ0"
	// relative port of the port, binary: "00000007"
	// target port group of the port, binary: "000003e8"
	// SCSI name of the target, UTF-8: "naa.500A09808D1E2F3A"
	// Fibre Channel, 100 GiB in sectors of 512
	// offline true, read-only true, reason: SAN policy
	// new disks: offline shared <nil>
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

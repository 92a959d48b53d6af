// SPDX-License-Identifier: Apache-2.0

package simhost_test

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// A new disk arrives offline and read-only on a vSphere node; PartitionDisk
// makes it ready.
func Example() {
	if err := partitionNewDisk(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ~ disk data state: attached as 1, offline, read-only -> attached as 1, online
	// ~ disk data table: none -> GPT, 10737383936 bytes usable, id e0bbdb7b-a03f-4621-8a47-add87b277820
	// ~ disk data media: cbf29ce484222325 -> 71e01653a46a4926
	// + disk data partition 1: reserved, 16367KiB at 17KiB, id 983aa92f-7555-4e1f-af12-6ebea20521dd
	// + disk data partition 2: basic data, 10223MiB at 16MiB, id 00cc4d19-0f16-454e-9913-fd56c05e4044
	// + volume \\?\Volume{971d80ab-3f97-44bb-a71b-95dc6ccd775e}\: on disk data, 10223MiB at 16MiB
	// + volume \\?\Volume{971d80ab-3f97-44bb-a71b-95dc6ccd775e}\ file system: RAW
}

func partitionNewDisk(ctx context.Context) error {
	spec, err := simhost.Named("vsphere-pvscsi")
	if err != nil {
		return err
	}
	spec.Arrival = 0 // do not let the example wait
	node, err := simhost.New(spec)
	if err != nil {
		return err
	}
	defer node.Close()
	number, err := node.AttachDisk("data")
	if err != nil {
		return err
	}
	disks, err := disk.New(node.Disk())
	if err != nil {
		return err
	}

	before := node.Snapshot()
	if _, err := disks.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
		return err
	}
	fmt.Print(simhost.Diff(before, node.Snapshot()))
	return nil
}

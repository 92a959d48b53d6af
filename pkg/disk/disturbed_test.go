// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func TestPartitionDisk_Disturbed(t *testing.T) {
	disturb.Run(t, disturb.Scenario{
		Node: func(t *testing.T) *simhost.Node { return attached(t, "vsphere-pvscsi") },
		Change: func(ctx context.Context, n *simhost.Node) error {
			d, err := disk.New(n.Disk())
			if err != nil {
				return err
			}
			_, err = d.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: 1})
			return err
		},
	})
}

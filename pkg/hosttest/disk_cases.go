// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func diskCases() []Case {
	return []Case{
		{IDs: []string{"DISK-26"}, Shows: "the size is the disk's, in bytes", Needs: []Ability{Disks}, Test: func(h *Host) {
			number, err := h.World.AttachDisk(int64(simhost.GiB))
			h.must(err)
			stats, err := h.Disk.GetDiskStats(h.Context(), &disk.GetDiskStatsRequest{DiskNumber: number})
			h.must(err)
			if stats.TotalBytes != int64(simhost.GiB) {
				h.Errorf("got %d bytes", stats.TotalBytes)
			}
		}},
	}
}

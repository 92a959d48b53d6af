// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

type scenario = disturb.Scenario[*disk.Disk]

// The calls about disk 1, each disturbed in every way.
func TestDisturbed(t *testing.T) {
	offline := arrived(func(d *simhost.DiskSpec) { d.Offline, d.ReadOnly = true, true })
	readOnly := arrived(func(d *simhost.DiskSpec) { d.ReadOnly = true })
	disturb.Group[*disk.Disk]{
		Name: "disk", New: func(n *simhost.Node) (*disk.Disk, error) { return disk.New(n.Disk()) },
		Node: arrived(func(*simhost.DiskSpec) {}),
		Questions: []scenario{
			{Method: "ListDiskIDs", Partial: true, Request: &disk.ListDiskIDsRequest{}},
			{Method: "ListDiskLocations", Partial: true, Request: &disk.ListDiskLocationsRequest{}},
			{Method: "GetDiskStats", Request: &disk.GetDiskStatsRequest{DiskNumber: 1}},
			{Method: "GetDiskState", Request: &disk.GetDiskStateRequest{DiskNumber: 1}},
			{Method: "GetReadOnly", Request: &disk.GetReadOnlyRequest{DiskNumber: 1}},
			{Method: "Rescan", Request: &disk.RescanRequest{}},
			{Method: "ListDisks", Partial: true},
			{Method: "FindDisk", Partial: true, Request: disk.MatchSerial("data-1")},
			{Method: "WaitForDisk", Partial: true, Request: disk.MatchSerial("data-1")},
			{Method: "DescribeDisk", Partial: true, Request: uint32(1)},
			{Method: "SANPolicy"},
		},
		Changes: []scenario{
			// Every half state that an earlier PartitionDisk may have left
			// (field-reports.md D25) is gone on from.
			{Method: "PartitionDisk", When: "of an offline disk", Request: &disk.PartitionDiskRequest{DiskNumber: 1}, Node: offline},
			{Method: "PartitionDisk", When: "initialized with MSR", Request: &disk.PartitionDiskRequest{DiskNumber: 1}, Node: arrived(func(d *simhost.DiskSpec) {
				d.Style, d.Partitions = "gpt", []simhost.PartitionSpec{{Type: "msr"}}
			})},
			{Method: "PartitionDisk", When: "initialized as MBR", Request: &disk.PartitionDiskRequest{DiskNumber: 1}, Node: arrived(func(d *simhost.DiskSpec) { d.Style = "mbr" })},
			{Method: "SetDiskState", When: "online", Request: &disk.SetDiskStateRequest{DiskNumber: 1, IsOnline: true}, Node: arrived(unstaged)},
			{Method: "SetDiskState", When: "offline", Request: &disk.SetDiskStateRequest{DiskNumber: 1}},
			{Method: "SetReadOnly", When: "read-only", Request: &disk.SetReadOnlyRequest{DiskNumber: 1, IsReadOnly: true}},
			{Method: "SetReadOnly", When: "writable", Request: &disk.SetReadOnlyRequest{DiskNumber: 1}, Node: readOnly},
			{Method: "EnsureOnlineWritable", When: "of an offline disk", Request: &disk.EnsureOnlineWritableRequest{DiskNumber: 1}, Node: arrived(unstaged)},
			{Method: "EnsureOnlineWritable", When: "of a read-only disk", Request: &disk.EnsureOnlineWritableRequest{DiskNumber: 1}, Node: readOnly},
		},
		Refusals: []scenario{
			{Method: "PartitionDisk", When: "of a foreign disk", Request: &disk.PartitionDiskRequest{DiskNumber: 1}, Refused: errdefs.ErrForeignContent, Node: arrived(func(d *simhost.DiskSpec) {
				d.Media = []simhost.Media{simhost.MediaExt4, simhost.MediaMDAtEnd}
			})},
			{Method: "PartitionDisk", When: "of a disk with NTFS", Request: &disk.PartitionDiskRequest{DiskNumber: 1}, Refused: errdefs.ErrDamaged, Node: arrived(func(d *simhost.DiskSpec) {
				d.Media = []simhost.Media{simhost.MediaNTFS}
			})},
			{Method: "SetDiskState", When: "of the boot disk", Request: &disk.SetDiskStateRequest{DiskNumber: 0}, Refused: errdefs.ErrCriticalDisk},
			{Method: "SetReadOnly", When: "of the boot disk", Request: &disk.SetReadOnlyRequest{DiskNumber: 0, IsReadOnly: true}, Refused: errdefs.ErrCriticalDisk},
		},
	}.Run(t)
}

// arrived makes nodes to which disk 1, blank but for what change does, was
// attached since the provider has looked.
func arrived(change func(*simhost.DiskSpec)) func(*testing.T) *simhost.Node {
	return func(t *testing.T) *simhost.Node {
		data := blankWith(change)
		node := nodeOf(t, simhost.NodeSpec{Disks: []simhost.DiskSpec{simhost.BootDisk()}, Attachable: []simhost.DiskSpec{data}})
		attach(t, node, data.Name)
		return node
	}
}

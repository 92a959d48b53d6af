// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// Every half state that an earlier PartitionDisk may have left (field-reports.md
// D25) is gone on from.
func TestPartitionDisk_Disturbed(t *testing.T) {
	for name, change := range map[string]func(*simhost.DiskSpec){
		"offline":              func(d *simhost.DiskSpec) { d.Offline, d.ReadOnly = true, true },
		"initialized with MSR": func(d *simhost.DiskSpec) { d.Style, d.Partitions = "gpt", []simhost.PartitionSpec{{Type: "msr"}} },
		"initialized as MBR":   func(d *simhost.DiskSpec) { d.Style = "mbr" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disturbed(t, blankWith(change), "PartitionDisk")
		})
	}
}

func TestSetDiskState_Disturbed(t *testing.T) {
	t.Run("online", func(t *testing.T) {
		t.Parallel()
		disturbed(t, blankWith(func(d *simhost.DiskSpec) { d.Offline, d.ReadOnly = true, true }), "SetDiskState online")
	})
	t.Run("offline", func(t *testing.T) {
		t.Parallel()
		disturbed(t, blank(), "SetDiskState offline")
	})
}

func TestSetReadOnly_Disturbed(t *testing.T) {
	t.Run("read-only", func(t *testing.T) {
		t.Parallel()
		disturbed(t, blank(), "SetReadOnly")
	})
	t.Run("writable", func(t *testing.T) {
		t.Parallel()
		disturbed(t, blankWith(func(d *simhost.DiskSpec) { d.ReadOnly = true }), "SetReadOnly writable")
	})
}

func TestEnsureOnlineWritable_Disturbed(t *testing.T) {
	for name, change := range map[string]func(*simhost.DiskSpec){
		"offline":   func(d *simhost.DiskSpec) { d.Offline, d.ReadOnly = true, true },
		"read-only": func(d *simhost.DiskSpec) { d.ReadOnly = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disturbed(t, blankWith(change), "EnsureOnlineWritable")
		})
	}
}

// disturbed disturbs a disk-wide change of disk 1. The disk is attached before,
// and the provider has not looked since.
func disturbed(t *testing.T, data simhost.DiskSpec, change string) {
	disturb.Run(t, disturb.Scenario{
		Node: func(t *testing.T) *simhost.Node {
			node := nodeOf(t, simhost.NodeSpec{Disks: []simhost.DiskSpec{simhost.BootDisk()}, Attachable: []simhost.DiskSpec{data}})
			attach(t, node, data.Name)
			return node
		},
		Change: func(ctx context.Context, n *simhost.Node) error { return diskWide[change](ctx, group(n), 1) },
	})
}

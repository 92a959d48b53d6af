// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// manyDisks is a node with that many disks, of which disk 1 is blank and the
// others hold a volume each.
func manyDisks(t testing.TB, count int) *simhost.Node {
	t.Helper()
	disks := []simhost.DiskSpec{blankWith(func(d *simhost.DiskSpec) { d.Offline, d.ReadOnly = true, true })}
	for i := len(disks) + 1; i < count; i++ {
		d := lettered(fmt.Sprint("disk ", i), "")
		d.Address = &simhost.AddressSpec{Port: 2, Target: uint8(i)}
		disks = append(disks, d)
	}
	return nodeWith(t, disks...)
}

// Boundary calls stay within the table of docs/architecture.md, and are the same
// with 2 and with 255 disks attached.
func TestBudgets(t *testing.T) {
	few, many := manyDisks(t, 2), manyDisks(t, 255)
	for _, c := range []struct {
		name string
		run  func(context.Context, *disk.Disk) error
		most int // 0: the table has no number
	}{
		{"GetDiskStats", func(ctx context.Context, d *disk.Disk) error {
			_, err := d.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: 1})
			return err
		}, 3},
		{"GetDiskState", func(ctx context.Context, d *disk.Disk) error {
			_, err := d.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: 1})
			return err
		}, 3},
		{"SetDiskState that changes", func(ctx context.Context, d *disk.Disk) error {
			_, err := d.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: 1, IsOnline: true})
			return err
		}, 6},
		{"SetDiskState that does not", func(ctx context.Context, d *disk.Disk) error {
			_, err := d.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: 1, IsOnline: true})
			return err
		}, 5},
		{"PartitionDisk that changes", func(ctx context.Context, d *disk.Disk) error {
			_, err := d.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: 1})
			return err
		}, 0},
		{"PartitionDisk that does not", func(ctx context.Context, d *disk.Disk) error {
			_, err := d.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: 1})
			return err
		}, 6},
		{"Rescan", func(ctx context.Context, d *disk.Disk) error {
			_, err := d.Rescan(ctx, &disk.RescanRequest{})
			return err
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			withFew, withMany := counted(t, few, c.run), counted(t, many, c.run)
			if total := sum(withMany); c.most > 0 && total > c.most {
				t.Errorf("%d calls, at most %d: %v", total, c.most, withMany)
			}
			if !maps.Equal(withFew, withMany) {
				t.Errorf("with 2 disks %v, with 255 %v", withFew, withMany)
			}
		})
	}
}

// counted counts the boundary calls of a method, but those that read what
// Windows needs, which is known for a minute, and those with which WMI workers
// enter and connect, whose number varies.
func counted(t *testing.T, node *simhost.Node, run func(context.Context, *disk.Disk) error) map[string]int {
	t.Helper()
	// The refusal by the boot disk reads what Windows needs.
	if _, err := group(node).SetDiskState(t.Context(), &disk.SetDiskStateRequest{DiskNumber: 0}); err == nil {
		t.Fatal("the boot disk goes offline")
	}
	node.Calls().Reset()
	if err := run(t.Context(), group(node)); err != nil {
		t.Fatal(err)
	}
	counts := node.Calls().ByMethod()
	delete(counts, "WMI.Enter")
	delete(counts, "WMI.Connect")
	return counts
}

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// Lists cost one call and at most eight a disk, and ask no WMI (field-reports.md
// L20).
func TestBudgets_Lists(t *testing.T) {
	for _, disks := range []int{2, 255} {
		t.Run(fmt.Sprint(disks), func(t *testing.T) {
			node := manyDisks(t, disks)
			for name, run := range map[string]func(context.Context, *disk.Disk) error{
				"ListDiskIDs": func(ctx context.Context, d *disk.Disk) error {
					_, err := d.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
					return err
				},
				"ListDiskLocations": func(ctx context.Context, d *disk.Disk) error {
					_, err := d.ListDiskLocations(ctx, &disk.ListDiskLocationsRequest{})
					return err
				},
				"ListDisks": func(ctx context.Context, d *disk.Disk) error {
					found, err := d.ListDisks(ctx)
					if len(found) != disks {
						err = fmt.Errorf("%d disks, %w", len(found), err)
					}
					return err
				},
			} {
				counts := counted(t, node, run)
				if total := sum(counts); total > 1+8*disks || counts["Devices.Interfaces"] != 1 {
					t.Errorf("%s: %d calls: %v", name, total, counts)
				}
				for method := range counts {
					if strings.HasPrefix(method, "WMI.") || strings.HasPrefix(method, "Session.") {
						t.Errorf("%s asks WMI: %s", name, method)
					}
				}
			}
		})
	}
}

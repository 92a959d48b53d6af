// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// describe describes a disk of which everything must be readable.
func describe(t testing.TB, node *simhost.Node, name string) disk.Details {
	t.Helper()
	number, _ := node.DiskNumber(name)
	got, err := group(node).DescribeDisk(t.Context(), number)
	if err := errors.Join(err, got.Err, got.ProviderErr); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if got.Number != number {
		t.Errorf("%s: disk %d, want %d", name, got.Number, number)
	}
	return got
}

// All of a disk is told that its description in the node's file has.
func TestDescribeDisk_OnShippedNodes(t *testing.T) {
	styles := map[string]abi.PartitionStyle{"": abi.PartitionStyleRAW, "gpt": abi.PartitionStyleGPT, "mbr": abi.PartitionStyleMBR}
	for _, name := range simhost.Names() {
		t.Run(name, func(t *testing.T) {
			node := allAttached(t, name)
			for i, want := range append(shipped(t, name).Disks, shipped(t, name).Attachable...) {
				got := describe(t, node, want.Name)
				if got.Vendor != want.Vendor || got.Product != want.Product || got.Revision != want.Revision ||
					got.SerialNumber != want.Serial || got.Serial() != strings.TrimSpace(want.Serial) {
					t.Errorf("%s is %q %q %q %q", want.Name, got.Vendor, got.Product, got.Revision, got.SerialNumber)
				}
				sector, physical := want.SectorSize, want.PhysicalSectorSize
				if sector == 0 {
					sector = 512
				}
				if physical == 0 {
					physical = 4096
				}
				if got.Size != int64(want.Size) || got.SectorSize != sector || got.PhysicalSectorSize != physical {
					t.Errorf("%s: %d bytes in sectors of %d, %d", want.Name, got.Size, got.SectorSize, got.PhysicalSectorSize)
				}
				if len(got.Identifiers) != len(want.Identifiers) || got.Layout.Style != styles[want.Style] {
					t.Errorf("%s: %d identifiers, style %v", want.Name, len(got.Identifiers), got.Layout.Style)
				}
				if got.Provider.Location != want.Location || got.Provider.Path != want.InterfacePath || got.Provider.UniqueID == "" {
					t.Errorf("%s: %+v", want.Name, *got.Provider)
				}
				if isNVMe := want.NVMe != nil; isNVMe != (got.NVMe != nil) || isNVMe != (got.Controller != nil) {
					t.Errorf("%s: namespace %v, controller %v", want.Name, got.NVMe != nil, got.Controller != nil)
				}
				// Of the disks that are there from the start, the first has
				// Windows on it, and Azure's second the page file.
				if critical := i == 0 || want.Name == "temp"; critical != errors.Is(got.Critical, errdefs.ErrCriticalDisk) {
					t.Errorf("%s: critical: %v", want.Name, got.Critical)
				}
			}
		})
	}
}

// The controller of an NVMe disk tells the device's own serial number, where
// that of the disk is made of ids, and EBS the name of the block device.
func TestDescribeDisk_Controller(t *testing.T) {
	got := describe(t, allAttached(t, "metal-nvme"), "data")
	if c := got.Controller; strings.TrimSpace(c.Serial) != "22H0A01ZT5M8" || strings.TrimSpace(c.Model) != "KIOXIA KCD61LUL3T84" || strings.TrimSpace(c.Firmware) != "8002" || c.Vendor != 7695 {
		t.Errorf("got %q %q %q %d", c.Serial, c.Model, c.Firmware, c.Vendor)
	}
	got = describe(t, allAttached(t, "aws-nitro"), "data")
	if name := strings.TrimRight(string(got.Controller.VendorArea), "\x00"); name != "xvdba" {
		t.Errorf("got %q", name)
	}
}

func TestDescribeDisk_Layout(t *testing.T) {
	got := describe(t, allAttached(t, "san-fibre"), "clone")
	if len(got.Layout.Partitions) != 2 || len(got.Layout.Data()) != 1 || got.Layout.DiskID.String() != "c5d6e7f8-091a-4b2c-8d3e-4f5061728394" {
		t.Errorf("got %+v", got.Layout)
	}
}

func TestDescribeDisk_Unknown(t *testing.T) {
	_, err := group(nodeWith(t)).DescribeDisk(t.Context(), 9)
	wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
}

// One question that fails spoils no other.
func TestDescribeDisk_Partly(t *testing.T) {
	for name, c := range map[string]struct {
		fails     func(simhost.Call) bool
		err       error // in Err
		provider  error // in ProviderErr
		remaining func(disk.Details) bool
	}{
		"layout": {isControl(abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX), win.ERROR_IO_DEVICE, nil, func(d disk.Details) bool { return d.Layout == nil && d.Size > 0 && d.Provider != nil }},
		"size":   {isControl(abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX), win.ERROR_IO_DEVICE, win.ERROR_IO_DEVICE, func(d disk.Details) bool { return d.Layout != nil && d.Size == 0 && d.SerialNumber != "" }},
		"WMI":    {func(c simhost.Call) bool { return c.Method == "Session.Query" }, nil, win.ERROR_IO_DEVICE, func(d disk.Details) bool { return d.Layout != nil && d.Provider == nil && d.Size > 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			node := nodeWith(t, blank())
			failing(node, c.fails, win.ERROR_IO_DEVICE)
			got, err := group(node).DescribeDisk(t.Context(), 1)
			if err != nil || !c.remaining(got) {
				t.Errorf("got %+v, %v", got, err)
			}
			if !errors.Is(got.Err, c.err) || !errors.Is(got.ProviderErr, c.provider) {
				t.Errorf("got %v and %v", got.Err, got.ProviderErr)
			}
		})
	}
}

// WMI that hangs costs a query's time, and no more than its own answer.
func TestDescribeDisk_WMIHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, release := nodeWith(t, blank()), make(chan struct{})
		node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Session.Query" {
				<-release
			}
			return do()
		})
		start := time.Now()
		got, err := group(node).DescribeDisk(t.Context(), 1)
		if err != nil || got.Provider != nil || got.ProviderErr == nil || got.Layout == nil {
			t.Errorf("got %+v, %v", got, err)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("took %v", took)
		}
		close(release)
	})
}

// It costs the same with many disks.
func TestDescribeDisk_Budget(t *testing.T) {
	var costs []int
	for _, disks := range []int{2, 255} {
		node := manyDisks(t, disks)
		costs = append(costs, sum(counted(t, node, func(ctx context.Context, d *disk.Disk) error {
			_, err := d.DescribeDisk(ctx, 1)
			return err
		})))
	}
	if costs[0] != costs[1] {
		t.Errorf("calls with 2 and with 255 disks: %v", costs)
	}
}

func TestReasonsAndPolicies_HaveNames(t *testing.T) {
	for want, got := range map[string]interface{ String() string }{
		"SAN policy": disk.OfflineByPolicy, "offline reason 9": disk.OfflineReason(9),
		"offline shared": disk.SANPolicyOfflineShared, "SAN policy 7": disk.SANPolicy(7),
	} {
		if got.String() != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

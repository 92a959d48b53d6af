// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// twoToAttach is a node with disk 1 attached and another disk that may take its
// number: as blank, or with a data partition.
func twoToAttach(t testing.TB, switches simhost.Switches, partitions ...simhost.PartitionSpec) *simhost.Node {
	t.Helper()
	data := blankWith(func(d *simhost.DiskSpec) { d.Offline, d.ReadOnly = true, true })
	other := blankWith(func(d *simhost.DiskSpec) {
		d.Name, d.Serial, d.Address, d.Offline, d.ReadOnly = "other", "data-2", &simhost.AddressSpec{Port: 2}, true, true
		if len(partitions) > 0 {
			d.Style, d.Partitions = "gpt", partitions
		}
	})
	node := nodeOf(t, simhost.NodeSpec{
		Switches: switches, Disks: []simhost.DiskSpec{simhost.BootDisk()}, Attachable: []simhost.DiskSpec{data, other},
	})
	attach(t, node, "data")
	return node
}

// move gives disk 1's number to the other disk.
func move(t testing.TB, node *simhost.Node) {
	t.Helper()
	if err := node.DetachDisk("data"); err != nil {
		t.Error(err)
	}
	if number := attach(t, node, "other"); number != 1 {
		t.Errorf("the other disk is disk %d", number)
	}
}

// A number that moves to another disk between two calls never gets that one
// partitioned, or brought online (docs/architecture.md, rule 4, windows-api.md
// 17.2). Until the disk is opened for the first time the number is all there is.
func TestPartitionDisk_NumberMoves(t *testing.T) {
	for name, switches := range map[string]simhost.Switches{
		"as expected":        {},
		"blank reads as MBR": {BlankDisk: simhost.BlankDiskMBR},
		"not connected":      {StaleHandle: simhost.StaleNotConnected},
		"not ready":          {StaleHandle: simhost.StaleNotReady},
	} {
		calls := partitionCalls(t, twoToAttach(t, switches))
		first := slices.IndexFunc(calls, firstOpen)
		for k := first; k < len(calls)-1; k++ {
			t.Run(fmt.Sprintf("%s/after %02d %s", name, k+1, calls[k].Method), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { movesAfter(t, twoToAttach(t, switches), k) })
			})
		}
	}
}

// Nor is anybody told that the partition of the other disk is the wanted one.
func TestPartitionDisk_NumberMovesToDiskWithData(t *testing.T) {
	withData := func(t *testing.T) *simhost.Node {
		return twoToAttach(t, simhost.Switches{}, simhost.PartitionSpec{Volume: &simhost.VolumeSpec{FileSystem: "NTFS"}})
	}
	calls := partitionCalls(t, withData(t))
	for k := slices.IndexFunc(calls, firstOpen); k < len(calls)-1; k++ {
		t.Run(fmt.Sprintf("after %02d %s", k+1, calls[k].Method), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { movesAfter(t, withData(t), k) })
		})
	}
}

func firstOpen(c simhost.Call) bool {
	return c.Method == "Devices.Open" && c.Subject == `\\.\PhysicalDrive1`
}

// partitionCalls are the boundary calls of an undisturbed PartitionDisk.
func partitionCalls(t *testing.T, node *simhost.Node) []simhost.Call {
	t.Helper()
	node.Calls().Reset()
	if err := partition(t.Context(), node, 1); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(node.Calls().Calls(), func(c simhost.Call) bool { return c.Continues })
}

// movesAfter moves the number after the k-th call, from 0.
func movesAfter(t *testing.T, node *simhost.Node, k int) {
	before, count := table(t, node, "other"), 0
	node.OnCall(func(c simhost.Call, do func() error) error {
		err := do()
		if !c.Continues {
			if count == k {
				move(t, node)
			}
			count++
		}
		return err
	})
	err := partition(t.Context(), node, 1)
	node.OnCall(nil)
	if count <= k+1 {
		return // that was its last call: how many sessions WMI workers open varies
	}
	if err == nil {
		t.Error("told that it is done")
	}
	wantTable(t, node, "other", before...)
	if got := facts(node, "disk other state:"); !slices.Contains(got, "disk other state: attached as 1, offline, read-only") {
		t.Errorf("the other disk: %q", got)
	}
	if n := node.OpenHandles(); n != 0 {
		t.Errorf("%d handles left open", n)
	}
	if err := partition(t.Context(), node, 1); err != nil {
		t.Errorf("the other disk, when asked for: %v", err)
	}
	if got := table(t, node, "other"); got[0] != "GPT" || got[len(got)-1] != "basic data" {
		t.Errorf("the other disk, when asked for: %q", got)
	}
}

// A row of the provider's cache that is of another disk, or missing, or of an
// old size is noticed and read again.
func TestPartitionDisk_StaleProviderRows(t *testing.T) {
	for name, stale := range map[string]func(*testing.T, *simhost.Node){
		"missing": func(*testing.T, *simhost.Node) {},
		"of another disk": func(t *testing.T, node *simhost.Node) {
			if _, err := group(node).Rescan(t.Context(), &disk.RescanRequest{}); err != nil {
				t.Fatal(err)
			}
			move(t, node)
		},
		"of an old size": func(t *testing.T, node *simhost.Node) {
			if _, err := group(node).Rescan(t.Context(), &disk.RescanRequest{}); err != nil {
				t.Fatal(err)
			}
			if err := node.GrowDisk("data", 20*simhost.GiB); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, flipped := range append(simhost.AllSwitches(), simhost.Switch{Name: "as expected"}) {
			t.Run(name+" "+flipped.Name, func(t *testing.T) {
				node := twoToAttach(t, flipped.Switches)
				stale(t, node)
				if err := partition(t.Context(), node, 1); err != nil {
					t.Fatal(err)
				}
				name := "data"
				if _, there := node.DiskNumber("other"); there {
					name = "other"
				}
				if got := table(t, node, name); got[0] != "GPT" || got[len(got)-1] != "basic data" {
					t.Errorf("disk %s has %q", name, got)
				}
			})
		}
	}
}

// A cache that cannot be renewed leaves the disk alone.
func TestPartitionDisk_ProviderRowStaysMissing(t *testing.T) {
	node := twoToAttach(t, simhost.Switches{})
	failing(node, func(c simhost.Call) bool { return strings.Contains(c.Subject, "UpdateHostStorageCache") }, win.WBEM_E_PROVIDER_FAILURE)
	err := partition(t.Context(), node, 1)
	wantError(t, err, win.WBEM_E_PROVIDER_FAILURE, errdefs.Unavailable)
	wantTable(t, node, "data", "none")
}

// Another process that partitions the disk at the same time loses nothing: its
// partition stays the only one.
func TestPartitionDisk_SomebodyElsePartitionsMeanwhile(t *testing.T) {
	for _, method := range []string{"MSFT_Disk.Initialize", "MSFT_Disk.CreatePartition"} {
		t.Run(method, func(t *testing.T) {
			node := nodeWith(t, blank())
			once := false
			node.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == "Session.Start" && strings.HasPrefix(c.Subject, method) && !once {
					once = true
					node.OnCall(nil)
					if _, err := otherProcess(t, node).PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1}); err != nil {
						t.Error(err)
					}
				}
				return do()
			})
			err := partition(t.Context(), node, 1)
			if kind := errdefs.KindOf(err); err != nil && kind != errdefs.FailedPrecondition && kind != errdefs.OutOfRange && kind != errdefs.Unavailable {
				t.Errorf("kind %v: %v", kind, err)
			}
			wantTable(t, node, "data", "GPT", "reserved", "basic data")
			if err := partition(t.Context(), node, 1); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// otherProcess is the disk group of another process on the same node, which
// shares neither locks nor caches.
func otherProcess(t *testing.T, node *simhost.Node) *disk.Disk {
	t.Helper()
	h := node.Host()
	other := &win.Host{Devices: h.Devices, Mounts: h.Mounts, Files: h.Files, System: h.System, WMI: h.WMI}
	t.Cleanup(func() { wmi.On(other).Close() })
	d, _ := disk.New(hostapi.On(other))
	return d
}

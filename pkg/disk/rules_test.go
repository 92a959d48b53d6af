// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// The tests of this file are named after the rules of behaviour.md section 3 and
// the rows of field-reports.md.

func locations(t testing.TB, node *simhost.Node) map[uint32]disk.DiskLocation {
	t.Helper()
	resp, err := group(node).ListDiskLocations(t.Context(), &disk.ListDiskLocationsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint32]disk.DiskLocation{}
	for number, place := range resp.DiskLocations {
		all[number] = *place
	}
	return all
}

func ids(t testing.TB, node *simhost.Node) map[uint32]disk.DiskIDs {
	t.Helper()
	resp, err := group(node).ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint32]disk.DiskIDs{}
	for number, id := range resp.DiskIDs {
		all[number] = *id
	}
	return all
}

// Target and LUN are told only for buses that have them, so that no rule that
// looks for a LUN finds a disk of another kind (docs/architecture.md, D02).
func TestListDiskLocations_D02_OnlyBusesWithLUNs(t *testing.T) {
	with := []string{"scsi", "fibre", "raid", "iscsi", "sas"}
	for _, bus := range append([]string{"ata", "usb", "sata", "virtual", "file", "spaces", "nvme"}, with...) {
		t.Run(bus, func(t *testing.T) {
			node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) {
				d.Bus, d.Address = bus, &simhost.AddressSpec{Port: 3, Path: 1, Target: 4, LUN: 5}
			}))
			want := disk.DiskLocation{Adapter: "3"}
			if slices.Contains(with, bus) {
				want = disk.DiskLocation{Adapter: "3", Target: "4", LUNID: "5"}
			}
			if got := locations(t, node)[1]; got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			disks, err := group(node).ListDisks(t.Context())
			if err != nil || *disks[1].Address != (abi.SCSIAddress{Port: 3, Path: 1, Target: 4, LUN: 5}) {
				t.Errorf("the numeric address: %+v, %v", disks, err)
			}
		})
	}
}

// withoutPartition is a host whose Windows makes no partition and says that it
// did.
type withoutPartition struct{ hostapi.HostAPI }

func (withoutPartition) CreatePartition(context.Context, hostapi.DiskIdentity, hostapi.ProviderStyle) error {
	return nil
}

// DISK-12: no nil error is wrapped where no partition shows up.
func TestPartitionDisk_DISK12(t *testing.T) {
	d, _ := disk.New(withoutPartition{nodeWith(t, blank()).Disk()})
	_, err := d.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1})
	wantError(t, err, errdefs.ErrUnavailable, errdefs.Unavailable)
	if strings.Contains(err.Error(), "%!") {
		t.Error(err)
	}
}

// identified is a disk with page 83 identifiers and a serial number.
func identified(serial string, identifiers ...simhost.IdentifierSpec) simhost.DiskSpec {
	return blankWith(func(d *simhost.DiskSpec) { d.Serial, d.Identifiers = serial, identifiers })
}

// DISK-21, D10: one disk that answers a question with an error, or none at all,
// has an empty field; the others are whole.
func TestListDisks_D10_OneSickDisk(t *testing.T) {
	three := []simhost.DiskSpec{identified("one", naa("01")), identified("two", naa("02")), identified("three", naa("03"))}
	for i := range three {
		three[i].Name = three[i].Serial
	}
	whole := map[uint32]disk.DiskIDs{
		0: {}, 1: {Page83: "01", SerialNumber: "one"}, 2: {Page83: "02", SerialNumber: "two"}, 3: {Page83: "03", SerialNumber: "three"},
	}
	property := isControl(abi.IOCTL_STORAGE_QUERY_PROPERTY)
	for name, c := range map[string]struct {
		sick func(simhost.Call) bool
		two  *disk.DiskIDs // nil: it has no number
	}{
		"open":          {func(c simhost.Call) bool { return c.Method == "Devices.Open" }, nil},
		"device number": {isControl(abi.IOCTL_STORAGE_GET_DEVICE_NUMBER), nil},
		"properties":    {property, &disk.DiskIDs{}},
		"address":       {isControl(abi.IOCTL_SCSI_GET_ADDRESS), &disk.DiskIDs{Page83: "02", SerialNumber: "two"}},
	} {
		for _, hang := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, hangs %v", name, hang), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					node, release := nodeWith(t, three...), make(chan struct{})
					defer close(release)
					path := pathOf(t, node, 2)
					node.OnCall(func(call simhost.Call, do func() error) error {
						if call.Subject != path || !c.sick(call) {
							return do()
						}
						if hang {
							<-release
						}
						return win.ERROR_INVALID_FUNCTION
					})
					start := time.Now()
					got, want := ids(t, node), maps.Clone(whole)
					if delete(want, 2); c.two != nil {
						want[2] = *c.two
					}
					if !maps.Equal(got, want) {
						t.Errorf("got %q, want %q", got, want)
					}
					if took := time.Since(start); took > 5*time.Second {
						t.Errorf("took %v", took)
					}
					wantListed(t, node, path, c.two == nil, hang)
				})
			})
		}
	}
}

func naa(hex string) simhost.IdentifierSpec {
	return simhost.IdentifierSpec{CodeSet: "binary", Type: "naa", Hex: hex}
}

// wantListed: ListDisks has the sick disk as well, and says what is wrong with
// it. A second call while it still hangs waits for nothing.
func wantListed(t *testing.T, node *simhost.Node, path string, numberless, hang bool) {
	t.Helper()
	start := time.Now()
	disks, err := group(node).ListDisks(t.Context())
	if err != nil || len(disks) != 4 {
		t.Fatalf("got %d disks, %v", len(disks), err)
	}
	at := slices.IndexFunc(disks, func(d disk.Description) bool { return d.Path == path })
	sick := disks[at]
	if (sick.Number == hostapi.NoNumber) != (numberless || hang) {
		t.Errorf("its number is %d", sick.Number)
	}
	switch {
	case hang:
		wantError(t, sick.Err, errdefs.ErrResourceExhausted, errdefs.ResourceExhausted)
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v", took)
		}
	case numberless:
		wantError(t, sick.Err, win.ERROR_INVALID_FUNCTION, errdefs.Unsupported)
	}
	for i, d := range disks {
		if i != at && d.Err != nil {
			t.Errorf("%s: %v", d.Path, d.Err)
		}
	}
}

// D10: a disk that vanishes between the list and its description is left out.
func TestListDisks_D10_Vanishes(t *testing.T) {
	for _, stale := range []simhost.StaleHandle{simhost.StaleNoSuchDevice, simhost.StaleNotConnected} {
		for _, method := range []string{"Devices.Interfaces", "Devices.Open"} {
			t.Run(fmt.Sprintf("StaleHandle=%d after %s", stale, method), func(t *testing.T) {
				spec := simhost.NodeSpec{Switches: simhost.Switches{StaleHandle: stale}, Disks: []simhost.DiskSpec{simhost.BootDisk(), blank()}}
				node := nodeOf(t, spec)
				path := pathOf(t, node, 1)
				node.OnCall(func(c simhost.Call, do func() error) error {
					err := do()
					if c.Method == method && (c.Subject == path || method == "Devices.Interfaces") {
						if err := node.DetachDisk("data"); err != nil {
							t.Error(err)
						}
					}
					return err
				})
				disks, err := group(node).ListDisks(t.Context())
				if err != nil || len(disks) != 1 || disks[0].Number != 0 {
					t.Errorf("got %+v, %v", disks, err)
				}
			})
		}
	}
}

// D06: everything by which a cloud names a disk is told.
func TestListDisks_D06(t *testing.T) {
	spec := nvme("one", "0026b73840825615", "10cc9636b6e3ce3b0000000000000000")
	spec.Vendor, spec.Product, spec.NVMe.NamespaceArea = "NVMe    ", "nvme_card-pd    ", `{"device_name":"pvc-1"}`
	spec.Identifiers = []simhost.IdentifierSpec{naa("01"), {CodeSet: "ascii", Type: "t10", Text: "x"}}
	disks, err := group(nodeWith(t, spec)).ListDisks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := disks[1]
	if d.Number != 1 || d.BusType != abi.BusTypeNVMe || d.Err != nil || d.SerialNumber != "serial of one" || d.Vendor != "NVMe    " || d.Product != "nvme_card-pd    " {
		t.Errorf("got %+v", d)
	}
	if len(d.Identifiers) != 2 || d.NVMe.EUI64 != [8]byte{0x00, 0x26, 0xb7, 0x38, 0x40, 0x82, 0x56, 0x15} {
		t.Errorf("got %+v", d)
	}
	if !strings.HasPrefix(string(d.NVMe.VendorArea), `{"device_name":"pvc-1"}`) { // D07
		t.Errorf("vendor area %q", d.NVMe.VendorArea[:40])
	}
}

// D11, D12, DISK-24: no handle is left open, and what did not open is not closed.
func TestListDiskIDs_D11(t *testing.T) {
	node := nodeWith(t, blank())
	path := pathOf(t, node, 1)
	failing(node, func(c simhost.Call) bool { return c.Method == "Devices.Open" && c.Subject == path }, win.ERROR_SHARING_VIOLATION)
	for range 1000 {
		ids(t, node)
	}
	if n := node.OpenHandles(); n != 0 {
		t.Errorf("%d handles left open", n)
	}
}

func state(t *testing.T, node *simhost.Node) string {
	t.Helper()
	got := facts(node, "disk data state: attached as 1, ")
	if len(got) != 1 {
		t.Fatalf("got %q", got)
	}
	return strings.TrimPrefix(got[0], "disk data state: attached as 1, ")
}

// DISK-28, docs/architecture.md: nothing is changed where the disk is in the wanted state;
// coming online clears read-only, D14.
func TestSetDiskState_DISK28(t *testing.T) {
	for _, c := range []struct {
		offline, readOnly bool
		online            bool
		want              string
		changes           bool
	}{
		{offline: false, readOnly: false, online: true, want: "online"},
		{offline: false, readOnly: true, online: true, want: "online, read-only"},
		{offline: true, readOnly: false, online: true, want: "online", changes: true},
		{offline: true, readOnly: true, online: true, want: "online", changes: true},
		{offline: false, readOnly: false, online: false, want: "offline", changes: true},
		{offline: false, readOnly: true, online: false, want: "offline, read-only", changes: true},
		{offline: true, readOnly: true, online: false, want: "offline, read-only"},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Offline, d.ReadOnly = c.offline, c.readOnly }))
			_, err := group(node).SetDiskState(t.Context(), &disk.SetDiskStateRequest{DiskNumber: 1, IsOnline: c.online})
			if err != nil {
				t.Error(err)
			}
			if got := state(t, node); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if changed := slices.ContainsFunc(node.Calls().Calls(), changes); changed != c.changes {
				t.Errorf("changed: %v", changed)
			}
		})
	}
}

// windows-api.md 4: the volumes of a disk come when Windows looks at it after its
// attributes were set. A call that was cut off between the two is made again.
func TestSetDiskState_CutOffBeforeVolumes(t *testing.T) {
	for name, online := range map[string]func(context.Context, *disk.Disk) error{
		"SetDiskState": func(ctx context.Context, d *disk.Disk) error {
			_, err := d.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: 1, IsOnline: true})
			return err
		},
		"EnsureOnlineWritable": func(ctx context.Context, d *disk.Disk) error {
			_, err := d.EnsureOnlineWritable(ctx, &disk.EnsureOnlineWritableRequest{DiskNumber: 1})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := nodeWith(t, blankWith(unstaged))
			failing(node, isControl(abi.IOCTL_DISK_UPDATE_PROPERTIES), win.ERROR_IO_DEVICE)
			wantError(t, online(t.Context(), group(node)), win.ERROR_IO_DEVICE, errdefs.Unavailable)
			if got := state(t, node); got != "online" {
				t.Fatalf("got %q", got)
			}
			node.OnCall(nil)
			if err := online(t.Context(), group(node)); err != nil {
				t.Error(err)
			}
			if !strings.Contains(string(node.Snapshot()), ": on disk data, ") {
				t.Errorf("no volume:\n%s", node.Snapshot())
			}
		})
	}
}

// A disk that is too small for a GPT says so and stays as it is.
func TestPartitionDisk_TooSmall(t *testing.T) {
	node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Size = 4 * simhost.MiB }))
	before := node.Snapshot()
	wantError(t, partition(t.Context(), node, 1), win.ReturnTooSmallForGPT, errdefs.OutOfRange)
	wantUnchanged(t, node, before)
}

// D13, D14: a SAN policy brings disks offline and read-only.
func TestEnsureOnlineWritable_D13(t *testing.T) {
	for name, c := range map[string]struct{ offline, readOnly bool }{
		"offline and read-only": {true, true}, "offline": {true, false}, "read-only": {false, true}, "neither": {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Offline, d.ReadOnly = c.offline, c.readOnly }))
			resp, err := group(node).EnsureOnlineWritable(t.Context(), &disk.EnsureOnlineWritableRequest{DiskNumber: 1})
			if err != nil || resp.WasOffline != c.offline || resp.WasReadOnly != c.readOnly {
				t.Errorf("got %+v, %v", resp, err)
			}
			if got := state(t, node); got != "online" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// D25: two at once make one partition.
func TestPartitionDisk_D25_AtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := nodeWith(t, blank())
		errs := make(chan error)
		for i := range 16 {
			go func() {
				_, err := group(node).PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1, Overwrite: i%2 == 0})
				errs <- err
			}()
		}
		var all []error
		for range 16 {
			all = append(all, <-errs)
		}
		if err := errors.Join(all...); err != nil {
			t.Error(err)
		}
		wantTable(t, node, "data", "GPT", "reserved", "basic data")
	})
}

// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// Rows of field-reports.md 1b about identity and waiting, but for those in
// rules_test.go and critical_test.go.

// D01: four disks on two adapters, LUN 1 on both. The machine's own is not
// meant; where two can be meant, none is taken.
func TestFindDisk_D01_SameLUNOnTwoAdapters(t *testing.T) {
	at := func(name string, port, lun uint8) simhost.DiskSpec {
		return blankWith(func(d *simhost.DiskSpec) {
			d.Name, d.Serial, d.Address = name, "", &simhost.AddressSpec{Port: port, LUN: lun}
		})
	}
	node := nodeWith(t, at("temp", 0, 1), at("data 0", 1, 0), at("data 1", 1, 1))
	got, err := group(node).FindDisk(t.Context(), disk.MatchLUN(1))
	if want, _ := node.DiskNumber("data 1"); err != nil || got.Number != want {
		t.Errorf("got disk %d, %v", got.Number, err)
	}
	if err := node.AddDisk(at("other data 1", 2, 1)); err != nil {
		t.Fatal(err)
	}
	attach(t, node, "other data 1")
	_, err = group(node).FindDisk(t.Context(), disk.MatchLUN(1))
	wantError(t, err, errdefs.ErrFailedPrecondition, errdefs.FailedPrecondition)
	wantCandidates(t, node, err, "data 1", "other data 1")
}

// D01: an iSCSI or Fibre Channel LUN is no data disk of Azure's.
func TestFindDisk_D01_OtherLUNs(t *testing.T) {
	for _, node := range []string{"san-iscsi", "san-fibre", "kvm-virtio", "aws-xen", "metal-sata", "azure-nvme"} {
		for lun := range uint8(8) {
			if got, err := group(allAttached(t, node)).FindDisk(t.Context(), disk.MatchLUN(lun)); !errors.Is(err, errdefs.ErrNotFound) {
				t.Errorf("%s LUN %d: disk %d, %v", node, lun, got.Number, err)
			}
		}
	}
}

// D02: NVMe disks are told by what they are and not by where they are, in
// whatever order they were attached.
func TestFindDisk_D02_OrderOfNVMeDisks(t *testing.T) {
	rules := map[string]disk.Matcher{
		"data": disk.MatchAzureNVMe(0), "data-lun1": disk.MatchAzureNVMe(1), "data-lun5": disk.MatchAzureNVMe(5),
	}
	for _, order := range [][]string{
		{"data", "data-lun1", "data-lun5", "local"}, {"local", "data-lun5", "data", "data-lun1"}, {"data-lun1", "local", "data-lun5", "data"},
	} {
		node := nodeOf(t, shipped(t, "azure-nvme"))
		for _, name := range order {
			attach(t, node, name)
		}
		for name, rule := range rules {
			got, err := group(node).FindDisk(t.Context(), rule)
			if want, _ := node.DiskNumber(name); err != nil || got.Number != want {
				t.Errorf("%q: %s is disk %d, %v, want %d", order, rule, got.Number, err, want)
			}
		}
	}
}

// D07: the device name of a Hyperdisk is in the namespace's bytes, which are
// told as they are, so that no cloud needs to be asked.
func TestListDisks_D07_VendorArea(t *testing.T) {
	for _, name := range []string{"gce-nvme", "gce-nvme-2019"} {
		node := allAttached(t, name)
		got, err := group(node).FindDisk(t.Context(), disk.MatchNGUID("2fd04a91-c7b8-e635-0000-000000000000"))
		if err != nil {
			t.Fatal(err)
		}
		const want = `{"device_name":"pvc-6a0e4b1d-93c2-4f57-8d1e-0b7a5c2f9e84","disk_type":"PERSISTENT"}`
		if says := string(got.NVMe.VendorArea); len(says) != 3712 || strings.TrimRight(says, "\x00") != want {
			t.Errorf("%s: %d bytes: %q", name, len(says), strings.TrimRight(says, "\x00"))
		}
		if got.SerialNumber != "2FD0_4A91_C7B8_E635_0000_0000_0000_0000." {
			t.Errorf("%s: serial number %q", name, got.SerialNumber)
		}
		wantPage83 := "eui.2FD04A91C7B8E6350000000000000000"
		if name == "gce-nvme-2019" {
			wantPage83 = "" // older rules of the NVMe driver (windows-api.md 2.4)
		}
		if id := abi.Page83(got.Identifiers); id != wantPage83 {
			t.Errorf("%s: page 83 %q", name, id)
		}
	}
}

// A disk that tells who it is but not how large it is has been looked at: where
// it does not match, no disk does (D10).
func TestFindDisk_D10_OnlyIdentityCounts(t *testing.T) {
	for _, code := range []uint32{abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, abi.IOCTL_DISK_GET_DISK_ATTRIBUTES} {
		node := nodeWith(t, blank())
		path := pathOf(t, node, 1)
		failing(node, func(c simhost.Call) bool { return c.Subject == path && isControl(code)(c) }, win.ERROR_NOT_READY)
		_, err := group(node).FindDisk(t.Context(), disk.MatchSerial("another"))
		wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
		got, err := group(node).FindDisk(t.Context(), disk.MatchSerial("data-1"))
		if err != nil || got.Number != 1 || !errors.Is(got.Err, win.ERROR_NOT_READY) {
			t.Errorf("got disk %d with %v, %v", got.Number, got.Err, err)
		}
	}
}

// waited is how long WaitForDisk took, and how often it looked.
func waited(t *testing.T, node *simhost.Node, m disk.Matcher) (found disk.Description, took time.Duration, looks int) {
	t.Helper()
	start, before := time.Now(), node.Calls().ByMethod()["Devices.Interfaces"]
	found, err := group(node).WaitForDisk(t.Context(), m)
	if err != nil {
		t.Error(err)
	}
	return found, time.Since(start), node.Calls().ByMethod()["Devices.Interfaces"] - before
}

// D05: where Windows tells of arrivals, a disk is found at once when it arrives,
// and hardly looked for before.
func TestWaitForDisk_D05_Notice(t *testing.T) {
	for _, l := range lookAlikes() {
		t.Run(l.node, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node, d := nodeOf(t, shipped(t, l.node)), dataDisk(t, l.node)
				d.Name, d.InterfacePath = "late", ""
				l.become(9, &d)
				if err := node.AddDisk(d); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(47*time.Second, func() { attach(t, node, "late") })
				found, took, looks := waited(t, node, l.rule(9))
				if want, _ := node.DiskNumber("late"); found.Number != want || took != 47*time.Second {
					t.Errorf("found disk %d after %v", found.Number, took)
				}
				if looks > 14 {
					t.Errorf("looked %d times", looks)
				}
			})
		})
	}
}

// D05: where Windows tells of none, a disk is found a second later at most.
func TestWaitForDisk_D05_NoNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := nodeOf(t, shipped(t, "gce-nvme"))
		failing(node, func(c simhost.Call) bool { return c.Method == "Arrivals.Watch" }, win.ConfigRet(0x20))
		time.AfterFunc(47500*time.Millisecond, func() { attach(t, node, "data") })
		m := disk.MatchGoogleNVMe("pvc-6a0e4b1d-93c2-4f57-8d1e-0b7a5c2f9e84")
		if found, took, _ := waited(t, node, m); found.Number != 1 || took < 47500*time.Millisecond || took > 48500*time.Millisecond {
			t.Errorf("found disk %d after %v", found.Number, took)
		}
	})
}

// D05: a disk that answers only a while after it has arrived is looked at again.
func TestWaitForDisk_D05_NotReadyAtArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := nodeOf(t, shipped(t, "vsphere-pvscsi"))
		var ready time.Time
		node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Devices.Open" && strings.Contains(c.Subject, "22be343f") && time.Now().Before(ready) {
				return win.ERROR_NOT_READY
			}
			return do()
		})
		time.AfterFunc(31*time.Second, func() {
			ready = time.Now().Add(1500 * time.Millisecond)
			attach(t, node, "data")
		})
		m := disk.MatchPage83("6000c2957a5d0e1b2c3d4e5f60718293")
		if found, took, _ := waited(t, node, m); found.Number != 1 || took != 33*time.Second {
			t.Errorf("found disk %d after %v", found.Number, took)
		}
	})
}

// D05: an arrival is seen while a rescan hangs, by each of many who wait, with
// one registration for all, also of another disk group.
func TestWaitForDisk_D05_ManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, release := nodeOf(t, shipped(t, "aws-nitro")), make(chan struct{})
		node.OnCall(func(c simhost.Call, do func() error) error {
			if strings.Contains(c.Subject, "UpdateHostStorageCache") {
				<-release
			}
			return do()
		})
		time.AfterFunc(5*time.Second, func() { attach(t, node, "data") })
		start, done := time.Now(), make(chan error, 8)
		for range cap(done) {
			go func() {
				_, err := group(node).WaitForDisk(t.Context(), disk.MatchEBS("vol-0123456789abcdef0"))
				done <- err
			}()
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
		if n := node.Calls().ByMethod()["Arrivals.Watch"]; n != 1 {
			t.Errorf("%d registrations", n)
		}
		close(release)
	})
}

// A wait that ends leaves nothing waiting.
func TestWaitForDisk_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := nodeOf(t, shipped(t, "aws-nitro"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := group(node).WaitForDisk(ctx, disk.MatchEBS("vol-0123456789abcdef0"))
		wantError(t, err, context.DeadlineExceeded, errdefs.DeadlineExceeded)
		wantError(t, err, errdefs.ErrNotFound, errdefs.DeadlineExceeded)
		attach(t, node, "data") // tells nobody
	})
}

// D13: why a disk is offline, and the policy that made it so.
func TestDescribeDisk_D13_WhyOffline(t *testing.T) {
	for _, c := range []struct {
		node, disk string
		offline    bool
		reason     disk.OfflineReason
		policy     disk.SANPolicy
		says       string
	}{
		{"vsphere-pvscsi", "data", true, disk.OfflineByPolicy, disk.SANPolicyOfflineShared, "SAN policy"},
		{"san-iscsi", "data", true, disk.OfflineByPolicy, disk.SANPolicyOfflineShared, "SAN policy"},
		{"san-fibre", "data", true, disk.OfflineByPolicy, disk.SANPolicyOfflineShared, "SAN policy"},
		{"san-fibre", "clone", true, disk.OfflineCollision, disk.SANPolicyOfflineShared, "collision of disk ids"},
		{"aws-nitro", "data", false, 0, disk.SANPolicyOnlineAll, "none"},
	} {
		t.Run(c.node+" "+c.disk, func(t *testing.T) {
			node := allAttached(t, c.node)
			number, _ := node.DiskNumber(c.disk)
			got, err := group(node).DescribeDisk(t.Context(), number)
			if err != nil || got.Err != nil || got.ProviderErr != nil {
				t.Fatal(err, got.Err, got.ProviderErr)
			}
			if got.State.Offline != c.offline || got.Provider.OfflineReason != c.reason || got.Provider.OfflineReason.String() != c.says {
				t.Errorf("offline %v: %v", got.State.Offline, got.Provider.OfflineReason)
			}
			if policy, err := group(node).SANPolicy(t.Context()); err != nil || policy != c.policy {
				t.Errorf("SAN policy %v, %v", policy, err)
			}
		})
	}
}

// D14: read-only is read, set and cleared, online and offline, and read back.
func TestSetReadOnly_D14(t *testing.T) {
	for name, offline := range map[string]bool{"online": false, "offline": true} {
		t.Run(name, func(t *testing.T) {
			node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Offline = offline }))
			d := group(node)
			for _, want := range []bool{true, true, false, false} {
				if _, err := d.SetReadOnly(t.Context(), &disk.SetReadOnlyRequest{DiskNumber: 1, IsReadOnly: want}); err != nil {
					t.Fatal(err)
				}
				got, err := d.GetReadOnly(t.Context(), &disk.GetReadOnlyRequest{DiskNumber: 1})
				state, err2 := d.GetDiskState(t.Context(), &disk.GetDiskStateRequest{DiskNumber: 1})
				if err != nil || err2 != nil || got.IsReadOnly != want || state.IsOnline == offline {
					t.Errorf("read-only %v, online %v, %v, %v; want read-only %v", got.IsReadOnly, state.IsOnline, err, err2, want)
				}
			}
		})
	}
}

func TestReadOnly_Errors(t *testing.T) {
	node := nodeWith(t, blank())
	d := group(node)
	if resp, err := d.GetReadOnly(t.Context(), nil); resp == nil || !errors.Is(err, errdefs.ErrInvalidArgument) {
		t.Errorf("got %v, %v", resp, err)
	}
	if resp, err := d.SetReadOnly(t.Context(), nil); resp == nil || !errors.Is(err, errdefs.ErrInvalidArgument) {
		t.Errorf("got %v, %v", resp, err)
	}
	if n := node.Calls().Total(); n != 0 {
		t.Errorf("%d boundary calls", n)
	}
	before := node.Snapshot()
	_, err := d.GetReadOnly(t.Context(), &disk.GetReadOnlyRequest{DiskNumber: 9})
	wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
	_, err = d.SetReadOnly(t.Context(), &disk.SetReadOnlyRequest{DiskNumber: 9, IsReadOnly: true})
	wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
	_, err = d.SetReadOnly(t.Context(), &disk.SetReadOnlyRequest{DiskNumber: 0, IsReadOnly: true})
	wantError(t, err, errdefs.ErrCriticalDisk, errdefs.FailedPrecondition)
	wantUnchanged(t, node, before)
}

// D06 and D09's better half: all identifiers of a LUN, with what each is and
// names; those of ports and targets do not name the disk.
func TestListDisks_D06_AllIdentifiers(t *testing.T) {
	node := allAttached(t, "san-fibre")
	got, err := group(node).FindDisk(t.Context(), disk.MatchPage83("600A0980-38304441462B4E52-74545130"))
	if err != nil {
		t.Fatal(err)
	}
	type id struct {
		CodeSet     string
		Type        string
		Association string
		Text        string
	}
	var ids []id
	for _, i := range got.Identifiers {
		ids = append(ids, id{i.CodeSet.String(), i.Type.String(), i.Association.String(), i.Text()})
	}
	want := []id{
		{"ASCII", "T10 vendor id", "target", "NETAPP  "},
		{"binary", "NAA", "device", "600a098038304441462b4e5274545130"},
		{"ASCII", "T10 vendor id", "device", "NETAPP   LUN 80DAF+NRtTQ0"},
		{"binary", "relative port", "port", "00000007"},
		{"binary", "target port group", "port", "000003e8"},
		{"UTF-8", "SCSI name", "target", "naa.500A09808D1E2F3A"},
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
	for _, other := range []string{"naa.500A09808D1E2F3A", "000003e8", "NETAPP  "} {
		if got, err := group(node).FindDisk(t.Context(), disk.MatchPage83(other)); !errors.Is(err, errdefs.ErrNotFound) {
			t.Errorf("%q is disk %d, %v", other, got.Number, err)
		}
	}
	resp, err := group(node).ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{})
	if err != nil || resp.DiskIDs[got.Number].Page83 != "600a098038304441462b4e5274545130" {
		t.Errorf("got %+v, %v", resp.DiskIDs[got.Number], err)
	}
}

// The disks below MPIO are no disks (windows-api.md 1.2).
func TestListDisks_MPIO(t *testing.T) {
	node := allAttached(t, "san-fibre")
	disks, err := group(node).ListDisks(t.Context())
	if err != nil || len(disks) != len(node.Disks()) {
		t.Errorf("%d disks of %d, %v", len(disks), len(node.Disks()), err)
	}
}

// D06: the serial number is told with its blanks and without.
func TestListDisks_D06_SerialNumbers(t *testing.T) {
	got, err := group(allAttached(t, "metal-sata")).FindDisk(t.Context(), disk.MatchSerial("V1G5TEST"))
	if err != nil || got.SerialNumber != "            V1G5TEST" || got.Serial() != "V1G5TEST" {
		t.Errorf("got %q, %q, %v", got.SerialNumber, got.Serial(), err)
	}
}

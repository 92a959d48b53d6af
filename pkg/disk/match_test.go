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
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// allAttached is a shipped node with every attachable disk attached.
func allAttached(t testing.TB, name string) *simhost.Node {
	t.Helper()
	node := nodeOf(t, shipped(t, name))
	for _, d := range shipped(t, name).Attachable {
		attach(t, node, d.Name)
	}
	return node
}

// The right disk on each shipped node, by its platform's rule (consumers.md 4,
// windows-api.md 2.5).
func TestFindDisk_OnShippedNodes(t *testing.T) {
	for _, c := range []struct {
		node    string
		matcher disk.Matcher
		want    string // disk name, "" for none
	}{
		{"aws-nitro", disk.MatchEBS("vol-0123456789abcdef0"), "data"},
		{"aws-nitro", disk.MatchEBS("vol0123456789abcdef1"), "data2"},
		{"aws-nitro", disk.MatchEBS("vol-0a1b2c3d4e5f60718"), "root"},
		{"aws-nitro", disk.MatchEBS("vol-0123456789abcdef"), ""}, // a prefix
		{"aws-nitro", disk.MatchEBS("vol"), ""},
		{"aws-nitro", disk.MatchSerial("vol0123456789abcdef0_00000001."), "data"},
		{"aws-nitro", disk.MatchSerial("vol0123456789abcdef0"), ""},
		{"aws-nitro", disk.MatchLUN(0), ""}, // NVMe has no LUN

		{"azure-scsi", disk.MatchLUN(0), "data"}, // not the OS disk, which has LUN 0 too
		{"azure-scsi", disk.MatchLUN(1), "data-lun1"},
		{"azure-scsi", disk.MatchLUN(5), "data-lun5"},
		{"azure-scsi", disk.MatchLUN(2), ""},
		{"azure-scsi", disk.MatchPage83("600224803b9ae5f1a0c4d2e655667702"), "data-lun1"},

		{"gce-scsi", disk.MatchGooglePage83("pvc-3f1c9a52-7b64-4d0e-8a37-5c2e9d10b6f4"), "data"},
		{"gce-scsi", disk.MatchGooglePage83("pvc-90b7d8e1-2c45-4f6a-b318-e6f70a1b2c3d"), "data2"},
		{"gce-scsi", disk.MatchGooglePage83("persistent-disk-0"), "boot"},
		{"gce-scsi", disk.MatchGooglePage83("persistent-disk"), ""},
		{"gce-scsi", disk.MatchGooglePage83("Google"), ""},
		{"gce-scsi", disk.MatchPage83("Google  persistent-disk-0"), "boot"},

		{"vsphere-pvscsi", disk.MatchPage83("6000c2957a5d0e1b2c3d4e5f60718293"), "data"},
		{"vsphere-pvscsi", disk.MatchPage83("6000C295-7a5d-0e1b-2c3d-4e5f60718293"), "data"},
		{"vsphere-pvscsi", disk.MatchSerial("6000c29f00112233445566778899aabb"), "data2"},
		{"vsphere-pvscsi", disk.MatchPage83("6000c2957a5d0e1b2c3d4e5f6071829"), ""},
	} {
		t.Run(c.node+" "+c.matcher.String(), func(t *testing.T) {
			node := allAttached(t, c.node)
			got, err := group(node).FindDisk(t.Context(), c.matcher)
			if c.want == "" {
				wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
				return
			}
			want, _ := node.DiskNumber(c.want)
			if err != nil || got.Number != want {
				t.Errorf("got disk %d, %v; want disk %d", got.Number, err, want)
			}
		})
	}
}

// nvme is an NVMe disk that tells the ids of its namespace.
func nvme(name, eui64, nguid string) simhost.DiskSpec {
	return simhost.DiskSpec{
		Name: name, Size: simhost.GiB, Bus: "nvme", Serial: "serial of " + name, Address: &simhost.AddressSpec{Port: 5},
		NVMe: &simhost.NVMeSpec{Serial: name, Model: "m", Namespace: 1, EUI64: eui64, NGUID: nguid},
	}
}

func TestFindDisk_NVMe(t *testing.T) {
	node := nodeWith(t,
		nvme("one", "0026b73840825615", ""),
		nvme("two", "", "10cc9636b6e3ce3b0000000000000000"),
		nvme("none", "", ""),
	)
	for _, c := range []struct {
		matcher disk.Matcher
		want    uint32
		err     error
	}{
		{disk.MatchEUI64("eui.0026B73840825615"), 1, nil},
		{disk.MatchNGUID("10cc9636-b6e3-ce3b-0000-000000000000"), 2, nil},
		{disk.MatchEUI64("0000000000000000"), 0, errdefs.ErrNotFound}, // the id of those that have none
		{disk.MatchNGUID(strings.Repeat("0", 32)), 0, errdefs.ErrNotFound},
		{disk.MatchEUI64("10cc9636b6e3ce3b"), 0, errdefs.ErrNotFound},
		{disk.MatchLUN(0), 0, errdefs.ErrNotFound},
	} {
		t.Run(c.matcher.String(), func(t *testing.T) {
			got, err := group(node).FindDisk(t.Context(), c.matcher)
			if !errors.Is(err, c.err) || got.Number != c.want {
				t.Errorf("got disk %d, %v", got.Number, err)
			}
		})
	}
}

func TestFindDisk_EBSForms(t *testing.T) {
	for serial, id := range map[string]string{
		"vol0123456789abcdef0_00000001.":  "vol-0123456789abcdef0",
		"vol0123456789abcdef0":            "vol-0123456789abcdef0",
		"vol1a2b3c4d         _00000001.":  "vol-1a2b3c4d",
		" vol0123456789abcdef0_00000002.": "vol0123456789abcdef0",
	} {
		t.Run(serial, func(t *testing.T) {
			node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Serial = serial }))
			if got, err := group(node).FindDisk(t.Context(), disk.MatchEBS(id)); err != nil || got.Number != 1 {
				t.Errorf("got disk %d, %v", got.Number, err)
			}
		})
	}
}

// Two disks that match are none, and neither is one by an empty id
// (field-reports.md D01, consumers.md 4.1 bug 11).
func TestFindDisk_Ambiguous(t *testing.T) {
	twin := blankWith(func(d *simhost.DiskSpec) { d.Name = "twin" })
	node := nodeWith(t, blank(), twin)
	for _, m := range []disk.Matcher{disk.MatchSerial("data-1"), disk.MatchLUN(0)} {
		got, err := group(node).FindDisk(t.Context(), m)
		wantError(t, err, errdefs.ErrFailedPrecondition, errdefs.FailedPrecondition)
		for _, name := range []string{"disk 1", "disk 2"} {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%v does not name %s", err, name)
			}
		}
		if got.Path != "" {
			t.Errorf("got %+v", got)
		}
	}
}

// DISK-16, BUG 18: an empty id names no disk, and not the one that has none.
func TestFindDisk_EmptyMatchers(t *testing.T) {
	node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Serial = "" }))
	for name, m := range map[string]disk.Matcher{
		"zero value": {}, "serial": disk.MatchSerial(" "), "EBS": disk.MatchEBS(""), "EBS dash": disk.MatchEBS("-"),
		"page 83": disk.MatchPage83(" "), "Google": disk.MatchGooglePage83("  "),
		"EUI": disk.MatchEUI64("eui."), "NGUID": disk.MatchNGUID(""),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := group(node).FindDisk(t.Context(), m)
			wantError(t, err, errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
			_, err = group(node).WaitForDisk(t.Context(), m)
			wantError(t, err, errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
		})
	}
}

// A disk that does not tell its ids may be the one: that is no NotFound, by
// which a driver would know that the disk is detached.
func TestFindDisk_UnreadableDisk(t *testing.T) {
	node := nodeWith(t, blank())
	path := pathOf(t, node, 1)
	failing(node, func(c simhost.Call) bool { return c.Method == "Devices.Open" && c.Subject == path }, win.ERROR_IO_DEVICE)
	_, err := group(node).FindDisk(t.Context(), disk.MatchSerial("data-2"))
	wantError(t, err, errdefs.ErrUnavailable, errdefs.Unavailable)
	wantError(t, err, win.ERROR_IO_DEVICE, errdefs.Unavailable)
}

// pathOf is the device interface path of a disk.
func pathOf(t testing.TB, node *simhost.Node, number uint32) string {
	t.Helper()
	disks, err := group(node).ListDisks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range disks {
		if d.Number == number {
			return d.Path
		}
	}
	t.Fatalf("no disk %d", number)
	return ""
}

// D05: a disk that arrives while somebody waits is found.
func TestWaitForDisk_D05_Arrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := nodeOf(t, shipped(t, "aws-nitro"))
		start := time.Now()
		time.AfterFunc(20*time.Second, func() { attach(t, node, "data") })
		got, err := group(node).WaitForDisk(t.Context(), disk.MatchEBS("vol-0123456789abcdef0"))
		if err != nil || got.Number != 1 {
			t.Errorf("got disk %d, %v", got.Number, err)
		}
		if took := time.Since(start); took < 20*time.Second || took > 22*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestWaitForDisk_NeverArrives(t *testing.T) {
	for name, c := range map[string]struct {
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		took time.Duration
		err  error
		kind errdefs.Kind
	}{
		"without deadline": {context.WithCancel, 2 * time.Minute, context.DeadlineExceeded, errdefs.DeadlineExceeded},
		"with deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 7*time.Second)
		}, 7 * time.Second, context.DeadlineExceeded, errdefs.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node := nodeWith(t)
				ctx, cancel := c.ctx(t.Context())
				defer cancel()
				start := time.Now()
				_, err := group(node).WaitForDisk(ctx, disk.MatchSerial("data-1"))
				wantError(t, err, c.err, c.kind)
				if !errors.Is(err, errdefs.ErrNotFound) {
					t.Errorf("%v does not say what was found last", err)
				}
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// Ambiguity does not get better by waiting.
func TestWaitForDisk_Ambiguous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := nodeWith(t, blank(), blankWith(func(d *simhost.DiskSpec) { d.Name = "twin" }))
		start := time.Now()
		_, err := group(node).WaitForDisk(t.Context(), disk.MatchSerial("data-1"))
		wantError(t, err, errdefs.ErrFailedPrecondition, errdefs.FailedPrecondition)
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

// WMI that fails or hangs does not keep a disk from being found.
func TestWaitForDisk_WithoutRescan(t *testing.T) {
	for name, rescan := range map[string]func(release chan struct{}) error{
		"fails": func(chan struct{}) error { return win.WBEM_E_PROVIDER_FAILURE },
		"hangs": func(release chan struct{}) error { <-release; return win.WBEM_E_PROVIDER_FAILURE },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node, release := nodeOf(t, shipped(t, "gce-scsi")), make(chan struct{})
				node.OnCall(func(c simhost.Call, do func() error) error {
					if strings.Contains(c.Subject, "UpdateHostStorageCache") {
						return rescan(release)
					}
					return do()
				})
				start := time.Now()
				time.AfterFunc(15*time.Second, func() { attach(t, node, "data2") })
				m := disk.MatchGooglePage83("pvc-90b7d8e1-2c45-4f6a-b318-e6f70a1b2c3d")
				if _, err := group(node).WaitForDisk(t.Context(), m); err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took > 26*time.Second {
					t.Errorf("took %v", took)
				}
				close(release)
			})
		})
	}
}

// A matcher without a value is refused whatever becomes of the list for its
// error, which names a disk without a number by its path.
func TestFindDisk_NoValueAndHalfAList(t *testing.T) {
	node := nodeWith(t, blank())
	path := pathOf(t, node, 1)
	failing(node, func(c simhost.Call) bool { return c.Method == "Devices.Open" && c.Subject == path }, win.ERROR_IO_DEVICE)
	_, err := group(node).FindDisk(t.Context(), disk.Matcher{})
	wantError(t, err, errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
	if listed := "a disk without number at " + path; !strings.Contains(err.Error(), listed) {
		t.Errorf("%v does not list %s", err, listed)
	}
	failing(node, func(c simhost.Call) bool { return c.Method == "Devices.Interfaces" }, win.ERROR_IO_DEVICE)
	_, err = group(node).FindDisk(t.Context(), disk.Matcher{})
	wantError(t, err, errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
	wantError(t, err, win.ERROR_IO_DEVICE, errdefs.InvalidArgument)
}

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

// diskWide are the calls that change a whole disk.
var diskWide = map[string]func(context.Context, *disk.Disk, uint32) error{
	"PartitionDisk": func(ctx context.Context, d *disk.Disk, number uint32) error {
		_, err := d.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number})
		return err
	},
	"PartitionDisk with Overwrite": func(ctx context.Context, d *disk.Disk, number uint32) error {
		_, err := d.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number, Overwrite: true})
		return err
	},
	"SetDiskState online": func(ctx context.Context, d *disk.Disk, number uint32) error {
		_, err := d.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true})
		return err
	},
	"SetDiskState offline": func(ctx context.Context, d *disk.Disk, number uint32) error {
		_, err := d.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number})
		return err
	},
	"SetReadOnly": func(ctx context.Context, d *disk.Disk, number uint32) error {
		_, err := d.SetReadOnly(ctx, &disk.SetReadOnlyRequest{DiskNumber: number, IsReadOnly: true})
		return err
	},
	"SetReadOnly writable": func(ctx context.Context, d *disk.Disk, number uint32) error {
		_, err := d.SetReadOnly(ctx, &disk.SetReadOnlyRequest{DiskNumber: number})
		return err
	},
	"EnsureOnlineWritable": func(ctx context.Context, d *disk.Disk, number uint32) error {
		_, err := d.EnsureOnlineWritable(ctx, &disk.EnsureOnlineWritableRequest{DiskNumber: number})
		return err
	},
}

// efiDisk and cDrive are a system partition and a boot volume on disks of their
// own.
func efiDisk() simhost.DiskSpec {
	return simhost.DiskSpec{
		Name: "efi", Size: simhost.GiB, Bus: "sata", Serial: "efi", Style: "gpt",
		Partitions: []simhost.PartitionSpec{{Type: "efi", Volume: &simhost.VolumeSpec{FileSystem: "FAT32"}}},
	}
}

func lettered(name, letter string) simhost.DiskSpec {
	return simhost.DiskSpec{
		Name: name, Size: 40 * simhost.GiB, Bus: "sata", Serial: name, Style: "gpt",
		Partitions: []simhost.PartitionSpec{{Type: "msr"}, {Volume: &simhost.VolumeSpec{FileSystem: "NTFS", Letter: letter, Used: simhost.GiB}}},
	}
}

func clusteredDisk() simhost.DiskSpec {
	return blankWith(func(d *simhost.DiskSpec) {
		d.Style, d.Clustered = "gpt", true
		d.Partitions = []simhost.PartitionSpec{{Volume: &simhost.VolumeSpec{FileSystem: "NTFS"}}}
	})
}

// Disk-wide calls refuse what Windows needs, also where nothing would change
// (docs/architecture.md, rule 3, field-reports.md D01).
func TestDiskWide_D01_CriticalDisksRefuse(t *testing.T) {
	spec := simhost.NodeSpec{
		PageFiles: []string{`P:\pagefile.sys`},
		Disks:     []simhost.DiskSpec{efiDisk(), lettered("windows", "C"), lettered("paging", "P"), clusteredDisk()},
	}
	for number, name := range []string{"system", "boot", "page file", "clustered"} {
		for call, run := range diskWide {
			t.Run(name+" "+call, func(t *testing.T) {
				node := nodeOf(t, spec)
				before := node.Snapshot()
				wantError(t, run(t.Context(), group(node), uint32(number)), errdefs.ErrCriticalDisk, errdefs.FailedPrecondition)
				wantUnchanged(t, node, before)
			})
		}
	}
}

// A clustered disk without volumes is known to the storage provider alone.
func TestPartitionDisk_BlankClusteredDiskRefuses(t *testing.T) {
	for _, style := range []string{"raw", "gpt", "mbr"} {
		t.Run(style, func(t *testing.T) {
			node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Clustered, d.Style = true, style }))
			before := node.Snapshot()
			wantError(t, partition(t.Context(), node, 1), errdefs.ErrCriticalDisk, errdefs.FailedPrecondition)
			wantUnchanged(t, node, before)
		})
	}
}

// Where it cannot be told what Windows needs, nothing is changed.
func TestDiskWide_UntoldBootDiskStops(t *testing.T) {
	for name, selected := range map[string]func(simhost.Call) bool{
		"Windows directory": func(c simhost.Call) bool { return c.Method == "System.WindowsDirectory" },
		"system partition":  func(c simhost.Call) bool { return strings.HasSuffix(c.Subject, "SystemPartition") },
		"page files":        func(c simhost.Call) bool { return strings.HasSuffix(c.Subject, "ExistingPageFiles") },
		"volume of a drive": func(c simhost.Call) bool { return c.Method == "Mounts.VolumeAt" },
		"volume device":     func(c simhost.Call) bool { return c.Method == "Devices.Open" && strings.Contains(c.Subject, "Volume") },
		"extents":           isControl(abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS),
		"volumes":           func(c simhost.Call) bool { return c.Method == "Mounts.Volumes" },
	} {
		for call, run := range diskWide {
			t.Run(name+" "+call, func(t *testing.T) {
				node := nodeWith(t, blank())
				before := node.Snapshot()
				failing(node, selected, win.ERROR_ACCESS_DENIED)
				wantError(t, run(t.Context(), group(node), 1), win.ERROR_ACCESS_DENIED, errdefs.PermissionDenied)
				node.OnCall(nil)
				wantUnchanged(t, node, before)
				if err := run(t.Context(), group(node), 1); err != nil {
					t.Errorf("once it can be told: %v", err)
				}
			})
		}
	}
}

// A host without page files is one.
func TestDiskWide_WithoutPageFiles(t *testing.T) {
	node := nodeOf(t, simhost.NodeSpec{PageFiles: []string{}, Disks: []simhost.DiskSpec{simhost.BootDisk(), blank()}})
	if err := partition(t.Context(), node, 1); err != nil {
		t.Error(err)
	}
	failing(node, func(c simhost.Call) bool { return strings.HasSuffix(c.Subject, "ExistingPageFiles") }, win.ERROR_FILE_NOT_FOUND)
	if err := diskWide["SetDiskState offline"](t.Context(), group(node), 1); err != nil {
		t.Errorf("no such value: %v", err)
	}
}

// dataDisks are two data disks with a volume each, as disks 1 and 2.
func dataDisks() []simhost.DiskSpec {
	one, two := lettered("one", ""), lettered("two", "")
	return []simhost.DiskSpec{one, two}
}

// volumeOf is the name of the only volume of a disk.
func volumeOf(t *testing.T, node *simhost.Node, disk string) string {
	t.Helper()
	for _, line := range facts(node, `volume \\?\Volume`) {
		if strings.Contains(line, "on disk "+disk+",") {
			return strings.Fields(line)[1][:len(`\\?\Volume{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}`)]
		}
	}
	t.Fatalf("disk %s has no volume", disk)
	return ""
}

// A sick data volume makes its own disk refuse, where it can be placed, and no
// other; it is not remembered as critical.
func TestDiskWide_SickVolumeStopsItsDiskAlone(t *testing.T) {
	offline := diskWide["SetDiskState offline"]
	for name, c := range map[string]struct {
		sick   func(volume string) func(simhost.Call) bool
		placed bool
	}{
		"does not say whether it is clustered": {func(volume string) func(simhost.Call) bool {
			return func(c simhost.Call) bool { return c.Subject == volume && c.Code == abi.IOCTL_VOLUME_IS_CLUSTERED }
		}, true},
		"cannot be opened": {func(volume string) func(simhost.Call) bool {
			return func(c simhost.Call) bool { return c.Subject == volume && c.Method == "Devices.Open" }
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			node := nodeWith(t, dataDisks()...)
			failing(node, c.sick(volumeOf(t, node, "one")), win.ERROR_IO_DEVICE)
			if err := offline(t.Context(), group(node), 2); err != nil {
				t.Errorf("the other disk: %v", err)
			}
			err := offline(t.Context(), group(node), 1)
			if c.placed {
				wantError(t, err, win.ERROR_IO_DEVICE, errdefs.Unavailable)
				if errors.Is(err, errdefs.ErrCriticalDisk) {
					t.Errorf("%v claims to know", err)
				}
			} else if err != nil {
				t.Error(err)
			}
			node.OnCall(nil)
			if err := offline(t.Context(), group(node), 1); err != nil {
				t.Errorf("once it is well: %v", err)
			}
		})
	}
}

// A dead iSCSI volume that never answers holds up the others for 5 s, once.
func TestDiskWide_HangingVolumeDoesNotStopOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := nodeWith(t, dataDisks()...)
		volume, release := volumeOf(t, node, "one"), make(chan struct{})
		node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Subject == volume {
				<-release
			}
			return do()
		})
		for i, most := range []time.Duration{5 * time.Second, 0} {
			start := time.Now()
			if err := diskWide["SetDiskState offline"](t.Context(), group(node), 2); err != nil {
				t.Errorf("call %d: %v", i, err)
			}
			if took := time.Since(start); took != most {
				t.Errorf("call %d took %v", i, took)
			}
		}
		close(release)
	})
}

// What Windows needs is read again after a minute.
func TestDiskWide_CriticalDisksAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := nodeWith(t, blank())
		online := func() int {
			node.Calls().Reset()
			if err := diskWide["SetDiskState online"](t.Context(), group(node), 1); err != nil {
				t.Error(err)
			}
			return node.Calls().ByMethod()["System.WindowsDirectory"]
		}
		for i, want := range []int{1, 0} {
			if got := online(); got != want {
				t.Errorf("call %d read it %d times", i, got)
			}
		}
		time.Sleep(time.Minute)
		if got := online(); got != 1 {
			t.Errorf("after a minute read %d times", got)
		}
	})
}

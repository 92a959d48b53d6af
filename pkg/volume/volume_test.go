// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// manyPartitions is a GPT disk whose partition numbers do not follow the
// offsets; of its nine partitions three hold data.
func manyPartitions() simhost.DiskSpec {
	hidden := dataPartition("", "")
	hidden.Attributes = abi.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN
	partition := func(number uint32, p simhost.PartitionSpec) simhost.PartitionSpec {
		p.Number, p.Size = number, 50*simhost.MiB
		return p
	}
	other := func(kind string) simhost.PartitionSpec { return simhost.PartitionSpec{Type: kind} }
	disk := gptDisk("data", simhost.GiB,
		partition(9, other("efi")),
		partition(7, dataPartition(rawID, "")),
		partition(2, other("recovery")),
		partition(3, dataPartition(dataID, "NTFS")),
		partition(4, hidden),
		partition(5, other("linux")),
		partition(6, dataPartition(deadID, "ReFS")),
	)
	disk.Partitions[0].Number = 8
	return disk
}

func without(name string) func(*simhost.NodeSpec) {
	return func(spec *simhost.NodeSpec) {
		spec.Disks = slices.DeleteFunc(spec.Disks, func(d simhost.DiskSpec) bool { return d.Name == name })
	}
}

// VOL-1, VOL-6, VOL-8, VOL-10, field-reports.md D22: data volumes by offset, no
// other; drivers take the first.
func TestListVolumesOnDisk(t *testing.T) {
	mbr := func(style string, partitions ...simhost.PartitionSpec) func(*simhost.NodeSpec) {
		return editDisk("data", func(d *simhost.DiskSpec) { d.Style, d.Partitions = style, partitions })
	}
	sized := func(p simhost.PartitionSpec, kind string) simhost.PartitionSpec {
		p.Type, p.Size = kind, 100*simhost.MiB
		return p
	}
	opaque := func(spec *simhost.NodeSpec) { spec.Switches.MountManagerID = simhost.MountManagerOpaque }
	many := func(spec *simhost.NodeSpec) {
		without("raw")(spec)
		onDisk("data", manyPartitions())(spec)
	}
	for _, tt := range []struct {
		name            string
		edit            func(*simhost.NodeSpec)
		disk, partition uint32
		want            []string
	}{
		{"one partition", nil, dataDisk, 0, []string{dataID}},
		{"reserved partition", nil, dataDisk, 1, []string{}},
		{"data partition", nil, dataDisk, 2, []string{dataID}},
		{"unknown partition", nil, dataDisk, 3, []string{}},
		{"Windows' own disk", nil, bootDisk, 0, []string{bootID}},
		{"RAW volume", nil, rawDisk, 0, []string{rawID}},
		{"by offset, data only", many, dataDisk, 0, []string{rawID, dataID, deadID}},
		{"number 7", many, dataDisk, 7, []string{rawID}},
		{"recovery", many, dataDisk, 2, []string{}},
		{"hidden", many, dataDisk, 4, []string{}},
		{"ids that tell nothing", opaque, dataDisk, 0, []string{dataID}},
		{"blank disk", onDisk("data", simhost.DiskSpec{Name: "data", Size: simhost.GiB, Bus: "scsi", Serial: "1"}), dataDisk, 0, []string{}},
		{"only a reserved partition", onDisk("data", gptDisk("data", simhost.GiB)), dataDisk, 0, []string{}},
		{
			"MBR", mbr("mbr", sized(dataPartition(dataID, "NTFS"), "0x07"), sized(simhost.PartitionSpec{}, "0x83"), sized(dataPartition(deadID, "FAT32"), "0x0c"), sized(simhost.PartitionSpec{}, "0x27")),
			dataDisk, 0,
			[]string{dataID, deadID},
		},
		{"superfloppy", mbr("superfloppy", dataPartition(dataID, "NTFS")), dataDisk, 0, []string{dataID}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, tt.edit)
				got, err := s.listPartition(tt.disk, tt.partition)
				s.must(err)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// VOL-7, VOL-10, field-reports.md D17: what Windows says stays in the error, as text
// too.
func TestListVolumesOnDisk_Fails(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*simhost.DiskSpec)
		disk uint32
		want error
	}{
		{"unknown disk", func(*simhost.DiskSpec) {}, 9, errdefs.ErrNotFound},
		{"offline", func(d *simhost.DiskSpec) { d.Offline = true }, dataDisk, errdefs.ErrDiskOffline},
		{"unreadable layout", func(d *simhost.DiskSpec) { d.LayoutError = uint32(win.ERROR_CRC) }, dataDisk, win.ERROR_CRC},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, editDisk("data", tt.edit))
				got, err := s.list(tt.disk)
				s.fails(err, tt.want)
				var said win.Errno
				if errors.As(err, &said) && !strings.Contains(err.Error(), said.Error()) {
					t.Errorf("%v does not say %q", err, said.Error())
				}
				if len(got) != 0 {
					t.Errorf("volumes %q", got)
				}
			})
		})
	}
}

// attachable moves the data disk to those that are attached later, and sets how
// long its volume takes to arrive.
func attachable(arrival time.Duration) func(*simhost.NodeSpec) {
	return func(spec *simhost.NodeSpec) {
		for _, d := range spec.Disks {
			if d.Name == "data" {
				spec.Attachable = append(spec.Attachable, d)
			}
		}
		without("data")(spec)
		spec.Arrival = simhost.Duration(arrival)
	}
}

// FLOW-2: after PartitionDisk the volume may take a while to arrive.
func TestListVolumesOnDisk_LateArrival(t *testing.T) {
	for _, tt := range []struct {
		arrival time.Duration
		want    error
	}{
		{0, nil},
		{300 * time.Millisecond, nil},
		{29 * time.Second, nil},
		{31 * time.Second, errdefs.ErrUnavailable},
	} {
		t.Run(tt.arrival.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, attachable(tt.arrival))
				number, err := s.node.AttachDisk("data")
				s.must(err)
				start := time.Now()
				got, err := s.list(number)
				if waited := time.Since(start); waited > 30*time.Second || waited > tt.arrival+time.Second {
					t.Errorf("waited %v", waited)
				}
				if tt.want != nil {
					s.fails(err, tt.want)
					s.hasKind(err, errdefs.Unavailable)
					return
				}
				s.must(err)
				if !slices.Equal(got, []string{dataID}) {
					t.Errorf("volumes %q", got)
				}
			})
		})
	}
}

// A partition's number chooses which volumes are waited for.
func TestListVolumesOnDisk_WaitsForNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := simhost.PartitionSpec{Number: 3, Size: 10 * simhost.MiB, WithoutVolume: true}
		first := dataPartition(dataID, "NTFS")
		first.Number, first.Size = 2, 10*simhost.MiB
		s := newSite(t, onDisk("data", gptDisk("data", simhost.GiB, first, never)))
		start := time.Now()
		got, err := s.listPartition(dataDisk, 2)
		s.must(err)
		if !slices.Equal(got, []string{dataID}) || time.Since(start) != 0 {
			t.Errorf("volumes %q after %v", got, time.Since(start))
		}
		_, err = s.list(dataDisk)
		s.fails(err, errdefs.ErrUnavailable)
		if time.Since(start) != 30*time.Second {
			t.Errorf("waited %v", time.Since(start))
		}
	})
}

func TestListVolumesOnDisk_CallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, attachable(time.Hour))
		number, err := s.node.AttachDisk("data")
		s.must(err)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_, err = s.vol.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
		s.fails(err, errdefs.ErrUnavailable, context.DeadlineExceeded)
		s.hasKind(err, errdefs.Unavailable)
		if time.Since(start) != 5*time.Second {
			t.Errorf("waited %v", time.Since(start))
		}
	})
}

// A disk that never answers does not keep its caller, nor the callers after it.
func TestListVolumesOnDisk_Hangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Code == abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX && c.Subject == `\\.\PhysicalDrive1` {
				<-release
			}
			return do()
		})
		_, err := s.list(dataDisk)
		s.fails(err, context.DeadlineExceeded)
		_, err = s.list(dataDisk)
		s.fails(err, errdefs.ErrResourceExhausted)
		got, err := s.list(otherDisk)
		s.must(err)
		if !slices.Equal(got, []string{otherID}) {
			t.Errorf("volumes of another disk %q", got)
		}
		close(release)
		synctest.Wait()
		_, err = s.list(dataDisk)
		s.must(err)
	})
}

// A volume that goes while the disk's are looked for is not there; one that
// cannot be asked is an error, because it may be the one.
func TestListVolumesOnDisk_VolumeLeaves(t *testing.T) {
	extents := func(c simhost.Call) bool { return c.Code == abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS }
	for _, tt := range []struct {
		code win.Errno
		want error
	}{
		{win.ERROR_FILE_NOT_FOUND, errdefs.ErrUnavailable},
		{win.ERROR_NO_SUCH_DEVICE, errdefs.ErrUnavailable},
		{win.ERROR_DEVICE_NOT_CONNECTED, errdefs.ErrUnavailable},
		{win.ERROR_NOT_READY, errdefs.ErrUnavailable},
		{win.ERROR_ACCESS_DENIED, errdefs.ErrPermissionDenied},
		{win.ERROR_IO_DEVICE, win.ERROR_IO_DEVICE},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.answers(tt.code, extents)
			_, err := s.list(dataDisk)
			s.fails(err, tt.want)
		})
	}
}

// VOL-30: sizes of the file system; a RAW volume has none.
func TestGetVolumeStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, editDisk("data", func(d *simhost.DiskSpec) { d.Partitions[1].Volume.Used = 300 * simhost.MiB }))
		got, err := s.stats(dataID)
		s.must(err)
		want := &volume.GetVolumeStatsResponse{TotalBytes: int64(simhost.GiB - 17*simhost.MiB), UsedBytes: int64(300 * simhost.MiB), AvailableBytes: int64((1024 - 17 - 300) * simhost.MiB)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if short := int64(simhost.GiB) - got.TotalBytes; short < 0 || short > int64(20*simhost.MiB) {
			t.Errorf("%d bytes below the disk's size", short)
		}
		got, err = s.stats(rawID)
		s.must(err)
		if diff := cmp.Diff(&volume.GetVolumeStatsResponse{}, got); diff != "" {
			t.Error(diff)
		}
		_, err = s.stats(deadID)
		s.hasKind(err, errdefs.NotFound)
	})
}

// VOL-31.
func TestGetDiskNumberFromVolumeID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		for id, want := range map[string]uint32{bootID: bootDisk, dataID: dataDisk, rawID: rawDisk} {
			if got, err := s.diskOf(id); err != nil || got != want {
				t.Errorf("%s: %d, %v; want %d", id, got, err, want)
			}
		}
		s.must(s.mount(dataID, staging))
		s.must(s.unmount(dataID, staging))
		if got, err := s.diskOf(dataID); err != nil || got != dataDisk {
			t.Errorf("after it was unmounted: %d, %v", got, err)
		}
		_, err := s.diskOf(deadID)
		s.hasKind(err, errdefs.NotFound)

		s.must(s.node.DetachDisk("data"))
		_, err = s.diskOf(dataID)
		s.hasKind(err, errdefs.NotFound)
		s.must(s.node.AddDisk(gptDisk("late", simhost.GiB)))
		_, err = s.node.AttachDisk("late") // as disk 1
		s.must(err)
		_, err = s.node.AttachDisk("data")
		s.must(err)
		if got, err := s.diskOf(dataID); err != nil || got != 4 {
			t.Errorf("after it moved: %d, %v", got, err)
		}
	})
}

// VOL-39, field-reports.md V10.
func TestWriteVolumeCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.unchanged(func() {
			for range 2 {
				s.must(s.flush(dataID))
			}
			s.must(s.flush(rawID))
			s.must(s.flush(bootID))
			s.hasKind(s.flush(deadID), errdefs.NotFound)
		})
		flush := func(c simhost.Call) bool { return c.Method == "Device.Flush" }
		s.answers(win.ERROR_WRITE_PROTECT, flush)
		s.must(s.flush(dataID)) // a read-only volume holds nothing back
		s.answers(win.ERROR_IO_DEVICE, flush)
		s.fails(s.flush(dataID), win.ERROR_IO_DEVICE, errdefs.ErrUnavailable)
	})
}

// An offline disk was written before it went; its volume is not there, in the
// code of either position.
func TestWriteVolumeCache_Offline(t *testing.T) {
	for name, tt := range map[string]struct {
		notReady bool
		want     error
	}{
		"not found": {false, errdefs.ErrNotFound},
		"not ready": {true, errdefs.ErrDiskOffline},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(spec *simhost.NodeSpec) {
					spec.Switches.OfflineVolumeNotReady = tt.notReady
					editDisk("data", func(d *simhost.DiskSpec) { d.Offline = true })(spec)
				})
				s.fails(s.flush(dataID), tt.want)
			})
		})
	}
}

// Callers at once share a flush, and one that hangs; it is never begun twice.
func TestWriteVolumeCache_Joined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		var flushes atomic.Int32
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Device.Flush" {
				flushes.Add(1)
				<-release
			}
			return do()
		})
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			errs := make([]error, 64)
			var callers sync.WaitGroup
			for i := range errs {
				callers.Go(func() {
					_, errs[i] = s.vol.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: dataID})
				})
			}
			callers.Wait()
			cancel()
			for _, err := range errs {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("while it hangs: %v", err)
				}
			}
		}
		last := make(chan error)
		go func() { last <- s.flush(dataID) }()
		synctest.Wait()
		close(release)
		if err := <-last; err != nil {
			t.Error(err)
		}
		if n := flushes.Load(); n != 1 {
			t.Errorf("%d flushes", n)
		}
	})
}

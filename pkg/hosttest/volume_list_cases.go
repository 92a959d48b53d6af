// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func volumeListCases() []Case {
	return []Case{
		{IDs: []string{"VOL-6"}, Shows: "a partitioned disk has exactly one volume, in one partition", Needs: []Ability{Disks}, Test: func(h *Host) {
			id, number := h.newRAW()
			h.wantVolumes(number, 0, id)
			var inPartitions []string
			for partition := uint32(1); partition <= 4; partition++ { // one is reserved for Windows
				ids, err := h.volumesOf(number, partition)
				h.must(err)
				inPartitions = append(inPartitions, ids...)
			}
			if !slices.Equal(inPartitions, []string{id}) {
				h.Errorf("in its partitions: %q", inPartitions)
			}
		}},
		{IDs: []string{"VOL-6", "VOL-10"}, Shows: "volumes of data partitions by offset, and no other", Needs: []Ability{Model}, Spec: manyPartitions, Test: listsManyPartitions},
		{IDs: []string{"VOL-6", "VOL-10"}, Shows: "the same where ids tell nothing of disks", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			manyPartitions(spec)
			spec.Switches.MountManagerID = simhost.MountManagerOpaque
		}, Test: listsManyPartitions},
		{IDs: []string{"VOL-6"}, Shows: "volumes that arrive late are waited for, half a minute", Needs: []Ability{Model, Time}, Spec: func(spec *simhost.NodeSpec) {
			spec.Arrival = simhost.Duration(29 * time.Second)
			spec.Attachable = spec.Disks[dataDisk : dataDisk+1]
			spec.Disks = slices.Delete(slices.Clone(spec.Disks), int(dataDisk), int(dataDisk)+1)
		}, Test: func(h *Host) {
			number, err := h.Node.AttachDisk("data")
			h.must(err)
			start := time.Now()
			h.wantVolumes(number, 0, dataID)
			if waited := time.Since(start); waited < 29*time.Second || waited > 30*time.Second {
				h.Errorf("waited %v", waited)
			}
		}},
		{IDs: []string{"VOL-6"}, Shows: "volumes that do not arrive are Unavailable after half a minute", Needs: []Ability{Model, Time}, Spec: func(spec *simhost.NodeSpec) {
			d := &spec.Disks[dataDisk]
			d.Partitions[1].Size = 10 * simhost.MiB
			d.Partitions = append(d.Partitions, simhost.PartitionSpec{Size: 10 * simhost.MiB, WithoutVolume: true})
		}, Test: func(h *Host) {
			start := time.Now()
			h.wantVolumes(dataDisk, 2, dataID) // does not wait for the other
			_, err := h.volumesOf(dataDisk, 0)
			h.wantKind(err, errdefs.Unavailable)
			if waited := time.Since(start); waited != 30*time.Second {
				h.Errorf("waited %v", waited)
			}
		}},
		{IDs: []string{"VOL-6"}, Shows: "an offline disk is an error", Needs: []Ability{Disks}, Test: func(h *Host) {
			_, number := h.newRAW()
			_, err := h.Disk.SetDiskState(h.Context(), &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: false})
			h.must(err)
			_, err = h.volumesOf(number, 0)
			h.wantErrors(err, errdefs.ErrDiskOffline, errdefs.ErrFailedPrecondition)
		}},
		{IDs: []string{"VOL-7"}, Shows: "an unknown disk is an error", Test: func(h *Host) {
			ids, err := h.volumesOf(9999, 0)
			h.wantKind(err, errdefs.NotFound)
			if len(ids) != 0 {
				h.Errorf("volumes %q", ids)
			}
		}},
		{IDs: []string{"VOL-7"}, Shows: "an unknown partition has no volumes, which is no error", Needs: []Ability{Disks}, Test: func(h *Host) {
			_, number := h.newRAW()
			h.wantVolumes(number, 99)
		}},
		{IDs: []string{"VOL-8"}, Shows: "a disk without volumes gives an empty list", Needs: []Ability{Disks}, Test: func(h *Host) {
			number, err := h.World.AttachDisk(int64(simhost.GiB))
			h.must(err)
			_, err = h.Disk.SetDiskState(h.Context(), &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true})
			h.must(err)
			h.wantVolumes(number, 0)
		}},
		{IDs: []string{"VOL-10"}, Shows: "what Windows says stays in the error and in its text", Needs: []Ability{Model}, Test: func(h *Host) {
			for _, code := range []win.Errno{win.ERROR_CRC, win.ERROR_ACCESS_DENIED, win.ERROR_IO_DEVICE} {
				h.answers(code, control(abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX))
				ids, err := h.volumesOf(dataDisk, 0)
				h.wantErrors(err, code)
				if err != nil && !strings.Contains(err.Error(), code.Error()) || len(ids) != 0 {
					h.Errorf("volumes %q, %v; want %v", ids, err, code)
				}
			}
		}},
		{IDs: []string{"VOL-31"}, Shows: "the disk of a volume, mounted or not", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, number := h.newVolume()
			h.wantDisk(id, number)
			path := h.newMount(id, "mount")
			h.wantDisk(id, number)
			h.must(h.unmount(id, path))
			h.wantDisk(id, number)
			h.must(h.World.DetachDisk(number))
			_, err := h.diskOf(id)
			h.wantKind(err, errdefs.NotFound)
		}},
		{IDs: []string{"VOL-31"}, Shows: "a disk that comes back as another is found", Needs: []Ability{Model}, Test: func(h *Host) {
			for _, name := range []string{"data", "other"} {
				h.must(h.Node.DetachDisk(name))
			}
			for want, name := range []string{"other", "data"} {
				number, err := h.Node.AttachDisk(name)
				h.must(err)
				if number != dataDisk+uint32(want) {
					h.Fatalf("%s is disk %d", name, number)
				}
			}
			h.wantDisk(otherID, dataDisk)
			h.wantDisk(dataID, otherDisk)
		}},
		{IDs: []string{"VOL-30"}, Shows: "size and use of a volume, none of a RAW one", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newRAW()
			stats, err := h.statsOf(id)
			h.must(err)
			if stats.TotalBytes != 0 || stats.UsedBytes != 0 {
				h.Errorf("RAW: %+v", stats)
			}
			h.must(h.format(id))
			empty, err := h.statsOf(id)
			h.must(err)
			h.wantNear(empty.TotalBytes, int64(simhost.GiB))
			const written = 64 << 20
			h.must(h.World.WriteFile(h.newMount(id, "mount")+`\file`, written))
			stats, err = h.statsOf(id)
			h.must(err)
			if stats.TotalBytes != empty.TotalBytes || stats.UsedBytes-empty.UsedBytes < written || stats.UsedBytes-empty.UsedBytes > written+(1<<20) {
				h.Errorf("%+v, and %+v with a file of %d bytes", empty, stats, written)
			}
			if stats.AvailableBytes != stats.TotalBytes-stats.UsedBytes {
				h.Errorf("available is not what remains: %+v", stats)
			}
		}},
		{IDs: []string{"VOL-30", "V19"}, Shows: "a quota makes less available than is free", Needs: []Ability{Model}, Test: func(h *Host) {
			const unit = 4096
			h.Node.OnCall(func(c simhost.Call, do func() error) error {
				err := do()
				if space, ok := c.Answer().(*win.FreeSpace); ok && err == nil {
					*space = win.FreeSpace{Total: 1000 * unit, Free: 600 * unit, Available: 250 * unit}
				}
				return err
			})
			got, err := h.statsOf(dataID)
			h.must(err)
			if want := (volume.GetVolumeStatsResponse{TotalBytes: 1000 * unit, UsedBytes: 400 * unit, AvailableBytes: 250 * unit}); *got != want {
				h.Errorf("got %+v, want %+v", *got, want)
			}
		}},
		{IDs: []string{"VOL-31"}, Shows: "a volume on no disk is not found", Needs: []Ability{Model}, Test: func(h *Host) {
			h.Node.OnCall(func(c simhost.Call, do func() error) error {
				err := do()
				if c.Code == abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS && err == nil {
					clear(*c.Answer().(*[]byte))
				}
				return err
			})
			_, err := h.diskOf(dataID)
			h.wantKind(err, errdefs.NotFound)
		}},
		{IDs: []string{"VOL-39", "V10"}, Shows: "a volume is flushed, again and again", Needs: []Ability{Disks}, Test: func(h *Host) {
			id, _ := h.newRAW()
			h.must(h.flush(id))
			h.must(h.format(id))
			for range 3 {
				h.must(h.flush(id))
			}
		}},
		{IDs: []string{"VOL-39"}, Shows: "a flush that fails is an error, but for what is read-only", Needs: []Ability{Model}, Test: func(h *Host) {
			h.answers(win.ERROR_IO_DEVICE, method("Device.Flush"))
			err := h.flush(dataID)
			h.wantErrors(err, win.ERROR_IO_DEVICE)
			h.wantKind(err, errdefs.Unavailable)
			h.answers(win.ERROR_WRITE_PROTECT, method("Device.Flush"))
			h.must(h.flush(dataID))
		}},
	}
}

// The second volume of the other disk of manyPartitions, and that of its raw disk.
const (
	fat32ID       = `\\?\Volume{44444444-4444-4444-8444-444444444444}\`
	superfloppyID = `\\?\Volume{55555555-5555-4555-8555-555555555555}\`
)

// manyPartitions makes the data disk one whose partition numbers do not follow
// the offsets, and of whose partitions three hold data, the other disk MBR, the
// raw disk a superfloppy, and reserves the blank disk for Windows.
func manyPartitions(spec *simhost.NodeSpec) {
	partition := func(number uint32, kind string, v *simhost.VolumeSpec) simhost.PartitionSpec {
		return simhost.PartitionSpec{Number: number, Type: kind, Size: 50 * simhost.MiB, Volume: v}
	}
	hidden := partition(4, "", &simhost.VolumeSpec{})
	hidden.Attributes = abi.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN
	spec.Disks[dataDisk].Partitions = []simhost.PartitionSpec{
		{Type: "msr", Number: 8},
		partition(9, "efi", nil),
		partition(7, "", &simhost.VolumeSpec{ID: rawID[11:47]}),
		partition(2, "recovery", nil),
		partition(3, "", &simhost.VolumeSpec{ID: dataID[11:47], FileSystem: "NTFS"}),
		hidden,
		partition(5, "linux", nil),
		partition(6, "", &simhost.VolumeSpec{ID: deadID[11:47], FileSystem: "ReFS"}),
	}
	mbr := &spec.Disks[otherDisk]
	mbr.Style = "mbr"
	mbr.Partitions = []simhost.PartitionSpec{
		partition(1, "0x07", &simhost.VolumeSpec{ID: otherID[11:47], FileSystem: "NTFS"}),
		partition(2, "0x83", nil),
		partition(3, "0x0c", &simhost.VolumeSpec{ID: fat32ID[11:47], FileSystem: "FAT32"}),
		partition(4, "0x27", nil),
	}
	superfloppy := &spec.Disks[rawDisk]
	superfloppy.Style = "superfloppy"
	superfloppy.Partitions = []simhost.PartitionSpec{{Volume: &simhost.VolumeSpec{ID: superfloppyID[11:47], FileSystem: "NTFS"}}}
	reserved := &spec.Disks[blankDisk]
	reserved.Style, reserved.Partitions = "gpt", []simhost.PartitionSpec{{Type: "msr"}}
}

func listsManyPartitions(h *Host) {
	boot, err := h.closest(`C:\`)
	h.must(err)
	for _, tt := range []struct {
		disk, partition uint32
		want            []string
	}{
		{0, 0, []string{boot}},
		{dataDisk, 0, []string{rawID, dataID, deadID}},
		{dataDisk, 7, []string{rawID}},
		{dataDisk, 3, []string{dataID}},
		{dataDisk, 8, nil}, // reserved
		{dataDisk, 2, nil}, // recovery
		{dataDisk, 9, nil}, // EFI
		{dataDisk, 4, nil}, // hidden
		{dataDisk, 5, nil}, // Linux
		{otherDisk, 0, []string{otherID, fat32ID}},
		{otherDisk, 3, []string{fat32ID}},
		{otherDisk, 2, nil}, // Linux
		{rawDisk, 0, []string{superfloppyID}},
		{blankDisk, 0, nil},
	} {
		h.wantVolumes(tt.disk, tt.partition, tt.want...)
	}
}

// wantVolumes wants a disk to have those volumes; none are an empty list.
func (h *Host) wantVolumes(number, partition uint32, want ...string) {
	h.Helper()
	got, err := h.volumesOf(number, partition)
	if err != nil || got == nil || !slices.Equal(got, want) {
		h.Errorf("disk %d, partition %d: volumes %q, %v; want %q", number, partition, got, err, want)
	}
}

func (h *Host) wantDisk(id string, want uint32) {
	h.Helper()
	if got, err := h.diskOf(id); err != nil || got != want {
		h.Errorf("%s: disk %d, %v; want %d", id, got, err, want)
	}
}

// wantNear wants a size that is less than another one, by 20 MiB at most.
func (h *Host) wantNear(got, below int64) {
	h.Helper()
	if got > below || below-got > around {
		h.Errorf("got %d bytes, want %d or up to 20 MiB less", got, below)
	}
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func TestInitialise(t *testing.T) {
	l := newLab(t, Switches{}, plain("data"))
	l.must(l.with("data", func(d *disk) error { return l.initialise(d, abi.PartitionStyleGPT) }))
	got := layoutOf(t, l.drive(1, win.NoAccess))
	if got.Style != abi.PartitionStyleGPT || len(got.Partitions) != 1 || got.Partitions[0].Type != abi.PARTITION_MSFT_RESERVED_GUID {
		t.Fatalf("layout %+v, want GPT with Windows' own reserved partition", got)
	}
	if end := got.Partitions[0].Offset + got.Partitions[0].Length; end != 16<<20 {
		t.Errorf("reserved partition ends at %d, want 16 MiB", end)
	}
	checkGPT(t, l.Node, "data", 1<<30)
	wantReturn(t, l.with("data", func(d *disk) error { return l.initialise(d, abi.PartitionStyleGPT) }), win.ReturnAlreadyInitialized)
}

// checkGPT reads a GPT from the medium, as a probe of any maker would.
func checkGPT(t *testing.T, n *Node, name string, size int64) {
	t.Helper()
	all, err := n.ReadMedia(name, 0, 34*512)
	if err != nil {
		t.Fatal(err)
	}
	if all[446+4] != 0xEE || all[510] != 0x55 || all[511] != 0xAA {
		t.Error("no protective MBR")
	}
	last := size - 512
	tail, err := n.ReadMedia(name, size-33*512, 33*512)
	if err != nil {
		t.Fatal(err)
	}
	for at, header := range map[int64][]byte{512: all[512:1024], last: tail[32*512:]} {
		if string(header[:8]) != "EFI PART" {
			t.Fatalf("no header at %d", at)
		}
		sum := binary.LittleEndian.Uint32(header[16:])
		blank := bytes.Clone(header[:92])
		clear(blank[16:20])
		if got := crc32.ChecksumIEEE(blank); got != sum {
			t.Errorf("header at %d has checksum %08x, sums up to %08x", at, sum, got)
		}
		if own := int64(binary.LittleEndian.Uint64(header[24:])); own*512 != at {
			t.Errorf("header at %d says that it is at %d", at, own*512)
		}
		if got, want := crc32.ChecksumIEEE(all[1024:34*512]), binary.LittleEndian.Uint32(header[88:]); got != want {
			t.Errorf("entries sum up to %08x, header at %d says %08x", got, at, want)
		}
	}
	if !bytes.Equal(all[1024:34*512], tail[:32*512]) {
		t.Error("the two tables differ")
	}
}

func TestInitialise_Refused(t *testing.T) {
	offline, frozen, small, full := plain("offline"), plain("frozen"), plain("small"), data("full")
	offline.Offline, frozen.ReadOnly, small.Size = true, true, 16*MiB
	l := newLab(t, Switches{}, offline, frozen, small, full)
	tests := []struct {
		disk string
		want win.ReturnValue
	}{
		{"offline", win.ReturnDiskOffline},
		{"frozen", win.ReturnDiskReadOnly},
		{"small", win.ReturnTooSmallForGPT},
		{"full", win.ReturnAlreadyInitialized},
		{"boot", win.ReturnAlreadyInitialized},
	}
	for _, tt := range tests {
		t.Run(tt.disk, func(t *testing.T) {
			before := l.Snapshot()
			wantReturn(t, l.with(tt.disk, func(d *disk) error { return l.initialise(d, abi.PartitionStyleGPT) }), tt.want)
			if diff := Diff(before, l.Snapshot()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCreatePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Switches{}, plain("data"))
		l.arrival = 3 * time.Second
		l.must(l.stage("data"))
		got := layoutOf(t, l.drive(1, win.NoAccess)).Partitions
		if len(got) != 2 || got[1].Number != 2 || got[1].Offset != 16<<20 || got[1].Length != 1007<<20 || got[1].Type != abi.PARTITION_BASIC_DATA_GUID {
			t.Fatalf("partitions %+v", got)
		}
		v := l.only("data")

		// The volume arrives later (windows-api.md 5.3 step 7).
		time.Sleep(3*time.Second - 1)
		if names := l.volumeNames(); len(names) != 1 {
			t.Errorf("volumes before the arrival: %v", names)
		}
		_, err := l.Host().Devices.Open(`\\?\Volume{`+v.id.String()+`}`, win.NoAccess)
		wantCode(t, err, win.ERROR_FILE_NOT_FOUND)
		time.Sleep(1 * time.Nanosecond)
		if names := l.volumeNames(); len(names) != 2 {
			t.Errorf("volumes after the arrival: %v", names)
		}
		_, err = l.Host().Mounts.Information(v.name())
		wantCode(t, err, win.ERROR_UNRECOGNIZED_VOLUME)

		wantReturn(t, l.with("data", func(d *disk) error {
			_, err := l.createPartition(d, newPartition{})
			return err
		}), win.ReturnNoSpace)
	})
}

func TestCreatePartition_Place(t *testing.T) {
	tests := []struct {
		name         string
		want         newPartition
		offset, size int64
		err          error
	}{
		{"all", newPartition{}, 16 << 20, 1007 << 20, nil},
		{"size", newPartition{size: 100 << 20}, 16 << 20, 100 << 20, nil},
		{"offset", newPartition{offset: 200 << 20, size: 10 << 20}, 200 << 20, 10 << 20, nil},
		{"offset and all behind", newPartition{offset: 1000 << 20}, 1000 << 20, 23 << 20, nil},
		{"alignment", newPartition{size: 10 << 20, alignment: 64 << 20}, 64 << 20, 10 << 20, nil},
		{"too large", newPartition{size: 1 << 30}, 0, 0, win.ReturnNoSpace},
		{"on another", newPartition{offset: 1 << 20, size: 1 << 20}, 0, 0, win.ReturnNoSpace},
		{"behind the end", newPartition{offset: 2 << 30, size: 1 << 20}, 0, 0, win.ReturnNoSpace},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, Switches{}, plain("data"))
			var p *partition
			err := l.with("data", func(d *disk) (err error) {
				if err = l.initialise(d, abi.PartitionStyleGPT); err == nil {
					p, err = l.createPartition(d, tt.want)
				}
				return err
			})
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if err == nil && (p.offset != tt.offset || p.length != tt.size) {
				t.Errorf("%d bytes at %d, want %d at %d", p.length, p.offset, tt.size, tt.offset)
			}
		})
	}
}

// A partition made where an NTFS lies uncovers it.
func TestCreatePartition_UncoversNTFS(t *testing.T) {
	l := newLab(t, Switches{}, plain("data"))
	l.must(l.stage("data"))
	l.must(l.with("data", func(d *disk) error {
		return l.format(d.partitions[1].volume, formatting{fs: "NTFS", label: "old"})
	}))
	l.must(l.with("data", func(d *disk) error { return l.clean(d) }))
	if got := layoutOf(t, l.drive(1, win.NoAccess)); got.Style != abi.PartitionStyleRAW {
		t.Fatalf("cleaned disk has layout %+v", got)
	}
	l.must(l.stage("data"))
	if v := l.only("data"); v.fs != "NTFS" {
		t.Errorf("new volume has file system %q, want the NTFS that was there", v.fs)
	}
}

// Growth, step by step as windows-api.md 7.11 has it.
func TestGrow(t *testing.T) {
	l := newLab(t, Switches{}, data("data"))
	v := l.only("data")
	d := l.drive(1, readWrite)
	l.must(l.GrowDisk("data", 2*GiB))

	// The size is old until Windows looks again.
	if got := sizeOf(t, d); got != 1<<30 {
		t.Errorf("size %d before Windows has looked", got)
	}
	grow := abi.GrowPartition{Partition: 2, BytesToGrow: 1 << 30}.Encode()
	_, err := d.Control(abi.IOCTL_DISK_GROW_PARTITION, grow, nil)
	wantCode(t, err, win.ERROR_INVALID_PARAMETER)
	ask(t, d, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0)
	if got := sizeOf(t, d); got != 2<<30 {
		t.Errorf("size %d after Windows has looked", got)
	}
	// And UsableLength until the table is written.
	if got := layoutOf(t, d).UsableLength; got != 1<<30-67*512 {
		t.Errorf("usable length %d before the table is written", got)
	}
	ask(t, d, abi.IOCTL_DISK_GROW_PARTITION, grow, 0)
	got := layoutOf(t, d)
	if got.UsableLength != 2<<30-67*512 || got.Partitions[1].Length != 2031<<20 {
		t.Errorf("usable length %d, partition %+v", got.UsableLength, got.Partitions[1])
	}
	checkGPT(t, l.Node, "data", 2<<30)
	if old, err := l.ReadMedia("data", 1<<30-512, 8); err != nil || string(old) == "EFI PART" {
		t.Errorf("backup header is still where the disk ended: %q, %v", old, err)
	}

	// The file system has not grown yet.
	volume := l.openVolume(v, readWrite)
	ntfs := decode(t, volume, abi.FSCTL_GET_NTFS_VOLUME_DATA, nil, abi.DecodeNTFSVolumeData)
	if ntfs.Sectors != 1007<<11-1 {
		t.Errorf("NTFS has %d sectors before it is extended", ntfs.Sectors)
	}
	for name, sectors := range map[string]int64{"larger than the partition": 2031<<11 + 1, "no cluster more": 1007<<11 + 7, "smaller": 1000 << 11} {
		_, err := volume.Control(abi.FSCTL_EXTEND_VOLUME, abi.EncodeExtendVolume(sectors), nil)
		if !errors.Is(err, win.ERROR_INVALID_PARAMETER) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ask(t, volume, abi.FSCTL_EXTEND_VOLUME, abi.EncodeExtendVolume(2031<<11), 0)
	ntfs = decode(t, volume, abi.FSCTL_GET_NTFS_VOLUME_DATA, nil, abi.DecodeNTFSVolumeData)
	if ntfs.Sectors != 2031<<11-1 || ntfs.TotalClusters != 2031<<8-1 {
		t.Errorf("NTFS after it was extended: %+v", ntfs)
	}
	if backup := read(t, volume, 2031<<20-512, 512); string(backup[3:11]) != "NTFS    " {
		t.Errorf("no backup boot sector at the new end: %q", backup[:11])
	}
}

func TestGrowPartition_Refused(t *testing.T) {
	two := plain("two")
	two.Style = "gpt"
	two.Partitions = []PartitionSpec{{Size: 100 * MiB}, {Size: 100 * MiB}}
	l := newLab(t, Switches{}, two)
	tests := []struct {
		name string
		grow abi.GrowPartition
	}{
		{"into the next", abi.GrowPartition{Partition: 1, BytesToGrow: 512}},
		{"no such partition", abi.GrowPartition{Partition: 3, BytesToGrow: 512}},
		{"over the end", abi.GrowPartition{Partition: 2, BytesToGrow: 1 << 30}},
		{"by nothing", abi.GrowPartition{Partition: 2}},
		{"by less than nothing", abi.GrowPartition{Partition: 2, BytesToGrow: -512}},
		{"by half a sector", abi.GrowPartition{Partition: 2, BytesToGrow: 256}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := l.drive(1, readWrite).Control(abi.IOCTL_DISK_GROW_PARTITION, tt.grow.Encode(), nil)
			wantCode(t, err, win.ERROR_INVALID_PARAMETER)
		})
	}
}

func TestInitialise_MBR(t *testing.T) {
	l := newLab(t, Switches{}, plain("data"))
	l.must(l.with("data", func(d *disk) error {
		if err := l.initialise(d, abi.PartitionStyleMBR); err != nil {
			return err
		}
		_, err := l.createPartition(d, newPartition{})
		return err
	}))
	d := l.drive(1, readWrite)
	got := layoutOf(t, d)
	if got.Style != abi.PartitionStyleMBR || got.Signature == 0 || len(got.Partitions) != 4 {
		t.Fatalf("layout %+v", got)
	}
	if p := got.Partitions[0]; p.MBRType != abi.PARTITION_IFS || !p.Recognized || p.Offset != 1<<20 || p.Length != 1023<<20 {
		t.Errorf("partition %+v", p)
	}
	sector := read(t, d, 0, 512)
	if binary.LittleEndian.Uint32(sector[440:]) != got.Signature || sector[446+4] != abi.PARTITION_IFS || sector[510] != 0x55 {
		t.Errorf("master boot record % x", sector[440:])
	}

	l.must(l.GrowDisk("data", 2*GiB))
	ask(t, d, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0)
	ask(t, d, abi.IOCTL_DISK_GROW_PARTITION, abi.GrowPartition{Partition: 1, BytesToGrow: 1 << 30}.Encode(), 0)
	if got := layoutOf(t, d).Partitions[0].Length; got != 2047<<20 {
		t.Errorf("grown to %d", got)
	}
}

// Partitions of types that Windows does not know get no volume.
func TestMBR_Recognised(t *testing.T) {
	tests := map[string]bool{"0x07": true, "0x0c": true, "0x83": false, "0x05": false, "0x42": false, "0xEE": false}
	for kind, want := range tests {
		spec := plain("data")
		spec.Style, spec.Partitions = "mbr", []PartitionSpec{{Type: kind}}
		l := newLab(t, Switches{}, spec)
		if got := len(l.volumeNames()) == 2; got != want {
			t.Errorf("type %s has a volume: %t", kind, got)
		}
	}
}

func TestClean_Refused(t *testing.T) {
	frozen := data("frozen")
	frozen.ReadOnly = true
	l := newLab(t, Switches{}, frozen)
	wantCode(t, l.with("frozen", l.clean), win.ERROR_WRITE_PROTECT)
	wantCode(t, l.with("boot", l.clean), win.ERROR_ACCESS_DENIED)
}

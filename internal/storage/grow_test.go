// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"math"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// How far a partition can grow (windows-api.md 7.11).
func TestLayout_End(t *testing.T) {
	const mib, gib, tib = int64(1 << 20), int64(1 << 30), int64(1 << 40)
	data := gptEntry(abi.PARTITION_BASIC_DATA_GUID, 16*mib, gib)
	old := gptOf(data)
	old.StartingUsableOffset, old.UsableLength = 17408, gib
	ntfs := mbrEntry(abi.PARTITION_IFS, mib, gib)
	logical := mbrEntry(abi.PARTITION_IFS, 3*gib+mib, gib)
	many := gptOf(data)
	many.MaxPartitions = 16384
	for name, tt := range map[string]struct {
		layout Layout
		of     abi.Partition
		size   int64
		sector uint32
		want   int64
	}{
		"GPT, before the backup":         {gptOf(data), data, 10 * gib, 512, 10*gib - mib},
		"GPT, 4 KiB sectors":             {gptOf(data), data, 10 * gib, 4096, 10*gib - mib},
		"GPT, UsableLength is old":       {old, data, 10 * gib, 512, 10*gib - mib},
		"GPT, odd size":                  {gptOf(data), data, 10*gib + 700*1024, 512, 10 * gib},
		"GPT, many entries":              {many, data, 10 * gib, 512, 10*gib - 3*mib},
		"GPT, reserved before it":        {gptOf(gptEntry(abi.PARTITION_MSFT_RESERVED_GUID, 17408, 16*mib-17408), data), data, 10 * gib, 512, 10*gib - mib},
		"GPT, recovery behind it":        {gptOf(data, gptEntry(abi.PARTITION_MSFT_RECOVERY_GUID, 5*gib, mib)), data, 10 * gib, 512, 5 * gib},
		"GPT, the nearest counts":        {gptOf(data, gptEntry(abi.GUID{Data1: 1}, 7*gib, mib), gptEntry(abi.GUID{Data1: 1}, 5*gib+512, mib)), data, 10 * gib, 512, 5 * gib},
		"GPT, an unused entry":           {gptOf(data, abi.Partition{Style: abi.PartitionStyleGPT, Offset: 2 * gib}), data, 10 * gib, 512, 10*gib - mib},
		"MBR, to the end":                {mbrOf(ntfs), ntfs, 10 * gib, 512, 10 * gib},
		"MBR, 2 TiB":                     {mbrOf(ntfs), ntfs, 10 * tib, 512, 2*tib - mib},
		"MBR, 16 TiB with 4 KiB sectors": {mbrOf(ntfs), ntfs, 20 * tib, 4096, 16*tib - mib},
		"MBR, extended behind it":        {mbrOf(ntfs, mbrEntry(0x05, 3*gib, 5*gib), logical), ntfs, 10 * gib, 512, 3 * gib},
		"MBR, logical in extended":       {mbrOf(ntfs, mbrEntry(0x0f, 3*gib, 5*gib), logical), logical, 10 * gib, 512, 8 * gib},
		"MBR, before the next logical":   {mbrOf(mbrEntry(0x0f, 3*gib, 5*gib), logical, mbrEntry(0x07, 6*gib, gib)), logical, 10 * gib, 512, 6 * gib},
	} {
		if got := tt.layout.end(tt.of, abi.DiskGeometry{DiskSize: tt.size, BytesPerSector: tt.sector}); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// What a file system may leave of its partition, and what is left to extend.
func TestGrower_Lags(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		fileSystem string
		covers     int64
		want       bool
	}{
		{"NTFS", 1000*mib - 512, false},
		{"NTFS", 999*mib + 1, false},
		{"NTFS", 999 * mib, true},
		{"ReFS", 936*mib + 1, false},
		{"ReFS", 936 * mib, true},
		{"", 0, false},
		{"FAT32", 0, false},
	} {
		g := &grower{fileSystem: tt.fileSystem}
		if got := g.lags(Growth{Partition: 1000 * mib, FileSystem: tt.covers}); got != tt.want {
			t.Errorf("%s that covers %d: %v", tt.fileSystem, tt.covers, got)
		}
	}
	if !(&grower{}).canGrow() || (&grower{fileSystem: "exFAT"}).canGrow() || !(&grower{fileSystem: "refs"}).canGrow() {
		t.Error("which file systems grow")
	}
	if (&grower{fileSystem: "NTFS"}).lags(Growth{Partition: math.MaxInt64}) {
		t.Error("a file system of unknown size lags")
	}
}

// A volume that lies in no or in several partitions is not even looked at.
func TestGrowVolume_OnePartition(t *testing.T) {
	part := abi.DiskExtent{Disk: 1, Offset: 1 << 20, Length: 1 << 30}
	for name, on := range map[string][]abi.DiskExtent{"none": nil, "two": {part, part}} {
		t.Run(name, func(t *testing.T) {
			_, err := On(&win.Host{}).GrowVolume(t.Context(), VolumeID{}, on, func(Growth) (int64, error) {
				t.Error("is planned")
				return 0, nil
			})
			if !errors.Is(err, errdefs.ErrFailedPrecondition) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What was not reached is never reported as done.
func TestGrower_Confirm(t *testing.T) {
	const mib = 1 << 20
	g := &grower{fileSystem: "NTFS"}
	for name, tt := range map[string]struct {
		now  Growth
		want error
	}{
		"reached":           {Growth{Partition: 100 * mib, FileSystem: 100*mib - 512}, nil},
		"partition":         {Growth{Partition: 100*mib - 1, FileSystem: 100*mib - 512}, errdefs.ErrUnavailable},
		"file system":       {Growth{Partition: 100 * mib, FileSystem: 90 * mib}, errdefs.ErrUnavailable},
		"more than planned": {Growth{Partition: 101 * mib, FileSystem: 101*mib - 512}, nil},
	} {
		if err := g.confirm(tt.now, 100*mib); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Sizes are told only of the partition in which the volume lies, and only in
// sectors that there can be.
func TestGrower_Sizes(t *testing.T) {
	const mib, gib = int64(1 << 20), int64(1 << 30)
	g := func(offset int64, sector uint32) *grower {
		table := gptOf(gptEntry(abi.PARTITION_BASIC_DATA_GUID, 16*mib, gib)).Encode()
		return &grower{
			on:       abi.DiskExtent{Disk: 1, Offset: offset, Length: gib},
			disk:     &fakeDevice{answer: map[uint32]answer{abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX: always(table)}},
			geometry: abi.DiskGeometry{DiskSize: 10 * gib, BytesPerSector: sector},
		}
	}
	if now, err := g(16*mib, 512).sizes(); err != nil || now != (Growth{Partition: gib, Largest: 10*gib - 17*mib, Sector: 512}) {
		t.Errorf("got %+v, %v", now, err)
	}
	if _, err := g(17*mib, 512).sizes(); !errors.Is(err, errdefs.ErrUnknownContent) {
		t.Errorf("no partition there: %v", err)
	}
	if _, err := g(16*mib, 0).sizes(); !errors.Is(err, errdefs.ErrUnknownContent) {
		t.Errorf("no sector: %v", err)
	}
}

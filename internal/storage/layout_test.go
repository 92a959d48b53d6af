// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func gptEntry(kind abi.GUID, offset, length int64) abi.Partition {
	return abi.Partition{Style: abi.PartitionStyleGPT, Type: kind, Offset: offset, Length: length}
}

func mbrEntry(kind byte, offset, length int64) abi.Partition {
	return abi.Partition{Style: abi.PartitionStyleMBR, MBRType: kind, Offset: offset, Length: length}
}

func gptOf(entries ...abi.Partition) Layout {
	return Layout{abi.Layout{Style: abi.PartitionStyleGPT, MaxPartitions: 128, Partitions: entries}}
}

func mbrOf(entries ...abi.Partition) Layout {
	return Layout{abi.Layout{Style: abi.PartitionStyleMBR, Partitions: entries}}
}

// Which partitions somebody made, and which of them Windows gives a volume
// (windows-api.md 5.1).
func TestLayout_EntriesAndData(t *testing.T) {
	const at, long = 1 << 24, 1 << 30
	hidden := gptEntry(abi.PARTITION_BASIC_DATA_GUID, at, long)
	hidden.Attributes = abi.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN
	noLetter := gptEntry(abi.PARTITION_BASIC_DATA_GUID, at, long)
	noLetter.Attributes = 1 << 63
	for name, c := range map[string]struct {
		layout        Layout
		entries, data int
	}{
		"RAW":                {Layout{abi.Layout{Style: abi.PartitionStyleRAW}}, 0, 0},
		"empty GPT":          {gptOf(), 0, 0},
		"GPT, MSR":           {gptOf(gptEntry(abi.PARTITION_MSFT_RESERVED_GUID, at, long)), 0, 0},
		"GPT, unused":        {gptOf(abi.Partition{Style: abi.PartitionStyleGPT}), 0, 0},
		"GPT, basic":         {gptOf(gptEntry(abi.PARTITION_BASIC_DATA_GUID, at, long)), 1, 1},
		"GPT, no letter":     {gptOf(noLetter), 1, 1},
		"GPT, hidden":        {gptOf(hidden), 1, 0},
		"GPT, EFI":           {gptOf(gptEntry(abi.PARTITION_SYSTEM_GUID, at, long)), 1, 0},
		"GPT, recovery":      {gptOf(gptEntry(abi.PARTITION_MSFT_RECOVERY_GUID, at, long)), 1, 0},
		"GPT, unknown":       {gptOf(gptEntry(abi.GUID{Data1: 1}, at, long)), 1, 0},
		"GPT, typed, length": {gptOf(gptEntry(abi.PARTITION_BASIC_DATA_GUID, at, 0)), 1, 0},
		"empty MBR":          {mbrOf(), 0, 0},
		"MBR, four unused":   {mbrOf(make([]abi.Partition, 4)...), 0, 0},
		"MBR, NTFS":          {mbrOf(mbrEntry(0x07, at, long)), 1, 1},
		"MBR, FAT12":         {mbrOf(mbrEntry(0x01, at, long)), 1, 1},
		"MBR, FAT16":         {mbrOf(mbrEntry(0x06, at, long)), 1, 1},
		"MBR, FAT32 LBA":     {mbrOf(mbrEntry(0x0c, at, long)), 1, 1},
		"MBR, Linux":         {mbrOf(mbrEntry(0x83, at, long)), 1, 0},
		"MBR, LDM":           {mbrOf(mbrEntry(0x42, at, long)), 1, 0},
		"MBR, recovery":      {mbrOf(mbrEntry(0x27, at, long)), 1, 0},
		"MBR, extended":      {mbrOf(mbrEntry(0x05, at, long), mbrEntry(0x07, at+1<<20, long)), 2, 1},
		"MBR, protective":    {mbrOf(mbrEntry(0xee, 512, long)), 1, 0},
		"MBR, no type":       {mbrOf(mbrEntry(0, at, long)), 1, 0},
		"superfloppy":        {mbrOf(mbrEntry(0, 0, long)), 1, 1},
		"RAW superfloppy":    {Layout{abi.Layout{Style: abi.PartitionStyleRAW, Partitions: []abi.Partition{{Style: abi.PartitionStyleRAW, Length: long}}}}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(c.layout.Entries()); got != c.entries {
				t.Errorf("%d entries, want %d", got, c.entries)
			}
			if got := len(c.layout.Data()); got != c.data {
				t.Errorf("%d data partitions, want %d", got, c.data)
			}
		})
	}
}

func TestLayout_DataIsByOffset(t *testing.T) {
	l := gptOf(
		gptEntry(abi.PARTITION_BASIC_DATA_GUID, 3<<30, 1),
		gptEntry(abi.PARTITION_MSFT_RESERVED_GUID, 1<<20, 1),
		gptEntry(abi.PARTITION_BASIC_DATA_GUID, 1<<30, 1),
		gptEntry(abi.PARTITION_SYSTEM_GUID, 2<<30, 1),
	)
	var got []int64
	for _, p := range l.Data() {
		got = append(got, p.Offset)
	}
	if want := []int64{1 << 30, 3 << 30}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A partition table of any size is read whole; half of one is an error, never
// an empty table (windows-api.md 17.14).
func TestLayout_GrowsUntilItFits(t *testing.T) {
	want := gptOf()
	for i := range 128 {
		want.Partitions = append(want.Partitions, gptEntry(abi.PARTITION_BASIC_DATA_GUID, int64(i)<<20, 1<<20))
	}
	whole := want.Encode()
	for _, code := range []error{win.ERROR_INSUFFICIENT_BUFFER, win.ERROR_MORE_DATA} {
		d := &fakeDevice{answer: map[uint32]answer{abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX: func(_ []byte, room int) ([]byte, error) {
			if room < len(whole) {
				return whole[:room], code
			}
			return whole, nil
		}}}
		got, err := layout(d)
		if err != nil || len(got.Entries()) != 128 {
			t.Errorf("%v: got %d entries, %v", code, len(got.Entries()), err)
		}
	}
}

func TestLayout_NeverHalf(t *testing.T) {
	whole := gptOf(gptEntry(abi.PARTITION_BASIC_DATA_GUID, 1<<20, 1<<20)).Encode()
	for name, reply := range map[string]answer{
		"cut without error": func([]byte, int) ([]byte, error) { return whole[:100], nil },
		"never fits":        func(_ []byte, room int) ([]byte, error) { return make([]byte, room), win.ERROR_INSUFFICIENT_BUFFER },
		"nothing":           func([]byte, int) ([]byte, error) { return nil, nil },
		"not ready":         func([]byte, int) ([]byte, error) { return nil, win.ERROR_NOT_READY },
	} {
		t.Run(name, func(t *testing.T) {
			got, err := layout(&fakeDevice{answer: map[uint32]answer{abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX: reply}})
			if err == nil {
				t.Errorf("got %+v", got)
			}
		})
	}
	_, err := layout(&fakeDevice{answer: map[uint32]answer{}})
	if !errors.Is(err, win.ERROR_INVALID_FUNCTION) {
		t.Errorf("got %v", err)
	}
}

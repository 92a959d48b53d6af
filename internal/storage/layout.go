// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"math"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Layout is a disk's partition table.
type Layout struct{ abi.Layout }

func layout(d win.Device) (Layout, error) {
	reply, err := controlGrowing(d, abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, abi.LayoutSize(32))
	table, err := decoded(reply, err, abi.DecodeLayout)
	return Layout{table}, err
}

// IsGPT reports a GPT; a layout that is neither GPT nor RAW is MBR.
func (l Layout) IsGPT() bool { return l.Style == abi.PartitionStyleGPT }

// IsRAW reports that the disk has no partition table.
func (l Layout) IsRAW() bool { return l.Style == abi.PartitionStyleRAW }

// Entries are the partitions that somebody made, by offset: all but empty slots
// and the reserved partition that Windows adds to a GPT disk by itself.
func (l Layout) Entries() []abi.Partition {
	return l.filter(func(p abi.Partition) bool {
		return !p.Unused() && !(l.IsGPT() && p.Type == abi.PARTITION_MSFT_RESERVED_GUID)
	})
}

// Data are the partitions that Windows gives a volume, by offset: basic data on
// GPT unless hidden (windows-api.md 5.1), recognised types on MBR.
func (l Layout) Data() []abi.Partition {
	return l.filter(func(p abi.Partition) bool {
		if p.Length == 0 {
			return false
		}
		if l.IsGPT() {
			return p.Type == abi.PARTITION_BASIC_DATA_GUID && p.Attributes&abi.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN == 0
		}
		return isDataType(p.MBRType) || l.isSuperfloppy()
	})
}

// isDataType tells the MBR types that hold a file system of Windows. Recovery,
// LDM, extended, protective and foreign types do not.
func isDataType(t byte) bool {
	switch t {
	case 0x01, 0x04, 0x06, 0x0E, // FAT12, FAT16
		abi.PARTITION_FAT32, abi.PARTITION_FAT32_XINT13, abi.PARTITION_IFS:
		return true
	}
	return false
}

func (l Layout) filter(keep func(abi.Partition) bool) []abi.Partition {
	var kept []abi.Partition
	for _, p := range l.Partitions {
		if keep(p) {
			kept = append(kept, p)
		}
	}
	slices.SortFunc(kept, func(a, b abi.Partition) int { return cmp.Compare(a.Offset, b.Offset) })
	return kept
}

// has reports whether a mount manager's unique id is of a partition of this
// disk.
func (l Layout) has(unique abi.UniqueID) bool {
	return slices.ContainsFunc(l.Partitions, func(p abi.Partition) bool {
		if unique.Style == abi.PartitionStyleGPT {
			return l.IsGPT() && p.ID == unique.Partition
		}
		return !l.IsGPT() && l.Signature == unique.Signature && p.Offset == unique.Offset
	})
}

// isSuperfloppy: a file system without partition table, which Windows reports
// as one MBR partition from the first byte on.
func (l Layout) isSuperfloppy() bool {
	entries := l.Entries()
	return !l.IsGPT() && len(entries) == 1 && entries[0].Offset == 0
}

// at is the partition that begins at an offset.
func (l Layout) at(offset int64) (abi.Partition, bool) {
	for _, p := range l.Partitions {
		if p.Offset == offset && p.Length > 0 {
			return p, true
		}
	}
	return abi.Partition{}, false
}

// end is where a partition could end on a disk of that geometry, in whole MiB:
// before the next partition, at the end of the extended partition around it, of
// what MBR can address, or before the backup of the GPT. It
// does not rest on the layout's UsableLength, which may be old after the disk
// has grown (windows-api.md 7.11).
func (l Layout) end(p abi.Partition, disk abi.DiskGeometry) int64 {
	const align = 1 << 20
	sector := int64(disk.BytesPerSector)
	end := min(disk.DiskSize, int64(math.MaxUint32)*sector)
	if l.IsGPT() {
		entries := max(int64(l.MaxPartitions), 128) * 128
		end = disk.DiskSize - (entries+sector-1)/sector*sector - sector
	}
	for _, other := range l.Partitions {
		switch otherEnd := other.Offset + other.Length; {
		case other.Length > 0 && other.Offset > p.Offset:
			end = min(end, other.Offset)
		case other.Offset < p.Offset && otherEnd > p.Offset:
			end = min(end, otherEnd)
		}
	}
	return end / align * align
}

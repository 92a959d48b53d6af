// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"encoding/binary"
	"hash/crc32"
	"unicode/utf16"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// The partition tables as they lie on the medium (UEFI specification 2.10,
// chapter 5). The model's partitions are the truth; whatever changes them
// writes the table, so that a probe reads what a real disk would hold.

const (
	gptEntries   = 128
	gptEntrySize = 128
	gptTableSize = gptEntries * gptEntrySize
)

// gptSectors is how many sectors the entries take.
func gptSectors(sector int64) int64 { return gptTableSize / sector }

// firstUsable is the offset of the first byte that a GPT partition may use.
func firstUsable(sector int64) int64 { return (2 + gptSectors(sector)) * sector }

// lastUsable is the offset after the last byte that a GPT partition may use on
// a disk of a size.
func lastUsable(size, sector int64) int64 {
	return (size/sector - 1 - gptSectors(sector)) * sector
}

// gptTable encodes the entries.
func gptTable(sector int64, partitions []*partition) []byte {
	b := make([]byte, gptTableSize)
	for _, p := range partitions {
		slot := int(p.number) - 1
		if slot < 0 || slot >= gptEntries {
			continue
		}
		e := b[slot*gptEntrySize:]
		p.gptType.Put(e)
		p.id.Put(e[16:])
		binary.LittleEndian.PutUint64(e[32:], uint64(p.offset/sector))
		binary.LittleEndian.PutUint64(e[40:], uint64((p.offset+p.length)/sector-1))
		binary.LittleEndian.PutUint64(e[48:], p.attributes)
		for i, unit := range utf16.Encode([]rune(p.name)) {
			if i < 36 {
				binary.LittleEndian.PutUint16(e[56+2*i:], unit)
			}
		}
	}
	return b
}

// gptHeader encodes a disk's header in sector own, whose twin is in sector other.
// The entries are beside it: after a primary, before a backup.
func gptHeader(sector, own, other int64, disk abi.GUID, entries []byte) []byte {
	last := max(own, other)
	entriesAt := int64(2)
	if own > other {
		entriesAt = own - gptSectors(sector)
	}
	b := make([]byte, sector)
	copy(b, "EFI PART")
	binary.LittleEndian.PutUint32(b[8:], 0x0001_0000)
	binary.LittleEndian.PutUint32(b[12:], 92)
	binary.LittleEndian.PutUint64(b[24:], uint64(own))
	binary.LittleEndian.PutUint64(b[32:], uint64(other))
	binary.LittleEndian.PutUint64(b[40:], uint64(2+gptSectors(sector)))
	binary.LittleEndian.PutUint64(b[48:], uint64(last-gptSectors(sector)-1))
	disk.Put(b[56:])
	binary.LittleEndian.PutUint64(b[72:], uint64(entriesAt))
	binary.LittleEndian.PutUint32(b[80:], gptEntries)
	binary.LittleEndian.PutUint32(b[84:], gptEntrySize)
	binary.LittleEndian.PutUint32(b[88:], crc32.ChecksumIEEE(entries))
	binary.LittleEndian.PutUint32(b[16:], crc32.ChecksumIEEE(b[:92]))
	return b
}

type mbrEntry struct {
	active         bool
	kind           uint8
	first, sectors int64
}

// mbrSector encodes a master boot record.
func mbrSector(signature uint32, entries []mbrEntry) []byte {
	b := make([]byte, 512)
	binary.LittleEndian.PutUint32(b[440:], signature)
	for i, e := range entries[:min(len(entries), 4)] {
		p := b[446+16*i:]
		if e.active {
			p[0] = 0x80
		}
		copy(p[1:], "\xfe\xff\xff")
		p[4] = e.kind
		copy(p[5:], "\xfe\xff\xff")
		binary.LittleEndian.PutUint32(p[8:], uint32(e.first))
		binary.LittleEndian.PutUint32(p[12:], uint32(min(e.sectors, 1<<32-1)))
	}
	b[510], b[511] = 0x55, 0xAA
	return b
}

// writeTable writes a disk's partition table and forgets where the last one
// ended: Windows moves a grown disk's backup header to the end when it writes
// the table (windows-api.md 7.11).
func (d *disk) writeTable() {
	sector := int64(d.sectorSize)
	switch d.style {
	case abi.PartitionStyleGPT:
		d.eraseBackup()
		last := d.knownSize/sector - 1
		d.backupHeader = last
		d.usableLength = lastUsable(d.knownSize, sector) - firstUsable(sector)
		entries := gptTable(sector, d.partitions)
		d.media.writeAt(mbrSector(0, []mbrEntry{{kind: 0xEE, first: 1, sectors: last}}), 0)
		d.media.writeAt(gptHeader(sector, 1, last, d.id, entries), sector)
		d.media.writeAt(entries, 2*sector)
		d.media.writeAt(entries, (last-gptSectors(sector))*sector)
		d.media.writeAt(gptHeader(sector, last, 1, d.id, entries), last*sector)
	case abi.PartitionStyleMBR:
		if d.superfloppy() {
			return
		}
		var entries []mbrEntry
		for _, p := range d.partitions {
			entries = append(entries, mbrEntry{p.active, p.mbrType, p.offset / sector, p.length / sector})
		}
		d.media.writeAt(mbrSector(d.signature, entries), 0)
	case abi.PartitionStyleRAW:
	}
}

// eraseBackup removes the backup header and its entries, if the disk has them.
func (d *disk) eraseBackup() {
	if d.backupHeader != 0 {
		n := gptSectors(int64(d.sectorSize))
		d.media.zero((d.backupHeader-n)*int64(d.sectorSize), (n+1)*int64(d.sectorSize))
		d.backupHeader = 0
	}
}

// superfloppy reports whether the disk has a file system and no table: Windows
// shows one partition that begins at 0.
func (d *disk) superfloppy() bool {
	return d.style == abi.PartitionStyleMBR && len(d.partitions) == 1 && d.partitions[0].offset == 0
}

// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// How much of a medium is probed. Every signature below lies in these ranges.
const (
	probeHead = 2 << 20
	probeTail = 1 << 20
)

// Content is what a probe found on a disk or volume. The zero value is clean:
// no signature that the probe knows.
type Content struct {
	Name    string // "ext4", "LUKS", "NTFS" …; "" is clean
	Windows bool   // Windows itself writes such content
}

// Clean reports whether nothing was found.
func (c Content) Clean() bool { return c.Name == "" }

// IsGPT reports whether all that was found is a GPT partition table.
func (c Content) IsGPT() bool { return c.Name == gptTable }

// Err is nil for clean content, ErrDamaged for content of Windows that Windows
// does not mount, ErrForeignContent for all other content.
func (c Content) Err() error {
	switch {
	case c.Clean():
		return nil
	case c.Windows:
		return fmt.Errorf("%w: found %s, which Windows does not recognise; repair it, or ask for Overwrite to lose it", errdefs.ErrDamaged, c.Name)
	}
	return fmt.Errorf("%w: found %s; ask for Overwrite to lose it", errdefs.ErrForeignContent, c.Name)
}

// probe reads the head and the tail of a medium of size bytes and looks for
// signatures. A byte that cannot be read makes the content unknown.
func probe(medium io.ReaderAt, size, sector int64) (Content, error) {
	p := &probed{size: size, sector: sector}
	var err error
	if p.head, err = readAll(medium, 0, min(size, probeHead)); err != nil {
		return Content{}, err
	}
	p.tailAt = max(0, size-probeTail) / sector * sector
	if p.tail, err = readAll(medium, p.tailAt, size-p.tailAt); err != nil {
		return Content{}, err
	}
	for _, known := range signatures {
		if known.found(p) {
			return Content{Name: known.name, Windows: known.windows}, nil
		}
	}
	return Content{}, nil
}

func readAll(medium io.ReaderAt, offset, length int64) ([]byte, error) {
	b := make([]byte, length)
	n, err := medium.ReadAt(b, offset)
	if int64(n) == length {
		return b, nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("%w: %d bytes at offset %d: %w", errdefs.ErrUnknownContent, length, offset, err)
}

// probed is the part of a medium that was read.
type probed struct {
	head, tail   []byte
	tailAt       int64
	size, sector int64
}

// at is the n bytes at an offset from the start, or from the end if negative;
// nil where they were not read.
func (p *probed) at(offset int64, n int) []byte {
	if offset < 0 {
		offset += p.size
	}
	end := offset + int64(n)
	switch {
	case offset < 0:
		return nil
	case end <= int64(len(p.head)):
		return p.head[offset:end]
	case offset >= p.tailAt && end <= p.size:
		return p.tail[offset-p.tailAt : end-p.tailAt]
	}
	return nil
}

func (p *probed) has(offset int64, magic string) bool {
	return string(p.at(offset, len(magic))) == magic
}

func (p *probed) le32(offset int64) uint32 {
	if b := p.at(offset, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// signature is one kind of content and how it shows. The order matters where
// one kind contains another's magic.
type signature struct {
	name    string
	windows bool
	found   func(*probed) bool
}

// Sources: the on-disk formats as their projects document them and libblkid
// looks for them; Windows' own from the NTFS, exFAT and GPT specifications and
// windows-api.md 5.
var signatures = []signature{
	{"LUKS", false, func(p *probed) bool {
		return p.has(0, "LUKS\xba\xbe") || anyAt(p, "SKUL\xba\xbe", 0x4000, 0x8000, 0x10000, 0x20000, 0x40000, 0x80000, 0x100000)
	}},
	{"LVM", false, func(p *probed) bool {
		for _, at := range []int64{0, 512, 1024, 1536} {
			if p.has(at, "LABELONE") && p.has(at+24, "LVM2 001") {
				return true
			}
		}
		return false
	}},
	{"ZFS", false, hasZFS},
	{"Linux software RAID", false, hasMD},
	{"bcache", false, magic("\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", 4096+24)},
	{"Ceph BlueStore", false, magic("bluestore block device", 0)},
	{"VMFS", false, magic("\x0d\xd0\x01\xc0", 1<<20)},
	{"btrfs", false, magic("_BHRfS_M", 64<<10+64)},
	{"XFS", false, magic("XFSB", 0)},
	{"ext2, ext3 or ext4", false, magic("\x53\xef", 1024+56)},
	{"F2FS", false, magic("\x10\x20\xf5\xf2", 1024)},
	{"EROFS", false, magic("\xe2\xe1\xf5\xe0", 1024)},
	{"SquashFS", false, magic("hsqs", 0)},
	{"JFS", false, magic("JFS1", 32<<10)},
	{"ReiserFS", false, magic("ReIsEr", 8<<10+52, 64<<10+52)},
	{"GFS2", false, magic("\x01\x16\x19\x70", 64<<10)},
	{"OCFS2", false, magic("OCFSV2", 1<<10, 2<<10, 4<<10, 8<<10)},
	{"APFS", false, magic("NXSB", 32)},
	{"HFS+", false, magic("H+\x00\x04", 1024)},
	{"ISO 9660", false, magic("CD001", 32<<10+1)},
	{"Linux swap", false, func(p *probed) bool {
		return slices.ContainsFunc(swapMagics, func(magic string) bool {
			return anyAt(p, magic, 4<<10-10, 8<<10-10, 16<<10-10, 32<<10-10, 64<<10-10)
		})
	}},
	{"BitLocker", true, func(p *probed) bool {
		return p.has(3, "-FVE-FS-") || p.has(3, "MSWIN4.1") && p.has(424, bitLockerToGo)
	}},
	{"ReFS", true, magic("ReFS\x00\x00\x00\x00", 3)},
	{"exFAT", true, magic("EXFAT   ", 3)},
	{"NTFS", true, hasNTFS},
	{"FAT", true, func(p *probed) bool {
		return p.has(510, "\x55\xaa") && (p.has(54, "FAT12   ") || p.has(54, "FAT16   ") || p.has(82, "FAT32   "))
	}},
	{"a dynamic disk (LDM)", true, func(p *probed) bool {
		return anyAt(p, "PRIVHEAD", 6*512, 6*p.sector) || hasAligned(p.tail, "PRIVHEAD")
	}},
	{"Storage Spaces", true, func(p *probed) bool { return hasAligned(p.head, "SPACEDB ") }},
	{gptTable, true, func(p *probed) bool {
		return anyAt(p, "EFI PART", 512, 4096, -p.sector, -512, -4096)
	}},
	{"an MBR partition table", true, hasMBREntries},
}

const gptTable = "a GPT partition table"

// What ends the first page of Linux' swap: of old, and with a system in it that
// sleeps.
var swapMagics = []string{"SWAPSPACE2", "SWAP-SPACE", "S1SUSPEND", "S2SUSPEND", "ULSUSPEND", "LINHIB0001"}

// The BitLocker To Go identifier in its discovery volume's boot sector.
const bitLockerToGo = "\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01"

// magic is a signature at any of some places.
func magic(text string, offsets ...int64) func(*probed) bool {
	return func(p *probed) bool { return anyAt(p, text, offsets...) }
}

func anyAt(p *probed, text string, offsets ...int64) bool {
	for _, at := range offsets {
		if p.has(at, text) {
			return true
		}
	}
	return false
}

// hasAligned looks for a magic at the start of any 512-byte block.
func hasAligned(b []byte, magic string) bool {
	for at := 0; ; at++ {
		next := bytes.Index(b[at:], []byte(magic))
		if next < 0 {
			return false
		}
		if at += next; at%512 == 0 {
			return true
		}
	}
}

// hasNTFS accepts the boot sector, and the backup in the last sector alone when
// its sector count fits the medium: NTFS does not count the backup itself.
func hasNTFS(p *probed) bool {
	if p.has(3, "NTFS    ") {
		return true
	}
	last := p.at(-p.sector, 512)
	if last == nil || !bytes.Equal(last[3:11], []byte("NTFS    ")) {
		return false
	}
	count := binary.LittleEndian.Uint64(last[40:])
	return count+1 == uint64(p.size/p.sector)
}

// hasZFS looks for uberblocks in the four labels, two at the start and two at
// the end, each 256 KiB with its uberblocks in the second half.
func hasZFS(p *probed) bool {
	const label = 256 << 10
	end := p.size / label * label
	for _, start := range []int64{0, label, end - 2*label, end - label} {
		for at := start + label/2; at < start+label; at += 1 << 10 {
			b := p.at(at, 8)
			if b != nil && (binary.LittleEndian.Uint64(b) == 0x00bab10c || binary.BigEndian.Uint64(b) == 0x00bab10c) {
				return true
			}
		}
	}
	return false
}

// hasMD looks where the four superblock versions of Linux md stand.
func hasMD(p *probed) bool {
	const native, swapped = 0xa92b4efc, 0xfc4e2ba9
	v10 := (p.size/512 - 16) &^ 7 * 512
	v090 := p.size&^(64<<10-1) - 64<<10
	for _, at := range []int64{0, 4096, v10, v090} {
		if at >= 0 && (p.le32(at) == native || p.le32(at) == swapped) {
			return true
		}
	}
	return false
}

// hasMBREntries accepts a boot signature with at least one partition entry; a
// master boot record without entries, as initialising leaves it, is empty.
func hasMBREntries(p *probed) bool {
	sector := p.at(0, 512)
	if sector == nil || sector[510] != 0x55 || sector[511] != 0xaa {
		return false
	}
	for entry := range 4 {
		if b := sector[446+16*entry:][:16]; b[4] != 0 && binary.LittleEndian.Uint32(b[12:]) != 0 {
			return true
		}
	}
	return false
}

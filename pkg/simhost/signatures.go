// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Media names what a disk or a partition holds where its file system is not
// Windows' to mount: a signature that the simulated node writes to the medium
// at the place where the real thing keeps it, so that a probe finds it.
type Media string

// Foreign media. Offsets and magic numbers are those that libblkid knows.
const (
	MediaExt4      Media = "ext4"
	MediaXFS       Media = "xfs"
	MediaBtrfs     Media = "btrfs"
	MediaLUKS      Media = "luks"
	MediaLVM       Media = "lvm"
	MediaSwap      Media = "swap"
	MediaZFS       Media = "zfs"
	MediaBcache    Media = "bcache"
	MediaVMFS      Media = "vmfs"
	MediaMD        Media = "md"     // version 1.2, 4 KiB from the start
	MediaMDAtEnd   Media = "md-1.0" // version 1.0, before the end
	MediaNTFS      Media = "ntfs"
	MediaTornNTFS  Media = "ntfs-torn" // only the backup boot sector is left
	MediaReFS      Media = "refs"
	MediaExFAT     Media = "exfat"
	MediaFAT32     Media = "fat32"
	MediaBitLocker Media = "bitlocker"
	MediaLDM       Media = "ldm"
	MediaSpaces    Media = "spaces"
	MediaGPT       Media = "gpt"        // a primary header alone
	MediaGPTBackup Media = "gpt-backup" // a backup header alone
	MediaMBR       Media = "mbr"        // a table with one Linux partition
)

// AllMedia lists every Media, in the order of their names.
func AllMedia() []Media { return slices.Sorted(maps.Keys(mediaWriters)) }

// chunk is a stretch of bytes of a medium.
type chunk struct {
	offset int64
	data   []byte
}

// chunks are the bytes of a Media on a medium of a size.
func (m Media) chunks(size int64, sector uint32) ([]chunk, error) {
	write, ok := mediaWriters[m]
	if !ok {
		return nil, fmt.Errorf("unknown media %q", string(m))
	}
	return write(size, int64(sector)), nil
}

// mediaWriters are the well-known signatures.
var mediaWriters = map[Media]func(size, sector int64) []chunk{
	MediaExt4:      fixed(1080, "\x53\xef\x01\x00"),
	MediaXFS:       fixed(0, "XFSB\x00\x00\x10\x00"),
	MediaBtrfs:     fixed(0x10040, "_BHRfS_M"),
	MediaLUKS:      fixed(0, "LUKS\xba\xbe\x00\x02"),
	MediaLVM:       lvm,
	MediaSwap:      fixed(4086, "SWAPSPACE2"),
	MediaZFS:       zfs,
	MediaBcache:    fixed(4120, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
	MediaVMFS:      fixed(1<<20, "\x0d\xd0\x01\xc0"),
	MediaMD:        fixed(4096, mdMagic),
	MediaMDAtEnd:   mdAtEnd,
	MediaNTFS:      ntfs,
	MediaTornNTFS:  tornNTFS,
	MediaReFS:      bootSectorOnly(refsBootSector),
	MediaExFAT:     bootSectorOnly(exfatBootSector),
	MediaFAT32:     bootSectorOnly(fat32BootSector),
	MediaBitLocker: bootSectorOnly(bitLockerBootSector),
	MediaLDM:       ldm,
	MediaSpaces:    fixed(4096, "SPACEDB "),
	MediaGPT:       gptPrimary,
	MediaGPTBackup: gptBackup,
	MediaMBR:       linuxMBR,
}

const mdMagic = "\xfc\x4e\x2b\xa9\x01\x00\x00\x00"

func fixed(offset int64, magic string) func(int64, int64) []chunk {
	return func(int64, int64) []chunk { return []chunk{{offset, []byte(magic)}} }
}

func bootSectorOnly(encode func(sectors, sector int64) []byte) func(int64, int64) []chunk {
	return func(size, sector int64) []chunk {
		return []chunk{{0, encode(size/sector, sector)}}
	}
}

func lvm(int64, int64) []chunk {
	return []chunk{{512, []byte("LABELONE")}, {536, []byte("LVM2 001")}}
}

// zfs writes the uberblocks of the first and the last label.
func zfs(size, _ int64) []chunk {
	var chunks []chunk
	for _, label := range []int64{0, size/(256<<10)*(256<<10) - 256<<10} {
		for i := range int64(8) {
			chunks = append(chunks, chunk{label + 128<<10 + i<<10, []byte("\x0c\xb1\xba\x00\x00\x00\x00\x00")})
		}
	}
	return chunks
}

// mdAtEnd writes the superblock at least 8 KiB before the end, 4 KiB aligned.
func mdAtEnd(size, _ int64) []chunk {
	return []chunk{{(size - 8<<10) &^ 4095, []byte(mdMagic)}}
}

func ntfs(size, sector int64) []chunk {
	boot := ntfsBootSector(size/sector-1, sector, 4096, 1)
	return []chunk{{0, boot}, {size/sector*sector - sector, bytes.Clone(boot)}}
}

func tornNTFS(size, sector int64) []chunk { return ntfs(size, sector)[1:] }

// ldm writes the private header that dynamic disks keep in sector 6 and the
// MBR entry that covers them.
func ldm(size, sector int64) []chunk {
	return []chunk{
		{0, mbrSector(0x4C444D31, []mbrEntry{{kind: 0x42, first: 63, sectors: size/sector - 63}})},
		{6 * sector, []byte("PRIVHEAD")},
	}
}

func gptPrimary(size, sector int64) []chunk {
	return []chunk{{sector, gptHeader(sector, 1, size/sector-1, abi.GUID{}, gptTable(sector, nil))}}
}

func gptBackup(size, sector int64) []chunk {
	last := size/sector - 1
	return []chunk{{last * sector, gptHeader(sector, last, 1, abi.GUID{}, gptTable(sector, nil))}}
}

func linuxMBR(size, sector int64) []chunk {
	return []chunk{{0, mbrSector(0x4C4E5558, []mbrEntry{{kind: 0x83, first: 2048, sectors: size/sector - 2048}})}}
}

// ntfsBootSector encodes an NTFS boot sector. Sectors is what the file system
// counts: one less than its volume has, whose last is the backup.
func ntfsBootSector(sectors, sector, unit int64, serial uint64) []byte {
	b := make([]byte, sector)
	copy(b, "\xeb\x52\x90NTFS    ")
	binary.LittleEndian.PutUint16(b[11:], uint16(sector))
	b[13] = clusterSize(unit / sector)
	b[21] = 0xF8
	binary.LittleEndian.PutUint16(b[24:], 63)
	binary.LittleEndian.PutUint16(b[26:], 255)
	binary.LittleEndian.PutUint32(b[36:], 0x0080_0080)
	binary.LittleEndian.PutUint64(b[40:], uint64(sectors))
	binary.LittleEndian.PutUint64(b[48:], 786432) // $MFT
	binary.LittleEndian.PutUint64(b[56:], 2)      // $MFTMirr
	b[64], b[68] = 0xF6, 1
	binary.LittleEndian.PutUint64(b[72:], serial)
	b[510], b[511] = 0x55, 0xAA
	return b
}

// clusterSize is the boot sector's sectors per cluster: above 128 its negative
// binary logarithm.
func clusterSize(sectors int64) byte {
	if sectors <= 128 {
		return byte(sectors)
	}
	log := 0
	for ; sectors > 1; sectors >>= 1 {
		log++
	}
	return byte(-log)
}

func refsBootSector(sectors, sector int64) []byte {
	b := make([]byte, sector)
	copy(b[3:], "ReFS\x00\x00\x00\x00")
	copy(b[16:], "FSRS")
	binary.LittleEndian.PutUint16(b[20:], 512)
	binary.LittleEndian.PutUint64(b[24:], uint64(sectors))
	binary.LittleEndian.PutUint32(b[32:], uint32(sector))
	b[40], b[41] = 3, 14
	return b
}

func exfatBootSector(sectors, sector int64) []byte {
	b := make([]byte, sector)
	copy(b, "\xeb\x76\x90EXFAT   ")
	binary.LittleEndian.PutUint64(b[72:], uint64(sectors))
	b[510], b[511] = 0x55, 0xAA
	return b
}

func fat32BootSector(sectors, sector int64) []byte {
	b := make([]byte, sector)
	copy(b, "\xeb\x58\x90MSDOS5.0")
	binary.LittleEndian.PutUint16(b[11:], uint16(sector))
	b[13], b[16], b[21] = 8, 2, 0xF8
	binary.LittleEndian.PutUint32(b[32:], uint32(min(sectors, 1<<32-1)))
	copy(b[82:], "FAT32   ")
	b[510], b[511] = 0x55, 0xAA
	return b
}

func bitLockerBootSector(_, sector int64) []byte {
	b := make([]byte, sector)
	copy(b, "\xeb\x58\x90-FVE-FS-")
	binary.LittleEndian.PutUint16(b[11:], uint16(sector))
	copy(b[160:], "\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01")
	b[510], b[511] = 0x55, 0xAA
	return b
}

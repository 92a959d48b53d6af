// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// medium reads as zeros but where something was put.
type medium struct {
	put  map[int64]string
	fail func(offset, length int64) error
}

func (m medium) ReadAt(p []byte, offset int64) (int, error) {
	if m.fail != nil {
		if err := m.fail(offset, int64(len(p))); err != nil {
			return 0, err
		}
	}
	for at, text := range m.put {
		for i := range len(text) {
			if where := at + int64(i) - offset; where >= 0 && where < int64(len(p)) {
				p[where] = text[i]
			}
		}
	}
	return len(p), nil
}

func le32(v uint32) string { return string(binary.LittleEndian.AppendUint32(nil, v)) }

func le64(v uint64) string { return string(binary.LittleEndian.AppendUint64(nil, v)) }

// bootSector is an NTFS boot sector that counts so many sectors.
func bootSector(sectors uint64) string {
	b := make([]byte, 512)
	copy(b[3:], "NTFS    ")
	copy(b[40:], le64(sectors))
	return string(b)
}

// mbr is a master boot record with one entry.
func mbr(kind byte, sectors uint32) string {
	b := make([]byte, 512)
	b[446+4] = kind
	copy(b[446+12:], le32(sectors))
	b[510], b[511] = 0x55, 0xaa
	return string(b)
}

// Every signature at every place where its format keeps it. Sources: libblkid's
// superblock probes, and the formats' own documents.
func TestProbe_Signatures(t *testing.T) {
	const size = 3 * gib
	for _, c := range []struct {
		want    string
		windows bool
		put     map[int64]string
	}{
		{"LUKS", false, map[int64]string{0: "LUKS\xba\xbe"}},
		{"LVM", false, map[int64]string{0: "LABELONE", 24: "LVM2 001"}},
		{"LVM", false, map[int64]string{512: "LABELONE", 536: "LVM2 001"}},
		{"LVM", false, map[int64]string{1024: "LABELONE", 1048: "LVM2 001"}},
		{"LVM", false, map[int64]string{1536: "LABELONE", 1560: "LVM2 001"}},
		{"ZFS", false, map[int64]string{128 * kib: le64(0x00bab10c)}},
		{"ZFS", false, map[int64]string{256*kib - kib: "\x00\x00\x00\x00\x00\xba\xb1\x0c"}}, // another byte order
		{"ZFS", false, map[int64]string{size - 128*kib: le64(0x00bab10c)}},
		{"ZFS", false, map[int64]string{size - 384*kib: le64(0x00bab10c)}},
		{"Linux software RAID", false, map[int64]string{0: le32(0xa92b4efc)}},               // 1.1
		{"Linux software RAID", false, map[int64]string{4096: le32(0xa92b4efc)}},            // 1.2
		{"Linux software RAID", false, map[int64]string{size - 8*kib: le32(0xa92b4efc)}},    // 1.0
		{"Linux software RAID", false, map[int64]string{size - 64*kib: le32(0xa92b4efc)}},   // 0.90
		{"Linux software RAID", false, map[int64]string{size - 64*kib: "\xa9\x2b\x4e\xfc"}}, // 0.90, another byte order
		{"bcache", false, map[int64]string{4120: "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"}},
		{"VMFS", false, map[int64]string{mib: "\x0d\xd0\x01\xc0"}},
		{"btrfs", false, map[int64]string{64*kib + 64: "_BHRfS_M"}},
		{"XFS", false, map[int64]string{0: "XFSB"}},
		{"ext2, ext3 or ext4", false, map[int64]string{1080: "\x53\xef"}},
		{"Ceph BlueStore", false, map[int64]string{0: "bluestore block device\n"}},
		{"F2FS", false, map[int64]string{1024: "\x10\x20\xf5\xf2"}},
		{"EROFS", false, map[int64]string{1024: "\xe2\xe1\xf5\xe0"}},
		{"SquashFS", false, map[int64]string{0: "hsqs"}},
		{"JFS", false, map[int64]string{32 * kib: "JFS1"}},
		{"GFS2", false, map[int64]string{64 * kib: "\x01\x16\x19\x70"}},
		{"APFS", false, map[int64]string{32: "NXSB"}},
		{"HFS+", false, map[int64]string{1024: "H+\x00\x04"}},
		{"ISO 9660", false, map[int64]string{16*2*kib + 1: "CD001"}},
		{"BitLocker", true, map[int64]string{3: "-FVE-FS-"}},
		{"BitLocker", true, map[int64]string{3: "MSWIN4.1", 424: bitLockerToGo}},
		{"ReFS", true, map[int64]string{3: "ReFS\x00\x00\x00\x00"}},
		{"exFAT", true, map[int64]string{3: "EXFAT   "}},
		{"NTFS", true, map[int64]string{3: "NTFS    "}},
		{"NTFS", true, map[int64]string{size - 512: bootSector(size/512 - 1)}},
		{"FAT", true, map[int64]string{54: "FAT12   ", 510: "\x55\xaa"}},
		{"FAT", true, map[int64]string{54: "FAT16   ", 510: "\x55\xaa"}},
		{"FAT", true, map[int64]string{82: "FAT32   ", 510: "\x55\xaa"}},
		{"a dynamic disk (LDM)", true, map[int64]string{6 * 512: "PRIVHEAD"}},
		{"a dynamic disk (LDM)", true, map[int64]string{size - 512*1856: "PRIVHEAD"}},
		{"Storage Spaces", true, map[int64]string{4096: "SPACEDB "}},
		{"Storage Spaces", true, map[int64]string{100: "SPACEDB ", 4096: "SPACEDB "}},
		{"an MBR partition table", true, map[int64]string{0: mbr(0x83, 1)}},
		{"an MBR partition table", true, map[int64]string{0: mbr(0xee, 0xffffffff)}}, // protective, without its GPT

		// What is no signature.
		{"", false, nil},
		{"", false, map[int64]string{0: mbr(0, 0)}},                         // initialized as MBR, empty
		{"", false, map[int64]string{0: mbr(0, 99)}},                        // an unused entry
		{"", false, map[int64]string{0: mbr(0x83, 0)}},                      // an entry of no length
		{"", false, map[int64]string{446 + 4: "\x83", 446 + 12: le32(9)}},   // no boot signature
		{"", false, map[int64]string{size - 512: bootSector(size/512 - 2)}}, // the backup of a smaller volume
		{"", false, map[int64]string{512: "LABELONE"}},                      // no LVM2 behind it
		{"", false, map[int64]string{54: "FAT16   "}},                       // no boot signature
		{"", false, map[int64]string{gib: "LUKS\xba\xbe", 2 * gib: "XFSB"}}, // somewhere in the middle
		{"", false, map[int64]string{1: "XFSB", 2: "LUKS\xba\xbe"}},         // beside its place
		{"", false, map[int64]string{127 * kib: le64(0x00bab10c)}},          // before the uberblocks
		{"", false, map[int64]string{4100: "SPACEDB "}},                     // within a block
		{"", false, map[int64]string{2 * mib: "SPACEDB "}},                  // behind the head
		{"", false, map[int64]string{size - mib - 8: "PRIVHEAD"}},           // before the tail
	} {
		t.Run(fmt.Sprintf("%s %v", c.want, c.put), func(t *testing.T) {
			got, err := probe(medium{put: c.put}, size, 512)
			if want := (Content{c.want, c.windows}); err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

// What stands at one of several places, at each of them. Sources as above.
func TestProbe_Places(t *testing.T) {
	const size = 3 * gib
	pages := []int64{4*kib - 10, 8*kib - 10, 16*kib - 10, 32*kib - 10, 64*kib - 10}
	for _, c := range []struct {
		want, magic string
		places      []int64
	}{
		{"LUKS", "SKUL\xba\xbe", []int64{16 * kib, 32 * kib, 64 * kib, 128 * kib, 256 * kib, 512 * kib, mib}},
		{"ReiserFS", "ReIsErFs", []int64{8*kib + 52}},
		{"ReiserFS", "ReIsEr2Fs", []int64{64*kib + 52}},
		{"OCFS2", "OCFSV2", []int64{kib, 2 * kib, 4 * kib, 8 * kib}},
		{"Linux swap", "SWAPSPACE2", pages},
		{"Linux swap", "SWAP-SPACE", pages},
		{"Linux swap", "S1SUSPEND\x00", pages},
		{"Linux swap", "S2SUSPEND\x00", pages},
		{"Linux swap", "ULSUSPEND\x00", pages},
		{"Linux swap", "LINHIB0001", pages},
		{gptTable, "EFI PART", []int64{512, 4096, size - 4096, size - 512}},
	} {
		for _, at := range c.places {
			got, err := probe(medium{put: map[int64]string{at: c.magic}}, size, 512)
			if err != nil || got.Name != c.want {
				t.Errorf("%q at %d: got %+v, %v; want %s", c.magic, at, got, err, c.want)
			}
		}
	}
}

// Linux md 0.90 stands in the last whole 64 KiB but one (md.h, MD_NEW_SIZE_SECTORS).
func TestProbe_MD090(t *testing.T) {
	for size, at := range map[int64]int64{
		3*gib + 64*kib:  3 * gib,
		3*gib + 128*kib: 3*gib + 64*kib,
		3*gib + 100*kib: 3 * gib,
	} {
		got, err := probe(medium{put: map[int64]string{at: le32(0xa92b4efc)}}, size, 512)
		if err != nil || got.Name != "Linux software RAID" {
			t.Errorf("of %d bytes: got %+v, %v", size, got, err)
		}
	}
}

// A disk of 4096-byte sectors keeps tables and backups by its own sectors.
func TestProbe_4KnSectors(t *testing.T) {
	const size, sector = 3 * gib, 4096
	for _, c := range []struct {
		want string
		put  map[int64]string
	}{
		{"NTFS", map[int64]string{size - sector: bootSector(size/sector - 1)}},
		{"", map[int64]string{size - sector: bootSector(size/512 - 1)}},
		{gptTable, map[int64]string{sector: "EFI PART"}},
		{gptTable, map[int64]string{size - sector: "EFI PART"}},
		{"a dynamic disk (LDM)", map[int64]string{6 * sector: "PRIVHEAD"}},
		{"XFS", map[int64]string{0: "XFSB"}},
	} {
		t.Run(fmt.Sprintf("%s %v", c.want, c.put), func(t *testing.T) {
			got, err := probe(medium{put: c.put}, size, sector)
			if err != nil || got.Name != c.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// reads records what was asked of a medium.
type reads struct {
	sector int64
	size   int64
	ranges [][2]int64
}

func (r *reads) ReadAt(p []byte, offset int64) (int, error) {
	length := int64(len(p))
	if offset < 0 || offset+length > r.size || offset%r.sector != 0 || length%r.sector != 0 {
		return 0, win.ERROR_INVALID_PARAMETER
	}
	r.ranges = append(r.ranges, [2]int64{offset, offset + length})
	return len(p), nil
}

// Every size can be probed: reads are whole sectors within the medium, and they
// cover the first 2 MiB and the last 1 MiB, or all there is.
func TestProbe_AnySize(t *testing.T) {
	for _, sector := range []int64{512, 4096} {
		for _, size := range []int64{
			sector, 2 * sector, 4096, 8192, 64 * kib, 256 * kib, 512*kib + sector, mib, 2*mib - sector, 2 * mib,
			2*mib + sector, 3*mib - sector, 3 * mib, 3*mib + sector, 4 * mib, gib + sector, 5 << 40,
		} {
			t.Run(fmt.Sprintf("%d of %d", size, sector), func(t *testing.T) {
				r := &reads{sector: sector, size: size}
				got, err := probe(r, size, sector)
				if err != nil || !got.Clean() {
					t.Fatalf("got %+v, %v", got, err)
				}
				if len(r.ranges) != 2 || r.ranges[0] != [2]int64{0, min(size, 2*mib)} {
					t.Fatalf("read %v", r.ranges)
				}
				if tail := r.ranges[1]; tail[1] != size || tail[0] > max(0, size-mib) {
					t.Errorf("read %v", r.ranges)
				}
			})
		}
	}
}

// A read that fails, or gives less than was asked for, makes all unknown.
func TestProbe_Unreadable(t *testing.T) {
	const size = gib
	for name, at := range map[string]int64{"first sector": 0, "end of head": 2*mib - 512, "start of tail": size - mib, "last sector": size - 512} {
		t.Run(name, func(t *testing.T) {
			m := medium{fail: func(offset, length int64) error {
				if offset <= at && at < offset+length {
					return win.ERROR_CRC
				}
				return nil
			}}
			got, err := probe(m, size, 512)
			if !got.Clean() || !errors.Is(err, errdefs.ErrUnknownContent) || !errors.Is(err, win.ERROR_CRC) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	t.Run("short", func(t *testing.T) {
		_, err := probe(bytes.NewReader(make([]byte, size/512)), size, 512)
		if !errors.Is(err, errdefs.ErrUnknownContent) || !errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("short without error", func(t *testing.T) {
		_, err := probe(shortReader{}, size, 512)
		if !errors.Is(err, errdefs.ErrUnknownContent) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
	})
}

// shortReader gives one byte less, which the boundary does not call an error.
type shortReader struct{}

func (shortReader) ReadAt(p []byte, _ int64) (int, error) { return len(p) - 1, nil }

// Bytes of any kind crash nothing, on media of any size.
func TestProbe_Garbage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	garbage := make([]byte, 5*mib)
	for i := range garbage {
		garbage[i] = byte(random.Uint32())
	}
	for range 50 {
		size := int64(1+random.IntN(len(garbage)/512)) * 512
		if _, err := probe(bytes.NewReader(garbage[:size]), size, 512); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
	}
}

func TestContent_Err(t *testing.T) {
	for _, c := range []struct {
		content Content
		want    error
	}{
		{Content{}, nil},
		{Content{Name: "ext4"}, errdefs.ErrForeignContent},
		{Content{Name: "NTFS", Windows: true}, errdefs.ErrDamaged},
		{Content{Name: gptTable, Windows: true}, errdefs.ErrDamaged},
	} {
		if err := c.content.Err(); !errors.Is(err, c.want) || (err == nil) != c.content.Clean() {
			t.Errorf("%+v: got %v", c.content, err)
		}
	}
}

// FuzzProbe: whatever stands in the first and last sectors, a probe ends with
// an answer.
func FuzzProbe(f *testing.F) {
	f.Add([]byte(mbr(0x07, 9)), []byte(bootSector(1)), int64(3*mib))
	f.Add([]byte("XFSB"), []byte("EFI PART"), int64(512))
	f.Fuzz(func(t *testing.T, head, tail []byte, size int64) {
		size = max(512, size&(8*mib-1)&^511)
		m := medium{put: map[int64]string{0: string(head), size - 512: string(tail)}}
		if _, err := probe(m, size, 512); err != nil {
			t.Error(err)
		}
	})
}

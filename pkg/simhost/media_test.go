// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// Media behave like one long array of bytes.
func TestMedia_LikeAnArray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 5 * mediaPage
		m, want := newMedia(), make([]byte, size)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			offset := rapid.IntRange(0, size-1).Draw(t, "offset")
			length := rapid.IntRange(0, size-offset).Draw(t, "length")
			if rapid.Bool().Draw(t, "zero") {
				m.zero(int64(offset), int64(length))
				clear(want[offset : offset+length])
				continue
			}
			data := bytes.Repeat([]byte{rapid.Byte().Draw(t, "value")}, length)
			m.writeAt(data, int64(offset))
			copy(want[offset:], data)
		}
		got := bytes.Repeat([]byte{0xAA}, size)
		if err := m.readAt(got, 0); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatal("media differ from an array with the same writes")
		}
	})
}

func TestMedia_Unreadable(t *testing.T) {
	m := newMedia()
	m.writeAt([]byte{1}, 4096)
	m.unreadable = []unreadable{{4096, 512, win.ERROR_CRC}}
	tests := []struct {
		name           string
		offset, length int64
		want           error
	}{
		{"before", 0, 4096, nil},
		{"touching the start", 3584, 1024, win.ERROR_CRC},
		{"within", 4096, 512, win.ERROR_CRC},
		{"around", 0, 8192, win.ERROR_CRC},
		{"after", 4608, 512, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := m.readAt(make([]byte, tt.length), tt.offset); !errors.Is(err, tt.want) {
				t.Errorf("readAt: %v, want %v", err, tt.want)
			}
		})
	}
}

func TestMedia_Fingerprint(t *testing.T) {
	m := newMedia()
	blank := m.fingerprint()
	m.writeAt([]byte("NTFS"), 70000)
	written := m.fingerprint()
	if written == blank {
		t.Error("written media have the fingerprint of blank media")
	}
	m.writeAt(make([]byte, 4), 70000)
	if got := m.fingerprint(); got != blank {
		t.Errorf("media written with zeros have fingerprint %s, want that of blank media %s", got, blank)
	}
}

// Each well-known signature stands where libblkid looks for it.
func TestMedia_Signatures(t *testing.T) {
	const size, sector = 64 << 20, 512
	tests := []struct {
		kind   Media
		offset int64
		want   string
	}{
		{MediaExt4, 1024 + 0x38, "\x53\xef"},
		{MediaXFS, 0, "XFSB"},
		{MediaBtrfs, 64<<10 + 0x40, "_BHRfS_M"},
		{MediaLUKS, 0, "LUKS\xba\xbe"},
		{MediaLVM, 512, "LABELONE"},
		{MediaLVM, 512 + 24, "LVM2 001"},
		{MediaSwap, 4096 - 10, "SWAPSPACE2"},
		{MediaZFS, 128 << 10, "\x0c\xb1\xba\x00"},
		{MediaZFS, size - 128<<10, "\x0c\xb1\xba\x00"},
		{MediaBcache, 4096 + 24, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"},
		{MediaVMFS, 1 << 20, "\x0d\xd0\x01\xc0"},
		{MediaMD, 4096, "\xfc\x4e\x2b\xa9"},
		{MediaMDAtEnd, size - 8<<10, "\xfc\x4e\x2b\xa9"},
		{MediaNTFS, 3, "NTFS    "},
		{MediaNTFS, size - 512 + 3, "NTFS    "},
		{MediaTornNTFS, 0, "\x00\x00\x00\x00\x00\x00\x00\x00"},
		{MediaTornNTFS, size - 512 + 3, "NTFS    "},
		{MediaReFS, 3, "ReFS\x00\x00\x00\x00"},
		{MediaReFS, 16, "FSRS"},
		{MediaExFAT, 3, "EXFAT   "},
		{MediaFAT32, 82, "FAT32   "},
		{MediaBitLocker, 3, "-FVE-FS-"},
		{MediaLDM, 6 * 512, "PRIVHEAD"},
		{MediaLDM, 446 + 4, "\x42"},
		{MediaSpaces, 4096, "SPACEDB "},
		{MediaGPT, 512, "EFI PART"},
		{MediaGPTBackup, size - 512, "EFI PART"},
		{MediaMBR, 446 + 4, "\x83"},
		{MediaMBR, 510, "\x55\xaa"},
	}
	seen := map[Media]bool{}
	for _, tt := range tests {
		seen[tt.kind] = true
		t.Run(string(tt.kind), func(t *testing.T) {
			d := &disk{sectorSize: sector, media: newMedia()}
			if err := d.writeMedia([]Media{tt.kind}, 0, size); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(tt.want))
			d.media.bytesAt(got, tt.offset)
			if string(got) != tt.want {
				t.Errorf("%q at %d, want %q", got, tt.offset, tt.want)
			}
		})
	}
	for _, kind := range AllMedia() {
		if !seen[kind] {
			t.Errorf("media %q is not tested", kind)
		}
	}
}

func TestMedia_Unknown(t *testing.T) {
	d := &disk{sectorSize: 512, media: newMedia()}
	if err := d.writeMedia([]Media{"ext5"}, 0, 64<<20); err == nil {
		t.Error("media of an unknown name are accepted")
	}
}

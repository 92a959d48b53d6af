// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

func TestFormat(t *testing.T) {
	l := newLab(t, Switches{}, plain("data"))
	l.must(l.stage("data"))
	v := l.only("data")
	l.must(l.with("data", func(*disk) error { return l.format(v, formatting{fs: "ntfs", label: "pvc"}) }))
	info, err := l.Host().Mounts.Information(v.name())
	if err != nil || info.FileSystem != "NTFS" || info.Label != "pvc" {
		t.Errorf("information %+v, %v", info, err)
	}
	d := l.openVolume(v, win.GenericRead)
	boot, backup := read(t, d, 0, 512), read(t, d, v.length()-512, 512)
	if string(boot[3:11]) != "NTFS    " || !bytes.Equal(boot, backup) {
		t.Errorf("boot sector %q, backup %q", boot[3:11], backup[3:11])
	}
	if sectors := binary.LittleEndian.Uint64(boot[40:]); sectors != 1007<<11-1 {
		t.Errorf("%d sectors in the boot sector, want one less than the volume has", sectors)
	}
}

func TestFormat_Refused(t *testing.T) {
	frozen := data("frozen")
	frozen.ReadOnly = true
	l := newLab(t, Switches{}, data("data"), frozen)
	boot := func() *volume {
		l.mu.Lock()
		defer l.mu.Unlock()
		v, _ := l.volumeByLetter('C')
		return v
	}()
	tests := []struct {
		name   string
		volume *volume
		how    formatting
		want   win.ReturnValue
	}{
		{"unknown file system", l.only("data"), formatting{fs: "ext4", force: true}, win.ReturnFileSystem},
		{"odd unit", l.only("data"), formatting{fs: "NTFS", unit: 5000, force: true}, win.ReturnClusterSize},
		{"mounted, without force", l.only("data"), formatting{fs: "NTFS"}, win.ReturnInUse},
		{"read-only", l.only("frozen"), formatting{fs: "NTFS", force: true}, win.ReturnVolumeReadOnly},
		{"Windows itself", boot, formatting{fs: "NTFS", force: true}, win.ReturnCriticalPartition},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := l.Snapshot()
			wantReturn(t, l.with("data", func(*disk) error { return l.format(tt.volume, tt.how) }), tt.want)
			if diff := Diff(before, l.Snapshot()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Each file system leaves its name where a probe looks for it.
func TestFormat_FileSystems(t *testing.T) {
	tests := []struct {
		fs, want string
		offset   int
	}{
		{"NTFS", "NTFS    ", 3}, {"refs", "ReFS\x00", 3}, {"EXFAT", "EXFAT   ", 3}, {"FAT32", "FAT32   ", 82},
	}
	for _, tt := range tests {
		t.Run(tt.fs, func(t *testing.T) {
			l := newLab(t, Switches{}, data("data"))
			v := l.only("data")
			l.must(l.with("data", func(*disk) error { return l.format(v, formatting{fs: tt.fs, force: true}) }))
			d := l.openVolume(v, win.GenericRead)
			if got := read(t, d, 0, 512); !bytes.HasPrefix(got[tt.offset:], []byte(tt.want)) {
				t.Errorf("boot sector % x", got[:96])
			}
			if got := read(t, d, v.length()-512, 512); tt.fs != "NTFS" && !bytes.Equal(got, make([]byte, 512)) {
				t.Error("the backup boot sector of the NTFS before is left")
			}
		})
	}
}

// Clusters of more than 128 sectors are written as a negative power of two.
func TestNTFSBootSector_Clusters(t *testing.T) {
	for unit, want := range map[int64]byte{512: 1, 4096: 8, 64 << 10: 128, 128 << 10: 0xF8, 2 << 20: 0xF4} {
		if got := ntfsBootSector(1<<20, 512, unit, 1)[13]; got != want {
			t.Errorf("unit %d: %#x, want %#x", unit, got, want)
		}
	}
}

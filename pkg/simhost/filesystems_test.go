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

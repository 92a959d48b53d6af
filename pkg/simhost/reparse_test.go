// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func encode(t *testing.T, p abi.ReparsePoint) []byte {
	t.Helper()
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func junction(t *testing.T, substitute string) []byte {
	t.Helper()
	return encode(t, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: substitute})
}

// The forms in which Windows keeps a link's target (windows-api.md 8.1, 8.2).
func TestLinkTarget(t *testing.T) {
	tests := []struct {
		target, substitute string
		relative           bool
	}{
		{`C:\a\b`, `\??\C:\a\b`, false},
		{`C:\a\b\`, `\??\C:\a\b\`, false},
		{`C:/a//b`, `\??\C:\a\b`, false},
		{`c:\a\.\x\..\b. `, `\??\c:\a\b`, false},
		{`C:\..\..`, `\??\C:\`, false},
		{`C:\`, `\??\C:\`, false},
		{`\\host\share\dir`, `\??\UNC\host\share\dir`, false},
		{`\\?\UNC\host\share`, `\??\UNC\host\share`, false},
		{`\\?\C:\a.`, `\??\C:\a.`, false},
		{`\\?\Volume{00000000-0000-0000-0000-000000000001}\`, `\??\Volume{00000000-0000-0000-0000-000000000001}\`, false},
		{`\\?\Volume{00000000-0000-0000-0000-000000000001}`, `\??\Volume{00000000-0000-0000-0000-000000000001}`, false},
		{`..\a`, `..\a`, true},
		{`../a`, `../a`, true}, // kept as it stands, and so leads nowhere
		{`a.`, `a.`, true},
		{`\a`, `\a`, true},
	}
	for _, tt := range tests {
		t.Run(tt.target, func(t *testing.T) {
			data, err := encodeSymlink(tt.target)
			if err != nil {
				t.Fatal(err)
			}
			p, err := abi.DecodeReparsePoint(data)
			if err != nil {
				t.Fatal(err)
			}
			if p.Substitute != tt.substitute || p.Print != tt.target || p.IsRelative() != tt.relative {
				t.Errorf("got %q (%q), relative %v", p.Substitute, p.Print, p.IsRelative())
			}
		})
	}
}

func TestCheckReparse(t *testing.T) {
	good := junction(t, `\??\C:\a`)
	cut := good[:len(good)-2]
	long := append(slices.Clone(good), 0)
	empty := junction(t, "")
	printFirst := slices.Clone(good)
	copy(printFirst[8:], []byte{2, 0, 14, 0, 0, 0, 0, 0}) // both names inside, in another order
	huge := make([]byte, abi.MaxReparsePointSize+1)
	binary.LittleEndian.PutUint32(huge, uint32(abi.IO_REPARSE_TAG_DEDUP))
	binary.LittleEndian.PutUint16(huge[4:], uint16(len(huge)-8))
	foreign := encode(t, abi.ReparsePoint{Tag: 0x100, GUID: abi.GUID{Data1: 1}, Data: []byte{1, 2}})

	tests := []struct {
		name string
		data []byte
		want win.Errno
	}{
		{"junction", good, 0},
		{"symlink", encode(t, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_SYMLINK, Substitute: "a", Flags: abi.SymlinkFlagRelative}), 0},
		{"other tag", encode(t, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_CLOUD, Data: []byte{1}}), 0},
		{"with GUID", foreign, 0},
		{"nothing", nil, win.ERROR_INVALID_REPARSE_DATA},
		{"half a header", good[:7], win.ERROR_INVALID_REPARSE_DATA},
		{"shorter than it says", cut, win.ERROR_INVALID_REPARSE_DATA},
		{"longer than it says", long, win.ERROR_INVALID_REPARSE_DATA},
		{"no target", empty, win.ERROR_INVALID_REPARSE_DATA},
		{"another layout", printFirst, win.ERROR_INVALID_REPARSE_DATA},
		{"too large", huge, win.ERROR_INVALID_REPARSE_DATA},
		{"without GUID", foreign[:8], win.ERROR_INVALID_REPARSE_DATA},
		{"reserved tag", append([]byte{1, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 16)...), win.ERROR_REPARSE_TAG_INVALID},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := checkReparse(tt.data)
			wantCode(t, err, tt.want)
		})
	}
}

func TestMountedVolume(t *testing.T) {
	id := abi.GUID{Data1: 1}
	data, err := encodeMountPoint(id)
	if err != nil {
		t.Fatal(err)
	}
	p, err := abi.DecodeReparsePoint(data)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := mountedVolume(p); !ok || got != id {
		t.Errorf("mountedVolume(%+v) = %v, %v", p, got, ok)
	}
	for _, p := range []abi.ReparsePoint{
		{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: `\??\C:\a`},
		{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: p.Substitute + `a`},
		{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: p.Substitute[:len(p.Substitute)-1]},
		{Tag: abi.IO_REPARSE_TAG_SYMLINK, Substitute: p.Substitute},
	} {
		if id, ok := mountedVolume(p); ok {
			t.Errorf("mountedVolume(%+v) = %v", p, id)
		}
	}
}

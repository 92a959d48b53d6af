// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

var gone = volumeName(abi.GUID{Data1: 99})

func (b *bed) wantPaths(v *volume, want ...string) {
	b.Helper()
	got, err := b.mounts.Paths(v.name())
	if err != nil || !cmp.Equal(got, want) {
		b.Errorf("paths %q, %v, want %q", got, err, want)
	}
}

func (b *bed) wantVolumeAt(path string, v *volume, code win.Errno) {
	b.Helper()
	got, err := b.mounts.VolumeAt(path)
	wantCode(b.T, err, code)
	want := ""
	if v != nil {
		want = v.name()
	}
	if got != want {
		b.Errorf("volume at %s is %q, want %q", path, got, want)
	}
}

// RAW volumes are listed, volumes that have not arrived or whose disk is
// offline are not (windows-api.md 7.1).
func TestVolumes(t *testing.T) {
	b := newBed(t)
	b.data.arrives = time.Now().Add(time.Hour)
	b.d.extents = []extent{{disk: &disk{present: true}}} // offline: its volumes are not up
	got, err := b.mounts.Volumes()
	if want := []string{b.c.name(), b.raw.name()}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// windows-api.md 7.2.
func TestPaths(t *testing.T) {
	b := newBed(t)
	b.wantPaths(b.data)
	b.mkdir(`\\?\C:\Kubelet`)
	b.mount(`\\?\c:\kubelet\B\`, b.data)
	b.mount(`C:\Kubelet\a\`, b.d)
	b.mount(`\\?\D:\x\`, b.data)
	b.wantPaths(b.data, `C:\Kubelet\B\`, `D:\x\`)
	b.wantPaths(b.d, `D:\`, `C:\Kubelet\a\`)

	for name, want := range map[string]win.Errno{
		strings.TrimSuffix(b.data.name(), `\`): win.ERROR_INVALID_NAME,
		`C:\`:                                  win.ERROR_INVALID_NAME,
		"":                                     win.ERROR_INVALID_NAME,
		gone:                                   win.ERROR_FILE_NOT_FOUND,
	} {
		_, err := b.mounts.Paths(name)
		wantCode(t, err, want)
	}
}

// Each way around the mount manager leaves its folder behind (windows-api.md
// 7.2, 7.4, 8.1).
func TestPaths_Stale(t *testing.T) {
	t.Run("directory removed", func(t *testing.T) {
		b := newBed(t)
		b.mount(`\\?\C:\mnt\`, b.data)
		wantCode(t, b.remove(`\\?\C:\mnt`, posixDelete), 0)
		b.wantPaths(b.data, `C:\mnt\`)
		b.wantVolumeAt(`C:\mnt\`, nil, win.ERROR_FILE_NOT_FOUND)
		b.mkdir(`\\?\C:\mnt`)
		b.wantVolumeAt(`C:\mnt\`, nil, win.ERROR_NOT_A_REPARSE_POINT)
		wantCode(t, b.mounts.SetPoint(`C:\mnt\`, b.d.name()), 0) // takes the entry over
		b.wantPaths(b.data)
		b.wantPaths(b.d, `D:\`, `C:\mnt\`)
	})
	t.Run("reparse point deleted", func(t *testing.T) {
		b := newBed(t)
		b.mount(`\\?\C:\mnt\`, b.data)
		f := b.mustOpen(`\\?\C:\mnt`)
		_, err := f.Control(abi.FSCTL_DELETE_REPARSE_POINT, b.c.tree.root.child("mnt").reparse[:8], nil)
		wantCode(t, err, 0)
		b.mustClose(f)
		b.wantPaths(b.data, `C:\mnt\`)
	})
	t.Run("reparse point set", func(t *testing.T) {
		b := newBed(t)
		data, err := encodeMountPoint(b.data.id)
		wantCode(t, err, 0)
		b.point(`\\?\C:\mnt`, data)
		b.wantPaths(b.data) // the mount manager never heard of it
		b.wantVolumeAt(`C:\mnt\`, b.data, 0)
		wantCode(t, b.mounts.DeletePoint(`C:\mnt\`), 0)
		b.wantVolumeAt(`C:\mnt\`, nil, win.ERROR_NOT_A_REPARSE_POINT)
	})
	t.Run("parent volume gone", func(t *testing.T) {
		b := newBed(t)
		b.mount(`\\?\D:\mnt\`, b.data)
		b.d.present = false
		b.wantPaths(b.data, `D:\mnt\`)
		b.wantVolumeAt(`D:\mnt\`, nil, win.ERROR_PATH_NOT_FOUND)
	})
}

// windows-api.md 7.3: only the mount point itself, and only with its backslash.
func TestVolumeAt(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	b.mkfile(`\\?\C:\file`)
	b.mount(`\\?\C:\mnt\`, b.data)
	b.mkdir(b.data.name() + "inside")
	b.link(`\\?\C:\link`, `mnt`)
	b.link(`\\?\C:\guid`, b.data.name())
	b.link(`\\?\C:\around`, `C:\`)
	b.point(`\\?\C:\junction`, junction(t, `\??\C:\dir`))
	tests := []struct {
		path string
		want *volume
		code win.Errno
	}{
		{`C:\`, b.c, 0},
		{`\\?\d:\`, b.d, 0},
		{b.data.name(), b.data, 0},
		{strings.ToUpper(b.data.name()), b.data, 0},
		{b.raw.name(), b.raw, 0}, // needs no file system
		{`C:\mnt\`, b.data, 0},
		{`\\?\C:\MNT\`, b.data, 0},
		{b.c.name() + `mnt\`, b.data, 0},
		{`C:\around\mnt\`, b.data, 0},
		{`C:\mnt`, nil, win.ERROR_INVALID_NAME},
		{`C:`, nil, win.ERROR_INVALID_NAME},
		{``, nil, win.ERROR_INVALID_NAME},
		{`mnt\`, nil, win.ERROR_INVALID_NAME},
		{`C:\mnt\inside\`, nil, win.ERROR_NOT_A_REPARSE_POINT},
		{`C:\dir\`, nil, win.ERROR_NOT_A_REPARSE_POINT},
		{`C:\link\`, nil, win.ERROR_INVALID_PARAMETER},
		{`C:\guid\`, nil, win.ERROR_INVALID_PARAMETER},
		{`C:\junction\`, nil, win.ERROR_INVALID_PARAMETER},
		{`C:\none\`, nil, win.ERROR_FILE_NOT_FOUND},
		{`C:\none\x\`, nil, win.ERROR_PATH_NOT_FOUND},
		{`C:\file\`, nil, win.ERROR_DIRECTORY},
		{`Q:\`, nil, win.ERROR_FILE_NOT_FOUND},
		{gone, nil, win.ERROR_FILE_NOT_FOUND},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) { b.wantVolumeAt(tt.path, tt.want, tt.code) })
	}
	t.Run("PlainDirectoryInvalid", func(t *testing.T) {
		b.switches.PlainDirectoryInvalid = true
		b.wantVolumeAt(`C:\dir\`, nil, win.ERROR_INVALID_PARAMETER)
		b.wantVolumeAt(`C:\junction\`, nil, win.ERROR_NOT_A_REPARSE_POINT)
	})
}

// field-reports.md V07: the reparse point outlives its volume, and works again
// when the volume comes back.
func TestVolumeAt_Dangling(t *testing.T) {
	b := newBed(t)
	b.mount(`\\?\C:\mnt\`, b.data)
	b.data.present = false
	b.wantVolumeAt(`C:\mnt\`, nil, win.ERROR_FILE_NOT_FOUND)
	b.switches.DeadVolumeNamed = true
	b.wantVolumeAt(`C:\mnt\`, b.data, 0)
	b.data.present = true
	b.switches.DeadVolumeNamed = false
	b.wantVolumeAt(`C:\mnt\`, b.data, 0)
}

// windows-api.md 7.4.
func TestSetPoint_Codes(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\empty`, `\\?\C:\full`, `\\?\C:\full\x`)
	b.mkfile(`\\?\C:\file`)
	b.mount(`\\?\C:\mnt\`, b.data)
	b.mount(`\\?\C:\dead\`, b.raw)
	b.link(`\\?\C:\link`, `empty`)
	delete(b.volumes, b.raw.id)
	tests := []struct {
		name, path, volume string
		want               win.Errno
	}{
		{"not empty", `C:\full\`, b.data.name(), win.ERROR_DIR_NOT_EMPTY},
		{"mounted", `C:\mnt\`, b.data.name(), win.ERROR_DIR_NOT_EMPTY},
		{"mounted, another", `C:\mnt\`, b.d.name(), win.ERROR_DIR_NOT_EMPTY},
		{"dangling", `C:\dead\`, b.data.name(), win.ERROR_DIR_NOT_EMPTY},
		{"link", `C:\link\`, b.data.name(), win.ERROR_REPARSE_TAG_MISMATCH},
		{"missing", `C:\none\`, b.data.name(), win.ERROR_FILE_NOT_FOUND},
		{"parent missing", `C:\none\x\`, b.data.name(), win.ERROR_PATH_NOT_FOUND},
		{"file", `C:\file\`, b.data.name(), win.ERROR_DIRECTORY},
		{"no backslash", `C:\empty`, b.data.name(), win.ERROR_INVALID_NAME},
		{"volume root", b.d.name(), b.data.name(), win.ERROR_INVALID_PARAMETER},
		{"volume without backslash", `C:\empty\`, strings.TrimSuffix(b.data.name(), `\`), win.ERROR_INVALID_PARAMETER},
		{"volume malformed", `C:\empty\`, `\\?\Volume{1}\`, win.ERROR_INVALID_PARAMETER},
		{"volume is a drive", `C:\empty\`, `D:\`, win.ERROR_INVALID_PARAMETER},
		{"no such volume", `C:\empty\`, gone, win.ERROR_FILE_NOT_FOUND},
		{"letter taken", `D:\`, b.data.name(), win.ERROR_DIR_NOT_EMPTY},
		{"second letter", `E:\`, b.d.name(), win.ERROR_INVALID_PARAMETER},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantCode(t, b.mounts.SetPoint(tt.path, tt.volume), tt.want)
		})
	}
	b.wantPaths(b.data, `C:\mnt\`)
	b.wantPaths(b.d, `D:\`)
}

// behaviour.md VOL-11, VOL-17, VOL-18: the volume appears, also twice; then
// the folder stays, empty.
func TestMountPoint(t *testing.T) {
	b := newBed(t)
	b.mkdir(b.data.name() + "inside")
	b.mount(`\\?\C:\one\`, b.data)
	b.mount(`\\?\C:\two\`, b.data)
	b.wantPaths(b.data, `C:\one\`, `C:\two\`)
	for _, path := range []string{`\\?\C:\one\inside`, `\\?\C:\two\inside`} {
		if got, err := b.final(path); err != nil || got != b.data.name()+"inside" {
			t.Errorf("%s is %q, %v", path, got, err)
		}
	}
	open := b.mustOpen(`\\?\C:\one\inside`)
	wantCode(t, b.mounts.DeletePoint(`C:\one\`), 0)
	b.wantPaths(b.data, `C:\two\`)
	b.wantVolumeAt(`C:\one\`, nil, win.ERROR_NOT_A_REPARSE_POINT)
	if got, err := b.names(`\\?\C:\one`, 4096); err != nil || !cmp.Equal(got, []string{".", ".."}) {
		t.Errorf("left %q, %v", got, err)
	}
	// Open handles stay valid (windows-api.md 7.4).
	if got, err := open.FinalPath(win.VolumeNameGUID); err != nil || got != b.data.name()+"inside" {
		t.Errorf("handle from before: %q, %v", got, err)
	}
	b.mustClose(open)
}

func TestMountPoint_OnVolumeWithoutLetter(t *testing.T) {
	b := newBed(t)
	b.mount(b.data.name()+`deep\`, b.d)
	b.wantPaths(b.d, `D:\`, b.data.name()+`deep\`)
	wantCode(t, b.mounts.DeletePoint(b.data.name()+`deep\`), 0)
	b.wantPaths(b.d, `D:\`)
}

// The database spells a folder free of links, so that each spelling deletes it.
func TestMountPoint_ThroughLink(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\real`)
	b.link(`\\?\D:\link`, `C:\real`)
	b.mount(`\\?\D:\link\mnt\`, b.data)
	b.wantPaths(b.data, `C:\real\mnt\`)
	wantCode(t, b.mounts.DeletePoint(`C:\REAL\MNT\`), 0)
	b.wantPaths(b.data)
}

// windows-api.md 7.4.
func TestDeletePoint_Codes(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	b.link(`\\?\C:\link`, `dir`)
	b.mount(`\\?\C:\dead\`, b.data)
	b.data.present = false
	tests := []struct {
		name, path   string
		want, silent win.Errno
	}{
		{"plain directory", `C:\dir\`, win.ERROR_NOT_A_REPARSE_POINT, 0},
		{"link", `C:\link\`, win.ERROR_INVALID_PARAMETER, 0},
		{"missing", `C:\none\`, win.ERROR_FILE_NOT_FOUND, win.ERROR_FILE_NOT_FOUND},
		{"parent missing", `C:\none\x\`, win.ERROR_PATH_NOT_FOUND, win.ERROR_PATH_NOT_FOUND},
		{"no backslash", `C:\dir`, win.ERROR_INVALID_NAME, win.ERROR_INVALID_NAME},
		{"no such letter", `Q:\`, win.ERROR_FILE_NOT_FOUND, win.ERROR_FILE_NOT_FOUND},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b.switches.DeletePointSilent = false
			wantCode(t, b.mounts.DeletePoint(tt.path), tt.want)
			b.switches.DeletePointSilent = true
			wantCode(t, b.mounts.DeletePoint(tt.path), tt.silent)
		})
	}
	if b.c.tree.root.child("link").reparse == nil {
		t.Error("DeletePoint removed a link")
	}
	// The volume need not be there (field-reports.md V11).
	wantCode(t, b.mounts.DeletePoint(`C:\dead\`), 0)
	if len(b.points) != 0 {
		t.Errorf("mount manager keeps %d folders", len(b.points))
	}
}

func TestDriveLetter(t *testing.T) {
	b := newBed(t)
	wantCode(t, b.mounts.SetPoint(`e:\`, b.data.name()), 0)
	b.wantPaths(b.data, `E:\`)
	b.mkdir(`\\?\E:\x`)
	wantCode(t, b.mounts.DeletePoint(`E:\`), 0)
	b.wantPaths(b.data)
	_, err := b.final(`\\?\E:\x`)
	wantCode(t, err, win.ERROR_PATH_NOT_FOUND)
	_, err = b.final(b.data.name() + "x")
	wantCode(t, err, 0)
}

// windows-api.md 7.6.
func TestInformation(t *testing.T) {
	b := newBed(t)
	b.data.label = "Data"
	b.mkdir(`\\?\C:\dir`)
	b.mount(`\\?\C:\mnt\`, b.data)
	b.mount(`\\?\C:\dead\`, b.d)
	b.d.present = false
	want := win.VolumeInformation{Label: "Data", SerialNumber: 0xC0DE, FileSystem: "NTFS", Flags: flagsNTFS}
	for _, root := range []string{b.data.name(), `C:\mnt\`} {
		if got, err := b.mounts.Information(root); err != nil || got != want {
			t.Errorf("%s: %+v, %v", root, got, err)
		}
	}
	for root, code := range map[string]win.Errno{
		b.raw.name():                           win.ERROR_UNRECOGNIZED_VOLUME,
		strings.TrimSuffix(b.data.name(), `\`): win.ERROR_INVALID_NAME,
		`C:`:                                   win.ERROR_INVALID_NAME,
		`C:\mnt`:                               win.ERROR_INVALID_NAME,
		`C:\dir\`:                              win.ERROR_DIR_NOT_ROOT,
		`C:\none\`:                             win.ERROR_PATH_NOT_FOUND,
		`C:\dead\`:                             win.ERROR_PATH_NOT_FOUND,
		gone:                                   win.ERROR_PATH_NOT_FOUND,
		`\\?\UNC\h\share\`:                     win.ERROR_BAD_NETPATH,
	} {
		_, err := b.mounts.Information(root)
		wantCode(t, err, code)
	}
	for _, code := range []win.Errno{win.ERROR_ACCESS_DENIED, win.ERROR_NOT_READY, win.ERROR_FILE_CORRUPT} {
		b.data.state = code
		_, err := b.mounts.Information(b.data.name())
		wantCode(t, err, code)
	}
}

// windows-api.md 7.7: it follows, so a dangling mount fails; a removed one
// silently reports the parent volume.
func TestFreeSpace(t *testing.T) {
	b := newBed(t)
	b.c.fsSize, b.c.used = 1000, 100
	b.data.fsSize, b.data.used = 50, 20
	inC := win.FreeSpace{Available: 900, Total: 1000, Free: 900}
	inData := win.FreeSpace{Available: 30, Total: 50, Free: 30}
	b.mkdir(`\\?\C:\dir`)
	b.mkfile(`\\?\C:\file`)
	b.mount(`\\?\C:\mnt\`, b.data)
	b.link(`\\?\C:\link`, `mnt`)
	b.mkdir(b.data.name() + "inside")

	space := func(path string, want win.FreeSpace, code win.Errno) {
		t.Helper()
		got, err := b.mounts.FreeSpace(path)
		wantCode(t, err, code)
		if got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
	space(`C:\`, inC, 0)
	space(`\\?\C:\dir`, inC, 0)
	space(b.data.name(), inData, 0)
	space(`C:\mnt`, inData, 0)
	space(`C:\mnt\`, inData, 0)
	space(`C:\mnt\inside`, inData, 0)
	space(`C:\link`, inData, 0)
	space(`C:\file`, win.FreeSpace{}, win.ERROR_DIRECTORY)
	space(`C:\none`, win.FreeSpace{}, win.ERROR_PATH_NOT_FOUND)
	space(b.raw.name(), win.FreeSpace{}, win.ERROR_UNRECOGNIZED_VOLUME)
	space(strings.TrimSuffix(b.data.name(), `\`), win.FreeSpace{}, win.ERROR_INVALID_PARAMETER)

	b.data.present = false
	space(`C:\mnt`, win.FreeSpace{}, win.ERROR_PATH_NOT_FOUND)
	space(`C:\link`, win.FreeSpace{}, win.ERROR_PATH_NOT_FOUND)
	wantCode(t, b.mounts.DeletePoint(`C:\mnt\`), 0)
	space(`C:\mnt`, inC, 0)
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// bed is a node of four volumes without disks: C: and D: with letters, data
// without one, and raw without a file system.
type bed struct {
	*testing.T
	*Node
	files  files
	mounts mounts

	c, d, data, raw *volume
}

func newBed(t *testing.T) *bed {
	n := &Node{volumes: map[abi.GUID]*volume{}, letters: map[byte]abi.GUID{}, points: map[string]*mountPoint{}, pointsOf: map[abi.GUID][]*mountPoint{}}
	b := &bed{T: t, Node: n, files: files{n}, mounts: mounts{n}}
	add := func(number uint32, fs string) *volume {
		v := &volume{id: abi.GUID{Data1: number}, present: true, named: true, fs: fs, fsSerial: 0xC0DE, fsSize: 1 << 30, used: 1 << 20, unitSize: 4096}
		if fs != "" {
			v.tree = newTree()
		}
		n.volumes[v.id] = v
		return v
	}
	b.c, b.d, b.data, b.raw = add(1, "NTFS"), add(2, "NTFS"), add(3, "NTFS"), add(4, "")
	n.letters['C'], n.letters['D'] = b.c.id, b.d.id
	t.Cleanup(func() {
		if n.handles != 0 {
			t.Errorf("%d handles left open", n.handles)
		}
	})
	return b
}

// open opens a file for everything, with a disposition and options.
func (b *bed) open(dir win.File, path string, d win.Disposition, options uint32) (win.File, error) {
	const all = win.GenericRead | win.GenericWrite | win.Delete
	return b.files.Open(dir, path, win.OpenFile{Access: all, Disposition: d, Options: options})
}

func (b *bed) mustOpen(path string) win.File {
	b.Helper()
	f, err := b.open(nil, path, win.OpenExisting, 0)
	if err != nil {
		b.Fatalf("open %s: %v", path, err)
	}
	return f
}

func (b *bed) mustClose(f win.File) {
	b.Helper()
	if err := f.Close(); err != nil {
		b.Fatalf("close: %v", err)
	}
}

func (b *bed) make(path string, options uint32) {
	b.Helper()
	f, err := b.open(nil, path, win.CreateNew, options)
	if err != nil {
		b.Fatalf("create %s: %v", path, err)
	}
	b.mustClose(f)
}

func (b *bed) mkdir(paths ...string) {
	b.Helper()
	for _, p := range paths {
		b.make(p, win.FileDirectoryFile)
	}
}

func (b *bed) mkfile(path string) { b.Helper(); b.make(path, win.FileNonDirectoryFile) }

func (b *bed) link(path, target string) {
	b.Helper()
	if err := b.files.SymbolicLink(path, target, win.SymbolicLinkFlagDirectory); err != nil {
		b.Fatalf("link %s: %v", path, err)
	}
}

// point makes a directory and sets its reparse data.
func (b *bed) point(path string, data []byte) {
	b.Helper()
	b.mkdir(path)
	f := b.mustOpen(path)
	defer b.mustClose(f)
	if _, err := f.Control(abi.FSCTL_SET_REPARSE_POINT, data, nil); err != nil {
		b.Fatalf("set reparse point %s: %v", path, err)
	}
}

func (b *bed) mount(path string, v *volume) {
	b.Helper()
	b.mkdir(strings.TrimSuffix(extended(path), `\`))
	if err := b.mounts.SetPoint(path, v.name()); err != nil {
		b.Fatalf("mount %s: %v", path, err)
	}
}

// final opens a path and returns the GUID form of what it is.
func (b *bed) final(path string) (string, error) {
	f, err := b.files.Open(nil, path, win.OpenFile{Disposition: win.OpenExisting})
	if err != nil {
		return "", err
	}
	defer b.mustClose(f)
	return f.FinalPath(win.VolumeNameGUID)
}

func TestResolve_Codes(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	b.mkfile(`\\?\C:\file`)
	long := strings.Repeat(`\`+strings.Repeat("x", 250), 140)
	tests := []struct {
		name, path string
		want       win.Errno
	}{
		{"root", `\\?\C:\`, 0},
		{"lower case", `\\?\c:\DIR`, 0},
		{"volume root", b.data.name(), 0},
		{"volume in capitals", strings.ToUpper(b.c.name()) + "dir", 0},
		{"trailing backslash", `\\?\C:\dir\`, 0},
		{"missing", `\\?\C:\none`, win.ERROR_FILE_NOT_FOUND},
		{"missing with backslash", `\\?\C:\none\`, win.ERROR_FILE_NOT_FOUND},
		{"missing parent", `\\?\C:\none\x`, win.ERROR_PATH_NOT_FOUND},
		{"below a file", `\\?\C:\file\x`, win.ERROR_PATH_NOT_FOUND},
		{"file with backslash", `\\?\C:\file\`, win.ERROR_INVALID_NAME},
		{"missing drive", `\\?\Q:\dir`, win.ERROR_PATH_NOT_FOUND},
		{"missing volume", volumeName(abi.GUID{Data1: 99}) + "dir", win.ERROR_PATH_NOT_FOUND},
		{"no such device", `\\?\Nothing\dir`, win.ERROR_PATH_NOT_FOUND},
		{"RAW", b.raw.name(), win.ERROR_UNRECOGNIZED_VOLUME},
		{"UNC", `\\?\UNC\host\share\dir`, win.ERROR_BAD_NETPATH},
		{"unc", `\\?\unc\host\share`, win.ERROR_BAD_NETPATH},
		{"the device, not its root", `\\?\C:`, win.ERROR_INVALID_PARAMETER},
		{"Win32 form", `C:\dir`, win.ERROR_INVALID_NAME},
		{"empty", ``, win.ERROR_INVALID_NAME},
		{"empty element", `\\?\C:\\dir`, win.ERROR_INVALID_NAME},
		{"dot", `\\?\C:\.\dir`, win.ERROR_INVALID_NAME},
		{"dot dot", `\\?\C:\dir\..`, win.ERROR_INVALID_NAME},
		{"slash", `\\?\C:\dir/x`, win.ERROR_INVALID_NAME},
		{"stream", `\\?\C:\file:stream`, win.ERROR_INVALID_NAME},
		{"stars", `\\?\C:\*`, win.ERROR_INVALID_NAME},
		{"long element", `\\?\C:\` + strings.Repeat("x", 256), win.ERROR_INVALID_NAME},
		{"long path", `\\?\C:` + long, win.ERROR_FILENAME_EXCED_RANGE},
		{"trailing dot is another name", `\\?\C:\dir.`, win.ERROR_FILE_NOT_FOUND},
		{"trailing space is another name", `\\?\C:\dir `, win.ERROR_FILE_NOT_FOUND},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := b.final(tt.path)
			wantCode(t, err, tt.want)
		})
	}
}

// Where each kind of reparse point leads on the way to a file (windows-api.md
// 8.1, wine-lab/REPORT.md 4).
func TestResolve_ReparsePoints(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\a`, `\\?\C:\a\sub`, `\\?\C:\a\sub\x`, `\\?\D:\x`, b.data.name()+"x", `\\?\C:\x`)
	b.link(`\\?\C:\a\abs`, `C:\a\sub`)
	b.link(`\\?\C:\a\rel`, `sub`)
	b.link(`\\?\C:\a\up`, `..`)
	b.link(`\\?\C:\a\lexical`, `none\..\sub`)
	b.link(`\\?\C:\a\rooted`, `\a\sub`)
	b.link(`\\?\C:\a\top`, `\`)
	b.link(`\\?\C:\a\aboveRoot`, `..\..\..`)
	b.link(`\\?\C:\a\slash`, `../a`)
	b.link(`\\?\C:\a\drive`, `D:\`)
	b.link(`\\?\C:\a\guid`, b.data.name())
	b.link(`\\?\C:\a\noBackslash`, strings.TrimSuffix(b.data.name(), `\`))
	b.link(`\\?\C:\a\share`, `\\host\share`)
	b.link(`\\?\C:\a\dangling`, `C:\none`)
	b.link(`\\?\C:\a\self`, `C:\a\self`)
	b.link(`\\?\C:\a\odd`, `\\?\GLOBALROOT\Device`)
	b.point(`\\?\C:\a\junction`, junction(t, `\??\C:\a\sub`))
	b.point(`\\?\C:\a\junctionSlash`, junction(t, `\??\C:\a\sub\`))
	b.point(`\\?\C:\a\notNT`, junction(t, `C:\a\sub`))
	b.point(`\\?\C:\a\dots`, junction(t, `\??\C:\a\..`))
	b.point(`\\?\C:\a\cloud`, encode(t, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_CLOUD}))
	b.point(`\\?\C:\a\dead`, junction(t, `\??\Volume{00000063-0000-0000-0000-000000000000}\`))
	b.mount(`\\?\C:\a\mount\`, b.data)
	b.mount(`\\?\C:\a\raw\`, b.raw)
	if err := b.files.SymbolicLink(`\\?\C:\a\file`, `C:\a\sub`, 0); err != nil {
		t.Fatal(err)
	}
	inC, inD, inData := b.c.name(), b.d.name()+"x", b.data.name()+"x"

	tests := []struct {
		via  string
		want string
		code win.Errno
	}{
		{"abs", inC + `a\sub\x`, 0},
		{"rel", inC + `a\sub\x`, 0},
		{"up", inC + `x`, 0},
		{"lexical", inC + `a\sub\x`, 0},
		{"rooted", inC + `a\sub\x`, 0},
		{"aboveRoot", inC + `x`, 0},
		{"top", inC + `x`, 0},
		{"drive", inD, 0},
		{"guid", inData, 0},
		{"noBackslash", inData, 0},
		{"junction", inC + `a\sub\x`, 0},
		{"junctionSlash", inC + `a\sub\x`, 0},
		{"mount", inData, 0},
		{"MOUNT", inData, 0},
		{`up\a\rel`, inC + `a\sub\x`, 0},
		{"slash", "", win.ERROR_INVALID_NAME},
		{"share", "", win.ERROR_BAD_NETPATH},
		{"dangling", "", win.ERROR_PATH_NOT_FOUND},
		{"self", "", win.ERROR_CANT_RESOLVE_FILENAME},
		{"odd", "", win.ERROR_PATH_NOT_FOUND},
		{"notNT", "", win.ERROR_INVALID_REPARSE_DATA},
		{"dots", "", win.ERROR_INVALID_NAME},
		{"cloud", "", win.ERROR_CANT_ACCESS_FILE},
		{"dead", "", win.ERROR_PATH_NOT_FOUND},
		{"raw", "", win.ERROR_UNRECOGNIZED_VOLUME},
		{"file", "", win.ERROR_DIRECTORY},
	}
	for _, tt := range tests {
		t.Run(tt.via, func(t *testing.T) {
			got, err := b.final(`\\?\C:\a\` + tt.via + `\x`)
			wantCode(t, err, tt.code)
			if got != tt.want {
				t.Errorf("leads to %q, want %q", got, tt.want)
			}
			if _, err := b.final(`\\?\C:\a\` + tt.via); err != nil {
				t.Errorf("at its end: %v", err) // never followed
			}
		})
	}
}

// Windows passes 63 reparse points and gives up at the next one.
func TestResolve_Hops(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\end`, `\\?\C:\end\x`)
	b.link(`\\?\C:\1`, `end`)
	for i := 2; i <= 64; i++ {
		b.link(fmt.Sprintf(`\\?\C:\%d`, i), fmt.Sprint(i-1))
	}
	_, err := b.final(`\\?\C:\63\x`)
	wantCode(t, err, 0)
	_, err = b.final(`\\?\C:\64\x`)
	wantCode(t, err, win.ERROR_CANT_RESOLVE_FILENAME)
}

// A path that grows with each hop ends, in one way or the other.
func TestResolve_GrowingPath(t *testing.T) {
	b := newBed(t)
	b.link(`\\?\C:\grow`, `C:\grow`+strings.Repeat(`\`+strings.Repeat("x", 250), 12))
	_, err := b.final(`\\?\C:\grow\x`)
	wantCode(t, err, win.ERROR_FILENAME_EXCED_RANGE)
}

func TestResolve_GoneVolume(t *testing.T) {
	codes := map[GoneVolume]win.Errno{
		GonePathNotFound: win.ERROR_PATH_NOT_FOUND,
		GoneFileNotFound: win.ERROR_FILE_NOT_FOUND,
		GoneNotConnected: win.ERROR_DEVICE_NOT_CONNECTED,
		GoneNotReady:     win.ERROR_NOT_READY,
	}
	for position, want := range codes {
		b := newBed(t)
		b.switches.GoneVolume = position
		b.mount(`\\?\C:\mnt\`, b.data)
		b.data.present = false
		_, err := b.final(`\\?\C:\mnt\x`)
		wantCode(t, err, want)
		_, err = b.final(`\\?\C:\mnt`)
		wantCode(t, err, 0) // the mount point itself opens all the same
	}
}

// A volume that the file system refuses answers its code on every path.
func TestResolve_VolumeState(t *testing.T) {
	b := newBed(t)
	for _, state := range []win.Errno{win.ERROR_ACCESS_DENIED, win.ERROR_NOT_READY, win.ERROR_FILE_CORRUPT} {
		b.d.state = state
		_, err := b.final(`\\?\D:\`)
		wantCode(t, err, state)
	}
}

// Whatever paths and targets say, resolving ends with a code of Windows or in
// the tree of a volume of the node.
func FuzzResolve(f *testing.F) {
	f.Add(`\\?\C:\a\b`, `..\c`, `\??\D:\`)
	f.Add(`\\?\Volume{00000003-0000-0000-0000-000000000000}\l\j\l`, `\\?\C:\l`, `\??\Volume{00000001-0000-0000-0000-000000000000}\j`)
	f.Add(`\\?\C:\j\l\x`, `j\.\..\\`, `\??\UNC\h\s`)
	f.Add("\\\\?\\C:\\\xED\xA0\x80", "\xff", `\??\C:`)
	f.Fuzz(func(t *testing.T, path, target, substitute string) {
		b := newBed(t)
		for _, v := range []*volume{b.c, b.d, b.data} {
			l, _ := v.tree.create(v.tree.root, "l", true)
			j, _ := v.tree.create(v.tree.root, "j", true)
			if data, err := encodeSymlink(target); err == nil {
				_ = l.setReparse(data) // what NTFS would not store is not there
			}
			if data, err := (abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: substitute}).Encode(); err == nil {
				_ = j.setReparse(data)
			}
		}
		for _, follow := range []bool{false, true} {
			p, err := b.resolve(path, follow)
			var code win.Errno
			switch {
			case err != nil && !errors.As(err, &code):
				t.Fatalf("%q: no native code: %v", path, err)
			case err == nil && b.volumes[p.volume.id] != p.volume:
				t.Fatalf("%q: left the node", path)
			case err == nil && p.entry == nil && (p.parent == nil || p.parent.child(p.name) != nil || checkName(p.name) != nil):
				t.Fatalf("%q: missing %q is no place", path, p.name)
			case err == nil && follow && p.entry != nil && p.entry.reparse != nil:
				t.Fatalf("%q: not followed", path)
			}
		}
	})
}

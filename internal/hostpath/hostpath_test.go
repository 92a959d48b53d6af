// SPDX-License-Identifier: Apache-2.0

package hostpath_test

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/keylock"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/intercept"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

const volume = `\\?\Volume{11111111-1111-1111-1111-111111111111}\`

// newNode has C:, and an NTFS volume of its own disk.
func newNode(t *testing.T, state uint32) *simhost.Node {
	t.Helper()
	node, err := simhost.New(simhost.NodeSpec{
		Version: simhost.SpecVersion, Name: "paths", Directories: []string{`C:\a\b`, `C:\mount`},
		Disks: []simhost.DiskSpec{simhost.BootDisk(), {
			Name: "data", Size: simhost.GiB, Bus: "scsi", Style: "gpt", Address: &simhost.AddressSpec{},
			Partitions: []simhost.PartitionSpec{{Volume: &simhost.VolumeSpec{ID: volume[11:47], FileSystem: "NTFS", State: state}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
	})
	return node
}

func parse(t *testing.T, s string) winpath.Path {
	t.Helper()
	p, err := winpath.Parse(s, 'C')
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse_AsksForTheDriveOnce(t *testing.T) {
	node := newNode(t, 0)
	for range 2 {
		paths := hostpath.On(node.Host())
		for in, want := range map[string]string{`\x`: `C:\x`, `D:\x`: `D:\x`, `\\h\s`: `\\h\s\`} {
			if p, err := paths.Parse(t.Context(), in); err != nil || p.String() != want {
				t.Errorf("%s: got %q, %v", in, p, err)
			}
		}
	}
	if n := node.Calls().Total(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// oddSystem says odd things about its Windows directory.
type oddSystem struct {
	win.System
	directory string
}

func (s oddSystem) WindowsDirectory() (string, error) { return s.directory, nil }

func TestParse_OddWindowsDirectory(t *testing.T) {
	for _, directory := range []string{"", "C", `\Windows`, `\\host\Windows`, `1:\Windows`} {
		paths := hostpath.On(&win.Host{System: oddSystem{directory: directory}})
		if p, err := paths.Parse(t.Context(), `\x`); err == nil {
			t.Errorf("%q: got %q", directory, p)
		}
	}
}

// Two spellings of one path, through links too, have one key; others have
// others.
func TestLockKey(t *testing.T) {
	node := newNode(t, 0)
	h := node.Host()
	for link, target := range map[string]string{`\\?\C:\link`: `C:\a`, `\\?\C:\a\back`: `C:\`} {
		if err := h.Files.SymbolicLink(link, target, win.SymbolicLinkFlagDirectory); err != nil {
			t.Fatal(err)
		}
	}
	key := func(path string) keylock.Key {
		t.Helper()
		k, err := hostpath.On(h).LockKey(t.Context(), parse(t, path))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	want := key(`C:\a\x`)
	for _, same := range []string{`c:\A\X`, `C:\a\back\a\x`} {
		if key(same) != want {
			t.Errorf("%s has another key", same)
		}
	}
	for _, other := range []string{`C:\a\y`, `C:\x`, `C:\a\b\x`, volume + `x`} {
		if key(other) == want {
			t.Errorf("%s has the same key", other)
		}
	}
	if key(`C:\link\b\x`) != key(`C:\a\b\x`) {
		t.Error("another key through a link")
	}
	if _, err := hostpath.On(h).LockKey(t.Context(), parse(t, `C:\missing\x`)); !errors.Is(err, errdefs.ErrNotFound) {
		t.Errorf("missing directory: %v", err)
	}
}

// A file system without file ids, such as some servers', is locked by the path.
func TestLockKey_WithoutFileIDs(t *testing.T) {
	h := intercept.Host(newNode(t, 0).Host(), func(c intercept.Call, do func() error) error {
		if c.Method == "File.Information" {
			return win.ERROR_INVALID_PARAMETER
		}
		return do()
	})
	a, errA := hostpath.On(h).LockKey(t.Context(), parse(t, `C:\a\x`))
	b, errB := hostpath.On(h).LockKey(t.Context(), parse(t, `c:\A\X`))
	c, errC := hostpath.On(h).LockKey(t.Context(), parse(t, `C:\a\b\x`))
	if errA != nil || errB != nil || errC != nil || a != b || a == c {
		t.Errorf("got %v, %v, %v, %v, %v, %v", a, b, c, errA, errB, errC)
	}
}

func TestExists(t *testing.T) {
	tests := []struct {
		name  string
		state win.Errno // what the volume answers instead
		path  string
		want  bool
		err   error
	}{
		{"directory", 0, `C:\a\b`, true, nil},
		{"missing", 0, `C:\a\x`, false, nil},
		{"missing parent", 0, `C:\x\y`, false, nil},
		{"missing drive", 0, `Q:\`, false, nil},
		{"volume", 0, volume, true, nil},
		{"missing volume", 0, `\\?\Volume{22222222-2222-2222-2222-222222222222}\`, false, nil},
		{"volume without file system", win.ERROR_UNRECOGNIZED_VOLUME, volume, true, nil},
		{"locked volume", win.ERROR_NOT_READY, volume, true, nil},
		{"forbidden volume", win.ERROR_ACCESS_DENIED, volume, false, win.ERROR_ACCESS_DENIED},
		{"damaged volume", win.ERROR_FILE_CORRUPT, volume, false, win.ERROR_FILE_CORRUPT},
		{"below a volume without file system", win.ERROR_UNRECOGNIZED_VOLUME, volume + `x`, false, win.ERROR_UNRECOGNIZED_VOLUME},
		{"silent server", 0, `\\host\share`, false, win.ERROR_BAD_NETPATH},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := hostpath.On(newNode(t, uint32(tt.state)).Host()).Exists(t.Context(), parse(t, tt.path))
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestGone(t *testing.T) {
	local, server := parse(t, `C:\x`), parse(t, `\\host\share\x`)
	for code, want := range map[win.Errno][2]bool{
		win.ERROR_FILE_NOT_FOUND: {true, true}, win.ERROR_PATH_NOT_FOUND: {true, true}, win.ERROR_NO_SUCH_DEVICE: {true, false},
		win.ERROR_DEVICE_NOT_CONNECTED: {true, false}, win.ERROR_BAD_NETPATH: {false, false}, win.ERROR_BAD_NET_NAME: {false, false},
		win.ERROR_NOT_READY: {false, false}, win.ERROR_ACCESS_DENIED: {false, false}, win.ERROR_IO_DEVICE: {false, false},
	} {
		if got := [2]bool{hostpath.Gone(local, code), hostpath.Gone(server, code)}; got != want {
			t.Errorf("%d: got %v, want %v", code, got, want)
		}
	}
	if hostpath.Gone(local, nil) {
		t.Error("no error means gone")
	}
}

func TestLink_Text(t *testing.T) {
	for raw, want := range map[string]string{
		`\??\C:\x`: `C:\x`, `\??\UNC\host\share\`: `\\host\share\`, `\??\` + volume[4:]: volume, `..\x`: `..\x`, `\x`: `\x`, `\Device\x`: `\Device\x`,
	} {
		if got := (hostpath.Link{Raw: raw}).Text(); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

// What a file system made up is an error and no link.
func TestReadLink_Malformed(t *testing.T) {
	for _, data := range []string{"", "\x03", "\x0c\x00\x00\xa0\xff\xff\x00\x00", "\x03\x00\x00\xa0\x08\x00\x00\x00\x00\x00\xff\xff\x00\x00\x00\x00"} {
		link, err := hostpath.ReadLink(pointFile{data: []byte(data)}, parse(t, `C:\a\b`))
		if err == nil || link != (hostpath.Link{}) {
			t.Errorf("%q: got %+v, %v", data, link, err)
		}
	}
}

// Whoever writes a reparse point chooses its bytes.
func FuzzReadLink(f *testing.F) {
	for _, p := range []abi.ReparsePoint{
		{Tag: abi.IO_REPARSE_TAG_SYMLINK, Substitute: `\??\C:\x`},
		{Tag: abi.IO_REPARSE_TAG_SYMLINK, Substitute: `..\..\x`, Flags: abi.SymlinkFlagRelative},
		{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: `\??\` + volume[4:]},
	} {
		b, err := p.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	path, err := winpath.Parse(`C:\a\b`, 'C')
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		link, err := hostpath.ReadLink(pointFile{data: b}, path)
		if err != nil && link != (hostpath.Link{}) {
			t.Fatalf("got %+v beside %v", link, err)
		}
		target, err := link.Target()
		if link.Kind == hostpath.MountPoint && (err != nil || !target.IsVolume() || !target.IsRoot()) {
			t.Fatalf("a mount point leads to %q, %v", target, err)
		}
	})
}

// pointFile is a reparse point of given bytes at C:\a\b.
type pointFile struct {
	win.File
	data []byte
}

func (f pointFile) Control(_ uint32, _, out []byte) (int, error) { return copy(out, f.data), nil }

func (f pointFile) FinalPath(uint32) (string, error) { return `\\?\C:\a\b`, nil }

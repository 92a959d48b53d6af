// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// F04, F05: whoever owns a directory replaces it by a link, junction or mount
// folder between any two boundary calls of a change. Nothing outside is created
// or removed.
func TestSwappedDirectory(t *testing.T) {
	const victim = `C:\t\pod\x`
	swaps := map[string]func(s *site){
		"symlink":      func(s *site) { s.try().symlink(victim, `C:\system`) },
		"junction":     func(s *site) { s.try().reparse(victim, `\??\C:\system`) },
		"mount folder": func(s *site) { s.try().mount(victim, data) },
		"file":         func(s *site) { _ = s.node.AddFile(victim, 1) },
	}
	changes := map[string]func(s *site) error{
		"Rmdir above":   func(s *site) error { return s.rmdir(`C:\t\pod`, true) },
		"Rmdir":         func(s *site) error { return s.rmdir(victim, true) },
		"Rmdir below":   func(s *site) error { return s.rmdir(victim+`\sub`, true) },
		"RmdirContents": func(s *site) error { return s.rmdirContents(victim) },
		"Mkdir below":   func(s *site) error { return s.mkdir(victim + `\sub\new`) },
	}
	for swapName, swap := range swaps {
		for changeName, change := range changes {
			t.Run(changeName+" with "+swapName, func(t *testing.T) {
				t.Parallel()
				for k, reached := 0, true; reached; k++ {
					reached = trySwap(t, k, victim, swap, change)
				}
			})
		}
	}
}

// trySwap makes a change with a swap before its k-th boundary call, and tells
// whether it makes that many.
func trySwap(t *testing.T, k int, victim string, swap func(*site), change func(*site) error) (reached bool) {
	t.Helper()
	s := newSite(t)
	for _, root := range []string{`C:\system`, data + `system`} {
		s.directory(root + `\sub`)
		s.file(root + `\sub\precious`)
	}
	s.directory(data + `sub`)
	s.file(data + `sub\precious`)
	s.directory(victim + `\sub\deeper`)
	s.file(victim + `\sub\file`)

	var mu sync.Mutex
	count := 0
	s.node.OnCall(func(_ simhost.Call, do func() error) error {
		mu.Lock()
		at := count
		count++
		mu.Unlock()
		if at == k {
			reached = true
			s.try().remove(victim)
			swap(s)
		}
		return do()
	})
	err := change(s)
	s.node.OnCall(nil)

	for _, root := range []string{`C:\system`, data + `system`, data[:len(data)-1]} {
		if !s.has(root+`\sub\precious`) || s.has(root+`\sub\new`) || s.has(root+`\new`) {
			t.Fatalf("call %d, %v: reached out of the tree:\n%s", k, err, s.node.Snapshot())
		}
	}
	if n := s.node.OpenHandles(); n != 0 {
		t.Fatalf("call %d, %v: %d handles left open", k, err, n)
	}
	return reached
}

// attempt does things that may fail, because what they act on is in the middle
// of a change.
type attempt struct{ *site }

func (s *site) try() attempt { return attempt{s} }

func (a attempt) open(path string, how win.OpenFile) (win.File, error) {
	how.Access |= win.Synchronize
	return a.node.Host().Files.Open(nil, extended(path), how)
}

func (a attempt) symlink(path, target string) {
	_ = a.node.Host().Files.SymbolicLink(extended(path), target, win.SymbolicLinkFlagDirectory)
}

func (a attempt) directory(path string) bool {
	f, err := a.open(path, win.OpenFile{Disposition: win.CreateNew, Options: win.FileDirectoryFile})
	return err == nil && f.Close() == nil
}

func (a attempt) reparse(path, target string) {
	if !a.directory(path) {
		return
	}
	f, err := a.open(path, win.OpenFile{Access: win.FileWriteAttributes, Disposition: win.OpenExisting})
	if err != nil {
		return
	}
	b, err := abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: target}.Encode()
	a.must(err)
	_, _ = f.Control(abi.FSCTL_SET_REPARSE_POINT, b, nil)
	a.must(f.Close())
}

func (a attempt) mount(path, volume string) {
	if a.directory(path) {
		_ = a.node.Host().Mounts.SetPoint(path+`\`, volume)
	}
}

// remove removes a directory with all below it.
func (a attempt) remove(path string) {
	f, err := a.open(path, win.OpenFile{Access: win.Delete | win.FileReadData | win.FileReadAttributes, Disposition: win.OpenExisting})
	if err != nil {
		return
	}
	buf := make([]byte, 4096)
	for n, err := f.List(buf, true); err == nil; n, err = f.List(buf, false) {
		entries, err := abi.DecodeDirEntries(buf[:n])
		a.must(err)
		for _, e := range entries {
			if e.Name != "." && e.Name != ".." {
				a.remove(path + `\` + e.Name)
			}
		}
	}
	_ = f.SetInformation(abi.FileDispositionInfoExClass, abi.EncodeFileDispositionInfoEx(abi.FILE_DISPOSITION_FLAG_DELETE|abi.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS))
	a.must(f.Close())
}

// A directory in which somebody keeps making files is given up, not emptied for
// ever.
func TestRefilledDirectory(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\x`)
	made := 0
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method == "File.SetInformation" && made < 1000 {
			made++
			_ = s.node.AddFile(fmt.Sprintf(`C:\t\x\%d`, made), 0)
		}
		return do()
	})
	err := s.rmdir(`C:\t`, true)
	s.node.OnCall(nil)
	if err == nil {
		s.wantPath(`C:\t`, false)
	}
	s.must(s.rmdir(`C:\t`, true))
	s.wantPath(`C:\t`, false)
}

// A file server may list anything: a name that is none is not opened.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{`..\..\x`, `a\b`, `a/b`, "", "a\x00b"} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.directory(`C:\t\x`)
			h := s.node.Host()
			fs, err := filesystem.New(hostapi.On(&win.Host{
				Devices: h.Devices, Mounts: h.Mounts, Files: lyingFiles{h.Files, name}, System: h.System, WMI: h.WMI,
			}))
			s.must(err)
			s.fs = fs
			unchanged := s.unchanged()
			for method, err := range map[string]error{"Rmdir": s.rmdir(`C:\t`, true), "RmdirContents": s.rmdirContents(`C:\t`)} {
				if err == nil {
					t.Errorf("%s: no error", method)
				}
			}
			unchanged()
		})
	}
}

// lyingFiles list one entry of a given name in every directory.
type lyingFiles struct {
	win.Files
	name string
}

func (f lyingFiles) Open(directory win.File, name string, how win.OpenFile) (win.File, error) {
	if d, ok := directory.(lyingFile); ok {
		directory = d.File
	}
	file, err := f.Files.Open(directory, name, how)
	if err != nil {
		return nil, err
	}
	return lyingFile{file, f.name}, nil
}

type lyingFile struct {
	win.File
	name string
}

func (f lyingFile) List(buf []byte, restart bool) (int, error) {
	if !restart {
		return 0, win.ERROR_NO_MORE_FILES
	}
	_, n := abi.EncodeDirEntries(buf, []abi.DirEntry{{Name: f.name, Attributes: abi.FILE_ATTRIBUTE_DIRECTORY}})
	return n, nil
}

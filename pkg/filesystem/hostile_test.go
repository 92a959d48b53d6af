// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

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

// Who renames the directory of a mount folder, and puts another in its place,
// has no other volume unmounted.
func TestMovedMountFolder(t *testing.T) {
	for _, path := range []string{`C:\t\live`, `C:\t\dead`, `C:\t\above`} {
		t.Run(path, func(t *testing.T) {
			s := newSite(t)
			s.mount(`C:\t\live`, other)
			s.mount(`C:\t\dead`, data)
			s.mount(`C:\t\above\dead`, data)
			s.must(s.node.DetachDisk("data"))
			s.over(movedFiles{s.node.Host().Files})
			unchanged := s.unchanged()
			if err := s.rmdir(path, true); errdefs.KindOf(err) != errdefs.FailedPrecondition {
				t.Errorf("got %v", err)
			}
			unchanged()
		})
	}
}

// movedFiles has, where a mount folder was, the directory C:\Windows.
type movedFiles struct{ win.Files }

func (f movedFiles) Open(directory win.File, name string, how win.OpenFile) (win.File, error) {
	if directory == nil && strings.HasPrefix(name, `\\?\C:\t\`) {
		name = `\\?\C:\Windows`
	}
	return f.Files.Open(directory, name, how)
}

// What is a directory by the time it is opened is emptied as one, though it was
// listed as a file.
func TestFileBecomesDirectory(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\x`)
	s.file(`C:\t\x\name`)
	lists := 0
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		err := do()
		if c.Method != "File.List" || c.Continues {
			return err
		}
		if lists++; lists == 2 { // the first looks for mounts
			s.node.OnCall(nil)
			f := s.raw(`C:\t\x\name`, win.OpenFile{Access: win.Delete, Disposition: win.OpenExisting})
			s.must(f.SetInformation(abi.FileDispositionInfoClass, abi.EncodeFileDispositionInfo(true)))
			s.must(f.Close())
			s.directory(`C:\t\x\name\below`)
		}
		return err
	})
	s.must(s.rmdirContents(`C:\t\x`))
	s.must(s.rmdir(`C:\t\x`, false))
}

// A list that cannot be read is an error, and nothing is removed.
func TestHostileList(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\x`)
	s.file(`C:\t\x\name`)
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		err := do()
		if list, ok := c.Answer().(*[]byte); ok && c.Method == "File.List" && err == nil {
			*list = (*list)[:1]
		}
		return err
	})
	unchanged := s.unchanged()
	for method, err := range map[string]error{"Rmdir": s.rmdir(`C:\t`, true), "RmdirContents": s.rmdirContents(`C:\t`)} {
		if !errors.Is(err, abi.ErrMalformed) {
			t.Errorf("%s: got %v", method, err)
		}
	}
	unchanged()
}

// A handle that does not close as it should ends the removal before anybody is
// told that the mount point goes.
func TestDeadMountPoint_DoesNotClose(t *testing.T) {
	s := newSite(t)
	s.mount(`C:\t\dead`, data)
	s.must(s.node.DetachDisk("data"))
	s.over(clingingFiles{s.node.Host().Files})
	unchanged := s.unchanged()
	if err := s.rmdir(`C:\t`, true); !errors.Is(err, win.ERROR_INVALID_HANDLE) {
		t.Errorf("got %v", err)
	}
	unchanged()
}

// clingingFiles fail to close what is called dead and may be removed.
type clingingFiles struct{ win.Files }

func (f clingingFiles) Open(directory win.File, name string, how win.OpenFile) (win.File, error) {
	file, err := f.Files.Open(directory, name, how)
	if err != nil || name != "dead" || how.Access&win.Delete == 0 {
		return file, err
	}
	return clingingFile{file}, nil
}

type clingingFile struct{ win.File }

func (f clingingFile) Close() error {
	return errors.Join(f.File.Close(), win.ERROR_INVALID_HANDLE)
}

// A file server may list anything: a name that is none is not opened, and what
// is listed but is not there is given up.
func TestHostileNames(t *testing.T) {
	for name, want := range map[string]errdefs.Kind{
		`..\..\x`: errdefs.Internal, `a\b`: errdefs.Internal, `a/b`: errdefs.Internal, "": errdefs.Internal, "a\x00b": errdefs.Internal, "ghost": errdefs.Busy,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.directory(`C:\t\x`)
			s.over(lyingFiles{s.node.Host().Files, name})
			unchanged := s.unchanged()
			for method, err := range map[string]error{"Rmdir": s.rmdir(`C:\t`, true), "RmdirContents": s.rmdirContents(`C:\t`)} {
				if errdefs.KindOf(err) != want {
					t.Errorf("%s: got %v, want %v", method, err, want)
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

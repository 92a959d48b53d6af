// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// V07: a dead mount point goes, at the path and below it, with its entry in the
// mount manager. In every position of the switches; a read-only one too.
func TestRmdir_DeadMountPoint(t *testing.T) {
	for _, sw := range append(simhost.AllSwitches(), simhost.Switch{Name: "expected"}) {
		t.Run(sw.Name, func(t *testing.T) {
			s := newSiteWith(t, sw.Switches)
			before := s.files()
			s.mount(`C:\dead`, data)
			s.mount(`C:\t\below\dead`, data)
			s.reparse(`C:\t\unknown`, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: `\??\Volume{` + deadID + `}\`})
			s.mount(`C:\contents\dead`, data)
			s.must(s.node.DetachDisk("data"))
			s.must(s.rmdir(`C:\dead`, true))
			s.must(s.rmdir(`C:\t`, true))
			s.must(s.rmdirContents(`C:\contents`))
			s.must(s.rmdir(`C:\contents`, false))
			if got := s.files(); !slices.Equal(got, before) {
				t.Errorf("left %q", got)
			}
			if m := s.mountManager(); len(m) > 0 {
				t.Errorf("the mount manager still knows %q", m)
			}
		})
	}
}

// Where the mount manager does not let a dead mount point go, it goes alone.
func TestRmdir_DeadMountPointWithoutMountManager(t *testing.T) {
	s := newSite(t)
	s.mount(`C:\t\dead`, data)
	s.must(s.node.DetachDisk("data"))
	s.failOn("Mounts.DeletePoint", 0, win.ERROR_INVALID_PARAMETER)
	s.must(s.rmdir(`C:\t`, true))
	s.wantPath(`C:\t`, false)
}

// A volume that is mounted where a dead mount point has just gone stays, and what
// is on it.
func TestRmdir_DeadMountPointMountedAgain(t *testing.T) {
	s := newSite(t)
	s.mount(`C:\t\dead`, data)
	s.file(other + "kept")
	s.must(s.node.DetachDisk("data"))
	s.mountAgain(`C:\t\dead`)
	if err := s.rmdir(`C:\t\dead`, true); !errors.Is(err, errdefs.ErrMountedBelow) {
		t.Errorf("got %v", err)
	}
	s.wantPath(`C:\t\dead\kept`, true)
}

// However many volumes are mounted below, none is touched.
func TestRmdir_ManyMountsBelow(t *testing.T) {
	s := newSite(t)
	for i := range 20 {
		s.mount(fmt.Sprintf(`C:\t\%d`, i), data)
	}
	unchanged := s.unchanged()
	err := s.rmdir(`C:\t`, true)
	if !errors.Is(err, errdefs.ErrMountedBelow) || !strings.Contains(err.Error(), `C:\t\0`) {
		t.Errorf("got %v", err)
	}
	unchanged()
}

// What is mounted below a folder of a volume that has no letter is named by the
// volume.
func TestRmdir_MountBelowAVolume(t *testing.T) {
	s := newSite(t)
	s.mount(data+`t\mount`, other)
	unchanged := s.unchanged()
	if err := s.rmdir(data+"t", true); !errors.Is(err, errdefs.ErrMountedBelow) || !strings.Contains(err.Error(), data+`t\mount`) {
		t.Errorf("got %v", err)
	}
	unchanged()
}

// What is mounted in a file server's folders cannot be looked up here, and
// stays.
func TestRmdir_MountOfAFileServer(t *testing.T) {
	s := newSite(t)
	s.mount(`C:\t\dead`, data)
	s.must(s.node.DetachDisk("data"))
	s.over(sharedFiles{s.node.Host().Files})
	unchanged := s.unchanged()
	for _, path := range []string{`\\files\c\t`, `\\files\c\t\dead`} {
		if err := s.rmdir(path, true); !errors.Is(err, errdefs.ErrMountedBelow) || !strings.Contains(err.Error(), `\\files\c\t\dead`) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	unchanged()
}

// sharedFiles have C: as the share \\files\c, too.
type sharedFiles struct{ win.Files }

func (f sharedFiles) Open(directory win.File, name string, how win.OpenFile) (win.File, error) {
	if below, ok := strings.CutPrefix(name, `\\?\UNC\files\c\`); ok && directory == nil {
		name = `\\?\C:\` + below
	}
	return f.Files.Open(directory, name, how)
}

// VOL-18: what fails to be written is not let go; a volume that is gone, or
// that nothing can be written to, is.
func TestRmdir_FlushFails(t *testing.T) {
	tests := map[win.Errno]bool{
		win.ERROR_IO_DEVICE: false, win.ERROR_ACCESS_DENIED: false, win.ERROR_DISK_FULL: false, win.ERROR_GEN_FAILURE: false,
		win.ERROR_FILE_NOT_FOUND: true, win.ERROR_PATH_NOT_FOUND: true, win.ERROR_DEVICE_NOT_CONNECTED: true, win.ERROR_NO_SUCH_DEVICE: true,
		win.ERROR_WRITE_PROTECT: true, win.ERROR_NOT_READY: true, win.ERROR_UNRECOGNIZED_VOLUME: true, win.ERROR_INVALID_FUNCTION: true,
	}
	for code, unmounted := range tests {
		for _, method := range []string{"Devices.Open", "Device.Flush"} {
			t.Run(fmt.Sprintf("%s %d", method, code), func(t *testing.T) {
				s := newSite(t)
				s.mount(staging, data)
				s.failOn(method, 0, code)
				err := s.rmdir(staging, true)
				s.node.OnCall(nil)
				if (err == nil) != unmounted || err != nil && !errors.Is(err, code) {
					t.Errorf("got %v", err)
				}
				s.wantPath(staging, !unmounted)
				if mounted := len(s.mountManager()) > 0; mounted == unmounted {
					t.Errorf("mounted: %v", mounted)
				}
			})
		}
	}
}

// A flush that hangs is waited for, for a time; one that others left behind is
// not.
func TestRmdir_FlushHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		release := make(chan struct{})
		for _, path := range []string{`C:\first`, `C:\second`} {
			s.mount(path, data)
		}
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Device.Flush" {
				<-release
			}
			return do()
		})
		start := time.Now()
		s.must(s.rmdir(`C:\first`, true))
		if waited := time.Since(start); waited != 15*time.Second {
			t.Errorf("waited %v", waited)
		}
		start = time.Now()
		s.must(s.rmdir(`C:\second`, true))
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v for a flush that was left behind", waited)
		}
		close(release)
		synctest.Wait()
		if n := s.node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
	})
}

// A caller that gives up before the flush ends keeps its mount.
func TestRmdir_CallerLeavesDuringFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.mount(staging, data)
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Device.Flush" {
				<-release
			}
			return do()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.fs.Rmdir(ctx, &filesystem.RmdirRequest{Path: staging, Force: true})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(release)
		synctest.Wait()
		if len(s.mountManager()) != 1 {
			t.Error("not mounted any more")
		}
	})
}

// Design: POSIX removal where the file system has it, the older one where it
// has not, which needs the read-only attribute gone.
func TestRemove_OlderFileSystems(t *testing.T) {
	for _, code := range []win.Errno{win.ERROR_INVALID_FUNCTION, win.ERROR_NOT_SUPPORTED, win.ERROR_INVALID_PARAMETER} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s := newSite(t)
			s.directory(`C:\t\sub`)
			s.directory(`C:\t\full\x`)
			s.file(`C:\t\sub\file`)
			s.file(`C:\t\sub\readonly`)
			s.readOnly(`C:\t\sub\readonly`)
			s.readOnly(`C:\t\full`)
			s.failOn("File.SetInformation", abi.FileDispositionInfoExClass, code)
			if err := s.rmdir(`C:\t\full`, false); !errors.Is(err, win.ERROR_DIR_NOT_EMPTY) {
				t.Errorf("got %v", err)
			}
			f := s.raw(`C:\t\full`, win.OpenFile{Disposition: win.OpenExisting})
			buf := make([]byte, abi.FileBasicInfoSize)
			_, err := f.Information(abi.FileBasicInfoClass, buf)
			s.must(err)
			s.must(f.Close())
			if info, err := abi.DecodeFileBasicInfo(buf); err != nil || info.Attributes&abi.FILE_ATTRIBUTE_READONLY == 0 {
				t.Errorf("what was not removed lost its attribute: %+v, %v", info, err)
			}
			s.must(s.rmdir(`C:\t`, true))
			s.wantPath(`C:\t`, false)
		})
	}
	t.Run("the attribute stays", func(t *testing.T) {
		s := newSite(t)
		s.file(`C:\readonly`)
		s.readOnly(`C:\readonly`)
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			switch {
			case c.Method == "File.SetInformation" && c.Code == abi.FileDispositionInfoExClass:
				return win.ERROR_INVALID_FUNCTION
			case c.Method == "File.SetInformation" && c.Code == abi.FileBasicInfoClass:
				return win.ERROR_IO_DEVICE
			}
			return do()
		})
		if err := s.rmdir(`C:\readonly`, false); !errors.Is(err, win.ERROR_IO_DEVICE) || errors.Is(err, win.ERROR_ACCESS_DENIED) {
			t.Errorf("got %v", err)
		}
		s.wantPath(`C:\readonly`, true)
	})
	t.Run("FAT", func(t *testing.T) {
		s := newSite(t)
		s.directory(`F:\t\sub`)
		s.file(`F:\t\sub\file`)
		s.must(s.rmdir(`F:\t`, true))
		s.wantPath(`F:\t`, false)
	})
}

// However deep a tree is, few handles are open at a time.
func TestRmdir_BoundedHandles(t *testing.T) {
	s := newSite(t)
	branch := strings.Repeat(`\d`, 200)
	for _, name := range []string{"a", "b"} {
		s.directory(`C:\t\` + name + branch)
		s.directory(`C:\t\` + name + strings.Repeat(`\d`, 100) + `\side\x`)
	}
	most := 0
	s.node.OnCall(func(_ simhost.Call, do func() error) error {
		err := do()
		most = max(most, s.node.OpenHandles())
		return err
	})
	s.must(s.rmdir(`C:\t`, true))
	s.wantPath(`C:\t`, false)
	if most > 70 {
		t.Errorf("%d handles were open", most)
	}
}

func TestRmdir_ManyEntries(t *testing.T) {
	s := newSite(t)
	for i := range 700 {
		s.directory(fmt.Sprintf(`C:\t\directory with a long name to fill the list %d`, i))
		s.file(fmt.Sprintf(`C:\t\file with a long name to fill the list %d`, i))
	}
	s.must(s.rmdir(`C:\t`, true))
	s.wantPath(`C:\t`, false)
}

// A directory that cannot be looked into may hold a mount folder: nothing is
// removed, whatever stands beside it.
func TestRmdirContents_CannotLook(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\b`)
	s.file(`C:\t\a`)
	s.file(`C:\t\b\kept`)
	check := s.unchanged()
	looked := false
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if !looked && strings.HasSuffix(c.Subject, `\t\b`) {
			looked = true
			return win.ERROR_ACCESS_DENIED
		}
		return do()
	})
	if err := s.rmdirContents(`C:\t`); !errors.Is(err, errdefs.ErrPermissionDenied) {
		t.Errorf("got %v", err)
	}
	s.node.OnCall(nil)
	check()
}

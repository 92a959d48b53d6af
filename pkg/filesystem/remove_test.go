// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

func TestFS24_RmdirWithoutForce(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\dir\full`)
	s.directory(`C:\t\empty`)
	s.directory(`C:\t\readonly`)
	s.readOnly(`C:\t\readonly`)
	s.file(`C:\t\file`)
	s.symlink(`C:\t\link`, `C:\t\dir`)
	s.symlink(`C:\t\dangling`, `C:\t\nowhere`)
	s.junction(`C:\t\junction`, `C:\t\dir`)
	for _, name := range []string{"empty", "readonly", "file", "link", "dangling", "junction"} {
		if err := s.rmdir(`C:\t\`+name, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s.wantPath(`C:\t\`+name, false)
	}
	s.wantPath(`C:\t\dir\full`, true)
}

// FS-25 and TXT-2.
func TestFS25_RmdirMissing(t *testing.T) {
	s := newSite(t)
	err := s.rmdir(`C:\missing`, false)
	if !isNotExist(err) || !strings.Contains(err.Error(), text(win.ERROR_FILE_NOT_FOUND, "The system cannot find the file specified")) || !strings.HasPrefix(err.Error(), `remove C:\missing: `) {
		t.Errorf("got %v", err)
	}
	if err := s.rmdir(`C:\missing\x`, false); !isNotExist(err) {
		t.Errorf("missing parent: %v", err)
	}
}

func TestFS26_RmdirNotEmpty(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\sub`)
	unchanged := s.unchanged()
	err := s.rmdir(`C:\t`, false)
	if !errors.Is(err, win.ERROR_DIR_NOT_EMPTY) || errdefs.KindOf(err) != errdefs.FailedPrecondition || !strings.HasPrefix(err.Error(), `remove C:\t: `+text(win.ERROR_DIR_NOT_EMPTY, "The directory is not empty.")) {
		t.Errorf("got %v", err)
	}
	unchanged()
}

func TestFS27_RmdirForce(t *testing.T) {
	s := newSite(t)
	before := s.files()
	s.directory(`C:\t\a\b\c`)
	s.directory(`C:\t\d`)
	s.file(`C:\t\a\file`)
	s.file(`C:\t\a\b\readonly`)
	s.readOnly(`C:\t\a\b\readonly`)
	s.readOnly(`C:\t\a\b`)
	for range 2 {
		s.must(s.rmdir(`C:\t`, true))
	}
	s.must(s.rmdir(`C:\t\missing\parent`, true))
	s.file(`C:\file`)
	s.must(s.rmdir(`C:\file\below`, true))
	s.must(s.rmdir(`C:\file`, true))
	if got := s.files(); !slices.Equal(got, before) {
		t.Errorf("got %q", got)
	}
}

// FS-28, F05: links go themselves, what they lead to stays.
func TestFS28_LinksAreNotFollowed(t *testing.T) {
	for _, force := range []string{"Rmdir", "RmdirContents"} {
		t.Run(force, func(t *testing.T) {
			s := newSite(t)
			s.directory(`C:\precious\deep`)
			s.file(`C:\precious\deep\file`)
			s.file(`D:\precious`)
			unchanged := s.unchanged()
			s.directory(`C:\t\sub`)
			s.symlink(`C:\t\sub\rootvol`, `C:\precious`)
			s.fileLink(`C:\t\sub\file`, `C:\precious\deep\file`)
			s.junction(`C:\t\sub\junction`, `C:\precious`)
			s.junction(`C:\t\sub\drive`, `D:\`)
			s.symlink(`C:\t\sub\dangling`, `C:\nowhere`)
			s.symlink(`C:\t\sub\loop`, `C:\t\sub`)
			s.symlink(`C:\t\sub\up`, `..\..`)
			s.symlink(`C:\t\share`, `\\host\share\`)
			s.reparse(`C:\t\dedup`, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_DEDUP, Data: []byte{1}})
			if force == "RmdirContents" {
				s.must(s.rmdirContents(`C:\t`))
				s.wantPath(`C:\t`, true)
			}
			s.must(s.rmdir(`C:\t`, true))
			unchanged()
		})
	}
}

func TestFS30_RmdirContents(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\foo\bar\baz`)
	s.file(`C:\t\foo\goo`)
	s.directory(`C:\t\alpha\beta\gamma`)
	for range 2 {
		s.must(s.rmdirContents(`C:\t`))
		s.wantPath(`C:\t`, true)
		for _, name := range []string{"foo", "alpha"} {
			s.wantPath(`C:\t\`+name, false)
		}
	}
	if err := s.rmdirContents(`C:\missing`); !isNotExist(err) || !strings.HasPrefix(err.Error(), `open C:\missing: `) {
		t.Errorf("missing: %v", err)
	}
	s.file(`C:\t\file`)
	if err := s.rmdirContents(`C:\t\file`); !errors.Is(err, win.ERROR_DIRECTORY) || !strings.HasPrefix(err.Error(), `readdir C:\t\file: `) {
		t.Errorf("file: %v", err)
	}
	s.symlink(`C:\t\link`, `C:\var`)
	if err := s.rmdirContents(`C:\t\link`); errdefs.KindOf(err) != errdefs.FailedPrecondition {
		t.Errorf("link: %v", err)
	}
	s.mount(`C:\t\mount`, data)
	s.file(data + `file`)
	if err := s.rmdirContents(`C:\t\mount`); !errors.Is(err, errdefs.ErrMountedBelow) || !strings.Contains(err.Error(), `C:\t\mount`) {
		t.Errorf("mount folder: %v", err)
	}
	s.wantPath(data+`file`, true)
	s.wantPath(`C:\t\file`, true)
}

// FS-30: it stops at the first child that fails, and names it.
func TestFS30_StopsAndNames(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"a", "b", "c"} {
		s.directory(`C:\t\` + name)
		s.file(`C:\t\` + name + `\file`)
	}
	release, err := s.node.HoldOpen(`C:\t\b\file`)
	s.must(err)
	for _, err := range []error{s.rmdirContents(`C:\t`), s.rmdir(`C:\t`, true)} {
		var path *fs.PathError
		if !errors.As(err, &path) || path.Path != `C:\t\b\file` || !errors.Is(err, errdefs.ErrBusy) {
			t.Errorf("got %v", err)
		}
	}
	s.wantPath(`C:\t\a`, false)
	s.wantPath(`C:\t\c\file`, true)
	release()
	s.must(s.rmdir(`C:\t`, true))
}

// BUG 5: nobody removes or empties a root.
func TestFS9_Roots(t *testing.T) {
	s := newSite(t)
	unchanged := s.unchanged()
	for _, root := range []string{`C:\`, `\`, `d:\`, data, `\\host\share`, `\\?\C:\`} {
		for name, err := range map[string]error{"Rmdir": s.rmdir(root, false), "Rmdir force": s.rmdir(root, true), "RmdirContents": s.rmdirContents(root)} {
			if errdefs.KindOf(err) != errdefs.InvalidArgument {
				t.Errorf("%s(%s): %v", name, root, err)
			}
		}
	}
	unchanged()
}

// Rmdir of a mount folder unmounts, as azuredisk does, and leaves no entry in
// the mount manager; the volume's files stay.
func TestRmdir_MountFolder(t *testing.T) {
	for _, force := range []bool{false, true} {
		t.Run(fmt.Sprintf("force %v", force), func(t *testing.T) {
			s := newSite(t)
			s.mount(staging, data)
			s.file(staging + `\file`)
			s.node.Calls().Reset()
			s.must(s.rmdir(staging, force))
			s.wantPath(staging, false)
			s.wantPath(data+`file`, true)
			if m := s.mountManager(); len(m) > 0 {
				t.Errorf("the mount manager still knows %q", m)
			}
			if calls := s.node.Calls().ByMethod(); calls["Device.Flush"] != 1 || calls["Mounts.DeletePoint"] != 1 {
				t.Errorf("got %v", calls)
			}
		})
	}
}

// A mount folder below stays mounted, and nothing at all is removed.
func TestRmdir_MountedBelow(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\a\b`)
	s.file(`C:\t\a\first`)
	s.mount(`C:\t\a\b\mount`, data)
	s.mount(`C:\t\z`, other)
	s.file(`C:\t\a\b\mount\precious`)
	unchanged := s.unchanged()
	for name, err := range map[string]error{"Rmdir": s.rmdir(`C:\t`, true), "RmdirContents": s.rmdirContents(`C:\t`)} {
		if !errors.Is(err, errdefs.ErrMountedBelow) || errdefs.KindOf(err) != errdefs.FailedPrecondition ||
			!strings.Contains(err.Error(), `C:\t\a\b\mount, C:\t\z`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	unchanged()
}

// A mount folder too deep for the survey stays mounted too.
func TestRmdir_MountedFarBelow(t *testing.T) {
	s := newSite(t)
	deep := `C:\t` + strings.Repeat(`\d`, 100)
	s.mount(deep+`\mount`, data)
	s.file(deep + `\mount\precious`)
	err := s.rmdir(`C:\t`, true)
	if !errors.Is(err, errdefs.ErrMountedBelow) || !strings.Contains(err.Error(), deep+`\mount`) {
		t.Errorf("got %v", err)
	}
	s.wantPath(deep+`\mount\precious`, true)
	if m := s.mountManager(); len(m) != 1 {
		t.Errorf("the mount manager knows %q", m)
	}
}

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
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method == "Mounts.DeletePoint" {
			return win.ERROR_INVALID_PARAMETER
		}
		return do()
	})
	s.must(s.rmdir(`C:\t`, true))
	s.wantPath(`C:\t`, false)
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
				s.node.OnCall(func(c simhost.Call, do func() error) error {
					if c.Method == method {
						return code
					}
					return do()
				})
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
			s.node.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == "File.SetInformation" && c.Code == abi.FileDispositionInfoExClass {
					return code
				}
				return do()
			})
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
	t.Run("FAT", func(t *testing.T) {
		s := newSite(t)
		s.directory(`F:\t\sub`)
		s.file(`F:\t\sub\file`)
		s.must(s.rmdir(`F:\t`, true))
		s.wantPath(`F:\t`, false)
	})
}

// F10: names and depths beyond what most programs can open.
func TestRmdir_DeepAndLong(t *testing.T) {
	tests := map[string]string{
		"40 deep":         strings.Repeat(`\d`, 40),
		"300 deep":        strings.Repeat(`\d`, 300),
		"32,000 units":    strings.Repeat(`\`+strings.Repeat("n", 255), 124),
		"a 255-unit name": `\` + strings.Repeat("\U0001F4BE", 127) + "x",
	}
	for name, below := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			before := s.files()
			path := `C:\t` + below
			s.must(s.mkdir(path))
			s.wantPath(path, true)
			s.file(path + `\f`)
			s.directory(`C:\t\wide`)
			s.must(s.rmdir(`C:\t`, true))
			if got := s.files(); !slices.Equal(got, before) {
				t.Errorf("left %d entries", len(got)-len(before))
			}
		})
	}
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

// Names that winpath refuses are removed with their directory.
func TestRmdir_StrangeNames(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"NUL", "con.txt", "dot.", "blank ", unpaired, "...", "\U0001F4BE", "$(x)", "a;b&c%d"} {
		s.directory(`C:\t\` + name + `\` + name)
	}
	s.must(s.rmdir(`C:\t`, true))
	s.wantPath(`C:\t`, false)
}

// unpaired is a lone high surrogate as Windows names may hold it.
const unpaired = "\xed\xa0\xbd"

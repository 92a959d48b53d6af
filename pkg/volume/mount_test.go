// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// VOL-11, VOL-12, VOL-14, TXT-7: the same volume in any spelling, at the same path in
// any spelling, is mounted once.
func TestMountVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.must(s.mount(dataID, staging))
		if got := s.mountedAt(staging); got != dataID {
			t.Fatalf("mounted: %q", got)
		}
		s.unchanged(func() {
			for _, id := range []string{dataID, strings.ToUpper(dataID), strings.TrimSuffix(dataID, `\`)} {
				for _, path := range []string{staging, staging + `\`, strings.ToLower(staging), `\var\lib\kubelet\plugins\staging`, `\\?\` + staging} {
					s.must(s.mount(id, path))
				}
			}
		})
		s.directory(staging + `\inside`)
	})
}

// VOL-17: one volume at several folders, and no drive letter (field-reports.md
// V17).
func TestMountVolume_V17SeveralFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.must(s.mount(dataID, staging))
		s.must(s.mount(dataID, pod))
		paths, err := s.node.Host().Mounts.Paths(dataID)
		s.must(err)
		if want := []string{staging + `\`, pod + `\`}; !slices.Equal(sorted(paths), sorted(want)) {
			t.Errorf("paths %q, want %q", paths, want)
		}
	})
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// A volume without file system can be mounted; drivers may format it later.
func TestMountVolume_RAW(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.must(s.mount(rawID, staging))
		s.must(s.unmount(rawID, staging))
		s.must(s.unmount(rawID, staging))
	})
}

// VOL-11, VOL-13.
func TestMountVolume_Refused(t *testing.T) {
	fat := func(spec *simhost.NodeSpec) {
		p := dataPartition(otherID, "FAT32")
		p.Volume.Letter = "F"
		onDisk("other", gptDisk("other", simhost.GiB, p))(spec)
		spec.Directories = append(spec.Directories, `F:\dir`)
	}
	for _, tt := range []struct {
		name  string
		edit  func(*simhost.NodeSpec)
		setUp func(*site)
		id    string
		path  string
		kind  errdefs.Kind
		want  error
	}{
		{"another volume", nil, func(s *site) { s.setPoint(staging, otherID) }, dataID, staging, errdefs.FailedPrecondition, errdefs.ErrOtherVolume},
		{"not empty", nil, func(s *site) { s.directory(staging + `\x`) }, dataID, staging, errdefs.FailedPrecondition, win.ERROR_DIR_NOT_EMPTY},
		{"missing", nil, nil, dataID, kubelet + `\nothing`, errdefs.NotFound, errdefs.ErrNotFound},
		{"missing parent", nil, nil, dataID, kubelet + `\nothing\at\all`, errdefs.NotFound, errdefs.ErrNotFound},
		{"file", nil, func(s *site) { s.must(s.node.AddFile(kubelet+`\file`, 1)) }, dataID, kubelet + `\file`, errdefs.InvalidArgument, win.ERROR_DIRECTORY},
		{"link", nil, func(s *site) { s.link(kubelet+`\link`, staging) }, dataID, kubelet + `\link`, errdefs.FailedPrecondition, nil},
		{"FAT has no mount folders", fat, nil, dataID, `F:\dir`, errdefs.Unsupported, errdefs.ErrUnsupported},
		{"unknown volume", nil, nil, deadID, staging, errdefs.NotFound, errdefs.ErrNotFound},
		{"volume of an offline disk", editDisk("data", func(d *simhost.DiskSpec) { d.Offline = true }), nil, dataID, staging, errdefs.NotFound, nil},
		{"root", nil, nil, dataID, `C:\`, errdefs.InvalidArgument, errdefs.ErrInvalidArgument},
		{"root of a volume", nil, nil, dataID, otherID, errdefs.InvalidArgument, errdefs.ErrInvalidArgument},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, tt.edit)
				if tt.setUp != nil {
					tt.setUp(s)
				}
				s.unchanged(func() {
					err := s.mount(tt.id, tt.path)
					s.hasKind(err, tt.kind)
					if tt.want != nil {
						s.fails(err, tt.want)
					}
				})
			})
		})
	}
}

// field-reports.md V22: a mount asks for no read-only that it would not give. What
// does is the disk's attribute, and all its mounts show it.
func TestMountVolume_ReadOnlyDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		disks, err := disk.New(s.node.Disk())
		s.must(err)
		for _, readOnly := range []bool{true, false} {
			s.must(second(disks.SetReadOnly(t.Context(), &disk.SetReadOnlyRequest{DiskNumber: dataDisk, IsReadOnly: readOnly})))
			s.must(s.mount(dataID, staging))
			got, err := s.vol.DescribeVolume(t.Context(), dataID)
			s.must(err)
			if got.Flags.ReadOnly() != readOnly {
				t.Errorf("the volume's flags are %v, read-only %t", got.Flags, readOnly)
			}
			s.must(s.unmount(dataID, staging))
		}
	})
}

// VOL-15, BUG 27: the error is what the call returned, not what was asked last.
func TestMountVolume_OwnError(t *testing.T) {
	for code, kind := range map[win.Errno]errdefs.Kind{
		win.ERROR_ACCESS_DENIED:     errdefs.PermissionDenied,
		win.ERROR_NOT_READY:         errdefs.Unavailable,
		win.ERROR_INVALID_PARAMETER: errdefs.InvalidArgument,
		win.ERROR_DIR_NOT_EMPTY:     errdefs.FailedPrecondition,
		win.ERROR_SHARING_VIOLATION: errdefs.Busy,
	} {
		t.Run(code.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.answers(code, func(c simhost.Call) bool { return c.Method == "Mounts.SetPoint" })
				s.unchanged(func() {
					err := s.mount(dataID, staging)
					s.fails(err, code)
					s.hasKind(err, kind)
				})
			})
		})
	}
}

// field-reports.md V07: a mount point whose volume is gone makes room, whatever
// Windows answers there; one whose volume cannot be told stays.
func TestMountVolume_OverDangling(t *testing.T) {
	for _, sw := range append([]simhost.Switch{{Name: "none"}}, simhost.AllSwitches()...) {
		t.Run(sw.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(spec *simhost.NodeSpec) { spec.Switches = sw.Switches })
				s.dangling(staging)
				s.must(s.mount(dataID, staging))
				if got := s.mountedAt(staging); got != dataID {
					t.Errorf("mounted: %q", got)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.setPoint(staging, otherID)
		s.answers(win.ERROR_NOT_READY, func(c simhost.Call) bool {
			return c.Method == "Devices.Open" && c.Subject == strings.TrimSuffix(otherID, `\`)
		})
		s.unchanged(func() { s.fails(s.mount(dataID, staging), errdefs.ErrOtherVolume, win.ERROR_NOT_READY) })
	})
}

// Windows may say that it mounted where it did not.
func TestMountVolume_NotThere(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   string
		want error
		kind errdefs.Kind
	}{
		{"nothing", "", errdefs.ErrNotMounted, errdefs.Unavailable},
		{"another volume", otherID, errdefs.ErrOtherVolume, errdefs.FailedPrecondition},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				if tt.at != "" {
					s.setPoint(staging, tt.at)
				}
				s.over(silent{s.node.Host().Mounts})
				err := s.mount(dataID, staging)
				s.fails(err, tt.want)
				s.hasKind(err, tt.kind)
			})
		})
	}
}

// silent mounts that change nothing and say so to nobody.
type silent struct{ win.Mounts }

func (silent) SetPoint(string, string) error { return nil }
func (silent) DeletePoint(string) error      { return nil }

// VOL-18: the cache is written first, then the mount point goes; the folder
// stays, empty.
func TestUnmountVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		before := s.node.Snapshot()
		s.must(s.mount(dataID, staging))
		s.must(s.mount(dataID, pod))
		s.node.Calls().Reset()
		s.must(s.unmount(strings.ToUpper(dataID), strings.ToLower(staging)+`\`))
		var order []string
		for _, c := range s.node.Calls().Calls() {
			if c.Method == "Device.Flush" || c.Method == "Mounts.DeletePoint" {
				order = append(order, c.Method)
			}
		}
		if want := []string{"Device.Flush", "Mounts.DeletePoint"}; !slices.Equal(order, want) {
			t.Errorf("order %q", order)
		}
		if got := s.mountedAt(pod); got != dataID {
			t.Errorf("mounted at the other folder: %q", got)
		}
		s.must(s.unmount(dataID, pod))
		if after := s.node.Snapshot(); after != before {
			t.Errorf("left behind:\n%s", simhost.Diff(before, after))
		}
	})
}

// VOL-20, TXT-8: nothing to unmount is success.
func TestUnmountVolume_NotMounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.setPoint(pod, dataID)
		s.link(kubelet+`\link`, pod)
		s.link(kubelet+`\toVolume`, dataID)
		s.must(s.node.AddFile(kubelet+`\file`, 1))
		s.unchanged(func() {
			for _, path := range []string{
				staging, kubelet + `\nothing`, kubelet + `\nothing\at\all`, kubelet + `\file`, kubelet + `\link`, kubelet + `\toVolume`, `X:\dir`,
			} {
				if err := s.unmount(dataID, path); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			s.must(s.unmount(deadID, staging))
		})
	})
}

// VOL-19: what another volume's driver mounted stays.
func TestUnmountVolume_OtherVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.setPoint(staging, otherID)
		s.unchanged(func() {
			s.fails(s.unmount(dataID, staging), errdefs.ErrOtherVolume, errdefs.ErrFailedPrecondition)
			s.fails(s.unmount(deadID, staging), errdefs.ErrOtherVolume)
			s.fails(s.unmount(dataID, `C:\`), errdefs.ErrInvalidArgument)
		})
	})
}

// VOL-18, field-reports.md V11: after surprise removal the mount point goes, and
// a second call finds nothing to do, in every code that Windows may answer.
func TestUnmountVolume_VolumeGone(t *testing.T) {
	for _, sw := range append([]simhost.Switch{{Name: "none"}}, simhost.AllSwitches()...) {
		t.Run(sw.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(spec *simhost.NodeSpec) { spec.Switches = sw.Switches })
				s.dangling(staging)
				for range 2 {
					s.must(s.unmount(otherID, staging))
				}
				if snapshot := string(s.node.Snapshot()); strings.Contains(snapshot, guid(otherID)) {
					t.Error("the dead mount point is still there")
				}
				s.must(s.mount(dataID, staging))
			})
		})
	}
	for _, code := range []win.Errno{
		win.ERROR_FILE_NOT_FOUND, win.ERROR_PATH_NOT_FOUND, win.ERROR_DEVICE_NOT_CONNECTED, win.ERROR_NO_SUCH_DEVICE, win.ERROR_NOT_READY,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.setPoint(staging, dataID)
			s.answers(code, func(c simhost.Call) bool { return c.Method == "Device.Flush" })
			s.must(s.unmount(dataID, staging))
			if got := s.mountedAt(staging); got != "" {
				t.Errorf("code %d: mounted: %q", code, got)
			}
		})
	}
}

// A disk that was taken offline was written then, whichever code says so.
func TestUnmountVolume_Offline(t *testing.T) {
	for _, notReady := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, func(spec *simhost.NodeSpec) { spec.Switches.OfflineVolumeNotReady = notReady })
			s.setPoint(staging, dataID)
			s.offline(dataDisk)
			s.must(s.unmount(dataID, staging))
			s.must(s.unmount(dataID, staging))
		})
	}
}

// A read-only volume holds nothing back, and neither does one without file
// system, whose driver may know no flush; they can be unmounted.
func TestUnmountVolume_NothingToWrite(t *testing.T) {
	for _, code := range []win.Errno{win.ERROR_INVALID_FUNCTION, win.ERROR_NOT_SUPPORTED, win.ERROR_UNRECOGNIZED_VOLUME} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.setPoint(staging, rawID)
			s.answers(code, func(c simhost.Call) bool { return c.Method == "Device.Flush" })
			s.must(s.unmount(rawID, staging))
			s.must(s.flush(rawID))
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, editDisk("data", func(d *simhost.DiskSpec) { d.ReadOnly = true }))
		s.setPoint(staging, dataID)
		s.must(s.unmount(dataID, staging))
		if got := s.mountedAt(staging); got != "" {
			t.Errorf("mounted: %q", got)
		}
	})
}

// VOL-18: a volume that answers and cannot be written stays mounted.
func TestUnmountVolume_FlushFails(t *testing.T) {
	for _, tt := range []struct{ code, want error }{
		{win.ERROR_IO_DEVICE, errdefs.ErrUnavailable},
		{win.ERROR_ACCESS_DENIED, errdefs.ErrPermissionDenied},
		{win.ERROR_DISK_FULL, errdefs.ErrResourceExhausted},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.setPoint(staging, dataID)
			s.answers(tt.code, func(c simhost.Call) bool { return c.Method == "Device.Flush" })
			s.unchanged(func() { s.fails(s.unmount(dataID, staging), tt.want, tt.code) })
			s.node.OnCall(nil)
			s.must(s.unmount(dataID, staging))
		})
	}
}

func TestUnmountVolume_StillThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.setPoint(staging, dataID)
		s.over(silent{s.node.Host().Mounts})
		s.hasKind(s.unmount(dataID, staging), errdefs.Unavailable)
	})
}

// A flush that hangs lets its callers go and leaves the volume mounted. The next
// unmount joins it until its own end; what must not wait does not
// (docs/architecture.md).
func TestUnmountVolume_FlushHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.setPoint(staging, dataID)
		s.setPoint(pod, dataID)
		var hangs atomic.Bool
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Device.Flush" && !hangs.Swap(true) {
				<-release
			}
			return do()
		})
		for _, patience := range []time.Duration{time.Second, time.Minute, 5 * time.Minute} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			start := time.Now()
			s.fails(s.unmountIn(ctx, dataID, staging), context.DeadlineExceeded)
			cancel()
			if waited := time.Since(start); waited != patience {
				t.Errorf("waited %v, had %v", waited, patience)
			}
			if got := s.mountedAt(staging); got != dataID {
				t.Fatalf("mounted: %q", got)
			}
		}
		start := time.Now()
		s.fails(s.unmount(dataID, staging), context.DeadlineExceeded)
		if waited := time.Since(start); waited != 2*time.Minute {
			t.Errorf("without a deadline it waited %v", waited)
		}

		files, err := filesystem.New(s.node.Filesystem())
		s.must(err)
		start = time.Now()
		_, err = files.Rmdir(t.Context(), &filesystem.RmdirRequest{Path: pod, Force: true})
		s.must(err)
		if got := s.mountedAt(pod); got != "" {
			t.Errorf("after Rmdir: mounted: %q", got)
		}
		s.offline(dataDisk)
		if waited := time.Since(start); waited != 0 {
			t.Errorf("Rmdir and offline waited %v", waited)
		}
		s.online(dataDisk)

		joined := make(chan error)
		go func() { joined <- s.unmount(dataID, staging) }()
		synctest.Wait()
		close(release)
		s.must(<-joined)
		if got := s.mountedAt(staging); got != "" {
			t.Errorf("after the flush has ended: mounted: %q", got)
		}
	})
}

// The flush that filesystem's Rmdir began and left is joined, not begun again.
func TestUnmountVolume_JoinsRmdir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.setPoint(staging, dataID)
		s.setPoint(pod, dataID)
		var flushes atomic.Int32
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Device.Flush" {
				flushes.Add(1)
				<-release
			}
			return do()
		})
		files, err := filesystem.New(s.node.Filesystem())
		s.must(err)
		start := time.Now()
		_, err = files.Rmdir(t.Context(), &filesystem.RmdirRequest{Path: pod, Force: true})
		s.must(err)
		if waited := time.Since(start); waited != 15*time.Second {
			t.Errorf("Rmdir waited %v", waited)
		}
		time.AfterFunc(time.Minute, func() { close(release) })
		s.must(s.unmount(dataID, staging))
		if n := flushes.Load(); n != 1 {
			t.Errorf("%d flushes", n)
		}
	})
}

// A mount that hangs lets its caller go; it is not begun a second time.
func TestMountVolume_Hangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		var begun atomic.Int32
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Mounts.SetPoint" {
				begun.Add(1)
				<-release
			}
			return do()
		})
		s.fails(s.mount(dataID, staging), context.DeadlineExceeded)
		s.fails(s.mount(dataID, staging), errdefs.ErrResourceExhausted)
		if n := begun.Load(); n != 1 {
			t.Errorf("%d mounts begun", n)
		}
		close(release)
		synctest.Wait()
		s.must(s.mount(dataID, staging))
	})
}

// field-reports.md V09: nothing is left behind, however often.
func TestMountVolume_ManyTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.unchanged(func() {
			for range 50 {
				s.must(s.mount(dataID, staging))
				s.must(s.unmount(dataID, staging))
			}
		})
	})
}

// Many drivers at once, each with its own volume or folder, or the same.
func TestMountVolume_AtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		var all sync.WaitGroup
		for range 16 {
			for _, id := range []string{dataID, otherID} {
				all.Go(func() {
					err := s.mount(id, staging)
					if err != nil && errdefs.KindOf(err) != errdefs.FailedPrecondition {
						t.Error(err)
					}
				})
				all.Go(func() {
					err := s.unmount(id, staging)
					if err != nil && errdefs.KindOf(err) != errdefs.FailedPrecondition {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		for _, id := range []string{dataID, otherID} {
			if s.mountedAt(staging) == id {
				s.must(s.unmount(id, staging))
			}
		}
		if got := s.mountedAt(staging); got != "" {
			t.Errorf("mounted: %q", got)
		}
	})
}

// offline and online change a disk's state as a driver does.
func (s *site) offline(number uint32) { s.setState(number, false) }
func (s *site) online(number uint32)  { s.setState(number, true) }

func (s *site) setState(number uint32, online bool) {
	s.Helper()
	disks, err := disk.New(s.node.Disk())
	s.must(err)
	_, err = disks.SetDiskState(s.Context(), &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
	s.must(err)
}

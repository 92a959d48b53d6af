// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
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

// A volume without file system can be mounted; drivers may format it later.
func TestMountVolume_RAW(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.must(s.mount(rawID, staging))
		s.must(s.unmount(rawID, staging))
		s.must(s.unmount(rawID, staging))
	})
}

// A volume of a disk that is offline is not there.
func TestMountVolume_Offline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, editDisk("data", func(d *simhost.DiskSpec) { d.Offline = true }))
		s.unchanged(func() { s.hasKind(s.mount(dataID, staging), errdefs.NotFound) })
	})
}

// field-reports.md V07: a mount point whose volume is gone makes room, whatever
// Windows answers there.
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

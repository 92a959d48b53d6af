// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func without(name string) func(*simhost.NodeSpec) {
	return func(spec *simhost.NodeSpec) {
		spec.Disks = slices.DeleteFunc(spec.Disks, func(d simhost.DiskSpec) bool { return d.Name == name })
	}
}

// attachable moves the data disk to those that are attached later, and sets how
// long its volume takes to arrive.
func attachable(arrival time.Duration) func(*simhost.NodeSpec) {
	return func(spec *simhost.NodeSpec) {
		for _, d := range spec.Disks {
			if d.Name == "data" {
				spec.Attachable = append(spec.Attachable, d)
			}
		}
		without("data")(spec)
		spec.Arrival = simhost.Duration(arrival)
	}
}

func TestListVolumesOnDisk_CallerLeaves(t *testing.T) {
	for name, tt := range map[string]struct{ looksHangAt, leaves time.Duration }{
		"between two looks": {time.Minute, 5100 * time.Millisecond},
		"during a look":     {4750 * time.Millisecond, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, attachable(time.Hour))
				number, err := s.node.AttachDisk("data")
				s.must(err)
				ctx, cancel := context.WithTimeout(t.Context(), tt.leaves)
				defer cancel()
				start, release := time.Now(), make(chan struct{})
				s.node.OnCall(func(_ simhost.Call, do func() error) error {
					if time.Since(start) == tt.looksHangAt {
						<-release
					}
					return do()
				})
				_, err = s.vol.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
				s.fails(err, errdefs.ErrUnavailable, context.DeadlineExceeded)
				s.hasKind(err, errdefs.Unavailable)
				if took := time.Since(start); took != tt.leaves {
					t.Errorf("waited %v", took)
				}
				close(release)
			})
		})
	}
}

// A disk that never answers does not keep its caller, nor the callers after it.
func TestListVolumesOnDisk_Hangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Code == abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX && c.Subject == `\\.\PhysicalDrive1` {
				<-release
			}
			return do()
		})
		_, err := s.list(dataDisk)
		s.fails(err, context.DeadlineExceeded)
		_, err = s.list(dataDisk)
		s.fails(err, errdefs.ErrResourceExhausted)
		got, err := s.list(otherDisk)
		s.must(err)
		if !slices.Equal(got, []string{otherID}) {
			t.Errorf("volumes of another disk %q", got)
		}
		close(release)
		synctest.Wait()
		_, err = s.list(dataDisk)
		s.must(err)
	})
}

// A volume that goes while the disk's are looked for is not there; one that
// cannot be asked is an error, because it may be the one.
func TestListVolumesOnDisk_VolumeLeaves(t *testing.T) {
	extents := func(c simhost.Call) bool { return c.Code == abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS }
	for _, tt := range []struct {
		code win.Errno
		want error
	}{
		{win.ERROR_FILE_NOT_FOUND, errdefs.ErrUnavailable},
		{win.ERROR_NO_SUCH_DEVICE, errdefs.ErrUnavailable},
		{win.ERROR_DEVICE_NOT_CONNECTED, errdefs.ErrUnavailable},
		{win.ERROR_NOT_READY, errdefs.ErrUnavailable},
		{win.ERROR_ACCESS_DENIED, errdefs.ErrPermissionDenied},
		{win.ERROR_IO_DEVICE, win.ERROR_IO_DEVICE},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.answers(tt.code, extents)
			_, err := s.list(dataDisk)
			s.fails(err, tt.want)
		})
	}
}

// An offline disk was written before it went; its volume is not there, in the
// code of either position.
func TestWriteVolumeCache_Offline(t *testing.T) {
	for name, tt := range map[string]struct {
		notReady bool
		want     error
	}{
		"not found": {false, errdefs.ErrNotFound},
		"not ready": {true, errdefs.ErrDiskOffline},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(spec *simhost.NodeSpec) {
					spec.Switches.OfflineVolumeNotReady = tt.notReady
					editDisk("data", func(d *simhost.DiskSpec) { d.Offline = true })(spec)
				})
				s.fails(s.flush(dataID), tt.want)
			})
		})
	}
}

// Callers at once share a flush, and one that hangs; it is never begun twice.
func TestWriteVolumeCache_Joined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		var flushes atomic.Int32
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Device.Flush" {
				flushes.Add(1)
				<-release
			}
			return do()
		})
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			errs := make([]error, 64)
			var callers sync.WaitGroup
			for i := range errs {
				callers.Go(func() {
					_, errs[i] = s.vol.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: dataID})
				})
			}
			callers.Wait()
			cancel()
			for _, err := range errs {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("while it hangs: %v", err)
				}
			}
		}
		last := make(chan error)
		go func() { last <- s.flush(dataID) }()
		synctest.Wait()
		close(release)
		if err := <-last; err != nil {
			t.Error(err)
		}
		if n := flushes.Load(); n != 1 {
			t.Errorf("%d flushes", n)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

func (s *site) parse(path string) winpath.Path {
	s.Helper()
	p, err := s.node.Filesystem().Parse(s.Context(), path)
	s.must(err)
	return p
}

// The host takes off the volume that it is told, and no other, and only where it
// can see that.
func TestHostUnmount(t *testing.T) {
	for name, tt := range map[string]struct {
		path, volume string
		setUp        func(*site)
		want         error
	}{
		"mounted":      {`C:\t\mount`, data, nil, nil},
		"nothing":      {`C:\t`, data, nil, errdefs.ErrNotMounted},
		"other volume": {`C:\t\mount`, other, nil, errdefs.ErrOtherVolume},
		"a look fails": {`C:\t\mount`, data, func(s *site) {
			s.failOn("File.Control", abi.FSCTL_GET_REPARSE_POINT, win.ERROR_IO_DEVICE)
		}, win.ERROR_IO_DEVICE},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.mount(`C:\t\mount`, data)
			if tt.setUp != nil {
				tt.setUp(s)
			}
			err := s.node.Filesystem().Unmount(t.Context(), s.parse(tt.path), s.parse(tt.volume))
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if mounted := len(s.mountManager()) == 1; mounted != (tt.want != nil) {
				t.Errorf("mounted: %t", mounted)
			}
		})
	}
}

// Where another mounts a volume as soon as the mount point is gone, the folder
// is no empty one.
func TestHostUnmount_MountedAgain(t *testing.T) {
	s := newSite(t)
	s.mount(`C:\mount`, data)
	s.mountAgain(`C:\mount`)
	err := s.node.Filesystem().Unmount(t.Context(), s.parse(`C:\mount`), s.parse(data))
	if errdefs.KindOf(err) != errdefs.FailedPrecondition {
		t.Errorf("got %v", err)
	}
}

// Only a volume is flushed.
func TestHostFlush_NoVolume(t *testing.T) {
	s := newSite(t)
	if err := s.node.Filesystem().Flush(t.Context(), s.parse(`C:\`)); !errors.Is(err, errdefs.ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// A change waits for what is done at its path, and for no other: a mount folder
// is being removed, and its flush takes ten seconds.
func TestChanges_Wait(t *testing.T) {
	link := func(path string) func(*site) error {
		return func(s *site) error {
			_, err := s.fs.CreateSymlink(s.Context(), &filesystem.CreateSymlinkRequest{SourcePath: kubelet, TargetPath: path})
			return err
		}
	}
	for name, c := range map[string]struct {
		change func(*site) error
		waited time.Duration
		want   error
	}{
		"CreateSymlink": {link(staging), 10 * time.Second, nil},
		"Rmdir":         {func(s *site) error { return s.rmdir(staging, true) }, 10 * time.Second, nil},
		"RmdirContents": {func(s *site) error {
			_, err := s.fs.RmdirContents(s.Context(), &filesystem.RmdirContentsRequest{Path: staging})
			return err
		}, 10 * time.Second, errdefs.ErrNotFound},
		"beside it": {link(staging + "2"), 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				s.mount(staging, data)
				release := make(chan struct{})
				time.AfterFunc(10*time.Second, func() { close(release) })
				s.node.OnCall(func(c simhost.Call, do func() error) error {
					if c.Method == "Device.Flush" {
						<-release
					}
					return do()
				})
				removed := make(chan error, 1)
				go func() { removed <- s.rmdir(staging, true) }()
				synctest.Wait()
				start := time.Now()
				if err := c.change(s); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if waited := time.Since(start); waited != c.waited {
					t.Errorf("waited %v, want %v", waited, c.waited)
				}
				s.must(<-removed)
			})
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// A mount waits for what is done with its volume or at its path, and for no
// other: data is being unmounted from staging, and its flush takes a minute.
func TestMountVolume_Waits(t *testing.T) {
	for name, c := range map[string]struct {
		id, path string
		waited   time.Duration
	}{
		"the same path":   {otherID, staging, time.Minute},
		"the same volume": {dataID, pod, time.Minute},
		"neither":         {otherID, pod, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.must(s.mount(dataID, staging))
				release := make(chan struct{})
				time.AfterFunc(time.Minute, func() { close(release) })
				s.node.OnCall(func(c simhost.Call, do func() error) error {
					if c.Method == "Device.Flush" {
						<-release
					}
					return do()
				})
				unmounted := make(chan error)
				go func() { unmounted <- s.unmount(dataID, staging) }()
				synctest.Wait()
				start := time.Now()
				s.must(s.mount(c.id, c.path))
				if waited := time.Since(start); waited != c.waited {
					t.Errorf("waited %v", waited)
				}
				if got := s.mountedAt(c.path); got != c.id {
					t.Errorf("mounted: %q", got)
				}
				s.must(<-unmounted)
			})
		})
	}
}

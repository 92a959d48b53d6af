// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// A mount point whose volume is gone never gives an id, whatever codes Windows
// answers there (docs/architecture.md).
func TestGetVolumeIDFromTargetPath_NeverDead(t *testing.T) {
	for _, sw := range simhost.AllSwitches() {
		t.Run(sw.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(spec *simhost.NodeSpec) { spec.Switches = sw.Switches })
				s.dangling(staging)
				s.link(kubelet+`\link`, staging)
				for _, path := range []string{staging, kubelet + `\link`} {
					got, err := s.volumeAt(path)
					if got != "" {
						t.Errorf("%s: %s", path, got)
					}
					s.fails(err, errdefs.ErrNotMounted)
				}
				_, err := s.closest(staging)
				s.hasKind(err, errdefs.NotFound)
			})
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// manyDisks attaches disks until a site has 255, each with a volume.
func manyDisks(spec *simhost.NodeSpec) {
	for i := len(spec.Disks); i < 255; i++ {
		id := fmt.Sprintf(`\\?\Volume{aaaaaaaa-0000-4000-8000-%012d}\`, i)
		spec.Disks = append(spec.Disks, gptDisk(fmt.Sprintf("disk%d", i), 64*simhost.MiB, dataPartition(id, "NTFS")))
	}
}

// What each operation costs in boundary calls, at most (docs/architecture.md,
// "Boundary calls per operation"), whatever else is attached. What Windows needs is
// read once a minute, outside of the budgets. None of this touches WMI
// (field-reports.md L04, L05).
func TestBudgets(t *testing.T) {
	for _, tt := range []struct {
		name   string
		setUp  func(*site)
		do     func(*site) error
		budget int
	}{
		{"formatted", nil, func(s *site) error { return second(s.formatted(dataID)) }, 1},
		{"formatted, RAW", nil, func(s *site) error { return second(s.formatted(rawID)) }, 6},
		{"stats", nil, func(s *site) error { return second(s.stats(dataID)) }, 1},
		{"disk of a volume", nil, func(s *site) error { return second(s.diskOf(dataID)) }, 2},
		{"volumes of a disk", nil, func(s *site) error { return second(s.list(dataDisk)) }, 8 + 2},
		{"flush", nil, func(s *site) error { return s.flush(dataID) }, 3},
		{"mount", nil, func(s *site) error { return s.mount(dataID, staging) }, 6},
		{"mount again", mounted, func(s *site) error { return s.mount(dataID, staging) }, 6},
		{"unmount", mounted, func(s *site) error { return s.unmount(dataID, staging) }, 6 + 3},
		{"unmount again", nil, func(s *site) error { return s.unmount(dataID, staging) }, 6},
		{"volume of a path", mounted, func(s *site) error { return second(s.volumeAt(staging)) }, 6},
		{"volume of a link", linked, func(s *site) error { return second(s.volumeAt(pod + `\link`)) }, 6 + 2},
		{"closest volume", mounted, func(s *site) error { return second(s.closest(staging + `\dir`)) }, 6},
		{"grow", grown("data"), func(s *site) error { return s.resize(dataID, 0) }, 16},
		{"grow RAW", grown("raw"), func(s *site) error { return s.resize(rawID, 0) }, 16},
		{"grow ReFS", grown("other"), func(s *site) error { return s.resize(otherID, 0) }, 16},
		{"nothing to grow", nil, func(s *site) error { return s.resize(dataID, 0) }, 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var few int
			for _, disks := range []int{4, 255} {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t, func(spec *simhost.NodeSpec) {
						onDisk("other", gptDisk("other", simhost.GiB, dataPartition(otherID, "ReFS")))(spec)
						if disks > 4 {
							manyDisks(spec)
						}
					})
					if tt.setUp != nil {
						tt.setUp(s)
					}
					s.must(s.mount(dataID, kubelet+`\warm`)) // reads what Windows needs
					s.node.Calls().Reset()
					s.must(tt.do(s))
					n := s.node.Calls().Total()
					for method := range s.node.Calls().ByMethod() {
						if strings.HasPrefix(method, "Session.") || strings.HasPrefix(method, "WMI.") {
							t.Errorf("asks WMI: %s", method)
						}
					}
					if n > tt.budget {
						t.Errorf("%d calls with %d disks, want at most %d: %v", n, disks, tt.budget, s.node.Calls().Calls())
					}
					if n == 0 {
						t.Error("no calls")
					}
					if few == 0 {
						few = n
					}
					if n != few {
						t.Errorf("%d calls with %d disks, %d with few", n, disks, few)
					}
				})
			}
		})
	}
}

func mounted(s *site) {
	s.setPoint(staging, dataID)
	s.directory(staging + `\dir`)
}

func linked(s *site) {
	s.setPoint(staging, dataID)
	s.link(pod+`\link`, staging)
}

func grown(name string) func(*site) {
	return func(s *site) { s.must(s.node.GrowDisk(name, 2*simhost.GiB)) }
}

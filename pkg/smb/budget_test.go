// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"fmt"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// What a mapping costs at the boundary (docs/architecture.md), with one mapping
// on the node and with 255.
func TestBoundaryCalls(t *testing.T) {
	for _, others := range []int{0, 254} {
		inSite(t, spec(), func(s *site) {
			for i := range others {
				s.must(s.node.AddSMBMapping(simhost.SMBMapping{RemotePath: fmt.Sprintf(`\\elsewhere\s%d`, i)}))
			}
			s.must(s.unmap(otherShare)) // the WMI workers connect
			for _, step := range []struct {
				name string
				most int
				do   func() error
			}{
				{"new", 2, func() error { return s.mapAs(dataShare, bob) }},
				{"known", 2, func() error { return s.mapAs(dataShare, bob) }},
				{"another credential", 6, func() error { return s.mapAs(dataShare, alice) }},
				{"unmapped", 2, func() error { return s.unmap(dataShare) }},
			} {
				s.node.Calls().Reset()
				s.must(step.do())
				calls := s.node.Calls().ByMethod()
				delete(calls, "WMI.Enter")
				delete(calls, "WMI.Connect")
				total := 0
				for _, n := range calls {
					total += n
				}
				if total > step.most {
					t.Errorf("%s: %d calls, at most %d: %v", step.name, total, step.most, calls)
				}
			}
		})
	}
}

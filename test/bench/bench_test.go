// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"testing"
)

// BenchmarkNode measures each operation on simulated nodes: what the library
// does and what the node in place of Windows does, together.
func BenchmarkNode(b *testing.B) {
	for _, disks := range []int{1, 16, 64, 128, 255, 1000} {
		b.Run(fmt.Sprint(disks), func(b *testing.B) {
			s := directSite(b, disks)
			for _, g := range groups {
				for _, o := range g.operations {
					b.Run(g.name+"/"+o.name, func(b *testing.B) { benchmark(b, s, o) })
				}
			}
		})
	}
}

// BenchmarkFleet measures what kubelet asks of all volumes again and again, and
// a node that is drained.
func BenchmarkFleet(b *testing.B) {
	const disks = 255
	s := directSite(b, disks)
	for _, o := range fleet {
		b.Run(fmt.Sprint(disks, "/fleet/", o.name), func(b *testing.B) { benchmark(b, s, o) })
	}
}

// benchmark measures an operation, with the boundary calls of one run.
func benchmark(b *testing.B, s *site, o operation) {
	b.Helper()
	s.must(o.once(s)) // connects the WMI workers, and reads what Windows needs
	once, err := o.measure(s)
	s.must(err)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if o.before != nil {
			b.StopTimer()
			s.must(o.before(s))
			b.StartTimer()
		}
		s.calls.Reset()
		s.must(o.run(s))
	}
	b.ReportMetric(float64(once.total()), "calls/op")
	b.ReportMetric(float64(once.com), "com/op")
}

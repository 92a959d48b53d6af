// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"maps"
	"reflect"
	"strings"
	"testing"
)

// A node with few disks, and one with many.
const few, many = 2, 1000

// Every method of a group is measured.
func TestOperations_AreAll(t *testing.T) {
	s := &site{}
	for name, g := range map[string]any{
		"disk": s.disk, "volume": s.volume, "filesystem": s.files, "smb": s.smb, "iscsi": s.iscsi, "system": s.system,
	} {
		measured := map[string]bool{}
		for _, o := range operationsOf(t, name) {
			method, _, _ := strings.Cut(o.name, ",")
			measured[method] = true
		}
		for i := range reflect.TypeOf(g).NumMethod() {
			if method := reflect.TypeOf(g).Method(i).Name; !measured[method] {
				t.Errorf("%s.%s is not measured", name, method)
			}
		}
	}
}

func operationsOf(t *testing.T, name string) []operation {
	t.Helper()
	for _, g := range groups {
		if g.name == name {
			return g.operations
		}
	}
	t.Fatalf("no group %q", name)
	return nil
}

// No operation but listing costs more with 1,000 disks, volumes, mounts and
// mappings than with two (architecture.md). Without WMI, whose objects a simulated
// node goes through, nothing that is allocated grows either.
func TestScale(t *testing.T) {
	small, large := directSite(t, few), directSite(t, many)
	for _, g := range groups {
		for _, o := range g.operations {
			t.Run(g.name+"/"+o.name, func(t *testing.T) {
				a, b := cheapest(t, small, o), cheapest(t, large, o)
				switch {
				case o.lists:
					if b.total()+b.com <= a.total()+a.com {
						t.Errorf("lists, and makes %d calls with %d disks and %d with %d", a.total(), few, b.total(), many)
					}
				case o.table:
					if b.total() > a.total()+1 || a.com+b.com > 0 {
						t.Errorf("calls with %d disks %v, with %d %v", few, a.calls, many, b.calls)
					}
				default:
					wantSame(t, a, b)
				}
			})
		}
	}
}

// wantSame compares the cost on a small and on a large node.
func wantSame(t *testing.T, a, b cost) {
	t.Helper()
	if !maps.Equal(a.calls, b.calls) || a.com != b.com {
		t.Errorf("calls with %d disks %v and %d of COM, with %d %v and %d", few, a.calls, a.com, many, b.calls, b.com)
	}
	// Even a byte for each disk would show.
	if b.com == 0 && b.bytes > a.bytes+many {
		t.Errorf("%d bytes with %d disks, %d with %d", a.bytes, few, b.bytes, many)
	}
}

// Stats of a volume, also by its path, touch no WMI (field-reports.md L04, L05)
// and make no more calls than docs/performance.md says, however many disks there
// are.
func TestScale_Stats(t *testing.T) {
	s := directSite(t, many)
	for _, tt := range []struct {
		name string
		most int
		run  func(*site) error
	}{
		{"by id", 1, func(s *site) error { return stats(s, s.id) }},
		{"by path", 4, func(s *site) error {
			id, err := volumeAt(s, s.path)
			if err != nil {
				return err
			}
			return stats(s, id)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := cheapest(t, s, operation{run: tt.run})
			if got.total() > tt.most || got.com > 0 || got.calls["WMI.Enter"]+got.calls["WMI.Connect"] > 0 {
				t.Errorf("at most %d calls, none of COM; made %v", tt.most, got.calls)
			}
		})
	}
}

// cheapest is the least that an operation takes in a few runs: what else the
// process does at the time, such as a worker that starts, only adds.
func cheapest(t *testing.T, s *site, o operation) cost {
	t.Helper()
	s.must(o.once(s))
	least, err := o.measure(s)
	s.must(err)
	for range 2 {
		if least.com > 0 || o.lists {
			break // memory does not count then
		}
		again, err := o.measure(s)
		s.must(err)
		least.bytes = min(least.bytes, again.bytes)
	}
	return least
}

// What kubelet asks again and again, and a drain, on a small node.
func TestFleet(t *testing.T) {
	s := directSite(t, few)
	for _, o := range fleet {
		t.Run(o.name, func(t *testing.T) {
			if _, err := o.measure(s); err != nil {
				t.Fatal(err)
			}
		})
	}
}

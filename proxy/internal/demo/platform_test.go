// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// attachAll gives the lists of a node with every disk attached, and the number
// of the disk that the platform means.
func attachAll(t *testing.T, name string) (p platform, ids map[uint32]*disk.DiskIDs, places map[uint32]*disk.DiskLocation, want uint32) {
	t.Helper()
	w, err := newWalk(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.node.Close)
	for _, d := range w.spec.Attachable {
		if _, err := w.node.AttachDisk(d.Name); err != nil {
			t.Fatal(err)
		}
	}
	idsResp, err := w.disk.ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	placesResp, err := w.disk.ListDiskLocations(t.Context(), &disk.ListDiskLocationsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want, _ = w.node.DiskNumber(w.platform.disk)
	return w.platform, idsResp.DiskIDs, placesResp.DiskLocations, want
}

func TestFind_OnEachNode(t *testing.T) {
	for _, name := range simhost.Names() {
		t.Run(name, func(t *testing.T) {
			p, ids, places, want := attachAll(t, name)

			if got, found, err := p.find(ids, places); got != want || !found || err != nil {
				t.Errorf("got disk %d, %t, %v, want disk %d", got, found, err, want)
			}

			t.Run("another key", func(t *testing.T) {
				p := p
				p.key += "7"
				if got, found, err := p.find(ids, places); found || err != nil {
					t.Errorf("got disk %d, %t, %v, want none", got, found, err)
				}
			})
			t.Run("half the key", func(t *testing.T) {
				p := p
				p.key = p.key[:len(p.key)/2]
				if got, found, _ := p.find(ids, places); found {
					t.Errorf("got disk %d, want none", got)
				}
			})
			t.Run("empty key", func(t *testing.T) {
				p := p
				p.key = ""
				if got, found, err := p.find(ids, places); found || err == nil {
					t.Errorf("got disk %d, %t, %v, want an error", got, found, err)
				}
			})
			t.Run("two fit", func(t *testing.T) {
				twin := uint32(len(ids))
				ids[twin], places[twin] = ids[want], places[want]
				if got, found, err := p.find(ids, places); found || err == nil {
					t.Errorf("got disk %d, %t, %v, want an error", got, found, err)
				}
			})
		})
	}
}

func TestRules(t *testing.T) {
	for _, test := range []struct {
		name  string
		is    func(string, disk.DiskIDs, disk.DiskLocation) bool
		key   string
		ids   disk.DiskIDs
		place disk.DiskLocation
		want  bool
	}{
		{"EBS", serialBegins, "vol-0123456789abcdef0", disk.DiskIDs{SerialNumber: "vol0123456789abcdef0_00000001."}, disk.DiskLocation{}, true},
		{"EBS without namespace", serialBegins, "vol-0123456789abcdef0", disk.DiskIDs{SerialNumber: "vol0123456789abcdef0"}, disk.DiskLocation{}, true},
		{"EBS, a longer id", serialBegins, "vol-0123456789abcdef", disk.DiskIDs{SerialNumber: "vol0123456789abcdef0_00000001."}, disk.DiskLocation{}, false},
		{"EBS, id inside", serialBegins, "vol-0123456789abcdef0", disk.DiskIDs{SerialNumber: "xvol0123456789abcdef0"}, disk.DiskLocation{}, false},
		{"EBS without serial", serialBegins, "vol-0123456789abcdef0", disk.DiskIDs{}, disk.DiskLocation{}, false},
		{"Azure", isDataLUN, "0", disk.DiskIDs{}, disk.DiskLocation{Adapter: "1", LUNID: "0"}, true},
		{"Azure, OS disk", isDataLUN, "0", disk.DiskIDs{}, disk.DiskLocation{Adapter: "0", LUNID: "0"}, false},
		{"Azure, NVMe disk without LUN", isDataLUN, "0", disk.DiskIDs{}, disk.DiskLocation{Adapter: "1"}, false},
		{"Azure, adapter not known", isDataLUN, "0", disk.DiskIDs{}, disk.DiskLocation{LUNID: "0"}, false},
		{"GCE", page83Ends, "pvc-1", disk.DiskIDs{Page83: "Google  pvc-1"}, disk.DiskLocation{}, true},
		{"GCE, end of a name", page83Ends, "1", disk.DiskIDs{Page83: "Google  pvc-1"}, disk.DiskLocation{}, false},
		{"GCE without page 83", page83Ends, "pvc-1", disk.DiskIDs{}, disk.DiskLocation{}, false},
		{"vSphere", page83Is, "6000C295-7A5D-0E1B-2C3D-4E5F60718293", disk.DiskIDs{Page83: "6000c2957a5d0e1b2c3d4e5f60718293"}, disk.DiskLocation{}, true},
		{"vSphere, another", page83Is, "6000C295-7A5D-0E1B-2C3D-4E5F60718294", disk.DiskIDs{Page83: "6000c2957a5d0e1b2c3d4e5f60718293"}, disk.DiskLocation{}, false},
		{"vSphere without page 83", page83Is, "6000C295-7A5D-0E1B-2C3D-4E5F60718293", disk.DiskIDs{}, disk.DiskLocation{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.is(test.key, test.ids, test.place); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

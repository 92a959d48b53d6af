// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func TestPlatforms_CoverTheShippedNodes(t *testing.T) {
	var names []string
	for _, p := range platforms() {
		names = append(names, p.node)
	}
	if !slices.Equal(names, simhost.Names()) {
		t.Errorf("got %q, want %q", names, simhost.Names())
	}
}

// Among all of a node's disks the rule finds the one that was meant, and none
// while that is not attached.
func TestPlatforms_FindTheirDisk(t *testing.T) {
	for _, name := range simhost.Names() {
		t.Run(name, func(t *testing.T) {
			w, err := newWalk(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.node.Close)
			for _, d := range w.spec.Attachable {
				if d.Name != w.platform.disk {
					attach(t, w, d.Name)
				}
			}
			if found, err := w.disk.FindDisk(t.Context(), w.platform.match); !errors.Is(err, errdefs.ErrNotFound) {
				t.Errorf("got disk %d, %v, want none", found.Number, err)
			}
			want := attach(t, w, w.platform.disk)
			if found, err := w.disk.FindDisk(t.Context(), w.platform.match); err != nil || found.Number != want {
				t.Errorf("got disk %d, %v, want disk %d", found.Number, err, want)
			}
		})
	}
}

func attach(t *testing.T, w *walk, name string) uint32 {
	t.Helper()
	number, err := w.node.AttachDisk(name)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

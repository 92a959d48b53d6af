// SPDX-License-Identifier: Apache-2.0

package native

import (
	"testing"
	"unsafe"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/test/wine"
)

func TestNotifyFilter_Layout(t *testing.T) {
	var filter notifyFilter
	if size := unsafe.Sizeof(filter); size != 416 {
		t.Errorf("size %d, want 416", size)
	}
	if offset := unsafe.Offsetof(filter.class); offset != 16 {
		t.Errorf("class at %d, want 16", offset)
	}
}

func TestArrivals_Watch(t *testing.T) {
	wine.Need(t, wine.Arrivals)
	if err := Host().Arrivals.Watch(abi.GUID_DEVINTERFACE_DISK, func() {}); err != nil {
		t.Error(err)
	}
}

// What Windows does with the callback: each context is told of its own
// arrivals, and of nothing else.
func TestArrivals_Callback(t *testing.T) {
	const arrival, removal = 0, 1
	a := newArrivals()
	var told [2]int
	first, second := a.add(func() { told[0]++ }), a.add(func() { told[1]++ })
	a.call(0, first, removal, 0, 0)
	a.call(0, second, arrival, 0, 0)
	a.call(0, second, arrival, 0, 0)
	a.call(0, first, arrival, 0, 0)
	if told != [2]int{1, 2} {
		t.Errorf("told %v", told)
	}
}

// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// COM asks for an interface with a place that it has not set, where the address
// of an object of Go may stand that is free by now. Go's collector, which ends
// the process where it finds such a pointer, must not come to see it.
func TestQueryInterface_UnsetPlace(t *testing.T) {
	kept := make([]*[64]*int, 1<<17) // so that it takes the collector a while
	for i := range kept {
		kept[i] = new([64]*int)
	}
	defer runtime.KeepAlive(kept)
	stale := make([]uintptr, 1<<10)
	for i := range stale {
		stale[i] = uintptr(unsafe.Pointer(kept[i]))
		kept[i] = nil
	}
	runtime.GC()
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for range 20 {
			runtime.GC()
		}
	}()
	o := newObjects(nil).give(classes().enum, nil, nil)
	for i := 0; ; i++ {
		select {
		case <-collected:
			return
		default:
		}
		unset := stale[i%len(stale)]
		r, _, _ := syscall.SyscallN(o.methods[0], uintptr(unsafe.Pointer(o)), uintptr(unsafe.Pointer(&iidClientSecurity)), uintptr(unsafe.Pointer(&unset)))
		if r != resultOK || o.references.Load() != 2 {
			t.Fatalf("result %#x, %d references", r, o.references.Load())
		}
		release((*object)(*(*unsafe.Pointer)(unsafe.Pointer(&unset))))
	}
}

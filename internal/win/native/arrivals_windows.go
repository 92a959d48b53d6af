// SPDX-License-Identifier: Apache-2.0

package native

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// arrivals keeps what cfgmgr32.dll calls. Windows never gives back the slot of
// a callback, so that there is one, made at first use; which registration it is
// called for, its context says (windows-api.md 1.5).
type arrivals struct {
	register *windows.LazyProc
	callback func() uintptr

	mu      sync.Mutex
	arrived []func() // by context
}

var _ win.Arrivals = (*arrivals)(nil)

func newArrivals() *arrivals {
	a := &arrivals{register: windows.NewLazySystemDLL("cfgmgr32.dll").NewProc("CM_Register_Notification")}
	a.callback = sync.OnceValue(func() uintptr { return windows.NewCallback(a.call) })
	return a
}

// notifyFilter is CM_NOTIFY_FILTER, whose union is as large as its largest
// member: 200 characters of an instance id.
type notifyFilter struct {
	size       uint32
	flags      uint32
	filterType uint32 // 0: device interfaces of a class
	_          uint32
	class      abi.GUID
	_          [384]byte
}

func (a *arrivals) Watch(class abi.GUID, arrived func()) error {
	if err := find(a.register); err != nil {
		return err
	}
	filter := notifyFilter{class: class}
	filter.size = uint32(unsafe.Sizeof(filter))
	var registration uintptr // stays open as long as the process
	result, _, _ := a.register.Call(uintptr(unsafe.Pointer(&filter)), a.add(arrived), a.callback(), uintptr(unsafe.Pointer(&registration)))
	if result != 0 {
		return win.ConfigRet(result)
	}
	return nil
}

// add makes a context. That of a registration which fails is never called.
func (a *arrivals) add(arrived func()) uintptr {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.arrived = append(a.arrived, arrived)
	return uintptr(len(a.arrived) - 1)
}

// call is CM_NOTIFY_CALLBACK.
func (a *arrivals) call(_, context, action, _, _ uintptr) uintptr {
	const interfaceArrival = 0
	if action == interfaceArrival {
		a.mu.Lock()
		arrived := a.arrived[context]
		a.mu.Unlock()
		arrived()
	}
	return 0
}

// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// object is a COM object: what a client has a pointer to. COM calls the methods
// of its table with that pointer.
type object struct {
	methods    *[26]uintptr
	references atomic.Int32
	home       *objects
	kind       *class
	secure     atomic.Bool // see [object.allowed]
	state      any         // what the kind's methods work on
	close      func()      // at the last release
}

// class is a kind of object: what it answers to and its methods.
type class struct {
	iids    []abi.GUID
	proxy   bool // it stands for one in another process, so it has a security blanket
	methods *[26]uintptr
}

// objects are those that a client may hold.
type objects struct {
	kinds *kinds
	node  *simhost.Node

	mu   sync.Mutex
	held map[*object]bool
}

func newObjects(node *simhost.Node) *objects {
	return &objects{kinds: classes(), node: node, held: map[*object]bool{}}
}

func (o *objects) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for each := range o.held {
		n += int(each.references.Load())
	}
	return n
}

// give makes an object with one reference, which is the client's.
func (o *objects) give(k *class, state any, closed func()) *object {
	made := &object{methods: k.methods, home: o, kind: k, state: state, close: closed}
	made.references.Store(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held[made] = true
	return made
}

// place is where a client wants a pointer. What it holds before, often a variable
// of C that nobody has set, is nothing for Go's collector, which looks at a
// pointer that is overwritten: one of Go's that is long free breaks the heap.
type place uintptr

func (p *place) put(o *object) { *p = place(unsafe.Pointer(o)) }

const (
	resultOK          = 0
	resultNoInterface = 0x8000_4002 // E_NOINTERFACE
)

var (
	iidUnknown        = abi.GUID{Data4: [8]byte{0: 0xC0, 7: 0x46}}
	iidClassFactory   = abi.GUID{Data1: 1, Data4: [8]byte{0: 0xC0, 7: 0x46}}
	iidClientSecurity = abi.GUID{Data1: 0x13D, Data4: [8]byte{0: 0xC0, 7: 0x46}}
	iidErrorInfo      = abi.GUID{Data1: 0x1CF2B120, Data2: 0x547D, Data3: 0x101B, Data4: [8]byte{0x8E, 0x65, 0x08, 0x00, 0x2B, 0x2B, 0xD1, 0x19}}
)

func queryInterface(o *object, iid *abi.GUID, out *place) uintptr {
	switch {
	case *iid == iidUnknown, slices.Contains(o.kind.iids, *iid):
		out.put(o)
	case *iid == iidClientSecurity && o.kind.proxy:
		out.put(o.home.give(o.home.kinds.security, o, func() { release(o) }))
	default:
		out.put(nil)
		return resultNoInterface
	}
	addReference(o) // also for the blanket, whose object it must outlive
	return resultOK
}

func addReference(o *object) uintptr { return uintptr(o.references.Add(1)) }

func release(o *object) uintptr {
	left := o.references.Add(-1)
	if left != 0 {
		return uintptr(left)
	}
	o.home.mu.Lock()
	delete(o.home.held, o)
	o.home.mu.Unlock()
	if o.close != nil {
		o.close()
	}
	return 0
}

// setBlanket is IClientSecurity::SetBlanket: calls are allowed with packet
// privacy and impersonation, as the storage provider wants them
// (windows-api.md 14.2).
func setBlanket(o, _ *object, _, _, _, level, impersonation, _, _ uintptr) uintptr {
	const packetPrivacy, impersonate = 6, 3
	owner := o.state.(*object)
	owner.secure.Store(uint32(level) == packetPrivacy && uint32(impersonation) == impersonate)
	return resultOK
}

// allowed reports whether the proxy may be used.
func (o *object) allowed() bool { return o.secure.Load() }

// newClass makes a class with the methods of IUnknown and those in the given
// slots. There is no way to free a callback, so a class lives as the process.
func newClass(proxy bool, methods map[int]any, iids ...abi.GUID) *class {
	table := &[26]uintptr{
		syscall.NewCallback(queryInterface),
		syscall.NewCallback(addReference),
		syscall.NewCallback(release),
	}
	for slot, method := range methods {
		table[slot] = syscall.NewCallback(method)
	}
	return &class{iids: iids, proxy: proxy, methods: table}
}

// automation are the exports of ole32.dll and oleaut32.dll in use.
type automation struct {
	initialize, uninitialize, register, revoke *windows.LazyProc

	setErrorInfo                         *windows.LazyProc
	allocString, stringLength            *windows.LazyProc
	createVector, access, done, elements *windows.LazyProc
}

var exports = sync.OnceValue(func() *automation {
	ole, aut := windows.NewLazySystemDLL("ole32.dll"), windows.NewLazySystemDLL("oleaut32.dll")
	return &automation{
		initialize:   ole.NewProc("CoInitializeEx"),
		uninitialize: ole.NewProc("CoUninitialize"),
		register:     ole.NewProc("CoRegisterClassObject"),
		revoke:       ole.NewProc("CoRevokeClassObject"),
		setErrorInfo: aut.NewProc("SetErrorInfo"),
		allocString:  aut.NewProc("SysAllocStringLen"),
		stringLength: aut.NewProc("SysStringLen"),
		createVector: aut.NewProc("SafeArrayCreateVector"),
		access:       aut.NewProc("SafeArrayAccessData"),
		done:         aut.NewProc("SafeArrayUnaccessData"),
		elements:     aut.NewProc("SafeArrayGetUBound"),
	}
})

// registration keeps a class object known to COM, on a thread of its own that
// stays in the multithreaded apartment.
type registration struct {
	stop chan struct{}
	done chan win.HRESULT
}

func register(clsid abi.GUID, factory *object) (*registration, error) {
	r := &registration{stop: make(chan struct{}), done: make(chan win.HRESULT)}
	ready := make(chan win.HRESULT)
	go func() {
		runtime.LockOSThread()
		const (
			multithreaded = 0
			inProcess     = 1 // CLSCTX_INPROC_SERVER
			multipleUse   = 1 // REGCLS_MULTIPLEUSE
		)
		if code := hresult(exports().initialize.Call(0, multithreaded)); code>>31 != 0 {
			ready <- code
			return
		}
		var cookie uint32
		code := hresult(exports().register.Call(uintptr(unsafe.Pointer(&clsid)), uintptr(unsafe.Pointer(factory)),
			inProcess, multipleUse, uintptr(unsafe.Pointer(&cookie))))
		ready <- code
		if code != 0 {
			return
		}
		<-r.stop
		code = hresult(exports().revoke.Call(uintptr(cookie)))
		_, _, _ = exports().uninitialize.Call()
		r.done <- code
	}()
	if code := <-ready; code != 0 {
		return nil, code
	}
	return r, nil
}

func (r *registration) close() error {
	close(r.stop)
	if code := <-r.done; code != 0 {
		return code
	}
	return nil
}

func hresult(r, _ uintptr, _ error) win.HRESULT { return win.HRESULT(r) }

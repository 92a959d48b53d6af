// SPDX-License-Identifier: Apache-2.0

package native

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// com is the COM library: its exports, and a count of what was taken from it
// and not yet given back.
//
// Native memory stays native: an interface pointer is an *object, a string that
// COM shall own is a bstr, and both are counted from the call that hands them
// out to the one that takes them back.
type com struct {
	initialize, uninitialize, createInstance, setProxyBlanket *windows.LazyProc

	getErrorInfo                           *windows.LazyProc
	allocString, freeString, stringLength  *windows.LazyProc
	clearVariant                           *windows.LazyProc
	createVector, putElement, elementSize  *windows.LazyProc
	dimensions, lower, upper, access, done *windows.LazyProc

	outstanding atomic.Int64 // interface pointers, strings and variants
}

func newCOM() *com {
	ole, automation := windows.NewLazySystemDLL("ole32.dll"), windows.NewLazySystemDLL("oleaut32.dll")
	return &com{
		initialize:      ole.NewProc("CoInitializeEx"),
		uninitialize:    ole.NewProc("CoUninitialize"),
		createInstance:  ole.NewProc("CoCreateInstance"),
		setProxyBlanket: ole.NewProc("CoSetProxyBlanket"),
		getErrorInfo:    automation.NewProc("GetErrorInfo"),
		allocString:     automation.NewProc("SysAllocStringLen"),
		freeString:      automation.NewProc("SysFreeString"),
		stringLength:    automation.NewProc("SysStringLen"),
		clearVariant:    automation.NewProc("VariantClear"),
		createVector:    automation.NewProc("SafeArrayCreateVector"),
		putElement:      automation.NewProc("SafeArrayPutElement"),
		elementSize:     automation.NewProc("SafeArrayGetElemsize"),
		dimensions:      automation.NewProc("SafeArrayGetDim"),
		lower:           automation.NewProc("SafeArrayGetLBound"),
		upper:           automation.NewProc("SafeArrayGetUBound"),
		access:          automation.NewProc("SafeArrayAccessData"),
		done:            automation.NewProc("SafeArrayUnaccessData"),
	}
}

// find resolves all exports, before the first of them is called.
func (c *com) find() error {
	return find(c.initialize, c.uninitialize, c.createInstance, c.setProxyBlanket,
		c.getErrorInfo, c.allocString, c.freeString, c.stringLength, c.clearVariant,
		c.createVector, c.putElement, c.elementSize,
		c.dimensions, c.lower, c.upper, c.access, c.done)
}

// result is the HRESULT in the register that a COM function returns.
func result(register uintptr) win.HRESULT { return win.HRESULT(register) }

// failed is the FAILED macro: the highest bit says failure.
func failed(code win.HRESULT) bool { return code>>31 != 0 }

// object is an interface pointer. What it points to begins with a pointer to
// the table of its methods, of which the first three are those of IUnknown.
type object struct{ methods *[25]uintptr }

const (
	slotQueryInterface = 0
	slotRelease        = 2
)

// call calls the method in a slot of the table. Go pointers among the arguments
// stay where they are until it returns.
//
//go:uintptrescapes
func (o *object) call(slot int, args ...uintptr) win.HRESULT {
	if o == nil {
		return win.RPC_E_DISCONNECTED // closed
	}
	all := append([]uintptr{uintptr(unsafe.Pointer(o))}, args...)
	r, _, _ := syscall.SyscallN(o.methods[slot], all...)
	return result(r)
}

// taken counts an interface pointer that a call handed out, if it did.
func (c *com) taken(o *object) *object {
	if o != nil {
		c.outstanding.Add(1)
	}
	return o
}

// release gives an interface pointer back.
func (c *com) release(o *object) {
	if o != nil {
		_ = o.call(slotRelease) // the count of references left
		c.outstanding.Add(-1)
	}
}

// as asks an object for another of its interfaces, nil if it has not got it.
func (c *com) as(o *object, iid *abi.GUID) *object {
	var other *object
	if failed(o.call(slotQueryInterface, uintptr(unsafe.Pointer(iid)), uintptr(unsafe.Pointer(&other)))) {
		return nil
	}
	return c.taken(other)
}

// create makes an object of a class in this process.
func (c *com) create(clsid, iid *abi.GUID) (*object, error) {
	const inProcess = 1 // CLSCTX_INPROC_SERVER
	var o *object
	r, _, _ := c.createInstance.Call(uintptr(unsafe.Pointer(clsid)), 0, inProcess,
		uintptr(unsafe.Pointer(iid)), uintptr(unsafe.Pointer(&o)))
	if code := result(r); failed(code) {
		return nil, code
	}
	return c.taken(o), nil
}

// secured takes a proxy and makes it encrypt what it sends and act in our name:
// a new one has the defaults of the process, which are not ours to set
// (windows-api.md 14.2). An object without IClientSecurity is no proxy and
// sends nothing.
func (c *com) secured(proxy *object) (*object, error) {
	const (
		authenticationNTLM  = 10 // RPC_C_AUTHN_WINNT
		noAuthorization     = 0  // RPC_C_AUTHZ_NONE
		packetPrivacy       = 6  // RPC_C_AUTHN_LEVEL_PKT_PRIVACY
		impersonate         = 3  // RPC_C_IMP_LEVEL_IMPERSONATE
		defaultCapabilities = 0  // EOAC_NONE
		noInterface         = win.HRESULT(0x8000_4002)
	)
	r, _, _ := c.setProxyBlanket.Call(uintptr(unsafe.Pointer(c.taken(proxy))), authenticationNTLM, noAuthorization, 0,
		packetPrivacy, impersonate, 0, defaultCapabilities)
	if code := result(r); failed(code) && code != noInterface {
		c.release(proxy)
		return nil, code
	}
	return proxy, nil
}

// bstr is a string in COM's own memory.
type bstr uintptr

// newString copies s into COM's memory. The caller frees it.
func (c *com) newString(s string) (bstr, error) {
	b, err := c.alloc(s)
	if err == nil {
		c.outstanding.Add(1)
	}
	return b, err
}

// alloc is newString for a variant to own.
func (c *com) alloc(s string) (bstr, error) {
	units, err := wide(s)
	if err != nil {
		return 0, err
	}
	r, _, _ := c.allocString.Call(uintptr(unsafe.Pointer(&units[0])), uintptr(len(units)-1))
	if r == 0 {
		return 0, win.WBEM_E_OUT_OF_MEMORY
	}
	return bstr(r), nil
}

func (c *com) free(s bstr) {
	if s != 0 {
		_, _, _ = c.freeString.Call(uintptr(s))
		c.outstanding.Add(-1)
	}
}

// text copies a BSTR, which may be NULL and may hold NULs.
func (c *com) text(s *uint16) string {
	if s == nil {
		return ""
	}
	n, _, _ := c.stringLength.Call(uintptr(unsafe.Pointer(s)))
	return abi.DecodeUTF16(unsafe.Slice((*byte)(unsafe.Pointer(s)), 2*n))
}

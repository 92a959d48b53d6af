// SPDX-License-Identifier: Apache-2.0

package native

import (
	"cmp"
	"math"
	"time"
	"unsafe"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

type wmi struct{ com *com }

var (
	_ win.WMI     = wmi{}
	_ win.Session = (*session)(nil)
	_ win.Rows    = (*rows)(nil)
	_ win.Call    = (*call)(nil)
	_ win.Call    = finished(nil)
)

// Classes and interfaces of WMI (windows-api.md 14.2).
var (
	clsidLocator   = abi.GUID{Data1: 0x4590F811, Data2: 0x1D3A, Data3: 0x11D0, Data4: [8]byte{0x89, 0x1F, 0x00, 0xAA, 0x00, 0x4B, 0x2E, 0x24}}
	iidLocator     = abi.GUID{Data1: 0xDC12A687, Data2: 0x737F, Data3: 0x11CF, Data4: [8]byte{0x88, 0x4D, 0x00, 0xAA, 0x00, 0x4B, 0x2E, 0x24}}
	iidClassObject = abi.GUID{Data1: 0xDC12A681, Data2: 0x737F, Data3: 0x11CF, Data4: [8]byte{0x88, 0x4D, 0x00, 0xAA, 0x00, 0x4B, 0x2E, 0x24}}
)

// Slots of methods (wbemcli.h, windows-api.md 14.2).
const (
	slotLocatorConnectServer = 3

	slotServicesGetObject  = 6
	slotServicesExecQuery  = 20
	slotServicesExecMethod = 24

	slotObjectPut              = 5
	slotObjectBeginEnumeration = 8
	slotObjectNext             = 9
	slotObjectEndEnumeration   = 10
	slotObjectSpawnInstance    = 15
	slotObjectGetMethod        = 19

	slotEnumNext = 4

	slotResultGetObject = 3
)

const (
	flagReturnImmediately = 0x10
	flagForwardOnly       = 0x20
	flagUseMaxWait        = 0x80 // ConnectServer gives up after two minutes

	errNoMoreData = win.HRESULT(0x0004_0005) // WBEM_S_NO_MORE_DATA, of enumerated properties
)

// Enter joins the multithreaded apartment. That the thread was in it already
// (S_FALSE) counts and needs its own Leave; RPC_E_CHANGED_MODE does not.
func (w wmi) Enter() error {
	if err := w.com.find(); err != nil {
		return err
	}
	const multithreaded = 0
	r, _, _ := w.com.initialize.Call(0, multithreaded)
	if code := result(r); failed(code) {
		return code
	}
	return nil
}

func (w wmi) Leave() { _, _, _ = w.com.uninitialize.Call() }

// Outstanding is how many interface pointers, strings and variants this process
// has taken from COM and not given back. It is for tests.
func (w wmi) Outstanding() int64 { return w.com.outstanding.Load() }

func (w wmi) Connect(namespace string) (win.Session, error) {
	if err := w.com.find(); err != nil {
		return nil, err
	}
	locator, err := w.com.create(&clsidLocator, &iidLocator)
	if err != nil {
		return nil, err
	}
	defer w.com.release(locator)
	services, err := w.com.connect(locator, namespace)
	if err != nil {
		return nil, err
	}
	return &session{com: w.com, services: services}, nil
}

// connect asks a locator for a namespace, as the user of this process: local
// connections take no credentials.
func (c *com) connect(locator *object, namespace string) (*object, error) {
	name, err := c.newString(namespace)
	if err != nil {
		return nil, err
	}
	defer c.free(name)
	var services *object
	code := locator.call(slotLocatorConnectServer, uintptr(name), 0, 0, 0, flagUseMaxWait, 0, 0, uintptr(unsafe.Pointer(&services)))
	if failed(code) {
		return nil, c.failure(code)
	}
	return c.secured(services)
}

// session is an IWbemServices.
type session struct {
	com      *com
	services *object
}

func (s *session) Close() {
	s.com.release(s.services)
	s.services = nil
}

func (s *session) Query(wql string) (win.Rows, error) {
	language, err := s.com.newString("WQL")
	if err != nil {
		return nil, err
	}
	defer s.com.free(language)
	text, err := s.com.newString(wql)
	if err != nil {
		return nil, err
	}
	defer s.com.free(text)

	var enum *object
	code := s.services.call(slotServicesExecQuery, uintptr(language), uintptr(text),
		flagReturnImmediately|flagForwardOnly, 0, uintptr(unsafe.Pointer(&enum)))
	if failed(code) {
		return nil, s.com.failure(code)
	}
	if enum, err = s.com.secured(enum); err != nil {
		return nil, err
	}
	return &rows{com: s.com, enum: enum}, nil
}

func (s *session) Get(path string) (win.Row, error) {
	o, err := s.get(path)
	if err != nil {
		return nil, err
	}
	defer s.com.release(o)
	return s.com.row(o)
}

// get reads a class or an instance. The caller releases it.
func (s *session) get(path string) (*object, error) {
	name, err := s.com.newString(path)
	if err != nil {
		return nil, err
	}
	defer s.com.free(name)
	var o *object
	code := s.services.call(slotServicesGetObject, uintptr(name), 0, 0, uintptr(unsafe.Pointer(&o)), 0)
	if failed(code) {
		return nil, s.com.failure(code)
	}
	return s.com.taken(o), nil
}

func (s *session) Start(class, path, method string, in []win.Param) (win.Call, error) {
	signature, err := s.signature(class, method)
	if err != nil {
		return nil, err
	}
	defer s.com.release(signature)
	arguments, err := s.com.arguments(signature, in)
	if err != nil {
		return nil, err
	}
	defer s.com.release(arguments)
	return s.execute(cmp.Or(path, class), method, arguments)
}

// signature is the class of a method's in-parameters, nil where it has none.
func (s *session) signature(class, method string) (*object, error) {
	definition, err := s.get(class)
	if err != nil {
		return nil, err
	}
	defer s.com.release(definition)
	name, err := wide(method)
	if err != nil {
		return nil, err
	}
	var in, out *object
	code := definition.call(slotObjectGetMethod, uintptr(unsafe.Pointer(&name[0])), 0,
		uintptr(unsafe.Pointer(&in)), uintptr(unsafe.Pointer(&out)))
	if failed(code) {
		return nil, s.com.failure(code)
	}
	s.com.release(s.com.taken(out))
	return s.com.taken(in), nil
}

// arguments makes an instance of a signature. Names decide, not positions,
// which differ between versions of Windows.
func (c *com) arguments(signature *object, in []win.Param) (*object, error) {
	var arguments *object
	if signature == nil {
		if len(in) > 0 {
			return nil, win.WBEM_E_NOT_FOUND
		}
		return arguments, nil
	}
	if code := signature.call(slotObjectSpawnInstance, 0, uintptr(unsafe.Pointer(&arguments))); failed(code) {
		return nil, c.failure(code)
	}
	c.taken(arguments)
	for _, p := range in {
		if err := c.set(arguments, p); err != nil {
			c.release(arguments)
			return nil, err
		}
	}
	return arguments, nil
}

func (s *session) execute(path, method string, arguments *object) (win.Call, error) {
	target, err := s.com.newString(path)
	if err != nil {
		return nil, err
	}
	defer s.com.free(target)
	name, err := s.com.newString(method)
	if err != nil {
		return nil, err
	}
	defer s.com.free(name)

	var out, pending *object
	code := s.services.call(slotServicesExecMethod, uintptr(target), uintptr(name), flagReturnImmediately, 0,
		uintptr(unsafe.Pointer(arguments)), uintptr(unsafe.Pointer(&out)), uintptr(unsafe.Pointer(&pending)))
	if failed(code) {
		return nil, s.com.failure(code)
	}
	defer s.com.release(s.com.taken(out))
	if pending == nil { // a server may also answer at once
		row, err := s.com.row(out)
		if err != nil {
			return nil, err
		}
		return finished(row), nil
	}
	if pending, err = s.com.secured(pending); err != nil {
		return nil, err
	}
	return &call{com: s.com, result: pending}, nil
}

// rows is an IEnumWbemClassObject.
type rows struct {
	com  *com
	enum *object
}

func (r *rows) Next(wait time.Duration) (win.Row, error) {
	var (
		o *object
		n uint32
	)
	code := r.enum.call(slotEnumNext, milliseconds(wait), 1, uintptr(unsafe.Pointer(&o)), uintptr(unsafe.Pointer(&n)))
	if failed(code) {
		return nil, r.com.failure(code)
	}
	if n == 0 {
		return nil, cmp.Or(code, win.WBEM_S_FALSE)
	}
	defer r.com.release(r.com.taken(o))
	return r.com.row(o)
}

func (r *rows) Close() {
	r.com.release(r.enum)
	r.enum = nil
}

// call is an IWbemCallResult.
type call struct {
	com    *com
	result *object
}

func (c *call) Result(wait time.Duration) (win.Row, error) {
	var out *object
	code := c.result.call(slotResultGetObject, milliseconds(wait), uintptr(unsafe.Pointer(&out)))
	if failed(code) {
		return nil, c.com.failure(code)
	}
	if code == win.WBEM_S_TIMEDOUT {
		return nil, code
	}
	defer c.com.release(c.com.taken(out))
	return c.com.row(out)
}

func (c *call) Close() {
	c.com.release(c.result)
	c.result = nil
}

// finished is a call that ended when it was made: its out parameters.
type finished win.Row

func (f finished) Result(time.Duration) (win.Row, error) { return win.Row(f), nil }

func (finished) Close() {}

// milliseconds rounds a wait up, and never to the value that means for ever.
func milliseconds(wait time.Duration) uintptr {
	ms := wait / time.Millisecond
	if wait%time.Millisecond > 0 {
		ms++
	}
	return uintptr(min(max(ms, 0), math.MaxInt32))
}

// row copies the properties of an object, those of the system too. No object
// has none.
func (c *com) row(o *object) (win.Row, error) {
	row := win.Row{}
	if o == nil {
		return row, nil
	}
	if code := o.call(slotObjectBeginEnumeration, 0); failed(code) {
		return nil, c.failure(code)
	}
	defer func() { _ = o.call(slotObjectEndEnumeration) }()
	for {
		more, err := c.property(o, row)
		if err != nil {
			return nil, err
		}
		if !more {
			return row, nil
		}
	}
}

// property copies the next property of an object into row, if there is one.
func (c *com) property(o *object, row win.Row) (bool, error) {
	var (
		name *uint16
		v    variant
	)
	code := o.call(slotObjectNext, 0, uintptr(unsafe.Pointer(&name)), uintptr(unsafe.Pointer(&v)), 0, 0)
	if failed(code) {
		return false, c.failure(code)
	}
	if code == errNoMoreData {
		return false, nil
	}
	c.outstanding.Add(2)
	defer c.clear(&v)
	defer c.free(bstr(unsafe.Pointer(name)))
	value, err := c.value(&v)
	if err != nil {
		return false, err
	}
	row[c.text(name)] = value
	return true, nil
}

// set gives a property of an instance its value.
func (c *com) set(o *object, p win.Param) error {
	name, err := wide(p.Name)
	if err != nil {
		return err
	}
	v, err := c.newVariant(p.Value)
	if err != nil {
		return err
	}
	defer c.clear(v)
	code := o.call(slotObjectPut, uintptr(unsafe.Pointer(&name[0])), 0, uintptr(unsafe.Pointer(v)), 0)
	if failed(code) {
		return c.failure(code)
	}
	return nil
}

// failure adds to a failed call the object that its provider left, if it left
// one: it must be taken at once, on the same thread (windows-api.md 14.5).
func (c *com) failure(code win.HRESULT) error {
	var info *object
	r, _, _ := c.getErrorInfo.Call(0, uintptr(unsafe.Pointer(&info)))
	if failed(result(r)) || info == nil {
		return code
	}
	defer c.release(c.taken(info))
	details := c.as(info, &iidClassObject)
	if details == nil {
		return code
	}
	defer c.release(details)
	row, err := c.row(details)
	if err != nil {
		return code // the failure matters more than why it cannot be explained
	}
	return &win.ProviderError{Code: code, Info: row}
}

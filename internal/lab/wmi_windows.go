// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// wmiServer makes CoCreateInstance(CLSID_WbemLocator) of this process lead to
// the node's WMI. Each COM object stands for one of the boundary's: services for
// a session, an enumerator for rows, a call result for a call.
type wmiServer struct {
	objects      *objects
	factory      *object // COM's, which keeps it from no collector
	registration *registration
	node         win.WMI // the node's
}

var (
	clsidLocator = abi.GUID{Data1: 0x4590F811, Data2: 0x1D3A, Data3: 0x11D0, Data4: [8]byte{0x89, 0x1F, 0x00, 0xAA, 0x00, 0x4B, 0x2E, 0x24}}
	iidLocator   = wbem(0x687)
	iidServices  = abi.GUID{Data1: 0x9556DC99, Data2: 0x828C, Data3: 0x11CF, Data4: [8]byte{0xA3, 0x7E, 0x00, 0xAA, 0x00, 0x32, 0x40, 0xC7}}
	iidEnum      = abi.GUID{Data1: 0x027947E1, Data2: 0xD731, Data3: 0x11CE, Data4: [8]byte{0xA3, 0x57, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01}}
	iidResult    = abi.GUID{Data1: 0x44ACA675, Data2: 0xE8FC, Data3: 0x11D0, Data4: [8]byte{0xA0, 0x7C, 0x00, 0xC0, 0x4F, 0xB6, 0x88, 0x20}}
)

// wbem is one of the ids that differ in their last three digits.
func wbem(digits uint32) abi.GUID {
	return abi.GUID{Data1: 0xDC12A000 | digits, Data2: 0x737F, Data3: 0x11CF, Data4: [8]byte{0x88, 0x4D, 0x00, 0xAA, 0x00, 0x4B, 0x2E, 0x24}}
}

// kinds are the classes of COM objects, with their slots from wbemcli.h.
type kinds struct{ factory, locator, services, enum, result, value, security *class }

var classes = sync.OnceValue(func() *kinds {
	return &kinds{
		factory:  newClass(false, map[int]any{3: createLocator, 4: lockServer}, iidClassFactory),
		locator:  newClass(false, map[int]any{3: connectServer}, iidLocator),
		services: newClass(true, map[int]any{6: getObject, 20: execQuery, 24: execMethod}, iidServices),
		enum:     newClass(true, map[int]any{4: nextRow}, iidEnum),
		result:   newClass(true, map[int]any{3: getResultObject}, iidResult),
		// SetErrorInfo takes what claims to be an IErrorInfo.
		value: newClass(false, map[int]any{
			5: putProperty, 8: beginEnumeration, 9: nextProperty, 10: endEnumeration, 15: spawnInstance, 19: getMethod,
		}, wbem(0x681), iidErrorInfo),
		security: newClass(false, map[int]any{4: setBlanket}, iidClientSecurity),
	}
})

func serveWMI(node *simhost.Node) (*wmiServer, error) {
	w := &wmiServer{objects: newObjects(node), node: node.Host().WMI}
	if err := w.node.Enter(); err != nil {
		return nil, err
	}
	w.factory = newObjects(node).give(classes().factory, w, nil)
	var err error
	if w.registration, err = register(clsidLocator, w.factory); err != nil {
		w.node.Leave()
		return nil, err
	}
	return w, nil
}

func (w *wmiServer) close() error {
	err := w.registration.close()
	w.node.Leave()
	if n := w.objects.count(); n != 0 {
		err = errors.Join(err, fmt.Errorf("%d references to WMI objects are left", n))
	}
	return err
}

// References is how many references to WMI objects the process holds.
func (l *Lab) References() int { return l.wmi.objects.count() }

func createLocator(factory, _ *object, iid *abi.GUID, out *place) uintptr {
	w := factory.state.(*wmiServer)
	if *iid != iidLocator {
		return resultNoInterface
	}
	out.put(w.objects.give(w.objects.kinds.locator, w, nil))
	return resultOK
}

func lockServer(*object, uintptr) uintptr { return resultOK }

// answer is the HRESULT of an error of the node. The error object of a provider
// is left for GetErrorInfo on this thread.
func (o *objects) answer(err error) uintptr {
	var (
		provider *win.ProviderError
		code     win.HRESULT
		native   win.Errno
	)
	switch {
	case err == nil:
		return resultOK
	case errors.As(err, &provider):
		details := o.row(provider.Info)
		_, _, _ = exports().setErrorInfo.Call(0, uintptr(unsafe.Pointer(details)))
		release(details)
		return uintptr(provider.Code)
	case errors.As(err, &code):
		return uintptr(code)
	case errors.As(err, &native):
		return 0x8007_0000 | uintptr(native)
	}
	return uintptr(win.WBEM_E_FAILED)
}

// connectServer wants what local connections have: no user, no password, and a
// limit to the wait.
func connectServer(o *object, namespace, user, password, locale *uint16, flags int32, authority *uint16, _ uintptr, out *place) uintptr {
	const useMaxWait = 0x80
	if user != nil || password != nil || locale != nil || authority != nil || flags != useMaxWait {
		return uintptr(win.WBEM_E_INVALID_PARAMETER)
	}
	w := o.state.(*wmiServer)
	session, err := w.node.Connect(textOf(namespace))
	if err != nil {
		return w.objects.answer(err)
	}
	out.put(w.objects.give(w.objects.kinds.services, session, session.Close))
	return resultOK
}

const errDenied = uintptr(win.WBEM_E_ACCESS_DENIED)

func getObject(o *object, path *uint16, _ int32, _ uintptr, out *place, _ uintptr) uintptr {
	if !o.allowed() {
		return errDenied
	}
	row, err := o.state.(win.Session).Get(textOf(path))
	if err != nil {
		return o.home.answer(err)
	}
	out.put(o.home.row(row))
	return resultOK
}

// execQuery wants a semi-synchronous, forward-only query.
func execQuery(o *object, language, query *uint16, flags int32, _ uintptr, out *place) uintptr {
	const returnImmediately, forwardOnly = 0x10, 0x20
	switch {
	case !o.allowed():
		return errDenied
	case textOf(language) != "WQL":
		return uintptr(win.WBEM_E_INVALID_PARAMETER)
	case flags != returnImmediately|forwardOnly:
		return uintptr(win.WBEM_E_INVALID_PARAMETER)
	}
	rows, err := o.state.(win.Session).Query(textOf(query))
	if err != nil {
		return o.home.answer(err)
	}
	out.put(o.home.give(o.home.kinds.enum, rows, rows.Close))
	return resultOK
}

func nextRow(o *object, timeout int32, count uint32, out *place, returned *uint32) uintptr {
	*returned = 0
	switch {
	case !o.allowed():
		return errDenied
	case count != 1:
		return uintptr(win.WBEM_E_INVALID_PARAMETER)
	}
	row, err := o.state.(win.Rows).Next(milliseconds(timeout))
	if err != nil {
		return o.home.answer(err)
	}
	out.put(o.home.row(row))
	*returned = 1
	return resultOK
}

// milliseconds is a timeout; -1 is WBEM_INFINITE.
func milliseconds(timeout int32) time.Duration {
	if timeout < 0 {
		return time.Duration(1<<63 - 1)
	}
	return time.Duration(timeout) * time.Millisecond
}

func execMethod(o *object, path, method *uint16, flags int32, _ uintptr, in *object, _, out *place) uintptr {
	const returnImmediately = 0x10
	switch {
	case !o.allowed():
		return errDenied
	case flags != returnImmediately:
		return uintptr(win.WBEM_E_INVALID_PARAMETER)
	}
	var parameters []win.Param
	if in != nil {
		parameters = in.state.(*value).put
	}
	class, instance := target(textOf(path))
	call, err := o.state.(win.Session).Start(class, instance, textOf(method), parameters)
	if err != nil {
		return o.home.answer(err)
	}
	out.put(o.home.give(o.home.kinds.result, call, call.Close))
	return resultOK
}

// target takes an object path apart: \\server\namespace:Class.Key="…", of which
// a class has only its name.
func target(path string) (class, instance string) {
	class = path
	if _, relative, ok := strings.Cut(path, `:`); ok && strings.HasPrefix(path, `\\`) {
		class = relative
	}
	class, _, keyed := strings.Cut(class, `.`)
	if !keyed {
		return class, ""
	}
	return class, path
}

func getResultObject(o *object, timeout int32, out *place) uintptr {
	if !o.allowed() {
		return errDenied
	}
	row, err := o.state.(win.Call).Result(milliseconds(timeout))
	if err != nil {
		return o.home.answer(err)
	}
	out.put(o.home.row(row))
	return resultOK
}

// value is what an IWbemClassObject holds: the properties of a row, or of a
// method those that it takes and those that are put.
type value struct {
	row   win.Row
	names []string
	next  int
	takes []string
	put   []win.Param
}

func (o *objects) row(row win.Row) *object {
	return o.give(o.kinds.value, &value{row: row, names: slices.Sorted(maps.Keys(row))}, nil)
}

func beginEnumeration(o *object, _ int32) uintptr {
	o.state.(*value).next = 0
	return resultOK
}

func nextProperty(o *object, _ int32, name *place, v *variant, _, _ uintptr) uintptr {
	const noMoreData = 0x4_0005
	state := o.state.(*value)
	if state.next == len(state.names) {
		return noMoreData
	}
	property := state.names[state.next]
	state.next++
	*name, *v = place(newBSTR(property)), o.home.variantOf(state.row[property])
	return resultOK
}

func endEnumeration(*object) uintptr { return resultOK }

// getMethod gives the class of a method's parameters. Of one that takes none
// there is no such class (windows-api.md 14.4).
func getMethod(o *object, name *uint16, _ int32, in, out *place) uintptr {
	row := o.state.(*value).row
	namespace, _ := row["__NAMESPACE"].(string)
	class, _ := row["__CLASS"].(string)
	takes, err := o.home.node.MethodInput(namespace, class, windows.UTF16PtrToString(name))
	if err != nil {
		return o.home.answer(err)
	}
	in.put(nil)
	out.put(o.home.row(nil))
	if len(takes) > 0 {
		in.put(o.home.parameters(takes))
	}
	return resultOK
}

func (o *objects) parameters(takes []string) *object {
	return o.give(o.kinds.value, &value{takes: takes}, nil)
}

func spawnInstance(o *object, _ int32, out *place) uintptr {
	out.put(o.home.parameters(o.state.(*value).takes))
	return resultOK
}

// putProperty knows the names of a method's parameters. Whether a value is of
// the right type the node says when the method is called.
func putProperty(o *object, name *uint16, _ int32, v *variant, _ int32) uintptr {
	parameter, ok := valueOf(v)
	if !ok {
		return uintptr(win.WBEM_E_TYPE_MISMATCH)
	}
	state, property := o.state.(*value), windows.UTF16PtrToString(name)
	if !slices.Contains(state.takes, property) {
		return uintptr(win.WBEM_E_NOT_FOUND)
	}
	state.put = append(state.put, win.Param{Name: property, Value: parameter})
	return resultOK
}

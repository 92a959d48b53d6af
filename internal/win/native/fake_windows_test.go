// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// provider is a WMI of COM objects written in Go. It answers what a real one
// cannot be made to answer at will: calls that take their time, objects within
// objects, error objects, and a failure of any one of its calls.
type provider struct {
	com    *com                    // makes what the provider hands out
	tables map[string]*[25]uintptr // of methods, one for each kind of object: callbacks are never freed

	references int     // interface pointers that the client holds
	calls      int     // calls made of methods that can fail
	failAt     int     // the one of them that fails, 0 for none
	details    []value // of the error object of the failure, if any

	objects map[*fake]bool // alive

	blankets map[*fake]blanket // of its proxies; nil where it has none
}

// blanket is how a proxy sends.
type blanket struct{ authentication, impersonation uint32 }

// fake is a COM object of the provider.
type fake struct {
	object
	references int
	values     []value
	next       int // of values, or of the answers of an enumeration or a call
}

type value struct {
	name  string
	value any // in the types of win.Row, or a *fake
}

func newProvider(com *com) *provider {
	return &provider{com: com, tables: map[string]*[25]uintptr{}, objects: map[*fake]bool{}}
}

// object makes an object of a kind, with methods in some slots beside those of
// IUnknown.
func (p *provider) object(kind string, methods map[int]any, values ...value) *fake {
	table := p.tables[kind]
	if table == nil {
		table = &[25]uintptr{
			slotQueryInterface: syscall.NewCallback(p.queryInterface),
			slotAddReference:   syscall.NewCallback(p.addReference),
			slotRelease:        syscall.NewCallback(p.release),
		}
		for slot, method := range methods {
			table[slot] = syscall.NewCallback(method)
		}
		p.tables[kind] = table
	}
	f := &fake{object: object{methods: table}, values: values}
	p.objects[f] = true
	return f
}

const slotAddReference = 1

// give hands out a reference.
func (p *provider) give(f *fake) *fake {
	f.references++
	p.references++
	return f
}

// queryInterface is also called by COM itself, with a place that nobody has set:
// what was there is no pointer for Go's collector to look at.
func (p *provider) queryInterface(f *fake, iid *abi.GUID, out *uintptr) uintptr {
	switch {
	case *iid == iidClassObject:
		*out = uintptr(unsafe.Pointer(p.give(f)))
	case *iid == iidClientSecurity && p.blankets != nil:
		*out = uintptr(unsafe.Pointer(p.give(p.security())))
	default:
		const noInterface = 0x8000_4002
		return noInterface
	}
	return 0
}

// IID_IClientSecurity, which proxies have (windows-api.md 14.2), and the slot of
// its SetBlanket.
var iidClientSecurity = abi.GUID{Data1: 0x13D, Data4: [8]byte{0xC0, 7: 0x46}}

const slotSetBlanket = 4

func (p *provider) security() *fake {
	return p.object("security", map[int]any{
		slotSetBlanket: func(_, proxy *fake, _, _, _, authentication, impersonation, _, _ uintptr) uintptr {
			p.blankets[proxy] = blanket{uint32(authentication), uint32(impersonation)}
			return 0
		},
	})
}

func (p *provider) addReference(f *fake) uintptr {
	p.give(f)
	return uintptr(f.references)
}

func (p *provider) release(f *fake) uintptr {
	f.references--
	p.references--
	return uintptr(f.references)
}

// code is what the next call returns: success, but once.
func (p *provider) code() uintptr {
	p.calls++
	if p.calls != p.failAt {
		return 0
	}
	if p.details != nil {
		setErrorInfo := windows.NewLazySystemDLL("oleaut32.dll").NewProc("SetErrorInfo")
		_, _, _ = setErrorInfo.Call(0, uintptr(unsafe.Pointer(p.instance(p.details...))))
	}
	return uintptr(win.WBEM_E_FAILED)
}

func (p *provider) locator() *fake {
	return p.object("locator", map[int]any{
		slotLocatorConnectServer: func(_ *fake, _ *uint16, _, _, _, _, _, _ uintptr, out **fake) uintptr {
			return p.answer(out, p.services)
		},
	})
}

// answer hands out a new object, unless this call is to fail.
func (p *provider) answer(out **fake, create func() *fake) uintptr {
	if code := p.code(); code != 0 {
		return code
	}
	*out = p.give(create())
	return 0
}

func (p *provider) services() *fake {
	return p.object("services", map[int]any{
		slotServicesGetObject: func(_ *fake, _ *uint16, _, _ uintptr, out **fake, _ uintptr) uintptr {
			return p.answer(out, p.definition)
		},
		slotServicesExecQuery: func(_ *fake, _, _ *uint16, _, _ uintptr, out **fake) uintptr {
			return p.answer(out, p.enumeration)
		},
		slotServicesExecMethod: func(_ *fake, _, _ *uint16, _, _ uintptr, in *fake, _, out **fake) uintptr {
			return p.answer(out, func() *fake { return p.result(in.values...) })
		},
	})
}

// definition is a class whose methods all have the parameters Name and Size.
func (p *provider) definition() *fake {
	methods := p.properties()
	methods[slotObjectGetMethod] = func(_ *fake, _ *uint16, _ uintptr, in, out **fake) uintptr {
		if code := p.code(); code != 0 {
			return code
		}
		*in, *out = p.give(p.signature()), p.give(p.instance())
		return 0
	}
	return p.object("class", methods, value{"__CLASS", "Fake"})
}

func (p *provider) signature() *fake {
	return p.object("signature", map[int]any{
		slotObjectSpawnInstance: func(_ *fake, _ uintptr, out **fake) uintptr {
			return p.answer(out, func() *fake { return p.instance() })
		},
	})
}

func (p *provider) instance(values ...value) *fake {
	methods := p.properties()
	methods[slotObjectPut] = func(f *fake, name *uint16, _ uintptr, v *variant, _ uintptr) uintptr {
		if code := p.code(); code != 0 {
			return code
		}
		got, err := p.com.value(v)
		if err != nil {
			return uintptr(win.WBEM_E_TYPE_MISMATCH)
		}
		f.values = append(f.values, value{windows.UTF16PtrToString(name), got})
		return 0
	}
	return p.object("instance", methods, values...)
}

// properties are the methods that enumerate the values of an object.
func (p *provider) properties() map[int]any {
	return map[int]any{
		slotObjectBeginEnumeration: func(f *fake, _ uintptr) uintptr {
			f.next = 0
			return p.code()
		},
		slotObjectNext: func(f *fake, _ uintptr, name *bstr, v *variant, _, _ uintptr) uintptr {
			if code := p.code(); code != 0 {
				return code
			}
			if f.next == len(f.values) {
				return uintptr(errNoMoreData)
			}
			*name, *v = p.encode(f.values[f.next])
			f.next++
			return 0
		},
		slotObjectEndEnumeration: func(*fake) uintptr { return 0 },
	}
}

func (p *provider) encode(v value) (bstr, variant) {
	name, err := p.com.alloc(v.name)
	if err != nil {
		panic(err)
	}
	if embedded, ok := v.value.(*fake); ok {
		return name, variant{kind: kindObject, value: uint64(uintptr(unsafe.Pointer(p.give(embedded))))}
	}
	encoded, err := p.com.encode(v.value)
	if err != nil {
		panic(err)
	}
	return name, *encoded
}

// enumeration has one row, late.
func (p *provider) enumeration() *fake {
	return p.object("rows", map[int]any{
		slotEnumNext: func(f *fake, _, _ uintptr, out **fake, n *uint32) uintptr {
			if code := p.code(); code != 0 {
				return code
			}
			f.next++
			switch f.next {
			case 1:
				return uintptr(win.WBEM_S_TIMEDOUT)
			case 2:
				*out, *n = p.give(p.instance(value{"Name", "one"}, value{"Part", p.instance(value{"Size", "7"})}, value{"List", []any{"a", "b"}})), 1
				return 0
			}
			return uintptr(win.WBEM_S_FALSE)
		},
	})
}

// result ends late and returns what the method was given.
func (p *provider) result(in ...value) *fake {
	return p.object("call", map[int]any{
		slotResultGetObject: func(f *fake, _ uintptr, out **fake) uintptr {
			if code := p.code(); code != 0 {
				return code
			}
			if f.next++; f.next == 1 {
				return uintptr(win.WBEM_S_TIMEDOUT)
			}
			*out = p.give(p.instance(append(f.values, value{"ReturnValue", int32(0)})...))
			return 0
		},
	}, in...)
}

// use makes each kind of call once, and is satisfied with nothing less.
func (p *provider) use(c *com) error {
	services, err := c.connect(&p.give(p.locator()).object, "root")
	if err != nil {
		return err
	}
	s := &session{com: c, services: services}
	defer s.Close()

	if row, err := s.Get("Fake"); err != nil || row["__CLASS"] != "Fake" {
		return fmt.Errorf("class %v: %w", row, err)
	}
	rows, err := s.Query("SELECT")
	if err != nil {
		return err
	}
	defer rows.Close()
	if _, err := rows.Next(time.Second); !errors.Is(err, win.WBEM_S_TIMEDOUT) {
		return err
	}
	want := win.Row{"Name": "one", "Part": win.Row{"Size": "7"}, "List": []any{"a", "b"}}
	if row, err := rows.Next(time.Second); err != nil || !reflect.DeepEqual(row, want) {
		return fmt.Errorf("row %v: %w", row, err)
	}
	if _, err := rows.Next(time.Second); !errors.Is(err, win.WBEM_S_FALSE) {
		return err
	}
	started, err := s.Start("Fake", "", "Do", []win.Param{{Name: "Name", Value: "x"}, {Name: "Size", Value: int32(5)}})
	if err != nil {
		return err
	}
	defer started.Close()
	if _, err := started.Result(time.Second); !errors.Is(err, win.WBEM_S_TIMEDOUT) {
		return err
	}
	want = win.Row{"Name": "x", "Size": int32(5), "ReturnValue": int32(0)}
	if row, err := started.Result(time.Second); err != nil || !reflect.DeepEqual(row, want) {
		return fmt.Errorf("out parameters %v: %w", row, err)
	}
	return nil
}

// field-reports.md L13: each proxy is made to encrypt (RPC_C_AUTHN_LEVEL_PKT_PRIVACY)
// and to act in our name (RPC_C_IMP_LEVEL_IMPERSONATE): the connection, what lists
// rows, and what waits for a method.
func TestProvider_ProxiesEncrypt(t *testing.T) {
	c := enter(t).com
	p := newProvider(c)
	p.blankets = map[*fake]blanket{}
	if err := p.use(c); err != nil {
		t.Fatal(err)
	}
	for proxy, got := range p.blankets {
		if want := (blanket{authentication: 6, impersonation: 3}); got != want {
			t.Errorf("%p: %+v, want %+v", proxy, got, want)
		}
	}
	if len(p.blankets) != 3 {
		t.Errorf("%d proxies, want 3", len(p.blankets))
	}
	if n := c.outstanding.Load(); n != 0 || p.references != 1 { // the locator, which the test holds
		t.Errorf("%d COM references and %d objects of the provider are left", n, p.references-1)
	}
	runtime.KeepAlive(p)
}

// Whichever call fails, the failure comes back, with its error object, and
// nothing that COM or the provider handed out is left (field-reports.md L09).
func TestProvider_EveryCallFails(t *testing.T) {
	c := enter(t).com
	p := newProvider(c)
	for p.failAt = 1; ; p.failAt++ {
		p.calls, p.references, p.details = 0, 0, nil
		if p.failAt%2 == 0 {
			p.details = []value{{"Message", "because"}}
		}
		err := p.use(c)
		if n := c.outstanding.Load(); n != 0 {
			t.Fatalf("call %d of them failed (%v): %d COM references, strings and variants are left", p.failAt, err, n)
		}
		if p.references != 1 { // the locator, which the test holds
			t.Fatalf("call %d of them failed (%v): %d objects of the provider are left", p.failAt, err, p.references-1)
		}
		if p.calls < p.failAt {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if !errors.Is(err, win.WBEM_E_FAILED) {
			t.Fatalf("call %d of them failed: error %v", p.failAt, err)
		}
		var explained *win.ProviderError
		if has := errors.As(err, &explained); has != (p.details != nil) || has && explained.Info["Message"] != "because" {
			t.Fatalf("call %d of them failed: error %#v", p.failAt, err)
		}
	}
	if p.failAt < 20 {
		t.Errorf("only %d calls were made", p.failAt-1)
	}
	runtime.KeepAlive(p)
}

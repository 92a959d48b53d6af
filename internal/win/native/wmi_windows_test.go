// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/test/wine"
)

const cimv2 = `root\cimv2`

// enter ties the test to an OS thread that is in the apartment, and says at the
// end whether the test gave back all that it took from COM.
func enter(t *testing.T) wmi {
	t.Helper()
	runtime.LockOSThread()
	w := wmi{com: newCOM()}
	if err := w.Enter(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := w.com.outstanding.Load(); n != 0 {
			t.Errorf("%d COM references, strings and variants are left", n)
		}
		w.Leave()
		runtime.UnlockOSThread()
	})
	return w
}

func connect(t *testing.T, namespace string) win.Session {
	t.Helper()
	s, err := enter(t).Connect(namespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// query reads all rows.
func query(s win.Session, wql string) ([]win.Row, error) {
	rows, err := s.Query(wql)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []win.Row
	for {
		row, err := rows.Next(10 * time.Second)
		if errors.Is(err, win.WBEM_S_FALSE) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
}

// invoke calls a method to its end.
func invoke(s win.Session, class, path, method string, in ...win.Param) (win.Row, error) {
	call, err := s.Start(class, path, method, in)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	return call.Result(10 * time.Second)
}

func TestWMI_EnterTwice(t *testing.T) {
	w := enter(t)
	if err := w.Enter(); err != nil { // S_FALSE
		t.Fatal(err)
	}
	w.Leave()
}

func TestWMI_Query(t *testing.T) {
	rows, err := query(connect(t, cimv2), "SELECT * FROM Win32_OperatingSystem")
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v; want one", len(rows), err)
	}
	for name, want := range map[string]any{
		"Primary":                true,     // boolean
		"CurrentTimeZone":        int16(0), // sint16
		"OSLanguage":             int32(0), // uint32
		"TotalVisibleMemorySize": "uint64", // in decimal
		"InstallDate":            "datetime",
		"Caption":                "string",
	} {
		if got := rows[0][name]; reflect.TypeOf(got) != reflect.TypeOf(want) {
			t.Errorf("%s is %#v, want a %T", name, got, want)
		}
	}
}

func TestWMI_QueryNULL(t *testing.T) {
	rows, err := query(connect(t, cimv2), "SELECT * FROM Win32_BIOS")
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v; want one", len(rows), err)
	}
	if value, ok := rows[0]["IdentificationCode"]; !ok || value != nil {
		t.Errorf("IdentificationCode is %#v, %t; want a NULL that is there", value, ok)
	}
}

func TestWMI_QueryNoRows(t *testing.T) {
	if rows, err := query(connect(t, cimv2), "SELECT * FROM Win32_Service WHERE Name='no such service'"); err != nil || len(rows) != 0 {
		t.Errorf("%d rows, %v; want none", len(rows), err)
	}
}

func TestWMI_Get(t *testing.T) {
	s := connect(t, cimv2)
	service, err := s.Get(`Win32_Service.Name="eventlog"`)
	if name, _ := service["Name"].(string); err != nil || !strings.EqualFold(name, "eventlog") {
		t.Errorf("instance: %v, %v", service, err)
	}
	class, err := s.Get("Win32_BIOS")
	if _, ok := class["SerialNumber"]; err != nil || !ok {
		t.Errorf("class: %v, %v", class, err)
	}
}

func TestWMI_SystemProperties(t *testing.T) {
	wine.Need(t, wine.SystemProperties)
	rows, err := query(connect(t, cimv2), "SELECT * FROM Win32_BIOS")
	if err != nil || len(rows) != 1 || rows[0]["__CLASS"] != "Win32_BIOS" {
		t.Fatalf("%v, %v", rows, err)
	}
	for _, name := range []string{"__PATH", "__RELPATH"} {
		if path, _ := rows[0][name].(string); path == "" {
			t.Errorf("%s is %#v", name, rows[0][name])
		}
	}
}

const (
	localMachine   = math.MinInt32 + 2 // HKEY_LOCAL_MACHINE 0x80000002, a uint32
	currentVersion = `SOFTWARE\Microsoft\Windows NT\CurrentVersion`
)

func TestWMI_Method(t *testing.T) {
	s := connect(t, cimv2)
	key := []win.Param{{Name: "hDefKey", Value: int32(localMachine)}, {Name: "sSubKeyName", Value: currentVersion}}

	out, err := invoke(s, "StdRegProv", "", "GetStringValue", append(key, win.Param{Name: "sValueName", Value: "ProductName"})...)
	if name, _ := out["sValue"].(string); err != nil || out["ReturnValue"] != int32(0) || !strings.HasPrefix(name, "Windows") {
		t.Errorf("GetStringValue: %v, %v", out, err)
	}
	out, err = invoke(s, "StdRegProv", "", "EnumValues", key...)
	names, _ := out["sNames"].([]any)
	types, _ := out["Types"].([]any)
	if i := slices.Index(names, any("ProductName")); err != nil || i < 0 || len(types) != len(names) || types[i] != int32(1) {
		t.Errorf("EnumValues: %v, %v", out, err)
	}
	out, err = invoke(s, "StdRegProv", "", "GetStringValue", append(key, win.Param{Name: "sValueName", Value: "no such value"})...)
	if err != nil || out["ReturnValue"] == int32(0) {
		t.Errorf("GetStringValue of none: %v, %v; want a return value", out, err)
	}
}

func TestWMI_InstanceMethod(t *testing.T) {
	// 10: the service is already running.
	out, err := invoke(connect(t, cimv2), "Win32_Service", `Win32_Service.Name="eventlog"`, "StartService")
	if value, ok := out["ReturnValue"].(int32); err != nil || !ok || value == 1 {
		t.Errorf("%v, %v; want a return value", out, err)
	}
}

func TestWMI_Errors(t *testing.T) {
	value := func(in ...win.Param) func(win.Session) error {
		return func(s win.Session) error { _, err := invoke(s, "StdRegProv", "", "GetStringValue", in...); return err }
	}
	get := func(path string) func(win.Session) error {
		return func(s win.Session) error { _, err := s.Get(path); return err }
	}
	for _, tt := range []struct {
		name string
		call func(s win.Session) error
		want error
	}{
		{"query that is none", func(s win.Session) error { _, err := query(s, "SELEC nothing"); return err }, win.WBEM_E_INVALID_QUERY},
		{"query with a NUL", func(s win.Session) error { _, err := s.Query("SELECT\x00"); return err }, win.ERROR_INVALID_NAME},
		{"missing class", get("No_Such_Class"), win.WBEM_E_NOT_FOUND},
		{"missing instance", get(`Win32_Service.Name="no such service"`), win.WBEM_E_NOT_FOUND},
		{"path with a NUL", get("Win32_BIOS\x00"), win.ERROR_INVALID_NAME},
		{"missing method", func(s win.Session) error { _, err := invoke(s, "StdRegProv", "", "NoSuchMethod"); return err }, win.WBEM_E_NOT_FOUND},
		{"missing parameter", value(win.Param{Name: "nope", Value: "x"}), wine.UnknownParameter()},
		{"parameter of another type", value(win.Param{Name: "sSubKeyName", Value: []any{"a", "b"}}), win.WBEM_E_TYPE_MISMATCH},
		{"parameter of no type", value(win.Param{Name: "sSubKeyName", Value: 1}), win.WBEM_E_TYPE_MISMATCH},
		{"parameter with a NUL", value(win.Param{Name: "sSubKeyName", Value: "\x00"}), win.ERROR_INVALID_NAME},
		{"parameter for a method without any", func(s win.Session) error {
			_, err := invoke(s, "Win32_Service", `Win32_Service.Name="eventlog"`, "StopService", win.Param{Name: "x"})
			return err
		}, win.WBEM_E_NOT_FOUND},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// A session of its own: Wine holds a class for the thread that asked.
			if err := tt.call(connect(t, cimv2)); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

func TestWMI_ConnectErrors(t *testing.T) {
	w := enter(t)
	if _, err := w.Connect(`root\no\such\namespace`); !errors.Is(err, win.WBEM_E_INVALID_NAMESPACE) {
		t.Errorf("error %v, want %v", err, win.WBEM_E_INVALID_NAMESPACE)
	}
	if _, err := w.Connect("root\x00"); !errors.Is(err, win.ERROR_INVALID_NAME) {
		t.Errorf("error %v, want 123", err)
	}
}

func TestWMI_Closed(t *testing.T) {
	w := enter(t)
	s, err := w.Connect(cimv2)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Query("SELECT * FROM Win32_BIOS")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rows.Close()
		s.Close()
	}
	if _, err := rows.Next(0); !errors.Is(err, win.RPC_E_DISCONNECTED) {
		t.Errorf("closed rows: error %v", err)
	}
	if _, err := s.Get("Win32_BIOS"); !errors.Is(err, win.RPC_E_DISCONNECTED) {
		t.Errorf("closed session: error %v", err)
	}
}

// A thousand queries on one session leave neither a reference nor a handle.
func TestWMI_NothingIsLeft(t *testing.T) {
	w := enter(t)
	s, err := w.Connect(cimv2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	once := func() {
		if _, err := query(s, "SELECT Name, SerialNumber FROM Win32_BIOS"); err != nil {
			t.Fatal(err)
		}
		if _, err := query(s, "SELEC nothing"); err == nil {
			t.Fatal("a bad query has rows")
		}
		if n := w.com.outstanding.Load(); n != 1 {
			t.Fatalf("%d references beside the session", n-1)
		}
	}
	once()
	const rounds = 1000
	before := handleCount(t)
	for range rounds {
		once()
	}
	if after := handleCount(t); after > before+rounds/10 {
		t.Errorf("%d handles before, %d after", before, after)
	}
}

// Threads that have entered work beside each other, each on its own session.
func TestWMI_Threads(t *testing.T) {
	w := wmi{com: newCOM()}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if err := w.Enter(); err != nil {
				t.Error(err)
				return
			}
			defer w.Leave()
			s, err := w.Connect(cimv2)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for range 25 {
				if rows, err := query(s, "SELECT Name FROM Win32_BIOS"); err != nil || len(rows) != 1 {
					t.Errorf("%d rows, %v; want one", len(rows), err)
				}
			}
		})
	}
	wg.Wait()
	if n := w.com.outstanding.Load(); n != 0 {
		t.Errorf("%d COM references, strings and variants are left", n)
	}
}

func TestVariant_RoundTrip(t *testing.T) {
	c := enter(t).com
	for _, value := range []any{
		nil,
		true, false, uint8(200), int16(-2), int32(-3), float32(1.5), 2.25,
		"", "text", "unpaired \xed\xa0\x80", "18446744073709551615",
		[]any{},
		[]any{"a", "", "c"},
		[]any{int32(1), int32(-1)},
		[]any{uint8(1), uint8(255)},
		[]any{true, false},
		[]any{1.5, -1.5},
	} {
		v, err := c.newVariant(value)
		if err != nil {
			t.Errorf("%#v: %v", value, err)
			continue
		}
		if got, err := c.value(v); err != nil || !reflect.DeepEqual(got, value) {
			t.Errorf("%#v comes back as %#v, %v", value, got, err)
		}
		c.clear(v)
	}
}

func TestVariant_Refused(t *testing.T) {
	c := enter(t).com
	for _, value := range []any{
		1, uint32(1),
		struct{}{},
		win.Row{},
		[]any{nil},
		[]any{"a", int32(1)},
		[]any{"a", struct{}{}},
		[]any{struct{}{}},
		[]any{[]any{"a"}},
	} {
		if _, err := c.newVariant(value); !errors.Is(err, win.WBEM_E_TYPE_MISMATCH) {
			t.Errorf("%#v: error %v, want %v", value, err, win.WBEM_E_TYPE_MISMATCH)
		}
	}
	for _, value := range []any{"\x00", []any{"a", "\x00"}} {
		if _, err := c.newVariant(value); !errors.Is(err, win.ERROR_INVALID_NAME) {
			t.Errorf("%#v: error %v, want 123", value, err)
		}
	}
	if value, err := c.value(&variant{kind: 0x17}); value != nil || !errors.Is(err, win.WBEM_E_TYPE_MISMATCH) {
		t.Errorf("kind that no WMI value has: %v, %v", value, err)
	}
}

func TestMilliseconds(t *testing.T) {
	for _, tt := range []struct {
		wait time.Duration
		want uintptr
	}{
		{-time.Second, 0}, {0, 0}, {1, 1}, {time.Second, 1000}, {time.Second + 1, 1001}, {math.MaxInt64, math.MaxInt32},
	} {
		if got := milliseconds(tt.wait); got != tt.want {
			t.Errorf("%v is %d ms, want %d", tt.wait, got, tt.want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

const storage = `root\Microsoft\Windows\Storage`

// entered runs a test on an OS thread that is in the apartment.
func entered(t *testing.T, w win.WMI, test func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := w.Enter(); err != nil {
		t.Fatal(err)
	}
	defer w.Leave()
	test()
}

// What COM hands over is what the node has: rows, classes, out parameters and
// errors.
func TestWMI(t *testing.T) {
	shipped(t, func(t *testing.T, name string) {
		node, twin := named(t, name), named(t, name)
		l := start(t, node)
		same(t, wmiSaid(t, twin.Host().WMI), wmiSaid(t, near(l).WMI))
		if n := l.References(); n != 0 {
			t.Errorf("%d references to COM objects are left", n)
		}
		if n := outstanding(l); n != 0 {
			t.Errorf("%d references, strings and variants are left", n)
		}
	})
}

func wmiSaid(t *testing.T, w win.WMI) []string {
	t.Helper()
	var said []string
	say := func(what string, results ...any) { said = append(said, fmt.Sprintf("%s: %#v", what, results)) }
	entered(t, w, func() {
		for _, namespace := range []string{`root\none`, storage} {
			s, err := w.Connect(namespace)
			say("connect "+namespace, s != nil, err)
			if err != nil {
				continue
			}
			for _, query := range []string{
				"SELECT * FROM MSFT_Disk", "SELECT * FROM MSFT_Partition", "SELECT * FROM MSFT_Volume",
				"SELECT Number FROM MSFT_Disk WHERE Number = 0", "SELECT * FROM MSFT_None", "nonsense",
			} {
				say(query, rowsOf(s, query)...)
			}
			disk, err := s.Get("MSFT_Disk")
			say("class", disk, err)
			_, err = s.Get(`MSFT_Disk.ObjectId="none"`)
			say("no such disk", err)
			path := pathOf(s, "SELECT * FROM MSFT_Disk WHERE Number = 0")
			for _, call := range []struct {
				class, path, method string
				in                  []win.Param
			}{
				{"MSFT_Disk", path, "Refresh", nil},
				{"MSFT_Disk", path, "None", nil},
				{"MSFT_Disk", path, "Refresh", []win.Param{{Name: "None", Value: int32(1)}}},
				{"MSFT_Disk", path, "CreatePartition", []win.Param{{Name: "UseMaximumSize", Value: true}, {Name: "GptType", Value: "{x}"}}},
				{"MSFT_StorageSetting", "", "UpdateHostStorageCache", nil},
				{"MSFT_StorageSetting", "", "None", nil},
				{"MSFT_Disk", `MSFT_Disk.ObjectId="none"`, "Refresh", nil},
			} {
				out, err := invoke(s, call.class, call.path, call.method, call.in)
				say(call.method, out, err)
			}
			s.Close()
		}
	})
	return said
}

func rowsOf(s win.Session, query string) []any {
	rows, err := s.Query(query)
	if err != nil {
		return []any{err}
	}
	defer rows.Close()
	var list []any
	for {
		row, err := rows.Next(10 * time.Second)
		if err != nil {
			return append(list, err)
		}
		list = append(list, row)
	}
}

func pathOf(s win.Session, query string) string {
	for _, row := range rowsOf(s, query) {
		if row, ok := row.(win.Row); ok {
			path, _ := row["__PATH"].(string)
			return path
		}
	}
	return ""
}

func invoke(s win.Session, class, path, method string, in []win.Param) (win.Row, error) {
	call, err := s.Start(class, path, method, in)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	return call.Result(10 * time.Second)
}

// A provider that takes its time is waited for in steps, and a host that dies
// is known by its code and comes back.
func TestWMI_SlowAndDead(t *testing.T) {
	node := named(t, simhost.Names()[0])
	l := start(t, node)
	w := near(l).WMI
	entered(t, w, func() {
		s, err := w.Connect(storage)
		if err != nil {
			t.Fatal(err)
		}
		release := node.Hang("MSFT_Disk")
		rows, err := s.Query("SELECT * FROM MSFT_Disk")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if row, err := rows.Next(10 * time.Millisecond); !errors.Is(err, win.WBEM_S_TIMEDOUT) {
				t.Errorf("row %v, %v; want a timeout", row, err)
			}
		}
		release()
		if row, err := rows.Next(10 * time.Second); err != nil || row["Number"] == nil {
			t.Errorf("row %v, %v", row, err)
		}
		path := pathOf(s, "SELECT * FROM MSFT_Disk WHERE Number = 0")
		release = node.Hang("MSFT_Disk.Refresh")
		call, err := s.Start("MSFT_Disk", path, "Refresh", nil)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := call.Result(10 * time.Millisecond); !errors.Is(err, win.WBEM_S_TIMEDOUT) {
			t.Errorf("result %v, %v; want a timeout", out, err)
		}
		node.KillWMIHost()
		for what, err := range map[string]error{
			"a query that runs": second(rows.Next(10 * time.Second)), "a method that runs": second(call.Result(10 * time.Second)),
			"a new query": second(s.Query("SELECT * FROM MSFT_Disk")),
		} {
			if code := win.HRESULT(0); !errors.As(err, &code) || code>>16 != 0x8007 {
				t.Errorf("%s: %v, want an error of RPC", what, err)
			}
		}
		release()
		rows.Close()
		call.Close()
		s.Close()
		again, err := w.Connect(storage)
		if err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(again, "SELECT Number FROM MSFT_Disk"); len(got) < 2 {
			t.Errorf("after the host came back: %v", got)
		}
		again.Close()
	})
	if n := l.References() + outstanding(l); n != 0 {
		t.Errorf("%d references are left", n)
	}
}

func second[T any](_ T, err error) error { return err }

// Parameters of each type are given back to COM, also where the method is
// refused: the node's takes a number and nothing else.
func TestWMI_Parameters(t *testing.T) {
	node := named(t, simhost.Names()[0])
	l := start(t, node)
	entered(t, l.Host().WMI, func() {
		s, err := l.Host().WMI.Connect(storage)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, value := range []any{
			true, uint8(7), int16(-2), int32(-3), "text", float32(1.5), 2.5,
			[]any{"x", "y"},
			[]any{int32(1), int32(2)},
			[]any{true},
			[]any{},
		} {
			_, err := s.Start("MSFT_StorageSetting", "", "Set", []win.Param{{Name: "NewDiskPolicy", Value: value}})
			if !errors.Is(err, win.WBEM_E_TYPE_MISMATCH) {
				t.Errorf("%#v: error %v, want %v", value, err, win.WBEM_E_TYPE_MISMATCH)
			}
		}
	})
	if n := l.References() + outstanding(l); n != 0 {
		t.Errorf("%d references, strings and variants are left", n)
	}
}

// A method without parameters has no class of them: it is called with none, and
// takes none (windows-api.md 14.4).
func TestWMI_NoParameters(t *testing.T) {
	node := named(t, simhost.Names()[0])
	l := start(t, node)
	entered(t, l.Host().WMI, func() {
		s, err := l.Host().WMI.Connect(storage)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		disk := pathOf(s, "SELECT * FROM MSFT_Disk WHERE Number = 0")
		for _, m := range []struct{ class, path, method string }{
			{"MSFT_Disk", disk, "Refresh"}, {"MSFT_StorageSetting", "", "UpdateHostStorageCache"},
		} {
			if takes, err := node.MethodInput(storage, m.class, m.method); err != nil || len(takes) != 0 {
				t.Errorf("%s takes %v, %v; want nothing", m.method, takes, err)
			}
			if out, err := invoke(s, m.class, m.path, m.method, nil); err != nil || out["ReturnValue"] != int32(0) {
				t.Errorf("%s: %v, %v", m.method, out, err)
			}
			if _, err := s.Start(m.class, m.path, m.method, []win.Param{{Name: "None", Value: true}}); !errors.Is(err, win.WBEM_E_NOT_FOUND) {
				t.Errorf("%s with a parameter: error %v, want %v", m.method, err, win.WBEM_E_NOT_FOUND)
			}
		}
		// A method with parameters takes no others.
		if _, err := s.Start("MSFT_StorageSetting", "", "Set", []win.Param{{Name: "None", Value: true}}); !errors.Is(err, win.WBEM_E_NOT_FOUND) {
			t.Errorf("Set with another parameter: error %v, want %v", err, win.WBEM_E_NOT_FOUND)
		}
	})
	if n := l.References() + outstanding(l); n != 0 {
		t.Errorf("%d references, strings and variants are left", n)
	}
}

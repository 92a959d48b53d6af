// SPDX-License-Identifier: Apache-2.0

package intercept

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// opened is a wrapped object of each kind.
type opened struct {
	device  win.Device
	file    win.File
	service win.Service
	session win.Session
	rows    win.Rows
	call    win.Call
	logon   win.Logon
}

func openAll(t *testing.T, h *win.Host) opened {
	t.Helper()
	var o opened
	var errs [7]error
	o.device, errs[0] = h.Devices.Open(`\\.\PhysicalDrive3`, win.NoAccess)
	o.file, errs[1] = h.Files.Open(nil, `\\?\C:\dir`, win.OpenFile{})
	o.session, errs[2] = h.WMI.Connect(`root\cimv2`)
	o.rows, errs[3] = o.session.Query("SELECT")
	o.call, errs[4] = o.session.Start("MSFT_Disk", "path", "Refresh", nil)
	o.logon, errs[6] = h.Logons.Logon("user", "", "password")
	o.service, errs[5] = h.Services.Open("MSiSCSI", win.ServiceStart)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o opened) close() error {
	o.rows.Close()
	o.call.Close()
	o.session.Close()
	return errors.Join(o.device.Close(), o.file.Close(), o.service.Close(), o.logon.Close())
}

// asked is a result whose value is no error.
func asked[T any](v T, err error) (any, error) { return v, err }

func told(err error) (any, error) { return nil, err }

// buf is a buffer that the fake fills.
func buf() []byte { return make([]byte, 1) }

// calls are all calls of the boundary: how each is made, and what is seen.
var calls = []struct {
	want  Call
	opens bool
	make  func(h *win.Host, o opened) (any, error)
}{
	{Call{Method: "Devices.Interfaces", Subject: abi.GUID{}.String()}, false, func(h *win.Host, _ opened) (any, error) { return asked(h.Devices.Interfaces(abi.GUID{})) }},
	{Call{Method: "Devices.Open", Subject: "d"}, true, func(h *win.Host, _ opened) (any, error) { return asked(h.Devices.Open("d", 0)) }},
	{Call{Method: "Device.Control", Subject: `\\.\PhysicalDrive3`, Code: 7}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.device.Control(7, nil, buf())) }},
	{Call{Method: "Device.ReadAt", Subject: `\\.\PhysicalDrive3`}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.device.ReadAt(buf(), 0)) }},
	{Call{Method: "Device.Flush", Subject: `\\.\PhysicalDrive3`}, false, func(_ *win.Host, o opened) (any, error) { return told(o.device.Flush()) }},
	{Call{Method: "Mounts.Volumes"}, false, func(h *win.Host, _ opened) (any, error) { return asked(h.Mounts.Volumes()) }},
	{Call{Method: "Mounts.Paths", Subject: "v"}, false, func(h *win.Host, _ opened) (any, error) { return asked(h.Mounts.Paths("v")) }},
	{Call{Method: "Mounts.VolumeAt", Subject: "m"}, false, func(h *win.Host, _ opened) (any, error) { return asked(h.Mounts.VolumeAt("m")) }},
	{Call{Method: "Mounts.SetPoint", Subject: "m"}, false, func(h *win.Host, _ opened) (any, error) { return told(h.Mounts.SetPoint("m", "v")) }},
	{Call{Method: "Mounts.DeletePoint", Subject: "m"}, false, func(h *win.Host, _ opened) (any, error) { return told(h.Mounts.DeletePoint("m")) }},
	{Call{Method: "Mounts.Information", Subject: "v"}, false, func(h *win.Host, _ opened) (any, error) { return asked(h.Mounts.Information("v")) }},
	{Call{Method: "Mounts.FreeSpace", Subject: "v"}, false, func(h *win.Host, _ opened) (any, error) { return asked(h.Mounts.FreeSpace("v")) }},
	{Call{Method: "Files.Open", Subject: "p"}, true, func(h *win.Host, _ opened) (any, error) { return asked(h.Files.Open(nil, "p", win.OpenFile{})) }},
	{Call{Method: "Files.Open", Subject: `\\?\C:\dir\name`}, true, func(h *win.Host, o opened) (any, error) { return asked(h.Files.Open(o.file, "name", win.OpenFile{})) }},
	{Call{Method: "Files.SymbolicLink", Subject: "l", Code: 1}, false, func(h *win.Host, _ opened) (any, error) { return told(h.Files.SymbolicLink("l", "t", 1)) }},
	{Call{Method: "File.Control", Subject: `\\?\C:\dir`, Code: 7}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.file.Control(7, nil, buf())) }},
	{Call{Method: "File.Information", Subject: `\\?\C:\dir`, Code: 9}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.file.Information(9, buf())) }},
	{Call{Method: "File.SetInformation", Subject: `\\?\C:\dir`, Code: 4}, false, func(_ *win.Host, o opened) (any, error) { return told(o.file.SetInformation(4, nil)) }},
	{Call{Method: "File.List", Subject: `\\?\C:\dir`}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.file.List(buf(), true)) }},
	{Call{Method: "File.List", Subject: `\\?\C:\dir`, Continues: true}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.file.List(buf(), false)) }},
	{Call{Method: "File.FinalPath", Subject: `\\?\C:\dir`, Code: 1}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.file.FinalPath(1)) }},
	{Call{Method: "System.WindowsDirectory"}, false, func(h *win.Host, _ opened) (any, error) { return asked(h.System.WindowsDirectory()) }},
	{Call{Method: "System.RegistryValue", Subject: `k\n`}, false, func(h *win.Host, _ opened) (any, error) { return asked(h.System.RegistryValue("k", "n")) }},
	{Call{Method: "System.BuildNumber"}, false, func(h *win.Host, _ opened) (any, error) { return asked(h.System.BuildNumber()) }},
	{Call{Method: "System.FirmwareTable", Code: 7}, false, func(h *win.Host, _ opened) (any, error) { return asked(h.System.FirmwareTable(7, 0)) }},
	{Call{Method: "Services.Open", Subject: "s"}, true, func(h *win.Host, _ opened) (any, error) { return asked(h.Services.Open("s", 0)) }},
	{Call{Method: "Service.Config", Subject: "MSiSCSI"}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.service.Config()) }},
	{Call{Method: "Service.DelayedStart", Subject: "MSiSCSI"}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.service.DelayedStart()) }},
	{Call{Method: "Service.Status", Subject: "MSiSCSI"}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.service.Status()) }},
	{Call{Method: "Service.Dependents", Subject: "MSiSCSI", Code: 1}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.service.Dependents(1)) }},
	{Call{Method: "Service.Start", Subject: "MSiSCSI"}, false, func(_ *win.Host, o opened) (any, error) { return told(o.service.Start()) }},
	{Call{Method: "Service.Control", Subject: "MSiSCSI", Code: 1}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.service.Control(1)) }},
	{Call{Method: "Logons.Logon"}, true, func(h *win.Host, _ opened) (any, error) { return asked(h.Logons.Logon("u", "d", "p")) }},
	{Call{Method: "Logon.Open", Subject: "p"}, false, func(_ *win.Host, o opened) (any, error) { return told(o.logon.Open("p")) }},
	{Call{Method: "Arrivals.Watch", Subject: abi.GUID{}.String()}, false, func(h *win.Host, _ opened) (any, error) { return told(h.Arrivals.Watch(abi.GUID{}, nil)) }},
	{Call{Method: "WMI.Enter"}, true, func(h *win.Host, _ opened) (any, error) { return told(h.WMI.Enter()) }},
	{Call{Method: "WMI.Connect", Subject: "ns"}, true, func(h *win.Host, _ opened) (any, error) { return asked(h.WMI.Connect("ns")) }},
	{Call{Method: "Session.Query", Subject: "q"}, true, func(_ *win.Host, o opened) (any, error) { return asked(o.session.Query("q")) }},
	{Call{Method: "Session.Get", Subject: "p"}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.session.Get("p")) }},
	{Call{Method: "Session.Start", Subject: "C.M p"}, true, func(_ *win.Host, o opened) (any, error) { return asked(o.session.Start("C", "p", "M", nil)) }},
	{Call{Method: "Session.Start", Subject: "C.M"}, true, func(_ *win.Host, o opened) (any, error) { return asked(o.session.Start("C", "", "M", nil)) }},
	{Call{Method: "Rows.Next", Subject: "SELECT", Continues: true}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.rows.Next(time.Second)) }},
	{Call{Method: "Call.Result", Subject: "MSFT_Disk.Refresh path", Continues: true}, false, func(_ *win.Host, o opened) (any, error) { return asked(o.call.Result(time.Second)) }},
}

// Every method of the boundary is in the table above, so none can be added to
// it and stay unseen.
func TestCalls_AreComplete(t *testing.T) {
	listed := map[string]bool{}
	for _, c := range calls {
		listed[c.want.Method] = true
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[win.Devices](), reflect.TypeFor[win.Device](), reflect.TypeFor[win.Mounts](), reflect.TypeFor[win.Files](), reflect.TypeFor[win.File](),
		reflect.TypeFor[win.Services](), reflect.TypeFor[win.Service](),
		reflect.TypeFor[win.System](), reflect.TypeFor[win.WMI](), reflect.TypeFor[win.Session](), reflect.TypeFor[win.Rows](), reflect.TypeFor[win.Call](),
		reflect.TypeFor[win.Logons](), reflect.TypeFor[win.Logon](), reflect.TypeFor[win.Arrivals](),
	} {
		for i := range of.NumMethod() {
			method := of.Method(i).Name
			closes := method == "Close" || method == "Leave"
			if name := of.Name() + "." + method; listed[name] == closes {
				t.Errorf("%s: listed %v", name, listed[name])
			}
		}
	}
}

func isZero(v any) bool { return v == nil || reflect.ValueOf(v).IsZero() }

func TestHost_Around(t *testing.T) {
	lost := fmt.Errorf("on the way back")
	for _, mode := range []struct {
		name     string
		own      error // what the host answers
		around   func(do func() error) error
		want     error
		made     int
		value    bool // the host's value comes through
		leftOpen int
	}{
		{"passes", nil, func(do func() error) error { return do() }, nil, 1, true, 1},
		{"passes a failure", win.ERROR_MORE_DATA, func(do func() error) error { return do() }, win.ERROR_MORE_DATA, 1, true, 0},
		{"wraps a failure", win.ERROR_MORE_DATA, func(do func() error) error { return fmt.Errorf("wrapped: %w", do()) }, win.ERROR_MORE_DATA, 1, true, 0},
		{"does not call", nil, func(func() error) error { return win.ERROR_NOT_READY }, win.ERROR_NOT_READY, 0, false, 0},
		{"does not call and says nothing", nil, func(func() error) error { return nil }, errNotMade, 0, false, 0},
		{"loses the result", nil, func(do func() error) error { return errors.Join(do(), lost) }, lost, 1, false, 0},
		{"replaces a failure", win.ERROR_MORE_DATA, func(do func() error) error { _ = do(); return lost }, lost, 1, false, 0},
		{"hides a failure", win.ERROR_MORE_DATA, func(do func() error) error { _ = do(); return nil }, win.ERROR_MORE_DATA, 1, true, 0},
		{"calls twice", nil, func(do func() error) error { return errors.Join(do(), do()) }, nil, 1, true, 1},
	} {
		t.Run(mode.name, func(t *testing.T) {
			for _, c := range calls {
				t.Run(c.want.Method, func(t *testing.T) {
					f := &fake{}
					var seen []Call
					active := false
					h := Host(f.host(), func(call Call, do func() error) error {
						if !active {
							return do()
						}
						seen = append(seen, call.Bare())
						return mode.around(do)
					})
					o := openAll(t, h)
					before := *f

					active, f.err = true, mode.own
					got, err := c.make(h, o)
					active, f.err = false, nil

					if !slices.Equal(seen, []Call{c.want}) {
						t.Errorf("seen %+v, want %+v", seen, c.want)
					}
					if !errors.Is(err, mode.want) || (err == nil) != (mode.want == nil) {
						t.Errorf("error %v, want %v", err, mode.want)
					}
					if made := f.made - before.made; made != mode.made {
						t.Errorf("made %d times", made)
					}
					wantOpen := 0
					if c.opens {
						wantOpen = mode.leftOpen
					}
					if left := f.open - before.open; left != wantOpen {
						t.Errorf("left open %d, want %d", left, wantOpen)
					}
					wantValue := mode.value
					if c.opens && err != nil {
						wantValue = false
					}
					if got != nil && isZero(got) == wantValue {
						t.Errorf("got %v beside %v", got, err)
					}
				})
			}
		})
	}
}

func TestCall_Answer(t *testing.T) {
	f := &fake{}
	var alter func(answer any)
	h := Host(f.host(), func(c Call, do func() error) error {
		err := do()
		if alter != nil {
			alter(c.Answer())
		}
		return err
	})
	o := openAll(t, h)

	alter = func(answer any) {
		b := answer.(*[]byte)
		(*b)[0] = 7
	}
	p := buf()
	if n, err := o.device.ReadAt(p, 0); n != 1 || p[0] != 7 || err != nil {
		t.Errorf("changed bytes: %v, %d, %v", p, n, err)
	}
	alter = func(answer any) {
		b := answer.(*[]byte)
		*b = (*b)[:0]
	}
	if n, err := o.file.Control(7, nil, buf()); n != 0 || err != nil {
		t.Errorf("cut bytes: %d, %v", n, err)
	}
	alter = func(answer any) { *answer.(*string) = "other" }
	if at, err := h.Mounts.VolumeAt("m"); at != "other" || err != nil {
		t.Errorf("changed text: %q, %v", at, err)
	}
	f.err = win.ERROR_IO_DEVICE
	if _, err := h.Mounts.VolumeAt("m"); !errors.Is(err, f.err) {
		t.Errorf("a failure became %v", err)
	}
}

func TestHost_ClosesThrough(t *testing.T) {
	f := &fake{}
	count := 0
	h := Host(f.host(), func(_ Call, do func() error) error { count++; return do() })
	o := openAll(t, h)
	if f.open != 7 || count != 7 {
		t.Fatalf("%d open, %d calls", f.open, count)
	}
	f.err = win.ERROR_INVALID_HANDLE
	if err := o.close(); !errors.Is(err, win.ERROR_INVALID_HANDLE) {
		t.Errorf("the error of Close is lost: %v", err)
	}
	f.err = nil
	if err := h.WMI.Enter(); err != nil {
		t.Fatal(err)
	}
	h.WMI.Leave()
	if f.open != 0 || count != 8 {
		t.Errorf("%d open, %d calls", f.open, count)
	}
}

func TestHost_DirectoryIsUnwrapped(t *testing.T) {
	f := &fake{}
	pass := func(_ Call, do func() error) error { return do() }
	h := Host(Host(f.host(), pass), pass)
	dir, err := h.Files.Open(nil, `\\?\C:\dir`, win.OpenFile{})
	if err != nil {
		t.Fatal(err)
	}
	if f.directory != nil {
		t.Errorf("no directory became %v", f.directory)
	}
	if _, err := h.Files.Open(dir, "name", win.OpenFile{}); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.directory.(fakeFile); !ok {
		t.Errorf("the host got a %T", f.directory)
	}
}

func TestCounter(t *testing.T) {
	f := &fake{}
	var c Counter
	h := c.Host(f.host())
	o := openAll(t, h)
	c.Reset()

	f.err = win.ERROR_NO_MORE_FILES
	var errs []error
	for _, restart := range []bool{true, false, false} {
		_, err := o.file.List(buf(), restart)
		errs = append(errs, err)
	}
	_, err := o.rows.Next(0)
	errs = append(errs, err, o.device.Flush())
	for _, err := range errs {
		if !errors.Is(err, win.ERROR_NO_MORE_FILES) {
			t.Errorf("got %v", err)
		}
	}

	if c.Total() != 2 {
		t.Errorf("total %d", c.Total())
	}
	if got, want := c.ByMethod(), map[string]int{"File.List": 1, "Device.Flush": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	list := Call{Method: "File.List", Subject: `\\?\C:\dir`}
	further := list
	further.Continues = true
	want := []Call{list, further, further, {Method: "Rows.Next", Subject: "SELECT", Continues: true}, {Method: "Device.Flush", Subject: `\\.\PhysicalDrive3`}}
	if got := c.Calls(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	c.Reset()
	if c.Total() != 0 || len(c.Calls()) != 0 {
		t.Errorf("after Reset %v", c.Calls())
	}
}

func TestCounter_IsSafeForConcurrentUse(t *testing.T) {
	var c Counter
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if err := c.Around(Call{Method: "Device.Flush"}, func() error { return nil }); err != nil {
				t.Error(err)
			}
			c.Total()
		})
	}
	wg.Wait()
	if c.Total() != 64 {
		t.Errorf("total %d", c.Total())
	}
}

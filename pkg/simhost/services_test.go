// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

const anyService = win.ServiceQueryConfig | win.ServiceQueryStatus | win.ServiceEnumerateDependents | win.ServiceStart | win.ServiceStop

// serviceLab is a node with services beside those that every node has.
func serviceLab(t *testing.T, switches Switches, specs ...ServiceSpec) lab {
	t.Helper()
	n, err := New(NodeSpec{Version: SpecVersion, Switches: switches, Services: specs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if open := n.OpenHandles(); open != 0 {
			t.Errorf("%d handles are open at the end", open)
		}
	})
	return lab{t, n}
}

func (l lab) service(name string, access win.Access) win.Service {
	l.Helper()
	s, err := l.Host().Services.Open(name, access)
	l.must(err)
	l.Cleanup(func() { l.must(s.Close()) })
	return s
}

func (l lab) wantState(s win.Service, state, checkPoint, exit uint32) {
	l.Helper()
	got, err := s.Status()
	l.must(err)
	if got.State != state || got.CheckPoint != checkPoint || got.ExitCode != exit {
		l.Errorf("state %d, check point %d, exit code %d; want %d, %d, %d", got.State, got.CheckPoint, got.ExitCode, state, checkPoint, exit)
	}
}

// inBubble runs a test in which waiting takes no time.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func TestServices_OfEveryNode(t *testing.T) {
	l := serviceLab(t, Switches{})
	iscsi := l.service("msiscsi", anyService)
	config, err := iscsi.Config()
	want := win.ServiceConfig{Type: win.SERVICE_WIN32_SHARE_PROCESS, StartType: win.SERVICE_DEMAND_START, DisplayName: "Microsoft iSCSI Initiator Service"}
	if diff := cmp.Diff(want, config); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	l.wantState(iscsi, win.SERVICE_STOPPED, 0, 1077)

	l.wantState(l.service("WinDefend", win.ServiceQueryStatus), win.SERVICE_RUNNING, 0, 0)
	for _, access := range []win.Access{win.ServiceStart, win.ServiceStop, anyService} {
		_, err := l.Host().Services.Open("WinDefend", access)
		wantCode(t, err, win.ERROR_ACCESS_DENIED)
	}
	for _, name := range []string{"", "*", "MSiSCS", "Microsoft iSCSI Initiator Service"} {
		_, err := l.Host().Services.Open(name, win.ServiceQueryStatus)
		wantCode(t, err, win.ERROR_SERVICE_DOES_NOT_EXIST)
	}
}

// A described service takes the place of Windows' own.
func TestServices_Described(t *testing.T) {
	l := serviceLab(t, Switches{}, ServiceSpec{Name: "MSISCSI", Start: "delayed"})
	s := l.service("MSiSCSI", anyService)
	config, err := s.Config()
	if err != nil || config.StartType != win.SERVICE_AUTO_START || config.DisplayName != "MSISCSI" {
		t.Errorf("%+v, %v", config, err)
	}
	if delayed, err := s.DelayedStart(); err != nil || !delayed {
		t.Errorf("delayed %v, %v", delayed, err)
	}
	l.wantState(s, win.SERVICE_RUNNING, 0, 0)
}

func TestServices_Rights(t *testing.T) {
	l := serviceLab(t, Switches{})
	calls := map[win.Access]func(s win.Service) error{
		win.ServiceQueryConfig:         func(s win.Service) error { _, err := s.Config(); return err },
		win.ServiceQueryStatus:         func(s win.Service) error { _, err := s.Status(); return err },
		win.ServiceEnumerateDependents: func(s win.Service) error { _, err := s.Dependents(win.SERVICE_ACTIVE); return err },
		win.ServiceStart:               win.Service.Start,
		win.ServiceStop:                func(s win.Service) error { _, err := s.Control(win.SERVICE_CONTROL_STOP); return err },
	}
	for right, call := range calls {
		wantCode(t, call(l.service("MSiSCSI", anyService&^right)), win.ERROR_ACCESS_DENIED)
		if err := call(l.service("MSiSCSI", right)); errors.Is(err, win.ERROR_ACCESS_DENIED) {
			t.Errorf("right %#x is not enough", right)
		}
	}
	closed, err := l.Host().Services.Open("MSiSCSI", anyService)
	l.must(err)
	l.must(closed.Close())
	l.must(closed.Close())
	for _, call := range calls {
		wantCode(t, call(closed), win.ERROR_INVALID_HANDLE)
	}
}

// A slow start passes through its pending state with check points and a hint.
func TestServices_SlowStart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		how := TransitionSpec{Takes: Duration(10 * time.Second), Step: Duration(3 * time.Second), Hint: Duration(4 * time.Second)}
		l := serviceLab(t, Switches{}, ServiceSpec{Name: "X", Starting: how, Stopping: how})
		s := l.service("X", anyService)
		l.must(s.Start())
		l.wantState(s, win.SERVICE_START_PENDING, 1, 0)
		wantCode(t, s.Start(), win.ERROR_SERVICE_ALREADY_RUNNING)
		status, err := s.Control(win.SERVICE_CONTROL_STOP)
		wantCode(t, err, win.ERROR_SERVICE_CANNOT_ACCEPT_CTRL)
		if status.State != win.SERVICE_START_PENDING || status.WaitHint != 4000 {
			t.Errorf("beside the error: %+v", status)
		}
		time.Sleep(7 * time.Second)
		l.wantState(s, win.SERVICE_START_PENDING, 3, 0)
		time.Sleep(3 * time.Second)
		l.wantState(s, win.SERVICE_RUNNING, 0, 0)
		wantCode(t, s.Start(), win.ERROR_SERVICE_ALREADY_RUNNING)

		_, err = s.Control(99)
		wantCode(t, err, win.ERROR_INVALID_SERVICE_CONTROL)
		status, err = s.Control(win.SERVICE_CONTROL_STOP)
		wantCode(t, err, 0)
		if status.State != win.SERVICE_STOP_PENDING {
			t.Errorf("beside success: %+v", status)
		}
		time.Sleep(10 * time.Second)
		l.wantState(s, win.SERVICE_STOPPED, 0, 0)
		_, err = s.Control(win.SERVICE_CONTROL_STOP)
		wantCode(t, err, win.ERROR_SERVICE_NOT_ACTIVE)
	})
}

func TestServices_WaysToFail(t *testing.T) {
	for name, tt := range map[string]struct {
		spec  ServiceSpec
		start win.Errno // what the request answers
		state uint32    // an hour later
		exit  uint32
	}{
		"starts":             {ServiceSpec{}, 0, win.SERVICE_RUNNING, 0},
		"stuck":              {ServiceSpec{Starting: TransitionSpec{Stuck: true}}, 0, win.SERVICE_START_PENDING, 0},
		"fails":              {ServiceSpec{Starting: TransitionSpec{Fails: 2}}, 0, win.SERVICE_STOPPED, 2},
		"dies":               {ServiceSpec{Dies: Duration(time.Minute)}, 0, win.SERVICE_STOPPED, 1067},
		"disabled":           {ServiceSpec{Start: "disabled"}, 1058, win.SERVICE_STOPPED, 1077},
		"does not answer":    {ServiceSpec{StartCode: 1053}, 1053, win.SERVICE_STOPPED, 1077},
		"cannot log on":      {ServiceSpec{StartCode: 1069}, 1069, win.SERVICE_STOPPED, 1077},
		"dependency missing": {ServiceSpec{DependsOn: []string{"gone"}}, 1075, win.SERVICE_STOPPED, 1077},
		"dependency refuses": {ServiceSpec{DependsOn: []string{"disabled"}}, 1068, win.SERVICE_STOPPED, 1077},
		"dependency fails":   {ServiceSpec{DependsOn: []string{"failing"}}, 0, win.SERVICE_STOPPED, 1068},
		"dependency stuck":   {ServiceSpec{DependsOn: []string{"stuck"}}, 0, win.SERVICE_START_PENDING, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				tt.spec.Name = "X"
				l := serviceLab(t, Switches{}, tt.spec,
					ServiceSpec{Name: "disabled", Start: "disabled"},
					ServiceSpec{Name: "failing", Starting: TransitionSpec{Takes: Duration(time.Second), Fails: 5}},
					ServiceSpec{Name: "stuck", Starting: TransitionSpec{Stuck: true}},
				)
				s := l.service("X", anyService)
				wantCode(t, s.Start(), tt.start)
				time.Sleep(time.Hour)
				l.wantState(s, tt.state, 0, tt.exit)
			})
		})
	}
}

// What a service depends on starts first, and its own time begins then.
func TestServices_StartsDependencies(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		takes := func(d time.Duration) TransitionSpec {
			return TransitionSpec{Takes: Duration(d), Step: Duration(time.Second)}
		}
		l := serviceLab(t, Switches{},
			ServiceSpec{Name: "A", Starting: takes(2 * time.Second)},
			ServiceSpec{Name: "B", Starting: takes(3 * time.Second), DependsOn: []string{"A"}},
			ServiceSpec{Name: "C", Starting: takes(4 * time.Second), DependsOn: []string{"a", "b"}},
		)
		a, b, c := l.service("A", anyService), l.service("B", anyService), l.service("C", anyService)
		l.must(c.Start())
		time.Sleep(4 * time.Second)
		l.wantState(c, win.SERVICE_START_PENDING, 0, 0)
		l.wantState(a, win.SERVICE_RUNNING, 0, 0)
		time.Sleep(time.Second)
		l.wantState(c, win.SERVICE_START_PENDING, 1, 0)
		l.wantState(b, win.SERVICE_RUNNING, 0, 0)
		time.Sleep(4 * time.Second)
		l.wantState(c, win.SERVICE_RUNNING, 0, 0)
		_, err := a.Control(win.SERVICE_CONTROL_STOP)
		wantCode(t, err, win.ERROR_DEPENDENT_SERVICES_RUNNING)
		_, err = c.Control(win.SERVICE_CONTROL_STOP)
		wantCode(t, err, 0)
	})
}

// Dependents come in reverse start order; which of them is a switch.
func TestServices_Dependents(t *testing.T) {
	specs := []ServiceSpec{
		{Name: "C", State: "running", DependsOn: []string{"B"}},
		{Name: "A", State: "running"},
		{Name: "B", State: "paused", DependsOn: []string{"A"}},
		{Name: "D", DependsOn: []string{"A"}},
	}
	for _, tt := range []struct {
		direct bool
		states uint32
		want   []string
	}{
		{false, win.SERVICE_ACTIVE, []string{"C", "B"}},
		{false, win.SERVICE_INACTIVE, []string{"D"}},
		{false, win.SERVICE_ACTIVE | win.SERVICE_INACTIVE, []string{"D", "C", "B"}},
		{true, win.SERVICE_ACTIVE, []string{"B"}},
	} {
		l := serviceLab(t, Switches{DirectDependents: tt.direct}, specs...)
		list, err := l.service("A", anyService).Dependents(tt.states)
		l.must(err)
		var got []string
		for _, d := range list {
			got = append(got, d.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("direct %v, states %d: got %q, want %q", tt.direct, tt.states, got, tt.want)
		}
	}
}

func TestServices_Unstoppable(t *testing.T) {
	l := serviceLab(t, Switches{})
	s := l.service("disk", anyService)
	_, err := s.Control(win.SERVICE_CONTROL_STOP)
	wantCode(t, err, win.ERROR_INVALID_SERVICE_CONTROL)
	status, err := s.Status()
	if err != nil || status.Type != win.SERVICE_KERNEL_DRIVER || status.ControlsAccepted != 0 {
		t.Errorf("%+v, %v", status, err)
	}
}

// What Windows starts by itself runs again after a reboot, in its order, and
// nothing else does.
func TestServices_Reboot(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		takes := TransitionSpec{Takes: Duration(2 * time.Second)}
		l := serviceLab(t, Switches{},
			ServiceSpec{Name: "A", Starting: takes},
			ServiceSpec{Name: "B", Start: "auto", State: "stopped", Starting: takes, DependsOn: []string{"A"}},
			ServiceSpec{Name: "C", Start: "delayed", StartCode: 1069},
			ServiceSpec{Name: "D", State: "paused"},
		)
		l.Reboot()
		time.Sleep(3 * time.Second)
		l.wantState(l.service("A", anyService), win.SERVICE_RUNNING, 0, 0)
		l.wantState(l.service("B", anyService), win.SERVICE_START_PENDING, 0, 0)
		l.wantState(l.service("C", anyService), win.SERVICE_STOPPED, 0, 1077)
		l.wantState(l.service("D", anyService), win.SERVICE_STOPPED, 0, 1077)
		l.wantState(l.service("MSiSCSI", anyService), win.SERVICE_STOPPED, 0, 1077)
		l.wantState(l.service("RpcSs", win.ServiceQueryStatus), win.SERVICE_RUNNING, 0, 0)
	})
}

func TestSetServiceState(t *testing.T) {
	l := serviceLab(t, Switches{})
	before := l.Snapshot()
	l.must(l.SetServiceState("msiscsi", "paused"))
	if diff, want := Diff(before, l.Snapshot()), "~ service MSiSCSI: manual, stopped -> manual, paused\n"; diff != want {
		t.Errorf("got %q, want %q", diff, want)
	}
	for _, bad := range [][2]string{{"no such", "running"}, {"MSiSCSI", "asleep"}} {
		if err := l.SetServiceState(bad[0], bad[1]); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestNew_RefusesServices(t *testing.T) {
	for text, specs := range map[string][]ServiceSpec{
		"no name":           {{}},
		"name is taken":     {{Name: "a"}, {Name: "A"}},
		"unknown":           {{Name: "a", Start: "automatic"}},
		`type "exe"`:        {{Name: "a", Type: "exe"}},
		`state "ready"`:     {{Name: "a", State: "ready"}},
		"depends on itself": {{Name: "a", DependsOn: []string{"b"}}, {Name: "b", DependsOn: []string{"A"}}},
	} {
		if _, err := New(NodeSpec{Version: SpecVersion, Services: specs}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v, want %q", specs, err, text)
		}
	}
}

func TestFirmwareTable(t *testing.T) {
	spec := BIOSSpec{Manufacturer: "VMware, Inc.", Product: "VMware7,1", Serial: "VMware-56 4d "}
	n, err := New(NodeSpec{Version: SpecVersion, BIOS: &spec})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := n.Host().System.FirmwareTable(win.FirmwareRSMB, 0)
	if err != nil {
		t.Fatal(err)
	}
	table, err := abi.DecodeSMBIOS(raw)
	if err != nil {
		t.Fatal(err)
	}
	system, ok, err := table.Structure(abi.SMBIOSTypeSystem)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	for offset, want := range map[int]string{4: spec.Manufacturer, 5: spec.Product, 6: "", 7: spec.Serial} {
		if got := system.Text(offset); got != want {
			t.Errorf("text at %d: %q, want %q", offset, got, want)
		}
	}
	for _, other := range [][2]uint32{{0x41435049, 0}, {win.FirmwareRSMB, 1}} {
		_, err := n.Host().System.FirmwareTable(other[0], other[1])
		wantCode(t, err, win.ERROR_INVALID_FUNCTION)
	}
	if _, err := New(NodeSpec{Version: SpecVersion, BIOS: &BIOSSpec{Serial: "a\x00b"}}); err == nil {
		t.Error("a NUL is accepted")
	}
}

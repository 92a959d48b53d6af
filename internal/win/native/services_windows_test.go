// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/test/wine"
)

// asService is the first argument of this program when it runs as a service; the
// next is its name, then how it behaves.
const asService = "run-as-service"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == asService {
		if err := svc.Run(os.Args[2], behaviour(os.Args[3])); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// behaviour is a service: "quick", "slow" to start, "ends" with exit code 7 as
// soon as it runs, or "fails" in place of running.
type behaviour string

func (b behaviour) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	status <- svc.Status{State: svc.StartPending, CheckPoint: 1, WaitHint: 5000}
	switch b {
	case "slow":
		for point := range uint32(4) {
			time.Sleep(500 * time.Millisecond)
			status <- svc.Status{State: svc.StartPending, CheckPoint: 2 + point, WaitHint: 5000}
		}
	case "fails":
		return false, uint32(win.ERROR_FILE_NOT_FOUND)
	}
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop}
	if b == "ends" {
		return true, 7
	}
	for r := range requests {
		if r.Cmd == svc.Stop {
			break
		}
		status <- r.CurrentStatus
	}
	status <- svc.Status{State: svc.StopPending, WaitHint: 5000}
	return false, 0
}

// install makes a service of this test and takes it away at its end.
func install(t *testing.T, how behaviour, config mgr.Config) (name string) {
	t.Helper()
	name = fmt.Sprintf("csi-proxy-test-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	manager, err := mgr.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Disconnect() }()
	made, err := manager.CreateService(name, program, config, asService, name, string(how))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = made.Control(svc.Stop) // most are stopped by then
		if err := errors.Join(made.Delete(), made.Close()); err != nil {
			t.Error(err)
		}
	})
	return name
}

func openService(t *testing.T, name string, access win.Access) win.Service {
	t.Helper()
	s, err := native.Host().Services.Open(name, access)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func wantCode(t *testing.T, err error, want win.Errno) {
	t.Helper()
	if !errors.Is(err, want) || err != error(want) { //nolint:errorlint // bare codes are the contract
		t.Errorf("got %v (%T), want %d", err, err, uint32(want))
	}
}

// waitFor looks at a service until it is in a state.
func waitFor(t *testing.T, s win.Service, state uint32) win.ServiceStatus {
	t.Helper()
	for {
		status, err := s.Status()
		if err != nil {
			t.Fatal(err)
		}
		if status.State == state {
			return status
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("%+v, not state %d", status, state)
		}
	}
}

func startNow(t *testing.T, s win.Service) {
	t.Helper()
	if err := start(s); err != nil {
		t.Fatal(err)
	}
}

// start starts a service; under Wine the database may be locked for a while
// after its start (wine.md 3).
func start(s win.Service) error {
	err := s.Start()
	for range 100 {
		if !errors.Is(err, win.ERROR_SERVICE_DATABASE_LOCKED) {
			break
		}
		time.Sleep(100 * time.Millisecond)
		err = s.Start()
	}
	return err
}

const allRights = win.ServiceQueryConfig | win.ServiceQueryStatus | win.ServiceEnumerateDependents | win.ServiceStart | win.ServiceStop

func TestServices_LifeCycle(t *testing.T) {
	name := install(t, "quick", mgr.Config{DisplayName: "A test of csi-proxy, Zoë", StartType: mgr.StartManual})
	s := openService(t, strings.ToUpper(name), allRights)

	config, err := s.Config()
	want := win.ServiceConfig{Type: win.SERVICE_WIN32_OWN_PROCESS, StartType: win.SERVICE_DEMAND_START, DisplayName: "A test of csi-proxy, Zoë"}
	if err != nil || config != want {
		t.Errorf("got %+v, %v; want %+v", config, err, want)
	}
	status, err := s.Status()
	if err != nil || status.State != win.SERVICE_STOPPED || status.Type != win.SERVICE_WIN32_OWN_PROCESS || status.ProcessID != 0 {
		t.Errorf("at first %+v, %v", status, err)
	}
	_, err = s.Control(win.SERVICE_CONTROL_STOP)
	wantCode(t, err, win.ERROR_SERVICE_NOT_ACTIVE)

	startNow(t, s)
	status = waitFor(t, s, win.SERVICE_RUNNING)
	if status.ProcessID == 0 || status.ControlsAccepted&win.SERVICE_ACCEPT_STOP == 0 {
		t.Errorf("running %+v", status)
	}
	wantCode(t, s.Start(), win.ERROR_SERVICE_ALREADY_RUNNING)

	// It may still be running in the status of that moment.
	status, err = s.Control(win.SERVICE_CONTROL_STOP)
	if err != nil || status.Type != win.SERVICE_WIN32_OWN_PROCESS {
		t.Errorf("stopping %+v, %v", status, err)
	}
	if status = waitFor(t, s, win.SERVICE_STOPPED); status.ExitCode != 0 {
		t.Errorf("stopped %+v", status)
	}
}

func TestServices_DelayedStart(t *testing.T) {
	for _, delayed := range []bool{false, true} {
		t.Run(fmt.Sprint(delayed), func(t *testing.T) {
			name := install(t, "quick", mgr.Config{StartType: mgr.StartAutomatic, DelayedAutoStart: delayed})
			got, err := openService(t, name, win.ServiceQueryConfig).DelayedStart()
			if err != nil || got != delayed {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// While a service starts it takes no control, and its status shows how far it
// is.
func TestServices_Pending(t *testing.T) {
	name := install(t, "slow", mgr.Config{StartType: mgr.StartManual})
	s := openService(t, name, allRights)
	startNow(t, s)
	for {
		status, err := s.Status()
		if err != nil || status.State != win.SERVICE_START_PENDING {
			t.Fatalf("%+v, %v", status, err)
		}
		if status.CheckPoint >= 2 && status.WaitHint == 5000 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	_, err := s.Control(win.SERVICE_CONTROL_STOP)
	wantCode(t, err, wine.ControlWhilePending())
	waitFor(t, s, win.SERVICE_RUNNING)
}

func TestServices_ExitCodes(t *testing.T) {
	for how, want := range map[behaviour][2]uint32{
		"fails": {2, 0},
		"ends":  {uint32(win.ERROR_SERVICE_SPECIFIC_ERROR), 7},
	} {
		t.Run(string(how), func(t *testing.T) {
			s := openService(t, install(t, how, mgr.Config{StartType: mgr.StartManual}), allRights)
			if err := start(s); err != nil && !wine.MissesStart(err) {
				t.Fatal(err)
			}
			status := waitFor(t, s, win.SERVICE_STOPPED)
			if got := [2]uint32{status.ExitCode, status.ServiceExitCode}; got != want {
				t.Errorf("exit codes %d, want %d", got, want)
			}
		})
	}
}

func TestServices_Refused(t *testing.T) {
	for label, name := range map[string]string{
		"missing": "csi-proxy-test-no-such-service", "pattern": "csi-proxy-test-*", "display name": "no such display name",
	} {
		t.Run(label, func(t *testing.T) {
			_, err := native.Host().Services.Open(name, win.ServiceQueryStatus)
			wantCode(t, err, win.ERROR_SERVICE_DOES_NOT_EXIST)
		})
	}
	t.Run("NUL", func(t *testing.T) {
		_, err := native.Host().Services.Open("a\x00b", win.ServiceQueryStatus)
		wantCode(t, err, win.ERROR_INVALID_NAME)
	})
	t.Run("disabled", func(t *testing.T) {
		name := install(t, "quick", mgr.Config{StartType: mgr.StartDisabled})
		wantCode(t, openService(t, name, win.ServiceStart).Start(), win.ERROR_SERVICE_DISABLED)
	})
}

// A handle can do what it was opened for and no more, and nothing once closed.
func TestServices_LeastRights(t *testing.T) {
	name := install(t, "quick", mgr.Config{StartType: mgr.StartManual})
	calls := map[win.Access]func(s win.Service) error{
		win.ServiceQueryConfig:         func(s win.Service) error { _, err := s.Config(); return err },
		win.ServiceQueryStatus:         func(s win.Service) error { _, err := s.Status(); return err },
		win.ServiceEnumerateDependents: func(s win.Service) error { _, err := s.Dependents(win.SERVICE_ACTIVE); return err },
		win.ServiceStart:               win.Service.Start,
		win.ServiceStop:                func(s win.Service) error { _, err := s.Control(win.SERVICE_CONTROL_STOP); return err },
	}
	for right, call := range calls {
		if right == win.ServiceEnumerateDependents && wine.Running() {
			continue // a stub that looks at nothing
		}
		wantCode(t, call(openService(t, name, allRights&^right)), win.ERROR_ACCESS_DENIED)
	}
	closed, err := native.Host().Services.Open(name, allRights)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(closed.Close(), closed.Close()); err != nil {
		t.Error(err)
	}
	for _, call := range calls {
		wantCode(t, call(closed), win.ERROR_INVALID_HANDLE)
	}
}

func TestServices_Dependents(t *testing.T) {
	name := install(t, "quick", mgr.Config{StartType: mgr.StartManual})
	list, err := openService(t, name, allRights).Dependents(win.SERVICE_ACTIVE | win.SERVICE_INACTIVE)
	if err != nil || len(list) != 0 {
		t.Errorf("of a service without: %v, %v", list, err)
	}
	t.Run("some", func(t *testing.T) {
		wine.Need(t, wine.Dependents)
		under := install(t, "quick", mgr.Config{StartType: mgr.StartManual, Dependencies: []string{name}})
		above := install(t, "quick", mgr.Config{StartType: mgr.StartManual, Dependencies: []string{under}})
		s := openService(t, name, allRights)
		if list, err := s.Dependents(win.SERVICE_ACTIVE); err != nil || len(list) != 0 {
			t.Errorf("active: %v, %v", list, err)
		}
		list, err := s.Dependents(win.SERVICE_INACTIVE)
		if err != nil || !slices.ContainsFunc(list, func(d win.DependentService) bool { return d.Name == under && d.Status.State == win.SERVICE_STOPPED }) {
			t.Errorf("inactive: %v, %v", list, err)
		}
		t.Logf("indirect dependents are listed: %v", slices.ContainsFunc(list, func(d win.DependentService) bool { return d.Name == above }))
	})
}

func TestSystem_FirmwareTable(t *testing.T) {
	raw, err := native.Host().System.FirmwareTable(win.FirmwareRSMB, 0)
	if err != nil {
		t.Fatal(err)
	}
	table, err := abi.DecodeSMBIOS(raw)
	if err != nil || table.Major < 2 {
		t.Fatalf("%+v, %v", table, err)
	}
	if found, ok, err := table.Structure(abi.SMBIOSTypeSystem); !ok || err != nil || len(found.Fields) < 20 {
		t.Errorf("system %+v, %v, %v", found, ok, err)
	}
	_, err = native.Host().System.FirmwareTable(0x58585858, 0)
	wantCode(t, err, win.ERROR_INVALID_FUNCTION)
}

// The group on this machine: it waits for real services.
func TestGroup(t *testing.T) {
	group, err := system.New(hostapi.New())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	status := func(name string) system.ServiceStatus {
		t.Helper()
		resp, err := group.GetService(ctx, &system.GetServiceRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status
	}
	t.Run("serial number", func(t *testing.T) {
		resp, err := group.GetBIOSSerialNumber(ctx, &system.GetBIOSSerialNumberRequest{})
		if err != nil && !errors.Is(err, errdefs.ErrNotFound) {
			t.Error(err)
		}
		t.Logf("serial number %q", resp.SerialNumber)
	})
	for _, how := range []behaviour{"quick", "slow"} {
		t.Run(string(how), func(t *testing.T) {
			name := install(t, how, mgr.Config{StartType: mgr.StartManual})
			for range 2 {
				if _, err := group.StartService(ctx, &system.StartServiceRequest{Name: name}); err != nil {
					t.Fatal(err)
				}
				if got := status(name); got != system.SERVICE_STATUS_RUNNING {
					t.Errorf("started: %s", got)
				}
			}
			for _, force := range []bool{false, true} {
				if _, err := group.StopService(ctx, &system.StopServiceRequest{Name: name, Force: force}); err != nil {
					t.Fatal(err)
				}
				if got := status(name); got != system.SERVICE_STATUS_STOPPED {
					t.Errorf("stopped: %s", got)
				}
			}
		})
	}
	t.Run("fails", func(t *testing.T) {
		name := install(t, "fails", mgr.Config{StartType: mgr.StartManual})
		_, err := group.StartService(ctx, &system.StartServiceRequest{Name: name})
		if !wine.MissesStart(err) && (!errors.Is(err, errdefs.ErrServiceEnded) || !errors.Is(err, win.ERROR_FILE_NOT_FOUND)) {
			t.Error(err)
		}
	})
	t.Run("missing", func(t *testing.T) {
		_, err := group.GetService(ctx, &system.GetServiceRequest{Name: "csi-proxy-test-no-such-service"})
		if !errors.Is(err, errdefs.ErrNotFound) {
			t.Error(err)
		}
	})
	t.Run("protected", func(t *testing.T) {
		_, err := group.StopService(ctx, &system.StopServiceRequest{Name: "rpcss", Force: true})
		if !errors.Is(err, errdefs.ErrProtectedService) {
			t.Error(err)
		}
	})
}

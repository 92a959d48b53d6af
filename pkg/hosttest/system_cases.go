// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
)

func systemCases() []Case {
	return slices.Concat(firmwareCases(), lookCases(), startCases(), stopCases())
}

func firmwareCases() []Case {
	serial := func(firmware, want string) func(*Host) {
		return func(h *Host) {
			resp, err := h.System.GetBIOSSerialNumber(h.Context(), &system.GetBIOSSerialNumberRequest{})
			h.must(err)
			if resp.SerialNumber != want {
				h.Errorf("of %q: got %q, want %q", firmware, resp.SerialNumber, want)
			}
		}
	}
	var cases []Case
	for _, is := range []struct{ shows, firmware, want string }{
		{"the serial number is the firmware's", "0000-0014-8173-2290-5672-1135-24", "0000-0014-8173-2290-5672-1135-24"},
		{"blanks at the end of the serial number are cut", "VMware-56 4d  ", "VMware-56 4d"},
		{"a placeholder comes through as it is", "None", "None"},
		{"a serial number of blanks is empty", "   ", ""},
	} {
		cases = append(cases, Case{
			IDs: []string{"SYS-1", "S03"}, Shows: is.shows, Needs: []Ability{Model},
			Spec: func(s *simhost.NodeSpec) { s.BIOS = &simhost.BIOSSpec{Product: "p", Serial: is.firmware} },
			Test: serial(is.firmware, is.want),
		})
	}
	return cases
}

func lookCases() []Case {
	return []Case{
		{IDs: []string{"SYS-2"}, Shows: "a service is found by its key name in any case, not by its display name", Needs: []Ability{Model}, Test: func(h *Host) {
			for _, name := range []string{"MSiSCSI", "msiscsi"} {
				if got := h.service(name); got.DisplayName != "Microsoft iSCSI Initiator Service" {
					h.Errorf("%s: %+v", name, got)
				}
			}
			for _, name := range []string{"Microsoft iSCSI Initiator Service", "no such service"} {
				_, err := h.System.GetService(h.Context(), &system.GetServiceRequest{Name: name})
				h.wantKind(err, errdefs.NotFound)
			}
		}},
		{
			IDs: []string{"SYS-3"}, Shows: "start types have the numbers of the wire", Needs: []Ability{Model},
			Spec: servicesFrom([]string{"boot", "system", "auto", "delayed", "manual", "disabled"}, func(start string) simhost.ServiceSpec {
				return simhost.ServiceSpec{Name: start, Start: start}
			}),
			Test: func(h *Host) {
				for i, start := range []string{"boot", "system", "auto", "manual", "disabled"} {
					if got := h.service(start); uint32(got.StartType) != uint32(i) || got.DelayedStart {
						h.Errorf("%s: %+v, want %d", start, got, i)
					}
				}
				if got := h.service("delayed"); got.StartType != 2 || !got.DelayedStart {
					h.Errorf("delayed: %+v", got)
				}
			},
		},
		{
			IDs: []string{"SYS-3"}, Shows: "states have the numbers of the wire", Needs: []Ability{Model},
			Spec: servicesFrom(states, func(state string) simhost.ServiceSpec {
				stuck := simhost.TransitionSpec{Stuck: true}
				return simhost.ServiceSpec{Name: state, State: state, Starting: stuck, Stopping: stuck}
			}),
			Test: func(h *Host) {
				for i, state := range states {
					if got := h.service(state).Status; uint32(got) != uint32(i+1) {
						h.Errorf("%s: %d, want %d", state, got, i+1)
					}
				}
			},
		},
		{IDs: []string{"SYS-4"}, Shows: "a name is no pattern, and nothing is stopped by one", Needs: []Ability{Model}, Test: func(h *Host) {
			before := h.Node.Snapshot()
			for _, name := range []string{"*", "MSi*", "[M]SiSCSI", "%", "x' OR '1'='1", "$(MSiSCSI)"} {
				_, err := h.System.GetService(h.Context(), &system.GetServiceRequest{Name: name})
				h.wantKind(err, errdefs.NotFound)
				h.wantKind(h.startService(name), errdefs.NotFound)
				h.wantKind(h.stopService(name, true), errdefs.NotFound)
			}
			h.wantUnchanged(before)
		}},
	}
}

// states are the states of services in the order of their numbers, from 1.
var states = []string{"stopped", "startPending", "stopPending", "running", "continuePending", "pausePending", "paused"}

func startCases() []Case {
	return []Case{
		{IDs: []string{"SYS-5"}, Shows: "a start returns when the service runs, and does nothing for one that does", Needs: []Ability{Model, Time}, Spec: withServices(
			simhost.ServiceSpec{Name: "X", Starting: simhost.TransitionSpec{Takes: simhost.Duration(7 * time.Second)}},
		), Test: func(h *Host) {
			asked := h.askedOfServices()
			h.must(h.startService("X"))
			h.wantStatus("X", system.SERVICE_STATUS_RUNNING)
			h.must(h.startService("X"))
			h.wantAsked(asked, "start X")
			h.wantKind(h.startService("none"), errdefs.NotFound)
		}},
		{IDs: []string{"SYS-5"}, Shows: "a start is given up after 30 s", Needs: []Ability{Model, Time}, Spec: withServices(
			simhost.ServiceSpec{Name: "X", Starting: simhost.TransitionSpec{Stuck: true}},
		), Test: func(h *Host) {
			begin := time.Now()
			err := h.startService("X")
			h.wantKind(err, errdefs.DeadlineExceeded)
			h.wantText(err, "timed out waiting for the service to become running")
			if took := time.Since(begin); took != 30*time.Second {
				h.Errorf("after %v", took)
			}
		}},
		{IDs: []string{"SYS-6"}, Shows: "a refused start keeps its code", Needs: []Ability{Model}, Spec: withServices(
			simhost.ServiceSpec{Name: "disabled", Start: "disabled"}, simhost.ServiceSpec{Name: "no logon", StartCode: 1069},
		), Test: func(h *Host) {
			for _, refused := range []struct {
				name string
				code win.Errno
			}{{"disabled", win.ERROR_SERVICE_DISABLED}, {"no logon", 1069}} {
				err := h.startService(refused.name)
				h.wantKind(err, errdefs.FailedPrecondition)
				if !errors.Is(err, refused.code) || strings.Contains(err.Error(), "%!") {
					h.Error(err)
				}
				h.wantStatus(refused.name, system.SERVICE_STATUS_STOPPED)
			}
		}},
		{IDs: []string{"SYS-7"}, Shows: "a service that ran and died is not said to be late", Needs: []Ability{Model, Time}, Spec: withServices(
			simhost.ServiceSpec{Name: "X", Starting: simhost.TransitionSpec{Takes: simhost.Duration(time.Second)}, Dies: simhost.Duration(10 * time.Millisecond)},
		), Test: func(h *Host) {
			err := h.startService("X")
			h.wantKind(err, errdefs.Unavailable)
			if !errors.Is(err, errdefs.ErrServiceEnded) {
				h.Error(err)
			}
		}},
		{IDs: []string{"SYS-7"}, Shows: "a service that runs is seen at the first look", Needs: []Ability{Model, Time}, Spec: withServices(
			simhost.ServiceSpec{Name: "X", State: "running"},
		), Test: func(h *Host) {
			begin := time.Now()
			h.must(h.startService("X"))
			if took := time.Since(begin); took != 0 {
				h.Errorf("after %v", took)
			}
		}},
	}
}

// chain is A, on which B depends, on which C depends, all running but those that
// edit changes.
func chain(edit func(a, b, c *simhost.ServiceSpec)) func(*simhost.NodeSpec) {
	a := simhost.ServiceSpec{Name: "A", State: "running"}
	b := simhost.ServiceSpec{Name: "B", State: "running", DependsOn: []string{"A"}}
	c := simhost.ServiceSpec{Name: "C", State: "running", DependsOn: []string{"B"}}
	edit(&a, &b, &c)
	return withServices(a, b, c)
}

func stopCases() []Case {
	none := func(_, _, _ *simhost.ServiceSpec) {}
	return []Case{
		{IDs: []string{"SYS-8"}, Shows: "a stop returns when the service is stopped, and asks nothing of one that is", Needs: []Ability{Model, Time}, Spec: withServices(
			simhost.ServiceSpec{Name: "X", State: "running", Stopping: simhost.TransitionSpec{Takes: simhost.Duration(7 * time.Second)}},
		), Test: func(h *Host) {
			asked := h.askedOfServices()
			h.must(h.stopService("X", false))
			h.wantStatus("X", system.SERVICE_STATUS_STOPPED)
			h.must(h.stopService("X", false))
			h.wantAsked(asked, "stop X")
		}},
		{IDs: []string{"SYS-9"}, Shows: "without Force running dependents are in the way, and named", Needs: []Ability{Model}, Spec: chain(none), Test: func(h *Host) {
			before := h.Node.Snapshot()
			err := h.stopService("A", false)
			h.wantKind(err, errdefs.FailedPrecondition)
			if !errors.Is(err, errdefs.ErrDependentServices) || !errors.Is(err, win.ERROR_DEPENDENT_SERVICES_RUNNING) {
				h.Error(err)
			}
			h.wantText(err, `dependent services are not stopped: "C", "B"`)
			h.wantUnchanged(before)
		}},
		{IDs: []string{"SYS-10", "SYS-11"}, Shows: "with Force the deepest dependents stop first", Needs: []Ability{Model}, Spec: chain(none), Test: func(h *Host) {
			asked := h.askedOfServices()
			h.must(h.stopService("A", true))
			h.wantAsked(asked, "stop C", "stop B", "stop A")
		}},
		{IDs: []string{"SYS-10"}, Shows: "the first failure ends a stop and names the service that failed", Needs: []Ability{Model}, Spec: chain(func(_, b, _ *simhost.ServiceSpec) {
			b.Unstoppable = true
		}), Test: func(h *Host) {
			asked := h.askedOfServices()
			err := h.stopService("A", true)
			h.wantKind(err, errdefs.FailedPrecondition)
			h.wantText(err, `stop dependent service "B"`)
			h.wantStatus("A", system.SERVICE_STATUS_RUNNING)
			h.wantAsked(asked, "stop C")
		}},
		{IDs: []string{"SYS-11"}, Shows: "a stopped dependent is skipped", Needs: []Ability{Model}, Spec: chain(func(_, b, c *simhost.ServiceSpec) {
			b.State, c.State = "stopped", "stopped"
		}), Test: func(h *Host) {
			asked := h.askedOfServices()
			h.must(h.stopService("A", true))
			h.wantAsked(asked, "stop A")
		}},
		{IDs: []string{"SYS-12"}, Shows: "a paused dependent is stopped, too", Needs: []Ability{Model}, Spec: chain(func(_, _, c *simhost.ServiceSpec) {
			c.State = "paused"
		}), Test: func(h *Host) {
			asked := h.askedOfServices()
			h.must(h.stopService("A", true))
			h.wantAsked(asked, "stop C", "stop B", "stop A")
		}},
		{IDs: []string{"SYS-13"}, Shows: "start and stop of MSiSCSI", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.startService("MSiSCSI"))
			h.wantStatus("MSiSCSI", system.SERVICE_STATUS_RUNNING)
			h.must(h.stopService("MSiSCSI", false))
			h.wantStatus("MSiSCSI", system.SERVICE_STATUS_STOPPED)
		}},
		{IDs: []string{"S01", "SYS-14"}, Shows: "what keeps the node alive and safe is never stopped", Needs: []Ability{Model}, Spec: chain(func(_, b, c *simhost.ServiceSpec) {
			b.Name, c.DependsOn = "KUBELET", []string{"KUBELET"}
		}), Test: func(h *Host) {
			before := h.Node.Snapshot()
			for _, name := range []string{"WinDefend", "kubelet", "ContainerD", "RpcSs", "A"} { // kubelet depends on A
				err := h.stopService(name, true)
				h.wantKind(err, errdefs.PermissionDenied)
				if !errors.Is(err, errdefs.ErrProtectedService) {
					h.Error(err)
				}
			}
			h.wantUnchanged(before)
		}},
	}
}

// withServices adds services to a node.
func withServices(services ...simhost.ServiceSpec) func(*simhost.NodeSpec) {
	return func(s *simhost.NodeSpec) { s.Services = append(s.Services, services...) }
}

func servicesFrom(words []string, service func(word string) simhost.ServiceSpec) func(*simhost.NodeSpec) {
	var services []simhost.ServiceSpec
	for _, word := range words {
		services = append(services, service(word))
	}
	return withServices(services...)
}

func (h *Host) service(name string) *system.GetServiceResponse {
	h.Helper()
	resp, err := h.System.GetService(h.Context(), &system.GetServiceRequest{Name: name})
	h.must(err)
	return resp
}

func (h *Host) wantStatus(name string, want system.ServiceStatus) {
	h.Helper()
	if got := h.service(name).Status; got != want {
		h.Errorf("%s is %s, want %s", name, got, want)
	}
}

func (h *Host) startService(name string) error {
	_, err := h.System.StartService(h.Context(), &system.StartServiceRequest{Name: name})
	return err
}

func (h *Host) stopService(name string, force bool) error {
	_, err := h.System.StopService(h.Context(), &system.StopServiceRequest{Name: name, Force: force})
	return err
}

// askedOfServices keeps what is asked of the node's services from now on, as
// "start X" and "stop X", where they accept it.
func (h *Host) askedOfServices() *[]string {
	var asked []string
	words := map[string]string{"Service.Start": "start ", "Service.Control": "stop "}
	h.Node.OnCall(func(c simhost.Call, do func() error) error {
		err := do()
		if word := words[c.Method]; err == nil && word != "" {
			asked = append(asked, word+c.Subject)
		}
		return err
	})
	return &asked
}

func (h *Host) wantAsked(asked *[]string, want ...string) {
	h.Helper()
	if !slices.Equal(*asked, want) {
		h.Errorf("asked for %q, want %q", *asked, want)
	}
}

// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
)

// chain is A, on which B depends, on which C depends, all running.
func chain(edit ...func(specs []simhost.ServiceSpec)) simhost.NodeSpec {
	specs := []simhost.ServiceSpec{
		{Name: "A", State: "running"},
		{Name: "B", State: "running", DependsOn: []string{"A"}},
		{Name: "C", State: "running", DependsOn: []string{"B"}},
	}
	for _, f := range edit {
		f(specs)
	}
	return services(specs...)
}

// SYS-9: where the dependents cannot be listed, the refusal is still told.
func TestStopService_SYS9_DependentsUnknown(t *testing.T) {
	onSite(t, chain(), func(s *site) {
		s.hook = func(c simhost.Call, do func() error) error {
			if c.Method == "Service.Dependents" {
				return win.ERROR_ACCESS_DENIED
			}
			return do()
		}
		err := s.stop("A", false)
		s.wantKind(err, errdefs.FailedPrecondition, 1051)
		if !errors.Is(err, errdefs.ErrDependentServices) || !errors.Is(err, win.ERROR_ACCESS_DENIED) {
			s.Error(err)
		}
	})
}

// SYS-10, SYS-11: the deepest dependents first, then the service; what is
// stopped already is left alone; nothing is started again.
func TestStopService_SYS10_SYS11(t *testing.T) {
	for name, tt := range map[string]struct {
		spec simhost.NodeSpec
		want []string
	}{
		"all run":    {chain(), []string{"stop C", "stop B", "stop A"}},
		"B stopped":  {chain(func(s []simhost.ServiceSpec) { s[1].State, s[2].State = "stopped", "stopped" }), []string{"stop A"}},
		"only B":     {chain(func(s []simhost.ServiceSpec) { s[2].State = "stopped" }), []string{"stop B", "stop A"}},
		"A stopped":  {chain(func(s []simhost.ServiceSpec) { s[0].State, s[1].State, s[2].State = "stopped", "stopped", "stopped" }), nil},
		"each takes": {chain(func(s []simhost.ServiceSpec) { s[1].Stopping.Takes, s[2].Stopping.Takes = seconds(5), seconds(6) }), []string{"stop C", "stop B", "stop A"}},
		"diamond": {services(
			simhost.ServiceSpec{Name: "A", State: "running"},
			simhost.ServiceSpec{Name: "B1", State: "running", DependsOn: []string{"A"}},
			simhost.ServiceSpec{Name: "B2", State: "running", DependsOn: []string{"A"}},
			simhost.ServiceSpec{Name: "C", State: "running", DependsOn: []string{"B1", "B2"}},
		), []string{"stop C", "stop B2", "stop B1", "stop A"}},
	} {
		for _, direct := range []bool{false, true} {
			label := name
			if direct {
				label += ", only direct dependents listed"
			}
			t.Run(label, func(t *testing.T) {
				tt.spec.Switches.DirectDependents = direct
				onSite(t, tt.spec, func(s *site) {
					s.must(s.stop("A", true))
					s.wantStatus("A", system.SERVICE_STATUS_STOPPED)
					if name == "diamond" && direct { // B1 and B2 in any order
						return
					}
					s.wantRequests(tt.want...)
				})
			})
		}
	}
}

// SYS-12: every dependent that is not stopped is stopped, once.
func TestStopService_SYS12(t *testing.T) {
	for _, state := range []string{"startPending", "stopPending", "running", "continuePending", "pausePending", "paused"} {
		t.Run(state, func(t *testing.T) {
			spec := chain(func(s []simhost.ServiceSpec) {
				takes := simhost.TransitionSpec{Takes: seconds(3)}
				s[2].State, s[2].Starting, s[2].Stopping = state, takes, takes
			})
			onSite(t, spec, func(s *site) {
				s.must(s.stop("A", true))
				for _, name := range []string{"A", "B", "C"} {
					s.wantStatus(name, system.SERVICE_STATUS_STOPPED)
				}
				want := []string{"stop C", "stop B", "stop A"}
				if state == "stopPending" {
					want = want[1:]
				}
				s.wantRequests(want...)
			})
		})
	}
}

// SYS-10: the first failure ends it, and names the service that failed.
func TestStopService_SYS10_NamesTheFailing(t *testing.T) {
	onSite(t, chain(func(s []simhost.ServiceSpec) { s[1].Unstoppable = true }), func(s *site) {
		err := s.stop("A", true)
		s.wantKind(err, errdefs.FailedPrecondition, 1052)
		if !strings.Contains(err.Error(), `"A": stop dependent service "B"`) {
			s.Error(err)
		}
		s.wantStatus("A", system.SERVICE_STATUS_RUNNING)
		s.wantRequests("stop C")
	})
}

// The list of dependents is of a moment: one that is started meanwhile is
// stopped too.
func TestStopService_DependentAppears(t *testing.T) {
	onSite(t, chain(func(s []simhost.ServiceSpec) { s[1].State, s[2].State = "stopped", "stopped" }), func(s *site) {
		s.before("Service.Control", "A", func() { s.set("B", "running") })
		s.must(s.stop("A", true))
		s.wantRequests("stop B", "stop A")
	})
}

// One that comes back is not chased.
func TestStopService_DependentComesBack(t *testing.T) {
	onSite(t, chain(), func(s *site) {
		s.before("Service.Control", "A", func() { s.set("B", "running") })
		err := s.stop("A", true)
		s.wantKind(err, errdefs.Unavailable, 0)
		if !strings.Contains(err.Error(), `"B": unavailable: it was stopped and is active again`) {
			s.Error(err)
		}
		s.wantRequests("stop C", "stop B")
	})
}

// Windows says that dependents run and lists none: that ends after five times.
func TestStopService_DependentsNeverListed(t *testing.T) {
	onSite(t, chain(), func(s *site) {
		asked := 0
		s.hook = func(c simhost.Call, do func() error) error {
			if c.Method == "Service.Control" {
				asked++
				return win.ERROR_DEPENDENT_SERVICES_RUNNING
			}
			return do()
		}
		s.set("B", "stopped")
		s.set("C", "stopped")
		s.wantKind(s.stop("A", true), errdefs.Unavailable, 1051)
		if asked != 5 {
			s.Errorf("asked %d times", asked)
		}
	})
}

// field-reports.md S01: what is protected stays, by whatever case it is named,
// also where it is only a dependent, and nothing else is stopped on the way.
func TestStopService_S01_Protected(t *testing.T) {
	t.Run("by name", func(t *testing.T) {
		s := newSite(t, simhost.NodeSpec{})
		for _, name := range system.ProtectedServices() {
			for _, named := range []string{name, strings.ToUpper(name), strings.ToLower(name)} {
				for _, force := range []bool{false, true} {
					err := s.stop(named, force)
					s.wantKind(err, errdefs.PermissionDenied, 0)
					if !errors.Is(err, errdefs.ErrProtectedService) {
						t.Errorf("%s: %v", named, err)
					}
				}
			}
		}
		if n := s.node.Calls().Total(); n != 0 {
			t.Errorf("%d boundary calls", n)
		}
	})
	for _, must := range []string{"RpcSs", "SamSs", "EventLog", "WinDefend", "mpssvc", "kubelet", "containerd"} {
		if err := newSite(t, simhost.NodeSpec{}).stop(must, true); !errors.Is(err, errdefs.ErrProtectedService) {
			t.Errorf("%s: %v", must, err)
		}
	}
	for _, direct := range []bool{false, true} {
		t.Run("as a dependent", func(t *testing.T) {
			spec := services(
				simhost.ServiceSpec{Name: "A", State: "running"},
				simhost.ServiceSpec{Name: "B", State: "running", DependsOn: []string{"A"}},
				simhost.ServiceSpec{Name: "KUBELET", State: "running", DependsOn: []string{"B"}},
				simhost.ServiceSpec{Name: "Z", State: "running", DependsOn: []string{"KUBELET"}},
			)
			spec.Switches.DirectDependents = direct
			onSite(t, spec, func(s *site) {
				err := s.stop("A", true)
				s.wantKind(err, errdefs.PermissionDenied, 0)
				if !errors.Is(err, errdefs.ErrProtectedService) || !strings.Contains(err.Error(), `"KUBELET"`) {
					s.Error(err)
				}
				s.wantRequests()
			})
		})
	}
	t.Run("a stopped dependent is none", func(t *testing.T) {
		onSite(t, services(
			simhost.ServiceSpec{Name: "A", State: "running"},
			simhost.ServiceSpec{Name: "Sense", State: "stopped", DependsOn: []string{"A"}},
		), func(s *site) { s.must(s.stop("A", true)) })
	})
	t.Run("appears as a dependent", func(t *testing.T) {
		onSite(t, services(
			simhost.ServiceSpec{Name: "A", State: "running"},
			simhost.ServiceSpec{Name: "Sense", DependsOn: []string{"A"}},
		), func(s *site) {
			s.before("Service.Control", "A", func() { s.set("Sense", "running") })
			if err := s.stop("A", true); !errors.Is(err, errdefs.ErrProtectedService) {
				s.Error(err)
			}
			s.wantRequests()
		})
	})
}

// A driver is never stopped, by name or as a dependent.
func TestStopService_Drivers(t *testing.T) {
	for name, tt := range map[string]struct {
		stop  string
		force bool
	}{
		"by name": {"Driver", false}, "by name with Force": {"Driver", true}, "as a dependent": {"A", true},
	} {
		t.Run(name, func(t *testing.T) {
			onSite(t, services(
				simhost.ServiceSpec{Name: "A", State: "running"},
				simhost.ServiceSpec{Name: "B", State: "running", DependsOn: []string{"A"}},
				simhost.ServiceSpec{Name: "Driver", Type: "driver", Start: "system", DependsOn: []string{"A"}},
			), func(s *site) {
				err := s.stop(tt.stop, tt.force)
				s.wantKind(err, errdefs.PermissionDenied, 0)
				if !errors.Is(err, errdefs.ErrProtectedService) || !strings.Contains(err.Error(), "driver") {
					s.Error(err)
				}
				s.wantRequests()
			})
		})
	}
}

// Services that protect themselves answer 5.
func TestStopService_Refused(t *testing.T) {
	for name, tt := range map[string]struct {
		spec simhost.ServiceSpec
		kind errdefs.Kind
		code win.Errno
	}{
		"protects itself":  {simhost.ServiceSpec{Protected: true}, errdefs.PermissionDenied, 5},
		"takes no control": {simhost.ServiceSpec{Unstoppable: true}, errdefs.FailedPrecondition, 1052},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Name, tt.spec.State = "X", "running"
			onSite(t, services(tt.spec), func(s *site) {
				s.wantKind(s.stop("X", false), tt.kind, tt.code)
				s.wantKind(s.stop("X", true), tt.kind, tt.code)
				s.wantRequests()
			})
		})
	}
}

// What changes between the look and the request is no error: 1061, 1062.
func TestStopService_ChangesMeanwhile(t *testing.T) {
	for state, requests := range map[string][]string{"stopped": nil, "startPending": {"stop X"}, "stopPending": nil} {
		t.Run(state, func(t *testing.T) {
			takes := simhost.TransitionSpec{Takes: seconds(2)}
			onSite(t, services(simhost.ServiceSpec{Name: "X", State: "running", Starting: takes, Stopping: takes}), func(s *site) {
				s.before("Service.Control", "X", func() { s.set("X", state) })
				s.must(s.stop("X", false))
				s.wantRequests(requests...)
			})
		})
	}
}

// One that is never ready for it takes the caller's time.
func TestStopService_NeverAccepts(t *testing.T) {
	onSite(t, services(simhost.ServiceSpec{Name: "X", State: "running"}), func(s *site) {
		s.hook = func(c simhost.Call, do func() error) error {
			if c.Method == "Service.Control" {
				return win.ERROR_SERVICE_CANNOT_ACCEPT_CTRL
			}
			return do()
		}
		ctx, cancel := context.WithTimeout(s.Context(), 3*time.Second)
		defer cancel()
		s.wantKind(s.stopIn(ctx, "X", false), errdefs.DeadlineExceeded, 1061)
	})
}

// SYS-8: 30 s where the caller names no deadline; with Force 2 minutes for all.
func TestStopService_SYS8_TimesOut(t *testing.T) {
	for name, tt := range map[string]struct {
		force bool
		want  time.Duration
	}{"alone": {false, 30 * time.Second}, "with Force": {true, 2 * time.Minute}} {
		t.Run(name, func(t *testing.T) {
			how := simhost.TransitionSpec{Stuck: true, Step: seconds(1), Hint: seconds(2)}
			onSite(t, services(simhost.ServiceSpec{Name: "X", State: "running", Stopping: how}), func(s *site) {
				var err error
				if took := elapsed(func() { err = s.stop("X", tt.force) }); took != tt.want {
					s.Errorf("took %v", took)
				}
				s.wantKind(err, errdefs.DeadlineExceeded, 0)
				for _, part := range []string{"timed out waiting for the service to stop, which may still happen (state Stop Pending"} {
					if !strings.Contains(err.Error(), part) {
						s.Errorf("no %q in %v", part, err)
					}
				}
				s.wantRequests("stop X")
			})
		})
	}
}

// A service that accepts the request and goes on running is given up.
func TestStopService_IgnoresTheRequest(t *testing.T) {
	onSite(t, services(simhost.ServiceSpec{Name: "X", State: "running"}), func(s *site) {
		s.hook = func(c simhost.Call, do func() error) error {
			err := do()
			if c.Method == "Service.Control" {
				s.set("X", "running")
			}
			return err
		}
		ctx, cancel := context.WithTimeout(s.Context(), 5*time.Minute)
		defer cancel()
		s.wantKind(s.stopIn(ctx, "X", false), errdefs.Unavailable, 0)
		s.wantRequests("stop X")
	})
}

func TestStopService_Concurrently(t *testing.T) {
	onSite(t, chain(func(s []simhost.ServiceSpec) { s[2].Stopping.Takes = seconds(5) }), func(s *site) {
		var callers sync.WaitGroup
		for range 64 {
			callers.Go(func() {
				if err := s.stop("A", true); err != nil {
					s.Error(err)
				}
				s.wantStatus("A", system.SERVICE_STATUS_STOPPED)
			})
		}
		callers.Wait()
		s.wantRequests("stop C", "stop B", "stop A")
	})
}

// Starting a dependent waits until the service under it is stopped, and then
// starts both; the stop is not undone in the middle.
func TestStopService_ExcludesStart(t *testing.T) {
	onSite(t, chain(func(s []simhost.ServiceSpec) { s[0].Stopping.Takes = seconds(5) }), func(s *site) {
		var both sync.WaitGroup
		both.Go(func() { s.must(s.stop("A", true)) })
		synctest.Wait()
		both.Go(func() { s.must(s.start("B")) })
		both.Wait()
		s.wantRequests("stop C", "stop B", "stop A", "start B")
		s.wantStatus("B", system.SERVICE_STATUS_RUNNING)
	})
}

// A caller who waits for another's change says so when its time is over.
func TestStopService_WaitsForTheLock(t *testing.T) {
	onSite(t, services(simhost.ServiceSpec{Name: "X", Starting: simhost.TransitionSpec{Takes: seconds(20)}}), func(s *site) {
		var starting sync.WaitGroup
		starting.Go(func() { s.must(s.start("X")) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
		defer cancel()
		err := s.stopIn(ctx, "x", false)
		s.wantKind(err, errdefs.DeadlineExceeded, 0)
		if !strings.Contains(err.Error(), "another operation on service x") {
			s.Error(err)
		}
		starting.Wait()
	})
}

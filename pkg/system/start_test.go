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

func seconds(n float64) simhost.Duration {
	return simhost.Duration(n * float64(time.Second))
}

// SYS-7: a service that runs is seen to run at the first look, and one that
// starts quickly soon after.
func TestStartService_SYS7_IsQuick(t *testing.T) {
	onSite(t, services(simhost.ServiceSpec{Name: "Quick", Starting: simhost.TransitionSpec{Takes: seconds(0.04)}}), func(s *site) {
		if took := elapsed(func() { s.must(s.start("Quick")) }); took > 50*time.Millisecond {
			s.Errorf("took %v", took)
		}
		s.node.Calls().Reset()
		if took := elapsed(func() { s.must(s.start("Quick")) }); took != 0 {
			s.Errorf("of a running one: took %v", took)
		}
		if n := s.node.Calls().Total(); n != 2 {
			s.Errorf("of a running one: %d boundary calls", n)
		}
	})
}

// SYS-7: a service that ran, or nearly, and ended is not said to be late.
func TestStartService_SYS7_Ended(t *testing.T) {
	for name, tt := range map[string]struct {
		spec simhost.ServiceSpec
		code win.Errno
	}{
		"died":         {simhost.ServiceSpec{Starting: simhost.TransitionSpec{Takes: seconds(1)}, Dies: seconds(0.01)}, 1067},
		"failed":       {simhost.ServiceSpec{Starting: simhost.TransitionSpec{Takes: seconds(1), Fails: 2}}, 2},
		"failed alone": {simhost.ServiceSpec{Starting: simhost.TransitionSpec{Fails: 1066}}, 1066},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Name = "X"
			onSite(t, services(tt.spec), func(s *site) {
				err := s.start("X")
				s.wantKind(err, errdefs.Unavailable, tt.code)
				if !errors.Is(err, errdefs.ErrServiceEnded) {
					s.Error(err)
				}
				s.wantRequests("start X")
			})
		})
	}
}

// SYS-7: one that ends in order has ended too.
func TestStartService_SYS7_EndedInOrder(t *testing.T) {
	onSite(t, services(simhost.ServiceSpec{Name: "X", Starting: simhost.TransitionSpec{Stuck: true}}), func(s *site) {
		time.AfterFunc(time.Second, func() { s.set("X", "stopped") })
		err := s.start("X")
		s.wantKind(err, errdefs.Unavailable, 0)
		if !errors.Is(err, errdefs.ErrServiceEnded) || !strings.Contains(err.Error(), "exit code 0") {
			s.Error(err)
		}
	})
}

// One that somebody pauses as soon as it runs is not running.
func TestStartService_Paused(t *testing.T) {
	onSite(t, services(simhost.ServiceSpec{Name: "X", Starting: simhost.TransitionSpec{Stuck: true}}), func(s *site) {
		time.AfterFunc(time.Second, func() { s.set("X", "paused") })
		err := s.start("X")
		s.wantKind(err, errdefs.FailedPrecondition, 0)
		if errors.Is(err, errdefs.ErrServiceEnded) || !strings.Contains(err.Error(), "paused") {
			s.Error(err)
		}
	})
}

// SYS-5, SYS-6: what Windows refuses keeps its code, and has the kind of it.
func TestStartService_SYS6_Refused(t *testing.T) {
	for name, tt := range map[string]struct {
		spec simhost.ServiceSpec
		kind errdefs.Kind
		code win.Errno
	}{
		"disabled":           {simhost.ServiceSpec{Start: "disabled"}, errdefs.FailedPrecondition, 1058},
		"does not answer":    {simhost.ServiceSpec{StartCode: 1053}, errdefs.Unavailable, 1053},
		"cannot log on":      {simhost.ServiceSpec{StartCode: 1069}, errdefs.FailedPrecondition, 1069},
		"marked for delete":  {simhost.ServiceSpec{StartCode: 1072}, errdefs.FailedPrecondition, 1072},
		"protected":          {simhost.ServiceSpec{Protected: true}, errdefs.PermissionDenied, 5},
		"dependency missing": {simhost.ServiceSpec{DependsOn: []string{"gone"}}, errdefs.FailedPrecondition, 1075},
		"dependency fails":   {simhost.ServiceSpec{DependsOn: []string{"Broken"}}, errdefs.FailedPrecondition, 1068},
		"no program":         {simhost.ServiceSpec{StartCode: 2}, errdefs.NotFound, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Name = "X"
			onSite(t, services(tt.spec, simhost.ServiceSpec{Name: "Broken", StartCode: 1069}), func(s *site) {
				s.wantKind(s.start("X"), tt.kind, tt.code)
				s.wantStatus("X", system.SERVICE_STATUS_STOPPED)
				s.wantRequests()
			})
		})
	}
}

// What a service depends on starts before it, however long that takes.
func TestStartService_StartsDependencies(t *testing.T) {
	onSite(t, services(
		simhost.ServiceSpec{Name: "A", Starting: simhost.TransitionSpec{Takes: seconds(5)}},
		simhost.ServiceSpec{Name: "B", DependsOn: []string{"A"}, Starting: simhost.TransitionSpec{Takes: seconds(3)}},
	), func(s *site) {
		if took := elapsed(func() { s.must(s.start("B")) }); took < 8*time.Second {
			s.Errorf("took %v", took)
		}
		s.wantStatus("A", system.SERVICE_STATUS_RUNNING)
		s.wantRequests("start B")
	})
}

// A dependency that ends while it starts takes the service with it.
func TestStartService_DependencyEnds(t *testing.T) {
	onSite(t, services(
		simhost.ServiceSpec{Name: "A", Starting: simhost.TransitionSpec{Takes: seconds(1), Fails: 5}},
		simhost.ServiceSpec{Name: "B", DependsOn: []string{"A"}},
	), func(s *site) {
		err := s.start("B")
		s.wantKind(err, errdefs.Unavailable, 1068)
		if !errors.Is(err, errdefs.ErrServiceEnded) {
			s.Error(err)
		}
	})
}

// A service that is on its way, in whatever direction, is waited for first.
func TestStartService_FromEachState(t *testing.T) {
	for state, want := range map[string]struct {
		requests []string
		kind     errdefs.Kind
	}{
		"stopped":         {[]string{"start X"}, errdefs.None},
		"startPending":    {nil, errdefs.None},
		"stopPending":     {[]string{"start X"}, errdefs.None},
		"running":         {nil, errdefs.None},
		"continuePending": {nil, errdefs.None},
		"pausePending":    {nil, errdefs.FailedPrecondition},
		"paused":          {nil, errdefs.FailedPrecondition},
	} {
		t.Run(state, func(t *testing.T) {
			takes := simhost.TransitionSpec{Takes: seconds(2)}
			onSite(t, services(simhost.ServiceSpec{Name: "X", State: state, Starting: takes, Stopping: takes}), func(s *site) {
				s.wantKind(s.start("X"), want.kind, 0)
				s.wantRequests(want.requests...)
			})
		})
	}
}

// One that somebody else starts in between is no error (1056).
func TestStartService_AlreadyRunning(t *testing.T) {
	onSite(t, services(simhost.ServiceSpec{Name: "X"}), func(s *site) {
		s.before("Service.Start", "X", func() { s.set("X", "running") })
		s.must(s.start("X"))
		s.wantRequests()
	})
}

// A locked database (1055) is waited for, until the caller's time is over.
func TestStartService_DatabaseLocked(t *testing.T) {
	onSite(t, services(simhost.ServiceSpec{Name: "X"}), func(s *site) {
		locked := 3
		s.hook = func(c simhost.Call, do func() error) error {
			if c.Method == "Service.Start" && locked > 0 {
				locked--
				return win.ERROR_SERVICE_DATABASE_LOCKED
			}
			return do()
		}
		s.must(s.start("X"))
		s.wantRequests("start X")
	})
	onSite(t, services(simhost.ServiceSpec{Name: "X", StartCode: 1055}), func(s *site) {
		ctx, cancel := context.WithTimeout(s.Context(), 3*time.Second)
		defer cancel()
		_, err := s.StartService(ctx, &system.StartServiceRequest{Name: "X"})
		s.wantKind(err, errdefs.DeadlineExceeded, 1055)
	})
}

// SYS-5: without a deadline it takes at most 30 s, and says how far the service
// was.
func TestStartService_SYS5_TimesOut(t *testing.T) {
	for name, how := range map[string]simhost.TransitionSpec{
		"stuck":            {Stuck: true},
		"stuck with hint":  {Stuck: true, Hint: seconds(3600)},
		"for ever nearly":  {Stuck: true, Step: seconds(1), Hint: seconds(2)},
		"longer than that": {Takes: seconds(31)},
	} {
		t.Run(name, func(t *testing.T) {
			onSite(t, services(simhost.ServiceSpec{Name: "X", Starting: how}), func(s *site) {
				var err error
				if took := elapsed(func() { err = s.start("X") }); took != 30*time.Second {
					s.Errorf("took %v", took)
				}
				s.wantKind(err, errdefs.DeadlineExceeded, 0)
				for _, part := range []string{`"X"`, "timed out waiting for the service to become running, which may still happen (state Start Pending"} {
					if !strings.Contains(err.Error(), part) {
						s.Errorf("no %q in %v", part, err)
					}
				}
			})
		})
	}
}

// A caller with more time gives up where the check point stands still, and not
// where it moves.
func TestStartService_GivesUpWithoutProgress(t *testing.T) {
	for name, tt := range map[string]struct {
		how  simhost.TransitionSpec
		want errdefs.Kind
		min  time.Duration
		max  time.Duration
	}{
		"no check point":       {simhost.TransitionSpec{Stuck: true}, errdefs.Unavailable, 30 * time.Second, 32 * time.Second},
		"short hint":           {simhost.TransitionSpec{Stuck: true, Hint: seconds(2)}, errdefs.Unavailable, 30 * time.Second, 32 * time.Second},
		"long hint":            {simhost.TransitionSpec{Stuck: true, Hint: seconds(90)}, errdefs.Unavailable, 90 * time.Second, 100 * time.Second},
		"moves":                {simhost.TransitionSpec{Takes: seconds(300), Step: seconds(20), Hint: seconds(25)}, errdefs.None, 300 * time.Second, 303 * time.Second},
		"moves without arrive": {simhost.TransitionSpec{Stuck: true, Step: seconds(20), Hint: seconds(25)}, errdefs.DeadlineExceeded, 600 * time.Second, 600 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			onSite(t, services(simhost.ServiceSpec{Name: "X", Starting: tt.how}), func(s *site) {
				ctx, cancel := context.WithTimeout(s.Context(), 10*time.Minute)
				defer cancel()
				var err error
				took := elapsed(func() { _, err = s.StartService(ctx, &system.StartServiceRequest{Name: "X"}) })
				s.wantKind(err, tt.want, 0)
				if took < tt.min || took > tt.max {
					s.Errorf("took %v", took)
				}
			})
		})
	}
}

// The rule of windows-api.md 11.1: a look after a tenth of the hint, within 1 s
// and 10 s, but for the first ones.
func TestStartService_Looks(t *testing.T) {
	for name, tt := range map[string]struct {
		hint time.Duration
		want time.Duration
	}{
		"none":  {0, time.Second},
		"short": {3 * time.Second, time.Second},
		"50 s":  {50 * time.Second, 5 * time.Second},
		"long":  {time.Hour, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			how := simhost.TransitionSpec{Takes: seconds(100), Step: seconds(5), Hint: simhost.Duration(tt.hint)}
			onSite(t, services(simhost.ServiceSpec{Name: "X", Starting: how}), func(s *site) {
				var looks []time.Time
				s.hook = func(c simhost.Call, do func() error) error {
					if c.Method == "Service.Status" {
						looks = append(looks, time.Now())
					}
					return do()
				}
				ctx, cancel := context.WithTimeout(s.Context(), 10*time.Minute)
				defer cancel()
				_, err := s.StartService(ctx, &system.StartServiceRequest{Name: "X"})
				s.must(err)
				if last := looks[len(looks)-1].Sub(looks[len(looks)-2]); last != tt.want {
					s.Errorf("%v between the last looks, want %v", last, tt.want)
				}
				if first := looks[2].Sub(looks[1]); first != 50*time.Millisecond {
					s.Errorf("%v until the second look", first)
				}
			})
		})
	}
}

// A caller who comes back finds the service on its way and starts nothing twice.
func TestStartService_CallerComesBack(t *testing.T) {
	onSite(t, services(simhost.ServiceSpec{Name: "X", Starting: simhost.TransitionSpec{Takes: seconds(20)}}), func(s *site) {
		for range 4 {
			ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
			_, err := s.StartService(ctx, &system.StartServiceRequest{Name: "X"})
			cancel()
			if err != nil {
				s.wantKind(err, errdefs.DeadlineExceeded, 0)
			}
		}
		s.must(s.start("X"))
		s.wantRequests("start X")
	})
}

func TestStartService_Cancelled(t *testing.T) {
	onSite(t, services(simhost.ServiceSpec{Name: "X", Starting: simhost.TransitionSpec{Stuck: true}}), func(s *site) {
		ctx, cancel := context.WithCancel(s.Context())
		time.AfterFunc(3*time.Second, cancel)
		_, err := s.StartService(ctx, &system.StartServiceRequest{Name: "X"})
		s.wantKind(err, errdefs.Canceled, 0)
		if !strings.Contains(err.Error(), "stopped waiting") {
			s.Error(err)
		}
	})
}

// While a service starts, a look that hangs until the caller's time is over says
// how far it was; one that Windows refuses says that alone.
func TestStartService_LooksFail(t *testing.T) {
	for name, tt := range map[string]struct {
		look func(release <-chan struct{}) error
		kind errdefs.Kind
		code win.Errno
		says bool
	}{
		"hangs":   {func(release <-chan struct{}) error { <-release; return nil }, errdefs.DeadlineExceeded, 0, true},
		"refused": {func(<-chan struct{}) error { return win.ERROR_ACCESS_DENIED }, errdefs.PermissionDenied, win.ERROR_ACCESS_DENIED, false},
	} {
		t.Run(name, func(t *testing.T) {
			onSite(t, services(simhost.ServiceSpec{Name: "X", Starting: simhost.TransitionSpec{Takes: seconds(100)}}), func(s *site) {
				release := make(chan struct{})
				started, looks := false, 0
				s.hook = func(c simhost.Call, do func() error) error {
					started = started || c.Method == "Service.Start"
					if c.Method != "Service.Status" || !started {
						return do()
					}
					if looks++; looks > 1 { // the first finds it starting
						if err := tt.look(release); err != nil {
							return err
						}
					}
					return do()
				}
				err := s.start("X")
				s.wantKind(err, tt.kind, tt.code)
				if says := strings.Contains(err.Error(), "may still happen"); says != tt.says {
					s.Errorf("got %v", err)
				}
				close(release)
			})
		})
	}
}

// A caller whose time ends in the request itself, or in the first look at what
// came of it, learns that it may still happen.
func TestRequest_Unseen(t *testing.T) {
	for name, tt := range map[string]struct {
		state string
		call  func(*site) error
	}{
		"start": {"stopped", func(s *site) error { return s.start("X") }},
		"stop":  {"running", func(s *site) error { return s.stop("X", false) }},
	} {
		for _, hangs := range []string{"request", "first look"} {
			t.Run(name+", "+hangs, func(t *testing.T) {
				onSite(t, services(simhost.ServiceSpec{Name: "X", State: tt.state}), func(s *site) {
					release := make(chan struct{})
					requested := false
					s.hook = func(c simhost.Call, do func() error) error {
						isRequest := c.Method == "Service.Start" || c.Method == "Service.Control"
						if isRequest && hangs == "request" || requested {
							<-release
						}
						requested = requested || isRequest
						return do()
					}
					err := tt.call(s)
					s.wantKind(err, errdefs.DeadlineExceeded, 0)
					if !strings.Contains(err.Error(), "may still happen") || strings.Count(err.Error(), context.DeadlineExceeded.Error()) != 1 {
						s.Errorf("got %v", err)
					}
					close(release)
				})
			})
		}
	}
}

// 64 callers start a service once, and each returns when it runs.
func TestStartService_Concurrently(t *testing.T) {
	onSite(t, services(simhost.ServiceSpec{Name: "X", Starting: simhost.TransitionSpec{Takes: seconds(10)}}), func(s *site) {
		var callers sync.WaitGroup
		for range 64 {
			callers.Go(func() {
				if err := s.start("X"); err != nil {
					s.Error(err)
				}
				s.wantStatus("X", system.SERVICE_STATUS_RUNNING)
			})
		}
		callers.Wait()
		s.wantRequests("start X")
	})
}

// Different services do not wait for each other.
func TestStartService_OthersGoOn(t *testing.T) {
	onSite(t, services(
		simhost.ServiceSpec{Name: "Stuck", Starting: simhost.TransitionSpec{Stuck: true}},
		simhost.ServiceSpec{Name: "X"},
	), func(s *site) {
		go func() { _ = s.start("Stuck") }()
		synctest.Wait()
		if took := elapsed(func() { s.must(s.start("X")) }); took > 100*time.Millisecond {
			s.Errorf("took %v", took)
		}
		<-time.After(time.Minute)
	})
}

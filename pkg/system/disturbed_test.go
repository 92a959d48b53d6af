// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
)

// Each change, with every boundary call failing, hanging, left behind, twice
// and 64 at once.
func TestDisturbed(t *testing.T) {
	short := simhost.TransitionSpec{Takes: seconds(0.1), Hint: seconds(2)}
	start := func(ctx context.Context, s *system.System) error {
		_, err := s.StartService(ctx, &system.StartServiceRequest{Name: "B"})
		return err
	}
	stop := func(name string, force bool) func(context.Context, *system.System) error {
		return func(ctx context.Context, s *system.System) error {
			_, err := s.StopService(ctx, &system.StopServiceRequest{Name: name, Force: force})
			return err
		}
	}
	running := chain(func(s []simhost.ServiceSpec) {
		for i := range s {
			s[i].Stopping = short
		}
	})
	direct := running
	direct.Switches.DirectDependents = true
	for name, sc := range map[string]struct {
		spec   simhost.NodeSpec
		change func(context.Context, *system.System) error
	}{
		"StartService": {services(
			simhost.ServiceSpec{Name: "A", Starting: short},
			simhost.ServiceSpec{Name: "B", Starting: short, DependsOn: []string{"A"}},
		), start},
		"StopService":                            {running, stop("C", false)},
		"StopService with Force":                 {running, stop("A", true)},
		"StopService with Force, direct listing": {direct, stop("A", true)},
	} {
		t.Run(name, func(t *testing.T) {
			disturb.Run(t, disturb.Scenario{
				Node: func(t *testing.T) *simhost.Node {
					sc.spec.Version = simhost.SpecVersion
					node, err := simhost.New(sc.spec)
					if err != nil {
						t.Fatal(err)
					}
					return node
				},
				Change: func(ctx context.Context, n *simhost.Node) error {
					group, err := system.New(n.System())
					if err != nil {
						return err
					}
					return sc.change(ctx, group)
				},
			})
		})
	}
}

// questions are what changes nothing.
func questions() map[string]func(context.Context, *site) error {
	return map[string]func(context.Context, *site) error{
		"GetBIOSSerialNumber": func(ctx context.Context, s *site) error {
			_, err := s.GetBIOSSerialNumber(ctx, &system.GetBIOSSerialNumberRequest{})
			return err
		},
		"GetService": func(ctx context.Context, s *site) error {
			_, err := s.GetService(ctx, &system.GetServiceRequest{Name: "RpcSs"})
			return err
		},
	}
}

// A question with each of its boundary calls failing keeps the cause; one that
// hangs lets its caller go, and answers again when the hang is over.
func TestQuestions_Disturbed(t *testing.T) {
	for name, ask := range questions() {
		var calls []simhost.Call
		onSite(t, simhost.NodeSpec{}, func(s *site) {
			s.must(ask(s.Context(), s))
			calls = s.node.Calls().Calls()
		})
		for k, call := range calls {
			label := fmt.Sprintf("%s, call %d %s", name, k+1, call.Method)
			t.Run(label+" fails", func(t *testing.T) {
				onSite(t, simhost.NodeSpec{}, func(s *site) {
					s.at(k, func(func() error) error { return win.ERROR_IO_DEVICE })
					err := ask(s.Context(), s)
					s.wantKind(err, errdefs.Unavailable, win.ERROR_IO_DEVICE)
					s.must(ask(s.Context(), s))
				})
			})
			t.Run(label+" hangs", func(t *testing.T) {
				onSite(t, simhost.NodeSpec{}, func(s *site) {
					release := make(chan struct{})
					s.at(k, func(do func() error) error { <-release; return do() })
					var err error
					if took := elapsed(func() { err = ask(s.Context(), s) }); took != 30*time.Second {
						s.Errorf("took %v", took)
					}
					s.wantKind(err, errdefs.DeadlineExceeded, 0)
					if err := ask(s.Context(), s); !errors.Is(err, errdefs.ErrResourceExhausted) {
						s.Errorf("beside one that hangs: %v", err)
					}
					close(release)
					<-time.After(time.Second)
					s.must(ask(s.Context(), s))
				})
			})
		}
		t.Run(name+" of a caller who has left", func(t *testing.T) {
			onSite(t, simhost.NodeSpec{}, func(s *site) {
				ctx, cancel := context.WithCancel(s.Context())
				cancel()
				if err := ask(ctx, s); !errors.Is(err, context.Canceled) {
					s.Error(err)
				}
				if n := s.node.Calls().Total(); n != 0 {
					s.Errorf("%d boundary calls", n)
				}
			})
		})
	}
}

// at runs f in place of the k-th call from now on, from 0.
func (s *site) at(k int, f func(do func() error) error) {
	made := 0
	s.hook = func(_ simhost.Call, do func() error) error {
		s.mu.Lock()
		n := made
		made++
		s.mu.Unlock()
		if n == k {
			return f(do)
		}
		return do()
	}
}

// Whatever is true of what nobody has verified, services stop and start.
func TestSwitches(t *testing.T) {
	for _, sw := range simhost.AllSwitches() {
		t.Run(sw.Name, func(t *testing.T) {
			spec := chain()
			spec.Switches = sw.Switches
			onSite(t, spec, func(s *site) {
				s.must(s.stop("A", true))
				s.must(s.start("C"))
				for _, name := range []string{"A", "B", "C"} {
					s.wantStatus(name, system.SERVICE_STATUS_RUNNING)
				}
			})
		})
	}
}

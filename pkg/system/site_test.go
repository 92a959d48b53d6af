// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
)

// site is a simulated node and its system group. It knows what was asked of its
// services.
type site struct {
	*testing.T
	*system.System
	node *simhost.Node

	mu       sync.Mutex
	requests []string // "start X", "stop X" as Windows accepted them
	hook     func(c simhost.Call, do func() error) error
}

// onSite runs a test on a site in a bubble of its own, so that waiting takes no
// time.
func onSite(t *testing.T, spec simhost.NodeSpec, test func(s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, spec)
		test(s)
		synctest.Wait()
		if n := s.node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
		if err := blocking.On(s.node.Host()).Clean(); err != nil {
			t.Error(err)
		}
	})
}

func newSite(t *testing.T, spec simhost.NodeSpec) *site {
	t.Helper()
	spec.Version = simhost.SpecVersion
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	group, err := system.New(node.System())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, System: group, node: node}
	node.OnCall(s.around)
	return s
}

// services describes a node with these.
func services(specs ...simhost.ServiceSpec) simhost.NodeSpec {
	return simhost.NodeSpec{Services: specs}
}

func (s *site) around(c simhost.Call, do func() error) error {
	recorded := func() error {
		err := do()
		word := map[string]string{"Service.Start": "start ", "Service.Control": "stop "}[c.Method]
		if err == nil && word != "" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.requests = append(s.requests, word+c.Subject)
		}
		return err
	}
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook == nil {
		return recorded()
	}
	return hook(c, recorded)
}

// before runs f right before the first call of a method on a subject.
func (s *site) before(method, subject string, f func()) {
	var once sync.Once
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = func(c simhost.Call, do func() error) error {
		if c.Method == method && c.Subject == subject {
			once.Do(f)
		}
		return do()
	}
}

func (s *site) start(name string) error {
	resp, err := s.StartService(s.Context(), &system.StartServiceRequest{Name: name})
	if resp == nil {
		s.Error("nil response")
	}
	return err
}

func (s *site) stop(name string, force bool) error {
	return s.stopIn(s.Context(), name, force)
}

func (s *site) stopIn(ctx context.Context, name string, force bool) error {
	resp, err := s.StopService(ctx, &system.StopServiceRequest{Name: name, Force: force})
	if resp == nil {
		s.Error("nil response")
	}
	return err
}

func (s *site) get(name string) *system.GetServiceResponse {
	s.Helper()
	resp, err := s.GetService(s.Context(), &system.GetServiceRequest{Name: name})
	s.must(err)
	return resp
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) set(name, state string) {
	s.Helper()
	s.must(s.node.SetServiceState(name, state))
}

func (s *site) wantStatus(name string, want system.ServiceStatus) {
	s.Helper()
	if got := s.get(name).Status; got != want {
		s.Errorf("%s is %s, want %s", name, got, want)
	}
}

// wantRequests checks what was asked of the services, and in which order.
func (s *site) wantRequests(want ...string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.requests, want) {
		s.Errorf("asked for %q, want %q", s.requests, want)
	}
}

// wantKind checks an error's kind and, where it is given, its Windows code.
func (s *site) wantKind(err error, want errdefs.Kind, code win.Errno) {
	s.Helper()
	if got := errdefs.KindOf(err); got != want {
		s.Errorf("kind %s, want %s: %v", got, want, err)
	}
	native, ok := errdefs.NativeOf(err)
	if code == 0 {
		return
	}
	if !ok || native.Code != uint32(code) {
		s.Errorf("code %s, want %d: %v", native, code, err)
	}
}

// elapsed is how long f takes in the bubble.
func elapsed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

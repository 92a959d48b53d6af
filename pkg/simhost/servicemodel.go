// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// service is one installed service. Its methods need n.mu.
type service struct {
	spec      ServiceSpec
	described bool // by the node's description, not only by Windows
	kind      uint32
	startType uint32

	state   uint32    // as of the last settle
	since   time.Time // when it came into state
	waiting bool      // start pending, for what it depends on
	exit    uint32
}

// foldService is the key under which a service is kept.
func foldService(name string) string { return strings.ToUpper(name) }

// serviceNamed finds a service by its key name as it is now.
func (n *Node) serviceNamed(name string) (*service, bool) {
	s, ok := n.services[foldService(name)]
	if ok {
		n.settleService(s, time.Now())
	}
	return s, ok
}

// dependencies are the installed services that s depends on.
func (n *Node) dependencies(s *service) []*service {
	var list []*service
	for _, name := range s.spec.DependsOn {
		if d, ok := n.services[foldService(name)]; ok {
			list = append(list, d)
		}
	}
	return list
}

// startOrder are all services, each after those that it depends on.
func (n *Node) startOrder() []*service {
	var order []*service
	var visit func(s *service)
	visit = func(s *service) {
		if slices.Contains(order, s) {
			return
		}
		for _, d := range n.dependencies(s) {
			visit(d)
		}
		order = append(order, s)
	}
	for _, key := range slices.Sorted(maps.Keys(n.services)) {
		visit(n.services[key])
	}
	return order
}

// dependents are the services that depend on s, directly or also through
// others, in reverse start order.
func (n *Node) dependents(s *service, indirect bool) []*service {
	depends := map[*service]bool{}
	var list []*service
	for _, other := range n.startOrder() {
		for _, d := range n.dependencies(other) {
			if d == s || indirect && depends[d] {
				depends[other] = true
			}
		}
		if depends[other] {
			list = append(list, other)
		}
	}
	slices.Reverse(list)
	return list
}

func (s *service) active() bool { return s.state != win.SERVICE_STOPPED }

func (s *service) enter(state uint32, at time.Time) { s.state, s.since = state, at }

// transition describes the pending state that s is in.
func (s *service) transition() (how TransitionSpec, to uint32, pending bool) {
	switch s.state {
	case win.SERVICE_START_PENDING, win.SERVICE_CONTINUE_PENDING:
		return s.spec.Starting, win.SERVICE_RUNNING, true
	case win.SERVICE_STOP_PENDING:
		return s.spec.Stopping, win.SERVICE_STOPPED, true
	case win.SERVICE_PAUSE_PENDING:
		return s.spec.Stopping, win.SERVICE_PAUSED, true
	}
	return TransitionSpec{}, s.state, false
}

// settleService lets the time pass that has passed.
func (n *Node) settleService(s *service, now time.Time) {
	if s.waiting && !n.awaitDependencies(s, now) {
		return
	}
	if how, to, pending := s.transition(); pending {
		end := s.since.Add(time.Duration(how.Takes))
		if how.Stuck || now.Before(end) {
			return
		}
		if to == win.SERVICE_RUNNING && how.Fails != 0 {
			to, s.exit = win.SERVICE_STOPPED, how.Fails
		}
		s.enter(to, end)
	}
	end := s.since.Add(time.Duration(s.spec.Dies))
	if s.state == win.SERVICE_RUNNING && s.spec.Dies > 0 && !now.Before(end) {
		s.enter(win.SERVICE_STOPPED, end)
		s.exit = uint32(win.ERROR_PROCESS_ABORTED)
	}
}

// awaitDependencies reports whether s is starting itself by now.
func (n *Node) awaitDependencies(s *service, now time.Time) bool {
	for _, d := range n.dependencies(s) {
		n.settleService(d, now)
		switch d.state {
		case win.SERVICE_START_PENDING:
			return false
		case win.SERVICE_STOPPED, win.SERVICE_STOP_PENDING:
			s.waiting, s.exit = false, uint32(win.ERROR_SERVICE_DEPENDENCY_FAIL)
			s.enter(win.SERVICE_STOPPED, now)
			return true
		}
		if d.since.After(s.since) {
			s.since = d.since
		}
	}
	s.waiting = false
	return true
}

// startService starts s after what it depends on (windows-api.md 11.1).
func (n *Node) startService(s *service, now time.Time) error {
	n.settleService(s, now)
	switch {
	case s.active():
		return win.ERROR_SERVICE_ALREADY_RUNNING
	case s.startType == win.SERVICE_DISABLED:
		return win.ERROR_SERVICE_DISABLED
	case s.spec.StartCode != 0:
		return win.Errno(s.spec.StartCode)
	case len(n.dependencies(s)) < len(s.spec.DependsOn):
		return win.ERROR_SERVICE_DEPENDENCY_DELETED
	}
	for _, d := range n.dependencies(s) {
		n.settleService(d, now)
		if d.active() {
			continue
		}
		if err := n.startService(d, now); err != nil {
			return win.ERROR_SERVICE_DEPENDENCY_FAIL
		}
	}
	s.enter(win.SERVICE_START_PENDING, now)
	s.waiting, s.exit = true, 0
	return nil
}

// stopService asks s to stop (windows-api.md 11.1).
func (n *Node) stopService(s *service, now time.Time) error {
	n.settleService(s, now)
	_, _, pending := s.transition()
	running := func(d *service) bool { n.settleService(d, now); return d.active() }
	switch {
	case !s.active():
		return win.ERROR_SERVICE_NOT_ACTIVE
	case pending:
		return win.ERROR_SERVICE_CANNOT_ACCEPT_CTRL
	case s.spec.Unstoppable:
		return win.ERROR_INVALID_SERVICE_CONTROL
	case slices.ContainsFunc(n.dependents(s, false), running):
		return win.ERROR_DEPENDENT_SERVICES_RUNNING
	}
	s.enter(win.SERVICE_STOP_PENDING, now)
	return nil
}

// status is what the service control manager says of s.
func (s *service) status(now time.Time) win.ServiceStatus {
	status := win.ServiceStatus{Type: s.kind, State: s.state, ExitCode: s.exit}
	how, _, pending := s.transition()
	if pending {
		status.WaitHint = uint32(time.Duration(how.Hint).Milliseconds())
		if how.Step > 0 && !s.waiting {
			status.CheckPoint = 1 + uint32(now.Sub(s.since)/time.Duration(how.Step))
		}
	} else if s.active() && !s.spec.Unstoppable {
		status.ControlsAccepted = win.SERVICE_ACCEPT_STOP
	}
	return status
}

// SetServiceState puts a service into a state of ServiceSpec.State, as somebody
// else might who works on the node.
func (n *Node) SetServiceState(name, state string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.serviceNamed(name)
	to, known := serviceStates[state]
	if !ok || !known {
		return fmt.Errorf("service %q, state %q: one of the two is not there", name, state)
	}
	s.waiting = false
	s.enter(to, time.Now())
	return nil
}

// rebootServices stops all services and starts those that Windows starts by
// itself.
func (n *Node) rebootServices() {
	now := time.Now()
	order := n.startOrder()
	for _, s := range order {
		s.enter(win.SERVICE_STOPPED, now)
		s.waiting, s.exit = false, uint32(win.ERROR_SERVICE_NEVER_STARTED)
	}
	for _, s := range order {
		if s.startType < win.SERVICE_DEMAND_START && !s.active() {
			_ = n.startService(s, now) // one that cannot start stays stopped
		}
	}
}

// sortedServices are the services by name, as they are now.
func (n *Node) sortedServices() []*service {
	now := time.Now()
	services := slices.Collect(maps.Values(n.services))
	for _, s := range services {
		n.settleService(s, now)
	}
	slices.SortFunc(services, func(a, b *service) int { return cmp.Compare(foldService(a.spec.Name), foldService(b.spec.Name)) })
	return services
}

// describe is a service's line in a snapshot.
func (s *service) describe() string {
	start := or(s.spec.Start, "manual")
	for word, state := range serviceStates {
		if state == s.state {
			return start + ", " + word
		}
	}
	return start
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// services is the node's [win.Services].
type services struct{ node *Node }

func (s services) Open(name string, access win.Access) (win.Service, error) {
	const change = win.ServiceStart | win.ServiceStop
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	found, ok := s.node.serviceNamed(name)
	switch {
	case !ok:
		return nil, win.ERROR_SERVICE_DOES_NOT_EXIST
	case found.spec.Protected && access&change != 0:
		return nil, win.ERROR_ACCESS_DENIED
	}
	s.node.opened()
	return &openService{node: s.node, service: found, access: access}, nil
}

// openService is a handle of a service.
type openService struct {
	node    *Node
	service *service
	access  win.Access
	closed  bool
}

// with runs f on the service as it is now, if the handle has the right.
func (o *openService) with(right win.Access, f func(s *service, now time.Time) error) error {
	o.node.mu.Lock()
	defer o.node.mu.Unlock()
	switch {
	case o.closed:
		return win.ERROR_INVALID_HANDLE
	case o.access&right == 0:
		return win.ERROR_ACCESS_DENIED
	}
	now := time.Now()
	o.node.settleService(o.service, now)
	return f(o.service, now)
}

func (o *openService) Config() (config win.ServiceConfig, err error) {
	err = o.with(win.ServiceQueryConfig, func(s *service, _ time.Time) error {
		config = win.ServiceConfig{Type: s.kind, StartType: s.startType, DisplayName: or(s.spec.DisplayName, s.spec.Name)}
		return nil
	})
	return config, err
}

func (o *openService) DelayedStart() (delayed bool, err error) {
	err = o.with(win.ServiceQueryConfig, func(s *service, _ time.Time) error {
		delayed = s.spec.Start == "delayed"
		return nil
	})
	return delayed, err
}

func (o *openService) Status() (status win.ServiceStatus, err error) {
	err = o.with(win.ServiceQueryStatus, func(s *service, now time.Time) error {
		status = s.status(now)
		return nil
	})
	return status, err
}

func (o *openService) Dependents(states uint32) (list []win.DependentService, err error) {
	err = o.with(win.ServiceEnumerateDependents, func(s *service, now time.Time) error {
		for _, d := range o.node.dependents(s, !o.node.switches.DirectDependents) {
			o.node.settleService(d, now)
			state := win.SERVICE_INACTIVE
			if d.active() {
				state = win.SERVICE_ACTIVE
			}
			if states&state != 0 {
				list = append(list, win.DependentService{Name: d.spec.Name, Status: d.status(now)})
			}
		}
		return nil
	})
	return list, err
}

func (o *openService) Start() error {
	return o.with(win.ServiceStart, o.node.startService)
}

func (o *openService) Control(code uint32) (status win.ServiceStatus, err error) {
	err = o.with(win.ServiceStop, func(s *service, now time.Time) error {
		err := error(win.ERROR_INVALID_SERVICE_CONTROL)
		if code == win.SERVICE_CONTROL_STOP {
			err = o.node.stopService(s, now)
		}
		status = s.status(now)
		return err
	})
	return status, err
}

func (o *openService) Close() error {
	o.node.mu.Lock()
	defer o.node.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.node.closed()
	}
	return nil
}

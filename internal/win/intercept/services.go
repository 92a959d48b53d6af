// SPDX-License-Identifier: Apache-2.0

package intercept

import "github.com/kubernetes-csi/csi-proxy/v2/internal/win"

type services struct {
	inner  win.Services
	around Around
}

func (s *services) Open(name string, access win.Access) (win.Service, error) {
	opened, err := open(s.around, Call{Method: "Services.Open", Subject: name},
		func() (win.Service, error) { return s.inner.Open(name, access) },
		func(opened win.Service) { _ = opened.Close() })
	if err != nil {
		return nil, err
	}
	return &service{opened, s.around, name}, nil
}

type service struct {
	inner  win.Service
	around Around
	name   string
}

func (s *service) Config() (win.ServiceConfig, error) {
	return ask(s.around, Call{Method: "Service.Config", Subject: s.name}, s.inner.Config)
}

func (s *service) DelayedStart() (bool, error) {
	return ask(s.around, Call{Method: "Service.DelayedStart", Subject: s.name}, s.inner.DelayedStart)
}

func (s *service) Status() (win.ServiceStatus, error) {
	return ask(s.around, Call{Method: "Service.Status", Subject: s.name}, s.inner.Status)
}

func (s *service) Dependents(states uint32) ([]win.DependentService, error) {
	return ask(s.around, Call{Method: "Service.Dependents", Subject: s.name, Code: states},
		func() ([]win.DependentService, error) { return s.inner.Dependents(states) })
}

func (s *service) Start() error {
	return tell(s.around, Call{Method: "Service.Start", Subject: s.name}, s.inner.Start)
}

func (s *service) Control(code uint32) (win.ServiceStatus, error) {
	return ask(s.around, Call{Method: "Service.Control", Subject: s.name, Code: code},
		func() (win.ServiceStatus, error) { return s.inner.Control(code) })
}

func (s *service) Close() error { return s.inner.Close() }

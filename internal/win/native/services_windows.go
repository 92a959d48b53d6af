// SPDX-License-Identifier: Apache-2.0

package native

import (
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

type services struct{}

var _ win.Services = services{}

// Open connects to the service control manager for this one service: the right
// to connect is all that the manager is asked for.
func (services) Open(name string, access win.Access) (win.Service, error) {
	key, err := wide(name)
	if err != nil {
		return nil, err
	}
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		return nil, err
	}
	defer func() { _ = windows.CloseServiceHandle(manager) }()
	value, err := windows.OpenService(manager, &key[0], uint32(access))
	if err != nil {
		return nil, err
	}
	return &service{handle{value: value, free: windows.CloseServiceHandle}}, nil
}

type service struct{ handle handle }

var _ win.Service = (*service)(nil)

func (s *service) Close() error { return s.handle.Close() }

func (s *service) Config() (win.ServiceConfig, error) {
	var config win.ServiceConfig
	err := s.handle.use(func(value windows.Handle) error {
		buf, err := grow(1024, func(buf []byte) (int, error) {
			var needed uint32
			err := windows.QueryServiceConfig(value, (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(&buf[0])), uint32(len(buf)), &needed)
			return replied(buf, needed, err)
		})
		if err != nil {
			return err
		}
		raw := (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(&buf[0]))
		config = win.ServiceConfig{
			Type:        raw.ServiceType,
			StartType:   raw.StartType,
			DisplayName: windows.UTF16PtrToString(raw.DisplayName),
		}
		return nil
	})
	return config, err
}

// replied is the result of a call that says how much it needs only where buf is
// too small.
func replied(buf []byte, needed uint32, err error) (int, error) {
	if err != nil {
		return int(needed), err
	}
	return len(buf), nil
}

func (s *service) DelayedStart() (bool, error) {
	var info windows.SERVICE_DELAYED_AUTO_START_INFO
	err := s.handle.use(func(value windows.Handle) error {
		var needed uint32
		return windows.QueryServiceConfig2(value, windows.SERVICE_CONFIG_DELAYED_AUTO_START_INFO,
			(*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), &needed)
	})
	return info.IsDelayedAutoStartUp != 0, err
}

func (s *service) Status() (win.ServiceStatus, error) {
	var raw windows.SERVICE_STATUS_PROCESS
	err := s.handle.use(func(value windows.Handle) error {
		var needed uint32
		return windows.QueryServiceStatusEx(value, windows.SC_STATUS_PROCESS_INFO,
			(*byte)(unsafe.Pointer(&raw)), uint32(unsafe.Sizeof(raw)), &needed)
	})
	return win.ServiceStatus{
		Type:             raw.ServiceType,
		State:            raw.CurrentState,
		ControlsAccepted: raw.ControlsAccepted,
		ExitCode:         raw.Win32ExitCode,
		ServiceExitCode:  raw.ServiceSpecificExitCode,
		CheckPoint:       raw.CheckPoint,
		WaitHint:         raw.WaitHint,
		ProcessID:        raw.ProcessId,
		Flags:            raw.ServiceFlags,
	}, err
}

func (s *service) Dependents(states uint32) ([]win.DependentService, error) {
	var list []win.DependentService
	err := s.handle.use(func(value windows.Handle) error {
		var count uint32
		buf, err := grow(4096, func(buf []byte) (int, error) {
			var needed uint32
			err := windows.EnumDependentServices(value, states, (*windows.ENUM_SERVICE_STATUS)(unsafe.Pointer(&buf[0])), uint32(len(buf)), &needed, &count)
			return replied(buf, needed, err)
		})
		if err != nil {
			return err
		}
		for _, entry := range unsafe.Slice((*windows.ENUM_SERVICE_STATUS)(unsafe.Pointer(&buf[0])), count) {
			list = append(list, win.DependentService{
				Name:   windows.UTF16PtrToString(entry.ServiceName),
				Status: statusOf(entry.ServiceStatus),
			})
		}
		return nil
	})
	return list, err
}

func (s *service) Start() error {
	return s.handle.use(func(value windows.Handle) error { return windows.StartService(value, 0, nil) })
}

func (s *service) Control(code uint32) (win.ServiceStatus, error) {
	var raw windows.SERVICE_STATUS
	err := s.handle.use(func(value windows.Handle) error { return windows.ControlService(value, code, &raw) })
	return statusOf(raw), err
}

func statusOf(raw windows.SERVICE_STATUS) win.ServiceStatus {
	return win.ServiceStatus{
		Type:             raw.ServiceType,
		State:            raw.CurrentState,
		ControlsAccepted: raw.ControlsAccepted,
		ExitCode:         raw.Win32ExitCode,
		ServiceExitCode:  raw.ServiceSpecificExitCode,
		CheckPoint:       raw.CheckPoint,
		WaitHint:         raw.WaitHint,
	}
}

// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

const serviceName = "csiproxylab"

// loadDriver starts the driver. One from a run that was killed goes first.
func loadDriver(path string) error {
	if err := unloadDriver(); err != nil && !errors.Is(err, win.ERROR_SERVICE_DOES_NOT_EXIST) {
		return err
	}
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_ALL_ACCESS)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseServiceHandle(manager) }()
	name, err := windows.UTF16PtrFromString(serviceName)
	if err != nil {
		return err
	}
	image, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	service, err := windows.CreateService(manager, name, name, windows.SERVICE_ALL_ACCESS, windows.SERVICE_KERNEL_DRIVER,
		windows.SERVICE_DEMAND_START, windows.SERVICE_ERROR_NORMAL, image, nil, nil, nil, nil, nil)
	if err != nil {
		return fmt.Errorf("make the service %s: %w", serviceName, err)
	}
	defer func() { _ = windows.CloseServiceHandle(service) }()
	if err := windows.StartService(service, 0, nil); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return nil
}

// unloadDriver stops the driver and removes its service.
func unloadDriver() error {
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_ALL_ACCESS)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseServiceHandle(manager) }()
	name, err := windows.UTF16PtrFromString(serviceName)
	if err != nil {
		return err
	}
	service, err := windows.OpenService(manager, name, windows.SERVICE_ALL_ACCESS)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseServiceHandle(service) }()
	var status windows.SERVICE_STATUS
	err = windows.ControlService(service, windows.SERVICE_CONTROL_STOP, &status)
	if errors.Is(err, windows.ERROR_SERVICE_NOT_ACTIVE) {
		err = nil
	}
	return errors.Join(err, windows.DeleteService(service))
}

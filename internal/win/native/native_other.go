// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package native

import (
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func newHost() *win.Host {
	return &win.Host{Devices: devices{}, Mounts: mounts{}, Files: files{}, Services: services{}, System: system{}, WMI: wmi{}, Logons: logons{}, Arrivals: arrivals{}}
}

func unsupported() error { return fmt.Errorf("this is not Windows: %w", errors.ErrUnsupported) }

type devices struct{}

func (devices) Interfaces(abi.GUID) ([]string, error)       { return nil, unsupported() }
func (devices) Open(string, win.Access) (win.Device, error) { return nil, unsupported() }

type mounts struct{}

func (mounts) Volumes() ([]string, error)      { return nil, unsupported() }
func (mounts) Paths(string) ([]string, error)  { return nil, unsupported() }
func (mounts) VolumeAt(string) (string, error) { return "", unsupported() }
func (mounts) SetPoint(string, string) error   { return unsupported() }
func (mounts) DeletePoint(string) error        { return unsupported() }
func (mounts) Information(string) (win.VolumeInformation, error) {
	return win.VolumeInformation{}, unsupported()
}
func (mounts) FreeSpace(string) (win.FreeSpace, error) { return win.FreeSpace{}, unsupported() }

type files struct{}

func (files) Open(win.File, string, win.OpenFile) (win.File, error) { return nil, unsupported() }
func (files) SymbolicLink(string, string, uint32) error             { return unsupported() }

type services struct{}

func (services) Open(string, win.Access) (win.Service, error) { return nil, unsupported() }

type system struct{}

func (system) WindowsDirectory() (string, error) { return "", unsupported() }
func (system) RegistryValue(string, string) (win.RegistryValue, error) {
	return win.RegistryValue{}, unsupported()
}
func (system) BuildNumber() (uint32, error)                 { return 0, unsupported() }
func (system) FirmwareTable(uint32, uint32) ([]byte, error) { return nil, unsupported() }

type logons struct{}

func (logons) Logon(string, string, string) (win.Logon, error) { return nil, unsupported() }

type arrivals struct{}

func (arrivals) Watch(abi.GUID, func()) error { return unsupported() }

type wmi struct{}

func (wmi) Enter() error                        { return unsupported() }
func (wmi) Leave()                              {}
func (wmi) Connect(string) (win.Session, error) { return nil, unsupported() }

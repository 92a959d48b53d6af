// SPDX-License-Identifier: Apache-2.0

package native

import (
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

type system struct{ firmwareTable *windows.LazyProc }

var _ win.System = system{}

func (system) WindowsDirectory() (string, error) { return windows.GetSystemWindowsDirectory() }

// RegistryValue reads the 64-bit view.
func (system) RegistryValue(key, name string) (win.RegistryValue, error) {
	path, err := wide(key)
	if err != nil {
		return win.RegistryValue{}, err
	}
	value, err := wide(name)
	if err != nil {
		return win.RegistryValue{}, err
	}
	var open windows.Handle
	if err := windows.RegOpenKeyEx(windows.HKEY_LOCAL_MACHINE, &path[0], 0, windows.KEY_READ|windows.KEY_WOW64_64KEY, &open); err != nil {
		return win.RegistryValue{}, err
	}
	defer func() { _ = windows.RegCloseKey(open) }()

	var result win.RegistryValue
	result.Data, err = grow(256, func(buf []byte) (int, error) {
		n := uint32(len(buf))
		err := windows.RegQueryValueEx(open, &value[0], nil, &result.Type, &buf[0], &n)
		return int(n), err
	})
	if err != nil {
		return win.RegistryValue{}, err
	}
	return result, nil
}

func (system) BuildNumber() (uint32, error) { return windows.RtlGetVersion().BuildNumber, nil }

func (s system) FirmwareTable(provider, id uint32) ([]byte, error) {
	if err := find(s.firmwareTable); err != nil {
		return nil, err
	}
	return grow(4096, func(buf []byte) (int, error) {
		size, _, last := s.firmwareTable.Call(uintptr(provider), uintptr(id), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
		if size == 0 {
			return 0, failure(last)
		}
		return int(size), nil
	})
}

// SPDX-License-Identifier: Apache-2.0

package intercept

import "github.com/kubernetes-csi/csi-proxy/v2/internal/win"

type system struct {
	inner  win.System
	around Around
}

func (s *system) WindowsDirectory() (string, error) {
	return ask(s.around, Call{Method: "System.WindowsDirectory"}, s.inner.WindowsDirectory)
}

func (s *system) RegistryValue(key, name string) (win.RegistryValue, error) {
	return ask(s.around, Call{Method: "System.RegistryValue", Subject: key + `\` + name},
		func() (win.RegistryValue, error) { return s.inner.RegistryValue(key, name) })
}

func (s *system) BuildNumber() (uint32, error) {
	return ask(s.around, Call{Method: "System.BuildNumber"}, s.inner.BuildNumber)
}

func (s *system) FirmwareTable(provider, id uint32) ([]byte, error) {
	return ask(s.around, Call{Method: "System.FirmwareTable", Code: provider},
		func() ([]byte, error) { return s.inner.FirmwareTable(provider, id) })
}

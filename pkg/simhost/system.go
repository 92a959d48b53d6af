// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// system is the node's [win.System].
type system struct{ node *Node }

func (s system) WindowsDirectory() (string, error) { return s.node.windows, nil }

func (s system) BuildNumber() (uint32, error) { return s.node.build, nil }

// registryKey names a value below HKEY_LOCAL_MACHINE, folded to upper case.
type registryKey struct{ key, name string }

func newRegistryKey(key, name string) registryKey {
	return registryKey{strings.ToUpper(key), strings.ToUpper(name)}
}

func (s system) RegistryValue(key, name string) (win.RegistryValue, error) {
	v, ok := s.node.registry[newRegistryKey(key, name)]
	if !ok {
		return win.RegistryValue{}, win.ERROR_FILE_NOT_FOUND
	}
	return win.RegistryValue{Type: v.Type, Data: bytes.Clone(v.Data)}, nil
}

// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// Parameters of methods, named after the type that the schema declares. They
// hold the type in which COM takes it (windows-api.md 14.7).

// Uint64 is a uint64 parameter, in decimal.
func Uint64(name string, v uint64) win.Param {
	return win.Param{Name: name, Value: strconv.FormatUint(v, 10)}
}

// Uint32 is a uint32 parameter, as the int32 of the same bits.
func Uint32(name string, v uint32) win.Param { return win.Param{Name: name, Value: int32(v)} }

// Uint16 is a uint16 parameter, as an int32.
func Uint16(name string, v uint16) win.Param { return win.Param{Name: name, Value: int32(v)} }

// Bool is a boolean parameter.
func Bool(name string, v bool) win.Param { return win.Param{Name: name, Value: v} }

// String is a string parameter.
func String(name, v string) win.Param { return win.Param{Name: name, Value: v} }

// Strings is a parameter that is an array of strings.
func Strings(name string, v []string) win.Param {
	elements := make([]any, len(v))
	for i, s := range v {
		elements[i] = s
	}
	return win.Param{Name: name, Value: elements}
}

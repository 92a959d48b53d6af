// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"
	"slices"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// wide is s in UTF-16, with a NUL at its end. A NUL within s, where Windows
// would stop reading, is ERROR_INVALID_NAME; an unpaired surrogate stays one.
func wide(s string) ([]uint16, error) {
	units, err := windows.UTF16FromString(s)
	if err != nil {
		return nil, win.ERROR_INVALID_NAME
	}
	return units, nil
}

// grow makes a call with a buffer that starts with so many units, and again
// while the call says that it needs more. The call returns how many units it
// used or needs; beside a need its error does not matter.
func grow[unit byte | uint16](units int, call func(buf []unit) (int, error)) ([]unit, error) {
	const attempts = 8 // what is listed may grow between two calls, but not for ever
	for range attempts {
		buf := make([]unit, units)
		n, err := call(buf)
		switch {
		case n > units && (err == nil || tooSmall(err)):
			units = n
		case err != nil:
			return nil, err
		default:
			return buf[:n], nil
		}
	}
	return nil, win.ERROR_MORE_DATA
}

func tooSmall(err error) bool {
	return errors.Is(err, win.ERROR_MORE_DATA) || errors.Is(err, win.ERROR_INSUFFICIENT_BUFFER)
}

// split takes the strings of a MULTI_SZ apart.
func split(units []uint16) []string {
	var list []string
	for len(units) > 0 && units[0] != 0 {
		list = append(list, windows.UTF16ToString(units))
		end := slices.Index(units, 0)
		if end < 0 {
			break
		}
		units = units[end+1:]
	}
	return list
}

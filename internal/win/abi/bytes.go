// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed says that bytes contradict the layout of their structure.
var ErrMalformed = errors.New("malformed structure")

// TruncatedError says that a structure announces more bytes than were there:
// ask again with a buffer of Need bytes, if that is larger than the last one
// and still reasonable. Need comes from the device and may be absurd.
type TruncatedError struct {
	Structure  string
	Have, Need uint64 // bytes
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("%s: %d bytes of %d", e.Structure, e.Have, e.Need)
}

// le reads and writes integers; every structure of Windows is little-endian.
var le = binary.LittleEndian

// need checks that b holds the fixed part of a structure.
func need(structure string, b []byte, size int) error {
	if len(b) < size {
		return malformed(structure, "%d bytes, not %d", len(b), size)
	}
	return nil
}

func malformed(structure, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrMalformed, structure, fmt.Sprintf(format, args...))
}

// slice returns b[offset:offset+length] if that lies within b.
func slice(b []byte, offset, length uint64) ([]byte, bool) {
	size := uint64(len(b))
	if offset > size || length > size-offset {
		return nil, false
	}
	return b[offset : offset+length], true
}

// putBool writes a BOOLEAN.
func putBool(b []byte, v bool) {
	if v {
		b[0] = 1
	}
}

// zeros returns n bytes, to be filled in and appended to.
func zeros(n int) []byte { return make([]byte, n) }

// align rounds n up to a multiple of to.
func align(n, to int) int { return (n + to - 1) / to * to }

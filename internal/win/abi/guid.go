// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// GUID is a Windows GUID. In memory Data1 to Data3 are little-endian, Data4 is
// a byte string (windows-api.md 5.2).
type GUID struct {
	Data1 uint32
	Data2 uint16
	Data3 uint16
	Data4 [8]byte
}

// GUIDSize is the length of a GUID in a native structure.
const GUIDSize = 16

// DecodeGUID reads the GUID at the start of b, which must hold GUIDSize bytes.
func DecodeGUID(b []byte) GUID {
	_ = b[GUIDSize-1]
	g := GUID{
		Data1: binary.LittleEndian.Uint32(b),
		Data2: binary.LittleEndian.Uint16(b[4:]),
		Data3: binary.LittleEndian.Uint16(b[6:]),
	}
	copy(g.Data4[:], b[8:])
	return g
}

// Put writes g to the start of b, which must hold GUIDSize bytes.
func (g GUID) Put(b []byte) {
	_ = b[GUIDSize-1]
	binary.LittleEndian.PutUint32(b, g.Data1)
	binary.LittleEndian.PutUint16(b[4:], g.Data2)
	binary.LittleEndian.PutUint16(b[6:], g.Data3)
	copy(b[8:], g.Data4[:])
}

// String returns the form 8-4-4-4-12 in lower case, without braces.
func (g GUID) String() string {
	return fmt.Sprintf("%08x-%04x-%04x-%x-%x", g.Data1, g.Data2, g.Data3, g.Data4[:2], g.Data4[2:])
}

// IsZero reports whether all 128 bits are 0.
func (g GUID) IsZero() bool { return g == GUID{} }

// ParseGUID reads the form 8-4-4-4-12, with or without braces, in any case.
func ParseGUID(s string) (GUID, error) {
	t := s
	if strings.HasPrefix(t, "{") && strings.HasSuffix(t, "}") {
		t = t[1 : len(t)-1]
	}
	if len(t) != 36 || t[8] != '-' || t[13] != '-' || t[18] != '-' || t[23] != '-' {
		return GUID{}, fmt.Errorf("not a GUID: %q", s)
	}
	raw, err := hex.DecodeString(t[:8] + t[9:13] + t[14:18] + t[19:23] + t[24:])
	if err != nil {
		return GUID{}, fmt.Errorf("not a GUID: %q", s)
	}
	g := GUID{
		Data1: binary.BigEndian.Uint32(raw),
		Data2: binary.BigEndian.Uint16(raw[4:]),
		Data3: binary.BigEndian.Uint16(raw[6:]),
	}
	copy(g.Data4[:], raw[8:])
	return g, nil
}

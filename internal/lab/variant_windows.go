// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"math"
	"unsafe"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// variant is a VARIANT (oaidl.h).
type variant struct {
	vt       uint16
	reserved [3]uint16
	value    uint64
	record   uint64
}

// Variant types (wtypes.h).
const (
	vtEmpty   = 0
	vtNull    = 1
	vtI2      = 2
	vtI4      = 3
	vtR4      = 4
	vtR8      = 5
	vtBSTR    = 8
	vtBool    = 11
	vtVariant = 12
	vtUnknown = 13
	vtUI1     = 17
	vtArray   = 0x2000
)

// variantOf puts a value of a row into a variant, which is the client's to clear
// (windows-api.md 14.7).
func (o *objects) variantOf(value any) variant {
	switch value := value.(type) {
	case bool:
		v := variant{vt: vtBool}
		if value {
			v.value = 0xFFFF
		}
		return v
	case uint8:
		return variant{vt: vtUI1, value: uint64(value)}
	case int16:
		return variant{vt: vtI2, value: uint64(uint16(value))}
	case int32:
		return variant{vt: vtI4, value: uint64(uint32(value))}
	case float32:
		return variant{vt: vtR4, value: uint64(math.Float32bits(value))}
	case float64:
		return variant{vt: vtR8, value: math.Float64bits(value)}
	case string:
		return variant{vt: vtBSTR, value: uint64(newBSTR(value))}
	case win.Row:
		return variant{vt: vtUnknown, value: uint64(uintptr(unsafe.Pointer(o.row(value))))}
	case []any:
		return o.vectorOf(value)
	}
	return variant{vt: vtNull}
}

// elementSizes are the widths of variant types in an array.
var elementSizes = map[uint16]uintptr{vtBool: 2, vtUI1: 1, vtI2: 2, vtI4: 4, vtR4: 4, vtR8: 8, vtBSTR: 8, vtUnknown: 8, vtVariant: 24}

// vectorOf makes a SAFEARRAY of values, which are all of one type.
func (o *objects) vectorOf(values []any) variant {
	of := uint16(vtVariant)
	elements := make([]variant, len(values))
	for i, value := range values {
		elements[i] = o.variantOf(value)
		of = elements[i].vt
	}
	array, _, _ := exports().createVector.Call(uintptr(of), 0, uintptr(len(values)))
	var data unsafe.Pointer
	_, _, _ = exports().access.Call(array, uintptr(unsafe.Pointer(&data)))
	size := elementSizes[of]
	for i := range elements {
		value := unsafe.Slice((*byte)(unsafe.Pointer(&elements[i].value)), 8)
		copy(unsafe.Slice((*byte)(unsafe.Add(data, uintptr(i)*size)), size), value)
	}
	_, _, _ = exports().done.Call(array)
	return variant{vt: vtArray | of, value: uint64(array)}
}

// valueOf reads what a client has put into a variant.
func valueOf(v *variant) (value any, ok bool) {
	if v.vt&vtArray != 0 {
		return elementsOf(v)
	}
	return scalarOf(v.vt, unsafe.Pointer(&v.value))
}

func scalarOf(vt uint16, p unsafe.Pointer) (value any, ok bool) {
	switch vt {
	case vtEmpty, vtNull:
		return nil, true
	case vtBool:
		return *(*int16)(p) != 0, true
	case vtUI1:
		return *(*uint8)(p), true
	case vtI2:
		return *(*int16)(p), true
	case vtI4:
		return *(*int32)(p), true
	case vtR4:
		return *(*float32)(p), true
	case vtR8:
		return *(*float64)(p), true
	case vtBSTR:
		return textOf(*(**uint16)(p)), true
	}
	return nil, false
}

func elementsOf(v *variant) (any, bool) {
	var (
		upper int32
		data  unsafe.Pointer
		array = uintptr(v.value)
		of    = v.vt &^ vtArray
	)
	_, _, _ = exports().elements.Call(array, 1, uintptr(unsafe.Pointer(&upper)))
	_, _, _ = exports().access.Call(array, uintptr(unsafe.Pointer(&data)))
	defer func() { _, _, _ = exports().done.Call(array) }()
	values := make([]any, upper+1)
	for i := range values {
		value, ok := scalarOf(of, unsafe.Add(data, uintptr(i)*elementSizes[of]))
		if !ok {
			return nil, false
		}
		values[i] = value
	}
	return values, true
}

// newBSTR copies s into COM's memory.
func newBSTR(s string) uintptr {
	units := terminated(s)
	r, _, _ := exports().allocString.Call(uintptr(unsafe.Pointer(&units[0])), uintptr(len(units)/2-1))
	return r
}

// textOf reads a BSTR.
func textOf(s *uint16) string {
	if s == nil {
		return ""
	}
	n, _, _ := exports().stringLength.Call(uintptr(unsafe.Pointer(s)))
	return abi.DecodeUTF16(unsafe.Slice((*byte)(unsafe.Pointer(s)), 2*n))
}

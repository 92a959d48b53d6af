// SPDX-License-Identifier: Apache-2.0

package native

import (
	"math"
	"unsafe"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// variant is a VARIANT (windows-api.md 14.7).
type variant struct {
	kind  kind
	_     [3]uint16
	value uint64
	_     uint64
}

// kind is a VARTYPE.
type kind uint16

const (
	kindEmpty   kind = 0
	kindNull    kind = 1
	kindInt16   kind = 2  // VT_I2
	kindInt32   kind = 3  // VT_I4
	kindFloat32 kind = 4  // VT_R4
	kindFloat64 kind = 5  // VT_R8
	kindString  kind = 8  // VT_BSTR
	kindBool    kind = 11 // VT_BOOL
	kindVariant kind = 12 // VT_VARIANT, in arrays only
	kindObject  kind = 13 // VT_UNKNOWN
	kindUint8   kind = 17 // VT_UI1
	kindArray   kind = 0x2000
)

// value copies a variant out of COM.
func (c *com) value(v *variant) (any, error) {
	if v.kind&kindArray != 0 {
		return c.elements(v)
	}
	return c.scalar(v.kind, unsafe.Pointer(&v.value))
}

// scalar copies the value of a kind at p.
func (c *com) scalar(k kind, p unsafe.Pointer) (null any, err error) {
	switch k {
	case kindEmpty, kindNull:
		return null, nil
	case kindBool:
		return *(*int16)(p) != 0, nil
	case kindUint8:
		return *(*uint8)(p), nil
	case kindInt16:
		return *(*int16)(p), nil
	case kindInt32:
		return *(*int32)(p), nil
	case kindFloat32:
		return *(*float32)(p), nil
	case kindFloat64:
		return *(*float64)(p), nil
	case kindString:
		return c.text(*(**uint16)(p)), nil
	case kindObject:
		return c.embedded(*(**object)(p))
	case kindVariant:
		return c.value((*variant)(p))
	default:
		return nil, win.WBEM_E_TYPE_MISMATCH
	}
}

// embedded copies an object within another, which keeps it.
func (c *com) embedded(o *object) (null any, err error) {
	if o == nil {
		return null, nil
	}
	instance := c.as(o, &iidClassObject)
	if instance == nil {
		return nil, win.WBEM_E_TYPE_MISMATCH
	}
	defer c.release(instance)
	row, err := c.row(instance)
	if err != nil {
		return nil, err
	}
	return row, nil
}

// elements copies the SAFEARRAY of a variant.
func (c *com) elements(v *variant) (any, error) {
	array := uintptr(v.value)
	if array == 0 {
		return []any{}, nil
	}
	if dimensions, _, _ := c.dimensions.Call(array); dimensions != 1 {
		return nil, win.WBEM_E_TYPE_MISMATCH
	}
	var (
		lower, upper int32
		data         unsafe.Pointer
	)
	if r, _, _ := c.lower.Call(array, 1, uintptr(unsafe.Pointer(&lower))); failed(result(r)) {
		return nil, result(r)
	}
	if r, _, _ := c.upper.Call(array, 1, uintptr(unsafe.Pointer(&upper))); failed(result(r)) {
		return nil, result(r)
	}
	if r, _, _ := c.access.Call(array, uintptr(unsafe.Pointer(&data))); failed(result(r)) {
		return nil, result(r)
	}
	defer func() { _, _, _ = c.done.Call(array) }()

	size, _, _ := c.elementSize.Call(array)
	values := make([]any, int(upper)-int(lower)+1)
	for i := range values {
		value, err := c.scalar(v.kind&^kindArray, unsafe.Add(data, uintptr(i)*size))
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}

// newVariant puts a value into a variant, which the caller clears. An embedded
// object cannot be put: no method that the library calls takes one.
func (c *com) newVariant(value any) (*variant, error) {
	v, err := c.encode(value)
	if err == nil {
		c.outstanding.Add(1)
	}
	return v, err
}

// clear frees what a variant holds.
func (c *com) clear(v *variant) {
	c.empty(v)
	c.outstanding.Add(-1)
}

// empty is clear for a variant that is not counted yet. A text is wiped before,
// for it may be a password.
func (c *com) empty(v *variant) {
	if text := *(**uint16)(unsafe.Pointer(&v.value)); v.kind == kindString && text != nil {
		n, _, _ := c.stringLength.Call(uintptr(unsafe.Pointer(text)))
		clear(unsafe.Slice(text, n))
	}
	_, _, _ = c.clearVariant.Call(uintptr(unsafe.Pointer(v)))
}

func (c *com) encode(value any) (*variant, error) {
	switch value := value.(type) {
	case nil:
		return &variant{kind: kindNull}, nil
	case bool:
		v := &variant{kind: kindBool}
		if value {
			v.value = 0xFFFF // VARIANT_TRUE
		}
		return v, nil
	case uint8:
		return &variant{kind: kindUint8, value: uint64(value)}, nil
	case int16:
		return &variant{kind: kindInt16, value: uint64(uint16(value))}, nil
	case int32:
		return &variant{kind: kindInt32, value: uint64(uint32(value))}, nil
	case float32:
		return &variant{kind: kindFloat32, value: uint64(math.Float32bits(value))}, nil
	case float64:
		return &variant{kind: kindFloat64, value: math.Float64bits(value)}, nil
	case string:
		s, err := c.alloc(value)
		return &variant{kind: kindString, value: uint64(s)}, err
	case []any:
		return c.vector(value)
	}
	return nil, win.WBEM_E_TYPE_MISMATCH
}

// vector makes an array of values, which are all of one type. An empty one is
// an array of variants (windows-api.md 14.7).
func (c *com) vector(values []any) (*variant, error) {
	of := kindVariant
	if len(values) > 0 {
		sample, err := c.newVariant(values[0])
		if err != nil {
			return nil, err
		}
		of = sample.kind
		c.clear(sample)
	}
	if of == kindNull || of&kindArray != 0 {
		return nil, win.WBEM_E_TYPE_MISMATCH
	}
	array, _, _ := c.createVector.Call(uintptr(of), 0, uintptr(len(values)))
	if array == 0 {
		return nil, win.WBEM_E_OUT_OF_MEMORY
	}
	v := &variant{kind: kindArray | of, value: uint64(array)}
	for i, value := range values {
		if err := c.put(v, i, value); err != nil {
			c.empty(v)
			return nil, err
		}
	}
	return v, nil
}

// put copies a value into an element of an array.
func (c *com) put(array *variant, index int, value any) error {
	element, err := c.newVariant(value)
	if err != nil {
		return err
	}
	defer c.clear(element)
	if array.kind != kindArray|element.kind {
		return win.WBEM_E_TYPE_MISMATCH
	}
	i := int32(index)
	source := uintptr(unsafe.Pointer(&element.value))
	if element.kind == kindString {
		source = uintptr(element.value) // a BSTR is its own address
	}
	r, _, _ := c.putElement.Call(uintptr(array.value), uintptr(unsafe.Pointer(&i)), source)
	if code := result(r); failed(code) {
		return code
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"errors"
	"math"
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// ErrNull is the error, of kind Unavailable, of a property that is NULL or was
// not asked for. Providers leave unknown values NULL.
var ErrNull = errors.New("is NULL")

// Row is a WMI object. Its methods read a property as the type that the schema
// declares, from the type in which COM hands it over (windows-api.md 14.7). A
// NULL is [ErrNull]; a value of another type is Internal, never 0.
type Row win.Row

// Null tells whether a property is NULL or missing.
func (r Row) Null(name string) bool { return r[name] == nil }

// Uint32 reads a uint32, which COM hands over as the int32 of the same bits.
func (r Row) Uint32(name string) (uint32, error) {
	v, err := value[int32](r, name)
	return uint32(v), err
}

// Uint16 reads a uint16, which COM hands over as an int32.
func (r Row) Uint16(name string) (uint16, error) {
	v, err := value[int32](r, name)
	if err != nil {
		return 0, err
	}
	return toUint16(name, v)
}

// Uint64 reads a uint64, which COM hands over in decimal.
func (r Row) Uint64(name string) (uint64, error) {
	s, err := value[string](r, name)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, errdefs.As(errdefs.Internal, "wmi.Row", name, err)
	}
	return v, nil
}

// Int reads a uint8, char16 or a signed integer of any size. An unsigned
// property of 32 bits belongs to Uint32.
func (r Row) Int(name string) (int64, error) {
	switch v := r[name].(type) {
	case uint8:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	}
	s, err := value[string](r, name)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, errdefs.As(errdefs.Internal, "wmi.Row", name, err)
	}
	return v, nil
}

// Bool reads a boolean.
func (r Row) Bool(name string) (bool, error) { return value[bool](r, name) }

// String reads a string, datetime or reference.
func (r Row) String(name string) (string, error) { return value[string](r, name) }

// Strings reads an array of strings.
func (r Row) Strings(name string) ([]string, error) {
	return array(r, name, func(s string) (string, error) { return s, nil })
}

// Uint16s reads an array of uint16.
func (r Row) Uint16s(name string) ([]uint16, error) {
	return array(r, name, func(v int32) (uint16, error) { return toUint16(name, v) })
}

// Row reads an embedded object.
func (r Row) Row(name string) (Row, error) {
	v, err := value[win.Row](r, name)
	return Row(v), err
}

func toUint16(name string, v int32) (uint16, error) {
	if v < 0 || v > math.MaxUint16 {
		return 0, errdefs.New(errdefs.Internal, "wmi.Row", name, "%d is no uint16", v)
	}
	return uint16(v), nil
}

func value[T any](r Row, name string) (T, error) {
	switch v := r[name].(type) {
	case nil:
		var zero T
		return zero, errdefs.As(errdefs.Unavailable, "wmi.Row", name, ErrNull)
	case T:
		return v, nil
	default:
		var zero T
		return zero, errdefs.New(errdefs.Internal, "wmi.Row", name, "is %T, not %T", v, zero)
	}
}

func array[From, To any](r Row, name string, convert func(From) (To, error)) ([]To, error) {
	elements, err := value[[]any](r, name)
	if err != nil {
		return nil, err
	}
	out := make([]To, len(elements))
	for i, e := range elements {
		v, ok := e.(From)
		if !ok {
			return nil, errdefs.New(errdefs.Internal, "wmi.Row", name, "element %d is %T, not %T", i, e, v)
		}
		if out[i], err = convert(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

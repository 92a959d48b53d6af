// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// cimType is the type of a property or parameter.
type cimType struct {
	base  string // "uint32", "string", "reference", "object" …
	array bool
}

// baseOf is the base of a type as the fact page writes it. An embedded instance
// is an object on the wire, whatever the page calls it.
func baseOf(text, embedded string) string {
	switch {
	case embedded != "":
		return "object"
	case strings.HasPrefix(text, "ref:"):
		return "reference"
	}
	return text
}

// toVariant gives a value of the model the type in which COM hands it over
// (windows-api.md 14.7). The model's types are those of the schema: bool,
// uint8 … uint64, int32, string, win.Row and slices of them; a char16 is a
// rune. It panics on another type: that would be a mistake of the model, not of
// its user.
func (t cimType) toVariant(v any) any {
	if v == nil {
		return nil
	}
	if !t.array {
		return t.element(v)
	}
	list := reflect.ValueOf(v)
	out := make([]any, list.Len())
	for i := range out {
		out[i] = t.element(list.Index(i).Interface())
	}
	return out
}

func (t cimType) element(v any) any {
	switch x := v.(type) {
	case bool:
		if t.base == "boolean" {
			return x
		}
	case uint8:
		if t.base == "uint8" {
			return x
		}
	case uint16:
		if t.base == "uint16" {
			return int32(x)
		}
	case uint32:
		if t.base == "uint32" {
			return int32(x)
		}
	case int32: // also a rune
		switch t.base {
		case "sint32":
			return x
		case "char16":
			return int16(uint16(x))
		}
	case uint64:
		if t.base == "uint64" {
			return strconv.FormatUint(x, 10)
		}
	case string:
		switch t.base {
		case "string", "datetime", "reference":
			return x
		}
	case win.Row:
		if t.base == "object" {
			return x
		}
	}
	panic(fmt.Sprintf("simhost: a %T where the schema has %s", v, t.base))
}

// fromVariant reads a value that was Put, into the model's type. It reports
// false where WMI says WBEM_E_TYPE_MISMATCH: a uint64 that is no decimal
// string, a uint32 that is no VT_I4, a bool that is no VT_BOOL.
func (t cimType) fromVariant(v any) (any, bool) {
	if v == nil {
		return nil, true
	}
	if !t.array {
		return t.fromElement(v)
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]any, len(list))
	for i, e := range list {
		if out[i], ok = t.fromElement(e); !ok {
			return nil, false
		}
	}
	return out, true
}

func (t cimType) fromElement(v any) (any, bool) {
	switch x := v.(type) {
	case bool:
		return x, t.base == "boolean"
	case uint8:
		return x, t.base == "uint8"
	case int16:
		return rune(uint16(x)), t.base == "char16"
	case int32:
		return t.fromInt32(x)
	case string:
		return t.fromString(x)
	case win.Row:
		return x, t.base == "object"
	}
	return nil, false
}

func (t cimType) fromInt32(x int32) (any, bool) {
	switch t.base {
	case "sint32":
		return x, true
	case "uint32":
		return uint32(x), true
	case "uint16":
		return uint16(x), int32(uint16(x)) == x
	case "uint8":
		return uint8(x), int32(uint8(x)) == x
	}
	return nil, false
}

func (t cimType) fromString(x string) (any, bool) {
	switch t.base {
	case "string", "datetime", "reference":
		return x, true
	case "uint64":
		u, err := strconv.ParseUint(x, 10, 64)
		return u, err == nil
	}
	return nil, false
}

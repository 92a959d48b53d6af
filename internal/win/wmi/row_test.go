// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// accessors reads a property as each type there is.
var accessors = map[string]func(Row, string) (any, error){
	"Uint32":  func(r Row, n string) (any, error) { return any2(r.Uint32(n)) },
	"Uint16":  func(r Row, n string) (any, error) { return any2(r.Uint16(n)) },
	"Uint64":  func(r Row, n string) (any, error) { return any2(r.Uint64(n)) },
	"Int":     func(r Row, n string) (any, error) { return any2(r.Int(n)) },
	"Bool":    func(r Row, n string) (any, error) { return any2(r.Bool(n)) },
	"String":  func(r Row, n string) (any, error) { return any2(r.String(n)) },
	"Strings": func(r Row, n string) (any, error) { return any2(r.Strings(n)) },
	"Uint16s": func(r Row, n string) (any, error) { return any2(r.Uint16s(n)) },
	"Row":     func(r Row, n string) (any, error) { return any2(r.Row(n)) },
}

func any2[T any](v T, err error) (any, error) { return v, err }

// Each VARIANT type, with the accessors that may read it and what they read;
// all others must fail (windows-api.md 14.7, 17.3).
func TestRow_EachVariantType(t *testing.T) {
	tests := []struct {
		cim   string
		value any
		want  map[string]any
	}{
		{"sint16 and char16", int16(-2), map[string]any{"Int": int64(-2)}},
		{"uint8", uint8(200), map[string]any{"Int": int64(200)}},
		{"uint16 and uint32", int32(65535), map[string]any{"Uint32": uint32(65535), "Uint16": uint16(65535), "Int": int64(65535)}},
		{"uint32 over uint16", int32(65536), map[string]any{"Uint32": uint32(65536), "Int": int64(65536)}},
		{"uint32 of 2^31", int32(-1 << 31), map[string]any{"Uint32": uint32(1 << 31), "Int": int64(-1 << 31)}},
		{"uint32 of all ones", int32(-1), map[string]any{"Uint32": uint32(0xFFFF_FFFF), "Int": int64(-1)}},
		{"uint64", "18446744073709551615", map[string]any{"Uint64": uint64(1<<64 - 1), "String": "18446744073709551615"}},
		{"sint64", "-9223372036854775808", map[string]any{"Int": int64(-1 << 63), "String": "-9223372036854775808"}},
		{"uint64 of 0", "0", map[string]any{"Uint64": uint64(0), "Int": int64(0), "String": "0"}},
		{"string", "NTFS", map[string]any{"String": "NTFS"}},
		{"empty string", "", map[string]any{"String": ""}},
		{"datetime", "20260101000000.000000+000", map[string]any{"String": "20260101000000.000000+000"}},
		{"boolean", true, map[string]any{"Bool": true}},
		{"false", false, map[string]any{"Bool": false}},
		{"real32", float32(1.5), nil},
		{"real64", 1.5, nil},
		{"object", win.Row{"A": "b"}, map[string]any{"Row": Row{"A": "b"}}},
		{"string array", []any{"a", ""}, map[string]any{"Strings": []string{"a", ""}}},
		{"uint16 array", []any{int32(2), int32(53265)}, map[string]any{"Uint16s": []uint16{2, 53265}}},
		{"uint32 array", []any{int32(-1)}, nil},
		{"empty array", []any{}, map[string]any{"Strings": []string{}, "Uint16s": []uint16{}}},
		{"array with a NULL", []any{nil}, nil},
		{"mixed array", []any{"a", int32(1)}, nil},
		{"uint8 array", []any{uint8(1)}, nil},
	}
	for _, tt := range tests {
		for name, read := range accessors {
			t.Run(tt.cim+"/"+name, func(t *testing.T) {
				r := Row{"P": tt.value}
				if r.Null("P") {
					t.Error("is NULL")
				}
				got, err := read(r, "P")
				want, ok := tt.want[name]
				if ok && err != nil {
					t.Errorf("err = %v", err)
				}
				if ok && !cmp.Equal(want, got) {
					t.Errorf("= %v (%T), want %v (%T)", got, got, want, want)
				}
				if !ok && errdefs.KindOf(err) != errdefs.Internal {
					t.Errorf("= %v, %v, want an internal error", got, err)
				}
			})
		}
	}
}

func TestRow_Null(t *testing.T) {
	for i, r := range []Row{{"P": nil}, {}, nil} {
		for name, read := range accessors {
			t.Run(fmt.Sprint(i, name), func(t *testing.T) {
				if !r.Null("P") {
					t.Error("is not NULL")
				}
				if got, err := read(r, "P"); !errors.Is(err, ErrNull) || !errors.Is(err, errdefs.ErrUnavailable) {
					t.Errorf("= %v, %v", got, err)
				}
			})
		}
	}
}

func TestRow_Embedded(t *testing.T) {
	r := Row{"CreatedPartition": win.Row{"PartitionNumber": int32(2), "Offset": "1048576"}}
	p, err := r.Row("CreatedPartition")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := p.Uint32("PartitionNumber"); n != 2 || err != nil {
		t.Errorf("PartitionNumber = %d, %v", n, err)
	}
	if n, err := p.Uint64("Offset"); n != 1<<20 || err != nil {
		t.Errorf("Offset = %d, %v", n, err)
	}
}

// What a parameter constructor writes is what the accessor of the same type
// reads.
func TestParams(t *testing.T) {
	tests := []struct {
		param win.Param
		com   any
		read  string
		want  any
	}{
		{Uint64("P", 1<<64-1), "18446744073709551615", "Uint64", uint64(1<<64 - 1)},
		{Uint32("P", 1<<31), int32(-1 << 31), "Uint32", uint32(1 << 31)},
		{Uint32("P", 7), int32(7), "Uint32", uint32(7)},
		{Uint16("P", 65535), int32(65535), "Uint16", uint16(65535)},
		{Bool("P", true), true, "Bool", true},
		{String("P", `\\srv\share`), `\\srv\share`, "String", `\\srv\share`},
		{Strings("P", []string{"a", "b"}), []any{"a", "b"}, "Strings", []string{"a", "b"}},
		{Strings("P", nil), []any{}, "Strings", []string{}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s of %v", tt.read, tt.want), func(t *testing.T) {
			if tt.param.Name != "P" || !cmp.Equal(tt.com, tt.param.Value) {
				t.Errorf("= %#v, want %#v", tt.param.Value, tt.com)
			}
			got, err := accessors[tt.read](Row{"P": tt.param.Value}, "P")
			if err != nil || !cmp.Equal(tt.want, got) {
				t.Errorf("read back as %v, %v", got, err)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package disturb

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// alterations are what may become of an answer.
var alterations = []fault{
	{name: "answers nothing", alter: keeping(func(int) int { return 0 })},
	{name: "answers half", alter: keeping(func(n int) int { return n / 2 })},
	{name: "answers all but the end", alter: keeping(func(n int) int { return max(n-1, 0) })},
	{name: "answers noise", alter: (*noise).fill},
	{name: "answers noise of an odd length", alter: func(n *noise, v reflect.Value) {
		n.fill(v)
		shorten(v, func(n int) int { return max((n-1)|1, 0) })
	}},
}

// garbles reports whether an answer is more than an error or an open object.
func garbles(answer any) bool {
	v := reflect.ValueOf(answer)
	if v.Kind() != reflect.Pointer {
		return false
	}
	of := v.Type().Elem()
	return of.Kind() != reflect.Interface && of.Size() > 0
}

func keeping(keep func(n int) int) func(*noise, reflect.Value) {
	return func(_ *noise, v reflect.Value) { shorten(v, keep) }
}

// shorten keeps the beginning of an answer, keep(n) of n parts.
func shorten(v reflect.Value, keep func(n int) int) {
	switch v.Kind() {
	case reflect.Slice, reflect.String:
		v.Set(v.Slice(0, min(keep(v.Len()), v.Len())))
	case reflect.Map:
		row, _ := v.Interface().(win.Row)
		kept := win.Row{}
		for _, name := range slices.Sorted(maps.Keys(row))[:min(keep(len(row)), len(row))] {
			kept[name] = row[name]
		}
		v.Set(reflect.ValueOf(kept))
	case reflect.Struct:
		for i := range v.NumField() {
			shorten(v.Field(i), keep)
		}
	default:
		if keep(1) == 0 {
			v.SetZero()
		}
	}
}

// noise makes values up.
type noise struct {
	*rand.Rand
	bytes *rand.ChaCha8
}

func newNoise(seed string) *noise {
	h := fnv.New128()
	_, _ = h.Write([]byte(seed))
	var key [32]byte
	h.Sum(key[:0])
	source := rand.NewChaCha8(key)
	return &noise{rand.New(source), source}
}

// fill puts noise into an answer, as long as it was.
func (n *noise) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		if b, ok := v.Interface().([]byte); ok {
			_, _ = n.bytes.Read(b)
			return
		}
		for i := range v.Len() {
			n.fill(v.Index(i))
		}
	case reflect.String:
		v.SetString(n.text(v.Len()))
	case reflect.Map:
		row, _ := v.Interface().(win.Row)
		noisy := win.Row{}
		for _, name := range slices.Sorted(maps.Keys(row)) {
			noisy[name] = n.value()
		}
		v.Set(reflect.ValueOf(noisy))
	case reflect.Struct:
		for i := range v.NumField() {
			n.fill(v.Field(i))
		}
	case reflect.Bool:
		v.SetBool(n.IntN(2) == 0)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(n.Uint64() >> (64 - v.Type().Bits()))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(n.Uint64()) >> (64 - v.Type().Bits()))
	default:
		panic("the boundary answers no " + v.Type().String())
	}
}

// text is letters, separators and what no name should have.
func (n *noise) text(length int) string {
	const alphabet = "aZ0é\\/:.?*{}-_ \x00\n'\"%"
	letters := []rune(alphabet)
	text := make([]rune, length)
	for i := range text {
		text[i] = letters[n.IntN(len(letters))]
	}
	return string(text)
}

// value is one that COM may hand over (win.Row).
func (n *noise) value() any {
	switch n.IntN(9) {
	case 0:
		return nil
	case 1:
		return n.IntN(2) == 0
	case 2:
		return uint8(n.Uint32())
	case 3:
		return int16(n.Uint32())
	case 4:
		return int32(n.Uint32())
	case 5:
		return n.text(n.IntN(40))
	case 6:
		return n.Float64()
	case 7:
		return win.Row{"Name": n.text(5)}
	default:
		return []any{n.text(3), int32(n.Uint32())}
	}
}

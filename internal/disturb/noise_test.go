// SPDX-License-Identifier: Apache-2.0

package disturb

import (
	"reflect"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// Whatever the boundary answers can be altered, the same way each time; what it
// opens, and an error alone, cannot.
func TestAlterations(t *testing.T) {
	for _, answer := range []func() any{
		func() any { return &[]byte{1, 2, 3, 4} },
		func() any { return &[]byte{} },
		func() any { return ref("text") },
		func() any { return ref("") },
		func() any { return &[]string{"one", "two", "three"} },
		func() any { return ref(uint32(20348)) },
		func() any { return ref(true) },
		func() any { return &win.Row{"Number": int32(1), "Path": "path", "Sizes": []any{"1"}} },
		func() any { return &win.VolumeInformation{FileSystem: "NTFS", SerialNumber: 1} },
		func() any { return &win.FreeSpace{Total: 1} },
		func() any { return &win.RegistryValue{Type: 1, Data: []byte{1, 0}} },
		func() any { return &win.ServiceConfig{DisplayName: "name"} },
		func() any { return &win.ServiceStatus{State: 4} },
		func() any { return &[]win.DependentService{{Name: "name"}} },
	} {
		if !garbles(answer()) {
			t.Errorf("%T cannot be altered", answer())
		}
		for _, f := range alterations {
			one, two := answer(), answer()
			f.alter(newNoise("seed"), reflect.ValueOf(one).Elem())
			f.alter(newNoise("seed"), reflect.ValueOf(two).Elem())
			if !reflect.DeepEqual(one, two) {
				t.Errorf("%T %s: %v and %v", one, f.name, one, two)
			}
		}
	}
	for _, answer := range []any{nil, new(struct{}), new(win.Device), new(win.Call)} {
		if garbles(answer) {
			t.Errorf("%T can be altered", answer)
		}
	}
}

func ref[T any](v T) *T { return &v }

func TestShorten(t *testing.T) {
	for name, want := range map[string]string{"answers nothing": "", "answers half": "te", "answers all but the end": "tex"} {
		text := "text"
		for _, f := range alterations {
			if f.name == name {
				f.alter(nil, reflect.ValueOf(&text).Elem())
			}
		}
		if text != want {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
	}
}

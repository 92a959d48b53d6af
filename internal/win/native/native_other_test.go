// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package native

import (
	"errors"
	"reflect"
	"testing"
)

// Every method of the host that has an error returns ErrUnsupported, and
// nothing else, off Windows (LIB-7, field-reports.md L15).
func TestHost_UnsupportedElsewhere(t *testing.T) {
	host := reflect.ValueOf(Host()).Elem()
	methods := 0
	for _, name := range []string{"Devices", "Mounts", "Files", "Services", "System", "WMI", "Logons", "Arrivals"} {
		part := host.FieldByName(name).Elem()
		for i := range part.NumMethod() {
			method, label := part.Method(i), name+"."+part.Type().Method(i).Name
			if method.Type().NumOut() == 0 {
				continue
			}
			methods++
			t.Run(label, func(t *testing.T) {
				var in []reflect.Value
				for arg := range method.Type().NumIn() {
					in = append(in, reflect.Zero(method.Type().In(arg)))
				}
				out := method.Call(in)
				for _, value := range out[:len(out)-1] {
					if !value.IsZero() {
						t.Errorf("result %v beside the error", value)
					}
				}
				if err, _ := out[len(out)-1].Interface().(error); !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("error %v, want ErrUnsupported", err)
				}
			})
		}
	}
	if methods < 18 {
		t.Errorf("%d methods, so some were not looked at", methods)
	}
}

// SPDX-License-Identifier: Apache-2.0

package win

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The test runs on Windows too, where Errno is syscall.Errno: so both hold to
// the standard library's table, over all codes.
func TestErrno_IsAsInTheStandardLibrary(t *testing.T) {
	for target, want := range map[error][]Errno{
		fs.ErrPermission:      {5},
		fs.ErrExist:           {80, 145, 183},
		fs.ErrNotExist:        {2, 3, 53},
		errors.ErrUnsupported: {50, 120},
		fs.ErrClosed:          nil,
		fs.ErrInvalid:         nil,
	} {
		t.Run(target.Error(), func(t *testing.T) {
			var got []Errno
			for e := range Errno(16000) { // the system's codes end below
				if errors.Is(e, target) {
					got = append(got, e)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
}

func TestErrno_IsItself(t *testing.T) {
	if !errors.Is(ERROR_FILE_NOT_FOUND, Errno(2)) || errors.Is(ERROR_FILE_NOT_FOUND, ERROR_PATH_NOT_FOUND) {
		t.Error("a code must match itself and no other")
	}
}

// No native code has an empty text, whatever its number.
func TestCodes_HaveTexts(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string // "" where the system chooses the words
	}{
		{ERROR_ACCESS_DENIED, ""},
		{Errno(15999), ""},
		{WBEM_E_ACCESS_DENIED, "WMI access denied (0x80041003)"},
		{HRESULT(0x80310000), "HRESULT 0x80310000"},
		{ConfigRet(0x33), "configuration manager result 0x33"},
		{ReturnDiskOffline, "disk is offline (storage management 41003)"},
		{ReturnValue(42004), "storage management result 42004"},
	} {
		if got := tt.err.Error(); got == "" || tt.want != "" && got != tt.want {
			t.Errorf("%#v: got %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestProviderError(t *testing.T) {
	for _, tt := range []struct {
		info Row
		want string
	}{
		{nil, "WMI object not found (0x80041002)"},
		{Row{"Message": nil, "Description": ""}, "WMI object not found (0x80041002)"},
		{Row{"Description": "no such disk"}, "WMI object not found (0x80041002): no such disk"},
		{Row{"Message": "gone", "Description": "no such disk"}, "WMI object not found (0x80041002): gone"},
	} {
		err := error(&ProviderError{Code: WBEM_E_NOT_FOUND, Info: tt.info})
		if err.Error() != tt.want {
			t.Errorf("got %q, want %q", err, tt.want)
		}
		if !errors.Is(err, WBEM_E_NOT_FOUND) {
			t.Errorf("%v has lost its code", err)
		}
	}
}

type (
	workers struct{ id int }
	locks   struct{ id int }
)

func TestAttached_IsOneOfATypePerHost(t *testing.T) {
	var h, other Host
	made := 0
	first := Attached(&h, func() *workers { made++; return &workers{1} })
	again := Attached(&h, func() *workers { made++; return &workers{2} })
	if first != again || first.id != 1 || made != 1 {
		t.Errorf("got %v and %v, %d made", first, again, made)
	}
	if l := Attached(&h, func() *locks { return &locks{3} }); l.id != 3 {
		t.Errorf("of another type got %v", l)
	}
	if w := Attached(&other, func() *workers { return &workers{4} }); w.id != 4 {
		t.Errorf("of another host got %v", w)
	}
}

func TestAttached_Concurrently(t *testing.T) {
	var h Host
	got := make([]*workers, 64)
	made := 0
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			got[i] = Attached(&h, func() *workers { made++; return &workers{made} })
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("%d made", made)
	}
	for _, w := range got {
		if w == nil || w != got[0] {
			t.Errorf("got %v and %v", w, got[0])
		}
	}
}

// A parameter may be a password, and parameters reach messages.
func TestParam_HidesItsValue(t *testing.T) {
	const canary = "canary"
	for _, value := range []any{canary, []any{canary}, Row{canary: canary}} {
		p := Param{Name: "Credential", Value: value}
		for _, v := range []any{p, &p, []Param{p}, struct{ P Param }{p}} {
			texts := []string{fmt.Sprint(v)}
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
				texts = append(texts, fmt.Sprintf(verb, v))
			}
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range append(texts, string(text)) {
				if strings.Contains(s, canary) || strings.Contains(s, fmt.Sprintf("%x", canary)) {
					t.Errorf("%T shows %s", v, s)
				}
			}
		}
	}
}

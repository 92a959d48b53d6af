// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

func TestWide(t *testing.T) {
	const loneSurrogate = "a\xed\xa0\x80b" // U+D800 in WTF-8
	for _, tt := range []struct {
		name, in string
		want     []uint16
	}{
		{"empty", "", []uint16{0}},
		{"ASCII", `C:\`, []uint16{'C', ':', '\\', 0}},
		{"beyond the first plane", "𝄞", []uint16{0xD834, 0xDD1E, 0}},
		{"unpaired surrogate", loneSurrogate, []uint16{'a', 0xD800, 'b', 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := wide(tt.in)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Fatalf("got %x, %v; want %x", got, err, tt.want)
			}
			if back := windows.UTF16ToString(got); back != tt.in {
				t.Errorf("comes back as %q", back)
			}
		})
	}
}

func TestWide_NUL(t *testing.T) {
	if _, err := wide("C:\\a\x00b"); !errors.Is(err, win.ERROR_INVALID_NAME) {
		t.Errorf("error %v, want 123", err)
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []uint16
		want []string
	}{
		{"nothing", nil, nil},
		{"no string", []uint16{0}, nil},
		{"one", []uint16{'a', 0, 0}, []string{"a"}},
		{"two", []uint16{'a', 0, 'b', 'c', 0, 0}, []string{"a", "bc"}},
		{"what follows the end", []uint16{'a', 0, 0, 'b', 0}, []string{"a"}},
		{"no terminator", []uint16{'a', 0, 'b'}, []string{"a", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := split(tt.in); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestGrow(t *testing.T) {
	for _, tt := range []struct {
		name  string
		needs []int // what the call says it needs, each time
		fails error
		want  int
		err   error
	}{
		{"fits", []int{3}, nil, 3, nil},
		{"grows once", []int{9, 9}, nil, 9, nil},
		{"grows while it is read", []int{9, 12, 12}, nil, 12, nil},
		{"more data, but no more needed", []int{4}, win.ERROR_MORE_DATA, 0, win.ERROR_MORE_DATA},
		{"another error beside a need", []int{9}, win.ERROR_ACCESS_DENIED, 0, win.ERROR_ACCESS_DENIED},
		{"grows for ever", []int{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, nil, 0, win.ERROR_MORE_DATA},
	} {
		t.Run(tt.name, func(t *testing.T) {
			buf, err := grow(4, func(buf []uint16) (int, error) {
				n := tt.needs[0]
				tt.needs = tt.needs[1:]
				if tt.fails == nil && n > len(buf) {
					return n, win.ERROR_INSUFFICIENT_BUFFER
				}
				return n, tt.fails
			})
			if len(buf) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %d units, %v; want %d, %v", len(buf), err, tt.want, tt.err)
			}
		})
	}
}

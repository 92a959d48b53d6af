// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// lone is an unpaired high surrogate, as Windows names may have.
const lone = "\xED\xA0\x80"

func TestCheckName(t *testing.T) {
	tests := []struct {
		name string
		ok   bool
	}{
		{"a", true},
		{"a..b", true},
		{"...", true},  // the extended form strips nothing
		{"a.", true},   // nor here
		{"a ", true},   // nor here
		{" ", true},    //
		{"NUL", true},  // a device only in the Win32 form
		{"\x7f", true}, //
		{"kubernetes.io~csi", true},
		{lone, true},
		{strings.Repeat("x", 255), true},
		{strings.Repeat("ü", 255), true},  // two bytes, one unit
		{strings.Repeat("🙂", 127), true},  // 254 units
		{strings.Repeat("🙂", 128), false}, // 256 units
		{strings.Repeat("x", 256), false}, //
		{"", false},                       //
		{".", false},                      //
		{"..", false},                     //
		{"a/b", false},                    //
		{`a\b`, false},                    //
		{"a:b", false},                    // a stream
		{"a::$INDEX_ALLOCATION", false},   //
		{"a<", false},
		{"a>", false}, //
		{`a"`, false},
		{"a|", false}, //
		{"a?", false},
		{"a*", false}, //
		{"a\x00", false},
		{"\x1f", false}, //
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := checkName(tt.name)
			if tt.ok && err != nil || !tt.ok && !errors.Is(err, win.ERROR_INVALID_NAME) {
				t.Errorf("checkName(%q) = %v, want ok %v", tt.name, err, tt.ok)
			}
		})
	}
}

func TestFoldName(t *testing.T) {
	tests := []struct {
		a, b string
		same bool
	}{
		{"Pods", "pODS", true},
		{"straße", "STRAßE", true},
		{"straße", "STRASSE", false},
		{"ä", "Ä", true},
		{"ж", "Ж", true},
		{"ÿ", "Ÿ", true},
		{"ı", "I", false},            // dotless i
		{"ſ", "S", false},            // long s
		{"\u212A", "k", false},       // kelvin sign
		{"\u00e9", "e\u0301", false}, // never normalised
		{"𐐨", "𐐀", false},            // above the basic plane
		{lone, "\xED\xA0\x81", false},
		{lone, "\uFFFD", false},
		{"a", "a ", false},
		{"a", "a.", false},
	}
	for _, tt := range tests {
		if got := foldName(tt.a) == foldName(tt.b); got != tt.same {
			t.Errorf("%q and %q: same = %v, want %v", tt.a, tt.b, got, tt.same)
		}
	}
}

// A directory is ordered by upper case, so that _ comes behind all letters.
func TestFoldName_Order(t *testing.T) {
	names := []string{"b", "_", "A", "a1", "Z", "0"}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(string(foldName(a)), string(foldName(b))) })
	want := []string{"0", "A", "a1", "b", "Z", "_"}
	if !slices.Equal(names, want) {
		t.Errorf("order %q, want %q", names, want)
	}
}

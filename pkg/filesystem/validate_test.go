// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
)

// LIB-4: the rules of paths but for working directories, which the library has
// not.
func TestValidatePathWindows(t *testing.T) {
	const prefix = kubelet + `\`
	long := func(units int, letter string) string {
		return prefix + strings.Repeat(letter, units-len(prefix))
	}
	tests := []struct {
		name, path string
		want       string // part of the text; "" is valid
	}{
		{"FS-1 longest", long(260, "a"), ""},
		{"FS-1 too long", long(261, "a"), "path length 261 exceeds maximum characters: 260"},
		{"FS-1 counts UTF-16 units", long(260, "é"), ""},
		{"FS-1 astral counts two", prefix + strings.Repeat("\U0001F4BE", 121), "path length 261 exceeds maximum characters: 260"},
		{"FS-1 before the others", `\` + strings.Repeat("a", 260), "path length 261 exceeds"},
		{"FS-2 rooted", `\x`, `invalid character \ at beginning of path: \x`},
		{"FS-2 UNC", `\\server\share\x`, `invalid character \ at beginning of path: \\server\share\x`},
		{"FS-2 extended", `\\?\C:\x`, `invalid character \ at beginning`},
		{"FS-2 device", `\\.\pipe\x`, `invalid character \ at beginning`},
		{"FS-4 colon", prefix + `pv1:foo`, "path contains invalid characters: " + prefix + "pv1:foo"},
		{"FS-4 slash", prefix + `pods\pv1/foo`, "path contains invalid characters"},
		{"FS-4 all slashes", `C:/x`, "path contains invalid characters"},
		{"FS-4 asterisk", prefix + `pv1*foo`, "path contains invalid characters"},
		{"FS-4 question mark", prefix + `pv1?foo`, "path contains invalid characters"},
		{"FS-4 bar", prefix + `csi-plugin|pv1\foo`, "path contains invalid characters"},
		{"FS-4 quote", prefix + `a"b`, "path contains invalid characters"},
		{"FS-4 drive alone", `C:`, "path contains invalid characters: C:"},
		{"FS-4 drive-relative", `C:foo`, "path contains invalid characters"},
		{"FS-4 no drive letter", `1:\foo`, "path contains invalid characters"},
		{"FS-5 parent", prefix + `pods\pv1\..\..\..\system32`, "path contains invalid characters"},
		{"FS-5 dots in a name", prefix + `a..b`, "path contains invalid characters"},
		{"FS-6 relative", `pv1\foo`, `not an absolute Windows path: pv1\foo`},
		{"FS-6 empty", ``, "not an absolute Windows path: "},
		{"FS-10 less", prefix + `a<b`, "path contains invalid characters"},
		{"FS-10 greater", prefix + `a>b`, "path contains invalid characters"},
		{"FS-10 control", prefix + "a\nb", "path contains invalid characters"},
		{"FS-10 NUL", prefix + "a\x00b", "path contains invalid characters"},
		{"FS-11 trailing backslash", prefix, ""},
		{"FS-11 doubled backslash", kubelet + `\\pods`, ""},
		{"FS-17 pod path", kubelet + `\pods\pv1`, ""},
		{"FS-17 plugin path", kubelet + `\plugins\pv1`, ""},
		{"LIB-4 other drive, lower case", `d:\x`, ""},
		{"drive root", `C:\`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := filesystem.ValidatePathWindows(tt.path)
			if tt.want == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			if !errors.Is(err, errdefs.ErrInvalidArgument) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
)

// FuzzValidatePathWindows: upstream's rules as one (behaviour.md FS-1 to FS-5)
// take the same paths, and any other is an invalid argument.
func FuzzValidatePathWindows(f *testing.F) {
	for _, path := range []string{
		`C:\`, `c:\var\lib`, `\var`, `C:dir`, `C:\a..b`, `C:\a/b`, "C:\\a\nb", `\\host\share`, `CC:\`, "C:\\\xff", `C:\` + strings.Repeat("a", 257), `C:\` + strings.Repeat("\U0001F4BE", 129),
	} {
		f.Add(path)
	}
	drive := regexp.MustCompile(`^[A-Za-z]:\\[^\x00-\x1f"/:?*|<>]*$`)
	f.Fuzz(func(t *testing.T, path string) {
		err := filesystem.ValidatePathWindows(path)
		want := len(utf16.Encode([]rune(path))) <= 260 && drive.MatchString(path) && !strings.Contains(path, "..")
		if (err == nil) != want || err != nil && !errors.Is(err, errdefs.ErrInvalidArgument) {
			t.Errorf("%q: %v, want it taken: %t", path, err, want)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// maxPathLength is MAX_PATH, in UTF-16 units.
const maxPathLength = 260

var driveRoot = regexp.MustCompile(`^[a-zA-Z]:\\`)

// ValidatePathWindows checks a path by upstream's rules and with its texts
// (behaviour.md FS-1 to FS-6): at most 260 UTF-16 units, a drive in front, no
// "..", not even within a name, and no character that Windows forbids. The
// groups themselves accept more; see the package comment.
//
// Errors: [errdefs.ErrInvalidArgument]. It asks nothing of any host.
func ValidatePathWindows(path string) error {
	invalid := func(format string, args ...any) error {
		return errdefs.New(errdefs.InvalidArgument, "", "", format, args...)
	}
	below := driveRoot.ReplaceAllString(path, "")
	switch length := len(utf16.Encode([]rune(path))); {
	case length > maxPathLength:
		return invalid("path length %d exceeds maximum characters: %d", length, maxPathLength)
	case strings.HasPrefix(path, `\`):
		return invalid(`invalid character \ at beginning of path: %s`, path)
	case strings.ContainsAny(below, `"/:?*|<>`), strings.ContainsFunc(below, isControl), strings.Contains(below, ".."):
		return invalid("path contains invalid characters: %s", path)
	case below == path:
		return invalid("not an absolute Windows path: %s", path)
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 }

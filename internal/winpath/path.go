// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Path is an absolute path: a root and the elements below it. Two Paths are ==
// if they are spelled alike; compare [Path.Key] to ignore case. The zero Path is
// no path.
type Path struct {
	root  string // C:, \\host\share or \\?\Volume{guid}, without trailing backslash
	below string // elements with a backslash before each
}

// String is the usual spelling: C:\dir, \\host\share\dir, \\?\Volume{guid}\dir.
// The drive is in upper case, the GUID in lower case, and roots alone end in a
// backslash.
func (p Path) String() string {
	if p.below == "" && p.root != "" {
		return p.root + `\`
	}
	return p.root + p.below
}

// Extended is the spelling that Windows takes as it is and at any length:
// \\?\C:\dir, \\?\UNC\host\share\dir, \\?\Volume{guid}\dir.
func (p Path) Extended() string {
	s := p.String()
	switch {
	case p.IsUNC():
		return `\\?\UNC` + s[1:]
	case p.IsVolume():
		return s
	}
	return `\\?\` + s
}

// Key is the spelling without its case, for map keys and comparisons. It is a
// path itself, with the same key. Case is folded as NTFS does it by default,
// character by character; the table of a volume, made when it was formatted,
// may know fewer letters, so in rare scripts two files may share a key.
func (p Path) Key() string { return Fold(p.String()) }

// Elements are the names from the root to the end.
func (p Path) Elements() []string {
	if p.below == "" {
		return nil
	}
	return strings.Split(p.below[1:], `\`)
}

// Base is the last element, "" for a root.
func (p Path) Base() string { return p.below[strings.LastIndexByte(p.below, '\\')+1:] }

// Parent is the directory that holds p. A root is its own parent.
func (p Path) Parent() Path {
	return Path{p.root, p.below[:max(0, strings.LastIndexByte(p.below, '\\'))]}
}

// Root is the drive, share or volume of p.
func (p Path) Root() Path { return Path{root: p.root} }

// IsRoot reports whether p is the root of a drive, share or volume.
func (p Path) IsRoot() bool { return p.below == "" }

// IsUNC reports whether p is on a file server.
func (p Path) IsUNC() bool { return strings.HasPrefix(p.root, `\\`) && !p.IsVolume() }

// IsVolume reports whether p is named by its volume, \\?\Volume{guid}\.
func (p Path) IsVolume() bool { return strings.HasPrefix(p.root, volumePrefix) }

// Server is the file server of p as \\host, "" for local paths.
func (p Path) Server() string {
	if !p.IsUNC() {
		return ""
	}
	return p.root[:2+strings.IndexByte(p.root[2:], '\\')]
}

// Below reports whether p is at least one element below other, in any case.
func (p Path) Below(other Path) bool {
	return Fold(p.root) == Fold(other.root) && strings.HasPrefix(Fold(p.below), Fold(other.below)+`\`)
}

// Join returns the path of a name in directory p. The name is one element, to
// which the rules of [Parse] apply; "." and ".." are none.
//
// Errors: [errdefs.ErrInvalidArgument].
func (p Path) Join(element string) (Path, error) {
	if err := checkElement(element); err != nil {
		return Path{}, errdefs.As(errdefs.InvalidArgument, "path", element, err)
	}
	joined := Path{p.root, p.below + `\` + element}
	if err := checkLength(joined); err != nil {
		return Path{}, errdefs.As(errdefs.InvalidArgument, "path", joined.String(), err)
	}
	return joined, nil
}

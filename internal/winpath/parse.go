// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Prefixes of the forms.
const (
	extendedPrefix = `\\?\`
	uncPrefix      = `UNC\`
	volumePrefix   = `\\?\Volume{`
	volumeName     = `Volume{`
	ntPrefix       = `\??\`
)

// Why a path has no root that Parse knows. Clients match the first text
// (behaviour.md FS-6, TXT-1).
var (
	errRelative      = errors.New("not an absolute Windows path")
	errDriveRelative = fmt.Errorf("%w: a drive needs a backslash after it", errRelative)
	errDevice        = errors.New("device paths are not allowed")
	errNoShare       = errors.New("a UNC path needs a host and a share")
)

// Rooted reports whether s begins at the root of a drive that it does not name,
// as kubelet's \var\lib\kubelet does. Only such paths need the system drive.
func Rooted(s string) bool {
	return s != "" && isSlash(s[0]) && (len(s) == 1 || !isSlash(s[1]))
}

// Parse reads a path in one of the forms
//
//	C:\dir   C:/dir   \dir (on the system drive)   \\host\share\dir
//	\\?\C:\dir   \\?\UNC\host\share\dir   \\?\Volume{guid}\dir
//
// where / is a backslash everywhere, repeated and trailing backslashes and "."
// are dropped, and a..b is a name. It refuses relative and drive-relative
// paths, every other device, "..", names that Windows would shorten (a dot or
// blank at the end) or take for a device (NUL.txt), streams, wildcards, control
// characters, what is not Unicode, an element of more than 255 UTF-16 units,
// and a path whose extended form has more than 32,767.
//
// systemDrive is the letter of the system drive; it is used only where
// [Rooted] says so.
//
// Errors: [errdefs.ErrInvalidArgument], with the reason.
func Parse(s string, systemDrive byte) (Path, error) {
	p, err := parse(strings.ReplaceAll(s, "/", `\`), systemDrive)
	if err != nil {
		return Path{}, errdefs.As(errdefs.InvalidArgument, "path", s, err)
	}
	return p, nil
}

func parse(s string, systemDrive byte) (Path, error) {
	if err := checkUnicode(s); err != nil {
		return Path{}, err
	}
	root, rest, err := cutRoot(s, systemDrive)
	if err != nil {
		return Path{}, err
	}
	return descend(root, slices.DeleteFunc(strings.Split(rest, `\`), isNothing))
}

// isNothing reports whether an element leaves a path as it is.
func isNothing(element string) bool { return element == "" || element == "." }

// cutRoot splits a path into its canonical root and the rest.
func cutRoot(s string, systemDrive byte) (root, rest string, err error) {
	if tail, ok := strings.CutPrefix(s, extendedPrefix); ok {
		return cutExtended(tail)
	}
	switch {
	case strings.HasPrefix(s, `\\.\`), strings.HasPrefix(s, ntPrefix), s == `\\.`, s == `\\?`:
		return "", "", errDevice
	case strings.HasPrefix(s, `\\`):
		return cutShare(s[2:])
	case strings.HasPrefix(s, `\`):
		if !isLetter(systemDrive) {
			return "", "", fmt.Errorf("%w: no drive", errRelative)
		}
		return drive(systemDrive), s[1:], nil
	}
	return cutDrive(s, errRelative)
}

// cutExtended reads what follows \\?\.
func cutExtended(s string) (root, rest string, err error) {
	switch {
	case hasPrefixFold(s, uncPrefix):
		return cutShare(s[len(uncPrefix):])
	case hasPrefixFold(s, volumeName):
		return cutVolume(s)
	}
	return cutDrive(s, errDevice)
}

func cutDrive(s string, otherwise error) (root, rest string, err error) {
	switch {
	case len(s) < 2 || !isLetter(s[0]) || s[1] != ':':
		return "", "", otherwise
	case len(s) == 2 || s[2] != '\\':
		return "", "", errDriveRelative
	}
	return drive(s[0]), s[3:], nil
}

func cutShare(s string) (root, rest string, err error) {
	host, rest, _ := strings.Cut(s, `\`)
	share, rest, _ := strings.Cut(rest, `\`)
	if host == "" || share == "" {
		return "", "", errNoShare
	}
	for _, name := range []string{host, share} {
		if err := checkName(name); err != nil {
			return "", "", err
		}
	}
	// What these shares hold are no files.
	if strings.EqualFold(share, "pipe") || strings.EqualFold(share, "mailslot") {
		return "", "", errDevice
	}
	return `\\` + host + `\` + share, rest, nil
}

func cutVolume(s string) (root, rest string, err error) {
	name, rest, rooted := strings.Cut(s, `\`)
	braced := name[len(volumeName)-1:]
	id, err := abi.ParseGUID(braced)
	if err != nil || !strings.HasSuffix(braced, "}") {
		return "", "", errors.New("not a volume name")
	}
	if !rooted {
		return "", "", fmt.Errorf("%w: a volume name without backslash after it", errDevice)
	}
	return volumePrefix + id.String() + "}", rest, nil
}

// descend makes the path of elements below a root.
func descend(root string, elements []string) (Path, error) {
	var below strings.Builder
	for _, element := range elements {
		if err := checkElement(element); err != nil {
			return Path{}, err
		}
		below.WriteByte('\\')
		below.WriteString(element)
	}
	p := Path{root, below.String()}
	return p, checkLength(p)
}

func drive(letter byte) string { return strings.ToUpper(string(letter)) + ":" }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isSlash(c byte) bool { return c == '\\' || c == '/' }

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

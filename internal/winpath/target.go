// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"errors"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// ParseTarget reads the substitute name of a symbolic link or mount point: an
// NT path such as \??\C:\dir, \??\UNC\host\share\dir or \??\Volume{guid}\, or,
// for a relative symbolic link, a path from the directory of the link, which
// must itself be free of links where the target has a "..", or from the root
// of its volume. Target names obey the rules of [Parse]; only in a relative
// target may ".." stand, and not lead above the root.
//
// Errors: [errdefs.ErrInvalidArgument], with the reason.
//
// Source: windows-api.md 8.1.
func ParseTarget(substitute string, relative bool, directory Path) (Path, error) {
	p, err := parseTarget(substitute, relative, directory)
	if err != nil {
		return Path{}, errdefs.As(errdefs.InvalidArgument, "link target", substitute, err)
	}
	return p, nil
}

func parseTarget(substitute string, relative bool, directory Path) (Path, error) {
	if err := checkUnicode(substitute); err != nil {
		return Path{}, err
	}
	if relative {
		return fromDirectory(directory, substitute)
	}
	rest, ok := strings.CutPrefix(substitute, ntPrefix)
	if !ok {
		return Path{}, errors.New("not an NT path")
	}
	return parse(extendedPrefix+rest, 0)
}

// Climbs reports whether where a relative target leads depends on more than
// the text of the link's path: it has a "..", or begins at a volume's root.
func Climbs(target string) bool {
	if strings.HasPrefix(target, `\`) {
		return true
	}
	for element := range strings.SplitSeq(target, `\`) {
		if element == ".." {
			return true
		}
	}
	return false
}

func fromDirectory(directory Path, target string) (Path, error) {
	elements := directory.Elements()
	if strings.HasPrefix(target, `\`) {
		elements = nil
	}
	for element := range strings.SplitSeq(target, `\`) {
		switch {
		case isNothing(element):
		case element != "..":
			elements = append(elements, element)
		case len(elements) == 0:
			return Path{}, errors.New(`".." leads above the root`)
		default:
			elements = elements[:len(elements)-1]
		}
	}
	return descend(directory.root, elements)
}

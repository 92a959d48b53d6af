// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// What extended paths and NT paths begin with.
const (
	extendedPrefix = `\\?\`
	ntPrefix       = `\??\`
)

// maxHops is how many reparse points one open passes before Windows gives up
// with ERROR_CANT_RESOLVE_FILENAME (wine-lab/REPORT.md 4).
const maxHops = 63

// place is what a path leads to: an entry, or a name that a directory lacks.
type place struct {
	volume *volume
	entry  *entry // nil: there is none
	parent *entry // of a missing entry
	name   string // of a missing entry
	slash  bool   // the path ended in a backslash
}

// location is a path on one volume.
type location struct {
	volume *volume
	names  []string // from the root
}

// resolve walks an extended path from its volume, following the reparse
// points that it passes, across volumes too, and one at its end with follow.
// A missing last element is a place; a missing parent is
// ERROR_PATH_NOT_FOUND.
func (n *Node) resolve(path string, follow bool) (place, error) {
	rest, ok := strings.CutPrefix(path, extendedPrefix)
	if !ok {
		return place{}, win.ERROR_INVALID_NAME
	}
	at, err := n.locate(rest)
	if err != nil {
		return place{}, err
	}
	for range maxHops + 1 {
		p, link, behind, err := at.walk(follow)
		if err != nil {
			return place{}, err
		}
		if link == nil {
			p.slash = strings.HasSuffix(path, `\`)
			return p, nil
		}
		if at, err = n.target(at.volume, link, behind); err != nil {
			return place{}, err
		}
	}
	return place{}, win.ERROR_CANT_RESOLVE_FILENAME
}

// walk goes down from the root until the end, or until a reparse point that
// must be followed: then it returns that and the names behind it.
func (l location) walk(follow bool) (p place, link *entry, rest []string, err error) {
	at := l.volume.tree.root
	for i, name := range l.names {
		last := i == len(l.names)-1
		next := at.child(name)
		switch {
		case next == nil && last && at.isDirectory():
			return place{volume: l.volume, parent: at, name: name}, nil, nil, nil
		case next == nil:
			return place{}, nil, nil, win.ERROR_PATH_NOT_FOUND
		case next.reparse != nil && (!last || follow):
			return place{}, next, l.names[i+1:], nil
		}
		at = next
	}
	return place{volume: l.volume, entry: at}, nil, nil, nil
}

// target is where a reparse point and the names behind it lead.
func (n *Node) target(v *volume, link *entry, rest []string) (location, error) {
	point, err := abi.DecodeReparsePoint(link.reparse)
	switch {
	case err != nil:
		return location{}, win.ERROR_INVALID_REPARSE_DATA
	case !leads(point.Tag):
		return location{}, win.ERROR_CANT_ACCESS_FILE // no filter here knows the tag
	case !link.isDirectory() && len(rest) > 0:
		// A link to a file leads no further, whatever its target is
		// (windows-api.md 8.2, behaviour.md FS-34).
		return location{}, win.ERROR_DIRECTORY
	}
	if point.IsRelative() {
		return relativeTo(v, link.parent, point.Substitute, rest)
	}
	path, ok := strings.CutPrefix(point.Substitute, ntPrefix)
	if !ok {
		return location{}, win.ERROR_INVALID_REPARSE_DATA
	}
	if len(rest) > 0 {
		path = strings.TrimSuffix(path, `\`) + `\` + strings.Join(rest, `\`)
	}
	return n.locate(path)
}

// relativeTo applies a relative target to the directory of its link. Windows
// does it on the text of the path, so dir\.. is nothing, whether dir is a link
// or missing. That .. stops at the root is an assumption [K].
func relativeTo(v *volume, dir *entry, target string, rest []string) (location, error) {
	names := dir.path()
	if strings.HasPrefix(target, `\`) {
		names = nil
	}
	for name := range strings.SplitSeq(target, `\`) {
		switch name {
		case "", ".":
		case "..":
			names = names[:max(0, len(names)-1)]
		default:
			names = append(names, name)
		}
	}
	return newLocation(v, append(names, rest...))
}

// newLocation checks the names of a location.
func newLocation(v *volume, names []string) (location, error) {
	total := 0
	for _, name := range names {
		if err := checkName(name); err != nil {
			return location{}, err
		}
		total += 1 + unitCount(name)
	}
	if total > maxPathUnits {
		return location{}, win.ERROR_FILENAME_EXCED_RANGE
	}
	return location{volume: v, names: names}, nil
}

// locate reads the part of a path behind \\?\ or \??\: a drive letter or
// volume name, and the names below its root.
func (n *Node) locate(path string) (location, error) {
	if unitCount(path) > maxPathUnits {
		return location{}, win.ERROR_FILENAME_EXCED_RANGE
	}
	device, rest, rooted := strings.Cut(path, `\`)
	if strings.EqualFold(device, "UNC") {
		return n.locateShare(rest)
	}
	v, err := n.mounted(device)
	if err != nil {
		return location{}, err
	}
	if !rooted {
		// Without a backslash this is the device, not its root (windows-api.md 0.2).
		return location{}, win.ERROR_INVALID_PARAMETER
	}
	if rest == "" {
		return newLocation(v, nil)
	}
	return newLocation(v, strings.Split(strings.TrimSuffix(rest, `\`), `\`))
}

// mounted finds the volume of a device name, C: or Volume{guid}, and checks
// that Windows mounts it.
func (n *Node) mounted(device string) (*volume, error) {
	v, err := n.device(device)
	switch {
	case err != nil:
		return nil, err
	case v.state != 0:
		return nil, v.state
	case v.tree == nil:
		return nil, win.ERROR_UNRECOGNIZED_VOLUME // RAW, windows-api.md 7.6
	}
	return v, nil
}

func (n *Node) device(name string) (*volume, error) {
	if id, ok := parseVolumeName(extendedPrefix + name); ok {
		if v, ok := n.volumeByID(id); ok {
			return v, nil
		}
		return nil, n.goneCode()
	}
	if len(name) == 2 && name[1] == ':' {
		if v, ok := n.volumeByLetter(name[0]); ok {
			return v, nil
		}
	}
	return nil, win.ERROR_PATH_NOT_FOUND
}

// goneCode is what an open answers whose volume is not there. The facts name
// four codes (windows-api.md 7.4).
func (n *Node) goneCode() error {
	switch n.switches.GoneVolume {
	case GoneFileNotFound:
		return win.ERROR_FILE_NOT_FOUND
	case GoneNotConnected:
		return win.ERROR_DEVICE_NOT_CONNECTED
	case GoneNotReady:
		return win.ERROR_NOT_READY
	default:
		return win.ERROR_PATH_NOT_FOUND
	}
}

// SPDX-License-Identifier: Apache-2.0

package hostpath

import (
	"context"
	"errors"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Kind is what a link is. Only these lead elsewhere by name; other reparse
// points, such as those of deduplication or cloud files, are no links
// (behaviour.md FS-42).
type Kind int

// The kinds of links.
const (
	NoLink     Kind = iota
	Symlink         // a symbolic link
	Junction        // a mount point that leads to a directory
	MountPoint      // a mount point that leads to the root of a volume
)

// Link is the link at the end of a path. The zero Link is none.
type Link struct {
	Kind Kind
	Raw  string // the target as stored, an NT path or a relative one

	target winpath.Path
	err    error // why Raw cannot be followed
}

// Target is where the link leads, one step.
//
// Errors: [errdefs.ErrFailedPrecondition] where the target is a device or
// another thing that is no path.
func (l Link) Target() (winpath.Path, error) { return l.target, l.err }

// Link reads the link at the end of a path.
//
// Errors: the host's; [errdefs.ErrNotFound] where nothing is there.
func (p *Paths) Link(ctx context.Context, path winpath.Path) (Link, error) {
	return Look(ctx, p, "link", path, func(f win.File) (Link, error) { return ReadLink(f, path) })
}

// ReadLink reads the link that an open file is. It blocks, so it runs within
// [Ask].
func ReadLink(f win.File, path winpath.Path) (Link, error) {
	point, err := reparsePoint(f)
	if err != nil {
		return Link{}, err
	}
	link := Link{Raw: point.Substitute}
	switch point.Tag {
	case abi.IO_REPARSE_TAG_SYMLINK:
		link.Kind = Symlink
	case abi.IO_REPARSE_TAG_MOUNT_POINT:
		link.Kind = Junction
	default:
		return Link{}, nil
	}
	directory := path.Parent()
	if point.IsRelative() && winpath.Climbs(point.Substitute) {
		if directory, err = realDirectory(f); err != nil {
			return Link{}, err
		}
	}
	target, err := winpath.ParseTarget(point.Substitute, point.IsRelative(), directory)
	if err != nil {
		link.err = errdefs.As(errdefs.FailedPrecondition, "follow link", path.String(), err)
		return link, nil
	}
	link.target = target
	if link.Kind == Junction && target.IsVolume() && target.IsRoot() {
		link.Kind = MountPoint
	}
	return link, nil
}

// reparsePoint reads the reparse point that an open file is, the zero one where
// it is none.
func reparsePoint(f win.File) (abi.ReparsePoint, error) {
	buf := make([]byte, abi.MaxReparsePointSize)
	n, err := f.Control(abi.FSCTL_GET_REPARSE_POINT, nil, buf)
	switch {
	case err == nil:
		return abi.DecodeReparsePoint(buf[:n])
	case errors.Is(err, win.ERROR_NOT_A_REPARSE_POINT):
		return abi.ReparsePoint{}, nil
	case !Unknown(err):
		return abi.ReparsePoint{}, err
	}
	// A file system without reparse points, such as FAT, does not know the code.
	info, infoErr := Attributes(f)
	if infoErr != nil {
		return abi.ReparsePoint{}, infoErr
	}
	if info.Attributes&abi.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		return abi.ReparsePoint{}, err
	}
	return abi.ReparsePoint{}, nil
}

// Attributes reads the attributes and reparse tag of an open file, which needs
// FileReadAttributes. It blocks, so it runs within [Ask].
func Attributes(f win.File) (abi.FileAttributeTagInfo, error) {
	buf := make([]byte, abi.FileAttributeTagInfoSize)
	n, err := f.Information(abi.FileAttributeTagInfoClass, buf)
	if err != nil {
		return abi.FileAttributeTagInfo{}, err
	}
	return abi.DecodeFileAttributeTagInfo(buf[:n])
}

// realDirectory is the directory of an open link, free of links: from there
// Windows counts the ".." of its target.
func realDirectory(f win.File) (winpath.Path, error) {
	final, err := f.FinalPath(win.VolumeNameGUID)
	if err != nil { // a file server's have no volume name
		final, err = f.FinalPath(win.VolumeNameDOS)
	}
	if err != nil {
		return winpath.Path{}, err
	}
	path, err := winpath.Parse(final, 0)
	return path.Parent(), err
}

// Text is a link's raw target as people and os.Readlink spell it.
func (l Link) Text() string {
	rest, ok := strings.CutPrefix(l.Raw, `\??\`)
	switch {
	case !ok:
		return l.Raw
	case strings.HasPrefix(rest, `UNC\`):
		return `\` + strings.TrimPrefix(rest, `UNC`)
	case strings.HasPrefix(rest, `Volume{`):
		return `\\?\` + rest
	}
	return rest
}

// MaxLinks is how many links one path may pass; Windows gives up after as many.
const MaxLinks = 63

// End is where a chain of links ends.
type End struct {
	Path   winpath.Path // the last target
	Exists bool         // something is there, if only a volume without file system
}

// Follow goes from a link at a path to the end of its chain.
//
// Errors: [errdefs.ErrLinkLoop] after 63 links or on coming back;
// [errdefs.ErrFailedPrecondition] for a target that is no path; the host's. A
// missing end is none.
func (p *Paths) Follow(ctx context.Context, path winpath.Path, link Link) (End, error) {
	visited := map[string]bool{path.Key(): true}
	for range MaxLinks {
		target, err := link.Target()
		if err != nil {
			return End{}, err
		}
		if visited[target.Key()] {
			break
		}
		visited[target.Key()] = true

		next, exists, err := p.step(ctx, target)
		if err != nil {
			return End{Path: target}, err
		}
		if next.Kind == NoLink {
			return End{target, exists}, nil
		}
		link = next
	}
	return End{}, errdefs.As(errdefs.FailedPrecondition, "follow link", path.String(), errdefs.ErrLinkLoop)
}

// step looks at a target: whether it is there, and the link that it is.
func (p *Paths) step(ctx context.Context, target winpath.Path) (Link, bool, error) {
	if target.IsRoot() { // which is no link
		exists, err := p.Exists(ctx, target)
		return Link{}, exists, err
	}
	link, err := p.Link(ctx, target)
	if Gone(target, err) {
		return Link{}, false, nil
	}
	return link, err == nil, err
}

// Exists reports whether something is at the end of a path; a link counts,
// wherever it leads, and so does the root of a volume without file system.
//
// Errors: the host's.
func (p *Paths) Exists(ctx context.Context, path winpath.Path) (bool, error) {
	return Ask(ctx, p, "look up", path, func() (bool, error) { return p.Probe(path) })
}

// Probe is [Paths.Exists] for code that runs within [Ask] already.
func (p *Paths) Probe(path winpath.Path) (bool, error) {
	f, err := p.open(path)
	switch {
	case err == nil:
		return true, f.Close()
	case Gone(path, err):
		return false, nil
	case path.IsRoot() && errors.Is(err, win.ERROR_UNRECOGNIZED_VOLUME):
		return true, nil
	case path.IsRoot() && path.IsVolume() && errors.Is(err, win.ERROR_NOT_READY):
		return p.deviceExists(path, err)
	}
	return false, err
}

// deviceExists looks for a volume's device where its root is not ready: so
// answer a volume that is gone, and one that is there but locked.
func (p *Paths) deviceExists(volume winpath.Path, notReady error) (bool, error) {
	d, err := p.host.Devices.Open(strings.TrimSuffix(volume.Extended(), `\`), win.NoAccess)
	switch {
	case err == nil:
		return true, d.Close()
	case Gone(volume, err):
		return false, nil
	}
	return false, notReady
}

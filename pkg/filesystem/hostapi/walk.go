// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
)

// Rights on what is opened. To go down from a handle needs no more than to
// look at it.
const (
	toLook   = win.FileReadAttributes | win.Synchronize
	toList   = toLook | win.FileReadData
	toRemove = toLook | win.FileWriteAttributes | win.Delete
	toEmpty  = toRemove | win.FileReadData
)

var errCrossing = errors.New("a link, and nothing is changed through links")

// object is something open, with what its handle tells about it.
type object struct {
	win.File
	info abi.FileAttributeTagInfo
}

// isDirectory reports whether o is a directory or a link that stands for one.
func (o object) isDirectory() bool {
	return o.info.Attributes&abi.FILE_ATTRIBUTE_DIRECTORY != 0
}

// isLink reports whether o stands for something that has another name, so that
// nothing goes through it. Reparse points that only hold data, such as those of
// deduplication, are ordinary files and directories.
func (o object) isLink() bool {
	return o.info.Attributes&abi.FILE_ATTRIBUTE_REPARSE_POINT != 0 && o.info.ReparseTag.NameSurrogate()
}

// isMountPoint reports whether o is a mount folder or a junction.
func (o object) isMountPoint() bool {
	return o.isLink() && o.info.ReparseTag == abi.IO_REPARSE_TAG_MOUNT_POINT
}

// isTree reports whether o is a directory with entries of its own.
func (o object) isTree() bool { return o.isDirectory() && !o.isLink() }

// look tells what o is, at a path.
func (o object) look(path winpath.Path) (Object, error) {
	found := Object{Directory: o.isDirectory()}
	if !o.isLink() {
		return found, nil
	}
	var err error
	found.Link, err = hostpath.ReadLink(o.File, path)
	return found, err
}

// open opens one element below a directory, a link itself too.
func (h *host) open(directory object, name string, access win.Access) (object, error) {
	return h.openAs(directory, name, win.OpenFile{Access: access, Disposition: win.OpenExisting})
}

// openAs opens or creates one element below a directory; below the zero object
// it is a whole path.
func (h *host) openAs(directory object, name string, how win.OpenFile) (object, error) {
	f, err := h.Files.Open(directory.File, name, how)
	if err != nil {
		return object{}, err
	}
	info, err := hostpath.Attributes(f)
	if err != nil {
		return object{}, hostpath.Closed(f, err)
	}
	return object{f, info}, nil
}

// opener opens one element below a directory.
type opener func(directory object, name string) (object, error)

func (h *host) look(directory object, name string) (object, error) {
	return h.open(directory, name, toLook)
}

// descend goes from the root of a path down to its end, element by element, and
// returns what next opened there. It holds one handle at a time and opens
// nothing below a link.
func (h *host) descend(ctx context.Context, path winpath.Path, next opener) (object, error) {
	at, err := h.openAs(object{}, path.Root().Extended(), win.OpenFile{Access: toLook, Disposition: win.OpenExisting})
	if err != nil {
		return object{}, err
	}
	for _, step := range slices.Backward(upwards(path)) {
		below, err := h.below(ctx, at, step, next)
		if err = hostpath.Closed(at, err); err != nil {
			return object{}, closed(below, err)
		}
		at = below
	}
	return at, nil
}

// upwards are the paths from a path up to the first below its root.
func upwards(path winpath.Path) []winpath.Path {
	var steps []winpath.Path
	for ; !path.IsRoot(); path = path.Parent() {
		steps = append(steps, path)
	}
	return steps
}

// below opens what is at a path, whose directory is open, if that is one.
func (h *host) below(ctx context.Context, directory object, path winpath.Path, open opener) (object, error) {
	if err := ctx.Err(); err != nil {
		return object{}, err
	}
	if directory.isLink() {
		return object{}, refused("directory", path.Parent().String(), errCrossing)
	}
	if !directory.isDirectory() {
		return object{}, win.ERROR_PATH_NOT_FOUND // as Windows says
	}
	return open(directory, path.Base())
}

// at opens what is at a path.
func (h *host) at(ctx context.Context, path winpath.Path, access win.Access) (object, error) {
	return h.reach(ctx, path, func(directory object, name string) (object, error) {
		return h.open(directory, name, access)
	})
}

// reach goes down to the directory of a path, and opens there what is at its
// end.
func (h *host) reach(ctx context.Context, path winpath.Path, open opener) (object, error) {
	directory, err := h.descend(ctx, path.Parent(), h.look)
	if err != nil {
		return object{}, err
	}
	o, err := h.below(ctx, directory, path, open)
	if err = hostpath.Closed(directory, err); err != nil {
		return object{}, closed(o, err)
	}
	return o, nil
}

// closed closes o, if it is open, after an error, and returns that.
func closed(o object, err error) error {
	if o.File == nil {
		return err
	}
	return hostpath.Closed(o, err)
}

func (h *host) Object(ctx context.Context, path winpath.Path) (Object, error) {
	return hostpath.Ask(ctx, h.paths, "look at", path, func() (Object, error) {
		o, err := h.at(ctx, path, toLook)
		if err != nil {
			return Object{}, err
		}
		found, err := o.look(path)
		return found, hostpath.Closed(o, err)
	})
}

// Mkdir goes on below a directory that another has made meanwhile.
func (h *host) Mkdir(ctx context.Context, path winpath.Path) (Object, error) {
	return hostpath.Ask(ctx, h.paths, "mkdir", path, func() (Object, error) {
		o, err := h.descend(ctx, path, h.make)
		if err != nil {
			return Object{}, err
		}
		found, err := o.look(path)
		return found, hostpath.Closed(o, err)
	})
}

// make opens a directory, which it creates where the name is free. Another may
// create or remove it at any time, so it tries both a few times.
func (h *host) make(directory object, name string) (object, error) {
	const attempts = 4
	var o object
	var err error
	for range attempts {
		if o, err = h.look(directory, name); err == nil {
			break
		}
		if !errors.Is(err, win.ERROR_FILE_NOT_FOUND) {
			return object{}, err
		}
		o, err = h.openAs(directory, name, win.OpenFile{Access: toLook, Disposition: win.CreateNew, Options: win.FileDirectoryFile})
		if !exists(err) {
			break
		}
	}
	if err != nil {
		return object{}, err
	}
	if !o.isDirectory() {
		return object{}, closed(o, refused("directory", name, win.ERROR_DIRECTORY))
	}
	return o, nil
}

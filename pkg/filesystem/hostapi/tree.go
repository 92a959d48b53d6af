// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Bounds of a walk through a tree: how many directories it holds open, how many
// bytes it lists at once, and how often a directory may be listed without
// anything in it being removed.
const (
	maxOpen    = 64
	listLength = 16 << 10
	maxIdle    = 3
)

// list reads the next entries of an open directory, none at its end.
func list(dir win.File, buf []byte, restart bool) ([]abi.DirEntry, error) {
	for {
		n, err := dir.List(buf, restart)
		switch {
		case errors.Is(err, win.ERROR_NO_MORE_FILES), restart && errors.Is(err, win.ERROR_FILE_NOT_FOUND):
			return nil, nil
		case err != nil:
			return nil, err
		}
		entries, err := abi.DecodeDirEntries(buf[:n])
		if err != nil {
			return nil, err
		}
		entries = slices.DeleteFunc(entries, func(e abi.DirEntry) bool { return e.Name == "." || e.Name == ".." })
		if len(entries) > 0 {
			return entries, checkNames(entries)
		}
		restart = false
	}
}

// checkNames refuses names that would lead elsewhere. A file server may say
// anything.
func checkNames(entries []abi.DirEntry) error {
	for _, e := range entries {
		if e.Name == "" || strings.ContainsAny(e.Name, "\\/\x00") {
			return errdefs.New(errdefs.Internal, "list", e.Name, "not a name")
		}
	}
	return nil
}

// remover empties a directory, depth first and without recursion. It holds a
// bounded number of handles: where the tree is deeper it lets go of the upper
// ones, and begins again at the top when the lower ones are done. What it then
// finds is what is left.
type remover struct {
	host  *host
	base  string   // the directory to empty, in extended form
	names []string // from there to what is at hand
	stack []*level // the first is the base, the last at hand
	buf   []byte
}

// level is an open directory that is being emptied.
type level struct {
	dir     object
	entries []abi.DirEntry // listed and still to be removed
	idle    int            // lists since something was removed
}

// empty removes everything below an open directory, which stays open.
func (h *host) empty(ctx context.Context, dir object, path winpath.Path) error {
	r := &remover{host: h, base: path.Extended(), stack: []*level{{dir: dir}}, buf: make([]byte, listLength)}
	for {
		if err := ctx.Err(); err != nil {
			return r.release(err)
		}
		done, err := r.step()
		if err != nil {
			return r.release(PathError("remove", display(r.path()), err))
		}
		if done {
			return nil
		}
	}
}

// release closes all but the base.
func (r *remover) release(err error) error {
	for _, l := range r.stack[1:] {
		err = hostpath.Closed(l.dir, err)
	}
	return err
}

func (r *remover) path() string { return strings.Join(append([]string{r.base}, r.names...), `\`) }

// step removes one entry of the directory at hand, goes down into it, or leaves
// the emptied directory. It is done when the base is empty.
func (r *remover) step() (done bool, err error) {
	l := r.stack[len(r.stack)-1]
	if len(l.entries) == 0 {
		if l.entries, err = list(l.dir, r.buf, true); err != nil {
			return false, err
		}
		if len(l.entries) == 0 {
			return len(r.stack) == 1, r.leave(l)
		}
		if err := l.stays(); err != nil {
			return false, err
		}
	}
	entry := l.entries[0]
	l.entries = l.entries[1:]
	r.names = append(r.names, entry.Name)
	if down, err := r.remove(l, entry); down || err != nil {
		return false, err
	}
	r.names = r.names[:len(r.names)-1]
	return false, nil
}

// stays counts lists without progress, so that nobody can keep the remover
// going for ever.
func (l *level) stays() error {
	if l.idle++; l.idle > maxIdle {
		return errdefs.New(errdefs.Busy, "remove", "", "what is in the directory can be neither opened nor removed")
	}
	return nil
}

// remove removes an entry, or goes down if it is a directory with entries of
// its own. What its handle tells counts, not what the list said.
func (r *remover) remove(l *level, entry abi.DirEntry) (down bool, err error) {
	access := toRemove
	if entry.Attributes&abi.FILE_ATTRIBUTE_DIRECTORY != 0 {
		access = toEmpty
	}
	o, err := r.host.open(l.dir, entry.Name, access)
	switch {
	case Missing(err): // another was faster
		return false, nil
	case err != nil:
		return false, err
	case !o.isTree():
		l.idle = 0
		err = r.host.remove(o, r.path(), func(how opener) (object, error) { return how(l.dir, entry.Name) })
		if Missing(err) {
			err = nil
		}
		return false, err
	case access != toEmpty: // it has become one; it comes again
		return false, hostpath.Closed(o, nil)
	}
	l.idle = 0
	return true, r.enter(o)
}

// enter goes down. Beyond the bound it lets go of the uppermost directory below
// the base.
func (r *remover) enter(dir object) error {
	r.stack = append(r.stack, &level{dir: dir})
	if len(r.stack) <= maxOpen {
		return nil
	}
	let := r.stack[1]
	r.stack = slices.Delete(r.stack, 1, 2)
	return hostpath.Closed(let.dir, nil)
}

// leave removes the emptied directory at hand, unless it is the base, and goes
// up. Where something has come into it since, it stays.
func (r *remover) leave(l *level) error {
	if len(r.stack) == 1 {
		return nil
	}
	err := dispose(l.dir)
	if errors.Is(err, win.ERROR_DIR_NOT_EMPTY) && l.stays() == nil {
		return nil
	}
	r.stack = r.stack[:len(r.stack)-1]
	if err = hostpath.Closed(l.dir, err); err != nil {
		return err
	}
	r.names = r.names[:len(r.names)-1]
	if len(r.stack) == 1 { // those between may have been let go
		r.names = nil
	}
	return nil
}

// MountsBelow goes down as deep as it may hold directories open. What is deeper
// is met when it is about to be removed.
func (h *host) MountsBelow(ctx context.Context, path winpath.Path) ([]string, error) {
	return hostpath.Ask(ctx, h.paths, "survey", path, func() ([]string, error) {
		o, err := h.at(ctx, path, toList)
		if err != nil {
			return nil, err
		}
		s := &survey{host: h, buf: make([]byte, listLength)}
		if o.isTree() {
			err = s.below(ctx, o, path.Extended(), 1)
		}
		return s.mounts, hostpath.Closed(o, err)
	})
}

// survey looks for mount folders and changes nothing.
type survey struct {
	host   *host
	mounts []string
	buf    []byte
}

// maxNamed is how many mount folders a survey names.
const maxNamed = 8

// below looks at the entries of an open directory.
func (s *survey) below(ctx context.Context, dir object, path string, depth int) error {
	for restart := true; len(s.mounts) < maxNamed; restart = false {
		entries, err := list(dir, s.buf, restart)
		if err != nil {
			return PathError("list", display(path), err)
		}
		if len(entries) == 0 {
			return nil
		}
		for _, entry := range entries {
			if err := s.entry(ctx, dir, entry, path+`\`+entry.Name, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *survey) entry(ctx context.Context, dir object, entry abi.DirEntry, path string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if entry.Attributes&abi.FILE_ATTRIBUTE_DIRECTORY == 0 {
		return nil
	}
	o, err := s.host.open(dir, entry.Name, toList)
	if Missing(err) {
		return nil
	}
	if err != nil {
		return PathError("open", display(path), err)
	}
	switch {
	case o.isMountPoint():
		err = s.mountPoint(o, path)
	case o.isTree() && depth < maxOpen:
		err = s.below(ctx, o, path, depth+1)
	}
	return hostpath.Closed(o, err)
}

func (s *survey) mountPoint(o object, path string) error {
	volume, err := mountedAt(o)
	if err != nil || volume == (winpath.Path{}) {
		return PathError("open", display(path), err)
	}
	alive, err := s.host.alive(path, volume)
	if err != nil {
		return PathError("stat", display(path), err)
	}
	if alive {
		s.mounts = append(s.mounts, display(path))
	}
	return nil
}

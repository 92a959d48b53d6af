// SPDX-License-Identifier: Apache-2.0

// Package hostapi is what the filesystem group asks of a host and changes
// there: one question or one change a method. The rules are in package
// filesystem.
//
// Its methods block until Windows answers or the context ends, and are safe for
// concurrent use. A change that its caller has left stops before its next
// boundary call; every change may be repeated. Errors of Windows are bare
// native codes, unless a method says that it names another path than it was
// given; [PathError] and [LinkError] dress them.
//
// The caller needs the rights on files that it would need with package os;
// creating links needs SeCreateSymbolicLinkPrivilege, mount points and flushing
// need an administrator.
package hostapi

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/keylock"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
)

// HostAPI is the files of one host.
type HostAPI interface {
	// Parse reads a path as this host means it.
	//
	// Errors: [errdefs.ErrInvalidArgument] for the path.
	Parse(ctx context.Context, path string) (winpath.Path, error)

	// Lock waits until nothing else in this process changes what is at a path.
	//
	// Errors: [errdefs.ErrNotFound] where the directory of path is missing.
	Lock(ctx context.Context, path winpath.Path) (unlock func(), err error)

	// Exists reports whether something is at a path; a link counts, wherever
	// it leads.
	Exists(ctx context.Context, path winpath.Path) (bool, error)

	// IsDirectory reports whether a directory is at a path, or a link that
	// stands for one.
	IsDirectory(ctx context.Context, path winpath.Path) (bool, error)

	// Link reads the link at a path, the zero one where something else is.
	Link(ctx context.Context, path winpath.Path) (Link, error)

	// LinkLike is Link for a directory link or for a file link only; where the
	// other kind is, or none of the two, it is an error.
	LinkLike(ctx context.Context, path winpath.Path, directory bool) (Link, error)

	// Follow goes from a link at a path to the end of its chain.
	//
	// Errors: [errdefs.ErrLinkLoop]; [errdefs.ErrFailedPrecondition] for a
	// target that is no path.
	Follow(ctx context.Context, path winpath.Path, link Link) (End, error)

	// CreateLink makes a symbolic link with a target text, for a directory or a
	// file.
	CreateLink(ctx context.Context, path winpath.Path, target string, directory bool) error

	// Mkdir makes a directory and its parents, as far as they are missing, and
	// tells what is at the end of path: a directory, new or not, or a link.
	// It goes down by handles from the root and crosses no link.
	//
	// Errors: [errdefs.ErrFailedPrecondition] naming a link or file on the way.
	Mkdir(ctx context.Context, path winpath.Path) (Object, error)

	// Object looks at a path as Mkdir does, and creates nothing.
	//
	// Errors: [errdefs.ErrFailedPrecondition] naming a link on the way.
	Object(ctx context.Context, path winpath.Path) (Object, error)

	// MountsBelow lists folders below a directory where a volume is mounted,
	// except dead ones, in trees up to 64 deep. It names some, not all, where
	// there are many.
	MountsBelow(ctx context.Context, path winpath.Path) ([]string, error)

	// Flush writes what Windows holds back for a volume. A volume that is gone
	// or that nothing can be written to is none to flush, and no error.
	Flush(ctx context.Context, volume winpath.Path) error

	// Unmount takes a volume off the folder where it is mounted, and leaves the
	// folder, empty.
	//
	// Errors: [errdefs.ErrOtherVolume], [errdefs.ErrNotMounted].
	Unmount(ctx context.Context, path, volume winpath.Path) error

	// Remove removes a file, an empty directory, a link itself, or a mount
	// folder whose volume is gone. Read-only ones too.
	//
	// Errors: [errdefs.ErrFailedPrecondition] naming a link on the way;
	// [errdefs.ErrMountedBelow] where a volume is mounted.
	Remove(ctx context.Context, path winpath.Path) error

	// RemoveTree is Remove, after everything below a directory. It goes by
	// handles and crosses no link. It stops at the first thing that it cannot
	// remove, which its error names; what it has removed stays so.
	RemoveTree(ctx context.Context, path winpath.Path) error

	// RemoveContents is RemoveTree, but leaves the directory itself.
	RemoveContents(ctx context.Context, path winpath.Path) error
}

// Link is the link at the end of a path.
type Link = hostpath.Link

// End is where a chain of links ends.
type End = hostpath.End

// The kinds of [Link].
const (
	NoLink     = hostpath.NoLink
	Symlink    = hostpath.Symlink
	Junction   = hostpath.Junction
	MountPoint = hostpath.MountPoint
)

// Object is what is at a path.
type Object struct {
	Directory bool // a directory, or a link that stands for one
	Link      Link
}

// New is the files of this machine: a view of one host for the whole process.
// It asks nothing. Off Windows every question is [errors.ErrUnsupported].
func New() HostAPI { return On(native.Host()) }

// On is the files of a host. It asks nothing.
func On(h *win.Host) HostAPI {
	return &host{h, hostpath.On(h), blocking.On(h), keylock.On(h)}
}

type host struct {
	*win.Host
	paths *hostpath.Paths
	calls *blocking.Table
	locks *keylock.Table
}

func (h *host) Parse(ctx context.Context, path string) (winpath.Path, error) {
	return h.paths.Parse(ctx, path)
}

func (h *host) Lock(ctx context.Context, path winpath.Path) (func(), error) {
	key, err := h.paths.LockKey(ctx, path)
	if err != nil {
		return nil, err
	}
	return h.locks.Lock(ctx, key)
}

func (h *host) Exists(ctx context.Context, path winpath.Path) (bool, error) {
	return h.paths.Exists(ctx, path)
}

// do runs a change of a path. run looks at ctx between its boundary calls.
func (h *host) do(ctx context.Context, kind string, path winpath.Path, run func() error) error {
	_, err := hostpath.Ask(ctx, h.paths, kind, path, func() (struct{}, error) { return struct{}{}, run() })
	return err
}

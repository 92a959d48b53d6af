// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
)

// unmountBound is how long the removal of a mount folder waits for its volume:
// to tell whether it is there, and to be flushed.
const unmountBound = 15 * time.Second

// Rmdir removes a file, an empty directory, a link itself, or a mount folder;
// with Force a directory with all below it, where links and junctions are
// removed themselves and never followed. With Force a missing path is no error;
// without it is (behaviour.md FS-25).
//
// A mount folder at the path itself is unmounted first: its volume is flushed,
// for at most 15 seconds, and none of the volume's files is touched. Where the
// flush takes longer the folder is unmounted all the same, because that loses
// nothing; where it fails on a volume that is there, the error says why and the
// volume stays mounted. A mount folder below the path stays mounted: then
// nothing is removed, unless it is more than 64 deep or was mounted meanwhile.
// Dead mount points, whose volume is gone, are removed.
//
// Errors: [errdefs.ErrInvalidArgument], also for a root; [errdefs.ErrNotFound];
// [errdefs.ErrFailedPrecondition] for a directory that is not empty, and where a
// link is on the way; [errdefs.ErrMountedBelow] naming the mount folders;
// Windows' own, naming the first file that cannot be removed; what was removed
// before it stays removed.
func (f *Filesystem) Rmdir(ctx context.Context, req *RmdirRequest) (*RmdirResponse, error) {
	const op = "filesystem.Rmdir"
	resp := &RmdirResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.LongBudget)
	defer cancel()

	path, err := f.removable(ctx, req.Path)
	if err != nil {
		return resp, errdefs.Wrap(op, "Path", err)
	}
	err = f.rmdir(ctx, path, req.Force)
	return resp, failed(op, req.Path, hostapi.PathError("remove", req.Path, err))
}

// RmdirContents removes everything below a directory, as [Filesystem.Rmdir]
// with Force does, and keeps the directory. Emptying an empty one is no error.
//
// Errors: those of Rmdir; [errdefs.ErrNotFound] for a missing directory;
// [errdefs.ErrInvalidArgument] for a file; [errdefs.ErrFailedPrecondition] for a
// link, and [errdefs.ErrMountedBelow] for a mount folder, whose volume's files
// it would have to remove.
func (f *Filesystem) RmdirContents(ctx context.Context, req *RmdirContentsRequest) (*RmdirContentsResponse, error) {
	const op = "filesystem.RmdirContents"
	resp := &RmdirContentsResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.LongBudget)
	defer cancel()

	path, err := f.removable(ctx, req.Path)
	if err != nil {
		return resp, errdefs.Wrap(op, "Path", err)
	}
	return resp, failed(op, req.Path, hostapi.PathError("open", req.Path, f.rmdirContents(ctx, path)))
}

// removable parses a path at which something may be removed.
func (f *Filesystem) removable(ctx context.Context, text string) (winpath.Path, error) {
	path, err := f.host.Parse(ctx, text)
	if err == nil && path.IsRoot() {
		return winpath.Path{}, errdefs.As(errdefs.InvalidArgument, "path", text, errRoot)
	}
	return path, err
}

func (f *Filesystem) rmdir(ctx context.Context, path winpath.Path, force bool) error {
	unlock, err := f.host.Lock(ctx, path)
	if err != nil {
		return unlessMissing(force, err)
	}
	defer unlock()
	found, err := f.host.Object(ctx, path)
	switch {
	case err != nil:
		return unlessMissing(force, err)
	case found.Link.Kind == hostapi.MountPoint:
		return f.removeMountFolder(ctx, path, found.Link)
	case !force || !found.Directory || found.Link.Kind != hostapi.NoLink:
		return unlessMissing(force, f.host.Remove(ctx, path))
	}
	if err := f.nothingMountedBelow(ctx, path); err != nil {
		return unlessMissing(force, err)
	}
	return unlessMissing(force, f.host.RemoveTree(ctx, path))
}

// unlessMissing is err, but nil for a missing path where that is success.
func unlessMissing(success bool, err error) error {
	if success && hostapi.Missing(err) {
		return nil
	}
	return err
}

func (f *Filesystem) rmdirContents(ctx context.Context, path winpath.Path) error {
	unlock, err := f.host.Lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	found, err := f.host.Object(ctx, path)
	switch {
	case err != nil:
		return err
	case found.Link.Kind == hostapi.MountPoint:
		return mountedBelow(path.String())
	case !found.Directory || found.Link.Kind != hostapi.NoLink:
		err := f.host.RemoveContents(ctx, path) // which says what is wrong
		return hostapi.PathError("readdir", path.String(), err)
	}
	if err := f.nothingMountedBelow(ctx, path); err != nil {
		return err
	}
	return f.host.RemoveContents(ctx, path)
}

func (f *Filesystem) nothingMountedBelow(ctx context.Context, path winpath.Path) error {
	mounts, err := f.host.MountsBelow(ctx, path)
	if err == nil && len(mounts) > 0 {
		return mountedBelow(mounts...)
	}
	return err
}

func mountedBelow(folders ...string) error {
	return errdefs.As(errdefs.FailedPrecondition, "remove", "", fmt.Errorf("%w: %s", errdefs.ErrMountedBelow, strings.Join(folders, ", ")))
}

// removeMountFolder unmounts a folder and removes it. One whose volume is gone
// has nothing to flush.
func (f *Filesystem) removeMountFolder(ctx context.Context, path winpath.Path, link hostapi.Link) error {
	volume, err := link.Target()
	if err != nil {
		return err
	}
	dead, err := f.letGo(ctx, path, link, volume)
	if err != nil {
		return err
	}
	if !dead {
		if err := f.host.Unmount(ctx, path, volume); err != nil {
			return err
		}
	}
	return f.host.Remove(ctx, path)
}

// letGo flushes the volume of a mount folder if it is there. It never waits for
// one that hangs longer than its bound, nor for a flush that others left
// behind.
func (f *Filesystem) letGo(ctx context.Context, path winpath.Path, link hostapi.Link, volume winpath.Path) (dead bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, unmountBound)
	defer cancel()
	end, err := f.host.Follow(bounded, path, link)
	if err == nil && !end.Exists {
		return true, nil
	}
	err = f.host.Flush(bounded, volume)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if hangs(err) {
		return false, nil
	}
	return false, errdefs.Wrap("flush", volume.String(), err)
}

// hangs reports whether an error came instead of an answer of Windows: the call
// has not ended in time, or an earlier one has not.
func hangs(err error) bool {
	_, answered := errdefs.NativeOf(err)
	return !answered && isKind(err, errdefs.DeadlineExceeded, errdefs.ResourceExhausted)
}

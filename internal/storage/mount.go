// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/keylock"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// ParsePath reads a path as drivers spell it; one without a drive is on the
// system drive.
func (s *Storage) ParsePath(ctx context.Context, path string) (winpath.Path, error) {
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()
	return s.paths.Parse(ctx, path)
}

// MountPoint is what a path leads to, links followed.
type MountPoint struct {
	Path winpath.Path // the end of the chain
	// Mounted says that a volume is mounted at Path: Volume, which may be gone.
	Mounted bool
	Volume  VolumeID
}

// FindMountPoint follows a path through links to a mount point, or to what else
// stands at their end; a link to a volume's name counts as its mount point. It
// asks no file server. A chain that is too long or circular is ErrLinkLoop; a
// missing path is the bare code.
func (s *Storage) FindMountPoint(ctx context.Context, path winpath.Path) (MountPoint, error) {
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()
	visited := map[string]bool{}
	for !visited[path.Key()] && len(visited) <= hostpath.MaxLinks {
		visited[path.Key()] = true
		if path.IsUNC() {
			return MountPoint{Path: path}, nil
		}
		link, err := s.paths.Link(ctx, path)
		if err != nil || link.Kind == hostpath.NoLink {
			return MountPoint{Path: path}, err
		}
		target, err := link.Target()
		if err != nil {
			return MountPoint{Path: path}, err
		}
		if target.IsVolume() && target.IsRoot() {
			id, err := ParseVolumeID(target.String())
			return MountPoint{Path: path, Mounted: true, Volume: id}, err
		}
		path = target
	}
	return MountPoint{Path: path}, errdefs.ErrLinkLoop
}

// MountFolder is the volume that is mounted at a path itself, links not
// followed, as its reparse point says; it may be gone. Where something else is,
// a link too, it is ErrNotMounted; a missing path is the bare code.
func (s *Storage) MountFolder(ctx context.Context, path winpath.Path) (VolumeID, error) {
	link, err := s.paths.Link(ctx, path)
	if err != nil {
		return VolumeID{}, err
	}
	if link.Kind != hostpath.MountPoint {
		return VolumeID{}, errdefs.ErrNotMounted
	}
	target, err := link.Target()
	if err != nil {
		return VolumeID{}, err
	}
	return ParseVolumeID(target.String())
}

// VolumeOfPath is the volume that holds what stands at a path without links at
// its end.
func (s *Storage) VolumeOfPath(ctx context.Context, path winpath.Path) (VolumeID, error) {
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()
	return hostpath.Look(ctx, s.paths, "volume of path", path, func(f win.File) (VolumeID, error) {
		final, err := f.FinalPath(win.VolumeNameGUID)
		if err != nil {
			return VolumeID{}, err
		}
		parsed, err := winpath.Parse(final, 0)
		if err != nil {
			return VolumeID{}, err
		}
		return ParseVolumeID(parsed.Root().String())
	})
}

// CheckVolume fails with the code of Windows where a volume is not there.
func (s *Storage) CheckVolume(ctx context.Context, id VolumeID) error {
	_, err := onVolume(ctx, s, "check", id, win.NoAccess, func(win.Device) (struct{}, error) { return struct{}{}, nil })
	return err
}

// MountedVolume is the volume mounted at a path itself, as the mount manager
// names it. Where it says that none is, it is ErrNotMounted with the code of
// Windows (windows-api.md 7.3); a missing path, or a volume that is gone, is the
// bare code.
func (s *Storage) MountedVolume(ctx context.Context, path winpath.Path) (VolumeID, error) {
	return ask(ctx, s, "mounted volume", path.Key(), func() (VolumeID, error) {
		name, err := s.host.Mounts.VolumeAt(pointName(path))
		switch {
		case err == nil:
			return ParseVolumeID(name)
		case errors.Is(err, win.ERROR_NOT_A_REPARSE_POINT), errors.Is(err, win.ERROR_INVALID_PARAMETER):
			err = fmt.Errorf("%w: %w", errdefs.ErrNotMounted, err)
		}
		return VolumeID{}, err
	})
}

// SetMountPoint mounts a volume at an empty directory.
func (s *Storage) SetMountPoint(ctx context.Context, path winpath.Path, id VolumeID) error {
	return s.changePoint(ctx, "mount", path, func() error {
		return s.host.Mounts.SetPoint(pointName(path), id.String())
	})
}

// DeleteMountPoint removes a mount point and leaves the empty directory.
func (s *Storage) DeleteMountPoint(ctx context.Context, path winpath.Path) error {
	return s.changePoint(ctx, "unmount", path, func() error {
		return s.host.Mounts.DeletePoint(pointName(path))
	})
}

func (s *Storage) changePoint(ctx context.Context, change string, path winpath.Path, run func() error) error {
	_, err := ask(ctx, s, change, path.Key(), func() (struct{}, error) { return struct{}{}, run() })
	return err
}

// pointName is a path as the mount manager's functions want it, with a backslash
// at its end; in the extended form only where the usual one is too long for them.
func pointName(path winpath.Path) string {
	const long = 240 // MAX_PATH less what Windows itself may add
	name := path.String()
	if len(name) > long {
		name = path.Extended()
	}
	if !path.IsRoot() {
		name += `\`
	}
	return name
}

// LockMountPoint takes the locks of a volume and of a path. The path's lock is
// that of its name in its parent directory, whatever way leads there.
func (s *Storage) LockMountPoint(ctx context.Context, id VolumeID, path winpath.Path) (unlock func(), err error) {
	key, err := s.paths.LockKey(ctx, path)
	if err != nil {
		return nil, err
	}
	return s.locks.Lock(ctx, keylock.Volume(id.String()), key)
}

// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/storage"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Flush shares a running flush with the volume group, but waits for none that
// everybody has left (docs/architecture.md, "Contexts, locks and hangs").
func (h *host) Flush(ctx context.Context, volume winpath.Path) error {
	id, err := storage.ParseVolumeID(volume.String())
	if err != nil {
		return err
	}
	err = storage.On(h.Host).FlushVolumeUnlessStuck(ctx, id)
	if storage.Gone(err) || errors.Is(err, errdefs.ErrDiskOffline) {
		return nil
	}
	return err
}

func (h *host) Unmount(ctx context.Context, path, volume winpath.Path) error {
	return h.do(ctx, "unmount", path, func() error {
		o, err := h.reach(ctx, path, h.pin)
		if err != nil {
			return err
		}
		return hostpath.Closed(o, h.unmount(o, path, volume))
	})
}

// unmount looks at the pinned mount folder before and after by one handle.
func (h *host) unmount(o object, path, volume winpath.Path) error {
	mounted, err := mountedAt(o)
	switch {
	case err != nil:
		return err
	case mounted == winpath.Path{}:
		return refused("unmount", path.String(), errdefs.ErrNotMounted)
	case mounted != volume:
		return refused("unmount", path.String(), errdefs.ErrOtherVolume)
	}
	if err := h.deletePoint(o, path.Extended()); err != nil {
		return err
	}
	mounted, err = mountedAt(o)
	if err == nil && mounted != (winpath.Path{}) {
		return errdefs.New(errdefs.FailedPrecondition, "unmount", path.String(), "%s is still mounted", mounted)
	}
	return err
}

// pin opens one element below a directory so that nobody can replace it, nor a
// directory above it.
func (h *host) pin(directory object, name string) (object, error) {
	return h.openAs(directory, name, win.OpenFile{Access: toList, Disposition: win.OpenExisting, Pinned: true})
}

var errReplaced = errors.New("a directory above it has been replaced meanwhile")

// deletePoint takes the mount point off a pinned folder; path is its extended
// form. The mount manager goes by the path, and follows links: so it is told only
// where the path leads to what is pinned, and then for as long as it is.
func (h *host) deletePoint(pinned object, path string) error {
	there, err := h.openAs(object{}, path, win.OpenFile{Access: toLook, Disposition: win.OpenExisting})
	if err != nil {
		return err
	}
	same, err := hostpath.Same(pinned, there)
	if err = hostpath.Closed(there, err); err != nil {
		return err
	}
	if !same {
		return refused("unmount", display(path), errReplaced)
	}
	return h.Mounts.DeletePoint(path + `\`)
}

// mountedAt is the volume that is mounted at an open directory, the zero path
// for none.
func mountedAt(f win.File) (winpath.Path, error) {
	// Only a symbolic link's target depends on where it is.
	link, err := hostpath.ReadLink(f, winpath.Path{})
	if err != nil || link.Kind != MountPoint {
		return winpath.Path{}, err
	}
	return link.Target()
}

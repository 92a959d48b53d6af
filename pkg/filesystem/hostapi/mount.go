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
		o, err := h.at(ctx, path, toLook)
		if err != nil {
			return err
		}
		return hostpath.Closed(o, h.unmount(o, path, volume))
	})
}

// unmount looks at the mount folder before and after by one handle, because the
// mount manager goes by the path.
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
	if err := h.Mounts.DeletePoint(path.Extended() + `\`); err != nil {
		return err
	}
	mounted, err = mountedAt(o)
	if err == nil && mounted != (winpath.Path{}) {
		return errdefs.New(errdefs.FailedPrecondition, "unmount", path.String(), "%s is still mounted", mounted)
	}
	return err
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

// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Flush shares its kind and object with the flushes of other groups, so that
// they take turns (windows-api.md 7.8).
func (h *host) Flush(ctx context.Context, volume winpath.Path) error {
	call := blocking.Call{Kind: "flush", Object: volume.String(), Group: volume.String()}
	_, err := blocking.Do(ctx, h.calls, call, func() (struct{}, error) { return struct{}{}, h.flush(volume) })
	if hostpath.Gone(volume, err) || cannotFlush(err) {
		return nil
	}
	return err
}

func (h *host) flush(volume winpath.Path) error {
	d, err := h.Devices.Open(strings.TrimSuffix(volume.String(), `\`), win.GenericWrite)
	if err != nil {
		return err
	}
	err = d.Flush()
	if closeErr := d.Close(); err == nil {
		return closeErr
	}
	return err
}

// cannotFlush reports whether a volume holds nothing that could be written: it
// is read-only, offline, or has no file system.
func cannotFlush(err error) bool {
	return errors.Is(err, win.ERROR_WRITE_PROTECT) || errors.Is(err, win.ERROR_NOT_READY) ||
		errors.Is(err, win.ERROR_UNRECOGNIZED_VOLUME) || hostpath.Unknown(err)
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

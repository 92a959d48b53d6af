// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

func (h *host) Remove(ctx context.Context, path winpath.Path) error {
	return h.do(ctx, "remove", path, func() error {
		o, err := h.at(ctx, path, toRemove)
		if err != nil {
			return err
		}
		return h.remove(o, path.Extended(), h.reopener(ctx, path))
	})
}

func (h *host) RemoveTree(ctx context.Context, path winpath.Path) error {
	return h.do(ctx, "remove", path, func() error {
		o, err := h.at(ctx, path, toRemove)
		if err != nil {
			return err
		}
		if o.isTree() {
			err = h.emptyAt(ctx, path)
		}
		if err != nil {
			return hostpath.Closed(o, err)
		}
		return h.remove(o, path.Extended(), h.reopener(ctx, path))
	})
}

// reopener opens again what has been opened before, in another way.
type reopener func(opener) (object, error)

func (h *host) reopener(ctx context.Context, path winpath.Path) reopener {
	return func(how opener) (object, error) { return h.reach(ctx, path, how) }
}

func (h *host) RemoveContents(ctx context.Context, path winpath.Path) error {
	return h.do(ctx, "remove", path, func() error { return h.emptyAt(ctx, path) })
}

func (h *host) emptyAt(ctx context.Context, path winpath.Path) error {
	o, err := h.at(ctx, path, toList)
	switch {
	case err != nil:
		return err
	case o.isLink():
		err = refused("directory", path.String(), errCrossing)
	case !o.isDirectory():
		err = win.ERROR_DIRECTORY
	default:
		err = h.empty(ctx, o, path)
	}
	return hostpath.Closed(o, err)
}

// remove removes an open file, empty directory or link, and closes it; path is
// its extended form.
func (h *host) remove(o object, path string, again reopener) error {
	volume, err := h.deadMount(o, path)
	if err != nil {
		return hostpath.Closed(o, err)
	}
	if volume != (winpath.Path{}) {
		if o, err = h.forget(o, path, again); err != nil {
			return err
		}
		// Another volume may be mounted there meanwhile.
		if _, err = h.deadMount(o, path); err != nil {
			return hostpath.Closed(o, err)
		}
	}
	return hostpath.Closed(o, dispose(o))
}

// deadMount is the volume of a mount folder, which is gone; the zero path for
// everything else, a junction too.
//
// Errors: [errdefs.ErrMountedBelow] where the volume is there.
func (h *host) deadMount(o object, path string) (winpath.Path, error) {
	if !o.isMountPoint() {
		return winpath.Path{}, nil
	}
	volume, err := mountedAt(o)
	if err != nil || volume == (winpath.Path{}) {
		return winpath.Path{}, err
	}
	alive, err := h.alive(path, volume)
	switch {
	case err != nil:
		return winpath.Path{}, refused("remove", display(path), fmt.Errorf("%w, or cannot be looked up: %w", errdefs.ErrMountedBelow, err))
	case alive:
		return winpath.Path{}, refused("remove", display(path), errdefs.ErrMountedBelow)
	}
	return volume, nil
}

// forget tells the mount manager that a dead mount point goes, so that its
// entry goes too, and opens again what is left of it. Where the mount manager has
// no part in it, because it does not know the mount point or misses the volume,
// the mount point goes alone. A handle that may delete would not let it be pinned.
func (h *host) forget(o object, path string, again reopener) (object, error) {
	if err := o.Close(); err != nil {
		return object{}, err
	}
	pinned, err := again(h.pin)
	if err != nil {
		return object{}, err
	}
	volume, err := h.deadMount(pinned, path)
	if err == nil && volume != (winpath.Path{}) {
		err = h.deletePoint(pinned, path)
		if hostpath.Gone(volume, err) || hostpath.Unknown(err) || errors.Is(err, win.ERROR_NOT_READY) || errors.Is(err, win.ERROR_NOT_A_REPARSE_POINT) {
			err = nil
		}
	}
	if err = hostpath.Closed(pinned, err); err != nil {
		return object{}, err
	}
	return again(func(directory object, name string) (object, error) { return h.open(directory, name, toRemove) })
}

// alive reports whether a mount folder's volume is there. Those of a file server
// are its own, and cannot be looked up here.
func (h *host) alive(folder string, volume winpath.Path) (bool, error) {
	if strings.HasPrefix(folder, `\\?\UNC\`) {
		return true, nil
	}
	return h.paths.Probe(volume)
}

// dispose removes an open object's name when the handle is closed, also where
// others have it open and where it is read-only. File systems that cannot do
// this remove it with the last handle.
func dispose(o object) error {
	const flags = abi.FILE_DISPOSITION_FLAG_DELETE | abi.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS |
		abi.FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE
	err := o.SetInformation(abi.FileDispositionInfoExClass, abi.EncodeFileDispositionInfoEx(flags))
	if !hostpath.Unknown(err) {
		return err
	}
	if o.info.Attributes&abi.FILE_ATTRIBUTE_READONLY != 0 {
		return disposeReadOnly(o)
	}
	return disposeLate(o)
}

func disposeLate(o object) error {
	return o.SetInformation(abi.FileDispositionInfoClass, abi.EncodeFileDispositionInfo(true))
}

// disposeReadOnly takes the attribute away, which forbids removal, and puts it
// back where the removal fails.
func disposeReadOnly(o object) error {
	writable := o.info.Attributes &^ (abi.FILE_ATTRIBUTE_READONLY | abi.FILE_ATTRIBUTE_REPARSE_POINT | abi.FILE_ATTRIBUTE_DIRECTORY)
	if writable == 0 {
		writable = abi.FILE_ATTRIBUTE_NORMAL // 0 would change nothing
	}
	if err := setAttributes(o, writable); err != nil {
		return err
	}
	err := disposeLate(o)
	if err != nil {
		err = errors.Join(err, setAttributes(o, writable&^abi.FILE_ATTRIBUTE_NORMAL|abi.FILE_ATTRIBUTE_READONLY))
	}
	return err
}

func setAttributes(o object, attributes uint32) error {
	return o.SetInformation(abi.FileBasicInfoClass, abi.FileBasicInfo{Attributes: attributes}.Encode())
}

// display is the usual spelling of an extended path.
func display(path string) string {
	if share, ok := strings.CutPrefix(path, `\\?\UNC\`); ok {
		return `\\` + share
	}
	if rest, ok := strings.CutPrefix(path, `\\?\`); ok && !strings.HasPrefix(rest, "Volume{") {
		return rest
	}
	return path
}

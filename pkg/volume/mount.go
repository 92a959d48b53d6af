// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// GetVolumeIDFromTargetPath is the volume mounted at a path, which may be a link
// to a mount folder. Where no live volume is mounted, at a plain directory, a
// missing path or a mount point whose volume is gone, it is ErrNotMounted.
func (v *Volume) GetVolumeIDFromTargetPath(ctx context.Context, req *GetVolumeIDFromTargetPathRequest) (*GetVolumeIDFromTargetPathResponse, error) {
	const op = "volume.GetVolumeIDFromTargetPath"
	resp := &GetVolumeIDFromTargetPathResponse{}
	if req == nil {
		return resp, nilRequest(op)
	}
	path, err := v.parsePath(ctx, op, req.TargetPath)
	if err != nil {
		return resp, err
	}
	id, err := v.mountedAt(ctx, path)
	if err != nil {
		return resp, errdefs.Wrap(op, req.TargetPath, err)
	}
	resp.VolumeID = id.String()
	return resp, nil
}

func (v *Volume) mountedAt(ctx context.Context, path hostapi.Path) (hostapi.VolumeID, error) {
	if path.IsRoot() {
		return hostapi.VolumeID{}, notMounted("it is the root of a volume, not a mount folder", nil)
	}
	point, err := v.host.FindMountPoint(ctx, path)
	switch {
	case isMissing(err):
		return hostapi.VolumeID{}, notMounted("the path is missing", err)
	case err != nil:
		return hostapi.VolumeID{}, err
	case !point.Mounted:
		return hostapi.VolumeID{}, notMounted("it is not a mounted folder", nil)
	}
	if err := v.host.CheckVolume(ctx, point.Volume); isMissing(err) {
		return hostapi.VolumeID{}, notMounted("its volume is gone", err)
	} else if err != nil {
		return hostapi.VolumeID{}, err
	}
	return point.Volume, nil
}

// notMounted carries words that the AWS EBS driver searches for (consumers.md
// 2.2).
func notMounted(why string, cause error) error {
	err := fmt.Errorf("%w: the mount point cannot be resolved because it does not exist: %s", errdefs.ErrNotMounted, why)
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// isMissing: a path or volume is not there.
func isMissing(err error) bool { return errdefs.KindOf(err) == errdefs.NotFound || isDetached(err) }

// isDetached: the device of a volume is not connected any more (1167).
func isDetached(err error) bool {
	n, ok := errdefs.NativeOf(err)
	return ok && n.Facility == errdefs.Win32 && n.Code == 1167
}

// GetClosestVolumeIDFromTargetPath is the volume that holds a path: the volume
// mounted there, where a link leads, or the one whose directory it is.
func (v *Volume) GetClosestVolumeIDFromTargetPath(ctx context.Context, req *GetClosestVolumeIDFromTargetPathRequest) (*GetClosestVolumeIDFromTargetPathResponse, error) {
	const op = "volume.GetClosestVolumeIDFromTargetPath"
	resp := &GetClosestVolumeIDFromTargetPathResponse{}
	if req == nil {
		return resp, nilRequest(op)
	}
	path, err := v.parsePath(ctx, op, req.TargetPath)
	if err != nil {
		return resp, err
	}
	id, err := v.closest(ctx, path)
	if err != nil {
		return resp, errdefs.Wrap(op, req.TargetPath, err)
	}
	resp.VolumeID = id.String()
	return resp, nil
}

func (v *Volume) closest(ctx context.Context, path hostapi.Path) (hostapi.VolumeID, error) {
	if path.IsRoot() {
		return v.host.VolumeOfPath(ctx, path)
	}
	point, err := v.host.FindMountPoint(ctx, path)
	if err != nil {
		return hostapi.VolumeID{}, err
	}
	if point.Mounted {
		return point.Volume, v.host.CheckVolume(ctx, point.Volume)
	}
	return v.host.VolumeOfPath(ctx, point.Path)
}

// MountVolume mounts a volume at an existing empty directory. It is idempotent.
// Where another volume is mounted it fails with ErrOtherVolume; a mount point
// whose volume is gone is removed first. The boot, system, page file and
// clustered volumes are ErrCriticalDisk.
func (v *Volume) MountVolume(ctx context.Context, req *MountVolumeRequest) (*MountVolumeResponse, error) {
	const op = "volume.MountVolume"
	resp := &MountVolumeResponse{}
	if req == nil {
		return resp, nilRequest(op)
	}
	id, err := parseID(op, req.VolumeID)
	if err != nil {
		return resp, err
	}
	path, err := v.parsePath(ctx, op, req.TargetPath)
	if err != nil {
		return resp, err
	}
	return resp, errdefs.Wrap(op, req.TargetPath, v.mount(ctx, id, path))
}

func (v *Volume) mount(ctx context.Context, id hostapi.VolumeID, path hostapi.Path) error {
	if path.IsRoot() {
		return fmt.Errorf("%w: TargetPath: a volume's root cannot be a mount folder", errdefs.ErrInvalidArgument)
	}
	extents, err := v.host.VolumeExtents(ctx, id)
	if err != nil {
		return err
	}
	if err := v.host.CheckVolumeNotCritical(ctx, extents); err != nil {
		return err
	}
	unlock, err := v.host.LockMountPoint(ctx, id, path)
	if err != nil {
		return err
	}
	defer unlock()

	err = v.host.SetMountPoint(ctx, path, id)
	if err != nil && ctx.Err() == nil {
		// Windows refuses a directory that is not empty, and a mount folder
		// likewise (windows-api.md 7.4): see which it is.
		err = v.mountOver(ctx, id, path, err)
	}
	if err != nil {
		return err
	}
	return v.confirmMount(ctx, id, path)
}

// mountOver deals with a path at which Windows refused to mount: done where
// this volume is mounted already; a mount point whose volume is gone is removed
// and the mount tried again; else the refusal stands.
func (v *Volume) mountOver(ctx context.Context, id hostapi.VolumeID, path hostapi.Path, refusal error) error {
	point, err := v.host.FindMountPoint(ctx, path)
	switch {
	case err != nil, !point.Mounted, point.Path != path:
		return refusal
	case point.Volume == id:
		return nil
	}
	if err := v.host.CheckVolume(ctx, point.Volume); !isMissing(err) {
		return errors.Join(fmt.Errorf("%w: %s", errdefs.ErrOtherVolume, point.Volume), err)
	}
	if err := v.host.DeleteMountPoint(ctx, path); err != nil {
		return err
	}
	return v.host.SetMountPoint(ctx, path, id)
}

func (v *Volume) confirmMount(ctx context.Context, id hostapi.VolumeID, path hostapi.Path) error {
	mounted, err := v.host.MountedVolume(ctx, path)
	if err == nil && mounted != id {
		err = fmt.Errorf("%w: %s, although Windows accepted the mount", errdefs.ErrOtherVolume, mounted)
	}
	return err
}

// UnmountVolume flushes a volume and removes its mount point at a path; the
// empty directory stays. A path that is missing or no mount point is no error,
// so it is idempotent; one where another volume is mounted is ErrOtherVolume
// and stays. A volume that is gone is not flushed. Where the flush fails, or
// ctx ends before it does, the volume stays mounted; a later call joins the
// flush that still runs.
func (v *Volume) UnmountVolume(ctx context.Context, req *UnmountVolumeRequest) (*UnmountVolumeResponse, error) {
	const op = "volume.UnmountVolume"
	resp := &UnmountVolumeResponse{}
	if req == nil {
		return resp, nilRequest(op)
	}
	id, err := parseID(op, req.VolumeID)
	if err != nil {
		return resp, err
	}
	path, err := v.parsePath(ctx, op, req.TargetPath)
	if err != nil {
		return resp, err
	}
	return resp, errdefs.Wrap(op, req.TargetPath, v.unmount(ctx, id, path))
}

func (v *Volume) unmount(ctx context.Context, id hostapi.VolumeID, path hostapi.Path) error {
	if path.IsRoot() {
		return fmt.Errorf("%w: TargetPath: a volume's root is not a mount folder", errdefs.ErrInvalidArgument)
	}
	unlock, err := v.host.LockMountPoint(ctx, id, path)
	if isMissing(err) {
		return nil // not even the directory above is there
	}
	if err != nil {
		return err
	}
	defer unlock()

	point, err := v.host.FindMountPoint(ctx, path)
	switch {
	case isMissing(err):
		return nil
	case err != nil:
		return err
	case !point.Mounted || point.Path != path:
		return nil // a plain directory, or a link: nothing is mounted there
	case point.Volume != id:
		return fmt.Errorf("%w: %s", errdefs.ErrOtherVolume, point.Volume)
	}
	if err := v.host.FlushVolume(ctx, id); err != nil && !isMissing(err) {
		return fmt.Errorf("the volume stays mounted, its cache could not be written: %w", err)
	}
	if err := v.host.DeleteMountPoint(ctx, path); err != nil {
		return err
	}
	return v.confirmUnmount(ctx, path)
}

// confirmUnmount: the mount manager must not name a volume there any more. What
// it answers for a plain directory is one of several codes (windows-api.md 7.3).
func (v *Volume) confirmUnmount(ctx context.Context, path hostapi.Path) error {
	mounted, err := v.host.MountedVolume(ctx, path)
	if err == nil {
		return fmt.Errorf("%w: %s is still mounted, although Windows accepted the removal", errdefs.ErrUnavailable, mounted)
	}
	switch kind := errdefs.KindOf(err); kind {
	case errdefs.NotFound, errdefs.FailedPrecondition, errdefs.InvalidArgument:
		return nil
	}
	return err
}

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
		return resp, errdefs.NilRequest(op)
	}
	path, err := v.parsePath(ctx, op, req.TargetPath, "target path is empty")
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
		return hostapi.VolumeID{}, notMounted("not a mounted folder but the root of a volume", nil)
	}
	point, err := v.host.FindMountPoint(ctx, path)
	switch {
	case hostapi.Gone(err):
		return hostapi.VolumeID{}, notMounted("the path is missing", err)
	case err != nil:
		return hostapi.VolumeID{}, err
	case !point.Mounted:
		return hostapi.VolumeID{}, notMounted("not a mounted folder", nil)
	}
	err = v.host.CheckVolume(ctx, point.Volume)
	if hostapi.Gone(err) {
		err = notMounted("its volume is gone", err)
	}
	return point.Volume, err
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

// GetClosestVolumeIDFromTargetPath is the volume that holds a path: the volume
// mounted there, where a link leads, or the one whose directory it is.
func (v *Volume) GetClosestVolumeIDFromTargetPath(ctx context.Context, req *GetClosestVolumeIDFromTargetPathRequest) (*GetClosestVolumeIDFromTargetPathResponse, error) {
	const op = "volume.GetClosestVolumeIDFromTargetPath"
	resp := &GetClosestVolumeIDFromTargetPathResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	path, err := v.parsePath(ctx, op, req.TargetPath, "target path is empty")
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
	switch {
	case err != nil:
		return hostapi.VolumeID{}, err
	case point.Mounted:
		return point.Volume, v.host.CheckVolume(ctx, point.Volume)
	case point.Path.IsUNC():
		return hostapi.VolumeID{}, fmt.Errorf("%w: it leads to a share, which has no volume of this host", errdefs.ErrFailedPrecondition)
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
		return resp, errdefs.NilRequest(op)
	}
	if req.VolumeID == "" {
		return resp, errdefs.New(errdefs.InvalidArgument, op, "", "MountVolumeRequest.VolumeID is empty")
	}
	id, err := parseID(op, req.VolumeID)
	if err != nil {
		return resp, err
	}
	path, err := v.parsePath(ctx, op, req.TargetPath, "MountVolumeRequest.TargetPath is empty")
	if err != nil {
		return resp, err
	}
	return resp, errdefs.Wrap(op, req.TargetPath, v.mount(ctx, id, path))
}

func (v *Volume) mount(ctx context.Context, id hostapi.VolumeID, path hostapi.Path) error {
	if path.IsRoot() {
		return fmt.Errorf("%w: TargetPath: a volume's root cannot be a mount folder", errdefs.ErrInvalidArgument)
	}
	unlock, err := v.host.LockMountPoint(ctx, id, path)
	if err != nil {
		return err
	}
	defer unlock()
	extents, err := v.host.VolumeExtents(ctx, id)
	if err != nil {
		return err
	}
	if err := v.host.CheckVolumeNotCritical(ctx, extents); err != nil {
		return err
	}
	refusal, err := v.mountAt(ctx, id, path)
	if refusal == nil || err != nil {
		return errors.Join(err, refusal)
	}
	if err := v.makeRoom(ctx, path, refusal); err != nil {
		return err
	}
	refusal, err = v.mountAt(ctx, id, path)
	return errors.Join(err, refusal)
}

// mountAt mounts and reads back. A refusal is what Windows said where the volume
// is not mounted then. It refuses a mount folder as it does a directory that is
// not empty (windows-api.md 7.4); where this volume is mounted all is done.
func (v *Volume) mountAt(ctx context.Context, id hostapi.VolumeID, path hostapi.Path) (refusal, err error) {
	refusal = v.host.SetMountPoint(ctx, path, id)
	mounted, err := v.host.MountedVolume(ctx, path)
	switch {
	case err == nil && mounted == id:
		return nil, nil
	case err != nil && !isNotMounted(err):
		return refusal, err
	case refusal != nil:
		return refusal, nil
	case err != nil:
		return nil, errdefs.As(errdefs.Unavailable, "read back", path.String(), err)
	}
	return nil, fmt.Errorf("%w: %s, although Windows accepted the mount", errdefs.ErrOtherVolume, mounted)
}

// makeRoom removes a mount point whose volume is gone. Where all else is, the
// refusal to mount there stands.
func (v *Volume) makeRoom(ctx context.Context, path hostapi.Path, refusal error) error {
	mounted, err := v.host.MountFolder(ctx, path)
	switch {
	case isNotMounted(err):
		return refusal
	case err != nil:
		return errors.Join(err, refusal)
	}
	err = v.host.CheckVolume(ctx, mounted)
	if !hostapi.Gone(err) {
		return errors.Join(fmt.Errorf("%w: %s", errdefs.ErrOtherVolume, mounted), err)
	}
	return v.host.DeleteMountPoint(ctx, path)
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
		return resp, errdefs.NilRequest(op)
	}
	id, err := parseID(op, req.VolumeID)
	if err != nil {
		return resp, err
	}
	path, err := v.parsePath(ctx, op, req.TargetPath, "target path empty")
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
	if hostapi.Gone(err) {
		return nil // not even the directory above is there
	}
	if err != nil {
		return err
	}
	defer unlock()

	mounted, err := v.host.MountFolder(ctx, path)
	switch {
	case isNotMounted(err):
		return nil
	case err != nil:
		return err
	case mounted != id:
		return fmt.Errorf("%w: %s", errdefs.ErrOtherVolume, mounted)
	}
	if err := v.writeBack(ctx, id); err != nil {
		return fmt.Errorf("the volume stays mounted, its cache could not be written: %w", err)
	}
	if err := v.host.DeleteMountPoint(ctx, path); err != nil {
		return err
	}
	return v.confirmUnmount(ctx, path)
}

// isNotMounted: nothing is there, or a plain directory, a file, a link.
func isNotMounted(err error) bool {
	return hostapi.Gone(err) || errors.Is(err, errdefs.ErrNotMounted)
}

// writeBack flushes a volume that is there; one that is gone, or whose disk is
// offline, has nothing left that could be written.
func (v *Volume) writeBack(ctx context.Context, id hostapi.VolumeID) error {
	err := v.host.FlushVolume(ctx, id)
	if hostapi.Gone(err) || errors.Is(err, errdefs.ErrDiskOffline) {
		return nil
	}
	return err
}

// confirmUnmount: the mount manager must not name a volume there any more.
func (v *Volume) confirmUnmount(ctx context.Context, path hostapi.Path) error {
	mounted, err := v.host.MountedVolume(ctx, path)
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s is still mounted, although Windows accepted the removal", errdefs.ErrUnavailable, mounted)
	case isNotMounted(err):
		return nil
	}
	return err
}

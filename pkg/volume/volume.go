// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// Interface is the volume group as drivers use it. Its methods are upstream's
// and stay so. A response is never nil, also beside an error.
type Interface interface {
	// FormatVolume formats a volume, with NTFS unless another is wanted.
	FormatVolume(context.Context, *FormatVolumeRequest) (*FormatVolumeResponse, error)

	// GetClosestVolumeIDFromTargetPath is the volume that holds a path.
	GetClosestVolumeIDFromTargetPath(context.Context, *GetClosestVolumeIDFromTargetPathRequest) (*GetClosestVolumeIDFromTargetPathResponse, error)

	// GetDiskNumberFromVolumeID is the disk of a volume.
	GetDiskNumberFromVolumeID(context.Context, *GetDiskNumberFromVolumeIDRequest) (*GetDiskNumberFromVolumeIDResponse, error)

	// GetVolumeIDFromTargetPath is the volume mounted at a path.
	GetVolumeIDFromTargetPath(context.Context, *GetVolumeIDFromTargetPathRequest) (*GetVolumeIDFromTargetPathResponse, error)

	// GetVolumeStats is the size and use of a volume.
	GetVolumeStats(context.Context, *GetVolumeStatsRequest) (*GetVolumeStatsResponse, error)

	// IsVolumeFormatted says whether a volume has a file system.
	IsVolumeFormatted(context.Context, *IsVolumeFormattedRequest) (*IsVolumeFormattedResponse, error)

	// ListVolumesOnDisk lists the volumes of a disk.
	ListVolumesOnDisk(context.Context, *ListVolumesOnDiskRequest) (*ListVolumesOnDiskResponse, error)

	// MountVolume mounts a volume at a directory.
	MountVolume(context.Context, *MountVolumeRequest) (*MountVolumeResponse, error)

	// ResizeVolume makes a volume larger.
	ResizeVolume(context.Context, *ResizeVolumeRequest) (*ResizeVolumeResponse, error)

	// UnmountVolume flushes a volume and unmounts it from a directory.
	UnmountVolume(context.Context, *UnmountVolumeRequest) (*UnmountVolumeResponse, error)

	// WriteVolumeCache flushes a volume.
	WriteVolumeCache(context.Context, *WriteVolumeCacheRequest) (*WriteVolumeCacheResponse, error)
}

// Volume is the volume group of one host. It is safe for concurrent use.
type Volume struct {
	host hostapi.HostAPI
}

var _ Interface = (*Volume)(nil)

// New makes the volume group of a host. It asks the host nothing and its error
// is always nil.
func New(hostAPI hostapi.HostAPI) (*Volume, error) {
	return &Volume{host: hostAPI}, nil
}

// How long ListVolumesOnDisk waits for volumes that Windows has not made yet,
// and how often it looks.
const (
	arrivalBudget   = 30 * time.Second
	arrivalInterval = 250 * time.Millisecond
)

// ListVolumesOnDisk lists the volumes of a disk's data partitions by offset;
// reserved, EFI and recovery partitions have none. An unknown partition gives
// an empty list. Volumes arrive a while after their partition: it waits until
// all are there, at most 30 s or until ctx ends, then Unavailable. An offline
// disk is ErrDiskOffline.
func (v *Volume) ListVolumesOnDisk(ctx context.Context, req *ListVolumesOnDiskRequest) (*ListVolumesOnDiskResponse, error) {
	const op = "volume.ListVolumesOnDisk"
	resp := &ListVolumesOnDiskResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	ids, err := v.waitForVolumes(ctx, req)
	if err != nil {
		return resp, errdefs.Wrap(op, fmt.Sprintf("disk %d", req.DiskNumber), err)
	}
	resp.VolumeIDs = ids
	return resp, nil
}

func (v *Volume) waitForVolumes(ctx context.Context, req *ListVolumesOnDiskRequest) ([]string, error) {
	deadline := time.NewTimer(arrivalBudget)
	defer deadline.Stop()
	missing := 0
	for {
		partitions, err := v.host.VolumesOfDisk(ctx, req.DiskNumber)
		switch {
		case err != nil && missing > 0 && ctx.Err() != nil:
			return nil, notArrived(missing, err)
		case err != nil:
			return nil, err
		}
		var ids []string
		if ids, missing = arrived(partitions, req.PartitionNumber); missing == 0 {
			return ids, nil
		}
		select {
		case <-time.After(arrivalInterval):
		case <-deadline.C:
			return nil, notArrived(missing, nil)
		case <-ctx.Done():
			return nil, notArrived(missing, ctx.Err())
		}
	}
}

func arrived(partitions []hostapi.PartitionVolume, number uint32) (ids []string, missing int) {
	ids = []string{}
	for _, p := range partitions {
		switch {
		case number != 0 && p.Partition.Number != number:
		case p.Arrived:
			ids = append(ids, p.Volume.String())
		default:
			missing++
		}
	}
	return ids, missing
}

// notArrived is Unavailable also where the caller's context has ended: what it
// waited for may come yet.
func notArrived(missing int, cause error) error {
	err := fmt.Errorf("%w: %d partitions have no volume yet", errdefs.ErrUnavailable, missing)
	return errdefs.As(errdefs.Unavailable, "wait for volumes", "", errors.Join(err, cause))
}

// GetDiskNumberFromVolumeID is the number of the disk that a volume lies on. A
// volume on several disks is FailedPrecondition.
func (v *Volume) GetDiskNumberFromVolumeID(ctx context.Context, req *GetDiskNumberFromVolumeIDRequest) (*GetDiskNumberFromVolumeIDResponse, error) {
	const op = "volume.GetDiskNumberFromVolumeID"
	resp := &GetDiskNumberFromVolumeIDResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	id, err := parseID(op, req.VolumeID)
	if err != nil {
		return resp, err
	}
	number, err := v.host.DiskOfVolume(ctx, id)
	if err != nil {
		return resp, errdefs.Wrap(op, req.VolumeID, err)
	}
	resp.DiskNumber = number
	return resp, nil
}

// GetVolumeStats is the size and use of a volume in bytes; all 0 for one
// without file system (behaviour.md VOL-30).
func (v *Volume) GetVolumeStats(ctx context.Context, req *GetVolumeStatsRequest) (*GetVolumeStatsResponse, error) {
	const op = "volume.GetVolumeStats"
	resp := &GetVolumeStatsResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	id, err := parseID(op, req.VolumeID)
	if err != nil {
		return resp, err
	}
	space, err := v.host.VolumeSpace(ctx, id)
	if err != nil {
		return resp, errdefs.Wrap(op, req.VolumeID, err)
	}
	resp.TotalBytes, resp.AvailableBytes = int64(space.Total), int64(space.Available)
	resp.UsedBytes = int64(space.Total - min(space.Total, space.Free))
	return resp, nil
}

// WriteVolumeCache writes what Windows holds back of a volume to its disk. It
// blocks until that is done or ctx ends, and is idempotent; concurrent calls
// join one flush.
func (v *Volume) WriteVolumeCache(ctx context.Context, req *WriteVolumeCacheRequest) (*WriteVolumeCacheResponse, error) {
	const op = "volume.WriteVolumeCache"
	resp := &WriteVolumeCacheResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	id, err := parseID(op, req.VolumeID)
	if err != nil {
		return resp, err
	}
	return resp, errdefs.Wrap(op, req.VolumeID, v.host.FlushVolume(ctx, id))
}

func parseID(op, text string) (hostapi.VolumeID, error) {
	if text == "" {
		return hostapi.VolumeID{}, errdefs.New(errdefs.InvalidArgument, op, "", "volume id empty (VolumeID)")
	}
	id, err := hostapi.ParseVolumeID(text)
	if err != nil {
		err = errdefs.New(errdefs.InvalidArgument, op, text, "VolumeID: %w", err)
	}
	return id, err
}

// parsePath reads a target path; empty is the message for none, which upstream
// words differently in each method (behaviour.md VOL-2).
func (v *Volume) parsePath(ctx context.Context, op, text, empty string) (hostapi.Path, error) {
	if text == "" {
		return hostapi.Path{}, errdefs.New(errdefs.InvalidArgument, op, "", "%s (TargetPath)", empty)
	}
	path, err := v.host.ParsePath(ctx, text)
	switch {
	case errors.Is(err, errdefs.ErrInvalidArgument):
		return path, errdefs.New(errdefs.InvalidArgument, op, text, "TargetPath: %w", err)
	case err != nil:
		return path, errdefs.Wrap(op, text, err)
	case path.IsUNC():
		return path, errdefs.New(errdefs.InvalidArgument, op, text, "TargetPath: a share has no volume of this host")
	}
	return path, nil
}

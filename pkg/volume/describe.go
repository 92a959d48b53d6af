// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// The types of a description.
type (
	// Description is all that a host tells of one volume. Read-only.
	Description = hostapi.VolumeDescription
	// Mount is a drive or folder at which a volume is mounted.
	Mount = hostapi.VolumeMount
	// Flags are the abilities of a file system.
	Flags = hostapi.VolumeFlags
	// Extent is a stretch of a disk that a volume lies on.
	Extent = hostapi.Extent
)

// DescribeVolume tells all that the host knows of one volume: where it lies, its
// file system, or what a probe says where Windows knows none, its space, and all
// paths of the mount manager, those told apart that lead to it no more. A volume
// that is not there is ErrNotFound; whatever else could not be read is in Err. It
// changes nothing, asks no WMI, and needs an administrator to look for signatures
// and for the dirty mark.
func (v *Volume) DescribeVolume(ctx context.Context, volumeID string) (Description, error) {
	const op = "volume.DescribeVolume"
	id, err := parseID(op, volumeID)
	if err != nil {
		return Description{}, err
	}
	description, err := v.host.DescribeVolume(ctx, id)
	return description, errdefs.Wrap(op, volumeID, err)
}

// Location is where what a path names is kept.
type Location struct {
	VolumeID        string
	DiskNumber      uint32
	PartitionNumber uint32
}

// Resolve tells which volume, disk and partition hold what is at a path, links
// and mount folders followed. A missing path is ErrNotFound; what is on a share,
// or on a volume of several disks, is ErrFailedPrecondition.
func (v *Volume) Resolve(ctx context.Context, path string) (Location, error) {
	const op = "volume.Resolve"
	parsed, err := v.parsePath(ctx, op, path, "path is empty")
	if err != nil {
		return Location{}, err
	}
	id, err := v.closest(ctx, parsed)
	if err != nil {
		return Location{}, errdefs.Wrap(op, path, err)
	}
	disk, partition, err := v.host.PartitionOfVolume(ctx, id)
	if err != nil {
		return Location{}, errdefs.Wrap(op, path, err)
	}
	return Location{VolumeID: id.String(), DiskNumber: disk, PartitionNumber: partition}, nil
}

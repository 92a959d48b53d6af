// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// The smallest growth that is made (behaviour.md VOL-26, field-reports.md V02: below it nothing is done).
const leastGrowth = 1 << 20

// ResizeVolume makes a volume's partition, and the file system in it, as large
// as SizeBytes, or as the disk allows for 0. Growth on the disk's side is seen
// without a rescan. A size that the volume has, or exceeds by less than 1 MiB,
// is no change and no error; it never shrinks. More than the disk allows is
// OutOfRange. The response tells the sizes (field-reports.md V02). The volumes that Windows needs are ErrCriticalDisk.
//
// It blocks until the volume has grown or ctx ends, and is idempotent: it
// continues where an earlier call was cut off between partition and file
// system. Once begun it runs to its end; a later call waits for that.
func (v *Volume) ResizeVolume(ctx context.Context, req *ResizeVolumeRequest) (*ResizeVolumeResponse, error) {
	const op = "volume.ResizeVolume"
	resp := &ResizeVolumeResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	id, err := parseID(op, req.VolumeID)
	if err != nil {
		return resp, err
	}
	if req.SizeBytes < 0 {
		return resp, errdefs.New(errdefs.InvalidArgument, op, req.VolumeID, "invalid negative size %d (SizeBytes)", req.SizeBytes)
	}
	grown := make(chan hostapi.Grown, 1) // of this call, unless it has been left
	err = v.host.ChangeVolume(ctx, id, "resize", false, func(ctx context.Context, on []hostapi.Extent) error {
		if err := v.host.CheckVolumeNotCritical(ctx, on); err != nil {
			return err
		}
		sizes, err := v.host.GrowVolume(ctx, id, on, func(now hostapi.Growth) (int64, error) {
			return planGrowth(now, req.SizeBytes)
		})
		grown <- sizes
		return err
	})
	select {
	case sizes := <-grown:
		resp.tell(sizes)
	default:
	}
	return resp, errdefs.Wrap(op, req.VolumeID, err)
}

func (resp *ResizeVolumeResponse) tell(sizes hostapi.Grown) {
	before, after := sizes.Before, sizes.After
	resp.OldSizeBytes, resp.NewSizeBytes, resp.LargestSizeBytes = before.Partition, after.Partition, before.Largest
	resp.Grew = after.Partition > before.Partition || after.FileSystem > before.FileSystem
}

// planGrowth is the partition length for a wanted size. Largest is a multiple
// of the sector size, so rounding up does not exceed it.
func planGrowth(now hostapi.Growth, wanted int64) (int64, error) {
	if wanted == 0 {
		wanted = now.Largest
	}
	switch {
	case wanted-now.Partition < leastGrowth:
		return now.Partition, nil
	case wanted > now.Largest:
		return 0, fmt.Errorf("%w: %d bytes are wanted, the disk allows %d", errdefs.ErrOutOfRange, wanted, now.Largest)
	}
	return (wanted + now.Sector - 1) / now.Sector * now.Sector, nil
}

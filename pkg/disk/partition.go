// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// PartitionDisk makes one data partition over an empty disk, as GPT unless the
// disk is initialized as MBR. The disk is brought online and made writable
// first. It does not wait for the volume: ListVolumesOnDisk does.
//
// A disk whose partition table has an entry is left unchanged, also offline;
// that is no error, unless Windows gives none of its partitions a volume. So
// the call is idempotent, and continues where an earlier one was cut off. Once
// begun, a step runs to its end even if ctx ends; the next call joins it.
//
// Nothing is written unless the partition table was read and is empty, and the
// first 2 MiB and last 1 MiB of the disk were read and hold no signature:
// otherwise ErrForeignContent or ErrDamaged, which Overwrite allows, or
// ErrUnknownContent. A disk that Windows needs is ErrCriticalDisk, and
// ErrOtherDisk says that the number moved to another disk meanwhile.
func (d *Disk) PartitionDisk(ctx context.Context, req *PartitionDiskRequest) (*PartitionDiskResponse, error) {
	const op = "disk.PartitionDisk"
	resp := &PartitionDiskResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	if err := d.host.CheckNotCritical(ctx, req.DiskNumber); err != nil {
		return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
	}
	change := "partition"
	if req.Overwrite {
		change = "partition with Overwrite"
	}
	err := d.host.ChangeDisk(ctx, req.DiskNumber, change, func(ctx context.Context) error {
		return d.partition(ctx, req.DiskNumber, req.Overwrite)
	})
	return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
}

// partition needs the disk's lock.
func (d *Disk) partition(ctx context.Context, number uint32, overwrite bool) error {
	disk, err := d.host.InspectDisk(ctx, number)
	if err != nil {
		return err
	}
	if !isEmpty(disk) {
		return checkVolumes(disk)
	}
	if disk, err = d.prepare(ctx, disk, overwrite); err != nil {
		return err
	}
	if !isEmpty(disk) {
		return checkVolumes(disk)
	}
	if err := d.checkContent(ctx, disk, overwrite); err != nil {
		return err
	}
	style, err := d.emptyStyle(ctx, disk)
	if err != nil {
		return err
	}
	if style == hostapi.ProviderRAW {
		if err := d.host.InitializeDisk(ctx, disk.Identity); err != nil {
			return err
		}
		style = hostapi.ProviderGPT
	}
	if err := d.host.CreatePartition(ctx, disk.Identity, style); err != nil {
		return err
	}
	return d.confirm(ctx, disk.Identity)
}

func isEmpty(disk hostapi.DiskInspection) bool { return len(disk.Layout.Entries()) == 0 }

// checkVolumes accepts a disk with partitions if Windows gives one a volume:
// drivers take the first volume of the disk next.
func checkVolumes(disk hostapi.DiskInspection) error {
	if len(disk.Layout.Data()) == 0 {
		return fmt.Errorf("%w: the disk has partitions, but none of a kind that Windows gives a volume", errdefs.ErrFailedPrecondition)
	}
	return nil
}

// prepare brings an empty disk online and writable. What an offline disk told
// decides no more than that: all of it is looked at again.
func (d *Disk) prepare(ctx context.Context, disk hostapi.DiskInspection, overwrite bool) (hostapi.DiskInspection, error) {
	if disk.State == (hostapi.DiskState{}) {
		return disk, nil
	}
	if err := d.checkContent(ctx, disk, overwrite); err != nil {
		return disk, err
	}
	if err := d.host.BringOnline(ctx, disk.Identity); err != nil {
		return disk, err
	}
	return d.inspectSame(ctx, disk.Identity)
}

// checkContent lets only a disk pass that holds nothing but its own empty
// table, or what the caller wants overwritten.
func (d *Disk) checkContent(ctx context.Context, disk hostapi.DiskInspection, overwrite bool) error {
	content, err := d.host.ProbeDisk(ctx, disk.Identity)
	if disk.State.Offline && errors.Is(err, errdefs.ErrUnknownContent) {
		return fmt.Errorf("%w; the disk is offline, which may be why: bring it online first", err)
	}
	if err != nil || overwrite || disk.Layout.IsGPT() && content.IsGPT() {
		return err
	}
	return content.Err()
}

// emptyStyle tells a blank disk from an initialized one. A layout without
// entries leaves that open for MBR, where Windows reports blank disks too
// (windows-api.md 5.3); the storage provider knows.
func (d *Disk) emptyStyle(ctx context.Context, disk hostapi.DiskInspection) (hostapi.ProviderStyle, error) {
	switch {
	case disk.Layout.IsGPT():
		return hostapi.ProviderGPT, nil
	case disk.Layout.IsRAW():
		return hostapi.ProviderRAW, nil
	}
	style, err := d.host.ProviderStyle(ctx, disk.Identity)
	if err == nil && style != hostapi.ProviderRAW && style != hostapi.ProviderMBR {
		err = fmt.Errorf("%w: the partition table reads as MBR, the storage provider says style %d", errdefs.ErrUnknownContent, style)
	}
	return style, err
}

// confirm reads the partition back.
func (d *Disk) confirm(ctx context.Context, id hostapi.DiskIdentity) error {
	disk, err := d.inspectSame(ctx, id)
	if err != nil {
		return err
	}
	if len(disk.Layout.Data()) == 0 {
		return fmt.Errorf("%w: Windows reported a new partition, but the partition table has none", errdefs.ErrUnavailable)
	}
	return nil
}

func (d *Disk) inspectSame(ctx context.Context, id hostapi.DiskIdentity) (hostapi.DiskInspection, error) {
	disk, err := d.host.InspectDisk(ctx, id.Number)
	if err == nil && disk.Identity != id {
		err = fmt.Errorf("%w: the number moved to %s", errdefs.ErrOtherDisk, disk.Identity)
	}
	return disk, err
}

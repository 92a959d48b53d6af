// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Growth says how large a volume's partition is and could be, in bytes.
type Growth struct {
	Partition  int64 // the partition's length
	Largest    int64 // what it can have on this disk, at least Partition
	FileSystem int64 // what its file system covers; 0 where that is not known
	Sector     int64
}

// GrowVolume reads a volume's sizes afresh from the disk, asks plan for the
// partition length that is wanted, and makes it so: the partition first, then
// the file system. plan answers Partition for no change. It returns the sizes
// before and after. The caller holds the locks.
//
// Each part is skipped where it is done already, so a call continues where
// another was cut off. Once begun it runs to its end.
func (s *Storage) GrowVolume(ctx context.Context, id VolumeID, plan func(Growth) (int64, error)) (before, after Growth, err error) {
	err = finish(ctx, s, "grow", id.String(), func() error {
		g, err := s.openGrower(id)
		if err != nil {
			return err
		}
		before, after, err = g.grow(ctx, plan)
		return errors.Join(err, g.close())
	})
	return before, after, err
}

// grower is a volume and its disk, both open for change.
type grower struct {
	*Storage
	id     VolumeID
	number uint32
	offset int64 // of the partition
	disk   win.Device
	volume win.Device

	partition abi.Partition
	geometry  abi.DiskGeometry
}

func (s *Storage) openGrower(id VolumeID) (g *grower, err error) {
	g = &grower{Storage: s, id: id}
	if g.volume, err = s.openVolume(id, win.GenericRead|win.GenericWrite); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	on, err := extents(g.volume)
	if err != nil {
		return nil, err
	}
	if len(on) != 1 {
		return nil, fmt.Errorf("%w: the volume has %d extents; only one that lies in one partition can be grown", errdefs.ErrFailedPrecondition, len(on))
	}
	g.number, g.offset = on[0].Disk, on[0].Offset
	if g.disk, err = s.openDisk(g.number, win.GenericRead|win.GenericWrite); err != nil {
		return nil, err
	}
	return g, checkNumber(g.disk, g.number)
}

func (g *grower) close() error {
	var errs []error
	for _, d := range []win.Device{g.disk, g.volume} {
		if d != nil {
			errs = append(errs, d.Close())
		}
	}
	return errors.Join(errs...)
}

func (g *grower) grow(ctx context.Context, plan func(Growth) (int64, error)) (before, after Growth, err error) {
	// What the cloud did to the disk's size is not seen before these two
	// (windows-api.md 4).
	if _, err := control(g.disk, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0); err != nil {
		return before, after, err
	}
	if _, err := control(g.disk, abi.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, abi.DiskGeometrySize); err != nil && !unsupported(err) {
		return before, after, err
	}
	if g.geometry, err = geometry(g.disk); err != nil {
		return before, after, err
	}
	if before, err = g.read(); err != nil {
		return before, before, err
	}
	length, err := plan(before)
	if err != nil {
		return before, before, err
	}
	if err := g.Storage.calls.Wanted(ctx); err != nil {
		return before, before, err
	}
	changed, err := g.growTo(ctx, before, length)
	if err != nil || !changed {
		return before, before, err
	}
	after, err = g.read()
	if err == nil && after.Partition < length {
		err = fmt.Errorf("%w: Windows accepted %d bytes, but the partition has %d", errdefs.ErrUnavailable, length, after.Partition)
	}
	return before, after, err
}

// growTo grows the partition and then the file system, each only if it is too
// small.
func (g *grower) growTo(ctx context.Context, before Growth, length int64) (changed bool, err error) {
	if length > before.Partition {
		changed = true
		err := g.growPartition(length - before.Partition)
		if isRefused(err) {
			// The native way is refused; the provider's grows both.
			return changed, g.resizeByProvider(ctx, length)
		}
		if err != nil {
			return changed, err
		}
		if _, err := control(g.disk, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0); err != nil {
			return changed, err
		}
	}
	if !fileSystemLags(before, length) {
		return changed, nil
	}
	_, err = control(g.volume, abi.FSCTL_EXTEND_VOLUME, abi.EncodeExtendVolume(length/before.Sector), 0)
	return true, err
}

// fileSystemLags: NTFS covers its partition but for one sector, the backup of
// its boot sector, and less than a cluster; the smallest growth is far larger.
func fileSystemLags(before Growth, length int64) bool {
	const slack = 1 << 20
	return before.FileSystem > 0 && length-before.FileSystem >= slack
}

func (g *grower) growPartition(by int64) error {
	grow := abi.GrowPartition{Partition: g.partition.Number, BytesToGrow: by}
	_, err := control(g.disk, abi.IOCTL_DISK_GROW_PARTITION, grow.Encode(), 0)
	return err
}

// isRefused tells the codes with which Windows may refuse to grow natively what
// the storage provider can grow (design.md 4).
func isRefused(err error) bool {
	return unsupported(err) || errors.Is(err, win.ERROR_INVALID_PARAMETER)
}

func (g *grower) resizeByProvider(ctx context.Context, length int64) error {
	identity, err := identify(g.disk, g.number)
	if err != nil {
		return err
	}
	return g.withProviderDisk(ctx, identity, func(p providerDisk) error {
		row, err := oneRow(p.wmi.Query(ctx, namespace, wmi.
			Select("DiskId", "PartitionNumber", "Offset").From(classPartition).
			Where(wmi.Eq("DiskNumber", g.number), wmi.Eq("PartitionNumber", g.partition.Number))))
		if err != nil {
			return err
		}
		offset, err := row.Uint64("Offset")
		if err != nil {
			return err
		}
		if offset != uint64(g.offset) {
			return fmt.Errorf("%w: partition %d is at %d, the row says %d", errNoRow, g.partition.Number, g.offset, offset)
		}
		path, err := row.String("__PATH")
		if err != nil {
			return err
		}
		_, err = p.wmi.Call(ctx, namespace, wmi.Method{
			Class: classPartition, Path: path, Name: "Resize",
			In: []win.Param{wmi.Uint64("Size", uint64(length))},
		})
		return known(err)
	})
}

// read reads the partition and what lies after it.
func (g *grower) read() (Growth, error) {
	table, err := layout(g.disk)
	if err != nil {
		return Growth{}, err
	}
	sizes := Growth{Sector: int64(g.geometry.BytesPerSector)}
	if sizes.Sector <= 0 {
		return sizes, fmt.Errorf("%w: sector size %d", errdefs.ErrUnknownContent, sizes.Sector)
	}
	p, ok := table.at(g.offset)
	if !ok {
		return sizes, fmt.Errorf("%w: no partition begins at %d, where the volume lies", errdefs.ErrUnknownContent, g.offset)
	}
	g.partition = p
	sizes.Partition = p.Length
	sizes.Largest = max(p.Length, table.end(p, g.geometry)-p.Offset)
	sizes.FileSystem, err = g.fileSystemSize()
	return sizes, err
}

// fileSystemSize is what an NTFS file system covers, 0 for others.
func (g *grower) fileSystemSize() (int64, error) {
	reply, err := control(g.volume, abi.FSCTL_GET_NTFS_VOLUME_DATA, nil, abi.NTFSVolumeDataSize)
	if isRefused(err) || errors.Is(err, win.ERROR_UNRECOGNIZED_VOLUME) {
		return 0, nil
	}
	data, err := decoded(reply, err, abi.DecodeNTFSVolumeData)
	return data.Sectors * int64(data.BytesPerSector), err
}

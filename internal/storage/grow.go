// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Growth says how large a volume's partition is and could be, in bytes.
type Growth struct {
	Partition  int64 // the partition's length
	Largest    int64 // what it can have on this disk, at least Partition
	FileSystem int64 // what its file system covers; 0 for RAW, and for one that cannot grow
	Sector     int64
}

// Grown are the sizes before and after a growth; equal where nothing was to do.
type Grown struct{ Before, After Growth }

// GrowVolume reads a volume's sizes afresh from the disk, asks plan for the
// partition length that is wanted, and makes it so: the partition first, then
// the file system. plan answers Partition for no change. The volume must still
// lie where on says. The caller holds the locks.
//
// Each part is skipped where it is done already, so a call continues where
// another was cut off. Once begun it runs to its end.
func (s *Storage) GrowVolume(ctx context.Context, id VolumeID, on []abi.DiskExtent, plan func(Growth) (int64, error)) (Grown, error) {
	if len(on) != 1 {
		return Grown{}, fmt.Errorf("%w: the volume has %d extents; only one that lies in one partition can be grown", errdefs.ErrFailedPrecondition, len(on))
	}
	call := blocking.Call{Kind: "grow", Object: id.String(), Group: id.String()}
	return blocking.Finish(ctx, s.calls, call, func() (grown Grown, err error) {
		g, err := s.openGrower(id, on[0])
		if err != nil {
			return grown, err
		}
		defer closing(g, &err)
		return g.grow(ctx, plan)
	})
}

// grower is a volume and its disk, both open for change.
type grower struct {
	*Storage
	id     VolumeID
	on     abi.DiskExtent
	volume win.Device
	disk   win.Device

	geometry   abi.DiskGeometry
	partition  abi.Partition
	fileSystem string // "" is RAW
}

func (s *Storage) openGrower(id VolumeID, on abi.DiskExtent) (*grower, error) {
	volume, err := s.openVolume(id, win.GenericRead|win.GenericWrite)
	if err != nil {
		return nil, err
	}
	disk, err := s.openDisk(on.Disk, win.GenericRead|win.GenericWrite)
	if err != nil {
		return nil, errors.Join(err, volume.Close())
	}
	return &grower{Storage: s, id: id, on: on, volume: volume, disk: disk}, nil
}

// Close closes both.
func (g *grower) Close() error { return errors.Join(g.disk.Close(), g.volume.Close()) }

func (g *grower) grow(ctx context.Context, plan func(Growth) (int64, error)) (grown Grown, err error) {
	if err := checkExtents(g.volume, []abi.DiskExtent{g.on}); err != nil {
		return grown, err
	}
	if grown.Before, err = g.look(); err != nil {
		return grown, err
	}
	grown.After = grown.Before
	length, err := plan(grown.Before)
	if err != nil {
		return grown, err
	}
	if length <= grown.Before.Partition && !g.lags(grown.Before) {
		return grown, nil
	}
	if !g.canGrow() {
		return grown, fmt.Errorf("%w: Windows does not grow %s", errdefs.ErrUnsupported, g.fileSystem)
	}
	if err := g.calls.Wanted(ctx); err != nil {
		return grown, err
	}
	if err := g.growTo(ctx, grown.Before, length); err != nil {
		return grown, err
	}
	if grown.After, err = g.sizes(); err != nil {
		return grown, err
	}
	return grown, g.confirm(grown.After, length)
}

// look reads the disk and the volume afresh. What the cloud did to the disk's
// size is not seen before the first two (windows-api.md 4).
func (g *grower) look() (now Growth, err error) {
	if _, err := control(g.disk, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0); err != nil {
		return now, err
	}
	if _, err := control(g.disk, abi.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, abi.DiskGeometrySize); err != nil && !unsupported(err) {
		return now, err
	}
	if g.geometry, err = geometry(g.disk); err != nil {
		return now, err
	}
	if g.fileSystem, err = g.Storage.fileSystem(g.id); err != nil {
		return now, err
	}
	return g.sizes()
}

func (g *grower) isNTFS() bool { return strings.EqualFold(g.fileSystem, "NTFS") }
func (g *grower) isReFS() bool { return strings.EqualFold(g.fileSystem, "ReFS") }

// canGrow: the FAT family cannot (windows-api.md 7.11). RAW has nothing that
// must grow with its partition.
func (g *grower) canGrow() bool { return g.fileSystem == "" || g.isNTFS() || g.isReFS() }

// lags: the file system does not cover its partition. NTFS leaves one sector,
// the backup of its boot sector, and less than a cluster; the smallest growth
// is larger. ReFS counts in containers of 64 MiB.
func (g *grower) lags(now Growth) bool {
	slack := int64(1 << 20)
	if g.isReFS() {
		slack = 64 << 20
	}
	return now.FileSystem > 0 && now.Partition-now.FileSystem >= slack
}

// growTo grows the partition and then the file system, each only if it is too
// small.
func (g *grower) growTo(ctx context.Context, now Growth, length int64) error {
	if length > now.Partition {
		err := g.growPartition(length - now.Partition)
		if isRefused(err) {
			// The native way is refused; the provider's grows both.
			return g.resizeByProvider(ctx, length)
		}
		if err != nil {
			return err
		}
		if _, err := control(g.disk, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0); err != nil {
			return err
		}
		now.Partition = length
	}
	if !g.lags(now) {
		return nil
	}
	_, err := control(g.volume, abi.FSCTL_EXTEND_VOLUME, abi.EncodeExtendVolume(now.Partition/now.Sector), 0)
	if isRefused(err) {
		// The provider refuses the size that the partition has now, so there
		// is no other way (windows-api.md 7.11).
		return errdefs.As(errdefs.FailedPrecondition, "extend the file system", g.id.String(), err)
	}
	return err
}

// confirm: no size is claimed that was not reached.
func (g *grower) confirm(now Growth, length int64) error {
	switch {
	case now.Partition < length:
		return fmt.Errorf("%w: Windows accepted %d bytes, but the partition has %d", errdefs.ErrUnavailable, length, now.Partition)
	case g.lags(now):
		return fmt.Errorf("%w: the partition has %d bytes, but its file system covers %d", errdefs.ErrUnavailable, now.Partition, now.FileSystem)
	}
	return nil
}

func (g *grower) growPartition(by int64) error {
	grow := abi.GrowPartition{Partition: g.partition.Number, BytesToGrow: by}
	_, err := control(g.disk, abi.IOCTL_DISK_GROW_PARTITION, grow.Encode(), 0)
	return err
}

// isRefused tells the codes with which Windows may refuse to grow natively what
// the storage provider can grow (docs/architecture.md, "Native first").
func isRefused(err error) bool {
	return unsupported(err) || errors.Is(err, win.ERROR_INVALID_PARAMETER)
}

func (g *grower) resizeByProvider(ctx context.Context, length int64) error {
	identity, err := identify(g.disk, g.on.Disk)
	if err != nil {
		return err
	}
	return g.withProviderDisk(ctx, identity, func(p providerDisk) error {
		row, err := oneRow(p.wmi.Query(ctx, namespace, wmi.
			Select("ObjectId", "Offset").From(classPartition).
			Where(wmi.Eq("DiskNumber", g.on.Disk), wmi.Eq("PartitionNumber", g.partition.Number))))
		if err != nil {
			return err
		}
		offset, err := row.Uint64("Offset")
		if err != nil {
			return err
		}
		if offset != uint64(g.on.Offset) {
			return fmt.Errorf("%w: partition %d is at %d, the row says %d", errNoRow, g.partition.Number, g.on.Offset, offset)
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

// sizes reads the partition, what lies after it, and its file system.
func (g *grower) sizes() (Growth, error) {
	table, err := layout(g.disk)
	if err != nil {
		return Growth{}, err
	}
	now := Growth{Sector: int64(g.geometry.BytesPerSector)}
	if now.Sector <= 0 {
		return now, fmt.Errorf("%w: sector size %d", errdefs.ErrUnknownContent, now.Sector)
	}
	p, ok := table.at(g.on.Offset)
	if !ok {
		return now, fmt.Errorf("%w: no partition begins at %d, where the volume lies", errdefs.ErrUnknownContent, g.on.Offset)
	}
	g.partition = p
	now.Partition = p.Length
	now.Largest = max(p.Length, table.end(p, g.geometry)-p.Offset)
	now.FileSystem, err = g.fileSystemSize()
	return now, err
}

// fileSystemSize is how much NTFS or ReFS covers.
func (g *grower) fileSystemSize() (int64, error) {
	switch {
	case g.isNTFS():
		reply, err := control(g.volume, abi.FSCTL_GET_NTFS_VOLUME_DATA, nil, abi.NTFSVolumeDataSize)
		data, err := decoded(reply, err, abi.DecodeNTFSVolumeData)
		return data.Sectors * int64(data.BytesPerSector), err
	case g.isReFS():
		space, err := g.host.Mounts.FreeSpace(g.id.String())
		return int64(space.Total), err
	}
	return 0, nil
}

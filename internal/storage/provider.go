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

// The storage provider's namespace and classes (cim-schema.json).
const (
	namespace      = `root\Microsoft\Windows\Storage`
	classDisk      = "MSFT_Disk"
	classVolume    = "MSFT_Volume"
	classPartition = "MSFT_Partition"
	classSetting   = "MSFT_StorageSetting"
)

// ProviderStyle is MSFT_Disk.PartitionStyle, which numbers the styles otherwise
// than the layout (windows-api.md 5.1).
type ProviderStyle uint16

// The provider's styles.
const (
	ProviderRAW ProviderStyle = 0
	ProviderMBR ProviderStyle = 1
	ProviderGPT ProviderStyle = 2
)

// errNoRow: the provider does not know the object, or knows another by its
// name; its cache may be old.
var errNoRow = fmt.Errorf("%w: the storage provider has no row that agrees with the disk", errdefs.ErrUnavailable)

// providerDisk is a disk held open while the provider changes it.
type providerDisk struct {
	*Storage
	device   win.Device
	identity DiskIdentity
	row      wmi.Row
}

// withProviderDisk holds the disk of an identity open, finds the provider's row
// that is proven to be of the same disk, and runs a question or change on it.
// Afterwards the handle must still be of that disk. Where the cache is out of
// date the host's cache is updated and all of it tried once more.
func (s *Storage) withProviderDisk(ctx context.Context, id DiskIdentity, run func(providerDisk) error) (err error) {
	d, err := s.openDisk(id.Number, win.NoAccess)
	if err != nil {
		return err
	}
	defer closing(d, &err)
	if err := checkIdentity(d, id); err != nil {
		return err
	}
	attempt := func() error {
		row, err := s.diskRow(ctx, d, id)
		if err != nil {
			return err
		}
		return run(providerDisk{s, d, id, row})
	}
	if err := s.withFreshCache(ctx, attempt); err != nil {
		return err
	}
	return checkIdentity(d, id)
}

// withFreshCache tries once more, after UpdateHostStorageCache, what failed
// because the provider's cache was out of date.
func (s *Storage) withFreshCache(ctx context.Context, attempt func() error) error {
	err := attempt()
	if !errors.Is(err, win.ReturnCacheOutOfDate) && !errors.Is(err, errNoRow) {
		return err
	}
	if err := s.updateCache(ctx); err != nil {
		return err
	}
	return attempt()
}

// diskRow refreshes and reads the provider's row of a disk, and proves that it
// is the disk behind the handle: the device at the row's path has the same
// identity, and the row has its size.
func (s *Storage) diskRow(ctx context.Context, d win.Device, id DiskIdentity) (wmi.Row, error) {
	row, err := s.findDiskRow(ctx, id.Number)
	if err != nil {
		return nil, err
	}
	path, err := row.String("__PATH")
	if err != nil {
		return nil, err
	}
	_, err = s.wmi.Call(ctx, namespace, wmi.Method{Class: classDisk, Path: path, Name: "Refresh"})
	if err != nil && !errors.Is(err, win.ReturnNotInitialized) && !errors.Is(err, win.ReturnDiskOffline) {
		return nil, err // the two say what the disk is, not that nothing was read (windows-api.md 6)
	}
	if row, err = s.findDiskRow(ctx, id.Number); err != nil {
		return nil, err
	}
	return row, s.proveRow(row, d, id)
}

func (s *Storage) findDiskRow(ctx context.Context, number uint32) (wmi.Row, error) {
	rows, err := s.wmi.Query(ctx, namespace, wmi.
		Select("ObjectId", "Number", "Path", "Size", "PartitionStyle", "IsBoot", "IsSystem", "IsClustered", "Location", "UniqueId", "OfflineReason").
		From(classDisk).Where(wmi.Eq("Number", number)))
	return oneRow(rows, err)
}

func oneRow(rows []wmi.Row, err error) (wmi.Row, error) {
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, errNoRow
	case len(rows) > 1:
		return nil, fmt.Errorf("%w: %d rows for one object", errNoRow, len(rows))
	}
	return rows[0], nil
}

func (s *Storage) proveRow(row wmi.Row, d win.Device, id DiskIdentity) (err error) {
	path, err := row.String("Path")
	if err != nil {
		return fmt.Errorf("%w: %w", errNoRow, err)
	}
	rowSize, err := row.Uint64("Size")
	if err != nil {
		return fmt.Errorf("%w: %w", errNoRow, err)
	}
	size, err := diskSize(d)
	if err != nil {
		return err
	}
	if rowSize != uint64(size) {
		return fmt.Errorf("%w: it gives %d bytes, the disk has %d", errNoRow, rowSize, size)
	}
	other, err := s.host.Devices.Open(path, win.NoAccess)
	if err != nil {
		return fmt.Errorf("%w: its device %s: %w", errNoRow, path, err)
	}
	defer closing(other, &err)
	if err := checkIdentity(other, id); err != nil {
		return fmt.Errorf("%w: its device %s: %w", errNoRow, path, err)
	}
	return nil
}

// checkFlags refuses a disk that its row says Windows needs.
func (p providerDisk) checkFlags() error {
	for _, flag := range []string{"IsBoot", "IsSystem", "IsClustered"} {
		if p.row.Null(flag) {
			continue
		}
		set, err := p.row.Bool(flag)
		if err != nil {
			return err
		}
		if set {
			return fmt.Errorf("%w: the storage provider says %s", errdefs.ErrCriticalDisk, flag)
		}
	}
	return nil
}

// call starts a method that changes the disk, if anybody still wants it.
func (p providerDisk) call(ctx context.Context, method string, in ...win.Param) error {
	if err := p.calls.Wanted(ctx); err != nil {
		return err
	}
	path, err := p.row.String("__PATH")
	if err != nil {
		return err
	}
	_, err = p.wmi.Call(ctx, namespace, wmi.Method{Class: classDisk, Path: path, Name: method, In: in})
	return known(err)
}

// reasons are the return values of the provider that have a reason of ours.
var reasons = map[win.ReturnValue]error{
	win.ReturnDiskOffline:       errdefs.ErrDiskOffline,
	win.ReturnDiskReadOnly:      errdefs.ErrReadOnly,
	win.ReturnVolumeReadOnly:    errdefs.ErrReadOnly,
	win.ReturnCriticalDisk:      errdefs.ErrCriticalDisk,
	win.ReturnCriticalPartition: errdefs.ErrCriticalDisk,
	win.ReturnClustered:         errdefs.ErrCriticalDisk,
}

// known puts the reason, if there is one, in front of a provider's error.
func known(err error) error {
	var code win.ReturnValue
	if errors.As(err, &code) && reasons[code] != nil {
		return fmt.Errorf("%w: %w", reasons[code], err)
	}
	return err
}

// ProviderStyle is the partition style by which the provider knows a disk.
func (s *Storage) ProviderStyle(ctx context.Context, id DiskIdentity) (style ProviderStyle, err error) {
	err = finish(ctx, s, "provider style", diskName(id.Number), func() error {
		return s.withProviderDisk(ctx, id, func(p providerDisk) error {
			value, err := p.row.Uint16("PartitionStyle")
			style = ProviderStyle(value)
			return err
		})
	})
	return style, err
}

// InitializeDisk writes an empty GPT. A disk that is initialized already stays
// as it is (41001). Windows adds a reserved partition by itself.
func (s *Storage) InitializeDisk(ctx context.Context, id DiskIdentity) error {
	return finish(ctx, s, "initialization", diskName(id.Number), func() error {
		return s.withProviderDisk(ctx, id, func(p providerDisk) error {
			if err := p.checkFlags(); err != nil {
				return err
			}
			if err := p.checkEmpty(); err != nil {
				return err
			}
			err := p.call(ctx, "Initialize", wmi.Uint16("PartitionStyle", uint16(ProviderGPT)))
			if err != nil && !errors.Is(err, win.ReturnAlreadyInitialized) {
				return err
			}
			table, err := layout(p.device)
			if err == nil && !table.IsGPT() {
				err = fmt.Errorf("%w: Windows reported the disk as initialized, but it has no GPT", errdefs.ErrUnavailable)
			}
			return err
		})
	})
}

// checkEmpty is the last look at the layout, on the handle that is kept.
func (p providerDisk) checkEmpty() error {
	table, err := layout(p.device)
	if err != nil {
		return err
	}
	if entries := table.Entries(); len(entries) > 0 {
		return fmt.Errorf("%w: the disk has %d partitions now", errdefs.ErrFailedPrecondition, len(entries))
	}
	return nil
}

// CreatePartition makes a basic data partition over the free space, without a
// drive letter. 42002 says that an access path was taken; the partition was
// made anyway (windows-api.md 5.4).
func (s *Storage) CreatePartition(ctx context.Context, id DiskIdentity, style ProviderStyle) error {
	in := []win.Param{wmi.Bool("UseMaximumSize", true)}
	if style == ProviderGPT {
		in = append(in, wmi.String("GptType", "{"+abi.PARTITION_BASIC_DATA_GUID.String()+"}"))
	} else {
		in = append(in, wmi.Uint16("MbrType", uint16(abi.PARTITION_IFS)))
	}
	return finish(ctx, s, "creation of a partition", diskName(id.Number), func() error {
		return s.withProviderDisk(ctx, id, func(p providerDisk) error {
			if err := p.checkFlags(); err != nil {
				return err
			}
			if err := p.checkEmpty(); err != nil {
				return err
			}
			err := p.call(ctx, "CreatePartition", in...)
			if errors.Is(err, win.ReturnAccessPathInUse) {
				return nil
			}
			return err
		})
	})
}

// Rescan looks for new disks and sizes.
func (s *Storage) Rescan(ctx context.Context) error {
	return join(ctx, s, "rescan", func(ctx context.Context) error {
		return finish(ctx, s, "rescan", "disks", func() error { return s.updateCache(ctx) })
	})
}

func (s *Storage) updateCache(ctx context.Context) error {
	_, err := s.wmi.Call(ctx, namespace, wmi.Method{Class: classSetting, Name: "UpdateHostStorageCache"})
	return err
}

// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/keylock"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// VolumeID is a volume's GUID. Its text is the volume's name,
// \\?\Volume{guid}\.
type VolumeID struct{ guid abi.GUID }

const volumePrefix = `\\?\Volume`

// ParseVolumeID reads \\?\Volume{guid}\, in any case and also without the
// trailing backslash. All else is InvalidArgument.
func ParseVolumeID(s string) (VolumeID, error) {
	name := strings.TrimSuffix(s, `\`)
	if len(name) == len(volumePrefix)+38 && strings.EqualFold(name[:len(volumePrefix)], volumePrefix) && name[len(volumePrefix)] == '{' {
		if guid, err := abi.ParseGUID(name[len(volumePrefix):]); err == nil {
			return VolumeID{guid}, nil
		}
	}
	return VolumeID{}, fmt.Errorf(`%w: not a volume id of the form \\?\Volume{guid}\`, errdefs.ErrInvalidArgument)
}

// String is the volume's name, with the trailing backslash.
func (id VolumeID) String() string { return id.device() + `\` }

// device is the name of the volume's device, without it.
func (id VolumeID) device() string { return volumePrefix + "{" + id.guid.String() + "}" }

func (s *Storage) openVolume(id VolumeID, access win.Access) (win.Device, error) {
	return s.host.Devices.Open(id.device(), access)
}

// onVolume runs a question on a handle of a volume's device.
func onVolume[T any](ctx context.Context, s *Storage, question string, id VolumeID, access win.Access, run func(win.Device) (T, error)) (T, error) {
	return ask(ctx, s, question, id.String(), func() (value T, err error) {
		d, err := s.openVolume(id, access)
		if err != nil {
			return value, err
		}
		defer closing(d, &err)
		return run(d)
	})
}

// ChangeVolume runs a change of a volume under the locks of its disks and of
// itself, and tells it the volume's extents. With shared, calls for the same
// volume and change join the unfinished one and share its result; else they
// wait for its end.
func (s *Storage) ChangeVolume(ctx context.Context, id VolumeID, change string, shared bool, run func(context.Context, []abi.DiskExtent) error) error {
	key := change + " " + id.String()
	locked := func(ctx context.Context) error {
		on, err := s.VolumeExtents(ctx, id)
		if err != nil {
			return err
		}
		keys := []keylock.Key{keylock.Volume(id.String())}
		for _, e := range on {
			keys = append(keys, diskKey(e.Disk))
		}
		unlock, err := s.locks.Lock(ctx, keys...)
		if err != nil {
			return err
		}
		defer unlock()
		return run(ctx, on)
	}
	if shared {
		return join(ctx, s, key, locked)
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.LongBudget)
	defer cancel()
	return blocking.Alone(ctx, s.calls, key, locked)
}

// VolumeExtents are the stretches of disks that a volume lies on
// (windows-api.md 7.5).
func (s *Storage) VolumeExtents(ctx context.Context, id VolumeID) ([]abi.DiskExtent, error) {
	return onVolume(ctx, s, "extents", id, win.NoAccess, extents)
}

func extents(d win.Device) ([]abi.DiskExtent, error) {
	reply, err := controlGrowing(d, abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, abi.DiskExtentsSize(4))
	return decoded(reply, err, abi.DecodeDiskExtents)
}

// checkExtents fails with ErrOtherDisk unless a volume begins where it did; its
// length may have grown meanwhile. The volume's handle answers, so its disk has
// been there since it was opened: a handle of that disk number opened meanwhile
// is of the volume's disk.
func checkExtents(volume win.Device, want []abi.DiskExtent) error {
	on, err := extents(volume)
	if err == nil && !slices.EqualFunc(on, want, sameStart) {
		err = fmt.Errorf("%w: the volume lies at %+v, no longer at %+v", errdefs.ErrOtherDisk, on, want)
	}
	return err
}

func sameStart(a, b abi.DiskExtent) bool { return a.Disk == b.Disk && a.Offset == b.Offset }

// oneDisk is the disk that all extents lie on.
func oneDisk(on []abi.DiskExtent) (uint32, error) {
	if len(on) == 0 {
		return 0, fmt.Errorf("%w: the volume is on no disk", errdefs.ErrNotFound)
	}
	for _, e := range on {
		if e.Disk != on[0].Disk {
			return 0, fmt.Errorf("%w: the volume spans disks %d and %d", errdefs.ErrFailedPrecondition, on[0].Disk, e.Disk)
		}
	}
	return on[0].Disk, nil
}

// DiskOfVolume is the number of the disk that a volume lies on. A volume on no
// disk is NotFound, one on several FailedPrecondition.
func (s *Storage) DiskOfVolume(ctx context.Context, id VolumeID) (uint32, error) {
	on, err := s.VolumeExtents(ctx, id)
	if err != nil {
		return 0, err
	}
	return oneDisk(on)
}

// FileSystem is the name of the file system that Windows has mounted on a
// volume, "" where the volume is RAW. Only ERROR_UNRECOGNIZED_VOLUME means RAW
// (windows-api.md 7.6).
func (s *Storage) FileSystem(ctx context.Context, id VolumeID) (string, error) {
	return ask(ctx, s, "file system", id.String(), func() (string, error) { return s.fileSystem(id) })
}

func (s *Storage) fileSystem(id VolumeID) (string, error) {
	about, err := s.host.Mounts.Information(id.String())
	switch {
	case errors.Is(err, win.ERROR_UNRECOGNIZED_VOLUME):
		return "", nil
	case err != nil:
		return "", err
	case about.FileSystem == "" || strings.EqualFold(about.FileSystem, "RAW"):
		return "", fmt.Errorf("%w: Windows names no file system", errdefs.ErrUnknownContent)
	}
	return about.FileSystem, nil
}

// ProbeVolume reads the head and the tail of a volume and tells what it found.
// Bytes that cannot be read are ErrUnknownContent.
func (s *Storage) ProbeVolume(ctx context.Context, id VolumeID) (Content, error) {
	return onVolume(ctx, s, "probe", id, win.GenericRead, func(d win.Device) (Content, error) {
		g, err := geometry(d)
		if err != nil {
			return Content{}, err
		}
		return probeDevice(d, int64(g.BytesPerSector))
	})
}

// VolumeSpace is the size and the free space of a volume, in bytes; none for a
// RAW one.
func (s *Storage) VolumeSpace(ctx context.Context, id VolumeID) (win.FreeSpace, error) {
	return ask(ctx, s, "space", id.String(), func() (win.FreeSpace, error) {
		space, err := s.host.Mounts.FreeSpace(id.String())
		if errors.Is(err, win.ERROR_UNRECOGNIZED_VOLUME) {
			return win.FreeSpace{}, nil
		}
		return space, err
	})
}

// Gone reports whether an error says that a path, volume or disk is not there:
// no such name, or a device that has been taken away.
func Gone(err error) bool { return hostpath.Gone(winpath.Path{}, err) }

const flushing = "flush"

// FlushVolume writes a volume's cache; a volume that is read-only or RAW has
// nothing to write. One whose disk is offline, which Windows has written before,
// is ErrDiskOffline or, as Windows may say, not found. It blocks until that is
// done or ctx ends. A flush holds no lock; later calls join one that still runs.
func (s *Storage) FlushVolume(ctx context.Context, id VolumeID) error {
	ctx, cancel := blocking.WithBudget(ctx, blocking.ChangeBudget)
	defer cancel()
	err := join(ctx, s, flushing+" "+id.String(), func(ctx context.Context) error {
		return finish(ctx, s, flushing, id.String(), func() (err error) {
			d, err := s.openVolume(id, win.GenericWrite)
			if err != nil {
				return err
			}
			defer closing(d, &err)
			return d.Flush()
		})
	})
	switch {
	case unsupported(err), errors.Is(err, win.ERROR_WRITE_PROTECT), errors.Is(err, win.ERROR_UNRECOGNIZED_VOLUME):
		return nil
	case errors.Is(err, win.ERROR_NOT_READY): // windows-api.md 7.1
		return fmt.Errorf("%w: %w", errdefs.ErrDiskOffline, err)
	}
	return err
}

// FlushVolumeUnlessStuck is FlushVolume for callers that must not wait for a
// flush that everybody has left: while one runs it is ResourceExhausted at once.
func (s *Storage) FlushVolumeUnlessStuck(ctx context.Context, id VolumeID) error {
	for _, call := range s.calls.Unfinished() {
		if call.Abandoned && call.Kind == flushing && call.Object == id.String() {
			return errdefs.New(errdefs.ResourceExhausted, flushing, id.String(), "abandoned and still running since %s", call.Since.Format(time.TimeOnly))
		}
	}
	return s.FlushVolume(ctx, id)
}

// Format is what FormatVolume writes; the zero value of all but FileSystem is
// what Windows does by itself.
type Format struct {
	FileSystem string
	Label      string
	Unit       uint32 // allocation unit, in bytes
	Full       bool   // write all of the volume, not only the structures
	Compress   bool   // of NTFS
	// Force formats although a file system is mounted.
	Force bool
}

// FormatVolume formats a volume and reads the file system back. The
// volume must still lie where on says, and the provider's rows of the disk and
// of the volume are proven first. The caller holds the locks. Once begun it runs
// to its end.
func (s *Storage) FormatVolume(ctx context.Context, id VolumeID, on []abi.DiskExtent, format Format) error {
	number, err := oneDisk(on)
	if err != nil {
		return err
	}
	return finish(ctx, s, "format", id.String(), func() error {
		disk, err := s.identityOf(number)
		if err != nil {
			return err
		}
		return s.withProviderDisk(ctx, disk, func(p providerDisk) error {
			return p.format(ctx, id, on, format)
		})
	})
}

func (s *Storage) identityOf(number uint32) (identity DiskIdentity, err error) {
	d, err := s.openDisk(number, win.NoAccess)
	if err != nil {
		return identity, err
	}
	defer closing(d, &err)
	return identify(d, number)
}

// format keeps a handle of the volume while the provider formats it.
func (p providerDisk) format(ctx context.Context, id VolumeID, on []abi.DiskExtent, format Format) (err error) {
	v, err := p.openVolume(id, win.NoAccess)
	if err != nil {
		return err
	}
	defer closing(v, &err)
	if err := checkExtents(v, on); err != nil {
		return err
	}
	row, err := p.volumeRow(ctx, id)
	if err != nil {
		return err
	}
	path, err := row.String("__PATH")
	if err != nil {
		return err
	}
	if err := p.calls.Wanted(ctx); err != nil {
		return err
	}
	_, err = p.wmi.Call(ctx, namespace, wmi.Method{Class: classVolume, Path: path, Name: "Format", In: format.params()})
	if err != nil {
		return known(err)
	}
	got, err := p.fileSystem(id)
	if err == nil && !strings.EqualFold(got, format.FileSystem) {
		err = fmt.Errorf("%w: Windows reported the volume as formatted, but its file system reads as %q", errdefs.ErrUnavailable, got)
	}
	return err
}

// params leaves out what Windows is to choose: no unit is not a unit of 0.
func (f Format) params() []win.Param {
	in := []win.Param{wmi.String("FileSystem", f.FileSystem), wmi.Bool("Full", f.Full), wmi.Bool("Force", f.Force)}
	if f.Label != "" {
		in = append(in, wmi.String("FileSystemLabel", f.Label))
	}
	if f.Unit != 0 {
		in = append(in, wmi.Uint32("AllocationUnitSize", f.Unit))
	}
	if f.Compress {
		in = append(in, wmi.Bool("Compress", true))
	}
	return in
}

func (s *Storage) volumeRow(ctx context.Context, id VolumeID) (wmi.Row, error) {
	rows, err := s.wmi.Query(ctx, namespace, wmi.
		Select("ObjectId", "UniqueId").From(classVolume).Where(wmi.Eq("UniqueId", id.String())))
	return oneRow(rows, err)
}

// PartitionVolume is a data partition and its volume, if it has one yet.
type PartitionVolume struct {
	Partition abi.Partition
	Volume    VolumeID
	Arrived   bool
}

// VolumesOfDisk are the data partitions of a disk, by offset, each with its
// volume. An offline disk has none: ErrDiskOffline.
func (s *Storage) VolumesOfDisk(ctx context.Context, number uint32) ([]PartitionVolume, error) {
	return onDisk(ctx, s, "volumes", number, func(d win.Device) ([]PartitionVolume, error) {
		state, err := diskState(d)
		if err != nil {
			return nil, err
		}
		if state.Offline {
			return nil, errdefs.ErrDiskOffline
		}
		table, err := layout(d)
		if err != nil {
			return nil, err
		}
		return s.volumesOf(number, table)
	})
}

func (s *Storage) volumesOf(number uint32, table Layout) ([]PartitionVolume, error) {
	var found []PartitionVolume
	for _, p := range table.Data() {
		found = append(found, PartitionVolume{Partition: p})
	}
	if len(found) == 0 {
		return nil, nil
	}
	candidates, err := s.candidates(table)
	if err != nil {
		return nil, err
	}
	for _, id := range candidates {
		on, err := s.extentsNow(id)
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", id, err)
		}
		for i, f := range found {
			if slices.ContainsFunc(on, func(e abi.DiskExtent) bool { return e.Disk == number && e.Offset == f.Partition.Offset }) {
				found[i].Volume, found[i].Arrived = id, true
			}
		}
	}
	return found, nil
}

func (s *Storage) extentsNow(id VolumeID) (on []abi.DiskExtent, err error) {
	d, err := s.openVolume(id, win.NoAccess)
	if err != nil {
		return nil, err
	}
	defer closing(d, &err)
	return extents(d)
}

// candidates are the volumes that the mount manager's unique ids place on a
// disk: a GPT partition's id, or an MBR disk's signature and an offset. Where
// no id of the host has such a form, or the disk has no partition table, all
// volumes are candidates.
func (s *Storage) candidates(table Layout) ([]VolumeID, error) {
	points, err := s.mountPoints()
	if err != nil {
		return nil, err
	}
	var ids []VolumeID
	understood := false
	for _, point := range points {
		unique, ok := abi.ParseUniqueID(point.UniqueID)
		understood = understood || ok
		if !ok || !table.has(unique) {
			continue
		}
		if id, err := ParseVolumeID(strings.Replace(point.SymbolicLink, `\??\`, `\\?\`, 1)); err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if !understood || table.isSuperfloppy() {
		return s.allVolumes()
	}
	return ids, nil
}

func (s *Storage) mountPoints() (points []abi.MountPoint, err error) {
	d, err := s.host.Devices.Open(abi.MountPointManager, win.NoAccess)
	if err != nil {
		return nil, err
	}
	defer closing(d, &err)
	reply, err := controlGrowing(d, abi.IOCTL_MOUNTMGR_QUERY_POINTS, abi.QueryEveryMountPoint(), 64<<10)
	return decoded(reply, err, abi.DecodeMountPoints)
}

func (s *Storage) allVolumes() ([]VolumeID, error) {
	names, err := s.host.Mounts.Volumes()
	if err != nil {
		return nil, err
	}
	ids := make([]VolumeID, 0, len(names))
	for _, name := range names {
		id, err := ParseVolumeID(name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

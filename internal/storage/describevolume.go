// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// VolumeDescription is all that a host tells of one volume.
type VolumeDescription struct {
	ID      VolumeID
	Extents []abi.DiskExtent // where it lies; several for a spanned volume

	// FileSystem is what Windows has mounted, with its label and serial
	// number; "" on a RAW volume.
	FileSystem   string
	Label        string
	SerialNumber uint32
	Flags        VolumeFlags
	// Content says why a RAW volume is not taken for empty, as a format would;
	// nil where it is empty, and of a volume with a file system.
	Content error
	// Dirty: Windows wants to check the file system.
	Dirty bool

	Space win.FreeSpace // none of a RAW volume
	// Mounts are the drive and the folders that the mount manager has for the
	// volume.
	Mounts []VolumeMount

	// Err says what could not be read.
	Err error
}

// VolumeMount is a drive root or folder at which a volume is mounted.
type VolumeMount struct {
	Path string
	// Stale: nothing, or another volume, is mounted there now.
	Stale bool
}

// VolumeFlags are the abilities of a file system, as GetVolumeInformationW gives
// them (windows-api.md 7.6).
type VolumeFlags uint32

const flagReadOnly VolumeFlags = 0x00080000 // FILE_READ_ONLY_VOLUME

// ReadOnly reports whether nothing can be written to the volume.
func (f VolumeFlags) ReadOnly() bool { return f&flagReadOnly != 0 }

// DescribeVolume describes one volume. It fails where the volume is not there;
// what else could not be read is in Err.
func (s *Storage) DescribeVolume(ctx context.Context, id VolumeID) (VolumeDescription, error) {
	on, err := s.VolumeExtents(ctx, id)
	if err != nil {
		return VolumeDescription{}, err
	}
	volume := VolumeDescription{ID: id, Extents: on}
	about, mounted, err := s.information(ctx, id)
	if err == nil {
		volume.FileSystem, volume.Label, volume.SerialNumber, volume.Flags = about.FileSystem, about.Label, about.SerialNumber, VolumeFlags(about.Flags)
		err = s.tellContent(ctx, &volume, mounted)
	}
	var mountsErr error
	volume.Mounts, mountsErr = s.mountsOf(ctx, id)
	volume.Err = errors.Join(err, mountsErr)
	return volume, ctx.Err()
}

// information is what Windows says of a mounted file system.
func (s *Storage) information(ctx context.Context, id VolumeID) (about win.VolumeInformation, mounted bool, err error) {
	about, err = ask(ctx, s, "file system", id.String(), func() (win.VolumeInformation, error) {
		return s.host.Mounts.Information(id.String())
	})
	if errors.Is(err, win.ERROR_UNRECOGNIZED_VOLUME) {
		return win.VolumeInformation{}, false, nil
	}
	return about, err == nil, err
}

func (s *Storage) tellContent(ctx context.Context, volume *VolumeDescription, mounted bool) error {
	if !mounted {
		content, err := s.ProbeVolume(ctx, volume.ID)
		volume.Content = err
		if err == nil {
			volume.Content = content.Err()
		}
		return nil
	}
	var spaceErr, dirtyErr error
	volume.Space, spaceErr = s.VolumeSpace(ctx, volume.ID)
	volume.Dirty, dirtyErr = s.isDirty(ctx, volume.ID)
	return errors.Join(spaceErr, dirtyErr)
}

// isDirty asks the file system, which only sees handles that may read.
func (s *Storage) isDirty(ctx context.Context, id VolumeID) (bool, error) {
	return onVolume(ctx, s, "dirty", id, win.GenericRead, func(d win.Device) (bool, error) {
		reply, err := control(d, abi.FSCTL_IS_VOLUME_DIRTY, nil, abi.VolumeDirtySize)
		if unsupported(err) {
			return false, nil // a file system that keeps no such mark
		}
		return decoded(reply, err, abi.DecodeVolumeDirty)
	})
}

// mountsOf are the paths in the mount manager's database, each looked at: it
// keeps paths whose folder has been removed or mounts another volume now
// (windows-api.md 7.2).
func (s *Storage) mountsOf(ctx context.Context, id VolumeID) ([]VolumeMount, error) {
	paths, err := ask(ctx, s, "mount paths", id.String(), func() ([]string, error) {
		return s.host.Mounts.Paths(id.String())
	})
	if err != nil {
		return nil, err
	}
	var mounts []VolumeMount
	var unread []error
	for _, text := range paths {
		path, err := winpath.Parse(text, 0)
		if err != nil {
			unread = append(unread, fmt.Errorf("mount path %q: %w", text, err))
			continue
		}
		at, err := s.MountedVolume(ctx, path)
		absent := Gone(err) || errors.Is(err, errdefs.ErrNotMounted)
		if err != nil && !absent {
			unread = append(unread, fmt.Errorf("mount path %q: %w", text, err))
		}
		mounts = append(mounts, VolumeMount{Path: path.String(), Stale: absent || err == nil && at != id})
	}
	return mounts, errors.Join(unread...)
}

// PartitionOfVolume are the numbers of the disk and of the partition in which a
// volume begins.
func (s *Storage) PartitionOfVolume(ctx context.Context, id VolumeID) (disk, partition uint32, err error) {
	on, err := s.VolumeExtents(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	if disk, err = oneDisk(on); err != nil {
		return 0, 0, err
	}
	partition, err = onDisk(ctx, s, "partition", disk, func(d win.Device) (uint32, error) {
		table, err := layout(d)
		if err != nil {
			return 0, err
		}
		p, ok := table.at(on[0].Offset)
		if !ok {
			return 0, fmt.Errorf("%w: no partition begins at %d, where the volume lies", errdefs.ErrUnknownContent, on[0].Offset)
		}
		return p.Number, nil
	})
	return disk, partition, err
}

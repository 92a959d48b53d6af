// SPDX-License-Identifier: Apache-2.0

// Package hostapi holds what the volume group asks of a host: facts and single
// changes. Rules, order and waiting are in package volume.
//
// Questions need no rights on the volume, as far as is known; a probe, a flush and
// every change need an administrator.
package hostapi

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/storage"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
)

// HostAPI is one host's volumes. Errors are of the kind that errdefs gives the
// code of Windows; a volume that is not there is NotFound. Every method blocks
// until Windows has answered or ctx ends, is safe for concurrent use, and keeps
// no handle.
type HostAPI interface {
	// ParsePath reads a path in the spellings that drivers use. A path that
	// cannot be one is InvalidArgument.
	ParsePath(ctx context.Context, path string) (Path, error)

	// VolumesOfDisk are the data partitions of a disk by offset, with their
	// volumes as far as these have arrived. An offline disk is ErrDiskOffline.
	VolumesOfDisk(ctx context.Context, number uint32) ([]PartitionVolume, error)

	// VolumeExtents are the stretches of disks that a volume lies on.
	VolumeExtents(ctx context.Context, id VolumeID) ([]Extent, error)

	// DiskOfVolume is the number of the disk that a volume lies on.
	DiskOfVolume(ctx context.Context, id VolumeID) (uint32, error)

	// PartitionOfVolume are the numbers of the disk and of the partition that
	// a volume lies in.
	PartitionOfVolume(ctx context.Context, id VolumeID) (disk, partition uint32, err error)

	// DescribeVolume describes one volume in full.
	DescribeVolume(ctx context.Context, id VolumeID) (VolumeDescription, error)

	// CheckVolumeNotCritical fails with ErrCriticalDisk where Windows needs
	// one of the extents, and where that cannot be told.
	CheckVolumeNotCritical(ctx context.Context, extents []Extent) error

	// CheckVolume fails where a volume is not there.
	CheckVolume(ctx context.Context, id VolumeID) error

	// FileSystem is what Windows has mounted on a volume, "" on a RAW one.
	FileSystem(ctx context.Context, id VolumeID) (string, error)

	// ProbeVolume looks for signatures on a volume. An unreadable byte is
	// ErrUnknownContent.
	ProbeVolume(ctx context.Context, id VolumeID) (Content, error)

	// VolumeSpace is the size and the free space of a volume, in bytes; none
	// for a RAW one.
	VolumeSpace(ctx context.Context, id VolumeID) (Space, error)

	// FormatVolume formats a volume. Where it no longer lies where on
	// says, it is ErrOtherDisk. Once begun it runs to its end.
	FormatVolume(ctx context.Context, id VolumeID, on []Extent, format Format) error

	// GrowVolume makes partition and file system as large as plan decides
	// from the sizes that were read afresh. Where the volume no longer lies
	// where on says, it is ErrOtherDisk. Once begun it runs to its end.
	GrowVolume(ctx context.Context, id VolumeID, on []Extent, plan func(Growth) (int64, error)) (Grown, error)

	// FlushVolume writes a volume's cache, if it can have one; concurrent
	// calls join one flush. A volume whose disk is offline is ErrDiskOffline.
	FlushVolume(ctx context.Context, id VolumeID) error

	// FindMountPoint follows a path through links to a mount point or what
	// else is at their end.
	FindMountPoint(ctx context.Context, path Path) (MountPoint, error)

	// MountFolder is the volume mounted at a path itself, also one that is
	// gone. Where something else is there, it is ErrNotMounted.
	MountFolder(ctx context.Context, path Path) (VolumeID, error)

	// VolumeOfPath is the volume that holds what is at a path itself.
	VolumeOfPath(ctx context.Context, path Path) (VolumeID, error)

	// MountedVolume is the volume that the mount manager says is mounted at a
	// path itself, ErrNotMounted where it says that none is.
	MountedVolume(ctx context.Context, path Path) (VolumeID, error)

	// SetMountPoint mounts a volume at an empty directory.
	SetMountPoint(ctx context.Context, path Path, id VolumeID) error

	// DeleteMountPoint removes a mount point and leaves the empty directory.
	DeleteMountPoint(ctx context.Context, path Path) error

	// LockMountPoint takes the locks of a volume and a path, until unlock.
	LockMountPoint(ctx context.Context, id VolumeID, path Path) (unlock func(), err error)

	// ChangeVolume runs a change under the locks of the volume and its disks,
	// with ctx of its own and the volume's extents. With shared, calls for the
	// same volume and change join the unfinished one and share its result.
	ChangeVolume(ctx context.Context, id VolumeID, change string, shared bool, run func(context.Context, []Extent) error) error
}

// The types of the facts.
type (
	// VolumeID is a volume's GUID.
	VolumeID = storage.VolumeID
	// Path is a parsed path.
	Path = winpath.Path
	// PartitionVolume is a data partition and its volume.
	PartitionVolume = storage.PartitionVolume
	// Extent is a stretch of a disk.
	Extent = abi.DiskExtent
	// Content is what a probe found.
	Content = storage.Content
	// VolumeDescription is all that a host tells of one volume.
	VolumeDescription = storage.VolumeDescription
	// VolumeMount is a path at which a volume is mounted.
	VolumeMount = storage.VolumeMount
	// VolumeFlags are the abilities of a file system.
	VolumeFlags = storage.VolumeFlags
	// Space is the size and free space of a volume.
	Space = win.FreeSpace
	// Format is what to format a volume with.
	Format = storage.Format
	// Growth are the sizes that growing is about.
	Growth = storage.Growth
	// Grown are the sizes before and after.
	Grown = storage.Grown
	// MountPoint is what a path leads to.
	MountPoint = storage.MountPoint
)

// ParseVolumeID reads a volume id; all else is InvalidArgument.
func ParseVolumeID(s string) (VolumeID, error) { return storage.ParseVolumeID(s) }

// Gone reports whether an error says that a path or volume is not there.
func Gone(err error) bool { return storage.Gone(err) }

// New is the host that the process runs on. It does nothing until it is asked;
// off Windows every question fails with ErrUnsupported.
func New() HostAPI { return On(native.Host()) }

// On is the HostAPI of any host behind the boundary.
func On(h *win.Host) HostAPI { return storage.On(h) }

// SPDX-License-Identifier: Apache-2.0

package volume

// A volume id reads \\?\Volume{8-4-4-4-12}\ everywhere, with the trailing
// backslash. Requests may spell it in any case and without it.

// ListVolumesOnDiskRequest asks for the volumes of a disk.
type ListVolumesOnDiskRequest struct {
	DiskNumber uint32
	// PartitionNumber restricts the answer to one partition; 0 means all.
	PartitionNumber uint32
}

// ListVolumesOnDiskResponse are the volumes of data partitions, by offset.
type ListVolumesOnDiskResponse struct {
	VolumeIDs []string
}

// MountVolumeRequest asks for a volume to be mounted at a directory.
type MountVolumeRequest struct {
	VolumeID string
	// TargetPath is an existing empty directory on NTFS.
	TargetPath string
}

// MountVolumeResponse is empty.
type MountVolumeResponse struct{}

// IsVolumeFormattedRequest asks whether a volume has a file system.
type IsVolumeFormattedRequest struct {
	VolumeID string
}

// IsVolumeFormattedResponse says whether it has one.
type IsVolumeFormattedResponse struct {
	// Formatted: Windows has mounted a file system. Not: the volume holds
	// nothing that a probe knows.
	Formatted bool
}

// FormatVolumeRequest asks for a volume to be formatted.
type FormatVolumeRequest struct {
	VolumeID string

	// Overwrite allows content that Windows does not recognise, a foreign or
	// damaged file system or volume manager, to be lost. A file system that
	// Windows has mounted is re-formatted without it.
	Overwrite bool

	// FileSystem is NTFS, ReFS, FAT32 or exFAT, in any case; "" is NTFS.
	FileSystem string
	// Label is the volume's label: at most 32 characters, and 11 for FAT32 and
	// exFAT; "" is none.
	Label string
	// AllocationUnitSize, in bytes, is a power of 2 from 512 on; 0 leaves it to
	// Windows. ReFS takes 4096 and 65536.
	AllocationUnitSize uint32
	// Full writes and checks all of the volume, which takes long; else only
	// the file system's structures are written.
	Full bool
	// Compress makes NTFS compress all files; its allocation unit is then at
	// most 4096 bytes.
	Compress bool
}

// FormatVolumeResponse is empty.
type FormatVolumeResponse struct{}

// WriteVolumeCacheRequest asks for a volume to be flushed.
type WriteVolumeCacheRequest struct {
	VolumeID string
}

// WriteVolumeCacheResponse is empty.
type WriteVolumeCacheResponse struct{}

// UnmountVolumeRequest asks for a volume to be unmounted from a directory.
type UnmountVolumeRequest struct {
	VolumeID   string
	TargetPath string
}

// UnmountVolumeResponse is empty.
type UnmountVolumeResponse struct{}

// ResizeVolumeRequest asks for a volume to grow.
type ResizeVolumeRequest struct {
	VolumeID string
	// SizeBytes is the wanted size of the partition; 0 means the largest.
	SizeBytes int64
}

// ResizeVolumeResponse tells what became of a volume, as far as it was read: also
// beside an error, such as that of a size that does not fit. Sizes are of the
// partition, in bytes.
type ResizeVolumeResponse struct {
	OldSizeBytes int64
	NewSizeBytes int64
	// LargestSizeBytes is what the disk allows.
	LargestSizeBytes int64
	// Grew: the partition is larger than before, or its file system, which an
	// earlier call had left behind.
	Grew bool
}

// GetVolumeStatsRequest asks for the size and use of a volume.
type GetVolumeStatsRequest struct {
	VolumeID string
}

// GetVolumeStatsResponse is the size and use of a volume.
type GetVolumeStatsResponse struct {
	TotalBytes int64
	UsedBytes  int64
	// AvailableBytes is what the caller may still write, within its quota.
	AvailableBytes int64
}

// GetDiskNumberFromVolumeIDRequest asks for the disk of a volume.
type GetDiskNumberFromVolumeIDRequest struct {
	VolumeID string
}

// GetDiskNumberFromVolumeIDResponse is the disk of a volume.
type GetDiskNumberFromVolumeIDResponse struct {
	DiskNumber uint32
}

// GetVolumeIDFromTargetPathRequest asks for the volume mounted at a path.
type GetVolumeIDFromTargetPathRequest struct {
	// TargetPath is a mount folder, or a link that leads to one.
	TargetPath string
}

// GetVolumeIDFromTargetPathResponse is the volume mounted at a path.
type GetVolumeIDFromTargetPathResponse struct {
	VolumeID string
}

// GetClosestVolumeIDFromTargetPathRequest asks for the volume that holds a
// path.
type GetClosestVolumeIDFromTargetPathRequest struct {
	// TargetPath is any existing path; links are followed.
	TargetPath string
}

// GetClosestVolumeIDFromTargetPathResponse is the volume that holds a path.
type GetClosestVolumeIDFromTargetPathResponse struct {
	VolumeID string
}

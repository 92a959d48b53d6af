// SPDX-License-Identifier: Apache-2.0

package disk

// ListDiskLocationsRequest asks for the location of every disk.
type ListDiskLocationsRequest struct{}

// ListDiskLocationsResponse maps disk numbers to locations.
type ListDiskLocationsResponse struct {
	DiskLocations map[uint32]*DiskLocation
}

// DiskLocation says where a disk sits. A field that Windows does not tell, or
// that names no place on the disk's kind of bus, is "".
type DiskLocation struct {
	// Adapter is the number of the storage port, the N of \\.\ScsiN:.
	Adapter string
	// Bus is always "": the PCI bus of the adapter is not asked for. No known
	// driver reads it.
	Bus string
	// Target and LUNID are the SCSI target and logical unit, on SCSI, Fibre
	// Channel, RAID, iSCSI and SAS.
	Target string
	LUNID  string
}

// PartitionDiskRequest asks for a data partition on a disk.
type PartitionDiskRequest struct {
	DiskNumber uint32

	// Overwrite allows content that Windows does not recognise, a foreign or
	// damaged file system or volume manager, to be lost. It does not allow
	// anything on a disk whose partition table has entries, whose content
	// cannot be read, or that Windows needs.
	Overwrite bool
}

// PartitionDiskResponse is empty.
type PartitionDiskResponse struct{}

// RescanRequest asks Windows to look for new and grown disks.
type RescanRequest struct{}

// RescanResponse is empty.
type RescanResponse struct{}

// ListDiskIDsRequest asks for the identifiers of every disk.
type ListDiskIDsRequest struct{}

// ListDiskIDsResponse maps disk numbers to identifiers.
type ListDiskIDsResponse struct {
	DiskIDs map[uint32]*DiskIDs
}

// DiskIDs are the identifiers of a disk, as the device gives them but for
// trailing NULs and bytes that are not UTF-8.
type DiskIDs struct {
	// Page83 is the first identifier of SCSI page 0x83 that names the device:
	// a binary one as lower-case hexadecimal digits, an ASCII or UTF-8 one as
	// it is; "" if there is none or it is blank.
	Page83 string
	// SerialNumber is the serial number with its blanks; "" if there is none.
	SerialNumber string
}

// GetDiskStatsRequest asks for the size of a disk.
type GetDiskStatsRequest struct {
	DiskNumber uint32
}

// GetDiskStatsResponse is the size of a disk.
type GetDiskStatsResponse struct {
	// TotalBytes is the size of the disk, not of a volume on it.
	TotalBytes int64
}

// SetDiskStateRequest asks for a disk to be online or offline.
type SetDiskStateRequest struct {
	DiskNumber uint32

	// IsOnline is the wanted state. Bringing an offline disk online also
	// makes it writable.
	IsOnline bool
}

// SetDiskStateResponse is empty.
type SetDiskStateResponse struct{}

// GetDiskStateRequest asks for the state of a disk.
type GetDiskStateRequest struct {
	DiskNumber uint32
}

// GetDiskStateResponse is the state of a disk.
type GetDiskStateResponse struct {
	IsOnline bool
}

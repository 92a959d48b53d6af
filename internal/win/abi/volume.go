// SPDX-License-Identifier: Apache-2.0

package abi

// DiskExtent is a piece of a disk that belongs to a volume, in bytes.
//
//	typedef struct _DISK_EXTENT {
//	  DWORD         DiskNumber;     // @0
//	  LARGE_INTEGER StartingOffset; // @8
//	  LARGE_INTEGER ExtentLength;   // @16
//	} DISK_EXTENT;
type DiskExtent struct {
	Disk   uint32
	Offset int64
	Length int64
}

const (
	extentsStructure = "VOLUME_DISK_EXTENTS"
	extentsStart     = 8
	extentSize       = 24
)

// DiskExtentsSize returns the size of a VOLUME_DISK_EXTENTS with so many
// extents. Windows refuses a buffer that has no room for one.
func DiskExtentsSize(extents int) int { return extentsStart + extents*extentSize }

// DecodeDiskExtents reads the answer to IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS.
// A spanned volume has several extents; where they did not fit (the call fails
// with ERROR_MORE_DATA and gives the count) the TruncatedError comes with those
// that did (windows-api.md 7.5).
//
//	typedef struct _VOLUME_DISK_EXTENTS {
//	  DWORD       NumberOfDiskExtents; // @0
//	  DISK_EXTENT Extents[1];          // @8
//	} VOLUME_DISK_EXTENTS;
func DecodeDiskExtents(b []byte) ([]DiskExtent, error) {
	if err := need(extentsStructure, b, 4); err != nil {
		return nil, err
	}
	count := uint64(le.Uint32(b))
	var list []DiskExtent
	for offset := extentsStart; uint64(len(list)) < count; offset += extentSize {
		if offset+extentSize > len(b) {
			return list, &TruncatedError{extentsStructure, uint64(len(b)), extentsStart + count*extentSize}
		}
		list = append(list, DiskExtent{
			Disk:   le.Uint32(b[offset:]),
			Offset: int64(le.Uint64(b[offset+8:])),
			Length: int64(le.Uint64(b[offset+16:])),
		})
	}
	return list, nil
}

// EncodeDiskExtents returns the VOLUME_DISK_EXTENTS.
func EncodeDiskExtents(list []DiskExtent) []byte {
	b := make([]byte, DiskExtentsSize(len(list)))
	le.PutUint32(b, uint32(len(list)))
	for i, e := range list {
		entry := b[DiskExtentsSize(i):]
		le.PutUint32(entry, e.Disk)
		le.PutUint64(entry[8:], uint64(e.Offset))
		le.PutUint64(entry[16:], uint64(e.Length))
	}
	return b
}

// NTFSVolumeData answers FSCTL_GET_NTFS_VOLUME_DATA (windows-api.md 7.11). Its
// sectors and clusters are those that NTFS uses, which after a crash may be
// fewer than the partition has.
//
//	typedef struct {
//	  LARGE_INTEGER VolumeSerialNumber;           // @0
//	  LARGE_INTEGER NumberSectors;                // @8
//	  LARGE_INTEGER TotalClusters;                // @16
//	  LARGE_INTEGER FreeClusters;                 // @24
//	  LARGE_INTEGER TotalReserved;                // @32
//	  DWORD         BytesPerSector;               // @40
//	  DWORD         BytesPerCluster;              // @44
//	  DWORD         BytesPerFileRecordSegment;    // @48
//	  DWORD         ClustersPerFileRecordSegment; // @52
//	  LARGE_INTEGER MftValidDataLength;           // @56
//	  LARGE_INTEGER MftStartLcn;                  // @64
//	  LARGE_INTEGER Mft2StartLcn;                 // @72
//	  LARGE_INTEGER MftZoneStart;                 // @80
//	  LARGE_INTEGER MftZoneEnd;                   // @88
//	} NTFS_VOLUME_DATA_BUFFER;
type NTFSVolumeData struct {
	SerialNumber    uint64
	Sectors         int64
	TotalClusters   int64
	FreeClusters    int64
	BytesPerSector  uint32
	BytesPerCluster uint32
}

// NTFSVolumeDataSize is the size of an NTFS_VOLUME_DATA_BUFFER.
const NTFSVolumeDataSize = 96

// DecodeNTFSVolumeData reads an NTFS_VOLUME_DATA_BUFFER.
func DecodeNTFSVolumeData(b []byte) (NTFSVolumeData, error) {
	if err := need("NTFS_VOLUME_DATA_BUFFER", b, NTFSVolumeDataSize); err != nil {
		return NTFSVolumeData{}, err
	}
	return NTFSVolumeData{
		SerialNumber:    le.Uint64(b),
		Sectors:         int64(le.Uint64(b[8:])),
		TotalClusters:   int64(le.Uint64(b[16:])),
		FreeClusters:    int64(le.Uint64(b[24:])),
		BytesPerSector:  le.Uint32(b[40:]),
		BytesPerCluster: le.Uint32(b[44:]),
	}, nil
}

// Encode returns the NTFS_VOLUME_DATA_BUFFER; what the type does not have is
// zero.
func (d NTFSVolumeData) Encode() []byte {
	b := make([]byte, NTFSVolumeDataSize)
	le.PutUint64(b, d.SerialNumber)
	le.PutUint64(b[8:], uint64(d.Sectors))
	le.PutUint64(b[16:], uint64(d.TotalClusters))
	le.PutUint64(b[24:], uint64(d.FreeClusters))
	le.PutUint32(b[40:], d.BytesPerSector)
	le.PutUint32(b[44:], d.BytesPerCluster)
	return b
}

// EncodeExtendVolume returns the input of FSCTL_EXTEND_VOLUME, a LONGLONG: how
// many sectors the volume is to have in all, not how many more
// (windows-api.md 7.11).
func EncodeExtendVolume(sectors int64) []byte { return le.AppendUint64(nil, uint64(sectors)) }

// DecodeExtendVolume reads the input of FSCTL_EXTEND_VOLUME.
func DecodeExtendVolume(b []byte) (int64, error) {
	if err := need("FSCTL_EXTEND_VOLUME", b, 8); err != nil {
		return 0, err
	}
	return int64(le.Uint64(b)), nil
}

// VolumeDirtySize is the size of the answer to FSCTL_IS_VOLUME_DIRTY.
const VolumeDirtySize = 4

const volumeIsDirty = 1 // VOLUME_IS_DIRTY of winioctl.h

// DecodeVolumeDirty reads the answer to FSCTL_IS_VOLUME_DIRTY, a ULONG of flags:
// whether Windows wants to check the file system.
func DecodeVolumeDirty(b []byte) (bool, error) {
	if err := need("FSCTL_IS_VOLUME_DIRTY", b, VolumeDirtySize); err != nil {
		return false, err
	}
	return le.Uint32(b)&volumeIsDirty != 0, nil
}

// EncodeVolumeDirty returns the answer to FSCTL_IS_VOLUME_DIRTY.
func EncodeVolumeDirty(dirty bool) []byte {
	var flags uint32
	if dirty {
		flags = volumeIsDirty
	}
	return le.AppendUint32(nil, flags)
}

// SPDX-License-Identifier: Apache-2.0

package abi

import "strings"

// DiskGeometry answers IOCTL_DISK_GET_DRIVE_GEOMETRY_EX (windows-api.md 4).
// DiskSize is exact; the product of the geometry is not.
//
//	typedef struct _DISK_GEOMETRY_EX {
//	  DISK_GEOMETRY Geometry;           // @0
//	    LARGE_INTEGER Cylinders;        // @0
//	    MEDIA_TYPE    MediaType;        // @8
//	    DWORD         TracksPerCylinder;// @12
//	    DWORD         SectorsPerTrack;  // @16
//	    DWORD         BytesPerSector;   // @20
//	  LARGE_INTEGER DiskSize;           // @24
//	  BYTE          Data[1];            // @32
//	} DISK_GEOMETRY_EX;
type DiskGeometry struct {
	Cylinders         int64
	MediaType         uint32
	TracksPerCylinder uint32
	SectorsPerTrack   uint32
	BytesPerSector    uint32
	DiskSize          int64 // bytes
}

const (
	// DiskGeometrySize is the size of a DISK_GEOMETRY, with which a
	// DISK_GEOMETRY_EX begins and which alone answers
	// IOCTL_DISK_UPDATE_DRIVE_SIZE.
	DiskGeometrySize = 24
	// MediaTypeFixed is the MediaType of a hard disk (FixedMedia).
	MediaTypeFixed uint32 = 12

	diskGeometryData   = 32
	diskGeometryExSize = 40
)

// DecodeDiskGeometry reads a DISK_GEOMETRY_EX.
func DecodeDiskGeometry(b []byte) (DiskGeometry, error) {
	if err := need("DISK_GEOMETRY_EX", b, diskGeometryData); err != nil {
		return DiskGeometry{}, err
	}
	return DiskGeometry{
		Cylinders:         int64(le.Uint64(b)),
		MediaType:         le.Uint32(b[8:]),
		TracksPerCylinder: le.Uint32(b[12:]),
		SectorsPerTrack:   le.Uint32(b[16:]),
		BytesPerSector:    le.Uint32(b[20:]),
		DiskSize:          int64(le.Uint64(b[24:])),
	}, nil
}

// Encode returns the DISK_GEOMETRY_EX without its variable data.
func (g DiskGeometry) Encode() []byte {
	b := make([]byte, diskGeometryExSize)
	le.PutUint64(b, uint64(g.Cylinders))
	le.PutUint32(b[8:], g.MediaType)
	le.PutUint32(b[12:], g.TracksPerCylinder)
	le.PutUint32(b[16:], g.SectorsPerTrack)
	le.PutUint32(b[20:], g.BytesPerSector)
	le.PutUint64(b[24:], uint64(g.DiskSize))
	return b
}

// LengthSize is the size of a GET_LENGTH_INFORMATION.
const LengthSize = 8

// DecodeLength reads the answer to IOCTL_DISK_GET_LENGTH_INFO, a length in
// bytes (windows-api.md 4).
//
//	typedef struct _GET_LENGTH_INFORMATION {
//	  LARGE_INTEGER Length; // @0
//	} GET_LENGTH_INFORMATION;
func DecodeLength(b []byte) (int64, error) {
	if err := need("GET_LENGTH_INFORMATION", b, LengthSize); err != nil {
		return 0, err
	}
	return int64(le.Uint64(b)), nil
}

// EncodeLength returns the GET_LENGTH_INFORMATION.
func EncodeLength(length int64) []byte { return le.AppendUint64(nil, uint64(length)) }

// DiskAttributesSize is the size of a GET_DISK_ATTRIBUTES.
const DiskAttributesSize = 16

// DecodeDiskAttributes reads the answer to IOCTL_DISK_GET_DISK_ATTRIBUTES, the
// DISK_ATTRIBUTE bits (windows-api.md 4).
//
//	typedef struct _GET_DISK_ATTRIBUTES {
//	  DWORD     Version;    // @0, 16
//	  DWORD     Reserved1;  // @4
//	  DWORDLONG Attributes; // @8
//	} GET_DISK_ATTRIBUTES;
func DecodeDiskAttributes(b []byte) (uint64, error) {
	if err := need("GET_DISK_ATTRIBUTES", b, DiskAttributesSize); err != nil {
		return 0, err
	}
	return le.Uint64(b[8:]), nil
}

// EncodeDiskAttributes returns the GET_DISK_ATTRIBUTES.
func EncodeDiskAttributes(attributes uint64) []byte {
	b := make([]byte, DiskAttributesSize)
	le.PutUint32(b, DiskAttributesSize)
	le.PutUint64(b[8:], attributes)
	return b
}

// SetDiskAttributes is the input of IOCTL_DISK_SET_DISK_ATTRIBUTES: Attributes
// become the values of the bits in Mask (windows-api.md 4).
//
//	typedef struct _SET_DISK_ATTRIBUTES {
//	  DWORD     Version;        // @0
//	  BOOLEAN   Persist;        // @4
//	  BYTE      Reserved1[3];   // @5
//	  DWORDLONG Attributes;     // @8
//	  DWORDLONG AttributesMask; // @16
//	  DWORD     Reserved2[4];   // @24
//	} SET_DISK_ATTRIBUTES;
type SetDiskAttributes struct {
	// Version is SetDiskAttributesSize, or DiskAttributesSize where Windows
	// answers ERROR_INVALID_PARAMETER: page and practice differ.
	Version    uint32
	Persist    bool // also after a restart
	Attributes uint64
	Mask       uint64
}

// SetDiskAttributesSize is the size of a SET_DISK_ATTRIBUTES.
const SetDiskAttributesSize = 40

// DecodeSetDiskAttributes reads a SET_DISK_ATTRIBUTES.
func DecodeSetDiskAttributes(b []byte) (SetDiskAttributes, error) {
	if err := need("SET_DISK_ATTRIBUTES", b, SetDiskAttributesSize); err != nil {
		return SetDiskAttributes{}, err
	}
	return SetDiskAttributes{
		Version:    le.Uint32(b),
		Persist:    b[4] != 0,
		Attributes: le.Uint64(b[8:]),
		Mask:       le.Uint64(b[16:]),
	}, nil
}

// Encode returns the SET_DISK_ATTRIBUTES.
func (a SetDiskAttributes) Encode() []byte {
	b := make([]byte, SetDiskAttributesSize)
	le.PutUint32(b, a.Version)
	putBool(b[4:], a.Persist)
	le.PutUint64(b[8:], a.Attributes)
	le.PutUint64(b[16:], a.Mask)
	return b
}

// GrowPartition is the input of IOCTL_DISK_GROW_PARTITION (windows-api.md
// 7.11).
//
//	typedef struct _DISK_GROW_PARTITION {
//	  DWORD         PartitionNumber; // @0
//	  LARGE_INTEGER BytesToGrow;     // @8
//	} DISK_GROW_PARTITION;
type GrowPartition struct {
	Partition   uint32
	BytesToGrow int64 // the difference, not the new size
}

const growPartitionSize = 16

// DecodeGrowPartition reads a DISK_GROW_PARTITION.
func DecodeGrowPartition(b []byte) (GrowPartition, error) {
	if err := need("DISK_GROW_PARTITION", b, growPartitionSize); err != nil {
		return GrowPartition{}, err
	}
	return GrowPartition{Partition: le.Uint32(b), BytesToGrow: int64(le.Uint64(b[8:]))}, nil
}

// Encode returns the DISK_GROW_PARTITION.
func (g GrowPartition) Encode() []byte {
	b := make([]byte, growPartitionSize)
	le.PutUint32(b, g.Partition)
	le.PutUint64(b[8:], uint64(g.BytesToGrow))
	return b
}

// Layout answers IOCTL_DISK_GET_DRIVE_LAYOUT_EX (windows-api.md 5.2). Offsets
// and lengths are bytes.
//
//	typedef struct _DRIVE_LAYOUT_INFORMATION_EX {
//	  DWORD PartitionStyle;                 // @0
//	  DWORD PartitionCount;                 // @4
//	  union {                               // @8
//	    struct {
//	      GUID          DiskId;               // @8
//	      LARGE_INTEGER StartingUsableOffset; // @24
//	      LARGE_INTEGER UsableLength;         // @32
//	      DWORD         MaxPartitionCount;    // @40
//	    } Gpt;
//	    struct {
//	      DWORD Signature;                    // @8
//	      DWORD CheckSum;                     // @12
//	    } Mbr;
//	  };
//	  PARTITION_INFORMATION_EX PartitionEntry[1]; // @48, 144 bytes each
//	} DRIVE_LAYOUT_INFORMATION_EX;
type Layout struct {
	Style PartitionStyle

	// GPT only.
	DiskID               GUID
	StartingUsableOffset int64
	UsableLength         int64
	MaxPartitions        uint32

	// MBR only.
	Signature uint32
	CheckSum  uint32

	// Partitions holds every entry, on MBR unused ones too.
	Partitions []Partition
}

// Partition is an entry of a Layout. Offsets and lengths are bytes.
//
//	typedef struct _PARTITION_INFORMATION_EX {
//	  PARTITION_STYLE PartitionStyle;     // @0
//	  LARGE_INTEGER   StartingOffset;     // @8
//	  LARGE_INTEGER   PartitionLength;    // @16
//	  DWORD           PartitionNumber;    // @24
//	  BOOLEAN         RewritePartition;   // @28
//	  BOOLEAN         IsServicePartition; // @29
//	  union {                             // @32
//	    struct {
//	      GUID      PartitionType;        // @32
//	      GUID      PartitionId;          // @48
//	      DWORD64   Attributes;           // @64
//	      WCHAR     Name[36];             // @72
//	    } Gpt;
//	    struct {
//	      BYTE      PartitionType;        // @32
//	      BOOLEAN   BootIndicator;        // @33
//	      BOOLEAN   RecognizedPartition;  // @34
//	      DWORD     HiddenSectors;        // @36
//	      GUID      PartitionId;          // @40
//	    } Mbr;
//	  };
//	} PARTITION_INFORMATION_EX;
type Partition struct {
	Style   PartitionStyle
	Offset  int64
	Length  int64
	Number  uint32 // may change when another partition is deleted
	Rewrite bool   // only on writing: the entry has changed
	Service bool
	ID      GUID

	// GPT only.
	Type       GUID
	Attributes uint64
	Name       string // at most 36 UTF-16 units

	// MBR only.
	MBRType       byte
	Active        bool
	Recognized    bool
	HiddenSectors uint32
}

// Unused reports whether the entry is an empty slot of the table.
func (p Partition) Unused() bool {
	switch p.Style {
	case PartitionStyleMBR:
		return p.Length == 0 && p.MBRType == PARTITION_ENTRY_UNUSED
	case PartitionStyleGPT:
		return p.Length == 0 && p.Type.IsZero()
	default:
		return p.Length == 0
	}
}

const (
	layoutStructure = "DRIVE_LAYOUT_INFORMATION_EX"
	layoutEntries   = 48
	partitionSize   = 144
	partitionName   = 72 // bytes, 36 units
)

// LayoutSize returns the size of a DRIVE_LAYOUT_INFORMATION_EX with so many
// entries.
func LayoutSize(partitions int) int { return layoutEntries + partitions*partitionSize }

// DecodeLayout reads a DRIVE_LAYOUT_INFORMATION_EX, whole or, beside an error,
// not at all: half a partition table must not be mistaken for an empty one.
func DecodeLayout(b []byte) (Layout, error) {
	if err := need(layoutStructure, b, layoutEntries); err != nil {
		return Layout{}, err
	}
	count := uint64(le.Uint32(b[4:]))
	if size := layoutEntries + count*partitionSize; size > uint64(len(b)) {
		return Layout{}, &TruncatedError{layoutStructure, uint64(len(b)), size}
	}
	l := Layout{Style: PartitionStyle(le.Uint32(b))}
	switch l.Style {
	case PartitionStyleGPT:
		l.DiskID = DecodeGUID(b[8:])
		l.StartingUsableOffset = int64(le.Uint64(b[24:]))
		l.UsableLength = int64(le.Uint64(b[32:]))
		l.MaxPartitions = le.Uint32(b[40:])
	case PartitionStyleMBR:
		l.Signature = le.Uint32(b[8:])
		l.CheckSum = le.Uint32(b[12:])
	case PartitionStyleRAW:
	default:
		return Layout{}, malformed(layoutStructure, "%s", l.Style)
	}
	for entry := b[layoutEntries:]; count > 0; count-- {
		p, err := decodePartition(entry)
		if err != nil {
			return Layout{}, err
		}
		l.Partitions = append(l.Partitions, p)
		entry = entry[partitionSize:]
	}
	return l, nil
}

// decodePartition reads the entry at the start of b, which holds it.
func decodePartition(b []byte) (Partition, error) {
	p := Partition{
		Style:   PartitionStyle(le.Uint32(b)),
		Offset:  int64(le.Uint64(b[8:])),
		Length:  int64(le.Uint64(b[16:])),
		Number:  le.Uint32(b[24:]),
		Rewrite: b[28] != 0,
		Service: b[29] != 0,
	}
	switch p.Style {
	case PartitionStyleGPT:
		p.Type = DecodeGUID(b[32:])
		p.ID = DecodeGUID(b[48:])
		p.Attributes = le.Uint64(b[64:])
		name := DecodeUTF16(b[72 : 72+partitionName])
		p.Name, _, _ = strings.Cut(name, "\x00")
	case PartitionStyleMBR:
		p.MBRType = b[32]
		p.Active = b[33] != 0
		p.Recognized = b[34] != 0
		p.HiddenSectors = le.Uint32(b[36:])
		p.ID = DecodeGUID(b[40:])
	case PartitionStyleRAW:
	default:
		return Partition{}, malformed(layoutStructure, "%s in an entry", p.Style)
	}
	return p, nil
}

// Encode returns the DRIVE_LAYOUT_INFORMATION_EX.
func (l Layout) Encode() []byte {
	b := make([]byte, LayoutSize(len(l.Partitions)))
	le.PutUint32(b, uint32(l.Style))
	le.PutUint32(b[4:], uint32(len(l.Partitions)))
	switch l.Style {
	case PartitionStyleGPT:
		l.DiskID.Put(b[8:])
		le.PutUint64(b[24:], uint64(l.StartingUsableOffset))
		le.PutUint64(b[32:], uint64(l.UsableLength))
		le.PutUint32(b[40:], l.MaxPartitions)
	case PartitionStyleMBR:
		le.PutUint32(b[8:], l.Signature)
		le.PutUint32(b[12:], l.CheckSum)
	case PartitionStyleRAW:
	}
	for i, p := range l.Partitions {
		p.put(b[LayoutSize(i):LayoutSize(i+1)])
	}
	return b
}

func (p Partition) put(b []byte) {
	le.PutUint32(b, uint32(p.Style))
	le.PutUint64(b[8:], uint64(p.Offset))
	le.PutUint64(b[16:], uint64(p.Length))
	le.PutUint32(b[24:], p.Number)
	putBool(b[28:], p.Rewrite)
	putBool(b[29:], p.Service)
	switch p.Style {
	case PartitionStyleGPT:
		p.Type.Put(b[32:])
		p.ID.Put(b[48:])
		le.PutUint64(b[64:], p.Attributes)
		copy(b[72:72+partitionName], EncodeUTF16(p.Name))
	case PartitionStyleMBR:
		b[32] = p.MBRType
		putBool(b[33:], p.Active)
		putBool(b[34:], p.Recognized)
		le.PutUint32(b[36:], p.HiddenSectors)
		p.ID.Put(b[40:])
	case PartitionStyleRAW:
	}
}

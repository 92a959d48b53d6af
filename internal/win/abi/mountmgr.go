// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"bytes"
	"math"
)

// MountPoint is an entry of the mount manager's database: a symbolic link
// (\DosDevices\X: or \??\Volume{guid}) that stands for the volume with a unique
// id, and the device (\Device\HarddiskVolumeN) that has it now, if any. As the
// input of IOCTL_MOUNTMGR_QUERY_POINTS it selects the entries that agree in all
// parts that are given.
//
//	typedef struct _MOUNTMGR_MOUNT_POINT {
//	  ULONG  SymbolicLinkNameOffset; // @0, offsets from the start of the whole structure
//	  USHORT SymbolicLinkNameLength; // @4, in bytes
//	  ULONG  UniqueIdOffset;         // @8
//	  USHORT UniqueIdLength;         // @12
//	  ULONG  DeviceNameOffset;       // @16
//	  USHORT DeviceNameLength;       // @20
//	} MOUNTMGR_MOUNT_POINT;
type MountPoint struct {
	SymbolicLink string
	UniqueID     []byte
	Device       string
}

const (
	mountPointSize       = 24
	mountPointsStart     = 8
	mountPointStructure  = "MOUNTMGR_MOUNT_POINT"
	mountPointsStructure = "MOUNTMGR_MOUNT_POINTS"
)

// EncodeQuery returns the MOUNTMGR_MOUNT_POINT that selects entries. The zero
// MountPoint selects all. ErrMalformed means that a name is too long.
func (p MountPoint) EncodeQuery() ([]byte, error) {
	return p.append(zeros(mountPointSize), 0)
}

// QueryEveryMountPoint returns the query of the zero MountPoint, which selects all
// entries.
func QueryEveryMountPoint() []byte { return zeros(mountPointSize) }

// DecodeMountPointQuery reads a MOUNTMGR_MOUNT_POINT.
func DecodeMountPointQuery(b []byte) (MountPoint, error) {
	if err := need(mountPointStructure, b, mountPointSize); err != nil {
		return MountPoint{}, err
	}
	room := mountPointShare * len(b)
	return decodeMountPoint(b, 0, &room)
}

// EncodeMountPoints returns the answer to IOCTL_MOUNTMGR_QUERY_POINTS.
// ErrMalformed means that a name is too long. Where the caller's buffer is too
// small, Windows gives Size and NumberOfMountPoints and ERROR_MORE_DATA.
//
//	typedef struct _MOUNTMGR_MOUNT_POINTS {
//	  ULONG Size;                          // @0, of the whole
//	  ULONG NumberOfMountPoints;           // @4
//	  MOUNTMGR_MOUNT_POINT MountPoints[1]; // @8, 24 bytes each
//	} MOUNTMGR_MOUNT_POINTS;
func EncodeMountPoints(list []MountPoint) ([]byte, error) {
	b := zeros(mountPointsStart + len(list)*mountPointSize)
	for i, p := range list {
		var err error
		if b, err = p.append(b, mountPointsStart+i*mountPointSize); err != nil {
			return nil, err
		}
	}
	le.PutUint32(b, uint32(len(b)))
	le.PutUint32(b[4:], uint32(len(list)))
	return b, nil
}

// append adds the parts of p behind b and says at entry where they are.
func (p MountPoint) append(b []byte, entry int) ([]byte, error) {
	for i, part := range [][]byte{EncodeUTF16(p.SymbolicLink), p.UniqueID, EncodeUTF16(p.Device)} {
		if len(part) > math.MaxUint16 {
			return nil, malformed(mountPointStructure, "part of %d bytes", len(part))
		}
		if len(part) == 0 {
			continue
		}
		b = append(b, zeros(align(len(b), 2)-len(b))...)
		le.PutUint32(b[entry+8*i:], uint32(len(b)))
		le.PutUint16(b[entry+8*i+4:], uint16(len(part)))
		b = append(b, part...)
	}
	return b, nil
}

// DecodeMountPoints reads the answer to IOCTL_MOUNTMGR_QUERY_POINTS, whole or,
// beside an error, not at all. A TruncatedError gives the size to ask again
// with.
func DecodeMountPoints(b []byte) ([]MountPoint, error) {
	if err := need(mountPointsStructure, b, mountPointsStart); err != nil {
		return nil, err
	}
	size, count := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:]))
	if size > uint64(len(b)) {
		return nil, &TruncatedError{mountPointsStructure, uint64(len(b)), size}
	}
	if size < mountPointsStart || count > (size-mountPointsStart)/mountPointSize {
		return nil, malformed(mountPointsStructure, "%d entries in %d bytes", count, size)
	}
	b = b[:size]
	list := make([]MountPoint, 0, count)
	room := mountPointShare * len(b)
	for i := range int(count) {
		p, err := decodeMountPoint(b, mountPointsStart+i*mountPointSize, &room)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// mountPointShare bounds the parts of all entries together, as a multiple of
// the structure: the links of one volume may share its id and device name, but
// no more than that.
const mountPointShare = 16

// decodeMountPoint reads the entry at an offset. Its parts use up room.
func decodeMountPoint(b []byte, entry int, room *int) (MountPoint, error) {
	var parts [3][]byte
	for i := range parts {
		offset, length := le.Uint32(b[entry+8*i:]), le.Uint16(b[entry+8*i+4:])
		if length == 0 {
			continue
		}
		part, ok := slice(b, uint64(offset), uint64(length))
		if *room -= int(length); !ok || *room < 0 {
			return MountPoint{}, malformed(mountPointStructure, "%d bytes at %d of %d", length, offset, len(b))
		}
		parts[i] = part
	}
	if len(parts[0])%2 != 0 || len(parts[2])%2 != 0 {
		return MountPoint{}, malformed(mountPointStructure, "name of an odd length")
	}
	return MountPoint{
		SymbolicLink: DecodeUTF16(parts[0]),
		UniqueID:     append([]byte(nil), parts[1]...),
		Device:       DecodeUTF16(parts[2]),
	}, nil
}

// UniqueID is what the mount manager knows a volume of a basic disk by.
type UniqueID struct {
	Style PartitionStyle

	// GPT only: the partition's id.
	Partition GUID

	// MBR only: the disk's signature and the partition's offset in bytes.
	Signature uint32
	Offset    int64
}

// gptUniqueID stands before the id of a GPT partition.
var gptUniqueID = []byte("DMIO:ID:")

const mbrUniqueIDSize = 12

// ParseUniqueID reads a unique id. Volumes of dynamic disks, of Storage Spaces
// and of other drivers have forms of their own: for them it reports false.
func ParseUniqueID(b []byte) (UniqueID, bool) {
	if guid, ok := bytes.CutPrefix(b, gptUniqueID); ok && len(guid) == GUIDSize {
		return UniqueID{Style: PartitionStyleGPT, Partition: DecodeGUID(guid)}, true
	}
	if len(b) == mbrUniqueIDSize {
		return UniqueID{
			Style:     PartitionStyleMBR,
			Signature: le.Uint32(b),
			Offset:    int64(le.Uint64(b[4:])),
		}, true
	}
	return UniqueID{}, false
}

// Encode returns the unique id as the mount manager has it; none for RAW.
func (u UniqueID) Encode() []byte {
	switch u.Style {
	case PartitionStyleGPT:
		b := zeros(len(gptUniqueID) + GUIDSize)
		u.Partition.Put(b[copy(b, gptUniqueID):])
		return b
	case PartitionStyleMBR:
		b := le.AppendUint32(nil, u.Signature)
		return le.AppendUint64(b, uint64(u.Offset))
	default:
		return nil
	}
}

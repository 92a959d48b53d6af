// SPDX-License-Identifier: Apache-2.0

package abi

import "strconv"

// Control codes of DeviceIoControl (windows-api.md 0.1). A code is
// DeviceType<<16 | Access<<14 | Function<<2 | Method.
const (
	IOCTL_SCSI_GET_ADDRESS uint32 = 0x041018
	IOCTL_SCSI_RESCAN_BUS  uint32 = 0x04101C

	IOCTL_DISK_GET_DRIVE_GEOMETRY    uint32 = 0x070000
	IOCTL_DISK_IS_WRITABLE           uint32 = 0x070024
	IOCTL_DISK_GET_PARTITION_INFO_EX uint32 = 0x070048
	IOCTL_DISK_GET_DRIVE_LAYOUT_EX   uint32 = 0x070050
	IOCTL_DISK_GET_DRIVE_GEOMETRY_EX uint32 = 0x0700A0
	IOCTL_DISK_GET_DISK_ATTRIBUTES   uint32 = 0x0700F0
	IOCTL_DISK_UPDATE_PROPERTIES     uint32 = 0x070140
	IOCTL_DISK_GET_LENGTH_INFO       uint32 = 0x07405C
	IOCTL_DISK_SET_PARTITION_INFO_EX uint32 = 0x07C04C
	IOCTL_DISK_SET_DRIVE_LAYOUT_EX   uint32 = 0x07C054
	IOCTL_DISK_CREATE_DISK           uint32 = 0x07C058
	IOCTL_DISK_UPDATE_DRIVE_SIZE     uint32 = 0x07C0C8
	IOCTL_DISK_GROW_PARTITION        uint32 = 0x07C0D0
	IOCTL_DISK_SET_DISK_ATTRIBUTES   uint32 = 0x07C0F4
	IOCTL_DISK_DELETE_DRIVE_LAYOUT   uint32 = 0x07C100
	IOCTL_DISK_RESET_SNAPSHOT_INFO   uint32 = 0x07C210

	IOCTL_STORAGE_CHECK_VERIFY2        uint32 = 0x2D0800
	IOCTL_STORAGE_GET_HOTPLUG_INFO     uint32 = 0x2D0C14
	IOCTL_STORAGE_GET_DEVICE_NUMBER    uint32 = 0x2D1080
	IOCTL_STORAGE_GET_DEVICE_NUMBER_EX uint32 = 0x2D1084
	IOCTL_STORAGE_QUERY_PROPERTY       uint32 = 0x2D1400
	IOCTL_STORAGE_FIND_NEW_DEVICES     uint32 = 0x2D4818

	IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS uint32 = 0x560000
	IOCTL_VOLUME_IS_CLUSTERED            uint32 = 0x560030
	IOCTL_VOLUME_GET_GPT_ATTRIBUTES      uint32 = 0x560038
	IOCTL_VOLUME_ONLINE                  uint32 = 0x56C008
	IOCTL_VOLUME_OFFLINE                 uint32 = 0x56C00C

	IOCTL_MOUNTMGR_QUERY_POINTS uint32 = 0x6D0008
)

// File system control codes (windows-api.md 0.1).
const (
	FSCTL_LOCK_VOLUME            uint32 = 0x090018
	FSCTL_UNLOCK_VOLUME          uint32 = 0x09001C
	FSCTL_DISMOUNT_VOLUME        uint32 = 0x090020
	FSCTL_IS_VOLUME_MOUNTED      uint32 = 0x090028
	FSCTL_GET_NTFS_VOLUME_DATA   uint32 = 0x090064
	FSCTL_IS_VOLUME_DIRTY        uint32 = 0x090078
	FSCTL_ALLOW_EXTENDED_DASD_IO uint32 = 0x090083
	FSCTL_SET_REPARSE_POINT      uint32 = 0x0900A4
	FSCTL_GET_REPARSE_POINT      uint32 = 0x0900A8
	FSCTL_DELETE_REPARSE_POINT   uint32 = 0x0900AC
	FSCTL_EXTEND_VOLUME          uint32 = 0x0900F0
	FSCTL_SHRINK_VOLUME          uint32 = 0x0901B0
	FSCTL_GET_REFS_VOLUME_DATA   uint32 = 0x0902D8
)

// RequiredAccess returns the rights that a handle must have for a control code,
// as the bits FILE_READ_DATA (1) and FILE_WRITE_DATA (2) of an access mask; 0
// means that any handle will do. A handle without them gets ERROR_ACCESS_DENIED
// (windows-api.md 0.1).
func RequiredAccess(code uint32) uint32 { return code >> 14 & 3 }

// MountPointManager is the device that answers IOCTL_MOUNTMGR_QUERY_POINTS.
const MountPointManager = `\\.\MountPointManager`

// Device interface classes (windows-api.md 1.1).
var (
	GUID_DEVINTERFACE_DISK        = GUID{0x53F56307, 0xB6BF, 0x11D0, [8]byte{0x94, 0xF2, 0x00, 0xA0, 0xC9, 0x1E, 0xFB, 0x8B}}
	GUID_DEVINTERFACE_PARTITION   = GUID{0x53F5630A, 0xB6BF, 0x11D0, [8]byte{0x94, 0xF2, 0x00, 0xA0, 0xC9, 0x1E, 0xFB, 0x8B}}
	GUID_DEVINTERFACE_VOLUME      = GUID{0x53F5630D, 0xB6BF, 0x11D0, [8]byte{0x94, 0xF2, 0x00, 0xA0, 0xC9, 0x1E, 0xFB, 0x8B}}
	GUID_DEVINTERFACE_STORAGEPORT = GUID{0x2ACCFE60, 0xC130, 0x11D2, [8]byte{0xB0, 0x82, 0x00, 0xA0, 0xC9, 0x1E, 0xFB, 0x8B}}
)

// GPT partition types (windows-api.md 5.1).
var (
	PARTITION_SYSTEM_GUID        = GUID{0xC12A7328, 0xF81F, 0x11D2, [8]byte{0xBA, 0x4B, 0x00, 0xA0, 0xC9, 0x3E, 0xC9, 0x3B}}
	PARTITION_MSFT_RESERVED_GUID = GUID{0xE3C9E316, 0x0B5C, 0x4DB8, [8]byte{0x81, 0x7D, 0xF9, 0x2D, 0xF0, 0x02, 0x15, 0xAE}}
	PARTITION_BASIC_DATA_GUID    = GUID{0xEBD0A0A2, 0xB9E5, 0x4433, [8]byte{0x87, 0xC0, 0x68, 0xB6, 0xB7, 0x26, 0x99, 0xC7}}
	PARTITION_LDM_METADATA_GUID  = GUID{0x5808C8AA, 0x7E8F, 0x42E0, [8]byte{0x85, 0xD2, 0xE1, 0xE9, 0x04, 0x34, 0xCF, 0xB3}}
	PARTITION_LDM_DATA_GUID      = GUID{0xAF9B60A0, 0x1431, 0x4F62, [8]byte{0xBC, 0x68, 0x33, 0x11, 0x71, 0x4A, 0x69, 0xAD}}
	PARTITION_MSFT_RECOVERY_GUID = GUID{0xDE94BBA4, 0x06D1, 0x4D40, [8]byte{0xA1, 0x6A, 0xBF, 0xD5, 0x01, 0x79, 0xD6, 0xAC}}
	PARTITION_SPACES_GUID        = GUID{0xE75CAF8F, 0xF680, 0x4CEE, [8]byte{0xAF, 0xA3, 0xB0, 0x01, 0xE5, 0x6E, 0xFC, 0x2D}}
)

// Attribute bits of a GPT partition (windows-api.md 5.1).
const (
	GPT_ATTRIBUTE_PLATFORM_REQUIRED          uint64 = 0x0000_0000_0000_0001
	GPT_BASIC_DATA_ATTRIBUTE_READ_ONLY       uint64 = 0x1000_0000_0000_0000
	GPT_BASIC_DATA_ATTRIBUTE_SHADOW_COPY     uint64 = 0x2000_0000_0000_0000
	GPT_BASIC_DATA_ATTRIBUTE_HIDDEN          uint64 = 0x4000_0000_0000_0000
	GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER uint64 = 0x8000_0000_0000_0000
)

// MBR partition types (winioctl.h).
const (
	PARTITION_ENTRY_UNUSED    byte = 0x00
	PARTITION_EXTENDED        byte = 0x05
	PARTITION_IFS             byte = 0x07 // NTFS, exFAT
	PARTITION_FAT32           byte = 0x0B
	PARTITION_FAT32_XINT13    byte = 0x0C
	PARTITION_XINT13          byte = 0x0E
	PARTITION_XINT13_EXTENDED byte = 0x0F
	PARTITION_MSFT_RECOVERY   byte = 0x27
	PARTITION_LDM             byte = 0x42
	PARTITION_GPT             byte = 0xEE // the protective entry of a GPT disk
	PARTITION_SYSTEM          byte = 0xEF
)

// Bits of GET_DISK_ATTRIBUTES and SET_DISK_ATTRIBUTES (windows-api.md 4).
const (
	DISK_ATTRIBUTE_OFFLINE   uint64 = 0x1
	DISK_ATTRIBUTE_READ_ONLY uint64 = 0x2
)

// File attribute bits (winnt.h).
const (
	FILE_ATTRIBUTE_READONLY      uint32 = 0x0001
	FILE_ATTRIBUTE_HIDDEN        uint32 = 0x0002
	FILE_ATTRIBUTE_SYSTEM        uint32 = 0x0004
	FILE_ATTRIBUTE_DIRECTORY     uint32 = 0x0010
	FILE_ATTRIBUTE_ARCHIVE       uint32 = 0x0020
	FILE_ATTRIBUTE_NORMAL        uint32 = 0x0080
	FILE_ATTRIBUTE_REPARSE_POINT uint32 = 0x0400
)

// Device types of STORAGE_DEVICE_NUMBER (windows-api.md 1.2).
const (
	FILE_DEVICE_CD_ROM uint32 = 0x02
	FILE_DEVICE_DISK   uint32 = 0x07
)

// ReparseTag says what a reparse point is. Compare tags by equality.
type ReparseTag uint32

// Reparse tags (windows-api.md 8.1). A mount point is a mounted volume or a
// junction.
const (
	IO_REPARSE_TAG_MOUNT_POINT ReparseTag = 0xA000_0003
	IO_REPARSE_TAG_SYMLINK     ReparseTag = 0xA000_000C
	IO_REPARSE_TAG_DEDUP       ReparseTag = 0x8000_0013
	IO_REPARSE_TAG_CLOUD       ReparseTag = 0x9000_001A
	IO_REPARSE_TAG_APPEXECLINK ReparseTag = 0x8000_001B
	IO_REPARSE_TAG_AF_UNIX     ReparseTag = 0x8000_0023
)

// NameSurrogate reports whether a point of this tag stands for another named
// object.
func (t ReparseTag) NameSurrogate() bool { return t&0x2000_0000 != 0 }

// microsoft reports whether the tag is one of Microsoft's, whose points carry
// no GUID.
func (t ReparseTag) microsoft() bool { return t&0x8000_0000 != 0 }

// PartitionStyle is the kind of partition table as the control codes number
// it. WMI numbers it otherwise (windows-api.md 5.1).
type PartitionStyle uint32

// Partition styles.
const (
	PartitionStyleMBR PartitionStyle = 0
	PartitionStyleGPT PartitionStyle = 1
	PartitionStyleRAW PartitionStyle = 2 // no table
)

func (s PartitionStyle) String() string {
	switch s {
	case PartitionStyleMBR:
		return "MBR"
	case PartitionStyleGPT:
		return "GPT"
	case PartitionStyleRAW:
		return "RAW"
	}
	return "partition style " + strconv.FormatUint(uint64(s), 10)
}

// BusType is a STORAGE_BUS_TYPE; MSFT_Disk.BusType has the same numbers
// (windows-api.md 2.2).
type BusType uint32

// Bus types.
const (
	BusTypeUnknown           BusType = 0
	BusTypeSCSI              BusType = 1
	BusTypeATAPI             BusType = 2
	BusTypeATA               BusType = 3
	BusType1394              BusType = 4
	BusTypeSSA               BusType = 5
	BusTypeFibre             BusType = 6
	BusTypeUSB               BusType = 7
	BusTypeRAID              BusType = 8
	BusTypeISCSI             BusType = 9
	BusTypeSAS               BusType = 10
	BusTypeSATA              BusType = 11
	BusTypeSD                BusType = 12
	BusTypeMMC               BusType = 13
	BusTypeVirtual           BusType = 14
	BusTypeFileBackedVirtual BusType = 15
	BusTypeSpaces            BusType = 16
	BusTypeNVMe              BusType = 17
	BusTypeSCM               BusType = 18
	BusTypeUFS               BusType = 19
)

var busTypeNames = [...]string{
	"Unknown", "SCSI", "ATAPI", "ATA", "1394", "SSA", "Fibre Channel", "USB",
	"RAID", "iSCSI", "SAS", "SATA", "SD", "MMC", "Virtual",
	"File Backed Virtual", "Storage Spaces", "NVMe", "SCM", "UFS",
}

func (t BusType) String() string { return nameOf(busTypeNames[:], "bus type", uint32(t)) }

// nameOf names a number of a kind by its place in a list.
func nameOf(names []string, kind string, number uint32) string {
	if uint64(number) < uint64(len(names)) {
		return names[number]
	}
	return kind + " " + strconv.FormatUint(uint64(number), 10)
}

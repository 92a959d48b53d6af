/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structures and numbers of internal/win/abi as mingw-w64's headers lay
 * them out, each field with a value of its own.
 */
#define WIN32_LEAN_AND_MEAN
#define _WIN32_WINNT 0x0A00
#define NTDDI_VERSION 0x0A000006 /* Windows 10 1809, Server 2019 */
#define COBJMACROS
#include <stddef.h>
#include <windows.h>
#include "golden.h"

/* The GUIDs of the headers are variables, so they are recorded where the
 * headers define them. */
#undef DEFINE_GUID
#define DEFINE_GUID(name, l, w1, w2, ...) BYTES(#name, GUID, {l, w1, w2, {__VA_ARGS__}})
#include <diskguid.h>
#include <winioctl.h>
#undef DEFINE_GUID
#define DEFINE_GUID(name, ...)

#include <ntddscsi.h>
#include <nvme.h>
#include <ddk/mountmgr.h>
#include <objidl.h>
#include <wbemcli.h>

/* What mingw-w64's headers lack, from windows-api.md. */
HAND_MADE("PARTITION_SPACES_GUID")
BYTES("PARTITION_SPACES_GUID", GUID, {0xE75CAF8F, 0xF680, 0x4CEE, {0xAF, 0xA3, 0xB0, 0x01, 0xE5, 0x6E, 0xFC, 0x2D}})

#ifndef IOCTL_DISK_GET_DISK_ATTRIBUTES
HAND_MADE("IOCTL_DISK_GET_DISK_ATTRIBUTES")
HAND_MADE("IOCTL_DISK_SET_DISK_ATTRIBUTES")
HAND_MADE("DISK_ATTRIBUTE_OFFLINE")
HAND_MADE("DISK_ATTRIBUTE_READ_ONLY")
HAND_MADE("GET_DISK_ATTRIBUTES")
HAND_MADE("SET_DISK_ATTRIBUTES")
#define IOCTL_DISK_GET_DISK_ATTRIBUTES CTL_CODE(IOCTL_DISK_BASE, 0x3C, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_DISK_SET_DISK_ATTRIBUTES CTL_CODE(IOCTL_DISK_BASE, 0x3D, METHOD_BUFFERED, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define DISK_ATTRIBUTE_OFFLINE 1
#define DISK_ATTRIBUTE_READ_ONLY 2
typedef struct _GET_DISK_ATTRIBUTES {
  DWORD Version;
  DWORD Reserved1;
  DWORDLONG Attributes;
} GET_DISK_ATTRIBUTES;
typedef struct _SET_DISK_ATTRIBUTES {
  DWORD Version;
  BOOLEAN Persist;
  BYTE Reserved1[3];
  DWORDLONG Attributes;
  DWORDLONG AttributesMask;
  DWORD Reserved2[4];
} SET_DISK_ATTRIBUTES;
#endif
#ifndef FSCTL_GET_REFS_VOLUME_DATA
HAND_MADE("FSCTL_GET_REFS_VOLUME_DATA")
#define FSCTL_GET_REFS_VOLUME_DATA CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 182, METHOD_BUFFERED, FILE_ANY_ACCESS)
#endif
#ifndef PARTITION_MSFT_RECOVERY
HAND_MADE("PARTITION_MSFT_RECOVERY")
#define PARTITION_MSFT_RECOVERY 0x27
#endif
#ifndef PARTITION_GPT
HAND_MADE("PARTITION_GPT")
#define PARTITION_GPT 0xEE
#endif
#ifndef PARTITION_SYSTEM
HAND_MADE("PARTITION_SYSTEM")
#define PARTITION_SYSTEM 0xEF
#endif
#ifndef ERROR_SMB_GUEST_LOGON_BLOCKED
HAND_MADE("ERROR_SMB_GUEST_LOGON_BLOCKED")
#define ERROR_SMB_GUEST_LOGON_BLOCKED 1272
#endif
#ifndef ERROR_NO_SUCH_DEVICE
HAND_MADE("ERROR_NO_SUCH_DEVICE")
#define ERROR_NO_SUCH_DEVICE 433
#endif
/* codes.go shortens this name. */
#define WBEM_E_INVALID_METHOD_PARAMS WBEM_E_INVALID_METHOD_PARAMETERS
/* The header hides the class behind a version that does not exist. */
HAND_MADE("FileDispositionInfoEx")
NUMBER("FileDispositionInfoEx", FileIdExtdDirectoryRestartInfo + 1)

/* Every constant that codes.go and its neighbours name as Windows does; run.sh
 * writes the list. */
#include "constants.inc"

/* Enumerators, which Go names in its own way. */
CONSTANT(PARTITION_STYLE_MBR)
CONSTANT(PARTITION_STYLE_GPT)
CONSTANT(PARTITION_STYLE_RAW)
CONSTANT(BusTypeUnknown)
CONSTANT(BusTypeScsi)
CONSTANT(BusTypeAtapi)
CONSTANT(BusTypeAta)
CONSTANT(BusType1394)
CONSTANT(BusTypeSsa)
CONSTANT(BusTypeFibre)
CONSTANT(BusTypeUsb)
CONSTANT(BusTypeRAID)
CONSTANT(BusTypeiScsi)
CONSTANT(BusTypeSas)
CONSTANT(BusTypeSata)
CONSTANT(BusTypeSd)
CONSTANT(BusTypeMmc)
CONSTANT(BusTypeVirtual)
CONSTANT(BusTypeFileBackedVirtual)
CONSTANT(BusTypeSpaces)
CONSTANT(BusTypeNvme)
CONSTANT(BusTypeSCM)
CONSTANT(BusTypeUfs)
CONSTANT(STORAGE_DEVICE_FLAGS_RANDOM_DEVICEGUID_REASON_CONFLICT)
CONSTANT(STORAGE_DEVICE_FLAGS_RANDOM_DEVICEGUID_REASON_NOHWID)
CONSTANT(STORAGE_DEVICE_FLAGS_PAGE_83_DEVICEGUID)
CONSTANT(StorageDeviceProperty)
CONSTANT(StorageAdapterProperty)
CONSTANT(StorageDeviceIdProperty)
CONSTANT(StorageAccessAlignmentProperty)
CONSTANT(StorageAdapterProtocolSpecificProperty)
CONSTANT(StorageDeviceProtocolSpecificProperty)
CONSTANT(PropertyStandardQuery)
CONSTANT(PropertyExistsQuery)
CONSTANT(StorageIdCodeSetBinary)
CONSTANT(StorageIdCodeSetAscii)
CONSTANT(StorageIdCodeSetUtf8)
CONSTANT(StorageIdTypeVendorSpecific)
CONSTANT(StorageIdTypeVendorId)
CONSTANT(StorageIdTypeEUI64)
CONSTANT(StorageIdTypeFCPHName)
CONSTANT(StorageIdTypePortRelative)
CONSTANT(StorageIdTypeTargetPortGroup)
CONSTANT(StorageIdTypeLogicalUnitGroup)
CONSTANT(StorageIdTypeMD5LogicalUnitIdentifier)
CONSTANT(StorageIdTypeScsiNameString)
CONSTANT(StorageIdAssocDevice)
CONSTANT(StorageIdAssocPort)
CONSTANT(StorageIdAssocTarget)
CONSTANT(FixedMedia)
CONSTANT(FileBasicInfo)
CONSTANT(FileStandardInfo)
CONSTANT(FileDispositionInfo)
CONSTANT(FileAttributeTagInfo)
CONSTANT(FileIdBothDirectoryInfo)
CONSTANT(FileIdBothDirectoryRestartInfo)
CONSTANT(FileIdInfo)
CONSTANT(MAXIMUM_REPARSE_DATA_BUFFER_SIZE)
CONSTANT(NVME_IDENTIFY_CNS_SPECIFIC_NAMESPACE)
CONSTANT(NVME_IDENTIFY_CNS_CONTROLLER)
CONSTANT(ProtocolTypeNvme)
CONSTANT(NVMeDataTypeIdentify)

/* device.go */
SIZE(STORAGE_DEVICE_NUMBER)
BYTES("STORAGE_DEVICE_NUMBER", STORAGE_DEVICE_NUMBER, {.DeviceType = 7, .DeviceNumber = 0x01020304, .PartitionNumber = 0x05060708})

SIZE(STORAGE_DEVICE_NUMBER_EX)
BYTES("STORAGE_DEVICE_NUMBER_EX", STORAGE_DEVICE_NUMBER_EX,
      {.Version = sizeof(STORAGE_DEVICE_NUMBER_EX), .Size = sizeof(STORAGE_DEVICE_NUMBER_EX), .Flags = 4,
       .DeviceType = 7, .DeviceNumber = 0x01020304,
       .DeviceGuid = {0x11223344, 0x5566, 0x7788, {0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 0x01}},
       .PartitionNumber = 0x05060708})

SIZE(STORAGE_PROPERTY_QUERY)
FIELD(STORAGE_PROPERTY_QUERY, AdditionalParameters)
BYTES("STORAGE_PROPERTY_QUERY", STORAGE_PROPERTY_QUERY,
      {.PropertyId = StorageDeviceIdProperty, .QueryType = PropertyExistsQuery})

SIZE(STORAGE_DEVICE_DESCRIPTOR)
FIELD(STORAGE_DEVICE_DESCRIPTOR, RawDeviceProperties)
PART("STORAGE_DEVICE_DESCRIPTOR", STORAGE_DEVICE_DESCRIPTOR, RawDeviceProperties,
     {.Version = sizeof(STORAGE_DEVICE_DESCRIPTOR), .Size = 36 + 27, .DeviceType = 5, .RemovableMedia = 1,
      .VendorIdOffset = 36, .ProductIdOffset = 36 + 7, .ProductRevisionOffset = 36 + 15,
      .SerialNumberOffset = 36 + 19, .BusType = BusTypeNvme, .RawPropertiesLength = 27})
BYTES("STORAGE_DEVICE_DESCRIPTOR", struct { char text[27]; }, {"VENDOR\0PRODUCT\0REV\0SERIAL "})

SIZE(STORAGE_DEVICE_ID_DESCRIPTOR)
FIELD(STORAGE_DEVICE_ID_DESCRIPTOR, Identifiers)
FIELD(STORAGE_IDENTIFIER, Identifier)
PART("STORAGE_DEVICE_ID_DESCRIPTOR", STORAGE_DEVICE_ID_DESCRIPTOR, Identifiers,
     {.Version = sizeof(STORAGE_DEVICE_ID_DESCRIPTOR), .Size = 12 + 16 + 8 + 16 + 8, .NumberOfIdentifiers = 2})
PART("STORAGE_DEVICE_ID_DESCRIPTOR", STORAGE_IDENTIFIER, Identifier,
     {.CodeSet = StorageIdCodeSetBinary, .Type = StorageIdTypeFCPHName, .IdentifierSize = 7, .NextOffset = 24,
      .Association = StorageIdAssocDevice})
BYTES("STORAGE_DEVICE_ID_DESCRIPTOR", struct { BYTE value[8]; }, {{0x60, 0x02, 0x24, 0x80, 0x01, 0x02, 0x03}})
PART("STORAGE_DEVICE_ID_DESCRIPTOR", STORAGE_IDENTIFIER, Identifier,
     {.CodeSet = StorageIdCodeSetAscii, .Type = StorageIdTypeVendorId, .IdentifierSize = 8,
      .Association = StorageIdAssocTarget})
BYTES("STORAGE_DEVICE_ID_DESCRIPTOR", struct { char value[8]; }, {"Google  "})

SIZE(STORAGE_ADAPTER_DESCRIPTOR)
BYTES("STORAGE_ADAPTER_DESCRIPTOR", STORAGE_ADAPTER_DESCRIPTOR,
      {.Version = sizeof(STORAGE_ADAPTER_DESCRIPTOR), .Size = sizeof(STORAGE_ADAPTER_DESCRIPTOR), .BusType = BusTypeSas})

SIZE(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR)
BYTES("STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR", STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR,
      {.Version = sizeof(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR), .Size = sizeof(STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR),
       .BytesPerCacheLine = 64, .BytesOffsetForCacheAlignment = 8, .BytesPerLogicalSector = 512,
       .BytesPerPhysicalSector = 4096, .BytesOffsetForSectorAlignment = 1024})

SIZE(SCSI_ADDRESS)
BYTES("SCSI_ADDRESS", SCSI_ADDRESS,
      {.Length = sizeof(SCSI_ADDRESS), .PortNumber = 1, .PathId = 2, .TargetId = 3, .Lun = 4})

/* nvme.go */
SIZE(STORAGE_PROTOCOL_SPECIFIC_DATA)
SIZE(STORAGE_PROTOCOL_DATA_DESCRIPTOR)
PART("NVMe identify query", STORAGE_PROPERTY_QUERY, AdditionalParameters,
     {.PropertyId = StorageDeviceProtocolSpecificProperty, .QueryType = PropertyStandardQuery})
BYTES("NVMe identify query", STORAGE_PROTOCOL_SPECIFIC_DATA,
      {.ProtocolType = ProtocolTypeNvme, .DataType = NVMeDataTypeIdentify,
       .ProtocolDataRequestValue = NVME_IDENTIFY_CNS_SPECIFIC_NAMESPACE, .ProtocolDataRequestSubValue = 5,
       .ProtocolDataOffset = sizeof(STORAGE_PROTOCOL_SPECIFIC_DATA), .ProtocolDataLength = 4096})
BYTES("NVMe identify reply", STORAGE_PROTOCOL_DATA_DESCRIPTOR,
      {.Version = sizeof(STORAGE_PROTOCOL_DATA_DESCRIPTOR), .Size = sizeof(STORAGE_PROTOCOL_DATA_DESCRIPTOR),
       .ProtocolSpecificData = {.ProtocolType = ProtocolTypeNvme, .DataType = NVMeDataTypeIdentify,
                                .ProtocolDataRequestValue = NVME_IDENTIFY_CNS_CONTROLLER,
                                .ProtocolDataOffset = sizeof(STORAGE_PROTOCOL_SPECIFIC_DATA),
                                .ProtocolDataLength = 4096}})
SIZE(NVME_IDENTIFY_CONTROLLER_DATA)
PART("NVME_IDENTIFY_CONTROLLER_DATA", NVME_IDENTIFY_CONTROLLER_DATA, RAB,
     {.VID = 0x1D0F, .SN = "vol0123456789abcdef0", .MN = "Amazon Elastic Block Store              ", .FR = "1.0     "})
SIZE(NVME_IDENTIFY_NAMESPACE_DATA)
FIELD(NVME_IDENTIFY_NAMESPACE_DATA, VS)
BYTES("NVME_IDENTIFY_NAMESPACE_DATA", NVME_IDENTIFY_NAMESPACE_DATA,
      {.NSZE = 0x0102030405060708,
       .NGUID = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
       .EUI64 = {17, 18, 19, 20, 21, 22, 23, 24},
       .VS = {25, 26, 27, [3711] = 28}})

/* disk.go */
SIZE(DISK_GEOMETRY)
SIZE(DISK_GEOMETRY_EX)
BYTES("DISK_GEOMETRY_EX", DISK_GEOMETRY_EX,
      {.Geometry = {.Cylinders.QuadPart = 0x0102030405060708, .MediaType = FixedMedia, .TracksPerCylinder = 255,
                    .SectorsPerTrack = 63, .BytesPerSector = 4096},
       .DiskSize.QuadPart = 0x1112131415161718})
SIZE(GET_LENGTH_INFORMATION)
BYTES("GET_LENGTH_INFORMATION", GET_LENGTH_INFORMATION, {.Length.QuadPart = 0x0102030405060708})
SIZE(GET_DISK_ATTRIBUTES)
BYTES("GET_DISK_ATTRIBUTES", GET_DISK_ATTRIBUTES, {.Version = sizeof(GET_DISK_ATTRIBUTES), .Attributes = 3})
SIZE(SET_DISK_ATTRIBUTES)
BYTES("SET_DISK_ATTRIBUTES", SET_DISK_ATTRIBUTES,
      {.Version = sizeof(SET_DISK_ATTRIBUTES), .Persist = 1, .Attributes = 2, .AttributesMask = 3})
SIZE(DISK_GROW_PARTITION)
BYTES("DISK_GROW_PARTITION", DISK_GROW_PARTITION, {.PartitionNumber = 2, .BytesToGrow.QuadPart = 0x0102030405060708})

SIZE(PARTITION_INFORMATION_EX)
FIELD(DRIVE_LAYOUT_INFORMATION_EX, PartitionEntry)
PART("DRIVE_LAYOUT_INFORMATION_EX GPT", DRIVE_LAYOUT_INFORMATION_EX, PartitionEntry,
     {.PartitionStyle = PARTITION_STYLE_GPT, .PartitionCount = 2,
      .Gpt = {.DiskId = {0x11223344, 0x5566, 0x7788, {0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 0x01}},
              .StartingUsableOffset.QuadPart = 17408, .UsableLength.QuadPart = 0x0102030405060708,
              .MaxPartitionCount = 128}})
BYTES("DRIVE_LAYOUT_INFORMATION_EX GPT", PARTITION_INFORMATION_EX,
      {.PartitionStyle = PARTITION_STYLE_GPT, .StartingOffset.QuadPart = 17408, .PartitionLength.QuadPart = 16759808,
       .PartitionNumber = 1, .IsServicePartition = 1,
       .Gpt = {.PartitionType = {0xE3C9E316, 0x0B5C, 0x4DB8, {0x81, 0x7D, 0xF9, 0x2D, 0xF0, 0x02, 0x15, 0xAE}},
               .PartitionId = {1, 2, 3, {4, 5, 6, 7, 8, 9, 10, 11}},
               .Attributes = 0x8000000000000001, .Name = L"Microsoft reserved partition"}})
BYTES("DRIVE_LAYOUT_INFORMATION_EX GPT", PARTITION_INFORMATION_EX,
      {.PartitionStyle = PARTITION_STYLE_GPT, .StartingOffset.QuadPart = 0x1000000, .PartitionLength.QuadPart = 0x2122232425262728,
       .PartitionNumber = 2, .RewritePartition = 1,
       .Gpt = {.PartitionType = {0xEBD0A0A2, 0xB9E5, 0x4433, {0x87, 0xC0, 0x68, 0xB6, 0xB7, 0x26, 0x99, 0xC7}},
               .PartitionId = {12, 13, 14, {15, 16, 17, 18, 19, 20, 21, 22}},
               .Name = L"123456789012345678901234567890123456"}})
PART("DRIVE_LAYOUT_INFORMATION_EX MBR", DRIVE_LAYOUT_INFORMATION_EX, PartitionEntry,
     {.PartitionStyle = PARTITION_STYLE_MBR, .PartitionCount = 1, .Mbr = {.Signature = 0xA1B2C3D4}})
BYTES("DRIVE_LAYOUT_INFORMATION_EX MBR", PARTITION_INFORMATION_EX,
      {.PartitionStyle = PARTITION_STYLE_MBR, .StartingOffset.QuadPart = 1048576, .PartitionLength.QuadPart = 0x3132333435363738,
       .PartitionNumber = 1,
       .Mbr = {.PartitionType = 7, .BootIndicator = 1, .RecognizedPartition = 1, .HiddenSectors = 2048,
               .PartitionId = {23, 24, 25, {26, 27, 28, 29, 30, 31, 32, 33}}}})
/* The header's DRIVE_LAYOUT_INFORMATION_MBR lacks the checksum. */
HAND_MADE("DRIVE_LAYOUT_INFORMATION_MBR.CheckSum")

/* volume.go */
SIZE(DISK_EXTENT)
FIELD(VOLUME_DISK_EXTENTS, Extents)
PART("VOLUME_DISK_EXTENTS", VOLUME_DISK_EXTENTS, Extents, {.NumberOfDiskExtents = 2})
BYTES("VOLUME_DISK_EXTENTS", DISK_EXTENT,
      {.DiskNumber = 3, .StartingOffset.QuadPart = 0x0102030405060708, .ExtentLength.QuadPart = 0x1112131415161718})
BYTES("VOLUME_DISK_EXTENTS", DISK_EXTENT,
      {.DiskNumber = 4, .StartingOffset.QuadPart = 0x2122232425262728, .ExtentLength.QuadPart = 0x3132333435363738})
SIZE(NTFS_VOLUME_DATA_BUFFER)
BYTES("NTFS_VOLUME_DATA_BUFFER", NTFS_VOLUME_DATA_BUFFER,
      {.VolumeSerialNumber.QuadPart = 0x0102030405060708, .NumberSectors.QuadPart = 0x1112131415161718,
       .TotalClusters.QuadPart = 0x2122232425262728, .FreeClusters.QuadPart = 0x3132333435363738,
       .BytesPerSector = 512, .BytesPerCluster = 4096})
HAND_MADE("FSCTL_EXTEND_VOLUME input")
BYTES("FSCTL_EXTEND_VOLUME input", LONGLONG, 0x0102030405060708)

/* mountmgr.go */
SIZE(MOUNTMGR_MOUNT_POINT)
FIELD(MOUNTMGR_MOUNT_POINTS, MountPoints)
BYTES("MOUNTMGR_MOUNT_POINT", MOUNTMGR_MOUNT_POINT, {.UniqueIdOffset = 24, .UniqueIdLength = 12})
BYTES("MOUNTMGR_MOUNT_POINT", struct { BYTE id[12]; }, {{0xD4, 0xC3, 0xB2, 0xA1, 0, 0, 0x10, 0, 0, 0, 0, 0}})
PART("MOUNTMGR_MOUNT_POINTS", MOUNTMGR_MOUNT_POINTS, MountPoints,
     {.Size = 8 + 2 * 24 + 28 + 24 + 46 + 28 + 12, .NumberOfMountPoints = 2})
BYTES("MOUNTMGR_MOUNT_POINTS", MOUNTMGR_MOUNT_POINT,
      {.SymbolicLinkNameOffset = 56, .SymbolicLinkNameLength = 28, .UniqueIdOffset = 84, .UniqueIdLength = 24,
       .DeviceNameOffset = 108, .DeviceNameLength = 46})
BYTES("MOUNTMGR_MOUNT_POINTS", MOUNTMGR_MOUNT_POINT,
      {.SymbolicLinkNameOffset = 154, .SymbolicLinkNameLength = 28, .UniqueIdOffset = 182, .UniqueIdLength = 12})
BYTES("MOUNTMGR_MOUNT_POINTS", struct { WCHAR name[14]; }, {L"\\DosDevices\\C:"})
HAND_MADE("unique id of a GPT volume")
BYTES("MOUNTMGR_MOUNT_POINTS", struct { char prefix[8]; GUID id; },
      {"DMIO:ID:", {0x11223344, 0x5566, 0x7788, {0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 0x01}}})
BYTES("MOUNTMGR_MOUNT_POINTS", struct { WCHAR name[23]; }, {L"\\Device\\HarddiskVolume3"})
BYTES("MOUNTMGR_MOUNT_POINTS", struct { WCHAR name[14]; }, {L"\\DosDevices\\D:"})
HAND_MADE("unique id of an MBR volume")
BYTES("MOUNTMGR_MOUNT_POINTS", struct __attribute__((packed)) { DWORD signature; LONGLONG offset; }, {0xA1B2C3D4, 1048576})

/* file.go */
SIZE(FILE_BASIC_INFO)
BYTES("FILE_BASIC_INFO", FILE_BASIC_INFO,
      {.CreationTime.QuadPart = 0x0102030405060708, .LastAccessTime.QuadPart = 0x1112131415161718,
       .LastWriteTime.QuadPart = 0x2122232425262728, .ChangeTime.QuadPart = 0x3132333435363738, .FileAttributes = 0x421})
SIZE(FILE_STANDARD_INFO)
BYTES("FILE_STANDARD_INFO", FILE_STANDARD_INFO,
      {.AllocationSize.QuadPart = 0x0102030405060708, .EndOfFile.QuadPart = 0x1112131415161718,
       .NumberOfLinks = 2, .DeletePending = 0, .Directory = 1})
SIZE(FILE_ATTRIBUTE_TAG_INFO)
BYTES("FILE_ATTRIBUTE_TAG_INFO", FILE_ATTRIBUTE_TAG_INFO,
      {.FileAttributes = 0x410, .ReparseTag = IO_REPARSE_TAG_MOUNT_POINT})
SIZE(FILE_ID_INFO)
BYTES("FILE_ID_INFO", FILE_ID_INFO,
      {.VolumeSerialNumber = 0x0102030405060708, .FileId = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}})
SIZE(FILE_DISPOSITION_INFO)
BYTES("FILE_DISPOSITION_INFO", FILE_DISPOSITION_INFO, {.DeleteFile = 1})
SIZE(FILE_DISPOSITION_INFO_EX)
BYTES("FILE_DISPOSITION_INFO_EX", FILE_DISPOSITION_INFO_EX, {.Flags = 0x13})
FIELD(FILE_ID_BOTH_DIR_INFO, FileName)
PART("FILE_ID_BOTH_DIR_INFO", FILE_ID_BOTH_DIR_INFO, FileName,
     {.NextEntryOffset = 112, .LastWriteTime.QuadPart = 0x0102030405060708, .EndOfFile.QuadPart = 0x1112131415161718,
      .FileAttributes = 0x20, .FileNameLength = 6, .FileId.QuadPart = 0x2122232425262728})
BYTES("FILE_ID_BOTH_DIR_INFO", struct { WCHAR name[4]; }, {L"abc"})
PART("FILE_ID_BOTH_DIR_INFO", FILE_ID_BOTH_DIR_INFO, FileName,
     {.LastWriteTime.QuadPart = 0x3132333435363738, .FileAttributes = 0x410, .FileNameLength = 8,
      .EaSize = IO_REPARSE_TAG_SYMLINK, .FileId.QuadPart = 0x4142434445464748})
BYTES("FILE_ID_BOTH_DIR_INFO", struct { WCHAR name[4]; }, {L"link"})

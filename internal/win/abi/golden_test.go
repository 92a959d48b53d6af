// SPDX-License-Identifier: Apache-2.0

package abi_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	. "github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// golden is testdata/golden.json: what mingw-w64's headers say. After a change
// of constants or layouts, run test/abi-golden/run.sh.
type golden struct {
	HandMade []string
	Numbers  map[string]uint64
	Bytes    map[string]string
}

func readGolden(t testing.TB) golden {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// number returns a number, failing where there is none.
func (g golden) number(t testing.TB, name string) uint64 {
	t.Helper()
	n, ok := g.Numbers[name]
	if !ok {
		t.Fatalf("golden.json has no %s; run test/abi-golden/run.sh", name)
	}
	return n
}

// bytes returns the bytes of a structure, failing where there are none.
func (g golden) bytes(t testing.TB, name string) []byte {
	t.Helper()
	b, err := hex.DecodeString(g.Bytes[name])
	if err != nil || len(b) == 0 {
		t.Fatalf("golden.json has no bytes of %s (%v); run test/abi-golden/run.sh", name, err)
	}
	return b
}

func TestConstantsAreThoseOfTheHeaders(t *testing.T) {
	g := readGolden(t)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range append(files, "../codes.go", "../services.go") {
		for name, value := range windowsConstants(t, file) {
			want := g.number(t, name)
			if strings.HasPrefix(name, "RPC_S_") { // a Win32 code as HRESULT
				want |= 0x8007_0000
			}
			if value != want {
				t.Errorf("%s: %s is %#x, want %#x", file, name, value, want)
			}
			seen++
		}
	}
	if seen < 150 {
		t.Errorf("only %d constants found", seen)
	}
}

// windowsConstants returns the constants of a file that are spelled as in C.
func windowsConstants(t *testing.T, file string) map[string]uint64 {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	spelling := regexp.MustCompile(`^[A-Z][A-Z0-9]*_[A-Z0-9_]+$`)
	found := map[string]uint64{}
	for _, declaration := range tree.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			if len(value.Values) != 1 || !spelling.MatchString(value.Names[0].Name) {
				continue
			}
			literal, ok := value.Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s: %s is no literal", file, value.Names[0].Name)
			}
			n, exact := constant.Uint64Val(constant.MakeFromLiteral(literal.Value, literal.Kind, 0))
			if !exact {
				t.Fatalf("%s: %s is no integer", file, value.Names[0].Name)
			}
			found[value.Names[0].Name] = n
		}
	}
	return found
}

func TestGUIDsAreThoseOfTheHeaders(t *testing.T) {
	g := readGolden(t)
	for name, guid := range map[string]GUID{
		"GUID_DEVINTERFACE_DISK":        GUID_DEVINTERFACE_DISK,
		"GUID_DEVINTERFACE_PARTITION":   GUID_DEVINTERFACE_PARTITION,
		"GUID_DEVINTERFACE_VOLUME":      GUID_DEVINTERFACE_VOLUME,
		"GUID_DEVINTERFACE_STORAGEPORT": GUID_DEVINTERFACE_STORAGEPORT,
		"PARTITION_SYSTEM_GUID":         PARTITION_SYSTEM_GUID,
		"PARTITION_MSFT_RESERVED_GUID":  PARTITION_MSFT_RESERVED_GUID,
		"PARTITION_BASIC_DATA_GUID":     PARTITION_BASIC_DATA_GUID,
		"PARTITION_LDM_METADATA_GUID":   PARTITION_LDM_METADATA_GUID,
		"PARTITION_LDM_DATA_GUID":       PARTITION_LDM_DATA_GUID,
		"PARTITION_MSFT_RECOVERY_GUID":  PARTITION_MSFT_RECOVERY_GUID,
		"PARTITION_SPACES_GUID":         PARTITION_SPACES_GUID,
	} {
		want := g.bytes(t, name)
		if got := DecodeGUID(want); got != guid {
			t.Errorf("%s is %s, want %s", name, guid, got)
		}
		got := make([]byte, GUIDSize)
		guid.Put(got)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: bytes %x, want %x", name, got, want)
		}
	}
}

func TestEnumeratorsAndSizesAreThoseOfTheHeaders(t *testing.T) {
	g := readGolden(t)
	for name, value := range map[string]uint64{
		"PARTITION_STYLE_MBR": uint64(PartitionStyleMBR),
		"PARTITION_STYLE_GPT": uint64(PartitionStyleGPT),
		"PARTITION_STYLE_RAW": uint64(PartitionStyleRAW),

		"BusTypeUnknown":           uint64(BusTypeUnknown),
		"BusTypeScsi":              uint64(BusTypeSCSI),
		"BusTypeAtapi":             uint64(BusTypeATAPI),
		"BusTypeAta":               uint64(BusTypeATA),
		"BusType1394":              uint64(BusType1394),
		"BusTypeSsa":               uint64(BusTypeSSA),
		"BusTypeFibre":             uint64(BusTypeFibre),
		"BusTypeUsb":               uint64(BusTypeUSB),
		"BusTypeRAID":              uint64(BusTypeRAID),
		"BusTypeiScsi":             uint64(BusTypeISCSI),
		"BusTypeSas":               uint64(BusTypeSAS),
		"BusTypeSata":              uint64(BusTypeSATA),
		"BusTypeSd":                uint64(BusTypeSD),
		"BusTypeMmc":               uint64(BusTypeMMC),
		"BusTypeVirtual":           uint64(BusTypeVirtual),
		"BusTypeFileBackedVirtual": uint64(BusTypeFileBackedVirtual),
		"BusTypeSpaces":            uint64(BusTypeSpaces),
		"BusTypeNvme":              uint64(BusTypeNVMe),
		"BusTypeSCM":               uint64(BusTypeSCM),
		"BusTypeUfs":               uint64(BusTypeUFS),

		"STORAGE_DEVICE_FLAGS_RANDOM_DEVICEGUID_REASON_CONFLICT": uint64(DeviceGUIDRandomConflict),
		"STORAGE_DEVICE_FLAGS_RANDOM_DEVICEGUID_REASON_NOHWID":   uint64(DeviceGUIDRandomNoID),
		"STORAGE_DEVICE_FLAGS_PAGE_83_DEVICEGUID":                uint64(DeviceGUIDFromPage83),

		"StorageDeviceProperty":                  uint64(PropertyDevice),
		"StorageAdapterProperty":                 uint64(PropertyAdapter),
		"StorageDeviceIdProperty":                uint64(PropertyDeviceID),
		"StorageAccessAlignmentProperty":         uint64(PropertyAccessAlignment),
		"StorageAdapterProtocolSpecificProperty": uint64(PropertyAdapterProtocol),
		"StorageDeviceProtocolSpecificProperty":  uint64(PropertyDeviceProtocol),
		"PropertyStandardQuery":                  uint64(QueryStandard),
		"PropertyExistsQuery":                    uint64(QueryExists),

		"StorageIdCodeSetBinary":                uint64(CodeSetBinary),
		"StorageIdCodeSetAscii":                 uint64(CodeSetASCII),
		"StorageIdCodeSetUtf8":                  uint64(CodeSetUTF8),
		"StorageIdTypeVendorSpecific":           uint64(IdentifierVendorSpecific),
		"StorageIdTypeVendorId":                 uint64(IdentifierVendorID),
		"StorageIdTypeEUI64":                    uint64(IdentifierEUI64),
		"StorageIdTypeFCPHName":                 uint64(IdentifierNAA),
		"StorageIdTypePortRelative":             uint64(IdentifierPortRelative),
		"StorageIdTypeTargetPortGroup":          uint64(IdentifierTargetPortGroup),
		"StorageIdTypeLogicalUnitGroup":         uint64(IdentifierLogicalUnitGroup),
		"StorageIdTypeMD5LogicalUnitIdentifier": uint64(IdentifierMD5),
		"StorageIdTypeScsiNameString":           uint64(IdentifierSCSIName),
		"StorageIdAssocDevice":                  uint64(AssociationDevice),
		"StorageIdAssocPort":                    uint64(AssociationPort),
		"StorageIdAssocTarget":                  uint64(AssociationTarget),

		"FixedMedia":                           uint64(MediaTypeFixed),
		"NVME_IDENTIFY_CNS_SPECIFIC_NAMESPACE": uint64(CNSNamespace),
		"NVME_IDENTIFY_CNS_CONTROLLER":         uint64(CNSController),
		"MAXIMUM_REPARSE_DATA_BUFFER_SIZE":     MaxReparsePointSize,

		"FileBasicInfo":                  uint64(FileBasicInfoClass),
		"FileStandardInfo":               uint64(FileStandardInfoClass),
		"FileDispositionInfo":            uint64(FileDispositionInfoClass),
		"FileAttributeTagInfo":           uint64(FileAttributeTagInfoClass),
		"FileIdBothDirectoryInfo":        uint64(FileIDBothDirectoryInfoClass),
		"FileIdBothDirectoryRestartInfo": uint64(FileIDBothDirectoryRestartClass),
		"FileIdInfo":                     uint64(FileIDInfoClass),
		"FileDispositionInfoEx":          uint64(FileDispositionInfoExClass),

		"sizeof(STORAGE_DEVICE_NUMBER)":         DeviceNumberSize,
		"sizeof(STORAGE_DEVICE_NUMBER_EX)":      DeviceNumberExSize,
		"sizeof(SCSI_ADDRESS)":                  SCSIAddressSize,
		"sizeof(NVME_IDENTIFY_CONTROLLER_DATA)": IdentifySize,
		"sizeof(NVME_IDENTIFY_NAMESPACE_DATA)":  IdentifySize,
		"sizeof(DISK_GEOMETRY)":                 DiskGeometrySize,
		"sizeof(DISK_GEOMETRY_EX)":              uint64(len(DiskGeometry{}.Encode())),
		"sizeof(GET_LENGTH_INFORMATION)":        LengthSize,
		"sizeof(GET_DISK_ATTRIBUTES)":           DiskAttributesSize,
		"sizeof(SET_DISK_ATTRIBUTES)":           SetDiskAttributesSize,
		"sizeof(DISK_GROW_PARTITION)":           uint64(len(GrowPartition{}.Encode())),
		"sizeof(PARTITION_INFORMATION_EX)":      uint64(LayoutSize(1) - LayoutSize(0)),
		"sizeof(DISK_EXTENT)":                   uint64(DiskExtentsSize(1) - DiskExtentsSize(0)),
		"sizeof(NTFS_VOLUME_DATA_BUFFER)":       NTFSVolumeDataSize,
		"sizeof(STORAGE_PROPERTY_QUERY)":        uint64(len(PropertyQuery{}.Encode())),
		"sizeof(STORAGE_DEVICE_DESCRIPTOR)":     uint64(len(DeviceDescriptor{}.Encode())),
		"sizeof(STORAGE_ADAPTER_DESCRIPTOR)":    uint64(len(AdapterDescriptor{}.Encode())),
		"sizeof(FILE_BASIC_INFO)":               FileBasicInfoSize,
		"sizeof(FILE_STANDARD_INFO)":            FileStandardInfoSize,
		"sizeof(FILE_ATTRIBUTE_TAG_INFO)":       FileAttributeTagInfoSize,
		"sizeof(FILE_ID_INFO)":                  FileIDInfoSize,
		"sizeof(FILE_DISPOSITION_INFO)":         FileDispositionInfoSize,
		"sizeof(FILE_DISPOSITION_INFO_EX)":      FileDispositionInfoExSize,

		"offsetof(DRIVE_LAYOUT_INFORMATION_EX, PartitionEntry)": uint64(LayoutSize(0)),
		"offsetof(VOLUME_DISK_EXTENTS, Extents)":                uint64(DiskExtentsSize(0)),
	} {
		if want := g.number(t, name); value != want {
			t.Errorf("%s is %d, want %d", name, value, want)
		}
	}
}

// layouts pairs the golden bytes of a structure with the value that the C
// program put there, in both directions.
func layouts() []layout {
	guid := GUID{0x11223344, 0x5566, 0x7788, [8]byte{0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 0x01}}
	return []layout{
		of("STORAGE_DEVICE_NUMBER", DecodeDeviceNumber, plain(DeviceNumber.Encode),
			DeviceNumber{DeviceType: FILE_DEVICE_DISK, Number: 0x01020304, Partition: 0x05060708}),
		of("STORAGE_DEVICE_NUMBER_EX", DecodeDeviceNumberEx, plain(DeviceNumberEx.Encode),
			DeviceNumberEx{Flags: DeviceGUIDFromPage83, DeviceType: FILE_DEVICE_DISK, Number: 0x01020304, GUID: guid, Partition: 0x05060708}),
		of("STORAGE_PROPERTY_QUERY", DecodePropertyQuery, plain(PropertyQuery.Encode),
			PropertyQuery{Property: PropertyDeviceID, Type: QueryExists, Parameters: make([]byte, 4)}),
		of("STORAGE_DEVICE_DESCRIPTOR", DecodeDeviceDescriptor, plain(DeviceDescriptor.Encode),
			DeviceDescriptor{DeviceType: 5, Removable: true, Vendor: "VENDOR", Product: "PRODUCT", Revision: "REV", Serial: "SERIAL ", BusType: BusTypeNVMe}),
		of("STORAGE_DEVICE_ID_DESCRIPTOR", DecodeIdentifiers, EncodeIdentifiers, []Identifier{
			{CodeSet: CodeSetBinary, Type: IdentifierNAA, Association: AssociationDevice, Value: []byte{0x60, 0x02, 0x24, 0x80, 1, 2, 3}},
			{CodeSet: CodeSetASCII, Type: IdentifierVendorID, Association: AssociationTarget, Value: []byte("Google  ")},
		}),
		of("STORAGE_ADAPTER_DESCRIPTOR", DecodeAdapterDescriptor, plain(AdapterDescriptor.Encode),
			AdapterDescriptor{BusType: BusTypeSAS}),
		of("STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR", DecodeAlignmentDescriptor, plain(AlignmentDescriptor.Encode),
			AlignmentDescriptor{CacheLine: 64, CacheOffset: 8, LogicalSector: 512, PhysicalSector: 4096, SectorOffset: 1024}),
		of("SCSI_ADDRESS", DecodeSCSIAddress, plain(SCSIAddress.Encode),
			SCSIAddress{Port: 1, Path: 2, Target: 3, LUN: 4}),
		of("NVME_IDENTIFY_CONTROLLER_DATA", DecodeIdentifyController, plain(IdentifyController.Encode),
			IdentifyController{
				Vendor: 0x1D0F, Serial: "vol0123456789abcdef0", Model: "Amazon Elastic Block Store              ", Firmware: "1.0     ",
				VendorArea: make([]byte, 1024),
			}),
		of("NVME_IDENTIFY_NAMESPACE_DATA", DecodeIdentifyNamespace, plain(IdentifyNamespace.Encode),
			IdentifyNamespace{
				Blocks:     0x0102030405060708,
				NGUID:      [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
				EUI64:      [8]byte{17, 18, 19, 20, 21, 22, 23, 24},
				VendorArea: append(append([]byte{25, 26, 27}, make([]byte, 3708)...), 28),
			}),
		of("DISK_GEOMETRY_EX", DecodeDiskGeometry, plain(DiskGeometry.Encode), DiskGeometry{
			Cylinders: 0x0102030405060708, MediaType: MediaTypeFixed, TracksPerCylinder: 255, SectorsPerTrack: 63,
			BytesPerSector: 4096, DiskSize: 0x1112131415161718,
		}),
		of("GET_LENGTH_INFORMATION", DecodeLength, plain(EncodeLength), 0x0102030405060708),
		of("GET_DISK_ATTRIBUTES", DecodeDiskAttributes, plain(EncodeDiskAttributes), DISK_ATTRIBUTE_OFFLINE|DISK_ATTRIBUTE_READ_ONLY),
		of("SET_DISK_ATTRIBUTES", DecodeSetDiskAttributes, plain(SetDiskAttributes.Encode),
			SetDiskAttributes{Version: SetDiskAttributesSize, Persist: true, Attributes: DISK_ATTRIBUTE_READ_ONLY, Mask: 3}),
		of("DISK_GROW_PARTITION", DecodeGrowPartition, plain(GrowPartition.Encode), GrowPartition{Partition: 2, BytesToGrow: 0x0102030405060708}),
		of("DRIVE_LAYOUT_INFORMATION_EX GPT", DecodeLayout, plain(Layout.Encode), Layout{
			Style: PartitionStyleGPT, DiskID: guid, StartingUsableOffset: 17408, UsableLength: 0x0102030405060708, MaxPartitions: 128,
			Partitions: []Partition{
				{
					Style: PartitionStyleGPT, Offset: 17408, Length: 16759808, Number: 1, Service: true,
					Type: PARTITION_MSFT_RESERVED_GUID, ID: GUID{1, 2, 3, [8]byte{4, 5, 6, 7, 8, 9, 10, 11}},
					Attributes: GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER | GPT_ATTRIBUTE_PLATFORM_REQUIRED,
					Name:       "Microsoft reserved partition",
				},
				{
					Style: PartitionStyleGPT, Offset: 0x1000000, Length: 0x2122232425262728, Number: 2, Rewrite: true,
					Type: PARTITION_BASIC_DATA_GUID, ID: GUID{12, 13, 14, [8]byte{15, 16, 17, 18, 19, 20, 21, 22}},
					Name: "123456789012345678901234567890123456",
				},
			},
		}),
		of("DRIVE_LAYOUT_INFORMATION_EX MBR", DecodeLayout, plain(Layout.Encode), Layout{
			Style: PartitionStyleMBR, Signature: 0xA1B2C3D4,
			Partitions: []Partition{{
				Style: PartitionStyleMBR, Offset: 1048576, Length: 0x3132333435363738, Number: 1,
				MBRType: PARTITION_IFS, Active: true, Recognized: true, HiddenSectors: 2048,
				ID: GUID{23, 24, 25, [8]byte{26, 27, 28, 29, 30, 31, 32, 33}},
			}},
		}),
		of("VOLUME_DISK_EXTENTS", DecodeDiskExtents, plain(EncodeDiskExtents), []DiskExtent{
			{Disk: 3, Offset: 0x0102030405060708, Length: 0x1112131415161718},
			{Disk: 4, Offset: 0x2122232425262728, Length: 0x3132333435363738},
		}),
		of("NTFS_VOLUME_DATA_BUFFER", DecodeNTFSVolumeData, plain(NTFSVolumeData.Encode), NTFSVolumeData{
			SerialNumber: 0x0102030405060708, Sectors: 0x1112131415161718, TotalClusters: 0x2122232425262728,
			FreeClusters: 0x3132333435363738, BytesPerSector: 512, BytesPerCluster: 4096,
		}),
		of("FSCTL_EXTEND_VOLUME input", DecodeExtendVolume, plain(EncodeExtendVolume), 0x0102030405060708),
		of("MOUNTMGR_MOUNT_POINT", DecodeMountPointQuery, MountPoint.EncodeQuery, MountPoint{
			UniqueID: UniqueID{Style: PartitionStyleMBR, Signature: 0xA1B2C3D4, Offset: 1048576}.Encode(),
		}),
		of("MOUNTMGR_MOUNT_POINTS", DecodeMountPoints, EncodeMountPoints, []MountPoint{
			{
				SymbolicLink: `\DosDevices\C:`, Device: `\Device\HarddiskVolume3`,
				UniqueID: UniqueID{Style: PartitionStyleGPT, Partition: guid}.Encode(),
			},
			{
				SymbolicLink: `\DosDevices\D:`,
				UniqueID:     UniqueID{Style: PartitionStyleMBR, Signature: 0xA1B2C3D4, Offset: 1048576}.Encode(),
			},
		}),
		of("REPARSE_DATA_BUFFER symlink", DecodeReparsePoint, ReparsePoint.Encode,
			ReparsePoint{Tag: IO_REPARSE_TAG_SYMLINK, Substitute: `\??\C:\dir`, Print: `C:\dir`, Flags: SymlinkFlagRelative}),
		of("REPARSE_DATA_BUFFER mount point", DecodeReparsePoint, ReparsePoint.Encode,
			ReparsePoint{Tag: IO_REPARSE_TAG_MOUNT_POINT, Substitute: `\??\C:\dir`, Print: `C:\dir`}),
		of("REPARSE_DATA_BUFFER other", DecodeReparsePoint, ReparsePoint.Encode,
			ReparsePoint{Tag: IO_REPARSE_TAG_DEDUP, Data: []byte{1, 2, 3}}),
		of("REPARSE_GUID_DATA_BUFFER", DecodeReparsePoint, ReparsePoint.Encode,
			ReparsePoint{Tag: 0x42, GUID: guid, Data: []byte{4, 5}}),
		of("FILE_BASIC_INFO", DecodeFileBasicInfo, plain(FileBasicInfo.Encode), FileBasicInfo{
			CreationTime: 0x0102030405060708, LastAccessTime: 0x1112131415161718, LastWriteTime: 0x2122232425262728,
			ChangeTime: 0x3132333435363738, Attributes: 0x421,
		}),
		of("FILE_STANDARD_INFO", DecodeFileStandardInfo, plain(FileStandardInfo.Encode),
			FileStandardInfo{AllocationSize: 0x0102030405060708, EndOfFile: 0x1112131415161718, Links: 2, Directory: true}),
		of("FILE_ATTRIBUTE_TAG_INFO", DecodeFileAttributeTagInfo, plain(FileAttributeTagInfo.Encode),
			FileAttributeTagInfo{Attributes: FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT, ReparseTag: IO_REPARSE_TAG_MOUNT_POINT}),
		of("FILE_ID_INFO", DecodeFileIDInfo, plain(FileIDInfo.Encode),
			FileIDInfo{VolumeSerialNumber: 0x0102030405060708, FileID: [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}),
		of("FILE_DISPOSITION_INFO", DecodeFileDispositionInfo, plain(EncodeFileDispositionInfo), true),
		of("FILE_DISPOSITION_INFO_EX", DecodeFileDispositionInfoEx, plain(EncodeFileDispositionInfoEx),
			FILE_DISPOSITION_FLAG_DELETE|FILE_DISPOSITION_FLAG_POSIX_SEMANTICS|FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE),
		of("FILE_ID_BOTH_DIR_INFO", DecodeDirEntries, plain(encodeDirEntries), []DirEntry{
			{Name: "abc", Attributes: FILE_ATTRIBUTE_ARCHIVE, EndOfFile: 0x1112131415161718, LastWriteTime: 0x0102030405060708, FileID: 0x2122232425262728},
			{
				Name: "link", Attributes: FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT, ReparseTag: IO_REPARSE_TAG_SYMLINK,
				LastWriteTime: 0x3132333435363738, FileID: 0x4142434445464748,
			},
		}),
	}
}

// layout is a structure's name, its value and its codec, the value's type
// hidden.
type layout struct {
	name   string
	want   any
	decode func([]byte) (any, error)
	encode func(any) ([]byte, error)
}

func of[T any](name string, decode func([]byte) (T, error), encode func(T) ([]byte, error), want T) layout {
	return layout{
		name:   name,
		want:   want,
		decode: func(b []byte) (any, error) { return decode(b) },
		encode: func(v any) ([]byte, error) { return encode(v.(T)) },
	}
}

// plain gives an encoder that cannot fail the form of those that can.
func plain[T any](encode func(T) []byte) func(T) ([]byte, error) {
	return func(v T) ([]byte, error) { return encode(v), nil }
}

// encodeDirEntries encodes entries into a buffer in which they fit.
func encodeDirEntries(list []DirEntry) []byte {
	size := 0
	for _, e := range list {
		size += 112 + 2*len(e.Name)
	}
	b := make([]byte, size)
	_, n := EncodeDirEntries(b, list)
	return b[:n]
}

func TestLayoutsAreThoseOfTheHeaders(t *testing.T) {
	g := readGolden(t)
	for _, l := range layouts() {
		t.Run(l.name, func(t *testing.T) {
			b := g.bytes(t, l.name)
			if strings.HasPrefix(l.name, "NVME_IDENTIFY") {
				b = append(b, make([]byte, IdentifySize-len(b))...)
			}
			got, err := l.decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(l.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
			encoded, err := l.encode(l.want)
			if err != nil || !bytes.Equal(encoded, b) {
				t.Errorf("encoded %v\n%x, want\n%x", err, encoded, b)
			}
		})
	}
}

func TestPrefixesAreRefused(t *testing.T) {
	g := readGolden(t)
	// Structures that are whole before the last byte: what follows is
	// optional.
	enough := map[string]int{"DISK_GEOMETRY_EX": 32}
	for _, l := range layouts() {
		t.Run(l.name, func(t *testing.T) {
			b := g.bytes(t, l.name)
			whole, ok := enough[l.name]
			if !ok {
				whole = len(b)
			}
			for n := range whole {
				if _, err := l.decode(b[:n]); !isDecoderError(err) {
					t.Errorf("%d bytes: %v", n, err)
				}
			}
		})
	}
}

func TestNVMeIdentifyIsThatOfTheHeaders(t *testing.T) {
	g := readGolden(t)
	data := bytes.Repeat([]byte{0xA5}, IdentifySize)

	query := NVMeIdentify{CNS: CNSNamespace, Namespace: 5}.Query().Encode()
	if want := append(g.bytes(t, "NVMe identify query"), make([]byte, IdentifySize)...); !bytes.Equal(query, want) {
		t.Errorf("query %x, want %x", query[:64], want[:64])
	}
	reply := NVMeIdentify{CNS: CNSController}.Reply(data)
	if want := append(g.bytes(t, "NVMe identify reply"), data...); !bytes.Equal(reply, want) {
		t.Errorf("reply %x, want %x", reply[:64], want[:64])
	}
	if got, err := DecodeNVMeIdentifyReply(reply); err != nil || !bytes.Equal(got, data) {
		t.Errorf("decoded %d bytes, %v", len(got), err)
	}
}

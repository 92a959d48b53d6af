// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"encoding/hex"
	"math"
	"strings"
)

// NoNumber is the device or partition number of what has none: a path disk
// below MPIO, a device that cannot be partitioned.
const NoNumber uint32 = math.MaxUint32

// DeviceNumber answers IOCTL_STORAGE_GET_DEVICE_NUMBER (windows-api.md 1.2).
// The number lasts until the device goes away or the machine restarts.
//
//	typedef struct _STORAGE_DEVICE_NUMBER {
//	  DWORD DeviceType;      // @0
//	  DWORD DeviceNumber;    // @4
//	  DWORD PartitionNumber; // @8, 0 for the whole disk
//	} STORAGE_DEVICE_NUMBER;
type DeviceNumber struct {
	DeviceType uint32 // FILE_DEVICE_DISK …
	Number     uint32
	Partition  uint32
}

// DeviceNumberSize is the size of a STORAGE_DEVICE_NUMBER.
const DeviceNumberSize = 12

// DecodeDeviceNumber reads a STORAGE_DEVICE_NUMBER.
func DecodeDeviceNumber(b []byte) (DeviceNumber, error) {
	if err := need("STORAGE_DEVICE_NUMBER", b, DeviceNumberSize); err != nil {
		return DeviceNumber{}, err
	}
	return DeviceNumber{
		DeviceType: le.Uint32(b),
		Number:     le.Uint32(b[4:]),
		Partition:  le.Uint32(b[8:]),
	}, nil
}

// Encode returns the STORAGE_DEVICE_NUMBER.
func (n DeviceNumber) Encode() []byte {
	b := make([]byte, DeviceNumberSize)
	le.PutUint32(b, n.DeviceType)
	le.PutUint32(b[4:], n.Number)
	le.PutUint32(b[8:], n.Partition)
	return b
}

// DeviceNumberEx answers IOCTL_STORAGE_GET_DEVICE_NUMBER_EX, which Server 2016
// and later know (windows-api.md 1.2).
//
//	typedef struct _STORAGE_DEVICE_NUMBER_EX {
//	  DWORD Version;         // @0
//	  DWORD Size;            // @4
//	  DWORD Flags;           // @8
//	  DWORD DeviceType;      // @12
//	  DWORD DeviceNumber;    // @16
//	  GUID  DeviceGuid;      // @20
//	  DWORD PartitionNumber; // @36
//	} STORAGE_DEVICE_NUMBER_EX;
type DeviceNumberEx struct {
	Flags      uint32
	DeviceType uint32
	Number     uint32
	GUID       GUID // lasts over a restart only with DeviceGUIDFromPage83
	Partition  uint32
}

// Flags of DeviceNumberEx: how its GUID came to be.
const (
	DeviceGUIDRandomConflict uint32 = 0x1 // STORAGE_DEVICE_FLAGS_RANDOM_DEVICEGUID_REASON_CONFLICT
	DeviceGUIDRandomNoID     uint32 = 0x2 // STORAGE_DEVICE_FLAGS_RANDOM_DEVICEGUID_REASON_NOHWID
	DeviceGUIDFromPage83     uint32 = 0x4 // STORAGE_DEVICE_FLAGS_PAGE_83_DEVICEGUID
)

// DeviceNumberExSize is the size of a STORAGE_DEVICE_NUMBER_EX.
const DeviceNumberExSize = 40

// DecodeDeviceNumberEx reads a STORAGE_DEVICE_NUMBER_EX.
func DecodeDeviceNumberEx(b []byte) (DeviceNumberEx, error) {
	if err := need("STORAGE_DEVICE_NUMBER_EX", b, DeviceNumberExSize); err != nil {
		return DeviceNumberEx{}, err
	}
	return DeviceNumberEx{
		Flags:      le.Uint32(b[8:]),
		DeviceType: le.Uint32(b[12:]),
		Number:     le.Uint32(b[16:]),
		GUID:       DecodeGUID(b[20:]),
		Partition:  le.Uint32(b[36:]),
	}, nil
}

// Encode returns the STORAGE_DEVICE_NUMBER_EX.
func (n DeviceNumberEx) Encode() []byte {
	b := make([]byte, DeviceNumberExSize)
	putDescriptorHeader(b)
	le.PutUint32(b[8:], n.Flags)
	le.PutUint32(b[12:], n.DeviceType)
	le.PutUint32(b[16:], n.Number)
	n.GUID.Put(b[20:])
	le.PutUint32(b[36:], n.Partition)
	return b
}

// PropertyID names what IOCTL_STORAGE_QUERY_PROPERTY asks for. The numbers have
// a gap before 48 (windows-api.md 2.1).
type PropertyID uint32

// Properties.
const (
	PropertyDevice          PropertyID = 0  // StorageDeviceProperty: DeviceDescriptor
	PropertyAdapter         PropertyID = 1  // StorageAdapterProperty: AdapterDescriptor
	PropertyDeviceID        PropertyID = 2  // StorageDeviceIdProperty: page 0x83, DecodeIdentifiers
	PropertyAccessAlignment PropertyID = 6  // StorageAccessAlignmentProperty: AlignmentDescriptor
	PropertyAdapterProtocol PropertyID = 49 // StorageAdapterProtocolSpecificProperty: IdentifyController
	PropertyDeviceProtocol  PropertyID = 50 // StorageDeviceProtocolSpecificProperty: IdentifyNamespace
)

// PropertyQuery is the input of IOCTL_STORAGE_QUERY_PROPERTY
// (windows-api.md 2.1).
//
//	typedef struct _STORAGE_PROPERTY_QUERY {
//	  STORAGE_PROPERTY_ID PropertyId;       // @0
//	  STORAGE_QUERY_TYPE  QueryType;        // @4
//	  BYTE AdditionalParameters[1];         // @8
//	} STORAGE_PROPERTY_QUERY;               // 12 bytes
type PropertyQuery struct {
	Property PropertyID
	Type     uint32 // QueryStandard, QueryExists
	// Parameters follows the fixed part; see [NVMeIdentifyQuery].
	Parameters []byte
}

// Types of PropertyQuery.
const (
	QueryStandard uint32 = 0 // PropertyStandardQuery: the descriptor
	QueryExists   uint32 = 1 // PropertyExistsQuery: only whether there is one
)

const (
	propertyQuerySize       = 12
	propertyQueryParameters = 8
)

// DecodePropertyQuery reads a STORAGE_PROPERTY_QUERY.
func DecodePropertyQuery(b []byte) (PropertyQuery, error) {
	if err := need("STORAGE_PROPERTY_QUERY", b, propertyQuerySize); err != nil {
		return PropertyQuery{}, err
	}
	return PropertyQuery{
		Property:   PropertyID(le.Uint32(b)),
		Type:       le.Uint32(b[4:]),
		Parameters: append([]byte(nil), b[propertyQueryParameters:]...),
	}, nil
}

// Encode returns the STORAGE_PROPERTY_QUERY.
func (q PropertyQuery) Encode() []byte {
	b := make([]byte, max(propertyQuerySize, propertyQueryParameters+len(q.Parameters)))
	le.PutUint32(b, uint32(q.Property))
	le.PutUint32(b[4:], q.Type)
	copy(b[propertyQueryParameters:], q.Parameters)
	return b
}

// Every answer to a property query begins with a descriptor header.
//
//	typedef struct _STORAGE_DESCRIPTOR_HEADER {
//	  DWORD Version; // @0, size of the fixed structure
//	  DWORD Size;    // @4, of the whole answer
//	} STORAGE_DESCRIPTOR_HEADER;
const descriptorHeaderSize = 8

// putDescriptorHeader writes the header of a descriptor that fills b.
func putDescriptorHeader(b []byte) {
	le.PutUint32(b, uint32(len(b)))
	le.PutUint32(b[4:], uint32(len(b)))
}

// descriptor cuts b to the size that its header announces. It is not cut, and
// a TruncatedError says so, where that is more.
func descriptor(structure string, b []byte, fixed int) ([]byte, error) {
	if err := need(structure, b, fixed); err != nil {
		return nil, err
	}
	size := uint64(le.Uint32(b[4:]))
	switch {
	case size < uint64(fixed):
		return nil, malformed(structure, "announces %d bytes, not %d", size, fixed)
	case size > uint64(len(b)):
		return b, &TruncatedError{structure, uint64(len(b)), size}
	}
	return b[:size], nil
}

// DeviceDescriptor is StorageDeviceProperty (windows-api.md 2.2). Its strings
// are bytes as the device gave them, blanks included, up to the NUL; an absent
// one is "". [Text] makes them fit to show.
//
//	typedef struct _STORAGE_DEVICE_DESCRIPTOR {
//	  DWORD   Version;               // @0
//	  DWORD   Size;                  // @4
//	  BYTE    DeviceType;            // @8
//	  BYTE    DeviceTypeModifier;    // @9
//	  BOOLEAN RemovableMedia;        // @10
//	  BOOLEAN CommandQueueing;       // @11
//	  DWORD   VendorIdOffset;        // @12, of each string: from the start, 0 if absent
//	  DWORD   ProductIdOffset;       // @16
//	  DWORD   ProductRevisionOffset; // @20
//	  DWORD   SerialNumberOffset;    // @24
//	  STORAGE_BUS_TYPE BusType;      // @28
//	  DWORD   RawPropertiesLength;   // @32
//	  BYTE    RawDeviceProperties[1];// @36
//	} STORAGE_DEVICE_DESCRIPTOR;
type DeviceDescriptor struct {
	DeviceType byte // of SCSI: 0 is a disk
	Removable  bool
	Vendor     string
	Product    string
	Revision   string
	Serial     string
	BusType    BusType
}

const (
	deviceDescriptorStrings = 36
	deviceDescriptorSize    = 40 // sizeof, with one raw byte and padding
)

// DecodeDeviceDescriptor reads a STORAGE_DEVICE_DESCRIPTOR. Beside a
// TruncatedError it returns what was there.
func DecodeDeviceDescriptor(b []byte) (DeviceDescriptor, error) {
	b, err := descriptor("STORAGE_DEVICE_DESCRIPTOR", b, deviceDescriptorStrings)
	if b == nil {
		return DeviceDescriptor{}, err
	}
	return DeviceDescriptor{
		DeviceType: b[8],
		Removable:  b[10] != 0,
		Vendor:     stringAt(b, le.Uint32(b[12:])),
		Product:    stringAt(b, le.Uint32(b[16:])),
		Revision:   stringAt(b, le.Uint32(b[20:])),
		Serial:     stringAt(b, le.Uint32(b[24:])),
		BusType:    BusType(le.Uint32(b[28:])),
	}, err
}

// stringAt returns the NUL-terminated string at an offset; an offset of 0 or
// beyond the end means that there is none.
func stringAt(b []byte, offset uint32) string {
	if offset == 0 || uint64(offset) >= uint64(len(b)) {
		return ""
	}
	s, _, _ := strings.Cut(string(b[offset:]), "\x00")
	return s
}

// Encode returns the STORAGE_DEVICE_DESCRIPTOR.
func (d DeviceDescriptor) Encode() []byte {
	b := zeros(deviceDescriptorStrings)
	b[8] = d.DeviceType
	putBool(b[10:], d.Removable)
	le.PutUint32(b[28:], uint32(d.BusType))
	for i, s := range []string{d.Vendor, d.Product, d.Revision, d.Serial} {
		if s == "" {
			continue
		}
		le.PutUint32(b[12+4*i:], uint32(len(b)))
		b = append(b, s...)
		b = append(b, 0)
	}
	le.PutUint32(b[32:], uint32(len(b)-deviceDescriptorStrings))
	b = append(b, zeros(max(0, deviceDescriptorSize-len(b)))...)
	le.PutUint32(b, deviceDescriptorSize)
	le.PutUint32(b[4:], uint32(len(b)))
	return b
}

// CodeSet says how the bytes of an Identifier are to be read.
type CodeSet uint32

// Code sets.
const (
	CodeSetBinary CodeSet = 1
	CodeSetASCII  CodeSet = 2
	CodeSetUTF8   CodeSet = 3
)

var codeSetNames = [...]string{"reserved", "binary", "ASCII", "UTF-8"}

func (c CodeSet) String() string { return nameOf(codeSetNames[:], "code set", uint32(c)) }

// IdentifierType says what an Identifier is.
type IdentifierType uint32

// Identifier types.
const (
	IdentifierVendorSpecific   IdentifierType = 0
	IdentifierVendorID         IdentifierType = 1 // T10
	IdentifierEUI64            IdentifierType = 2
	IdentifierNAA              IdentifierType = 3 // FCPH name
	IdentifierPortRelative     IdentifierType = 4
	IdentifierTargetPortGroup  IdentifierType = 5
	IdentifierLogicalUnitGroup IdentifierType = 6
	IdentifierMD5              IdentifierType = 7
	IdentifierSCSIName         IdentifierType = 8
)

var identifierTypeNames = [...]string{
	"vendor specific", "T10 vendor id", "EUI-64", "NAA", "relative port",
	"target port group", "logical unit group", "MD5", "SCSI name",
}

func (t IdentifierType) String() string {
	return nameOf(identifierTypeNames[:], "identifier type", uint32(t))
}

// Association says what an Identifier names.
type Association uint32

// Associations. Only AssociationDevice names the disk.
const (
	AssociationDevice Association = 0
	AssociationPort   Association = 1
	AssociationTarget Association = 2
)

var associationNames = [...]string{"device", "port", "target"}

func (a Association) String() string { return nameOf(associationNames[:], "association", uint32(a)) }

// Identifier is one designator of a disk's page 0x83 (windows-api.md 2.3).
//
//	typedef struct _STORAGE_IDENTIFIER {
//	  STORAGE_IDENTIFIER_CODE_SET CodeSet;      // @0
//	  STORAGE_IDENTIFIER_TYPE     Type;         // @4
//	  WORD                        IdentifierSize; // @8
//	  WORD                        NextOffset;   // @10, from this entry to the next
//	  STORAGE_ASSOCIATION_TYPE    Association;  // @12
//	  BYTE                        Identifier[1];// @16
//	} STORAGE_IDENTIFIER;
type Identifier struct {
	CodeSet     CodeSet
	Type        IdentifierType
	Association Association
	Value       []byte // as the device gave it
}

// Text returns the identifier as text: a binary one in lower-case hex, others
// as [Text]. A code set that is none of the three gives "".
func (i Identifier) Text() string {
	switch i.CodeSet {
	case CodeSetBinary:
		return hex.EncodeToString(i.Value)
	case CodeSetASCII, CodeSetUTF8:
		return Text(string(i.Value))
	}
	return ""
}

// Text makes the bytes of a device fit to show: trailing NULs are cut, what is
// not UTF-8 becomes U+FFFD. Blanks stay (behaviour.md DISK-17, DISK-22).
func Text(raw string) string {
	return strings.ToValidUTF8(strings.TrimRight(raw, "\x00"), "\uFFFD")
}

// Page83 returns the one identifier that stands for a disk: the first that
// names the device and can be read as text. There is none, "", if that is
// blank (behaviour.md DISK-17, DISK-20).
func Page83(identifiers []Identifier) string {
	for _, i := range identifiers {
		if i.Association != AssociationDevice || i.CodeSet < CodeSetBinary || i.CodeSet > CodeSetUTF8 {
			continue
		}
		if s := i.Text(); strings.TrimSpace(s) != "" {
			return s
		}
		return ""
	}
	return ""
}

// The list of identifiers.
//
//	typedef struct _STORAGE_DEVICE_ID_DESCRIPTOR {
//	  DWORD Version;             // @0
//	  DWORD Size;                // @4
//	  DWORD NumberOfIdentifiers; // @8
//	  BYTE  Identifiers[1];      // @12
//	} STORAGE_DEVICE_ID_DESCRIPTOR;
const (
	identifiersStart     = 12
	identifiersVersion   = 16 // sizeof, with one byte and padding
	identifierStart      = 16
	identifierMax        = math.MaxUint16 - identifierStart
	identifiersStructure = "STORAGE_DEVICE_ID_DESCRIPTOR"
)

// DecodeIdentifiers reads a STORAGE_DEVICE_ID_DESCRIPTOR, the answer to
// PropertyDeviceID. The device wrote it, so nothing in it is believed
// (field-reports.md D09): beside an error it returns the identifiers before
// the fault.
func DecodeIdentifiers(b []byte) ([]Identifier, error) {
	b, truncated := descriptor(identifiersStructure, b, identifiersStart)
	if b == nil {
		return nil, truncated
	}
	var list []Identifier
	count := le.Uint32(b[8:])
	rest := b[identifiersStart:]
	for uint64(len(list)) < uint64(count) {
		identifier, next, err := decodeIdentifier(rest)
		if truncated != nil && err != nil {
			return list, truncated
		}
		if err != nil {
			return list, err
		}
		list = append(list, identifier)
		if next == 0 {
			break
		}
		rest = rest[next:]
	}
	if uint64(len(list)) < uint64(count) {
		return list, malformed(identifiersStructure, "%d identifiers announced, %d there", count, len(list))
	}
	return list, truncated
}

// decodeIdentifier reads the identifier at the start of b and returns how far
// on the next one is, 0 after the last.
func decodeIdentifier(b []byte) (Identifier, int, error) {
	if len(b) < identifierStart {
		return Identifier{}, 0, malformed(identifiersStructure, "identifier passes the end")
	}
	next := int(le.Uint16(b[10:]))
	if next != 0 && (next < identifierStart || next > len(b)) {
		return Identifier{}, 0, malformed(identifiersStructure, "next identifier at %d of %d", next, len(b))
	}
	end := len(b)
	if next != 0 {
		end = next
	}
	value, ok := slice(b[:end], identifierStart, uint64(le.Uint16(b[8:])))
	if !ok {
		return Identifier{}, 0, malformed(identifiersStructure, "identifier of %d bytes passes its end", le.Uint16(b[8:]))
	}
	return Identifier{
		CodeSet:     CodeSet(le.Uint32(b)),
		Type:        IdentifierType(le.Uint32(b[4:])),
		Association: Association(le.Uint32(b[12:])),
		Value:       append([]byte(nil), value...),
	}, next, nil
}

// EncodeIdentifiers returns the STORAGE_DEVICE_ID_DESCRIPTOR. ErrMalformed
// means that an identifier is too long for it.
func EncodeIdentifiers(list []Identifier) ([]byte, error) {
	b := zeros(identifiersStart)
	for n, i := range list {
		size := align(identifierStart+len(i.Value), 4)
		if size > identifierMax {
			return nil, malformed(identifiersStructure, "identifier of %d bytes", len(i.Value))
		}
		entry := make([]byte, size)
		le.PutUint32(entry, uint32(i.CodeSet))
		le.PutUint32(entry[4:], uint32(i.Type))
		le.PutUint16(entry[8:], uint16(len(i.Value)))
		if n < len(list)-1 {
			le.PutUint16(entry[10:], uint16(size))
		}
		le.PutUint32(entry[12:], uint32(i.Association))
		copy(entry[identifierStart:], i.Value)
		b = append(b, entry...)
	}
	le.PutUint32(b, identifiersVersion)
	le.PutUint32(b[4:], uint32(len(b)))
	le.PutUint32(b[8:], uint32(len(list)))
	return b, nil
}

// AdapterDescriptor is StorageAdapterProperty, of which only the bus is of use
// (windows-api.md 2.2).
//
//	typedef struct _STORAGE_ADAPTER_DESCRIPTOR {
//	  DWORD   Version;               // @0
//	  DWORD   Size;                  // @4
//	  DWORD   MaximumTransferLength; // @8
//	  DWORD   MaximumPhysicalPages;  // @12
//	  DWORD   AlignmentMask;         // @16
//	  BOOLEAN AdapterUsesPio;        // @20
//	  BOOLEAN AdapterScansDown;      // @21
//	  BOOLEAN CommandQueueing;       // @22
//	  BOOLEAN AcceleratedTransfer;   // @23
//	  BYTE    BusType;               // @24, one byte
//	  WORD    BusMajorVersion;       // @26
//	  WORD    BusMinorVersion;       // @28
//	  BYTE    SrbType;               // @30
//	  BYTE    AddressType;           // @31
//	} STORAGE_ADAPTER_DESCRIPTOR;
type AdapterDescriptor struct {
	BusType BusType
}

const (
	adapterBusType        = 24
	adapterDescriptorSize = 32
)

// DecodeAdapterDescriptor reads a STORAGE_ADAPTER_DESCRIPTOR. Beside a
// TruncatedError it returns what was there.
func DecodeAdapterDescriptor(b []byte) (AdapterDescriptor, error) {
	b, err := descriptor("STORAGE_ADAPTER_DESCRIPTOR", b, adapterBusType+1)
	if b == nil {
		return AdapterDescriptor{}, err
	}
	return AdapterDescriptor{BusType: BusType(b[adapterBusType])}, err
}

// Encode returns the STORAGE_ADAPTER_DESCRIPTOR.
func (d AdapterDescriptor) Encode() []byte {
	b := make([]byte, adapterDescriptorSize)
	putDescriptorHeader(b)
	b[adapterBusType] = byte(d.BusType)
	return b
}

// AlignmentDescriptor is StorageAccessAlignmentProperty, in bytes
// (windows-api.md 4).
//
//	typedef struct _STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR {
//	  DWORD Version;                       // @0
//	  DWORD Size;                          // @4
//	  DWORD BytesPerCacheLine;             // @8
//	  DWORD BytesOffsetForCacheAlignment;  // @12
//	  DWORD BytesPerLogicalSector;         // @16
//	  DWORD BytesPerPhysicalSector;        // @20
//	  DWORD BytesOffsetForSectorAlignment; // @24
//	} STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR;
type AlignmentDescriptor struct {
	CacheLine      uint32
	CacheOffset    uint32
	LogicalSector  uint32
	PhysicalSector uint32
	SectorOffset   uint32
}

const alignmentDescriptorSize = 28

// DecodeAlignmentDescriptor reads a STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR. Beside
// a TruncatedError it returns what was there.
func DecodeAlignmentDescriptor(b []byte) (AlignmentDescriptor, error) {
	b, err := descriptor("STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR", b, alignmentDescriptorSize)
	if b == nil {
		return AlignmentDescriptor{}, err
	}
	return AlignmentDescriptor{
		CacheLine:      le.Uint32(b[8:]),
		CacheOffset:    le.Uint32(b[12:]),
		LogicalSector:  le.Uint32(b[16:]),
		PhysicalSector: le.Uint32(b[20:]),
		SectorOffset:   le.Uint32(b[24:]),
	}, err
}

// Encode returns the STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR.
func (d AlignmentDescriptor) Encode() []byte {
	b := make([]byte, alignmentDescriptorSize)
	putDescriptorHeader(b)
	le.PutUint32(b[8:], d.CacheLine)
	le.PutUint32(b[12:], d.CacheOffset)
	le.PutUint32(b[16:], d.LogicalSector)
	le.PutUint32(b[20:], d.PhysicalSector)
	le.PutUint32(b[24:], d.SectorOffset)
	return b
}

// SCSIAddress answers IOCTL_SCSI_GET_ADDRESS (windows-api.md 3.1).
//
//	typedef struct _SCSI_ADDRESS {
//	  ULONG Length;     // @0
//	  UCHAR PortNumber; // @4, the N of \\.\ScsiN:
//	  UCHAR PathId;     // @5, the bus
//	  UCHAR TargetId;   // @6
//	  UCHAR Lun;        // @7
//	} SCSI_ADDRESS;
type SCSIAddress struct {
	Port   byte
	Path   byte
	Target byte
	LUN    byte
}

// SCSIAddressSize is the size of a SCSI_ADDRESS.
const SCSIAddressSize = 8

// DecodeSCSIAddress reads a SCSI_ADDRESS.
func DecodeSCSIAddress(b []byte) (SCSIAddress, error) {
	if err := need("SCSI_ADDRESS", b, SCSIAddressSize); err != nil {
		return SCSIAddress{}, err
	}
	return SCSIAddress{Port: b[4], Path: b[5], Target: b[6], LUN: b[7]}, nil
}

// Encode returns the SCSI_ADDRESS.
func (a SCSIAddress) Encode() []byte {
	b := make([]byte, SCSIAddressSize)
	le.PutUint32(b, SCSIAddressSize)
	b[4], b[5], b[6], b[7] = a.Port, a.Path, a.Target, a.LUN
	return b
}

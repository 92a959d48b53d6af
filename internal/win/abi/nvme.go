// SPDX-License-Identifier: Apache-2.0

package abi

// CNS says what an NVMe Identify command is about.
type CNS uint32

// Values of CNS.
const (
	CNSNamespace  CNS = 0
	CNSController CNS = 1
)

// IdentifySize is the length of the data that an NVMe Identify command returns.
const IdentifySize = 4096

// NVMeIdentify asks for an NVMe Identify command through
// IOCTL_STORAGE_QUERY_PROPERTY, as PropertyDeviceProtocol for a namespace and
// as PropertyAdapterProtocol for the controller (windows-api.md 2.4).
//
//	typedef struct _STORAGE_PROTOCOL_SPECIFIC_DATA {
//	  STORAGE_PROTOCOL_TYPE ProtocolType; // @0, ProtocolTypeNvme 3
//	  DWORD DataType;                     // @4, NVMeDataTypeIdentify 1
//	  DWORD ProtocolDataRequestValue;     // @8, the CNS
//	  DWORD ProtocolDataRequestSubValue;  // @12, the namespace
//	  DWORD ProtocolDataOffset;           // @16, from the start of this structure
//	  DWORD ProtocolDataLength;           // @20
//	  DWORD FixedProtocolReturnData;      // @24
//	  DWORD ProtocolDataRequestSubValue2; // @28
//	  DWORD ProtocolDataRequestSubValue3; // @32
//	  DWORD ProtocolDataRequestSubValue4; // @36
//	} STORAGE_PROTOCOL_SPECIFIC_DATA;
type NVMeIdentify struct {
	CNS       CNS
	Namespace uint32 // 0 stands for the device's own
}

const (
	protocolSpecificSize   = 40
	protocolTypeNVMe       = 3
	dataTypeIdentify       = 1
	protocolDescriptor     = "STORAGE_PROTOCOL_DATA_DESCRIPTOR"
	protocolDescriptorSize = descriptorHeaderSize + protocolSpecificSize
)

// NVMeIdentifyReplySize is the length of the input and of the output of the
// query.
const NVMeIdentifyReplySize = protocolDescriptorSize + IdentifySize

// Query returns the property query that asks for it.
func (i NVMeIdentify) Query() PropertyQuery {
	property := PropertyDeviceProtocol
	if i.CNS == CNSController {
		property = PropertyAdapterProtocol
	}
	parameters := make([]byte, protocolSpecificSize+IdentifySize)
	i.put(parameters)
	return PropertyQuery{Property: property, Type: QueryStandard, Parameters: parameters}
}

func (i NVMeIdentify) put(b []byte) {
	le.PutUint32(b, protocolTypeNVMe)
	le.PutUint32(b[4:], dataTypeIdentify)
	le.PutUint32(b[8:], uint32(i.CNS))
	le.PutUint32(b[12:], i.Namespace)
	le.PutUint32(b[16:], protocolSpecificSize)
	le.PutUint32(b[20:], IdentifySize)
}

// DecodeNVMeIdentify reads the parameters of a property query.
func DecodeNVMeIdentify(parameters []byte) (NVMeIdentify, error) {
	const structure = "STORAGE_PROTOCOL_SPECIFIC_DATA"
	if err := need(structure, parameters, protocolSpecificSize); err != nil {
		return NVMeIdentify{}, err
	}
	protocol, data := le.Uint32(parameters), le.Uint32(parameters[4:])
	if protocol != protocolTypeNVMe || data != dataTypeIdentify {
		return NVMeIdentify{}, malformed(structure, "protocol %d, data type %d is no NVMe identify", protocol, data)
	}
	return NVMeIdentify{
		CNS:       CNS(le.Uint32(parameters[8:])),
		Namespace: le.Uint32(parameters[12:]),
	}, nil
}

// Reply returns the answer to the query with the data of the command, which
// is cut or zero-filled to IdentifySize.
//
//	typedef struct _STORAGE_PROTOCOL_DATA_DESCRIPTOR {
//	  DWORD Version; // @0, 48
//	  DWORD Size;    // @4, 48
//	  STORAGE_PROTOCOL_SPECIFIC_DATA ProtocolSpecificData; // @8
//	} STORAGE_PROTOCOL_DATA_DESCRIPTOR;
func (i NVMeIdentify) Reply(data []byte) []byte {
	b := make([]byte, NVMeIdentifyReplySize)
	putDescriptorHeader(b[:protocolDescriptorSize])
	i.put(b[descriptorHeaderSize:])
	copy(b[protocolDescriptorSize:], data)
	return b
}

// DecodeNVMeIdentifyReply reads the answer to the query and returns the
// IdentifySize bytes of the command.
func DecodeNVMeIdentifyReply(b []byte) ([]byte, error) {
	if err := need(protocolDescriptor, b, protocolDescriptorSize); err != nil {
		return nil, err
	}
	version, size := le.Uint32(b), le.Uint32(b[4:])
	if version != protocolDescriptorSize || size != protocolDescriptorSize {
		return nil, malformed(protocolDescriptor, "version %d, size %d", version, size)
	}
	specific := b[descriptorHeaderSize:]
	if _, err := DecodeNVMeIdentify(specific); err != nil {
		return nil, err
	}
	offset, length := le.Uint32(specific[16:]), le.Uint32(specific[20:])
	data, ok := slice(specific, uint64(offset), IdentifySize)
	if !ok || offset < protocolSpecificSize || length < IdentifySize {
		return nil, malformed(protocolDescriptor, "%d bytes of data at %d of %d", length, offset, len(specific))
	}
	return append([]byte(nil), data...), nil
}

// IdentifyController is the Identify Controller data of NVMe. Strings are
// padded with blanks, as the device gave them (windows-api.md 2.4).
//
//	VID @0, SSVID @2, SN @4 (20 bytes), MN @24 (40), FR @64 (8), vendor specific @3072 (1024)
type IdentifyController struct {
	Vendor   uint16 // PCI vendor id
	Serial   string
	Model    string
	Firmware string
	// VendorArea is the vendor's part; EBS puts the name of the block device
	// there.
	VendorArea []byte
}

const controllerVendorArea = 3072

const identifyData = "NVMe identify data"

// DecodeIdentifyController reads the data of an Identify Controller command.
func DecodeIdentifyController(data []byte) (IdentifyController, error) {
	if err := need(identifyData, data, IdentifySize); err != nil {
		return IdentifyController{}, err
	}
	return IdentifyController{
		Vendor:     le.Uint16(data),
		Serial:     string(data[4:24]),
		Model:      string(data[24:64]),
		Firmware:   string(data[64:72]),
		VendorArea: append([]byte(nil), data[controllerVendorArea:IdentifySize]...),
	}, nil
}

// Encode returns the data of the command. A string or vendor area that is too
// long is cut, a short string padded with blanks.
func (c IdentifyController) Encode() []byte {
	b := make([]byte, IdentifySize)
	le.PutUint16(b, c.Vendor)
	putPadded(b[4:24], c.Serial)
	putPadded(b[24:64], c.Model)
	putPadded(b[64:72], c.Firmware)
	copy(b[controllerVendorArea:], c.VendorArea)
	return b
}

func putPadded(b []byte, s string) {
	for i := copy(b, s); i < len(b); i++ {
		b[i] = ' '
	}
}

// IdentifyNamespace is the Identify Namespace data of NVMe (windows-api.md
// 2.4). An id that the namespace does not have is zero.
//
//	NSZE @0, NGUID @104 (16 bytes), EUI64 @120 (8), vendor specific @384 (3712)
type IdentifyNamespace struct {
	Blocks uint64 // size in logical blocks
	NGUID  [16]byte
	EUI64  [8]byte
	// VendorArea is the vendor's part; some clouds put their volume's name
	// there.
	VendorArea []byte
}

const namespaceVendorArea = 384

// DecodeIdentifyNamespace reads the data of an Identify Namespace command.
func DecodeIdentifyNamespace(data []byte) (IdentifyNamespace, error) {
	if err := need(identifyData, data, IdentifySize); err != nil {
		return IdentifyNamespace{}, err
	}
	return IdentifyNamespace{
		Blocks:     le.Uint64(data),
		NGUID:      [16]byte(data[104:120]),
		EUI64:      [8]byte(data[120:128]),
		VendorArea: append([]byte(nil), data[namespaceVendorArea:IdentifySize]...),
	}, nil
}

// Encode returns the data of the command. A vendor area that is too long is
// cut.
func (n IdentifyNamespace) Encode() []byte {
	b := make([]byte, IdentifySize)
	le.PutUint64(b, n.Blocks)
	copy(b[104:], n.NGUID[:])
	copy(b[120:], n.EUI64[:])
	copy(b[namespaceVendorArea:], n.VendorArea)
	return b
}

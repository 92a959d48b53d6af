// SPDX-License-Identifier: Apache-2.0

package abi

import "bytes"

// SMBIOS is what GetSystemFirmwareTable gives of the provider 'RSMB'
// (windows-api.md 12).
//
//	struct RawSMBIOSData {
//	  BYTE  Used20CallingMethod; // @0
//	  BYTE  SMBIOSMajorVersion;  // @1
//	  BYTE  SMBIOSMinorVersion;  // @2
//	  BYTE  DmiRevision;         // @3
//	  DWORD Length;              // @4, of what follows
//	  BYTE  SMBIOSTableData[];   // @8
//	};
type SMBIOS struct {
	Used20CallingMethod uint8
	Major, Minor        uint8
	Revision            uint8
	Table               []byte // structure after structure
}

const (
	smbiosData      = "RawSMBIOSData"
	smbiosDataSize  = 8
	smbiosStructure = "SMBIOS structure"
	smbiosHeader    = 4
)

// DecodeSMBIOS reads a RawSMBIOSData. A table that is shorter than it says is
// taken as it is; its structures tell whether one is missing.
func DecodeSMBIOS(b []byte) (SMBIOS, error) {
	if err := need(smbiosData, b, smbiosDataSize); err != nil {
		return SMBIOS{}, err
	}
	table := b[smbiosDataSize:]
	table = table[:min(uint64(len(table)), uint64(le.Uint32(b[4:])))]
	return SMBIOS{b[0], b[1], b[2], b[3], bytes.Clone(table)}, nil
}

// Encode returns the RawSMBIOSData.
func (s SMBIOS) Encode() []byte {
	b := []byte{s.Used20CallingMethod, s.Major, s.Minor, s.Revision}
	b = le.AppendUint32(b, uint32(len(s.Table)))
	return append(b, s.Table...)
}

// Types of SMBIOS structures.
const (
	SMBIOSTypeSystem     uint8 = 1
	SMBIOSTypeEndOfTable uint8 = 127
)

// SMBIOSSerialNumber is where a structure of type 1 names its serial number.
const SMBIOSSerialNumber = 7

// SMBIOSStructure is a structure of an SMBIOS table (DMTF DSP0134, 6.1).
//
//	BYTE type;     // @0
//	BYTE length;   // @1, of the formatted part, these fields included
//	WORD handle;   // @2
//	BYTE fields[]; // @4
//
// Its strings follow the formatted part, each with a NUL at its end, and after
// the last one more NUL; where there is none, two NULs.
type SMBIOSStructure struct {
	Type    uint8
	Handle  uint16
	Fields  []byte   // the formatted part from @4 on
	Strings []string // bytes of any encoding
}

// Structure finds the first structure of a type. Only those before it need to
// be sound. The end of the table is where it says so, or where its bytes end.
func (s SMBIOS) Structure(kind uint8) (found SMBIOSStructure, ok bool, err error) {
	for rest := s.Table; len(rest) > 0 && rest[0] != SMBIOSTypeEndOfTable; {
		found, rest, err = cutStructure(rest)
		if err != nil || found.Type == kind {
			return found, err == nil, err
		}
	}
	return SMBIOSStructure{}, false, nil
}

// cutStructure reads the structure that a table begins with.
func cutStructure(table []byte) (s SMBIOSStructure, rest []byte, err error) {
	if err := need(smbiosStructure, table, smbiosHeader); err != nil {
		return s, nil, err
	}
	length := int(table[1])
	if length < smbiosHeader || length > len(table) {
		return s, nil, malformed(smbiosStructure, "type %d has %d bytes of %d", table[0], length, len(table))
	}
	s = SMBIOSStructure{Type: table[0], Handle: le.Uint16(table[2:]), Fields: bytes.Clone(table[smbiosHeader:length])}
	rest = table[length:]
	for {
		text, after, terminated := bytes.Cut(rest, []byte{0})
		switch {
		case !terminated:
			return SMBIOSStructure{}, nil, malformed(smbiosStructure, "strings of type %d have no end", s.Type)
		case len(text) > 0:
			s.Strings = append(s.Strings, string(text))
		case len(s.Strings) > 0:
			return s, after, nil
		default: // the second of two NULs
			return s, after[min(1, len(after)):], nil
		}
		rest = after
	}
}

// Text is the string whose number stands at an offset of the structure, "" where
// the structure is too short, or names none or one that is not there.
func (s SMBIOSStructure) Text(offset int) string {
	at := offset - smbiosHeader
	if at < 0 || at >= len(s.Fields) {
		return ""
	}
	number := int(s.Fields[at])
	if number == 0 || number > len(s.Strings) {
		return ""
	}
	return s.Strings[number-1]
}

// Encode returns the structure. Fields are cut where their length does not fit;
// strings must be neither empty nor hold a NUL.
func (s SMBIOSStructure) Encode() []byte {
	fields := s.Fields[:min(len(s.Fields), 0xFF-smbiosHeader)]
	b := []byte{s.Type, uint8(smbiosHeader + len(fields))}
	b = le.AppendUint16(b, s.Handle)
	b = append(b, fields...)
	for _, text := range s.Strings {
		b = append(append(b, text...), 0)
	}
	if len(s.Strings) == 0 {
		b = append(b, 0)
	}
	return append(b, 0)
}

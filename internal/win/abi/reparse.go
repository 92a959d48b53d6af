// SPDX-License-Identifier: Apache-2.0

package abi

// ReparsePoint is what FSCTL_GET_REPARSE_POINT gives and FSCTL_SET_REPARSE_POINT
// takes (windows-api.md 8.1).
//
//	typedef struct _REPARSE_DATA_BUFFER {
//	  ULONG  ReparseTag;           // @0
//	  USHORT ReparseDataLength;    // @4, of what follows @8
//	  USHORT Reserved;             // @6
//	  union {                      // @8
//	    struct {
//	      USHORT SubstituteNameOffset; // @8, in bytes from PathBuffer
//	      USHORT SubstituteNameLength; // @10, in bytes
//	      USHORT PrintNameOffset;      // @12
//	      USHORT PrintNameLength;      // @14
//	      ULONG  Flags;                // @16
//	      WCHAR  PathBuffer[1];        // @20
//	    } SymbolicLinkReparseBuffer;
//	    struct {
//	      USHORT SubstituteNameOffset; // @8
//	      USHORT SubstituteNameLength; // @10
//	      USHORT PrintNameOffset;      // @12
//	      USHORT PrintNameLength;      // @14
//	      WCHAR  PathBuffer[1];        // @16
//	    } MountPointReparseBuffer;
//	    struct {
//	      UCHAR  DataBuffer[1];        // @8
//	    } GenericReparseBuffer;
//	  };
//	} REPARSE_DATA_BUFFER;
//
// A point whose tag is not Microsoft's has a GUID @8 and its data @24
// (REPARSE_GUID_DATA_BUFFER).
type ReparsePoint struct {
	Tag ReparseTag

	// Symbolic links and mount points only. Substitute is the target: an NT
	// path such as \??\C:\dir, \??\UNC\server\share or \??\Volume{guid}\, or a
	// relative one. Print is for people and may be missing or lie.
	Substitute string
	Print      string

	// Flags of a symbolic link: SymlinkFlagRelative.
	Flags uint32

	// Other tags only.
	GUID GUID // unless the tag is Microsoft's
	Data []byte
}

// SymlinkFlagRelative says that a symbolic link's target is relative to the
// directory of the link.
const SymlinkFlagRelative uint32 = 0x1

// MaxReparsePointSize is the largest reparse point
// (MAXIMUM_REPARSE_DATA_BUFFER_SIZE).
const MaxReparsePointSize = 16384

const (
	reparseStructure  = "REPARSE_DATA_BUFFER"
	reparseHeader     = 8
	reparseGUIDHeader = 24
	symlinkPathBuffer = 12 // behind the header
	mountPathBuffer   = 8  // behind the header
)

// IsRelative reports whether p is a symbolic link with a relative target.
func (p ReparsePoint) IsRelative() bool {
	return p.Tag == IO_REPARSE_TAG_SYMLINK && p.Flags&SymlinkFlagRelative != 0
}

// DecodeReparsePoint reads a REPARSE_DATA_BUFFER.
func DecodeReparsePoint(b []byte) (ReparsePoint, error) {
	if err := need(reparseStructure, b, reparseHeader); err != nil {
		return ReparsePoint{}, err
	}
	p := ReparsePoint{Tag: ReparseTag(le.Uint32(b))}
	header := reparseHeader
	if !p.Tag.microsoft() {
		header = reparseGUIDHeader
	}
	if err := need(reparseStructure, b, header); err != nil {
		return ReparsePoint{}, err
	}
	data, ok := slice(b, uint64(header), uint64(le.Uint16(b[4:])))
	if !ok {
		return ReparsePoint{}, malformed(reparseStructure, "%d bytes of data in %d", le.Uint16(b[4:]), len(b))
	}
	var err error
	switch {
	case p.Tag == IO_REPARSE_TAG_SYMLINK:
		err = p.decodeSymlink(data)
	case p.Tag == IO_REPARSE_TAG_MOUNT_POINT:
		err = p.decodeNames(data, mountPathBuffer)
	default:
		if header == reparseGUIDHeader {
			p.GUID = DecodeGUID(b[reparseHeader:])
		}
		p.Data = append([]byte(nil), data...)
	}
	if err != nil {
		return ReparsePoint{}, err
	}
	return p, nil
}

func (p *ReparsePoint) decodeSymlink(data []byte) error {
	if err := p.decodeNames(data, symlinkPathBuffer); err != nil {
		return err
	}
	p.Flags = le.Uint32(data[8:])
	return nil
}

func (p *ReparsePoint) decodeNames(data []byte, pathBuffer int) error {
	if err := need(reparseStructure, data, pathBuffer); err != nil {
		return err
	}
	names := [2]string{}
	for i := range names {
		offset, length := le.Uint16(data[4*i:]), le.Uint16(data[4*i+2:])
		name, ok := slice(data[pathBuffer:], uint64(offset), uint64(length))
		if !ok || length%2 != 0 {
			return malformed(reparseStructure, "name of %d bytes at %d of %d", length, offset, len(data)-pathBuffer)
		}
		names[i] = DecodeUTF16(name)
	}
	p.Substitute, p.Print = names[0], names[1]
	return nil
}

// Encode returns the REPARSE_DATA_BUFFER, laid out as Windows itself does. A
// point longer than MaxReparsePointSize is ErrMalformed.
func (p ReparsePoint) Encode() ([]byte, error) {
	b := le.AppendUint32(nil, uint32(p.Tag))
	b = append(b, 0, 0, 0, 0)
	header := reparseHeader
	switch {
	case p.Tag == IO_REPARSE_TAG_SYMLINK:
		b = p.appendSymlink(b)
	case p.Tag == IO_REPARSE_TAG_MOUNT_POINT:
		b = p.appendMountPoint(b)
	case p.Tag.microsoft():
		b = append(b, p.Data...)
	default:
		header = reparseGUIDHeader
		b = append(b, make([]byte, GUIDSize)...)
		p.GUID.Put(b[reparseHeader:])
		b = append(b, p.Data...)
	}
	if len(b) > MaxReparsePointSize {
		return nil, malformed(reparseStructure, "%d bytes", len(b))
	}
	le.PutUint16(b[4:], uint16(len(b)-header))
	return b, nil
}

// A symbolic link has its print name first and no terminators.
func (p ReparsePoint) appendSymlink(b []byte) []byte {
	substitute, printed := EncodeUTF16(p.Substitute), EncodeUTF16(p.Print)
	b = appendNames(b, len(printed), len(substitute), 0, len(printed))
	b = le.AppendUint32(b, p.Flags)
	b = append(b, printed...)
	return append(b, substitute...)
}

// NTFS takes a mount point only with the substitute name first and a NUL
// behind each name.
func (p ReparsePoint) appendMountPoint(b []byte) []byte {
	substitute, printed := EncodeUTF16(p.Substitute), EncodeUTF16(p.Print)
	b = appendNames(b, 0, len(substitute), len(substitute)+2, len(printed))
	b = append(b, substitute...)
	b = append(b, 0, 0)
	b = append(b, printed...)
	return append(b, 0, 0)
}

func appendNames(b []byte, substituteOffset, substituteLength, printOffset, printLength int) []byte {
	for _, n := range []int{substituteOffset, substituteLength, printOffset, printLength} {
		b = le.AppendUint16(b, uint16(n))
	}
	return b
}

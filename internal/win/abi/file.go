// SPDX-License-Identifier: Apache-2.0

package abi

// Information classes (FILE_INFO_BY_HANDLE_CLASS).
const (
	FileBasicInfoClass              uint32 = 0
	FileStandardInfoClass           uint32 = 1
	FileDispositionInfoClass        uint32 = 4
	FileAttributeTagInfoClass       uint32 = 9
	FileIDBothDirectoryInfoClass    uint32 = 10
	FileIDBothDirectoryRestartClass uint32 = 11
	FileIDInfoClass                 uint32 = 18
	FileDispositionInfoExClass      uint32 = 21
)

// Sizes of the fixed information classes.
const (
	FileBasicInfoSize         = 40
	FileStandardInfoSize      = 24
	FileDispositionInfoSize   = 1
	FileAttributeTagInfoSize  = 8
	FileIDInfoSize            = 24
	FileDispositionInfoExSize = 4
)

// FileBasicInfo has a file's times, in 100 ns since 1601, and attributes. On
// setting, zero leaves a time and the attributes as they are.
//
//	typedef struct _FILE_BASIC_INFO {
//	  LARGE_INTEGER CreationTime;   // @0
//	  LARGE_INTEGER LastAccessTime; // @8
//	  LARGE_INTEGER LastWriteTime;  // @16
//	  LARGE_INTEGER ChangeTime;     // @24
//	  DWORD         FileAttributes; // @32
//	} FILE_BASIC_INFO;
type FileBasicInfo struct {
	CreationTime   int64
	LastAccessTime int64
	LastWriteTime  int64
	ChangeTime     int64
	Attributes     uint32
}

// DecodeFileBasicInfo reads a FILE_BASIC_INFO.
func DecodeFileBasicInfo(b []byte) (FileBasicInfo, error) {
	if err := need("FILE_BASIC_INFO", b, FileBasicInfoSize); err != nil {
		return FileBasicInfo{}, err
	}
	return FileBasicInfo{
		CreationTime:   int64(le.Uint64(b)),
		LastAccessTime: int64(le.Uint64(b[8:])),
		LastWriteTime:  int64(le.Uint64(b[16:])),
		ChangeTime:     int64(le.Uint64(b[24:])),
		Attributes:     le.Uint32(b[32:]),
	}, nil
}

// Encode returns the FILE_BASIC_INFO.
func (i FileBasicInfo) Encode() []byte {
	b := make([]byte, FileBasicInfoSize)
	le.PutUint64(b, uint64(i.CreationTime))
	le.PutUint64(b[8:], uint64(i.LastAccessTime))
	le.PutUint64(b[16:], uint64(i.LastWriteTime))
	le.PutUint64(b[24:], uint64(i.ChangeTime))
	le.PutUint32(b[32:], i.Attributes)
	return b
}

// FileStandardInfo has a file's size, in bytes, and links.
//
//	typedef struct _FILE_STANDARD_INFO {
//	  LARGE_INTEGER AllocationSize; // @0
//	  LARGE_INTEGER EndOfFile;      // @8
//	  DWORD         NumberOfLinks;  // @16
//	  BOOLEAN       DeletePending;  // @20
//	  BOOLEAN       Directory;      // @21
//	} FILE_STANDARD_INFO;
type FileStandardInfo struct {
	AllocationSize int64
	EndOfFile      int64
	Links          uint32
	DeletePending  bool
	Directory      bool
}

// DecodeFileStandardInfo reads a FILE_STANDARD_INFO.
func DecodeFileStandardInfo(b []byte) (FileStandardInfo, error) {
	if err := need("FILE_STANDARD_INFO", b, FileStandardInfoSize); err != nil {
		return FileStandardInfo{}, err
	}
	return FileStandardInfo{
		AllocationSize: int64(le.Uint64(b)),
		EndOfFile:      int64(le.Uint64(b[8:])),
		Links:          le.Uint32(b[16:]),
		DeletePending:  b[20] != 0,
		Directory:      b[21] != 0,
	}, nil
}

// Encode returns the FILE_STANDARD_INFO.
func (i FileStandardInfo) Encode() []byte {
	b := make([]byte, FileStandardInfoSize)
	le.PutUint64(b, uint64(i.AllocationSize))
	le.PutUint64(b[8:], uint64(i.EndOfFile))
	le.PutUint32(b[16:], i.Links)
	putBool(b[20:], i.DeletePending)
	putBool(b[21:], i.Directory)
	return b
}

// FileAttributeTagInfo has a file's attributes and, with
// FILE_ATTRIBUTE_REPARSE_POINT, its reparse tag.
//
//	typedef struct _FILE_ATTRIBUTE_TAG_INFO {
//	  DWORD FileAttributes; // @0
//	  DWORD ReparseTag;     // @4
//	} FILE_ATTRIBUTE_TAG_INFO;
type FileAttributeTagInfo struct {
	Attributes uint32
	ReparseTag ReparseTag
}

// DecodeFileAttributeTagInfo reads a FILE_ATTRIBUTE_TAG_INFO.
func DecodeFileAttributeTagInfo(b []byte) (FileAttributeTagInfo, error) {
	if err := need("FILE_ATTRIBUTE_TAG_INFO", b, FileAttributeTagInfoSize); err != nil {
		return FileAttributeTagInfo{}, err
	}
	return FileAttributeTagInfo{Attributes: le.Uint32(b), ReparseTag: ReparseTag(le.Uint32(b[4:]))}, nil
}

// Encode returns the FILE_ATTRIBUTE_TAG_INFO.
func (i FileAttributeTagInfo) Encode() []byte {
	b := le.AppendUint32(nil, i.Attributes)
	return le.AppendUint32(b, uint32(i.ReparseTag))
}

// FileIDInfo names a file on this machine for as long as it is open.
//
//	typedef struct _FILE_ID_INFO {
//	  ULONGLONG   VolumeSerialNumber; // @0
//	  FILE_ID_128 FileId;             // @8
//	} FILE_ID_INFO;
type FileIDInfo struct {
	VolumeSerialNumber uint64
	FileID             [16]byte
}

// DecodeFileIDInfo reads a FILE_ID_INFO.
func DecodeFileIDInfo(b []byte) (FileIDInfo, error) {
	if err := need("FILE_ID_INFO", b, FileIDInfoSize); err != nil {
		return FileIDInfo{}, err
	}
	return FileIDInfo{VolumeSerialNumber: le.Uint64(b), FileID: [16]byte(b[8:24])}, nil
}

// Encode returns the FILE_ID_INFO.
func (i FileIDInfo) Encode() []byte {
	b := le.AppendUint64(nil, i.VolumeSerialNumber)
	return append(b, i.FileID[:]...)
}

// DecodeFileDispositionInfo reads a FILE_DISPOSITION_INFO: whether the file is
// deleted with its last handle.
//
//	typedef struct _FILE_DISPOSITION_INFO {
//	  BOOLEAN DeleteFile; // @0
//	} FILE_DISPOSITION_INFO;
func DecodeFileDispositionInfo(b []byte) (bool, error) {
	if err := need("FILE_DISPOSITION_INFO", b, FileDispositionInfoSize); err != nil {
		return false, err
	}
	return b[0] != 0, nil
}

// EncodeFileDispositionInfo returns the FILE_DISPOSITION_INFO.
func EncodeFileDispositionInfo(remove bool) []byte {
	b := make([]byte, FileDispositionInfoSize)
	putBool(b, remove)
	return b
}

// Flags of FILE_DISPOSITION_INFO_EX: delete; take the name away at once although
// other handles are open; delete a read-only file too. File systems other than
// NTFS may refuse them with ERROR_INVALID_PARAMETER or ERROR_NOT_SUPPORTED.
const (
	FILE_DISPOSITION_FLAG_DELETE                    uint32 = 0x01
	FILE_DISPOSITION_FLAG_POSIX_SEMANTICS           uint32 = 0x02
	FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE uint32 = 0x10
)

// DecodeFileDispositionInfoEx reads the flags of a FILE_DISPOSITION_INFO_EX.
//
//	typedef struct _FILE_DISPOSITION_INFO_EX {
//	  DWORD Flags; // @0
//	} FILE_DISPOSITION_INFO_EX;
func DecodeFileDispositionInfoEx(b []byte) (uint32, error) {
	if err := need("FILE_DISPOSITION_INFO_EX", b, FileDispositionInfoExSize); err != nil {
		return 0, err
	}
	return le.Uint32(b), nil
}

// EncodeFileDispositionInfoEx returns the FILE_DISPOSITION_INFO_EX.
func EncodeFileDispositionInfoEx(flags uint32) []byte { return le.AppendUint32(nil, flags) }

// DirEntry is an entry of a directory. "." and ".." are among them. A name is
// as the file system or server gave it: look at it before you open it.
//
//	typedef struct _FILE_ID_BOTH_DIR_INFO {
//	  DWORD         NextEntryOffset; // @0, from this entry, 0 in the last
//	  DWORD         FileIndex;       // @4
//	  LARGE_INTEGER CreationTime;    // @8
//	  LARGE_INTEGER LastAccessTime;  // @16
//	  LARGE_INTEGER LastWriteTime;   // @24
//	  LARGE_INTEGER ChangeTime;      // @32
//	  LARGE_INTEGER EndOfFile;       // @40
//	  LARGE_INTEGER AllocationSize;  // @48
//	  DWORD         FileAttributes;  // @56
//	  DWORD         FileNameLength;  // @60, in bytes
//	  DWORD         EaSize;          // @64, the tag of a reparse point
//	  CCHAR         ShortNameLength; // @68, in bytes
//	  WCHAR         ShortName[12];   // @70
//	  LARGE_INTEGER FileId;          // @96
//	  WCHAR         FileName[1];     // @104
//	} FILE_ID_BOTH_DIR_INFO;
type DirEntry struct {
	Name          string
	Attributes    uint32
	ReparseTag    ReparseTag // with FILE_ATTRIBUTE_REPARSE_POINT, else 0
	EndOfFile     int64      // bytes
	LastWriteTime int64      // 100 ns since 1601
	FileID        uint64
}

const (
	dirEntryStructure = "FILE_ID_BOTH_DIR_INFO"
	dirEntryName      = 104
	dirEntryAlign     = 8
)

// DecodeDirEntries reads a list of FILE_ID_BOTH_DIR_INFO, whole or, beside an
// error, not at all.
func DecodeDirEntries(b []byte) ([]DirEntry, error) {
	var list []DirEntry
	for {
		entry, next, err := decodeDirEntry(b)
		if err != nil {
			return nil, err
		}
		list = append(list, entry)
		if next == 0 {
			return list, nil
		}
		b = b[next:]
	}
}

// decodeDirEntry reads the entry at the start of b and returns how far on the
// next one is, 0 after the last.
func decodeDirEntry(b []byte) (DirEntry, int, error) {
	if err := need(dirEntryStructure, b, dirEntryName); err != nil {
		return DirEntry{}, 0, err
	}
	next, end := uint64(le.Uint32(b)), uint64(len(b))
	if next != 0 {
		if next < dirEntryName || next > end {
			return DirEntry{}, 0, malformed(dirEntryStructure, "next entry at %d of %d", next, end)
		}
		end = next
	}
	length := le.Uint32(b[60:])
	name, ok := slice(b[:end], dirEntryName, uint64(length))
	if !ok || length%2 != 0 {
		return DirEntry{}, 0, malformed(dirEntryStructure, "name of %d bytes in %d", length, end)
	}
	entry := DirEntry{
		Name:          DecodeUTF16(name),
		Attributes:    le.Uint32(b[56:]),
		EndOfFile:     int64(le.Uint64(b[40:])),
		LastWriteTime: int64(le.Uint64(b[24:])),
		FileID:        le.Uint64(b[96:]),
	}
	if entry.Attributes&FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		entry.ReparseTag = ReparseTag(le.Uint32(b[64:]))
	}
	return entry, int(next), nil
}

// EncodeDirEntries fills b with as many of the entries as fit, whole, and
// returns how many those are and how many bytes they took.
func EncodeDirEntries(b []byte, list []DirEntry) (entries, n int) {
	last := -1
	for _, e := range list {
		name := EncodeUTF16(e.Name)
		start := align(n, dirEntryAlign)
		if start > len(b) || dirEntryName+len(name) > len(b)-start {
			break
		}
		if last >= 0 {
			le.PutUint32(b[last:], uint32(start-last))
		}
		e.put(b[start:start+dirEntryName], len(name))
		n = start + dirEntryName + copy(b[start+dirEntryName:], name)
		last = start
		entries++
	}
	return entries, n
}

// put writes the fixed part of an entry, the last one so far.
func (e DirEntry) put(b []byte, nameLength int) {
	clear(b)
	le.PutUint64(b[24:], uint64(e.LastWriteTime))
	le.PutUint64(b[40:], uint64(e.EndOfFile))
	le.PutUint32(b[56:], e.Attributes)
	le.PutUint32(b[60:], uint32(nameLength))
	if e.Attributes&FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		le.PutUint32(b[64:], uint32(e.ReparseTag))
	}
	le.PutUint64(b[96:], e.FileID)
}

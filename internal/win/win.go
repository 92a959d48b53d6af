// SPDX-License-Identifier: Apache-2.0

// Package win is the boundary: what a Windows host answers, as small
// interfaces over bytes, strings and native codes.
//
// Nothing below the boundary decides. A method is one documented call (its
// size or enumeration loop included); it copies values out, returns the native
// code unchanged and knows no context, because a synchronous system call has
// none. Everything above it is portable Go.
//
// internal/win/native implements the interfaces with Windows itself,
// pkg/simhost with a model. Errors are native codes in their own types
// ([Errno], [HRESULT], [ConfigRet], [ProviderError]); pkg/errdefs gives them
// their kind.
package win

import (
	"fmt"
	"io"
	"reflect"
	"sync"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Host is one Windows node as seen through the boundary. Its interfaces may be
// mixed from different implementations. A Host must not be copied.
type Host struct {
	Devices  Devices
	Mounts   Mounts
	Files    Files
	Services Services
	System   System
	WMI      WMI
	Logons   Logons
	Arrivals Arrivals

	mu       sync.Mutex
	attached map[reflect.Type]any
}

// Attached returns the one T of a host, made by create at the first call. So
// all groups built on a host share its WMI workers, lock tables and caches, and
// a host that nobody uses has none. create must not call Attached for h.
func Attached[T any](h *Host, create func() *T) *T {
	key := reflect.TypeFor[T]()
	h.mu.Lock()
	defer h.mu.Unlock()
	if v, ok := h.attached[key]; ok {
		return v.(*T)
	}
	if h.attached == nil {
		h.attached = map[reflect.Type]any{}
	}
	v := create()
	h.attached[key] = v
	return v
}

// Access is a desired access mask (winnt.h).
type Access uint32

// Access rights. A device opened with no rights answers the control codes of
// kind "any access" without touching its media (windows-api.md 0.1, 0.2).
const (
	NoAccess            Access = 0
	FileReadData        Access = 0x0001 // FILE_READ_DATA, FILE_LIST_DIRECTORY
	FileWriteData       Access = 0x0002 // FILE_WRITE_DATA, FILE_ADD_FILE
	FileAppendData      Access = 0x0004 // FILE_APPEND_DATA, FILE_ADD_SUBDIRECTORY
	FileTraverse        Access = 0x0020
	FileReadAttributes  Access = 0x0080
	FileWriteAttributes Access = 0x0100
	Delete              Access = 0x0001_0000
	Synchronize         Access = 0x0010_0000
	GenericWrite        Access = 0x4000_0000
	GenericRead         Access = 0x8000_0000
)

// Devices are the device objects of the host.
type Devices interface {
	// Interfaces lists the interface paths of the present devices of a class
	// (SetupDiGetClassDevsW and its enumeration).
	Interfaces(class abi.GUID) ([]string, error)

	// Open opens an existing device: an interface path, \\.\PhysicalDriveN,
	// \\?\Volume{guid} without trailing backslash, \\.\MountPointManager
	// (CreateFileW, OPEN_EXISTING, shared for reading and writing).
	Open(path string, access Access) (Device, error)
}

// A Controller answers control codes.
type Controller interface {
	// Control sends a control code (DeviceIoControl) and returns how many
	// bytes of out are valid, also beside an error such as ERROR_MORE_DATA.
	Control(code uint32, in, out []byte) (int, error)
	Close() error
}

// Device is an open device. Its methods block until the driver answers. It is
// safe for concurrent use.
type Device interface {
	Controller

	// ReadAt reads media bytes. Offset and length are multiples of the sector
	// size. It returns how many bytes were read; fewer than asked for is no
	// error here.
	ReadAt(p []byte, offset int64) (int, error)

	// Flush writes the device's cache (FlushFileBuffers).
	Flush() error
}

// Mounts is the host's volume and mount point interface (fileapi.h). Volume
// names have the form \\?\Volume{guid}\ and mount points end in a backslash,
// both in and out.
type Mounts interface {
	// Volumes lists volume names (FindFirstVolumeW and its enumeration).
	Volumes() ([]string, error)
	// Paths lists the drive roots and mount folders that the mount manager
	// has for a volume (GetVolumePathNamesForVolumeNameW), stale ones too.
	Paths(volume string) ([]string, error)
	// VolumeAt names the volume mounted at a mount point or drive root
	// (GetVolumeNameForVolumeMountPointW).
	VolumeAt(mountPoint string) (string, error)
	// SetPoint mounts a volume at an empty directory (SetVolumeMountPointW).
	SetPoint(mountPoint, volume string) error
	// DeletePoint removes a mount point (DeleteVolumeMountPointW).
	DeletePoint(mountPoint string) error
	// Information describes the file system of a volume root
	// (GetVolumeInformationW).
	Information(root string) (VolumeInformation, error)
	// FreeSpace is the space of the volume that holds a directory
	// (GetDiskFreeSpaceExW), in bytes.
	FreeSpace(directory string) (FreeSpace, error)
}

// VolumeInformation is what GetVolumeInformationW reports.
type VolumeInformation struct {
	Label        string
	SerialNumber uint32
	FileSystem   string // "NTFS", "ReFS", "FAT32" …
	Flags        uint32
}

// FreeSpace is what GetDiskFreeSpaceExW reports, in bytes.
type FreeSpace struct {
	Available uint64 // to the caller, within its quota
	Total     uint64 // to the caller, within its quota
	Free      uint64 // of the volume
}

// Files opens files and directories. Paths are in extended form, \\?\C:\dir,
// \\?\UNC\host\share\dir or \\?\Volume{guid}\dir, separated by backslashes.
type Files interface {
	// Open opens name (NtCreateFile), never following a reparse point at its
	// end. With a directory, name is one path element below it; with nil, name
	// is a whole path, whose parents Windows resolves.
	Open(directory File, name string, how OpenFile) (File, error)

	// SymbolicLink creates a link (CreateSymbolicLinkW) with the target text
	// as given.
	SymbolicLink(link, target string, flags uint32) error
}

// OpenFile says how a file is opened. It is shared for reading, writing and
// deletion, with FILE_OPEN_REPARSE_POINT, FILE_OPEN_FOR_BACKUP_INTENT and
// FILE_SYNCHRONOUS_IO_NONALERT.
type OpenFile struct {
	Access      Access
	Disposition Disposition
	Options     uint32 // FileDirectoryFile, FileNonDirectoryFile

	// Pinned does not share it for deletion: until it is closed nobody removes
	// or renames it, nor a directory above it. Windows looks at that only where
	// Access has FileReadData, FileWriteData or Delete.
	Pinned bool
}

// Disposition says what to do where the name exists or not (NtCreateFile).
type Disposition uint32

// Dispositions.
const (
	OpenExisting Disposition = 1 // FILE_OPEN
	CreateNew    Disposition = 2 // FILE_CREATE
)

// Create options of NtCreateFile, and flags of CreateSymbolicLinkW.
const (
	FileDirectoryFile         = 0x01
	FileNonDirectoryFile      = 0x40
	SymbolicLinkFlagDirectory = 0x1
)

// File is an open file, directory or reparse point. It is safe for concurrent
// use.
type File interface {
	Controller

	// Information fills buf with an information class
	// (GetFileInformationByHandleEx) and returns how many bytes are valid: for
	// the fixed classes of abi their length.
	Information(class uint32, buf []byte) (int, error)
	// SetInformation changes an information class
	// (SetFileInformationByHandle).
	SetInformation(class uint32, buf []byte) error
	// List fills buf with the next FILE_ID_BOTH_DIR_INFO entries of a
	// directory, from the start with restart; ERROR_NO_MORE_FILES ends it.
	List(buf []byte, restart bool) (int, error)
	// FinalPath is the path of the open object, free of links
	// (GetFinalPathNameByHandleW).
	FinalPath(flags uint32) (string, error)
}

// Flags of GetFinalPathNameByHandleW.
const (
	VolumeNameDOS  = 0x0 // \\?\C:\dir
	VolumeNameGUID = 0x1 // \\?\Volume{guid}\dir
)

// System is the host's own description.
type System interface {
	// WindowsDirectory is the system's Windows directory, for example
	// C:\Windows (GetSystemWindowsDirectoryW).
	WindowsDirectory() (string, error)
	// RegistryValue reads a value below HKEY_LOCAL_MACHINE.
	RegistryValue(key, name string) (RegistryValue, error)
	// BuildNumber is the build of Windows, for example 20348 (RtlGetVersion).
	BuildNumber() (uint32, error)
	// FirmwareTable is a table of a firmware table provider
	// (GetSystemFirmwareTable).
	FirmwareTable(provider, id uint32) ([]byte, error)
}

// RegistryValue is a registry value's type (REG_SZ 1, REG_MULTI_SZ 7, …) and
// bytes; strings are UTF-16.
type RegistryValue struct {
	Type uint32
	Data []byte
}

// WMI is Windows Management Instrumentation. Its methods, and those of what it
// returns, must be called from one OS thread that has entered.
type WMI interface {
	// Enter makes the calling OS thread, which the caller has locked, a member
	// of the multithreaded apartment; Leave undoes one Enter.
	Enter() error
	Leave()
	// Connect opens a namespace with packet privacy.
	Connect(namespace string) (Session, error)
}

// Session is a connection to a namespace.
type Session interface {
	// Query starts a semi-synchronous, forward-only WQL query.
	Query(wql string) (Rows, error)
	// Get reads a class or an instance by its object path.
	Get(path string) (Row, error)
	// Start begins a method of a class on the object at path, or on the class
	// itself where path is empty. A parameter that the method does not have is
	// WBEM_E_NOT_FOUND; one that is not given stays NULL.
	Start(class, path, method string, in []Param) (Call, error)
	Close()
}

// Rows is a running query.
type Rows interface {
	// Next waits for a row. WBEM_S_TIMEDOUT says that none came in time,
	// WBEM_S_FALSE that there are no more.
	Next(wait time.Duration) (Row, error)
	Close()
}

// Call is a running method.
type Call interface {
	// Result waits for the end of the method and returns its out parameters,
	// ReturnValue among them. WBEM_S_TIMEDOUT says that it has not ended.
	Result(wait time.Duration) (Row, error)
	// Close lets go of the call. It does not end the method.
	Close()
}

// Row is a WMI object: values by name, in the type in which COM hands them
// over (windows-api.md 14.7): nil for NULL, bool, uint8, int16 (sint16,
// char16), int32 (uint16, sint32, uint32 with its bit pattern), string (also
// uint64 and sint64, in decimal), float32, float64, Row for an embedded object,
// and []any of these for an array. System properties (__CLASS, __PATH,
// __RELPATH) are values like others.
type Row map[string]any

// Param is a method parameter, its value in the types of [Row]. The value may be
// a secret, so that a Param formats as its name alone.
type Param struct {
	Name  string
	Value any
}

// Format writes the name, whatever the verb.
func (p Param) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.Name) }

// MarshalText is the name.
func (p Param) MarshalText() ([]byte, error) { return []byte(p.Name), nil }

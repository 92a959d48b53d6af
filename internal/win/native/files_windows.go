// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"
	"math"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

type files struct{}

var (
	_ win.Files = files{}
	_ win.File  = (*file)(nil)
)

func (files) Open(directory win.File, name string, how win.OpenFile) (win.File, error) {
	if directory == nil {
		return open(0, name, how)
	}
	parent, ok := directory.(*file)
	if !ok {
		return nil, win.ERROR_INVALID_HANDLE
	}
	var child win.File
	err := parent.use(func(root windows.Handle) (err error) {
		child, err = open(root, name, how)
		return err
	})
	return child, err
}

// open calls NtCreateFile, which takes a directory to start from and knows
// neither . nor .. nor reserved names: what is asked for is what is opened.
func open(root windows.Handle, name string, how win.OpenFile) (win.File, error) {
	object, err := objectName(root, name)
	if err != nil {
		return nil, err
	}
	attributes := windows.OBJECT_ATTRIBUTES{RootDirectory: root, ObjectName: object, Attributes: windows.OBJ_CASE_INSENSITIVE}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	const options = windows.FILE_OPEN_REPARSE_POINT | windows.FILE_OPEN_FOR_BACKUP_INTENT | windows.FILE_SYNCHRONOUS_IO_NONALERT
	share := uint32(windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE)
	if how.Pinned {
		share &^= windows.FILE_SHARE_DELETE
	}
	var (
		value  windows.Handle
		status windows.IO_STATUS_BLOCK
	)
	err = windows.NtCreateFile(&value, uint32(how.Access|win.Synchronize), &attributes, &status, nil,
		windows.FILE_ATTRIBUTE_NORMAL, share, uint32(how.Disposition), how.Options|options, 0, 0)
	if err != nil {
		return nil, win32(err)
	}
	return &file{handle{value: value}}, nil
}

// objectName is a path element below root, or the NT form \??\ of an extended
// path \\?\ where there is no root.
func objectName(root windows.Handle, name string) (*windows.NTUnicodeString, error) {
	if root == 0 {
		rest, ok := strings.CutPrefix(name, `\\?\`)
		if !ok {
			return nil, win.ERROR_INVALID_NAME
		}
		name = `\??\` + rest
	}
	units, err := wide(name)
	if err != nil {
		return nil, err
	}
	const longest = 0xFFFE // bytes, NUL included
	if 2*len(units) > longest {
		return nil, win.ERROR_FILENAME_EXCED_RANGE
	}
	bytes := uint16(2 * len(units))
	return &windows.NTUnicodeString{Length: bytes - 2, MaximumLength: bytes, Buffer: &units[0]}, nil
}

// win32 is the Win32 code of an NTSTATUS (RtlNtStatusToDosErrorNoTeb).
func win32(err error) error {
	if status := windows.NTStatus(0); errors.As(err, &status) {
		return status.Errno()
	}
	return err
}

func (files) SymbolicLink(link, target string, flags uint32) error {
	name, err := wide(link)
	if err != nil {
		return err
	}
	text, err := wide(target)
	if err != nil {
		return err
	}
	return windows.CreateSymbolicLink(&name[0], &text[0], flags)
}

type file struct{ handle }

func (f *file) Information(class uint32, buf []byte) (int, error) {
	err := f.use(func(value windows.Handle) error {
		return windows.GetFileInformationByHandleEx(value, class, first(buf), uint32(len(buf)))
	})
	if err != nil {
		return 0, err
	}
	return min(len(buf), informationSize(class)), nil
}

// informationSize is how many bytes a class has, which the call does not say.
// Lists and names carry their own length.
func informationSize(class uint32) int {
	switch class {
	case abi.FileBasicInfoClass:
		return abi.FileBasicInfoSize
	case abi.FileStandardInfoClass:
		return abi.FileStandardInfoSize
	case abi.FileAttributeTagInfoClass:
		return abi.FileAttributeTagInfoSize
	case abi.FileIDInfoClass:
		return abi.FileIDInfoSize
	}
	return math.MaxInt
}

func (f *file) SetInformation(class uint32, buf []byte) error {
	return f.use(func(value windows.Handle) error {
		return windows.SetFileInformationByHandle(value, class, first(buf), uint32(len(buf)))
	})
}

func (f *file) List(buf []byte, restart bool) (int, error) {
	class := abi.FileIDBothDirectoryInfoClass
	if restart {
		class = abi.FileIDBothDirectoryRestartClass
	}
	return f.Information(class, buf)
}

func (f *file) FinalPath(flags uint32) (string, error) {
	var path []uint16
	err := f.use(func(value windows.Handle) (err error) {
		path, err = grow(windows.MAX_PATH, func(buf []uint16) (int, error) {
			n, err := windows.GetFinalPathNameByHandle(value, &buf[0], uint32(len(buf)), flags)
			return int(n), err
		})
		return err
	})
	return windows.UTF16ToString(path), err
}

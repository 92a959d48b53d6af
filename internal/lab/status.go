// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// ntstatus is what a kernel request ends with. The calls of Win32 turn it into
// a Win32 code again (RtlNtStatusToDosError).
type ntstatus uint32

const (
	statusSuccess          ntstatus = 0
	statusInvalidParameter ntstatus = 0xC000_000D
	statusInvalidRequest   ntstatus = 0xC000_0010 // STATUS_INVALID_DEVICE_REQUEST
	statusUnsuccessful     ntstatus = 0xC000_0001
)

// statuses are those that Windows itself uses for a code (ntstatus.h).
var statuses = map[win.Errno]ntstatus{
	win.ERROR_INVALID_FUNCTION:     statusInvalidRequest,
	win.ERROR_FILE_NOT_FOUND:       0xC000_0034, // STATUS_OBJECT_NAME_NOT_FOUND
	win.ERROR_PATH_NOT_FOUND:       0xC000_003A, // STATUS_OBJECT_PATH_NOT_FOUND
	win.ERROR_ACCESS_DENIED:        0xC000_0022, // STATUS_ACCESS_DENIED
	win.ERROR_INVALID_HANDLE:       0xC000_0008, // STATUS_INVALID_HANDLE
	win.ERROR_NO_MORE_FILES:        0x8000_0006, // STATUS_NO_MORE_FILES
	win.ERROR_WRITE_PROTECT:        0xC000_00A2, // STATUS_MEDIA_WRITE_PROTECTED
	win.ERROR_NOT_READY:            0xC000_00A3, // STATUS_DEVICE_NOT_READY
	win.ERROR_CRC:                  0xC000_003F, // STATUS_CRC_ERROR
	win.ERROR_SHARING_VIOLATION:    0xC000_0043, // STATUS_SHARING_VIOLATION
	win.ERROR_HANDLE_EOF:           0xC000_0011, // STATUS_END_OF_FILE
	win.ERROR_NOT_SUPPORTED:        0xC000_00BB, // STATUS_NOT_SUPPORTED
	win.ERROR_INVALID_PARAMETER:    statusInvalidParameter,
	win.ERROR_INVALID_NAME:         0xC000_0033, // STATUS_OBJECT_NAME_INVALID
	win.ERROR_DISK_FULL:            0xC000_007F, // STATUS_DISK_FULL
	win.ERROR_INSUFFICIENT_BUFFER:  0xC000_0023, // STATUS_BUFFER_TOO_SMALL
	win.ERROR_DIR_NOT_EMPTY:        0xC000_0101, // STATUS_DIRECTORY_NOT_EMPTY
	win.ERROR_ALREADY_EXISTS:       0xC000_0035, // STATUS_OBJECT_NAME_COLLISION
	win.ERROR_MORE_DATA:            0x8000_0005, // STATUS_BUFFER_OVERFLOW
	win.ERROR_DIRECTORY:            0xC000_0103, // STATUS_NOT_A_DIRECTORY
	win.ERROR_NO_SUCH_DEVICE:       0xC000_000E, // STATUS_NO_SUCH_DEVICE
	win.ERROR_UNRECOGNIZED_VOLUME:  0xC000_014F, // STATUS_UNRECOGNIZED_VOLUME
	win.ERROR_DEVICE_NOT_CONNECTED: 0xC000_009D, // STATUS_DEVICE_NOT_CONNECTED
	win.ERROR_IO_DEVICE:            0xC000_0185, // STATUS_IO_DEVICE_ERROR
	win.ERROR_NOT_A_REPARSE_POINT:  0xC000_0275, // STATUS_NOT_A_REPARSE_POINT
}

// status carries an error of the node. A code without a status of its own
// travels as a warning with the code in it, which the calls of Win32 unpack.
func status(err error) ntstatus {
	code := win.Errno(0)
	switch {
	case err == nil:
		return statusSuccess
	case !errors.As(err, &code) || code == 0:
		return statusUnsuccessful
	}
	if s, ok := statuses[code]; ok {
		return s
	}
	return 0x8007_0000 | ntstatus(code&0xFFFF)
}

// failed reports whether a status is an error, beside which no data travels; a
// warning has some.
func (s ntstatus) failed() bool { return s >= 0xC000_0000 }

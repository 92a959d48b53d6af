// SPDX-License-Identifier: Apache-2.0

package errdefs

import (
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// Facility says whose number a native code is.
type Facility int

// The facilities.
const (
	Win32 Facility = iota + 1
	HResult
	ConfigManager
	StorageManagement // ReturnValue of a storage WMI method
	ISCSI             // status of the iSCSI initiator
)

var facilityNames = map[Facility]string{
	Win32: "win32", HResult: "hresult", ConfigManager: "cr", StorageManagement: "storage", ISCSI: "iscsi",
}

// String is the facility's short name, as error texts print it.
func (f Facility) String() string { return facilityNames[f] }

// Native is a code as Windows gave it.
type Native struct {
	Facility Facility
	Code     uint32
}

// String reads "win32 5" or "hresult 0x80041001".
func (n Native) String() string {
	switch n.Facility {
	case HResult, ConfigManager, ISCSI:
		return fmt.Sprintf("%s 0x%X", n.Facility, n.Code)
	default:
		return fmt.Sprintf("%s %d", n.Facility, n.Code)
	}
}

// NativeOf finds the native code in an error.
func NativeOf(err error) (Native, bool) {
	var (
		errno win.Errno
		hr    win.HRESULT
		cr    win.ConfigRet
		rv    win.ReturnValue
		iscsi win.ISDSC
	)
	switch {
	case errors.As(err, &iscsi): // before the WMI code that carried it
		return Native{ISCSI, uint32(iscsi)}, true
	case errors.As(err, &errno):
		return Native{Win32, uint32(errno)}, true
	case errors.As(err, &rv):
		return Native{StorageManagement, uint32(rv)}, true
	case errors.As(err, &hr):
		return Native{HResult, uint32(hr)}, true
	case errors.As(err, &cr):
		return Native{ConfigManager, uint32(cr)}, true
	}
	return Native{}, false
}

// Kind is the kind of a native code; Internal where the table has none. A
// Win32 code and its HRESULT_FROM_WIN32 are one. Codes that mean different
// things to different calls are told apart by the caller.
func (n Native) Kind() Kind {
	if k, ok := kinds[n.Err()]; ok {
		return k
	}
	if k, ok := kinds[n.twin().Err()]; ok {
		return k
	}
	return Internal
}

// Err is the code as an error, as the boundary returns it: what a test gives to
// simhost.Node.OnCall for a call to fail with. It is nil for a facility that
// there is not.
func (n Native) Err() error {
	switch n.Facility {
	case Win32:
		return win.Errno(n.Code)
	case HResult:
		return win.HRESULT(n.Code)
	case ConfigManager:
		return win.ConfigRet(n.Code)
	case StorageManagement:
		return win.ReturnValue(n.Code)
	case ISCSI:
		return win.ISDSC(n.Code)
	}
	return nil
}

// twin is the HRESULT of a Win32 code and the other way round; else n itself.
func (n Native) twin() Native {
	const mask, fromWin32 = 0xFFFF_0000, 0x8007_0000 // HRESULT_FROM_WIN32
	switch {
	case n.Facility == Win32 && n.Code&mask == 0:
		return Native{HResult, n.Code | fromWin32}
	case n.Facility == HResult && n.Code&mask == fromWin32:
		return Native{Win32, n.Code &^ mask}
	}
	return n
}

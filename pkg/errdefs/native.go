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
)

var facilityNames = map[Facility]string{
	Win32: "win32", HResult: "hresult", ConfigManager: "cr", StorageManagement: "storage",
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
	if n.Facility == HResult || n.Facility == ConfigManager {
		return fmt.Sprintf("%s 0x%X", n.Facility, n.Code)
	}
	return fmt.Sprintf("%s %d", n.Facility, n.Code)
}

// NativeOf finds the native code in an error.
func NativeOf(err error) (Native, bool) {
	var (
		errno win.Errno
		hr    win.HRESULT
		cr    win.ConfigRet
		rv    win.ReturnValue
	)
	switch {
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

// Kind is the kind of a native code; Internal where the table has none. Codes
// that mean different things to different calls are told apart by the caller.
func (n Native) Kind() Kind {
	if n.Facility == HResult && n.Code&0xFFFF0000 == 0x80070000 { // HRESULT_FROM_WIN32
		if k, ok := kinds[Native{Win32, n.Code & 0xFFFF}]; ok {
			return k
		}
	}
	if k, ok := kinds[n]; ok {
		return k
	}
	return Internal
}

// kinds is the one table from native codes to kinds (windows-api.md 0.3, 5.4,
// 14.5).
var kinds = table{}.
	addWin32(InvalidArgument, win.ERROR_INVALID_PARAMETER, win.ERROR_INVALID_NAME, win.ERROR_BAD_LENGTH, win.ERROR_DIRECTORY, win.ERROR_FILENAME_EXCED_RANGE).
	addWin32(NotFound, win.ERROR_FILE_NOT_FOUND, win.ERROR_PATH_NOT_FOUND, win.ERROR_NO_SUCH_DEVICE, win.ERROR_NOT_FOUND).
	addWin32(AlreadyExists, win.ERROR_FILE_EXISTS, win.ERROR_ALREADY_EXISTS).
	addWin32(PermissionDenied, win.ERROR_ACCESS_DENIED, win.ERROR_NETWORK_ACCESS_DENIED, win.ERROR_INVALID_PASSWORD, win.ERROR_PRIVILEGE_NOT_HELD, win.ERROR_LOGON_FAILURE).
	addWin32(FailedPrecondition, win.ERROR_WRITE_PROTECT, win.ERROR_DIR_NOT_EMPTY, win.ERROR_UNRECOGNIZED_VOLUME, win.ERROR_FILE_INVALID, win.ERROR_NO_MEDIA_IN_DRIVE, win.ERROR_MEDIA_CHANGED,
		win.ERROR_SESSION_CREDENTIAL_CONFLICT, win.ERROR_FILE_CORRUPT, win.ERROR_DISK_CORRUPT, win.ERROR_CANT_ACCESS_FILE, win.ERROR_CANT_RESOLVE_FILENAME, win.ERROR_NOT_A_REPARSE_POINT, win.ERROR_REPARSE_TAG_INVALID).
	addWin32(Busy, win.ERROR_SHARING_VIOLATION, win.ERROR_LOCK_VIOLATION, win.ERROR_BUSY).
	addWin32(Unavailable, win.ERROR_NOT_READY, win.ERROR_CRC, win.ERROR_GEN_FAILURE, win.ERROR_BAD_NETPATH, win.ERROR_NETWORK_BUSY, win.ERROR_DEV_NOT_EXIST, win.ERROR_UNEXP_NET_ERR,
		win.ERROR_NETNAME_DELETED, win.ERROR_BAD_DEV_TYPE, win.ERROR_BAD_NET_NAME, win.ERROR_SEM_TIMEOUT, win.ERROR_OPERATION_ABORTED, win.ERROR_IO_DEVICE, win.ERROR_DISK_OPERATION_FAILED, win.ERROR_DEVICE_NOT_CONNECTED).
	addWin32(ResourceExhausted, win.ERROR_DISK_FULL, win.ERROR_NO_SYSTEM_RESOURCES).
	addWin32(Unsupported, win.ERROR_INVALID_FUNCTION, win.ERROR_NOT_SUPPORTED, win.ERROR_CALL_NOT_IMPLEMENTED).
	addHResult(InvalidArgument, win.WBEM_E_INVALID_PARAMETER, win.WBEM_E_TYPE_MISMATCH, win.WBEM_E_INVALID_QUERY, win.WBEM_E_INVALID_OBJECT_PATH, win.WBEM_E_INVALID_METHOD_PARAMS).
	addHResult(NotFound, win.WBEM_E_NOT_FOUND).
	addHResult(PermissionDenied, win.WBEM_E_ACCESS_DENIED, win.WBEM_E_PRIVILEGE_NOT_HELD).
	addHResult(Unavailable, win.WBEM_E_PROVIDER_FAILURE, win.WBEM_E_PROVIDER_LOAD_FAILURE, win.WBEM_E_CALL_CANCELLED, win.WBEM_E_SHUTTING_DOWN, win.WBEM_E_TIMED_OUT, win.WBEM_E_PROVIDER_TIMED_OUT,
		win.WBEM_S_TIMEDOUT, win.RPC_S_SERVER_UNAVAILABLE, win.RPC_S_CALL_FAILED, win.RPC_E_DISCONNECTED, win.CO_E_SERVER_EXEC_FAILURE).
	addHResult(ResourceExhausted, win.WBEM_E_OUT_OF_MEMORY, win.WBEM_E_QUOTA_VIOLATION).
	addHResult(Unsupported, win.WBEM_E_NOT_SUPPORTED, win.WBEM_E_INVALID_NAMESPACE, win.WBEM_E_INVALID_CLASS, win.WBEM_E_PROVIDER_NOT_FOUND, win.WBEM_E_PROVIDER_NOT_CAPABLE, win.WBEM_E_INVALID_METHOD,
		win.REGDB_E_CLASSNOTREG, win.CO_E_CLASSSTRING).
	addReturn(Unsupported, win.ReturnNotSupported, win.ReturnFileSystem).
	addReturn(Unavailable, win.ReturnTimeout, win.ReturnCacheOutOfDate, win.ReturnIOError).
	addReturn(InvalidArgument, win.ReturnInvalidParameter, win.ReturnClusterSize).
	addReturn(Busy, win.ReturnInUse).
	addReturn(OutOfRange, win.ReturnSizeNotSupported, win.ReturnNoSpace, win.ReturnTooSmallForGPT).
	addReturn(PermissionDenied, win.ReturnAccessDenied).
	addReturn(ResourceExhausted, win.ReturnNoResources).
	addReturn(FailedPrecondition, win.ReturnNotInitialized, win.ReturnAlreadyInitialized, win.ReturnDiskReadOnly, win.ReturnDiskOffline, win.ReturnCriticalDisk, win.ReturnNoMedia, win.ReturnClustered,
		win.ReturnAccessPathInUse, win.ReturnCriticalPartition, win.ReturnVolumeReadOnly)

type table map[Native]Kind

func (t table) addWin32(kind Kind, codes ...win.Errno) table {
	for _, c := range codes {
		t[Native{Win32, uint32(c)}] = kind
	}
	return t
}

func (t table) addHResult(kind Kind, codes ...win.HRESULT) table {
	for _, c := range codes {
		t[Native{HResult, uint32(c)}] = kind
	}
	return t
}

func (t table) addReturn(kind Kind, codes ...win.ReturnValue) table {
	for _, c := range codes {
		t[Native{StorageManagement, uint32(c)}] = kind
	}
	return t
}

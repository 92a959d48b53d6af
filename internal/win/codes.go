// SPDX-License-Identifier: Apache-2.0

package win

import "fmt"

// HRESULT is a COM or WMI result code.
type HRESULT uint32

func (c HRESULT) Error() string {
	if s, ok := hresultTexts[c]; ok {
		return s
	}
	return fmt.Sprintf("HRESULT 0x%08X", uint32(c))
}

// ConfigRet is a configuration manager result (CR_…).
type ConfigRet uint32

func (c ConfigRet) Error() string { return fmt.Sprintf("configuration manager result 0x%X", uint32(c)) }

// ReturnValue is the nonzero ReturnValue of a WMI method.
type ReturnValue uint32

func (c ReturnValue) Error() string {
	if s, ok := returnValueTexts[c]; ok {
		return s
	}
	return fmt.Sprintf("storage management result %d", uint32(c))
}

// ProviderError is a failed WMI call with the error object that the provider
// left, if any.
type ProviderError struct {
	Code HRESULT
	Info Row
}

func (e *ProviderError) Error() string {
	for _, name := range []string{"Message", "Description", "error_WindowsErrorMessage"} {
		if s, ok := e.Info[name].(string); ok && s != "" {
			return e.Code.Error() + ": " + s
		}
	}
	return e.Code.Error()
}

func (e *ProviderError) Unwrap() error { return e.Code }

// Win32 codes (windows-api.md 0.3, checked against mingw's winerror.h by the
// golden test of abi).
const (
	ERROR_INVALID_FUNCTION            Errno = 1
	ERROR_FILE_NOT_FOUND              Errno = 2
	ERROR_PATH_NOT_FOUND              Errno = 3
	ERROR_ACCESS_DENIED               Errno = 5
	ERROR_INVALID_HANDLE              Errno = 6
	ERROR_NO_MORE_FILES               Errno = 18
	ERROR_WRITE_PROTECT               Errno = 19
	ERROR_NOT_READY                   Errno = 21
	ERROR_CRC                         Errno = 23
	ERROR_BAD_LENGTH                  Errno = 24
	ERROR_GEN_FAILURE                 Errno = 31
	ERROR_SHARING_VIOLATION           Errno = 32
	ERROR_LOCK_VIOLATION              Errno = 33
	ERROR_HANDLE_EOF                  Errno = 38
	ERROR_NOT_SUPPORTED               Errno = 50
	ERROR_BAD_NETPATH                 Errno = 53
	ERROR_NETWORK_BUSY                Errno = 54
	ERROR_DEV_NOT_EXIST               Errno = 55
	ERROR_UNEXP_NET_ERR               Errno = 59
	ERROR_NETNAME_DELETED             Errno = 64
	ERROR_NETWORK_ACCESS_DENIED       Errno = 65
	ERROR_BAD_DEV_TYPE                Errno = 66
	ERROR_BAD_NET_NAME                Errno = 67
	ERROR_FILE_EXISTS                 Errno = 80
	ERROR_ALREADY_ASSIGNED            Errno = 85
	ERROR_INVALID_PASSWORD            Errno = 86
	ERROR_INVALID_PARAMETER           Errno = 87
	ERROR_DISK_FULL                   Errno = 112
	ERROR_CALL_NOT_IMPLEMENTED        Errno = 120
	ERROR_SEM_TIMEOUT                 Errno = 121
	ERROR_INSUFFICIENT_BUFFER         Errno = 122
	ERROR_INVALID_NAME                Errno = 123
	ERROR_MOD_NOT_FOUND               Errno = 126
	ERROR_PROC_NOT_FOUND              Errno = 127
	ERROR_DIR_NOT_ROOT                Errno = 144
	ERROR_DIR_NOT_EMPTY               Errno = 145
	ERROR_BUSY                        Errno = 170
	ERROR_ALREADY_EXISTS              Errno = 183
	ERROR_FILENAME_EXCED_RANGE        Errno = 206
	ERROR_MORE_DATA                   Errno = 234
	ERROR_NO_MORE_ITEMS               Errno = 259
	ERROR_DIRECTORY                   Errno = 267
	ERROR_NO_SUCH_DEVICE              Errno = 433
	ERROR_OPERATION_ABORTED           Errno = 995
	ERROR_IO_INCOMPLETE               Errno = 996
	ERROR_UNRECOGNIZED_VOLUME         Errno = 1005
	ERROR_FILE_INVALID                Errno = 1006
	ERROR_DEPENDENT_SERVICES_RUNNING  Errno = 1051
	ERROR_INVALID_SERVICE_CONTROL     Errno = 1052
	ERROR_SERVICE_REQUEST_TIMEOUT     Errno = 1053
	ERROR_SERVICE_NO_THREAD           Errno = 1054
	ERROR_SERVICE_DATABASE_LOCKED     Errno = 1055
	ERROR_SERVICE_ALREADY_RUNNING     Errno = 1056
	ERROR_SERVICE_DISABLED            Errno = 1058
	ERROR_SERVICE_DOES_NOT_EXIST      Errno = 1060
	ERROR_SERVICE_CANNOT_ACCEPT_CTRL  Errno = 1061
	ERROR_SERVICE_NOT_ACTIVE          Errno = 1062
	ERROR_SERVICE_SPECIFIC_ERROR      Errno = 1066
	ERROR_PROCESS_ABORTED             Errno = 1067
	ERROR_SERVICE_DEPENDENCY_FAIL     Errno = 1068
	ERROR_SERVICE_LOGON_FAILED        Errno = 1069
	ERROR_SERVICE_START_HANG          Errno = 1070
	ERROR_SERVICE_MARKED_FOR_DELETE   Errno = 1072
	ERROR_SERVICE_DEPENDENCY_DELETED  Errno = 1075
	ERROR_SERVICE_NEVER_STARTED       Errno = 1077
	ERROR_MEDIA_CHANGED               Errno = 1110
	ERROR_NO_MEDIA_IN_DRIVE           Errno = 1112
	ERROR_IO_DEVICE                   Errno = 1117
	ERROR_DISK_OPERATION_FAILED       Errno = 1127
	ERROR_DEVICE_NOT_CONNECTED        Errno = 1167
	ERROR_NOT_FOUND                   Errno = 1168
	ERROR_NO_NET_OR_BAD_PATH          Errno = 1203
	ERROR_SESSION_CREDENTIAL_CONFLICT Errno = 1219
	ERROR_NO_NETWORK                  Errno = 1222
	ERROR_NETWORK_UNREACHABLE         Errno = 1231
	ERROR_HOST_UNREACHABLE            Errno = 1232
	ERROR_SMB_GUEST_LOGON_BLOCKED     Errno = 1272
	ERROR_NO_LOGON_SERVERS            Errno = 1311
	ERROR_NO_SUCH_LOGON_SESSION       Errno = 1312
	ERROR_PRIVILEGE_NOT_HELD          Errno = 1314
	ERROR_LOGON_FAILURE               Errno = 1326
	ERROR_ACCOUNT_RESTRICTION         Errno = 1327
	ERROR_INVALID_LOGON_HOURS         Errno = 1328
	ERROR_INVALID_WORKSTATION         Errno = 1329
	ERROR_PASSWORD_EXPIRED            Errno = 1330
	ERROR_ACCOUNT_DISABLED            Errno = 1331
	ERROR_LOGON_TYPE_NOT_GRANTED      Errno = 1385
	ERROR_FILE_CORRUPT                Errno = 1392
	ERROR_DISK_CORRUPT                Errno = 1393
	ERROR_NO_SYSTEM_RESOURCES         Errno = 1450
	ERROR_PASSWORD_MUST_CHANGE        Errno = 1907
	ERROR_ACCOUNT_LOCKED_OUT          Errno = 1909
	ERROR_CANT_ACCESS_FILE            Errno = 1920
	ERROR_CANT_RESOLVE_FILENAME       Errno = 1921
	ERROR_NOT_CONNECTED               Errno = 2250
	ERROR_OPEN_FILES                  Errno = 2401
	ERROR_DEVICE_IN_USE               Errno = 2404
	ERROR_NOT_A_REPARSE_POINT         Errno = 4390
	ERROR_INVALID_REPARSE_DATA        Errno = 4392
	ERROR_REPARSE_TAG_INVALID         Errno = 4393
	ERROR_REPARSE_TAG_MISMATCH        Errno = 4394
	WSAEHOSTDOWN                      Errno = 10064
)

// WMI, COM and RPC codes (windows-api.md 14.5).
const (
	WBEM_S_FALSE                 HRESULT = 1
	WBEM_S_TIMEDOUT              HRESULT = 0x0004_0004
	WBEM_E_FAILED                HRESULT = 0x8004_1001
	WBEM_E_NOT_FOUND             HRESULT = 0x8004_1002
	WBEM_E_ACCESS_DENIED         HRESULT = 0x8004_1003
	WBEM_E_PROVIDER_FAILURE      HRESULT = 0x8004_1004
	WBEM_E_TYPE_MISMATCH         HRESULT = 0x8004_1005
	WBEM_E_OUT_OF_MEMORY         HRESULT = 0x8004_1006
	WBEM_E_INVALID_PARAMETER     HRESULT = 0x8004_1008
	WBEM_E_NOT_SUPPORTED         HRESULT = 0x8004_100C
	WBEM_E_INVALID_NAMESPACE     HRESULT = 0x8004_100E
	WBEM_E_INVALID_CLASS         HRESULT = 0x8004_1010
	WBEM_E_PROVIDER_NOT_FOUND    HRESULT = 0x8004_1011
	WBEM_E_PROVIDER_LOAD_FAILURE HRESULT = 0x8004_1013
	WBEM_E_INVALID_QUERY         HRESULT = 0x8004_1017
	WBEM_E_PROVIDER_NOT_CAPABLE  HRESULT = 0x8004_1024
	WBEM_E_INVALID_METHOD        HRESULT = 0x8004_102E
	WBEM_E_INVALID_METHOD_PARAMS HRESULT = 0x8004_102F
	WBEM_E_CALL_CANCELLED        HRESULT = 0x8004_1032
	WBEM_E_SHUTTING_DOWN         HRESULT = 0x8004_1033
	WBEM_E_INVALID_OBJECT_PATH   HRESULT = 0x8004_103A
	WBEM_E_PRIVILEGE_NOT_HELD    HRESULT = 0x8004_1062
	WBEM_E_TIMED_OUT             HRESULT = 0x8004_1069
	WBEM_E_QUOTA_VIOLATION       HRESULT = 0x8004_106C
	WBEM_E_PROVIDER_TIMED_OUT    HRESULT = 0x8004_1088
	E_ACCESSDENIED               HRESULT = 0x8007_0005
	RPC_S_SERVER_UNAVAILABLE     HRESULT = 0x8007_06BA
	RPC_S_CALL_FAILED            HRESULT = 0x8007_06BE
	RPC_E_DISCONNECTED           HRESULT = 0x8001_0108
	RPC_E_CHANGED_MODE           HRESULT = 0x8001_0106
	CO_E_SERVER_EXEC_FAILURE     HRESULT = 0x8008_0005
	REGDB_E_CLASSNOTREG          HRESULT = 0x8004_0154
	CO_E_CLASSSTRING             HRESULT = 0x8004_01F3
)

var hresultTexts = map[HRESULT]string{
	WBEM_S_FALSE:                 "no more WMI objects",
	WBEM_S_TIMEDOUT:              "WMI call has not ended in time",
	WBEM_E_FAILED:                "WMI call failed (0x80041001)",
	WBEM_E_NOT_FOUND:             "WMI object not found (0x80041002)",
	WBEM_E_ACCESS_DENIED:         "WMI access denied (0x80041003)",
	WBEM_E_PROVIDER_FAILURE:      "WMI provider failed (0x80041004)",
	WBEM_E_INVALID_NAMESPACE:     "WMI namespace does not exist (0x8004100E)",
	WBEM_E_INVALID_CLASS:         "WMI class does not exist (0x80041010)",
	WBEM_E_INVALID_QUERY:         "WMI query is not valid (0x80041017)",
	WBEM_E_PROVIDER_LOAD_FAILURE: "WMI provider could not be loaded (0x80041013)",
	WBEM_E_QUOTA_VIOLATION:       "WMI quota exceeded (0x8004106C)",
	E_ACCESSDENIED:               "access to WMI denied (0x80070005)",
	RPC_S_SERVER_UNAVAILABLE:     "WMI service is not available (0x800706BA)",
	RPC_S_CALL_FAILED:            "WMI service failed during the call (0x800706BE)",
	REGDB_E_CLASSNOTREG:          "this system has no WMI (0x80040154)",
	CO_E_CLASSSTRING:             "this system has no WMI (0x800401F3)",
}

// Storage management return values (cim-schema.json).
const (
	ReturnNotSupported       ReturnValue = 1
	ReturnUnspecified        ReturnValue = 2
	ReturnTimeout            ReturnValue = 3
	ReturnFailed             ReturnValue = 4
	ReturnInvalidParameter   ReturnValue = 5
	ReturnInUse              ReturnValue = 6
	ReturnJobStarted         ReturnValue = 4096
	ReturnSizeNotSupported   ReturnValue = 4097
	ReturnNoSpace            ReturnValue = 40000
	ReturnAccessDenied       ReturnValue = 40001
	ReturnNoResources        ReturnValue = 40002
	ReturnCacheOutOfDate     ReturnValue = 40003
	ReturnIOError            ReturnValue = 40004
	ReturnNotInitialized     ReturnValue = 41000
	ReturnAlreadyInitialized ReturnValue = 41001
	ReturnDiskReadOnly       ReturnValue = 41002
	ReturnDiskOffline        ReturnValue = 41003
	ReturnCriticalDisk       ReturnValue = 41009
	ReturnTooSmallForGPT     ReturnValue = 41014
	ReturnNoMedia            ReturnValue = 41015
	ReturnClustered          ReturnValue = 41018
	ReturnAccessPathInUse    ReturnValue = 42002
	ReturnCriticalPartition  ReturnValue = 42010
	ReturnClusterSize        ReturnValue = 43000
	ReturnFileSystem         ReturnValue = 43001
	ReturnVolumeReadOnly     ReturnValue = 43006
)

var returnValueTexts = map[ReturnValue]string{
	ReturnNotSupported:       "not supported (storage management 1)",
	ReturnFailed:             "failed (storage management 4)",
	ReturnInUse:              "in use (storage management 6)",
	ReturnSizeNotSupported:   "size not supported (storage management 4097)",
	ReturnNoSpace:            "not enough free space (storage management 40000)",
	ReturnAccessDenied:       "access denied (storage management 40001)",
	ReturnCacheOutOfDate:     "provider cache is out of date (storage management 40003)",
	ReturnAlreadyInitialized: "disk is already initialized (storage management 41001)",
	ReturnDiskReadOnly:       "disk is read-only (storage management 41002)",
	ReturnDiskOffline:        "disk is offline (storage management 41003)",
	ReturnCriticalDisk:       "disk is critical to the system (storage management 41009)",
	ReturnTooSmallForGPT:     "disk is too small for GPT (storage management 41014)",
	ReturnAccessPathInUse:    "The requested access path is already in use (storage management 42002)",
	ReturnCriticalPartition:  "partition is critical to the system (storage management 42010)",
	ReturnFileSystem:         "file system is not supported (storage management 43001)",
	ReturnVolumeReadOnly:     "volume is read-only (storage management 43006)",
}

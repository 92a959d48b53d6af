// SPDX-License-Identifier: Apache-2.0

package errdefs

import "github.com/kubernetes-csi/csi-proxy/v2/internal/win"

// kinds is the one table from native codes to kinds (windows-api.md 0.3, 5.4,
// 7.10, 11.1, 14.5). A code that is not listed is Internal.
var kinds = map[error]Kind{
	win.ERROR_INVALID_PARAMETER:    InvalidArgument,
	win.ERROR_INVALID_NAME:         InvalidArgument,
	win.ERROR_BAD_LENGTH:           InvalidArgument,
	win.ERROR_DIR_NOT_ROOT:         InvalidArgument,
	win.ERROR_DIRECTORY:            InvalidArgument,
	win.ERROR_FILENAME_EXCED_RANGE: InvalidArgument,

	win.ERROR_FILE_NOT_FOUND:         NotFound,
	win.ERROR_PATH_NOT_FOUND:         NotFound,
	win.ERROR_NO_SUCH_DEVICE:         NotFound,
	win.ERROR_NOT_FOUND:              NotFound,
	win.ERROR_NOT_CONNECTED:          NotFound,
	win.ERROR_SERVICE_DOES_NOT_EXIST: NotFound,

	win.ERROR_FILE_EXISTS:      AlreadyExists,
	win.ERROR_ALREADY_EXISTS:   AlreadyExists,
	win.ERROR_ALREADY_ASSIGNED: AlreadyExists,

	win.ERROR_ACCESS_DENIED:           PermissionDenied,
	win.ERROR_NETWORK_ACCESS_DENIED:   PermissionDenied,
	win.ERROR_INVALID_PASSWORD:        PermissionDenied,
	win.ERROR_PRIVILEGE_NOT_HELD:      PermissionDenied,
	win.ERROR_LOGON_FAILURE:           PermissionDenied,
	win.ERROR_SMB_GUEST_LOGON_BLOCKED: PermissionDenied,
	win.ERROR_ACCOUNT_RESTRICTION:     PermissionDenied,
	win.ERROR_INVALID_LOGON_HOURS:     PermissionDenied,
	win.ERROR_INVALID_WORKSTATION:     PermissionDenied,
	win.ERROR_PASSWORD_EXPIRED:        PermissionDenied,
	win.ERROR_ACCOUNT_DISABLED:        PermissionDenied,
	win.ERROR_LOGON_TYPE_NOT_GRANTED:  PermissionDenied,
	win.ERROR_PASSWORD_MUST_CHANGE:    PermissionDenied,
	win.ERROR_ACCOUNT_LOCKED_OUT:      PermissionDenied,

	win.ERROR_WRITE_PROTECT:               FailedPrecondition,
	win.ERROR_DIR_NOT_EMPTY:               FailedPrecondition,
	win.ERROR_UNRECOGNIZED_VOLUME:         FailedPrecondition,
	win.ERROR_FILE_INVALID:                FailedPrecondition,
	win.ERROR_NO_MEDIA_IN_DRIVE:           FailedPrecondition,
	win.ERROR_MEDIA_CHANGED:               FailedPrecondition,
	win.ERROR_SESSION_CREDENTIAL_CONFLICT: FailedPrecondition,
	win.ERROR_NO_SUCH_LOGON_SESSION:       FailedPrecondition, // its credential is gone
	win.ERROR_FILE_CORRUPT:                FailedPrecondition,
	win.ERROR_DISK_CORRUPT:                FailedPrecondition,
	win.ERROR_CANT_ACCESS_FILE:            FailedPrecondition,
	win.ERROR_CANT_RESOLVE_FILENAME:       FailedPrecondition,
	win.ERROR_NOT_A_REPARSE_POINT:         FailedPrecondition,
	win.ERROR_INVALID_REPARSE_DATA:        FailedPrecondition,
	win.ERROR_REPARSE_TAG_INVALID:         FailedPrecondition,
	win.ERROR_REPARSE_TAG_MISMATCH:        FailedPrecondition,
	win.ERROR_DEPENDENT_SERVICES_RUNNING:  FailedPrecondition,
	win.ERROR_INVALID_SERVICE_CONTROL:     FailedPrecondition,
	win.ERROR_SERVICE_DISABLED:            FailedPrecondition,
	win.ERROR_SERVICE_NOT_ACTIVE:          FailedPrecondition,
	win.ERROR_SERVICE_DEPENDENCY_FAIL:     FailedPrecondition,
	win.ERROR_SERVICE_LOGON_FAILED:        FailedPrecondition, // the service's account, not the caller's
	win.ERROR_SERVICE_MARKED_FOR_DELETE:   FailedPrecondition,
	win.ERROR_SERVICE_DEPENDENCY_DELETED:  FailedPrecondition,

	win.ERROR_SHARING_VIOLATION:          Busy,
	win.ERROR_LOCK_VIOLATION:             Busy,
	win.ERROR_BUSY:                       Busy,
	win.ERROR_OPEN_FILES:                 Busy,
	win.ERROR_DEVICE_IN_USE:              Busy,
	win.ERROR_SERVICE_CANNOT_ACCEPT_CTRL: Busy,
	win.ERROR_SERVICE_DATABASE_LOCKED:    Busy,

	win.ERROR_NOT_READY:             Unavailable,
	win.ERROR_CRC:                   Unavailable,
	win.ERROR_GEN_FAILURE:           Unavailable,
	win.ERROR_BAD_NETPATH:           Unavailable, // which Go counts as not existing
	win.ERROR_NETWORK_BUSY:          Unavailable,
	win.ERROR_DEV_NOT_EXIST:         Unavailable,
	win.ERROR_UNEXP_NET_ERR:         Unavailable,
	win.ERROR_NETNAME_DELETED:       Unavailable,
	win.ERROR_BAD_DEV_TYPE:          Unavailable,
	win.ERROR_BAD_NET_NAME:          Unavailable,
	win.ERROR_NO_NET_OR_BAD_PATH:    Unavailable,
	win.ERROR_NO_NETWORK:            Unavailable,
	win.ERROR_NETWORK_UNREACHABLE:   Unavailable,
	win.ERROR_HOST_UNREACHABLE:      Unavailable,
	win.ERROR_NO_LOGON_SERVERS:      Unavailable,
	win.ERROR_SEM_TIMEOUT:           Unavailable,
	win.ERROR_OPERATION_ABORTED:     Unavailable,
	win.ERROR_IO_DEVICE:             Unavailable,
	win.ERROR_DISK_OPERATION_FAILED: Unavailable,
	win.ERROR_DEVICE_NOT_CONNECTED:  Unavailable,
	win.WSAEHOSTDOWN:                Unavailable,

	win.ERROR_SERVICE_REQUEST_TIMEOUT: Unavailable,
	win.ERROR_PROCESS_ABORTED:         Unavailable,
	win.ERROR_SERVICE_START_HANG:      Unavailable,

	win.ERROR_DISK_FULL:           ResourceExhausted,
	win.ERROR_NO_SYSTEM_RESOURCES: ResourceExhausted,
	win.ERROR_SERVICE_NO_THREAD:   ResourceExhausted,

	win.ERROR_INVALID_FUNCTION:     Unsupported,
	win.ERROR_NOT_SUPPORTED:        Unsupported,
	win.ERROR_CALL_NOT_IMPLEMENTED: Unsupported,
	win.ERROR_MOD_NOT_FOUND:        Unsupported, // a DLL that this Windows lacks
	win.ERROR_PROC_NOT_FOUND:       Unsupported,

	win.WBEM_E_INVALID_PARAMETER:     InvalidArgument,
	win.WBEM_E_TYPE_MISMATCH:         InvalidArgument,
	win.WBEM_E_INVALID_QUERY:         InvalidArgument,
	win.WBEM_E_INVALID_OBJECT_PATH:   InvalidArgument,
	win.WBEM_E_INVALID_METHOD_PARAMS: InvalidArgument,

	win.WBEM_E_NOT_FOUND: NotFound,

	win.WBEM_E_ACCESS_DENIED:      PermissionDenied,
	win.WBEM_E_PRIVILEGE_NOT_HELD: PermissionDenied,

	win.WBEM_E_PROVIDER_FAILURE:      Unavailable,
	win.WBEM_E_PROVIDER_LOAD_FAILURE: Unavailable,
	win.WBEM_E_CALL_CANCELLED:        Unavailable,
	win.WBEM_E_SHUTTING_DOWN:         Unavailable,
	win.WBEM_E_TIMED_OUT:             Unavailable,
	win.WBEM_E_PROVIDER_TIMED_OUT:    Unavailable,
	win.WBEM_S_TIMEDOUT:              Unavailable,
	win.RPC_S_SERVER_UNAVAILABLE:     Unavailable,
	win.RPC_S_CALL_FAILED:            Unavailable,
	win.RPC_E_DISCONNECTED:           Unavailable,
	win.CO_E_SERVER_EXEC_FAILURE:     Unavailable,

	win.WBEM_E_OUT_OF_MEMORY:   ResourceExhausted,
	win.WBEM_E_QUOTA_VIOLATION: ResourceExhausted,

	win.WBEM_E_NOT_SUPPORTED:        Unsupported,
	win.WBEM_E_INVALID_NAMESPACE:    Unsupported,
	win.WBEM_E_INVALID_CLASS:        Unsupported,
	win.WBEM_E_PROVIDER_NOT_FOUND:   Unsupported,
	win.WBEM_E_PROVIDER_NOT_CAPABLE: Unsupported,
	win.WBEM_E_INVALID_METHOD:       Unsupported,
	win.REGDB_E_CLASSNOTREG:         Unsupported,
	win.CO_E_CLASSSTRING:            Unsupported,

	win.ReturnInvalidParameter: InvalidArgument,
	win.ReturnClusterSize:      InvalidArgument,

	win.ReturnAccessDenied: PermissionDenied,

	win.ReturnNotInitialized:     FailedPrecondition,
	win.ReturnAlreadyInitialized: FailedPrecondition,
	win.ReturnDiskReadOnly:       FailedPrecondition,
	win.ReturnDiskOffline:        FailedPrecondition,
	win.ReturnCriticalDisk:       FailedPrecondition,
	win.ReturnNoMedia:            FailedPrecondition,
	win.ReturnClustered:          FailedPrecondition,
	win.ReturnAccessPathInUse:    FailedPrecondition,
	win.ReturnCriticalPartition:  FailedPrecondition,
	win.ReturnVolumeReadOnly:     FailedPrecondition,

	win.ReturnInUse: Busy,

	win.ReturnTimeout:        Unavailable,
	win.ReturnCacheOutOfDate: Unavailable,
	win.ReturnIOError:        Unavailable,

	win.ReturnNoResources: ResourceExhausted,

	win.ReturnSizeNotSupported: OutOfRange,
	win.ReturnNoSpace:          OutOfRange,
	win.ReturnTooSmallForGPT:   OutOfRange,

	win.ReturnNotSupported: Unsupported,
	win.ReturnFileSystem:   Unsupported,
}

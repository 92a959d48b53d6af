// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package win

import (
	"errors"
	"fmt"
	"io/fs"
)

// Errno is a Win32 code. Off Windows it behaves as syscall.Errno does there.
type Errno uint32

func (e Errno) Error() string {
	if s, ok := errnoTexts[e]; ok {
		return s
	}
	return fmt.Sprintf("winapi error #%d", uint32(e))
}

// Is groups codes as syscall.Errno does on Windows, where 53 counts as not
// existing too.
func (e Errno) Is(target error) bool {
	switch target {
	case fs.ErrPermission:
		return e == ERROR_ACCESS_DENIED
	case fs.ErrExist:
		return e == ERROR_ALREADY_EXISTS || e == ERROR_DIR_NOT_EMPTY || e == ERROR_FILE_EXISTS
	case fs.ErrNotExist:
		return e == ERROR_FILE_NOT_FOUND || e == ERROR_PATH_NOT_FOUND || e == ERROR_BAD_NETPATH
	case errors.ErrUnsupported:
		return e == ERROR_NOT_SUPPORTED || e == ERROR_CALL_NOT_IMPLEMENTED
	}
	return false
}

// The English texts of Windows for the codes that clients meet.
var errnoTexts = map[Errno]string{
	ERROR_INVALID_FUNCTION:            "Incorrect function.",
	ERROR_FILE_NOT_FOUND:              "The system cannot find the file specified.",
	ERROR_PATH_NOT_FOUND:              "The system cannot find the path specified.",
	ERROR_ACCESS_DENIED:               "Access is denied.",
	ERROR_INVALID_HANDLE:              "The handle is invalid.",
	ERROR_WRITE_PROTECT:               "The media is write protected.",
	ERROR_NOT_READY:                   "The device is not ready.",
	ERROR_CRC:                         "Data error (cyclic redundancy check).",
	ERROR_SHARING_VIOLATION:           "The process cannot access the file because it is being used by another process.",
	ERROR_NOT_SUPPORTED:               "The request is not supported.",
	ERROR_BAD_NETPATH:                 "The network path was not found.",
	ERROR_UNEXP_NET_ERR:               "An unexpected network error occurred.",
	ERROR_NETNAME_DELETED:             "The specified network name is no longer available.",
	ERROR_BAD_NET_NAME:                "The network name cannot be found.",
	ERROR_INVALID_PARAMETER:           "The parameter is incorrect.",
	ERROR_DISK_FULL:                   "There is not enough space on the disk.",
	ERROR_SEM_TIMEOUT:                 "The semaphore timeout period has expired.",
	ERROR_INVALID_NAME:                "The filename, directory name, or volume label syntax is incorrect.",
	ERROR_DIR_NOT_EMPTY:               "The directory is not empty.",
	ERROR_BUSY:                        "The requested resource is in use.",
	ERROR_ALREADY_EXISTS:              "Cannot create a file when that file already exists.",
	ERROR_FILENAME_EXCED_RANGE:        "The filename or extension is too long.",
	ERROR_MORE_DATA:                   "More data is available.",
	ERROR_DIRECTORY:                   "The directory name is invalid.",
	ERROR_NO_SUCH_DEVICE:              "A device which does not exist was specified.",
	ERROR_UNRECOGNIZED_VOLUME:         "The volume does not contain a recognized file system.",
	ERROR_DEPENDENT_SERVICES_RUNNING:  "A stop control has been sent to a service that other running services are dependent on.",
	ERROR_INVALID_SERVICE_CONTROL:     "The requested control is not valid for this service.",
	ERROR_SERVICE_REQUEST_TIMEOUT:     "The service did not respond to the start or control request in a timely fashion.",
	ERROR_SERVICE_DATABASE_LOCKED:     "The service database is locked.",
	ERROR_SERVICE_ALREADY_RUNNING:     "An instance of the service is already running.",
	ERROR_SERVICE_DISABLED:            "The service cannot be started, either because it is disabled or because it has no enabled devices associated with it.",
	ERROR_SERVICE_DOES_NOT_EXIST:      "The specified service does not exist as an installed service.",
	ERROR_SERVICE_CANNOT_ACCEPT_CTRL:  "The service cannot accept control messages at this time.",
	ERROR_SERVICE_NOT_ACTIVE:          "The service has not been started.",
	ERROR_PROCESS_ABORTED:             "The process terminated unexpectedly.",
	ERROR_SERVICE_DEPENDENCY_FAIL:     "The dependency service or group failed to start.",
	ERROR_SERVICE_LOGON_FAILED:        "The service did not start due to a logon failure.",
	ERROR_ALREADY_ASSIGNED:            "The local device name is already in use.",
	ERROR_NO_NET_OR_BAD_PATH:          "No network provider accepted the given network path.",
	ERROR_NO_NETWORK:                  "The network is not present or not started.",
	ERROR_NETWORK_UNREACHABLE:         "The network location cannot be reached.",
	ERROR_SMB_GUEST_LOGON_BLOCKED:     "You can't access this shared folder because your organization's security policies block unauthenticated guest access.",
	ERROR_NO_SUCH_LOGON_SESSION:       "A specified logon session does not exist. It may already have been terminated.",
	ERROR_ACCOUNT_DISABLED:            "This user can't sign in because this account is currently disabled.",
	ERROR_ACCOUNT_LOCKED_OUT:          "The referenced account is currently locked out and may not be logged on to.",
	ERROR_PASSWORD_EXPIRED:            "The password for this account has expired.",
	ERROR_NOT_CONNECTED:               "This network connection does not exist.",
	ERROR_OPEN_FILES:                  "This network connection has files open or requests pending.",
	ERROR_DEVICE_IN_USE:               "The device is in use by an active process and cannot be disconnected.",
	ERROR_IO_DEVICE:                   "The request could not be performed because of an I/O device error.",
	ERROR_DEVICE_NOT_CONNECTED:        "The device is not connected.",
	ERROR_NOT_FOUND:                   "Element not found.",
	ERROR_SESSION_CREDENTIAL_CONFLICT: "Multiple connections to a server or shared resource by the same user, using more than one user name, are not allowed.",
	ERROR_LOGON_FAILURE:               "The user name or password is incorrect.",
	ERROR_FILE_CORRUPT:                "The file or directory is corrupted and unreadable.",
	ERROR_CANT_RESOLVE_FILENAME:       "The name of the file cannot be resolved by the system.",
	ERROR_NOT_A_REPARSE_POINT:         "The file or directory is not a reparse point.",
}

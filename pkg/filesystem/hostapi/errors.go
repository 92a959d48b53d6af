// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// bare are the codes that drivers test with os.IsNotExist, os.IsExist,
// os.IsPermission and mount-utils' IsCorruptedMnt, which look for the number
// right below a *fs.PathError or *os.LinkError (consumers.md 2.3).
var bare = []win.Errno{
	win.ERROR_FILE_NOT_FOUND, win.ERROR_PATH_NOT_FOUND, win.ERROR_ACCESS_DENIED, win.ERROR_FILE_EXISTS, win.ERROR_ALREADY_EXISTS,
	win.ERROR_BAD_NETPATH, win.ERROR_NETWORK_BUSY, win.ERROR_UNEXP_NET_ERR, win.ERROR_NETNAME_DELETED, win.ERROR_NETWORK_ACCESS_DENIED,
	win.ERROR_BAD_DEV_TYPE, win.ERROR_BAD_NET_NAME, win.ERROR_SESSION_CREDENTIAL_CONFLICT, win.ERROR_LOGON_FAILURE,
	10064, // WSAEHOSTDOWN (winsock2.h)
}

// PathError is the error of package os for an operation on a path that Windows
// refused. Errors that have that form, or no code of Windows, stay as they are;
// it is nil for nil.
func PathError(op, path string, err error) error {
	if code := windowsError(err); code != nil {
		return &fs.PathError{Op: op, Path: path, Err: code}
	}
	return err
}

// LinkError is [PathError] for the creation of a link.
func LinkError(op, source, target string, err error) error {
	if code := windowsError(err); code != nil {
		return &os.LinkError{Op: op, Old: source, New: target, Err: code}
	}
	return err
}

// windowsError is what stands below the error of package os: the bare number,
// or an error of ours with the kind. It is nil where err is not of Windows or
// has its form.
func windowsError(err error) error {
	var path *fs.PathError
	native, ok := errdefs.NativeOf(err)
	if !ok || native.Facility != errdefs.Win32 || errors.As(err, &path) {
		return nil
	}
	code, naked := err.(win.Errno) //nolint:errorlint // what is wrapped has its context already
	if !naked || slices.Contains(bare, code) {
		return err
	}
	return errdefs.Wrap("", "", err)
}

// Missing reports whether an error says that a name is not there, or no longer.
// A disk that has been taken away is not missing.
func Missing(err error) bool {
	return errors.Is(err, win.ERROR_FILE_NOT_FOUND) || errors.Is(err, win.ERROR_PATH_NOT_FOUND)
}

// ErrTaken is the error of Windows for a name that is taken.
const ErrTaken = win.ERROR_ALREADY_EXISTS

// exists reports whether a name is taken.
func exists(err error) bool {
	return errors.Is(err, win.ERROR_ALREADY_EXISTS) || errors.Is(err, win.ERROR_FILE_EXISTS)
}

// refused is an error about a path that Windows had no part in.
func refused(op, path string, reason error) error {
	return errdefs.As(errdefs.FailedPrecondition, op, path, reason)
}

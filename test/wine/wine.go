// SPDX-License-Identifier: Apache-2.0

// Package wine is the one place that knows what Wine 10 does otherwise than
// Windows (wine.md 3), so that the same tests of real calls run on both. It is
// for tests only.
package wine

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// Need skips a test of what Wine does not have.
func Need(tb testing.TB, c Capability) {
	tb.Helper()
	if Running() {
		tb.Skipf("Wine has no %s", c)
	}
}

// Capability is something that Windows has and Wine has not.
type Capability string

// What Wine has not.
const (
	// ReparsePoints: CreateSymbolicLinkW says yes and makes nothing,
	// FSCTL_SET_REPARSE_POINT is not supported.
	ReparsePoints Capability = "reparse points"
	// MountFolders: SetVolumeMountPointW is not implemented.
	MountFolders Capability = "mount folders"
	// LongFinalPaths: GetFinalPathNameByHandleW answers ERROR_MORE_DATA for a
	// path of more than MAX_PATH, whatever the buffer.
	LongFinalPaths Capability = "long final paths"
	// SystemProperties: an enumeration of a WMI object's properties leaves out
	// __CLASS, __PATH and the like.
	SystemProperties Capability = "enumerated system properties"
	// MethodsAtOnce: IWbemClassObject.GetMethod hangs for good when two threads
	// are in it, which every method call begins with.
	MethodsAtOnce Capability = "WMI methods called at the same time"
	// Dependents: EnumDependentServicesW lists none.
	Dependents Capability = "lists of dependent services"
	// LogonSessions: LogonUserW hands out a handle that is none.
	LogonSessions Capability = "logon sessions"
	// Arrivals: CM_Register_Notification is not implemented.
	Arrivals Capability = "notices of arriving devices"
)

// UnknownControlCode is what a disk or volume answers to a control code that it
// does not know.
func UnknownControlCode() win.Errno {
	return choose(win.ERROR_INVALID_FUNCTION, win.ERROR_NOT_SUPPORTED)
}

// MissingMountPoint is what GetVolumeNameForVolumeMountPointW answers for a
// directory that is not there.
func MissingMountPoint() win.Errno {
	return choose(win.ERROR_FILE_NOT_FOUND, win.ERROR_NOT_A_REPARSE_POINT)
}

// UnknownServer is what opening a path on a file server answers that is not
// there.
func UnknownServer() win.Errno {
	return choose(win.ERROR_BAD_NETPATH, win.ERROR_PATH_NOT_FOUND)
}

// ControlWhilePending is what ControlService answers for a service that starts.
func ControlWhilePending() win.Errno {
	return choose(win.ERROR_SERVICE_CANNOT_ACCEPT_CTRL, win.ERROR_INVALID_SERVICE_CONTROL)
}

// MissesStart tells the answer to StartService for a service that has ended by
// the time that the service manager looks at it.
func MissesStart(err error) bool {
	return Running() && errors.Is(err, win.ERROR_SERVICE_REQUEST_TIMEOUT)
}

// UnknownParameter is what putting a property that a WMI object does not have
// answers.
func UnknownParameter() win.HRESULT {
	return choose(win.WBEM_E_NOT_FOUND, win.WBEM_E_INVALID_QUERY)
}

func choose[T any](windows, wine T) T {
	if Running() {
		return wine
	}
	return windows
}

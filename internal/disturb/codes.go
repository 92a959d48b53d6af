// SPDX-License-Identifier: Apache-2.0

package disturb

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// The codes that a call may fail with, by the facility that it asks.
var (
	anyCodes = []error{
		win.ERROR_FILE_NOT_FOUND, win.ERROR_PATH_NOT_FOUND, win.ERROR_ACCESS_DENIED, win.ERROR_NOT_READY, win.ERROR_SHARING_VIOLATION,
		win.ERROR_NOT_SUPPORTED, win.ERROR_INVALID_PARAMETER, win.ERROR_SEM_TIMEOUT, win.ERROR_BUSY, win.ERROR_IO_DEVICE,
		win.ERROR_DEVICE_NOT_CONNECTED, win.ERROR_FILE_CORRUPT, win.ERROR_NO_SYSTEM_RESOURCES,
	}
	fileCodes    = []error{win.ERROR_BAD_NETPATH, win.ERROR_UNEXP_NET_ERR, win.ERROR_NETNAME_DELETED, win.ERROR_BAD_NET_NAME}
	logonCodes   = []error{win.ERROR_LOGON_FAILURE, win.ERROR_ACCOUNT_LOCKED_OUT}
	serviceCodes = []error{
		win.ERROR_SERVICE_REQUEST_TIMEOUT, win.ERROR_SERVICE_DATABASE_LOCKED, win.ERROR_SERVICE_CANNOT_ACCEPT_CTRL, win.ERROR_SERVICE_MARKED_FOR_DELETE,
	}
	wmiCodes = []error{
		win.RPC_S_SERVER_UNAVAILABLE, win.WBEM_E_ACCESS_DENIED, win.WBEM_E_FAILED, win.WBEM_E_NOT_FOUND, win.WBEM_E_NOT_SUPPORTED,
		win.WBEM_E_PROVIDER_LOAD_FAILURE, win.WBEM_E_QUOTA_VIOLATION,
	}
	rowCodes     = []error{win.WBEM_S_FALSE} // the rows end early
	listCodes    = []error{win.ERROR_NO_MORE_FILES}
	mountCodes   = []error{win.ERROR_UNRECOGNIZED_VOLUME}
	returnValues = []error{win.ReturnFailed, win.ReturnAccessDenied}
	statuses     = []error{win.ISDSC_CONNECTION_FAILED, win.ISDSC_AUTHENTICATION_FAILURE}
)

// ofWMI tells the methods that fail as COM does.
func ofWMI(method string) bool {
	of, _, _ := strings.Cut(method, ".")
	return of == "WMI" || of == "Session" || of == "Rows" || of == "Call"
}

// codesOf are the codes that a call may fail with.
func codesOf(method string) []error {
	of, _, _ := strings.Cut(method, ".")
	switch {
	case method == "Rows.Next":
		return slices.Concat(rowCodes, wmiCodes)
	case ofWMI(method):
		return wmiCodes
	case method == "File.List":
		return slices.Concat(listCodes, fileCodes, anyCodes)
	case of == "Files" || of == "File":
		return slices.Concat(fileCodes, anyCodes)
	case of == "Mounts":
		return slices.Concat(mountCodes, anyCodes)
	case of == "Logons" || of == "Logon":
		return slices.Concat(logonCodes, fileCodes, anyCodes)
	case of == "Services" || of == "Service":
		return slices.Concat(serviceCodes, anyCodes)
	}
	return anyCodes
}

// returnsOf are what a WMI method may return, when it has done what it was to.
func returnsOf(c simhost.Call) []error {
	switch {
	case c.Method != "Call.Result":
		return nil
	case strings.HasPrefix(c.Subject, "MSFT_iSCSI"):
		return slices.Concat(returnValues, statuses)
	}
	return returnValues
}

func native(code error) errdefs.Native {
	n, _ := errdefs.NativeOf(code)
	return n
}

// telling reports that a code is an answer as much as a failure: what was asked
// is not there any more, or not known to the device. Only the state of the node
// can say whether the right thing was made of it.
func telling(code error) bool {
	if kind := errdefs.KindOf(code); kind == errdefs.NotFound || kind == errdefs.Unsupported {
		return true
	}
	return slices.Contains([]error{
		win.ERROR_DEVICE_NOT_CONNECTED, win.ERROR_INVALID_PARAMETER, win.ERROR_UNRECOGNIZED_VOLUME, win.ERROR_NO_MORE_FILES, win.WBEM_S_FALSE,
	}, code)
}

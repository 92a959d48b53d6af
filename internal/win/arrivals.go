// SPDX-License-Identifier: Apache-2.0

package win

import "github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"

// Arrivals tells of devices that arrive.
type Arrivals interface {
	// Watch begins to call arrived, on a thread of the system, each time an
	// interface of a class arrives, and does so as long as the process lives
	// (CM_Register_Notification, windows-api.md 1.5). arrived must return at
	// once and call nothing of the host.
	Watch(class abi.GUID, arrived func()) error
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// arrivals is the node's [win.Arrivals].
type arrivals struct{ node *Node }

var _ win.Arrivals = arrivals{}

func (a arrivals) Watch(class abi.GUID, arrived func()) error {
	a.node.mu.Lock()
	defer a.node.mu.Unlock()
	if class == abi.GUID_DEVINTERFACE_DISK {
		a.node.onArrival = append(a.node.onArrival, arrived)
	}
	return nil
}

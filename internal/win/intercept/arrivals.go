// SPDX-License-Identifier: Apache-2.0

package intercept

import (
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

type arrivals struct {
	inner  win.Arrivals
	around Around
}

func (a *arrivals) Watch(class abi.GUID, arrived func()) error {
	return tell(a.around, Call{Method: "Arrivals.Watch", Subject: class.String()},
		func() error { return a.inner.Watch(class, arrived) })
}

// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// Where Windows says that a portal is there, it must be: registered by another
// process meanwhile.
func TestPortals_AddedMeanwhile(t *testing.T) {
	node := newNode(t)
	done := false
	node.OnCall(func(c simhost.Call, do func() error) error {
		if strings.HasPrefix(c.Subject, "MSFT_iSCSITargetPortal.New") && !done {
			done = true
			if err := do(); err != nil {
				return err
			}
			return &win.ProviderError{Code: win.HRESULT(win.ISDSC_PORTAL_ALREADY_EXISTS)}
		}
		return do()
	})
	must(t, add(t.Context(), node, first))
	if got := list(t, node); !slices.Equal(got, []string{first.String()}) {
		t.Errorf("got %q", got)
	}
}

func TestPortals_SaidToBeThereAndIsNot(t *testing.T) {
	node := newNode(t)
	node.OnCall(func(c simhost.Call, do func() error) error {
		if strings.HasPrefix(c.Subject, "MSFT_iSCSITargetPortal.New") {
			return &win.ProviderError{Code: win.HRESULT(win.ISDSC_PORTAL_ALREADY_EXISTS)}
		}
		return do()
	})
	err := add(t.Context(), node, first)
	wantError(t, err, win.ISDSC_PORTAL_ALREADY_EXISTS, errdefs.AlreadyExists)
}

// The service may end between the look at it and the call.
func TestService_StopsMeanwhile(t *testing.T) {
	node := newNode(t, registered(first))
	node.OnCall(func(c simhost.Call, do func() error) error {
		err := do()
		if c.Method == "Service.Status" {
			must(t, node.SetServiceState("MSiSCSI", "stopped"))
		}
		return err
	})
	err := connect(t.Context(), node, first, open)
	wantError(t, err, errdefs.ErrISCSIStopped, errdefs.Unavailable)
	wantError(t, err, win.ISDSC_SERVICE_NOT_RUNNING, errdefs.Unavailable)
}

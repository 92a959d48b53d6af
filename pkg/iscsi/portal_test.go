// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
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

// Where Windows says that a portal is there, and the portals cannot be listed,
// nobody knows.
func TestPortals_SaidToBeThereUnseen(t *testing.T) {
	node := newNode(t)
	said := false
	node.OnCall(func(c simhost.Call, do func() error) error {
		switch {
		case strings.HasPrefix(c.Subject, "MSFT_iSCSITargetPortal.New"):
			said = true
			return &win.ProviderError{Code: win.HRESULT(win.ISDSC_PORTAL_ALREADY_EXISTS)}
		case said && c.Method == "Session.Query":
			return win.WBEM_E_ACCESS_DENIED
		}
		return do()
	})
	wantError(t, add(t.Context(), node, first), win.WBEM_E_ACCESS_DENIED, errdefs.PermissionDenied)
}

// A portal that is registered for one initiator is refreshed and removed for
// that one, and one of all initiators for none.
func TestPortals_OfOneInitiator(t *testing.T) {
	t.Run("of one", func(t *testing.T) {
		initiatorGiven(t, "instance", "10.0.0.1", "[InitiatorInstanceName instance InitiatorPortalAddress 10.0.0.1]")
	})
	t.Run("of all", func(t *testing.T) { initiatorGiven(t, "", "", "[]") })
}

func initiatorGiven(t *testing.T, instance, address, want string) {
	node := newNode(t, registered(first))
	node.OnCall(func(c simhost.Call, do func() error) error {
		err := do()
		edit(c, "FROM MSFT_iSCSITargetPortal", "InitiatorInstanceName", instance)
		edit(c, "FROM MSFT_iSCSITargetPortal", "InitiatorPortalAddress", address)
		return err
	})
	given := map[string][]any{}
	h := node.Host()
	spied := &win.Host{
		Services: h.Services, System: h.System, Devices: h.Devices,
		WMI: spy{h.WMI, func(method string, in []win.Param) {
			for _, p := range in {
				if strings.HasPrefix(p.Name, "Initiator") {
					given[method] = append(given[method], p.Name, p.Value)
				}
			}
		}},
	}
	t.Cleanup(wmi.On(spied).Close)
	i, err := iscsi.New(hostAPIOn(spied))
	must(t, err)
	_, _ = i.AddTargetPortal(t.Context(), &iscsi.AddTargetPortalRequest{TargetPortal: first}) // the node knows no such initiator
	_, _ = i.RemoveTargetPortal(t.Context(), &iscsi.RemoveTargetPortalRequest{TargetPortal: first})
	for _, method := range []string{"Update", "Remove"} {
		if got := fmt.Sprint(given[method]); got != want {
			t.Errorf("%s: got %s, want %s", method, got, want)
		}
	}
}

// edit puts a value into a row that a query whose text has a part of has just
// given.
func edit(c simhost.Call, query, property string, value any) {
	row, ok := c.Answer().(*win.Row)
	if !ok || c.Method != "Rows.Next" || !strings.Contains(c.Subject, query) || *row == nil {
		return
	}
	edited := maps.Clone(*row)
	edited[property] = value
	*row = edited
}

// What the provider must tell and does not is an error, not an empty answer.
func TestProvider_Untold(t *testing.T) {
	ctx := t.Context()
	lists := func(n *simhost.Node) error {
		_, err := group(n).ListTargetPortals(ctx, &iscsi.ListTargetPortalsRequest{})
		return err
	}
	discovers := func(n *simhost.Node) error { _, err := discover(ctx, n, first); return err }
	connects := func(n *simhost.Node) error { return connect(ctx, n, first, shared) }
	looks := func(n *simhost.Node) error { _, err := disks(ctx, n, first, open); return err }
	for _, tt := range []struct {
		query, property string
		call            func(*simhost.Node) error
	}{
		{"FROM MSFT_iSCSITargetPortal", "TargetPortalAddress", lists},
		{"FROM MSFT_iSCSITargetPortal", "TargetPortalPortNumber", lists},
		{"FROM MSFT_iSCSITargetPortal", "__PATH", lists},
		{"ResultClass = MSFT_iSCSITarget", "NodeAddress", discovers},
		{"FROM MSFT_iSCSITarget ", "NodeAddress", connects},
		{"FROM MSFT_iSCSITarget ", "__PATH", connects},
		{"ResultClass = MSFT_iSCSITargetPortal", "TargetPortalAddress", connects},
		{"FROM MSFT_iSCSISession", "SessionIdentifier", looks},
		{"FROM MSFT_iSCSISession", "TargetNodeAddress", looks},
		{"FROM MSFT_iSCSISession", "__PATH", looks},
		{"FROM MSFT_iSCSISession", "IsConnected", looks},
		{"FROM MSFT_iSCSISession", "IsPersistent", looks},
		{"ResultClass = MSFT_iSCSIConnection", "TargetAddress", looks},
		{"ResultClass = MSFT_iSCSIConnection", "TargetPortNumber", looks},
		{"ResultClass = MSFT_Disk", "Number", looks},
	} {
		t.Run(tt.query+" "+tt.property, func(t *testing.T) {
			node := newNode(t, registered(first))
			must(t, connect(ctx, node, first, open))
			node.OnCall(func(c simhost.Call, do func() error) error {
				err := do()
				edit(c, tt.query, tt.property, nil)
				return err
			})
			wantError(t, tt.call(node), wmi.ErrNull, errdefs.Unavailable)
		})
	}
}

// A target with a name that cannot be asked for is not logged out of.
func TestProvider_OddTarget(t *testing.T) {
	node := newNode(t, registered(first))
	must(t, connect(t.Context(), node, first, open))
	node.OnCall(func(c simhost.Call, do func() error) error {
		err := do()
		edit(c, "FROM MSFT_iSCSISession", "TargetNodeAddress", "odd\x00name")
		return err
	})
	node.Calls().Reset()
	wantError(t, disconnect(t.Context(), node, first, open), errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
	if n := node.Calls().ByMethod()["Session.Start"]; n != 0 {
		t.Errorf("%d methods called", n)
	}
	wantSessions(t, node, open+" through 10.0.0.10:3260: none")
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

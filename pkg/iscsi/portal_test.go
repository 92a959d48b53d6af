// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func TestPortals_ISCSI1_Port0Is3260(t *testing.T) {
	node := newNode(t)
	must(t, add(t.Context(), node, portal("10.0.0.10", 0)))
	if got := list(t, node); !slices.Equal(got, []string{"10.0.0.10:3260"}) {
		t.Errorf("got %q", got)
	}
	if _, err := discover(t.Context(), node, first); err != nil {
		t.Error(err)
	}
}

func TestPortals_ISCSI4_AddAgain(t *testing.T) {
	node := newNode(t)
	must(t, add(t.Context(), node, first))
	before := node.Snapshot()
	must(t, add(t.Context(), node, first))
	wantUnchanged(t, node, before)
}

// However an address is spelled, it is one portal.
func TestPortals_ISCSI4_Spellings(t *testing.T) {
	node := newNode(t)
	must(t, add(t.Context(), node, six))
	before := node.Snapshot()
	for _, spelling := range []string{"fd00::10", "FD00::10", "[fd00::10]", "fd00:0:0:0::0010"} {
		must(t, add(t.Context(), node, portal(spelling, 3260)))
		if names, err := discover(t.Context(), node, portal(spelling, 0)); err != nil || !slices.Equal(names, []string{open}) {
			t.Errorf("%s: %q, %v", spelling, names, err)
		}
	}
	wantUnchanged(t, node, before)
}

// consumers.md 1: adding a portal again asks it for new targets.
func TestPortals_AddAgainAsksForTargets(t *testing.T) {
	node := newNode(t, func(spec *simhost.NodeSpec) { spec.ISCSI.Portals[0].Down = true }, registered(first))
	before, err := discover(t.Context(), node, first)
	must(t, err)
	wantError(t, add(t.Context(), node, first), win.ISDSC_CONNECTION_FAILED, errdefs.Unavailable)
	must(t, node.SetISCSIPortal("10.0.0.10:3260", true))
	must(t, add(t.Context(), node, first))
	after, err := discover(t.Context(), node, first)
	must(t, err)
	if !slices.Equal(after, []string{open, chap, shared}) {
		t.Errorf("%q, then %q", before, after)
	}
}

func TestPortals_AddFailing(t *testing.T) {
	node := newNode(t)
	before := node.Snapshot()
	wantError(t, add(t.Context(), node, absent), win.ISDSC_CONNECTION_FAILED, errdefs.Unavailable)
	wantUnchanged(t, node, before)
}

func TestPortals_ISCSI5_Discover(t *testing.T) {
	node := newNode(t)
	names, err := discover(t.Context(), node, first)
	wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
	if names == nil || len(names) != 0 {
		t.Errorf("got %#v", names)
	}
	must(t, add(t.Context(), node, first))
	must(t, add(t.Context(), node, second))
	for p, want := range map[*iscsi.TargetPortal][]string{first: {open, chap, shared}, second: {shared, wide}} {
		if names, err := discover(t.Context(), node, p); err != nil || !slices.Equal(names, want) {
			t.Errorf("%s: got %q, %v, want %q", p, names, err, want)
		}
	}
	_, err = discover(t.Context(), node, other)
	wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
}

func TestPortals_ISCSI6_List(t *testing.T) {
	node := newNode(t)
	resp, err := group(node).ListTargetPortals(t.Context(), &iscsi.ListTargetPortalsRequest{})
	if err != nil || resp.TargetPortals == nil || len(resp.TargetPortals) != 0 {
		t.Errorf("got %v, %v", resp.TargetPortals, err)
	}
	var want []string
	for _, p := range []*iscsi.TargetPortal{first, second, six, other} {
		must(t, add(t.Context(), node, p))
		want = append(want, p.String())
	}
	slices.Sort(want)
	if got := list(t, node); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPortals_ISCSI7_Remove(t *testing.T) {
	node := newNode(t, registered(first, other, second))
	must(t, remove(t.Context(), node, first))
	if got := list(t, node); !slices.Equal(got, []string{"10.0.0.10:3261", "10.0.0.11:3260"}) {
		t.Errorf("got %q", got)
	}
	err := remove(t.Context(), node, first)
	wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
	if !strings.Contains(err.Error(), "ObjectNotFound") {
		t.Errorf("%v has not the word of TXT-6", err)
	}
}

// A portal that shares its address with another is the one that is removed.
func TestPortals_RemoveTellsPortsApart(t *testing.T) {
	node := newNode(t, registered(first, other))
	must(t, remove(t.Context(), node, other))
	if got := list(t, node); !slices.Equal(got, []string{first.String()}) {
		t.Errorf("got %q", got)
	}
}

func TestPortals_RemoveKeepsSessions(t *testing.T) {
	node := newNode(t, registered(first))
	must(t, connect(t.Context(), node, first, open))
	must(t, remove(t.Context(), node, first))
	wantSessions(t, node, open+" through 10.0.0.10:3260: none")
	must(t, disconnect(t.Context(), node, first, open))
	wantSessions(t, node)
}

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

// ISCSI-17: without its service the initiator is Unavailable, with the way out.
func TestService_ISCSI17_Stopped(t *testing.T) {
	for _, state := range []string{"stopped", "startPending", "stopPending", "paused"} {
		for _, empty := range []bool{false, true} {
			node := newNode(t, registered(first), func(spec *simhost.NodeSpec) {
				spec.Switches.ISCSIStoppedEmpty = empty
				stuck := simhost.TransitionSpec{Stuck: true}
				spec.Services = []simhost.ServiceSpec{{Name: "MSiSCSI", State: "running", Starting: stuck, Stopping: stuck}}
			})
			must(t, connect(t.Context(), node, first, open))
			must(t, node.SetServiceState("MSiSCSI", state))
			before := node.Snapshot()
			for name, m := range methods() {
				resp, err := m.valid(t.Context(), group(node))
				wantResponse(t, resp)
				if !errors.Is(err, errdefs.ErrISCSIStopped) || errdefs.KindOf(err) != errdefs.Unavailable || !strings.Contains(err.Error(), "MSiSCSI") {
					t.Errorf("%s, %s, empty %t: %v", name, state, empty, err)
				}
			}
			wantUnchanged(t, node, before)
		}
	}
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

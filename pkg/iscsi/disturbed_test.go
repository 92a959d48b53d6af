// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

type scenario = disturb.Scenario[*iscsi.ISCSI]

// The calls of the group, each disturbed in every way.
func TestDisturbed(t *testing.T) {
	known := func(t *testing.T) *simhost.Node { return newNode(t, registered(first)) }
	connected := func(t *testing.T) *simhost.Node {
		n := known(t)
		must(t, connect(t.Context(), n, first, open))
		return n
	}
	disturb.Group[*iscsi.ISCSI]{
		Name: "iscsi", New: func(n *simhost.Node) (*iscsi.ISCSI, error) { return iscsi.New(n.ISCSI()) },
		Node: known,
		Questions: []scenario{
			{Method: "DiscoverTargetPortal", Request: &iscsi.DiscoverTargetPortalRequest{TargetPortal: first}},
			{Method: "ListTargetPortals", Request: &iscsi.ListTargetPortalsRequest{}},
			{Method: "GetTargetDisks", Request: &iscsi.GetTargetDisksRequest{TargetPortal: first, IQN: open}, Node: connected},
		},
		Changes: []scenario{
			{Method: "AddTargetPortal", Request: &iscsi.AddTargetPortalRequest{TargetPortal: first}, Node: func(t *testing.T) *simhost.Node { return newNode(t) }},
			{Method: "RemoveTargetPortal", Do: removeIfThere},
			{Method: "SetMutualChapSecret", Repeats: true, Request: &iscsi.SetMutualChapSecretRequest{MutualChapSecret: mutual}},
			{Method: "ConnectTarget", When: "with CHAP", Request: &iscsi.ConnectTargetRequest{
				TargetPortal: first, IQN: chap, AuthType: iscsi.ONE_WAY_CHAP, ChapUsername: user, ChapSecret: secret,
			}},
			{Method: "ConnectTarget", When: "a second time, with multipath", Request: &iscsi.ConnectTargetRequest{TargetPortal: second, IQN: shared}, Node: multipath},
			{Method: "DisconnectTarget", Request: &iscsi.DisconnectTargetRequest{TargetPortal: first, IQN: open}, Node: connected},
			{Method: "GetTargetDisks", When: "at the end of a stage", Do: stage, Node: func(t *testing.T) *simhost.Node { return newNode(t, arrivesAfter(1)) }},
		},
		Refusals: []scenario{
			{Method: "ConnectTarget", When: "with a wrong secret", Request: &iscsi.ConnectTargetRequest{
				TargetPortal: first, IQN: chap, AuthType: iscsi.ONE_WAY_CHAP, ChapUsername: user, ChapSecret: "wrongwrongwrong",
			}, Refused: errdefs.ErrPermissionDenied},
			{Method: "ConnectTarget", When: "through another portal", Request: &iscsi.ConnectTargetRequest{TargetPortal: second, IQN: shared}, Node: connectedOnce, Refused: errdefs.ErrISCSIOtherPortal},
		},
	}.Run(t)
}

// removeIfThere is what a driver does: a repeated removal is NotFound (ISCSI-7),
// which it takes for done.
func removeIfThere(ctx context.Context, i *iscsi.ISCSI) (any, error) {
	resp, err := i.RemoveTargetPortal(ctx, &iscsi.RemoveTargetPortalRequest{TargetPortal: first})
	if errors.Is(err, errdefs.ErrNotFound) {
		err = nil
	}
	return resp, err
}

// stage is the way of a driver, whose disks are late.
func stage(ctx context.Context, i *iscsi.ISCSI) (any, error) {
	if resp, err := i.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: first}); err != nil {
		return resp, err
	}
	if resp, err := i.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{TargetPortal: first, IQN: open}); err != nil {
		return resp, err
	}
	resp, err := i.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: first, IQN: open})
	if err == nil && len(resp.DiskIDs) != 1 {
		err = fmt.Errorf("%d disks", len(resp.DiskIDs))
	}
	return resp, err
}

// connectedOnce is a node with a session through one of a target's portals.
func connectedOnce(t *testing.T) *simhost.Node { return oneSession(t, false) }

// multipath is the same where more sessions make no more disks.
func multipath(t *testing.T) *simhost.Node { return oneSession(t, true) }

func oneSession(t *testing.T, mpio bool) *simhost.Node {
	n := newNode(t, registered(first, second), func(spec *simhost.NodeSpec) { spec.ISCSI.MPIO = mpio })
	must(t, connect(t.Context(), n, first, shared))
	return n
}

// Different targets, portals and methods at once: nothing waits for ever, and
// each ends as it would alone.
func TestConcurrent(t *testing.T) {
	node := newNode(t, registered(first, second))
	var callers sync.WaitGroup
	errs := make(chan error, 64)
	for n := range 64 {
		callers.Go(func() {
			ctx := context.Background()
			switch n % 4 {
			case 0:
				errs <- add(ctx, node, six)
			case 1:
				errs <- connectCHAP(ctx, node, iscsi.ONE_WAY_CHAP, user, secret)
			case 2:
				errs <- connect(ctx, node, second, wide)
			case 3:
				if err := connect(ctx, node, first, open); err != nil {
					errs <- err
					return
				}
				_, err := disks(ctx, node, first, open)
				errs <- err
			}
		})
	}
	callers.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if got := len(sessions(node)); got != 3 {
		t.Errorf("%d sessions, want 3", got)
	}
}

// A wrong credential at the same time does not hurt the right one, and is not
// let in by it but where the session is there already.
func TestConnect_RightAndWrongAtOnce(t *testing.T) {
	node := newNode(t, registered(first))
	var callers sync.WaitGroup
	for n := range 32 {
		callers.Go(func() {
			given, right := secret, n%2 == 0
			if !right {
				given = "wrongwrongwrong"
			}
			err := connectCHAP(context.Background(), node, iscsi.ONE_WAY_CHAP, user, given)
			if right && err != nil || err != nil && errdefs.KindOf(err) != errdefs.PermissionDenied {
				t.Errorf("right %t: %v", right, err)
			}
		})
	}
	callers.Wait()
	wantSessions(t, node, chap+" through 10.0.0.10:3260: onewaychap")
}

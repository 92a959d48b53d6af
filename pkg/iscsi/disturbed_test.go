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

// disturbed disturbs a change in every way.
func disturbed(t *testing.T, setUp func(*testing.T) *simhost.Node, change func(context.Context, *simhost.Node) error) {
	t.Helper()
	disturb.Run(t, disturb.Scenario{Node: setUp, Change: change})
}

func TestAddTargetPortal_Disturbed(t *testing.T) {
	disturbed(t, func(t *testing.T) *simhost.Node { return newNode(t) }, func(ctx context.Context, n *simhost.Node) error {
		return add(ctx, n, first)
	})
}

// A repeated removal is NotFound (ISCSI-7), which a driver takes for done.
func TestRemoveTargetPortal_Disturbed(t *testing.T) {
	disturbed(t, func(t *testing.T) *simhost.Node { return newNode(t, registered(first)) }, func(ctx context.Context, n *simhost.Node) error {
		err := remove(ctx, n, first)
		if errors.Is(err, errdefs.ErrNotFound) {
			return nil
		}
		return err
	})
}

func TestConnectTarget_Disturbed(t *testing.T) {
	disturbed(t, func(t *testing.T) *simhost.Node { return newNode(t, registered(first)) }, func(ctx context.Context, n *simhost.Node) error {
		return connectCHAP(ctx, n, iscsi.ONE_WAY_CHAP, user, secret)
	})
}

// The second session of a multipath target.
func TestConnectTarget_MultipathDisturbed(t *testing.T) {
	disturbed(t, func(t *testing.T) *simhost.Node {
		n := newNode(t, registered(first, second), func(spec *simhost.NodeSpec) { spec.ISCSI.MPIO = true })
		must(t, connect(t.Context(), n, first, shared))
		return n
	}, func(ctx context.Context, n *simhost.Node) error { return connect(ctx, n, second, shared) })
}

func TestDisconnectTarget_Disturbed(t *testing.T) {
	disturbed(t, func(t *testing.T) *simhost.Node {
		n := newNode(t, registered(first))
		must(t, connect(t.Context(), n, first, open))
		return n
	}, func(ctx context.Context, n *simhost.Node) error { return disconnect(ctx, n, first, open) })
}

// The way of a driver, whose disks are late.
func TestStage_Disturbed(t *testing.T) {
	disturbed(t, func(t *testing.T) *simhost.Node { return newNode(t, arrivesAfter(1)) }, func(ctx context.Context, n *simhost.Node) error {
		if err := add(ctx, n, first); err != nil {
			return err
		}
		if err := connect(ctx, n, first, open); err != nil {
			return err
		}
		ids, err := disks(ctx, n, first, open)
		if err == nil && len(ids) != 1 {
			err = fmt.Errorf("%d disks", len(ids))
		}
		return err
	})
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

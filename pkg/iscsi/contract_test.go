// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// method is a method of the group with one request.
type method func(context.Context, *iscsi.ISCSI) (any, error)

// calling is a method with a request.
func calling[Req, Resp any](of func(*iscsi.ISCSI, context.Context, *Req) (*Resp, error), req *Req) method {
	return func(ctx context.Context, i *iscsi.ISCSI) (any, error) {
		resp, err := of(i, ctx, req)
		return resp, err
	}
}

// requests of one method: without a portal, and one that first and open can
// answer.
type requests struct{ noPortal, valid method }

func methods() map[string]requests {
	type (
		g = iscsi.ISCSI
	)
	return map[string]requests{
		"AddTargetPortal": {
			calling((*g).AddTargetPortal, &iscsi.AddTargetPortalRequest{}),
			calling((*g).AddTargetPortal, &iscsi.AddTargetPortalRequest{TargetPortal: first}),
		},
		"ConnectTarget": {
			calling((*g).ConnectTarget, &iscsi.ConnectTargetRequest{IQN: open}),
			calling((*g).ConnectTarget, &iscsi.ConnectTargetRequest{TargetPortal: first, IQN: open}),
		},
		"DisconnectTarget": {
			calling((*g).DisconnectTarget, &iscsi.DisconnectTargetRequest{IQN: open}),
			calling((*g).DisconnectTarget, &iscsi.DisconnectTargetRequest{TargetPortal: first, IQN: open}),
		},
		"DiscoverTargetPortal": {
			calling((*g).DiscoverTargetPortal, &iscsi.DiscoverTargetPortalRequest{}),
			calling((*g).DiscoverTargetPortal, &iscsi.DiscoverTargetPortalRequest{TargetPortal: first}),
		},
		"GetTargetDisks": {
			calling((*g).GetTargetDisks, &iscsi.GetTargetDisksRequest{IQN: open}),
			calling((*g).GetTargetDisks, &iscsi.GetTargetDisksRequest{TargetPortal: first, IQN: open}),
		},
		"ListTargetPortals": {
			nil,
			calling((*g).ListTargetPortals, &iscsi.ListTargetPortalsRequest{}),
		},
		"RemoveTargetPortal": {
			calling((*g).RemoveTargetPortal, &iscsi.RemoveTargetPortalRequest{}),
			calling((*g).RemoveTargetPortal, &iscsi.RemoveTargetPortalRequest{TargetPortal: first}),
		},
		"SetMutualChapSecret": {
			nil,
			calling((*g).SetMutualChapSecret, &iscsi.SetMutualChapSecretRequest{MutualChapSecret: mutual}),
		},
	}
}

func wantResponse(t *testing.T, resp any) {
	t.Helper()
	if reflect.ValueOf(resp).IsNil() {
		t.Error("the response is nil")
	}
}

// refused wants InvalidArgument that names a field, before anything is asked.
func refused(t *testing.T, m method, field string) {
	t.Helper()
	node := newNode(t, registered(first))
	resp, err := m(t.Context(), group(node))
	wantResponse(t, resp)
	wantError(t, err, errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
	if err == nil || !strings.Contains(err.Error(), field) {
		t.Errorf("%v does not name %s", err, field)
	}
	if n := node.Calls().Total(); n != 0 {
		t.Errorf("%d boundary calls", n)
	}
}

// ISCSI-2: upstream's process ends there.
func TestMethods_ISCSI2_NoPortal(t *testing.T) {
	for name, m := range methods() {
		if m.noPortal != nil {
			t.Run(name, func(t *testing.T) { refused(t, m.noPortal, "TargetPortal") })
		}
	}
}

// A caller without a deadline is not held up for ever (docs/architecture.md, Contexts, locks and hangs).
func TestMethods_HangingProviderEndsWithTheBudget(t *testing.T) {
	for name, m := range methods() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node, release := newNode(t, registered(first)), make(chan struct{})
				node.OnCall(func(c simhost.Call, do func() error) error {
					if strings.HasPrefix(c.Method, "Session.") {
						<-release
					}
					return do()
				})
				start := time.Now()
				_, err := m.valid(context.Background(), group(node))
				if kind := errdefs.KindOf(err); kind != errdefs.DeadlineExceeded && kind != errdefs.Unavailable {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took > 2*time.Minute {
					t.Errorf("took %v", took)
				}
				close(release)
			})
		})
	}
}

// Where the provider's status stands, it means the same (windows-api.md 10.5).
func TestMethods_StatusSwitches(t *testing.T) {
	for _, s := range simhost.AllSwitches() {
		if !strings.HasPrefix(s.Name, "ISCSI") {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			node := newNode(t, func(spec *simhost.NodeSpec) { spec.Switches = s.Switches })
			ctx := t.Context()
			wantError(t, add(ctx, node, absent), win.ISDSC_CONNECTION_FAILED, errdefs.Unavailable)
			must(t, add(ctx, node, first))
			must(t, add(ctx, node, first))
			wantError(t, connectCHAP(ctx, node, iscsi.ONE_WAY_CHAP, user, "wrongwrongwrong"), win.ISDSC_AUTHENTICATION_FAILURE, errdefs.PermissionDenied)
			must(t, connectCHAP(ctx, node, iscsi.ONE_WAY_CHAP, user, secret))
			if ids, err := disks(ctx, node, first, chap); err != nil || len(ids) != 1 || ids[0] != "1" {
				t.Errorf("disks %q, %v", ids, err)
			}
			must(t, disconnect(ctx, node, first, chap))
			must(t, disconnect(ctx, node, first, chap))
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"context"
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

// methods are all methods, with requests that first and open can answer.
func methods() map[string]method {
	type g = iscsi.ISCSI
	return map[string]method{
		"AddTargetPortal":      calling((*g).AddTargetPortal, &iscsi.AddTargetPortalRequest{TargetPortal: first}),
		"ConnectTarget":        calling((*g).ConnectTarget, &iscsi.ConnectTargetRequest{TargetPortal: first, IQN: open}),
		"DisconnectTarget":     calling((*g).DisconnectTarget, &iscsi.DisconnectTargetRequest{TargetPortal: first, IQN: open}),
		"DiscoverTargetPortal": calling((*g).DiscoverTargetPortal, &iscsi.DiscoverTargetPortalRequest{TargetPortal: first}),
		"GetTargetDisks":       calling((*g).GetTargetDisks, &iscsi.GetTargetDisksRequest{TargetPortal: first, IQN: open}),
		"ListTargetPortals":    calling((*g).ListTargetPortals, &iscsi.ListTargetPortalsRequest{}),
		"RemoveTargetPortal":   calling((*g).RemoveTargetPortal, &iscsi.RemoveTargetPortalRequest{TargetPortal: first}),
		"SetMutualChapSecret":  calling((*g).SetMutualChapSecret, &iscsi.SetMutualChapSecretRequest{MutualChapSecret: mutual}),
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
				_, err := m(context.Background(), group(node))
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

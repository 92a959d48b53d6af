// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

// group is the group of a node's driver of now.
func group(n *simhost.Node) (*smb.SMB, error) {
	files, err := filesystem.New(n.Filesystem())
	if err != nil {
		return nil, err
	}
	return smb.New(n.SMB(), files)
}

func newMapping(ctx context.Context, n *simhost.Node, req *smb.NewSMBGlobalMappingRequest) error {
	g, err := group(n)
	if err != nil {
		return err
	}
	return second(g.NewSMBGlobalMapping(ctx, req))
}

// start makes a node and does something with it.
func start(does ...func(*testing.T, *simhost.Node)) func(t *testing.T) *simhost.Node {
	return func(t *testing.T) *simhost.Node {
		node, err := simhost.New(spec())
		if err != nil {
			t.Fatal(err)
		}
		for _, do := range does {
			do(t, node)
		}
		return node
	}
}

// left is a mapping that other software, or an earlier driver, has left.
func left(m simhost.SMBMapping) func(*testing.T, *simhost.Node) {
	return func(t *testing.T, node *simhost.Node) {
		t.Helper()
		if err := node.AddSMBMapping(m); err != nil {
			t.Fatal(err)
		}
	}
}

func linked() *smb.NewSMBGlobalMappingRequest {
	req := request(`\\files\data\Sub`, bob)
	req.LocalPath = local
	return req
}

// A share that is not mapped is mapped and linked to.
func TestNewSMBGlobalMapping_Disturbed(t *testing.T) {
	disturb.Run(t, disturb.Scenario{
		Node:   start(),
		Change: func(ctx context.Context, n *simhost.Node) error { return newMapping(ctx, n, linked()) },
	})
}

// A mapping that is stale is made anew, after the credential has been verified.
func TestNewSMBGlobalMapping_StaleDisturbed(t *testing.T) {
	disturb.Run(t, disturb.Scenario{
		Node:   start(left(simhost.SMBMapping{RemotePath: dataShare, Credential: wrong, Status: 2, Privacy: true})),
		Change: func(ctx context.Context, n *simhost.Node) error { return newMapping(ctx, n, linked()) },
	})
}

// A stale mapping of another share of the server stands in the way (1219). To
// map is tried twice then, so that this counts by its end alone.
func TestNewSMBGlobalMapping_ConflictWithFailures(t *testing.T) {
	conflict := start(left(simhost.SMBMapping{RemotePath: otherShare, Credential: wrong, Status: 2, Privacy: true}))
	var want simhost.Snapshot
	calls := 0
	run := func(t *testing.T, at int, after bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			n := conflict(t)
			defer n.Close()
			made := 0
			n.OnCall(func(c simhost.Call, do func() error) error {
				made++
				if made != at {
					return do()
				}
				if after {
					if err := do(); err != nil {
						return err
					}
				}
				return win.ERROR_GEN_FAILURE
			})
			if err := newMapping(t.Context(), n, linked()); err != nil && !errors.Is(err, win.ERROR_GEN_FAILURE) {
				t.Errorf("call %d: %v", at, err)
			}
			calls = max(calls, made)
			n.OnCall(nil)
			if err := newMapping(t.Context(), n, linked()); err != nil {
				t.Errorf("call %d, again: %v", at, err)
			}
			if at == 0 {
				want = n.Snapshot()
			}
			if got := n.Snapshot(); got != want {
				t.Errorf("call %d: %s", at, simhost.Diff(want, got))
			}
		})
	}
	run(t, 0, false)
	for at := 1; at <= calls; at++ {
		run(t, at, false)
		run(t, at, true)
	}
}

// A mapping that works is linked to, after the credential has been verified.
func TestNewSMBGlobalMapping_VerifiedDisturbed(t *testing.T) {
	disturb.Run(t, disturb.Scenario{
		Node:   start(left(simhost.SMBMapping{RemotePath: dataShare, Credential: alice, Privacy: true})),
		Change: func(ctx context.Context, n *simhost.Node) error { return newMapping(ctx, n, linked()) },
	})
}

func TestRemoveSMBGlobalMapping_Disturbed(t *testing.T) {
	disturb.Run(t, disturb.Scenario{
		Node: start(left(simhost.SMBMapping{RemotePath: dataShare, Credential: bob, Privacy: true})),
		Change: func(ctx context.Context, n *simhost.Node) error {
			g, err := group(n)
			if err != nil {
				return err
			}
			return second(g.RemoveSMBGlobalMapping(ctx, &smb.RemoveSMBGlobalMappingRequest{RemotePath: dataShare}))
		},
	})
}

// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"fmt"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// many is a network with a number of targets more, all behind first and all
// connected.
func many(t *testing.T, targets int) *simhost.Node {
	t.Helper()
	name := func(n int) string { return fmt.Sprintf("iqn.2020-01.example.san:extra-%d", n) }
	node := newNode(t, registered(first), func(spec *simhost.NodeSpec) {
		for n := range targets {
			spec.ISCSI.Targets = append(spec.ISCSI.Targets, simhost.ISCSITargetSpec{
				Name: name(n), Portals: []string{"10.0.0.10:3260"}, LUNs: []simhost.DiskSpec{lun(fmt.Sprintf("extra-%d", n))},
			})
		}
	})
	for n := range targets {
		must(t, connect(t.Context(), node, first, name(n)))
	}
	return node
}

// A call on one target costs the same with 1 and with 20 others (calls without
// those of connecting the WMI workers).
func TestBudgets(t *testing.T) {
	for _, test := range []struct {
		name   string
		before func(*testing.T, *simhost.Node)
		call   func(*testing.T, *simhost.Node) error
		most   int
	}{
		{"add", nil, func(t *testing.T, n *simhost.Node) error { return add(t.Context(), n, second) }, 4},
		{"add again", nil, func(t *testing.T, n *simhost.Node) error { return add(t.Context(), n, first) }, 4},
		{"discover", nil, func(t *testing.T, n *simhost.Node) error { _, err := discover(t.Context(), n, first); return err }, 4},
		{"list", nil, func(t *testing.T, n *simhost.Node) error { list(t, n); return nil }, 3},
		{"remove", nil, func(t *testing.T, n *simhost.Node) error { return remove(t.Context(), n, first) }, 4},
		{"connect", nil, func(t *testing.T, n *simhost.Node) error { return connect(t.Context(), n, first, open) }, 8},
		{"connect again", connectOpen, func(t *testing.T, n *simhost.Node) error { return connect(t.Context(), n, first, open) }, 5},
		{"disks", connectOpen, func(t *testing.T, n *simhost.Node) error { _, err := disks(t.Context(), n, first, open); return err }, 6},
		{"disconnect", connectOpen, func(t *testing.T, n *simhost.Node) error { return disconnect(t.Context(), n, first, open) }, 6},
		{"disconnect again", nil, func(t *testing.T, n *simhost.Node) error { return disconnect(t.Context(), n, first, open) }, 6},
		{"secret", nil, func(t *testing.T, n *simhost.Node) error { return setSecret(t.Context(), n, mutual) }, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, targets := range []int{1, 20} {
				node := many(t, targets)
				if test.before != nil {
					test.before(t, node)
				}
				node.Calls().Reset()
				must(t, test.call(t, node))
				if got := counted(node); got > test.most {
					t.Errorf("%d calls with %d targets, at most %d", got, targets, test.most)
				}
			}
		})
	}
}

func connectOpen(t *testing.T, n *simhost.Node) {
	t.Helper()
	must(t, connect(t.Context(), n, first, open))
}

// counted are the calls but for those that connect a WMI worker.
func counted(node *simhost.Node) int {
	counts := node.Calls().ByMethod()
	return node.Calls().Total() - counts["WMI.Enter"] - counts["WMI.Connect"]
}

// A response has what Windows says, whatever else is there.
func TestDiscover_Many(t *testing.T) {
	node := many(t, 20)
	resp, err := group(node).DiscoverTargetPortal(t.Context(), &iscsi.DiscoverTargetPortalRequest{TargetPortal: first})
	if err != nil || len(resp.IQNs) != 23 {
		t.Errorf("%d names, %v", len(resp.IQNs), err)
	}
}

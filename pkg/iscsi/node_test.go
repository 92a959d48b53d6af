// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// The targets of a network. open wants no CHAP, chap wants it of that user and
// secret and proves itself with another, shared is reached through both portals,
// wide has three LUNs.
const (
	open   = "iqn.2020-01.example.san:open"
	chap   = "iqn.2020-01.example.san:chap"
	shared = "iqn.2020-01.example.san:shared"
	wide   = "iqn.2020-01.example.san:wide"

	user   = "storage-user"
	secret = "averylongsecret" // 15 bytes (behaviour.md ISCSI-12)
	mutual = "made-up-pass"    // 12 bytes
)

// The portals of a network: first, second, one at an IPv6 address, and one that
// is not there.
var (
	first  = portal("10.0.0.10", 3260)
	second = portal("10.0.0.11", 3260)
	six    = portal("fd00::10", 3260)
	absent = portal("10.0.0.99", 3260)
)

func portal(address string, port uint32) *iscsi.TargetPortal {
	return &iscsi.TargetPortal{TargetAddress: address, TargetPort: port}
}

func lun(name string) simhost.DiskSpec {
	return simhost.DiskSpec{Name: name, Size: simhost.GiB, Vendor: "SAN     ", Product: "Virtual LUN     ", Serial: "serial-of-" + name}
}

// network describes a node whose initiator runs and knows no portal.
func network() simhost.NodeSpec {
	return simhost.NodeSpec{
		Version: simhost.SpecVersion, Name: "network", Directories: []string{`C:\var\lib\kubelet\plugins`},
		Services: []simhost.ServiceSpec{{Name: "MSiSCSI", Start: "auto"}},
		ISCSI: &simhost.ISCSISpec{
			Portals: []simhost.ISCSIPortalSpec{
				{Address: "10.0.0.10"}, {Address: "10.0.0.11"}, {Address: "fd00::10"},
			},
			Targets: []simhost.ISCSITargetSpec{
				{Name: open, Portals: []string{"10.0.0.10:3260", "[fd00::10]:3260"}, LUNs: []simhost.DiskSpec{lun("open-0")}},
				{Name: chap, Portals: []string{"10.0.0.10:3260"}, User: user, Secret: secret, MutualSecret: mutual, LUNs: []simhost.DiskSpec{lun("chap-0")}},
				{Name: shared, Portals: []string{"10.0.0.10:3260", "10.0.0.11:3260"}, LUNs: []simhost.DiskSpec{lun("shared-0")}},
				{Name: wide, Portals: []string{"10.0.0.11:3260"}, LUNs: []simhost.DiskSpec{lun("wide-0"), lun("wide-1"), lun("wide-2")}},
			},
		},
	}
}

// registered registers portals from the start.
func registered(ports ...*iscsi.TargetPortal) func(*simhost.NodeSpec) {
	return func(spec *simhost.NodeSpec) {
		for i, p := range spec.ISCSI.Portals {
			for _, wanted := range ports {
				if wanted.TargetAddress == p.Address {
					spec.ISCSI.Portals[i].Registered = true
				}
			}
		}
	}
}

func newNode(t testing.TB, edits ...func(*simhost.NodeSpec)) *simhost.Node {
	t.Helper()
	spec := network()
	for _, edit := range edits {
		edit(&spec)
	}
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		wmi.On(node.Host()).Close()
		if err := blocking.On(node.Host()).Clean(); err != nil {
			t.Error(err)
		}
		if n := node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
		if v := node.Violations(); len(v) > 0 {
			t.Errorf("rules broken: %q", v)
		}
	})
	return node
}

// hostAPIOn is the group's host API on a host of a test.
func hostAPIOn(h *win.Host) hostapi.HostAPI { return hostapi.On(h) }

func group(node *simhost.Node) *iscsi.ISCSI {
	i, _ := iscsi.New(node.ISCSI())
	return i
}

func add(ctx context.Context, node *simhost.Node, p *iscsi.TargetPortal) error {
	_, err := group(node).AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: p})
	return err
}

func discover(ctx context.Context, node *simhost.Node, p *iscsi.TargetPortal) ([]string, error) {
	resp, err := group(node).DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{TargetPortal: p})
	return resp.IQNs, err
}

func list(t testing.TB, node *simhost.Node) []string {
	t.Helper()
	resp, err := group(node).ListTargetPortals(t.Context(), &iscsi.ListTargetPortalsRequest{})
	must(t, err)
	names := []string{}
	for _, p := range resp.TargetPortals {
		names = append(names, p.String())
	}
	slices.Sort(names)
	return names
}

func remove(ctx context.Context, node *simhost.Node, p *iscsi.TargetPortal) error {
	_, err := group(node).RemoveTargetPortal(ctx, &iscsi.RemoveTargetPortalRequest{TargetPortal: p})
	return err
}

func connect(ctx context.Context, node *simhost.Node, p *iscsi.TargetPortal, iqn string) error {
	_, err := group(node).ConnectTarget(ctx, &iscsi.ConnectTargetRequest{TargetPortal: p, IQN: iqn})
	return err
}

func connectCHAP(ctx context.Context, node *simhost.Node, kind iscsi.AuthenticationType, user, secret string) error {
	_, err := group(node).ConnectTarget(ctx, &iscsi.ConnectTargetRequest{
		TargetPortal: first, IQN: chap, AuthType: kind, ChapUsername: user, ChapSecret: secret,
	})
	return err
}

func disconnect(ctx context.Context, node *simhost.Node, p *iscsi.TargetPortal, iqn string) error {
	_, err := group(node).DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{TargetPortal: p, IQN: iqn})
	return err
}

func disks(ctx context.Context, node *simhost.Node, p *iscsi.TargetPortal, iqn string) ([]string, error) {
	resp, err := group(node).GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: p, IQN: iqn})
	return resp.DiskIDs, err
}

func setSecret(ctx context.Context, node *simhost.Node, s string) error {
	_, err := group(node).SetMutualChapSecret(ctx, &iscsi.SetMutualChapSecretRequest{MutualChapSecret: s})
	return err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks an error's sentinel and kind.
func wantError(t testing.TB, err, sentinel error, kind errdefs.Kind) {
	t.Helper()
	if !errors.Is(err, sentinel) || errdefs.KindOf(err) != kind {
		t.Errorf("got %v of kind %v, want %v of kind %v", err, errdefs.KindOf(err), sentinel, kind)
	}
}

// sessions are the lines of a snapshot about sessions.
func sessions(node *simhost.Node) []string {
	var found []string
	for line := range strings.Lines(string(node.Snapshot())) {
		if rest, ok := strings.CutPrefix(line, "iSCSI session of "); ok {
			found = append(found, strings.TrimSpace(rest))
		}
	}
	return found
}

func wantSessions(t testing.TB, node *simhost.Node, want ...string) {
	t.Helper()
	if got := sessions(node); !slices.Equal(got, want) {
		t.Errorf("sessions %q, want %q", got, want)
	}
}

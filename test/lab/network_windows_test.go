// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
)

// networked is a node with a file server and an iSCSI target in its network.
func networked(t *testing.T) *simhost.Node {
	t.Helper()
	spec, err := simhost.Named(simhost.Names()[0])
	if err != nil {
		t.Fatal(err)
	}
	spec.Services = append(spec.Services, simhost.ServiceSpec{Name: "MSiSCSI", Start: "auto"})
	spec.SMB = []simhost.SMBServerSpec{{
		Name:   "files.example.com",
		Users:  []simhost.SMBUserSpec{{Name: `CORP\alice`, Password: "secret"}},
		Shares: []simhost.SMBShareSpec{{Name: "data", Directories: []string{"pv1"}}},
	}}
	spec.ISCSI = &simhost.ISCSISpec{
		Portals: []simhost.ISCSIPortalSpec{{Address: "10.0.0.10"}},
		Targets: []simhost.ISCSITargetSpec{{
			Name: "iqn.2020-01.example.san:data", User: "node1", Secret: "averylongsecret",
			LUNs: []simhost.DiskSpec{{Name: "lun", Size: simhost.GiB}},
		}},
	}
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// The groups of the network, as TestGroups: the same results, the same calls,
// the same node.
func TestNetwork(t *testing.T) {
	for name, flow := range map[string]func(t *testing.T, s *session){"shares": shares, "targets": targets} {
		t.Run(name, func(t *testing.T) {
			mine, twin := networked(t), networked(t)
			want := newSession(t, twin, twin.Host())
			l := hooked(t, mine)
			got := newSession(t, mine, near(l))
			flow(t, want)
			flow(t, got)
			same(t, want.said, got.said)
			if diff := simhost.Diff(twin.Snapshot(), mine.Snapshot()); diff != "" {
				t.Error(diff)
			}
			if err := l.Settle(); err != nil {
				t.Error(err)
			}
		})
	}
}

func shares(t *testing.T, s *session) {
	t.Helper()
	ctx := t.Context()
	group, err := smb.New(smbapi.On(s.host), s.filesystem)
	if err != nil {
		t.Fatal(err)
	}
	const share, local = `\\files.example.com\data`, `C:\var\lib\kubelet\pods\share`
	req := &smb.NewSMBGlobalMappingRequest{RemotePath: share + `\pv1`, LocalPath: local, Username: `CORP\alice`, Password: "wrong"}
	for _, password := range []string{"wrong", "secret", "secret", "wrong"} {
		req.Password = password
		mapped, err := group.NewSMBGlobalMapping(ctx, req)
		s.say("map", mapped, err)
	}
	list, err := group.ListMappings(ctx, &smb.ListMappingsRequest{})
	s.say("mappings", list, err)
	for _, remote := range []string{share, `\\files.example.com\none`} {
		mapping, err := group.GetMapping(ctx, &smb.GetMappingRequest{RemotePath: remote})
		s.say("mapping", mapping, err)
	}
	link, err := group.LinkedShare(ctx, &smb.LinkedShareRequest{LocalPath: local})
	s.say("linked", link, err)
	made, err := s.filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: share + `\pv1\a\b`})
	s.say("mkdir on the share", made, err)
	state, err := s.filesystem.LinkState(ctx, &filesystem.LinkStateRequest{Path: local})
	s.say("link state", state, err)
	removed, err := s.filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: local})
	s.say("remove the link", removed, err)
	for range 2 {
		unmapped, err := group.RemoveSMBGlobalMapping(ctx, &smb.RemoveSMBGlobalMappingRequest{RemotePath: share})
		s.say("unmap", unmapped, err)
	}
}

func targets(t *testing.T, s *session) {
	t.Helper()
	ctx := t.Context()
	group, err := iscsi.New(iscsiapi.On(s.host))
	if err != nil {
		t.Fatal(err)
	}
	portal := &iscsi.TargetPortal{TargetAddress: "10.0.0.10", TargetPort: 3260}
	const iqn = "iqn.2020-01.example.san:data"
	for range 2 {
		added, err := group.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: portal})
		s.say("add", added, err)
	}
	offered, err := group.DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal})
	s.say("offered", offered, err)
	portals, err := group.ListTargetPortals(ctx, &iscsi.ListTargetPortalsRequest{})
	s.say("portals", len(portals.TargetPortals), err)
	for _, secret := range []string{"anotherlongone", "averylongsecret", "averylongsecret"} {
		connected, err := group.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{
			TargetPortal: portal, IQN: iqn, AuthType: iscsi.ONE_WAY_CHAP, ChapUsername: "node1", ChapSecret: secret,
		})
		s.say("connect", connected, err)
	}
	disks, err := group.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: portal, IQN: iqn})
	s.say("disks", disks, err)
	mutual, err := group.SetMutualChapSecret(ctx, &iscsi.SetMutualChapSecretRequest{MutualChapSecret: "initiatorsecret"})
	s.say("mutual", mutual, err)
	for range 2 {
		gone, err := group.DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{TargetPortal: portal, IQN: iqn})
		s.say("disconnect", gone, err)
	}
	removed, err := group.RemoveTargetPortal(ctx, &iscsi.RemoveTargetPortalRequest{TargetPortal: portal})
	s.say("remove", removed, err)
}

// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
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

// The groups of the network, as TestGroups.
func TestNetwork(t *testing.T) {
	for name, flow := range map[string]func(t *testing.T, s *session){"shares": shares, "targets": targets} {
		t.Run(name, func(t *testing.T) {
			compare(t, func() *simhost.Node { return networked(t) }, flow)
		})
	}
}

// shares uses every method of smb.
func shares(t *testing.T, s *session) {
	t.Helper()
	const share, local = `\\files.example.com\data`, `C:\var\lib\kubelet\pods\share`
	req := &smb.NewSMBGlobalMappingRequest{RemotePath: share + `\pv1`, LocalPath: local, Username: `CORP\alice`}
	for _, password := range []string{"wrong", "secret", "secret", "wrong"} {
		req.Password = password
		ask(t, s, s.smb.NewSMBGlobalMapping, req)
	}
	ask(t, s, s.smb.ListMappings, &smb.ListMappingsRequest{})
	for _, remote := range []string{share, `\\files.example.com\none`} {
		ask(t, s, s.smb.GetMapping, &smb.GetMappingRequest{RemotePath: remote})
	}
	for _, path := range []string{local, `C:\var`} {
		ask(t, s, s.smb.LinkedShare, &smb.LinkedShareRequest{LocalPath: path})
	}
	ask(t, s, s.filesystem.Mkdir, &filesystem.MkdirRequest{Path: share + `\pv1\a\b`})
	ask(t, s, s.filesystem.LinkState, &filesystem.LinkStateRequest{Path: local})
	ask(t, s, s.filesystem.Rmdir, &filesystem.RmdirRequest{Path: local})
	for range 2 {
		ask(t, s, s.smb.RemoveSMBGlobalMapping, &smb.RemoveSMBGlobalMappingRequest{RemotePath: share})
	}
}

// targets uses every method of iscsi.
func targets(t *testing.T, s *session) {
	t.Helper()
	portal := &iscsi.TargetPortal{TargetAddress: "10.0.0.10", TargetPort: 3260}
	const iqn = "iqn.2020-01.example.san:data"
	ask(t, s, s.iscsi.DiscoverTargetPortal, &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal})
	for range 2 {
		ask(t, s, s.iscsi.AddTargetPortal, &iscsi.AddTargetPortalRequest{TargetPortal: portal})
	}
	ask(t, s, s.iscsi.DiscoverTargetPortal, &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal})
	ask(t, s, s.iscsi.ListTargetPortals, &iscsi.ListTargetPortalsRequest{})
	for _, secret := range []string{"anotherlongone", "averylongsecret", "averylongsecret"} {
		ask(t, s, s.iscsi.ConnectTarget, &iscsi.ConnectTargetRequest{
			TargetPortal: portal, IQN: iqn, AuthType: iscsi.ONE_WAY_CHAP, ChapUsername: "node1", ChapSecret: secret,
		})
	}
	ask(t, s, s.iscsi.GetTargetDisks, &iscsi.GetTargetDisksRequest{TargetPortal: portal, IQN: iqn})
	ask(t, s, s.iscsi.SetMutualChapSecret, &iscsi.SetMutualChapSecretRequest{MutualChapSecret: "initiatorsecret"})
	for range 2 {
		ask(t, s, s.iscsi.DisconnectTarget, &iscsi.DisconnectTargetRequest{TargetPortal: portal, IQN: iqn})
	}
	for range 2 {
		ask(t, s, s.iscsi.RemoveTargetPortal, &iscsi.RemoveTargetPortalRequest{TargetPortal: portal})
	}
}

// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

type scenario = disturb.Scenario[*smb.SMB]

// The calls of the group, each disturbed in every way.
func TestDisturbed(t *testing.T) {
	wrongPassword := request(dataShare, wrong)
	request := request(`\\files\data\Sub`, bob)
	request.LocalPath = local
	mapped := left(simhost.SMBMapping{RemotePath: dataShare, Credential: bob, Privacy: true})
	disturb.Group[*smb.SMB]{
		Name: "smb", New: group, Node: mapped,
		Questions: []scenario{
			{Method: "ListMappings", Request: &smb.ListMappingsRequest{}},
			{Method: "GetMapping", Request: &smb.GetMappingRequest{RemotePath: dataShare}},
			{Method: "LinkedShare", Request: &smb.LinkedShareRequest{LocalPath: local}, Node: linked},
		},
		Changes: []scenario{
			{Method: "NewSMBGlobalMapping", When: "of a share that is not mapped", Request: request, Node: start},
			{
				Method: "NewSMBGlobalMapping", When: "over a stale mapping", Request: request,
				Node: left(simhost.SMBMapping{RemotePath: dataShare, Credential: wrong, Status: 2, Privacy: true}),
			},
			// A stale mapping of another share of the server stands in the way (1219).
			{
				Method: "NewSMBGlobalMapping", When: "beside a stale mapping", Request: request,
				Node: left(simhost.SMBMapping{RemotePath: otherShare, Credential: wrong, Status: 2, Privacy: true}),
			},
			// The mapping works; it is linked to when the credential has been verified.
			{
				Method: "NewSMBGlobalMapping", When: "by another user", Request: request,
				Node: left(simhost.SMBMapping{RemotePath: dataShare, Credential: alice, Privacy: true}),
			},
			{Method: "RemoveSMBGlobalMapping", Request: &smb.RemoveSMBGlobalMappingRequest{RemotePath: dataShare}},
		},
		Refusals: []scenario{
			{Method: "NewSMBGlobalMapping", When: "with a wrong password", Request: wrongPassword, Refused: errdefs.ErrPermissionDenied},
			{
				Method: "NewSMBGlobalMapping", When: "beside another user", Request: request,
				Node: left(simhost.SMBMapping{RemotePath: otherShare, Credential: alice, Privacy: true}), Refused: errdefs.ErrCredentialConflict,
			},
		},
	}.Run(t)
}

// group is the group of a node's driver of now.
func group(n *simhost.Node) (*smb.SMB, error) {
	files, err := filesystem.New(n.Filesystem())
	if err != nil {
		return nil, err
	}
	return smb.New(n.SMB(), files)
}

func start(t *testing.T) *simhost.Node {
	t.Helper()
	node, err := simhost.New(spec())
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// left is a node with a mapping that other software, or an earlier driver, has
// left.
func left(m simhost.SMBMapping) func(*testing.T) *simhost.Node {
	return func(t *testing.T) *simhost.Node {
		t.Helper()
		node := start(t)
		if err := node.AddSMBMapping(m); err != nil {
			t.Fatal(err)
		}
		return node
	}
}

// linked is a node with a link to a directory of a share.
func linked(t *testing.T) *simhost.Node {
	t.Helper()
	node := start(t)
	if err := node.Host().Files.SymbolicLink(`\\?\`+local, `\\files\data\Sub\`, win.SymbolicLinkFlagDirectory); err != nil {
		t.Fatal(err)
	}
	return node
}

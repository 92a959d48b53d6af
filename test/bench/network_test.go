// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

var smbOperations = []operation{
	{name: "NewSMBGlobalMapping", before: unmapShare, run: mapShare},
	{name: "NewSMBGlobalMapping, as it is", before: mapShare, run: mapShare},
	{name: "RemoveSMBGlobalMapping", before: mapShare, run: unmapShare},
	{name: "GetMapping", before: mapShare, run: func(s *site) error {
		return second(s.smb.GetMapping(s.Context(), &smb.GetMappingRequest{RemotePath: share}))
	}},
	{name: "ListMappings", lists: true, run: func(s *site) error {
		return second(s.smb.ListMappings(s.Context(), &smb.ListMappingsRequest{}))
	}},
	{name: "LinkedShare", before: linkShare, run: func(s *site) error {
		return second(s.smb.LinkedShare(s.Context(), &smb.LinkedShareRequest{LocalPath: shareLink}))
	}},
}

const shareLink = folder + `\share`

func mapShare(s *site) error {
	return second(s.smb.NewSMBGlobalMapping(s.Context(), &smb.NewSMBGlobalMappingRequest{RemotePath: share, Username: user, Password: word}))
}

func linkShare(s *site) error {
	return second(s.smb.NewSMBGlobalMapping(s.Context(), &smb.NewSMBGlobalMappingRequest{RemotePath: share, LocalPath: shareLink, Username: user, Password: word}))
}

func unmapShare(s *site) error {
	return second(s.smb.RemoveSMBGlobalMapping(s.Context(), &smb.RemoveSMBGlobalMappingRequest{RemotePath: share}))
}

var iscsiOperations = []operation{
	{name: "AddTargetPortal", before: forgetPortal, run: addPortal},
	{name: "AddTargetPortal, as it is", before: addPortal, run: addPortal},
	{name: "RemoveTargetPortal", before: addPortal, run: removePortal},
	{name: "ListTargetPortals", run: func(s *site) error {
		return second(s.iscsi.ListTargetPortals(s.Context(), &iscsi.ListTargetPortalsRequest{}))
	}},
	{name: "DiscoverTargetPortal", run: func(s *site) error {
		return second(s.iscsi.DiscoverTargetPortal(s.Context(), &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal(address)}))
	}},
	{name: "ConnectTarget", before: disconnect, run: connect},
	{name: "ConnectTarget, as it is", before: connect, run: connect},
	{name: "GetTargetDisks", before: connect, run: func(s *site) error {
		return second(s.iscsi.GetTargetDisks(s.Context(), &iscsi.GetTargetDisksRequest{TargetPortal: portal(address), IQN: target}))
	}},
	{name: "DisconnectTarget", before: connect, run: disconnect},
	{name: "SetMutualChapSecret", run: func(s *site) error {
		return second(s.iscsi.SetMutualChapSecret(s.Context(), &iscsi.SetMutualChapSecretRequest{MutualChapSecret: "made-up-pass"}))
	}},
}

func portal(address string) *iscsi.TargetPortal {
	return &iscsi.TargetPortal{TargetAddress: address, TargetPort: 3260}
}

func addPortal(s *site) error {
	return second(s.iscsi.AddTargetPortal(s.Context(), &iscsi.AddTargetPortalRequest{TargetPortal: portal("10.0.0.11")}))
}

func forgetPortal(s *site) error {
	if err := addPortal(s); err != nil {
		return err
	}
	return removePortal(s)
}

func removePortal(s *site) error {
	return second(s.iscsi.RemoveTargetPortal(s.Context(), &iscsi.RemoveTargetPortalRequest{TargetPortal: portal("10.0.0.11")}))
}

func connect(s *site) error {
	return second(s.iscsi.ConnectTarget(s.Context(), &iscsi.ConnectTargetRequest{TargetPortal: portal(address), IQN: target, AuthType: iscsi.NONE}))
}

func disconnect(s *site) error {
	return second(s.iscsi.DisconnectTarget(s.Context(), &iscsi.DisconnectTargetRequest{TargetPortal: portal(address), IQN: target}))
}

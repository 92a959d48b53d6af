// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
)

// platform is what the demo knows of a shipped node: which disk the cloud
// attaches, and how a driver there tells it from the others. The cloud gives the
// driver a key, and each platform puts it somewhere else (windows-api.md 2.5).
type platform struct {
	node  string
	disk  string // its name in the node's description
	match disk.Matcher
}

func platforms() []platform {
	return []platform{
		{"aws-nitro", "data", disk.MatchEBS("vol-0123456789abcdef0")},
		{"azure-scsi", "data", disk.MatchLUN(0)},
		{"gce-scsi", "data", disk.MatchGooglePage83("pvc-3f1c9a52-7b64-4d0e-8a37-5c2e9d10b6f4")},
		{"vsphere-pvscsi", "data", disk.MatchPage83("6000C295-7A5D-0E1B-2C3D-4E5F60718293")},
	}
}

func platformOf(node string) (platform, error) {
	for _, p := range platforms() {
		if p.node == node {
			return p, nil
		}
	}
	return platform{}, fmt.Errorf("the demo knows no node %q", node)
}

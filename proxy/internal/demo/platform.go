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
		{"aws-xen", "data", disk.MatchXenDevice("xvdf")},
		{"azure-nvme", "data", disk.MatchAzureNVMe(0)},
		{"azure-scsi", "data", disk.MatchLUN(0)},
		{"gce-nvme", "data", disk.MatchGoogleNVMe("pvc-6a0e4b1d-93c2-4f57-8d1e-0b7a5c2f9e84")},
		{"gce-nvme-2019", "data", disk.MatchGoogleNVMe("pvc-6a0e4b1d-93c2-4f57-8d1e-0b7a5c2f9e84")},
		{"gce-scsi", "data", disk.MatchGooglePage83("pvc-3f1c9a52-7b64-4d0e-8a37-5c2e9d10b6f4")},
		{"hyperv-vhd", "data", disk.MatchPage83("4d53465420202020328d59b360875845ac645473be8267bf")},
		{"kvm-virtio", "data", disk.MatchVirtIO("6f8c1d2e-3b4a-4c5d-9e0f-a1b2c3d4e5f6")},
		{"metal-nvme", "data", disk.MatchEUI64("0026b73840825615")},
		{"metal-sata", "data", disk.MatchSerial("V1G5TEST")},
		{"san-fibre", "data", disk.MatchPage83("600a098038304441462b4e5274545130")},
		{"san-iscsi", "data", disk.MatchPage83("60014056a3e2f5c1d0b4a988c7e5f4d3")},
		{"storage-spaces", "data", disk.MatchPage83("7e1c9a3fd452084b9e617c0d2a5b8f13")},
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

// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
)

// platform is how a driver finds a data disk on one kind of node: it has a key
// from the cloud, and each platform puts it somewhere else (windows-api.md 2.5).
type platform struct {
	node string
	disk string // the disk's name in the node's description
	key  string // how the cloud names it, as the driver is told
	rule string // what the key is compared with, in words
	is   func(key string, ids disk.DiskIDs, place disk.DiskLocation) bool
}

var platforms = []platform{
	{
		node: "aws-nitro", disk: "data", key: "vol-0123456789abcdef0",
		rule: "its serial number begins with the volume id", is: serialBegins,
	},
	{
		node: "azure-scsi", disk: "data", key: "0",
		rule: "it is not on adapter 0 and has LUN", is: isDataLUN,
	},
	{
		node: "gce-scsi", disk: "data", key: "pvc-3f1c9a52-7b64-4d0e-8a37-5c2e9d10b6f4",
		rule: "its page 83 ends in the device name", is: page83Ends,
	},
	{
		node: "vsphere-pvscsi", disk: "data", key: "6000C295-7a5d-0e1b-2c3d-4e5f60718293",
		rule: "its page 83 is the VMDK's UUID", is: page83Is,
	},
}

func platformOf(node string) (platform, error) {
	for _, p := range platforms {
		if p.node == node {
			return p, nil
		}
	}
	return platform{}, fmt.Errorf("the demo knows no node %q", node)
}

// find is the one disk that the rule fits. None is not an error, for it may
// still arrive; several are, and so is an empty key, which a careless rule would
// find everywhere (consumers.md 4, bugs 10 and 11).
func (p platform) find(ids map[uint32]*disk.DiskIDs, places map[uint32]*disk.DiskLocation) (number uint32, found bool, err error) {
	if p.key == "" {
		return 0, false, fmt.Errorf("the cloud's name of the disk is empty")
	}
	var fits []uint32
	for _, n := range slices.Sorted(maps.Keys(ids)) {
		place := disk.DiskLocation{}
		if l := places[n]; l != nil {
			place = *l
		}
		if p.is(p.key, *ids[n], place) {
			fits = append(fits, n)
		}
	}
	switch len(fits) {
	case 0:
		return 0, false, nil
	case 1:
		return fits[0], true, nil
	default:
		return 0, false, fmt.Errorf("disks %d all fit: %s %s", fits, p.rule, p.key)
	}
}

// serialBegins: EBS puts the volume id without its dash before anything else in
// the serial number, here the namespace.
func serialBegins(key string, ids disk.DiskIDs, _ disk.DiskLocation) bool {
	serial, ok := strings.CutPrefix(ids.SerialNumber, strings.ReplaceAll(key, "-", ""))
	return ok && (serial == "" || serial[0] == '_')
}

// isDataLUN: on Azure the LUN is the contract; the OS and temporary disks are on
// adapter 0.
func isDataLUN(key string, _ disk.DiskIDs, place disk.DiskLocation) bool {
	return place.Adapter != "" && place.Adapter != "0" && place.LUNID == key
}

// page83Ends: Google's T10 identifier is "Google", blanks and the device name.
func page83Ends(key string, ids disk.DiskIDs, _ disk.DiskLocation) bool {
	fields := strings.Fields(ids.Page83)
	return len(fields) > 0 && fields[len(fields)-1] == key
}

// page83Is: vSphere's NAA identifier is the VMDK's UUID, which vCenter spells
// with dashes and in any case.
func page83Is(key string, ids disk.DiskIDs, _ disk.DiskLocation) bool {
	return strings.EqualFold(ids.Page83, strings.ReplaceAll(key, "-", ""))
}

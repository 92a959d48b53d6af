// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
)

// location tells the place of a disk. Target and LUN are told only for buses
// that have them, so that a rule that looks for a LUN finds no disk of another
// kind.
func location(disk hostapi.DiskDescription) *DiskLocation {
	place := &DiskLocation{}
	if disk.Address == nil {
		return place
	}
	place.Adapter = strconv.Itoa(int(disk.Address.Port))
	if hasLUNs(disk.BusType) {
		place.Target = strconv.Itoa(int(disk.Address.Target))
		place.LUNID = strconv.Itoa(int(disk.Address.LUN))
	}
	return place
}

// hasLUNs tells the buses on which target and LUN name a place.
func hasLUNs(bus abi.BusType) bool {
	switch bus {
	case abi.BusTypeSCSI, abi.BusTypeFibre, abi.BusTypeRAID, abi.BusTypeISCSI, abi.BusTypeSAS:
		return true
	default:
		return false
	}
}

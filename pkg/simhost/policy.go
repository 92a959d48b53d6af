// SPDX-License-Identifier: Apache-2.0

package simhost

import "github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"

// SANPolicy says which new disks arrive offline and read-only
// (MSFT_StorageSetting.NewDiskPolicy, windows-api.md 4).
type SANPolicy string

// SAN policies.
const (
	OnlineAll     SANPolicy = "onlineAll" // the zero value means the same
	OfflineShared SANPolicy = "offlineShared"
	OfflineAll    SANPolicy = "offlineAll"
)

// offline reports whether a new disk on a bus arrives offline. Buses that
// machines can share are SCSI, Fibre Channel, RAID, iSCSI and SAS
// (field-reports.md D13).
func (p SANPolicy) offline(bus abi.BusType) bool {
	switch p {
	case OfflineAll:
		return true
	case OfflineShared:
		return bus == abi.BusTypeSCSI || bus == abi.BusTypeFibre || bus == abi.BusTypeRAID || bus == abi.BusTypeISCSI || bus == abi.BusTypeSAS
	default:
		return false
	}
}

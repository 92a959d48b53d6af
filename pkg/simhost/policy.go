// SPDX-License-Identifier: Apache-2.0

package simhost

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
func (p SANPolicy) offline(bus busType) bool {
	switch p {
	case OfflineAll:
		return true
	case OfflineShared:
		return bus == busSCSI || bus == busFibre || bus == busRAID || bus == busISCSI || bus == busSAS
	default:
		return false
	}
}

// Bus types (windows-api.md 2.2).
const (
	busSCSI    busType = 1
	busATA     busType = 3
	busFibre   busType = 6
	busUSB     busType = 7
	busRAID    busType = 8
	busISCSI   busType = 9
	busSAS     busType = 10
	busSATA    busType = 11
	busVirtual busType = 14
	busFile    busType = 15
	busSpaces  busType = 16
	busNVMe    busType = 17
)

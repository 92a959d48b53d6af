// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// SANPolicy says which new disks arrive offline and read-only
// (MSFT_StorageSetting.NewDiskPolicy, windows-api.md 4).
type SANPolicy string

// SAN policies.
const (
	OnlineAll     SANPolicy = "onlineAll" // the zero value means the same
	OfflineShared SANPolicy = "offlineShared"
	OfflineAll    SANPolicy = "offlineAll"
	// OfflineInternal is for disks that machines cannot share.
	OfflineInternal SANPolicy = "offlineInternal"
)

// offline reports whether a new disk on a bus arrives offline. Buses that
// machines can share are SCSI, Fibre Channel, RAID, iSCSI and SAS
// (field-reports.md D13).
func (p SANPolicy) offline(bus abi.BusType) bool {
	shared := bus == abi.BusTypeSCSI || bus == abi.BusTypeFibre || bus == abi.BusTypeRAID || bus == abi.BusTypeISCSI || bus == abi.BusTypeSAS
	switch p {
	case OfflineAll:
		return true
	case OfflineShared:
		return shared
	case OfflineInternal:
		return !shared
	default:
		return false
	}
}

// critical reports whether Windows itself lives on the disk.
func (d *disk) critical() bool { return d.boot || d.system || d.pagefile || d.clustered }

// writable says why a disk refuses changes, if it does.
func (d *disk) writable() error {
	switch {
	case !d.present:
		return win.ERROR_DEVICE_NOT_CONNECTED
	case d.offline:
		return win.ERROR_NOT_READY
	case d.readOnly:
		return win.ERROR_WRITE_PROTECT
	}
	return nil
}

// changeable is writable with the codes of WMI.
func (d *disk) changeable() error {
	switch {
	case !d.present || d.offline:
		return win.ReturnDiskOffline
	case d.readOnly:
		return win.ReturnDiskReadOnly
	}
	return nil
}

// attributes are the disk's attribute bits.
func (d *disk) attributes() uint64 {
	var bits uint64
	if d.offline {
		bits |= abi.DISK_ATTRIBUTE_OFFLINE
	}
	if d.readOnly {
		bits |= abi.DISK_ATTRIBUTE_READ_ONLY
	}
	return bits
}

// setAttributes changes the bits in mask. Going offline dismounts the disk's
// volumes at once; coming online shows in them after refresh only.
func (n *Node) setAttributes(d *disk, bits, mask uint64, persist bool) error {
	if mask&^(abi.DISK_ATTRIBUTE_OFFLINE|abi.DISK_ATTRIBUTE_READ_ONLY) != 0 || bits&^mask != 0 {
		return win.ERROR_INVALID_PARAMETER
	}
	if bits != 0 && d.critical() {
		return win.ERROR_ACCESS_DENIED
	}
	if mask&abi.DISK_ATTRIBUTE_OFFLINE != 0 {
		d.offline, d.offlineReason = bits&abi.DISK_ATTRIBUTE_OFFLINE != 0, 0
		if d.offline {
			d.dismount()
		}
	}
	if mask&abi.DISK_ATTRIBUTE_READ_ONLY != 0 {
		d.readOnly = bits&abi.DISK_ATTRIBUTE_READ_ONLY != 0
	}
	if persist {
		d.persistent = &attributes{d.offline, d.readOnly}
	}
	return nil
}

// refresh makes Windows look at the disk again (IOCTL_DISK_UPDATE_PROPERTIES).
func (n *Node) refresh(d *disk) {
	d.knownSize = d.size
	if d.style == abi.PartitionStyleGPT && n.switches.UsableLengthRenewed {
		d.usableLength = lastUsable(d.knownSize, int64(d.sectorSize)) - firstUsable(int64(d.sectorSize))
	}
	if !d.offline && !d.volumesUp {
		n.bringUp(d, n.arrival)
	}
}

// attach gives a disk the lowest free number, and the state that it was left
// in persistently or else that the SAN policy wants (windows-api.md 4).
func (n *Node) attach(d *disk) {
	d.number = 0
	for n.disks[d.number] != nil {
		d.number++
	}
	n.disks[d.number] = d
	d.arrivals++
	d.present, d.knownSize = true, d.size
	switch {
	case d.persistent != nil:
		d.offline, d.readOnly = d.persistent.offline, d.persistent.readOnly
	case n.sanPolicy.offline(d.bus):
		d.offline, d.readOnly, d.offlineReason = true, true, offlineByPolicy
	}
	for _, p := range d.partitions {
		if v := p.volume; v != nil {
			v.present = true
		}
	}
	if !d.offline {
		n.bringUp(d, n.arrival)
	}
	for _, arrived := range n.onArrival {
		arrived()
	}
}

// offlineByPolicy is a value of MSFT_Disk.OfflineReason.
const offlineByPolicy = 1

// bringUp lets the disk's volumes arrive after a while.
func (n *Node) bringUp(d *disk, after time.Duration) {
	d.volumesUp = true
	for _, p := range d.partitions {
		if p.volume != nil {
			p.volume.arrives = time.Now().Add(after)
		}
	}
}

// detach takes a disk away, as the cloud does: nothing is flushed or closed.
// The mount manager's folders stay behind.
func (n *Node) detach(d *disk) {
	delete(n.disks, d.number)
	d.present = false
	d.dismount()
	for _, p := range d.partitions {
		if v := p.volume; v != nil {
			v.present = false
		}
	}
}

// dismount takes the disk's volumes away. Open files stay stale when the file
// system is mounted again.
func (d *disk) dismount() {
	d.volumesUp = false
	for _, p := range d.partitions {
		if v := p.volume; v != nil && v.tree != nil {
			again := *v.tree
			v.tree = &again
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// ReturnValues that only the model names (cim-schema.json, MSFT_Disk).
const (
	returnBothSizes      win.ReturnValue = 40005 // give exactly one of Size and UseMaximumSize
	returnPartitionLimit win.ReturnValue = 41004
	returnAlignment      win.ReturnValue = 41005
	returnWrongForStyle  win.ReturnValue = 41006
	returnOEMPartitions  win.ReturnValue = 41007
	returnDataPartitions win.ReturnValue = 41008
	returnPartitionType  win.ReturnValue = 41010
	returnBeyondMBR      win.ReturnValue = 41011
	returnOffset         win.ReturnValue = 41012
	returnNotConvertible win.ReturnValue = 41013
	returnInCluster      win.ReturnValue = 41019
	returnHiddenAccess   win.ReturnValue = 42004
)

// returnOf is what a storage method returns where the model fails with a
// Win32 code.
var returnOf = map[win.Errno]win.ReturnValue{
	win.ERROR_ACCESS_DENIED:        win.ReturnAccessDenied,
	win.ERROR_INVALID_PARAMETER:    win.ReturnInvalidParameter,
	win.ERROR_WRITE_PROTECT:        win.ReturnDiskReadOnly,
	win.ERROR_NOT_READY:            win.ReturnDiskOffline,
	win.ERROR_DEVICE_NOT_CONNECTED: win.ReturnCacheOutOfDate,
	win.ERROR_INVALID_FUNCTION:     win.ReturnNotSupported,
}

// diskMethod is a method on a disk.
type diskMethod func(n *Node, d *disk, in cimObject) (cimObject, win.ReturnValue)

func diskMethods() map[string]wmiMethod {
	return map[string]wmiMethod{
		"Initialize":      changingDisk((*Node).wmiInitialize),
		"CreatePartition": changingDisk((*Node).wmiCreatePartition),
		"Online":          changingDisk((*Node).wmiOnline),
		"Offline":         changingDisk((*Node).wmiOffline),
		"SetAttributes":   changingDisk((*Node).wmiSetDiskAttributes),
		"ConvertStyle":    changingDisk((*Node).wmiConvertStyle),
		"Clear":           changingDisk((*Node).wmiClear),
		"Refresh":         onDisk((*Node).wmiRefresh),
	}
}

// onDisk finds the disk that a row stands for: whatever now has the row's
// device interface, under whichever number.
func onDisk(do diskMethod) wmiMethod {
	return func(n *Node, self, in cimObject) (cimObject, win.ReturnValue, error) {
		d, ok := n.diskByPath(self["Path"].(string))
		if !ok {
			return nil, win.ReturnCacheOutOfDate, nil
		}
		out, code := do(n, d, in)
		return out, code, nil
	}
}

// changingDisk is onDisk for a change: it may be refused on a stale row, and it
// shows in the cache.
func changingDisk(do diskMethod) wmiMethod {
	return onDisk(func(n *Node, d *disk, in cimObject) (cimObject, win.ReturnValue) {
		if n.refusesStale(d) {
			return nil, win.ReturnCacheOutOfDate
		}
		out, code := do(n, d, in)
		if code == 0 || code == win.ReturnAccessPathInUse {
			n.rereadDisk(d)
		}
		return out, code
	})
}

// refusesStale reports whether the provider notices, and minds, that a disk is
// not as it has read it.
func (n *Node) refusesStale(d *disk) bool {
	if !n.switches.StaleRowsRefused {
		return false
	}
	return slices.ContainsFunc(n.storage().disks, func(c *cachedDisk) bool {
		return c.path == d.interfacePath && n.stale(c, d)
	})
}

// wmiInitialize is MSFT_Disk.Initialize; without a style it makes a GPT.
func (n *Node) wmiInitialize(d *disk, in cimObject) (cimObject, win.ReturnValue) {
	style, ok := styleOf(in["PartitionStyle"])
	switch {
	case !ok:
		return nil, returnPartitionType
	case d.clustered:
		return nil, win.ReturnClustered
	}
	return nil, returnValue(n.initialise(d, style))
}

// styleOf reads a PartitionStyle parameter.
func styleOf(v any) (abi.PartitionStyle, bool) {
	switch v {
	case nil, uint16(2):
		return abi.PartitionStyleGPT, true
	case uint16(1):
		return abi.PartitionStyleMBR, true
	}
	return 0, false
}

// wmiCreatePartition is MSFT_Disk.CreatePartition. A drive letter that is taken
// is told beside the partition, which is there all the same.
func (n *Node) wmiCreatePartition(d *disk, in cimObject) (cimObject, win.ReturnValue) {
	if code := checkCreation(d, in); code != 0 {
		return nil, code
	}
	want, code := wantedPartition(d, in)
	if code != 0 {
		return nil, code
	}
	p, err := n.createPartition(d, want)
	if err != nil {
		return nil, returnValue(err)
	}
	if p.active = in["IsActive"] == true; p.active {
		d.writeTable()
	}
	if !n.assignLetter(p.volume, in) {
		code = win.ReturnAccessPathInUse
	}
	return cimObject{"CreatedPartition": n.embed("MSFT_Partition", n.partitionObject(d, p))}, code
}

// checkCreation checks the parameters against each other and against the
// disk's style (windows-api.md 5.4).
func checkCreation(d *disk, in cimObject) win.ReturnValue {
	letter := in["DriveLetter"] != nil || in["AssignDriveLetter"] == true
	switch {
	case (in["Size"] != nil) == (in["UseMaximumSize"] == true):
		return returnBothSizes
	case in["DriveLetter"] != nil && in["AssignDriveLetter"] == true:
		return win.ReturnInvalidParameter
	case in["IsHidden"] == true && letter:
		return returnHiddenAccess
	case d.clustered:
		return win.ReturnClustered
	case d.style == abi.PartitionStyleMBR && in["GptType"] != nil:
		return returnWrongForStyle
	case d.style == abi.PartitionStyleGPT && (in["MbrType"] != nil || in["IsActive"] == true):
		return returnWrongForStyle
	case d.style == abi.PartitionStyleMBR && len(d.partitions) >= 4, len(d.partitions) >= gptEntries:
		return returnPartitionLimit
	}
	return 0
}

// wantedPartition reads the place and the type of the new partition.
func wantedPartition(d *disk, in cimObject) (newPartition, win.ReturnValue) {
	size, _ := in["Size"].(uint64)
	offset, _ := in["Offset"].(uint64)
	alignment, _ := in["Alignment"].(uint32)
	mbrType, _ := in["MbrType"].(uint16)
	sector := uint64(d.sectorSize)
	switch {
	case in["Size"] != nil && size == 0:
		return newPartition{}, win.ReturnSizeNotSupported
	case size > uint64(d.knownSize):
		return newPartition{}, win.ReturnNoSpace
	case uint64(alignment)%sector != 0:
		return newPartition{}, returnAlignment
	case offset%sector != 0 || offset >= uint64(d.knownSize):
		return newPartition{}, returnOffset
	case d.style == abi.PartitionStyleMBR && offset+size > sector<<32:
		return newPartition{}, returnBeyondMBR
	case mbrType > 0xFF:
		return newPartition{}, returnPartitionType
	}
	want := newPartition{
		offset: int64(offset), alignment: int64(alignment), mbrType: uint8(mbrType),
		size: int64((size + sector - 1) / sector * sector),
	}
	if in["IsHidden"] == true && d.style == abi.PartitionStyleGPT {
		want.attributes = abi.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN
	}
	if text, ok := in["GptType"].(string); ok {
		id, err := abi.ParseGUID(text)
		if err != nil {
			return newPartition{}, returnPartitionType
		}
		want.gptType = id
	}
	return want, 0
}

// assignLetter gives a new volume the drive letter that was asked for. It
// reports false where that letter is taken.
func (n *Node) assignLetter(v *volume, in cimObject) bool {
	wanted, _ := in["DriveLetter"].(rune)
	if wanted == 0 && in["AssignDriveLetter"] != true || v == nil {
		return true
	}
	if wanted == 0 {
		for wanted = 'D'; n.letterTaken(wanted) && wanted < 'Z'; wanted++ {
		}
	}
	if wanted >= 'a' {
		wanted -= 'a' - 'A'
	}
	if wanted < 'A' || wanted > 'Z' || n.letterTaken(wanted) {
		return false
	}
	n.letters[byte(wanted)] = v.id
	return true
}

func (n *Node) letterTaken(letter rune) bool {
	_, taken := n.letters[byte(letter)]
	return taken
}

// wmiOnline is MSFT_Disk.Online.
func (n *Node) wmiOnline(d *disk, _ cimObject) (cimObject, win.ReturnValue) {
	if d.clustered {
		return nil, win.ReturnClustered
	}
	err := n.setAttributes(d, 0, abi.DISK_ATTRIBUTE_OFFLINE, true)
	n.refresh(d)
	return nil, returnValue(err)
}

// wmiOffline is MSFT_Disk.Offline.
func (n *Node) wmiOffline(d *disk, _ cimObject) (cimObject, win.ReturnValue) {
	if code := refusesAttributes(d); code != 0 {
		return nil, code
	}
	return nil, returnValue(n.setAttributes(d, abi.DISK_ATTRIBUTE_OFFLINE, abi.DISK_ATTRIBUTE_OFFLINE, true))
}

// refusesAttributes is the code with which a disk of Windows' own or of a
// cluster refuses to change state.
func refusesAttributes(d *disk) win.ReturnValue {
	switch {
	case d.clustered:
		return win.ReturnClustered
	case d.critical():
		return win.ReturnCriticalDisk
	}
	return 0
}

// wmiSetDiskAttributes is MSFT_Disk.SetAttributes. It takes one attribute at a
// time, as Set-Disk does (windows-api.md 4).
func (n *Node) wmiSetDiskAttributes(d *disk, in cimObject) (cimObject, win.ReturnValue) {
	given := 0
	for _, v := range in {
		if v != nil {
			given++
		}
	}
	if given != 1 {
		return nil, win.ReturnInvalidParameter
	}
	if readOnly, ok := in["IsReadOnly"].(bool); ok {
		return nil, n.setDiskReadOnly(d, readOnly)
	}
	return nil, setDiskID(d, in)
}

func (n *Node) setDiskReadOnly(d *disk, readOnly bool) win.ReturnValue {
	var bits uint64
	if readOnly {
		bits = abi.DISK_ATTRIBUTE_READ_ONLY
		if code := refusesAttributes(d); code != 0 {
			return code
		}
	}
	return returnValue(n.setAttributes(d, bits, abi.DISK_ATTRIBUTE_READ_ONLY, true))
}

// setDiskID writes another signature or disk GUID.
func setDiskID(d *disk, in cimObject) win.ReturnValue {
	signature, isMBR := in["Signature"].(uint32)
	switch err := d.writable(); {
	case d.style == abi.PartitionStyleRAW:
		return win.ReturnNotInitialized
	case err != nil:
		return returnValue(err)
	case isMBR != (d.style == abi.PartitionStyleMBR):
		return returnWrongForStyle
	case isMBR:
		d.signature = signature
	default:
		id, err := abi.ParseGUID(in["Guid"].(string))
		if err != nil {
			return win.ReturnInvalidParameter
		}
		d.id = id
	}
	d.writeTable()
	return 0
}

// wmiConvertStyle is MSFT_Disk.ConvertStyle.
func (n *Node) wmiConvertStyle(d *disk, in cimObject) (cimObject, win.ReturnValue) {
	style, ok := styleOf(in["PartitionStyle"])
	switch code := refusesRewrite(d); {
	case !ok || in["PartitionStyle"] == nil || style == d.style:
		return nil, win.ReturnInvalidParameter
	case code != 0:
		return nil, code
	case slices.ContainsFunc(d.partitions, func(p *partition) bool { return p.gptType != abi.PARTITION_MSFT_RESERVED_GUID }):
		return nil, returnNotConvertible
	}
	if err := n.clean(d); err != nil {
		return nil, returnValue(err)
	}
	return nil, returnValue(n.initialise(d, style))
}

// refusesRewrite is the code with which a disk refuses to lose its table.
func refusesRewrite(d *disk) win.ReturnValue {
	switch err := d.writable(); {
	case d.style == abi.PartitionStyleRAW:
		return win.ReturnNotInitialized
	case err != nil:
		return returnValue(err)
	case d.clustered:
		return returnInCluster
	case d.critical():
		return win.ReturnCriticalDisk
	}
	return 0
}

// wmiClear is MSFT_Disk.Clear.
func (n *Node) wmiClear(d *disk, in cimObject) (cimObject, win.ReturnValue) {
	if code := refusesRewrite(d); code != 0 {
		return nil, code
	}
	for _, p := range d.partitions {
		switch data := p.holdsData(d.style); {
		case data && in["RemoveData"] != true:
			return nil, returnDataPartitions
		case !data && p.gptType != abi.PARTITION_MSFT_RESERVED_GUID && in["RemoveOEM"] != true:
			return nil, returnOEMPartitions
		}
	}
	return nil, returnValue(n.clean(d))
}

// wmiRefresh is MSFT_Disk.Refresh.
func (n *Node) wmiRefresh(d *disk, _ cimObject) (cimObject, win.ReturnValue) {
	if n.switches.RefreshTellsState {
		switch {
		case d.offline:
			return nil, win.ReturnDiskOffline
		case d.style == abi.PartitionStyleRAW:
			return nil, win.ReturnNotInitialized
		}
	}
	n.refresh(d)
	n.rereadDisk(d)
	return nil, 0
}

func settingMethods() map[string]wmiMethod {
	return map[string]wmiMethod{
		"Get": func(n *Node, _, _ cimObject) (cimObject, win.ReturnValue, error) {
			setting := cimObject{"NewDiskPolicy": n.sanPolicy.number(), "ScrubPolicy": uint32(0)}
			return cimObject{"StorageSetting": n.embed("MSFT_StorageSetting", setting)}, 0, nil
		},
		"UpdateHostStorageCache": func(n *Node, _, _ cimObject) (cimObject, win.ReturnValue, error) {
			for _, d := range n.sortedDisks() {
				n.refresh(d)
			}
			n.readStorage()
			return nil, 0, nil
		},
	}
}

// number is the policy as MSFT_StorageSetting.NewDiskPolicy has it.
func (p SANPolicy) number() uint16 {
	switch p {
	case OfflineShared:
		return 2
	case OfflineAll:
		return 3
	case OfflineInternal:
		return 4
	default:
		return 1
	}
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"fmt"
	"reflect"
)

// Switches put facts about Windows that nobody has verified, and that code
// rests on, into their other position. The zero value is the position that is
// expected. Code must be safe in every position; where it cannot work it must
// fail without destroying anything.
type Switches struct {
	// BlankDisk is how an uninitialised disk's layout reads (windows-api.md
	// 5.3 step 2): style RAW; or style MBR, without entries or with four empty
	// ones.
	BlankDisk BlankDisk `json:"blankDisk,omitempty"`

	// WholeDiskNumber makes IOCTL_STORAGE_GET_DEVICE_NUMBER answer partition
	// number 0xFFFFFFFF for a whole disk instead of 0 (windows-api.md 1.2).
	WholeDiskNumber bool `json:"wholeDiskNumber,omitempty"`

	// AttributesVersion16 makes IOCTL_DISK_SET_DISK_ATTRIBUTES want the Version
	// that its page names, sizeof(GET_DISK_ATTRIBUTES), instead of
	// sizeof(SET_DISK_ATTRIBUTES), which working programs pass (windows-api.md
	// 4 and 16.7).
	AttributesVersion16 bool `json:"attributesVersion16,omitempty"`

	// UsableLengthRenewed renews the layout's UsableLength of a grown GPT disk
	// at IOCTL_DISK_UPDATE_PROPERTIES already. Else it stays old until the
	// table is next written (windows-api.md 7.11 step 1).
	UsableLengthRenewed bool `json:"usableLengthRenewed,omitempty"`

	// GrowPartitionRefused makes IOCTL_DISK_GROW_PARTITION answer
	// ERROR_INVALID_PARAMETER, so that growth must go through WMI (windows-api.md
	// 7.11).
	GrowPartitionRefused bool `json:"growPartitionRefused,omitempty"`

	// MSR is when and where Windows makes its reserved partition after
	// Initialize (windows-api.md 5.3 step 5).
	MSR MSR `json:"msr,omitempty"`

	// LargeMSR gives the reserved partition the sizes of older systems, 32 and
	// 128 MiB (windows-api.md 5.3 step 5).
	LargeMSR bool `json:"largeMSR,omitempty"`

	// MountManagerID is the form of the unique ids that
	// IOCTL_MOUNTMGR_QUERY_POINTS answers.
	MountManagerID MountManagerID `json:"mountManagerID,omitempty"`

	// StaleHandle is what a handle answers whose disk has gone.
	StaleHandle StaleHandle `json:"staleHandle,omitempty"`

	// NVMeWithoutAddress makes IOCTL_SCSI_GET_ADDRESS fail on NVMe disks
	// (windows-api.md 3.1).
	NVMeWithoutAddress bool `json:"nvmeWithoutAddress,omitempty"`

	// OfflineVolumeNotReady makes opening a volume of an offline disk answer
	// ERROR_NOT_READY instead of ERROR_FILE_NOT_FOUND (windows-api.md 7.1).
	OfflineVolumeNotReady bool `json:"offlineVolumeNotReady,omitempty"`

	// PlainDirectoryInvalid makes GetVolumeNameForVolumeMountPoint answer
	// ERROR_INVALID_PARAMETER for a plain directory instead of
	// ERROR_NOT_A_REPARSE_POINT, and the reverse for a junction or link
	// (windows-api.md 7.3).
	PlainDirectoryInvalid bool `json:"plainDirectoryInvalid,omitempty"`

	// DeletePointSilent makes DeleteVolumeMountPoint succeed on a directory
	// that is no mount point, as its page says (windows-api.md 7.4).
	DeletePointSilent bool `json:"deletePointSilent,omitempty"`

	// GoneVolume is what an open answers that a mount point leads to a volume
	// which is gone (windows-api.md 7.4).
	GoneVolume GoneVolume `json:"goneVolume,omitempty"`

	// DeadVolumeNamed makes GetVolumeNameForVolumeMountPoint answer the name
	// that a dangling mount point holds, instead of ERROR_FILE_NOT_FOUND
	// (windows-api.md 7.4).
	DeadVolumeNamed bool `json:"deadVolumeNamed,omitempty"`

	// VolumeNumberRefused makes IOCTL_STORAGE_GET_DEVICE_NUMBER fail on volume
	// handles of simple volumes too (windows-api.md 1.2).
	VolumeNumberRefused bool `json:"volumeNumberRefused,omitempty"`

	// ClusteredCodeUnknown makes IOCTL_VOLUME_IS_CLUSTERED answer
	// ERROR_INVALID_FUNCTION instead of ERROR_GEN_FAILURE for a volume that is
	// not clustered. Neither is documented.
	ClusteredCodeUnknown bool `json:"clusteredCodeUnknown,omitempty"`

	// PathsWithoutKeys makes a query fill __PATH and __RELPATH although it does
	// not list the key properties (windows-api.md 14.3).
	PathsWithoutKeys bool `json:"pathsWithoutKeys,omitempty"`

	// RefreshTellsState makes MSFT_Disk.Refresh do nothing but answer 41000 on an
	// uninitialised and 41003 on an offline disk, which its page lists without a
	// word about when (windows-api.md 6).
	RefreshTellsState bool `json:"refreshTellsState,omitempty"`

	// StaleRowsRefused makes a method on a row whose disk has changed since the
	// provider read it answer 40003, cache out of date (windows-api.md 5.4).
	// Else the provider acts on what its cache says.
	StaleRowsRefused bool `json:"staleRowsRefused,omitempty"`

	// DirectDependents makes EnumDependentServices list only the services that
	// depend on one directly, not those that do through others (windows-api.md
	// 11.1).
	DirectDependents bool `json:"directDependents,omitempty"`

	// SMBMappingNotByPath makes GetObject on an SMB mapping answer
	// WBEM_E_PROVIDER_NOT_CAPABLE, so that only a query finds it (architecture.md).
	SMBMappingNotByPath bool `json:"smbMappingNotByPath,omitempty"`

	// SMBMappingServesAll lets a global mapping serve a logon session with
	// credentials of its own too, so that these are never tried (windows-api.md
	// 9.1 says "every logon session").
	SMBMappingServesAll bool `json:"smbMappingServesAll,omitempty"`

	// SMBWrongPassword86 is how a wrong user or password is told:
	// ERROR_INVALID_PASSWORD instead of ERROR_LOGON_FAILURE (windows-api.md 9.4).
	SMBWrongPassword86 bool `json:"smbWrongPassword86,omitempty"`

	// ISCSIStatus is how the iSCSI provider tells its status (windows-api.md
	// 10.5).
	ISCSIStatus ISCSIStatus `json:"iscsiStatus,omitempty"`

	// ISCSIStoppedEmpty makes queries find no iSCSI objects while MSiSCSI does
	// not run, instead of failing (windows-api.md 10.1).
	ISCSIStoppedEmpty bool `json:"iscsiStoppedEmpty,omitempty"`

	// ISCSIPortalAgain makes registering an iSCSI target portal that is
	// registered succeed and do nothing, instead of failing (windows-api.md 10.2).
	ISCSIPortalAgain bool `json:"iscsiPortalAgain,omitempty"`

	// ISCSIDisksNeedRescan makes MSFT_iSCSISessionToDisk have only disks that
	// the storage provider has read already (windows-api.md 10.2).
	ISCSIDisksNeedRescan bool `json:"iscsiDisksNeedRescan,omitempty"`
}

// BlankDisk is how the layout of an uninitialised disk reads.
type BlankDisk int

// Positions of Switches.BlankDisk.
const (
	BlankDiskRAW         BlankDisk = iota
	BlankDiskMBR                   // MBR without entries
	BlankDiskMBRWithFour           // MBR with four empty entries
)

// MSR is when and where Windows makes its reserved partition.
type MSR int

// Positions of Switches.MSR.
const (
	MSRFirst        MSR = iota // at once, as partition 1
	MSRLate                    // a while after Initialize, as volumes arrive
	MSRNever                   // not at all
	MSRNumberedLast            // at once, with the highest number
)

// MountManagerID is a form of the mount manager's unique ids.
type MountManagerID int

// Positions of Switches.MountManagerID.
const (
	// MountManagerPartition: "DMIO:ID:" and the partition's GUID on GPT, disk
	// signature and offset on MBR.
	MountManagerPartition MountManagerID = iota
	// MountManagerOpaque: bytes that tell nothing, as of a volume manager of
	// another maker.
	MountManagerOpaque
)

// StaleHandle is what a handle answers whose disk has gone.
type StaleHandle int

// Positions of Switches.StaleHandle.
const (
	StaleNoSuchDevice StaleHandle = iota // ERROR_NO_SUCH_DEVICE
	StaleNotConnected                    // ERROR_DEVICE_NOT_CONNECTED
	StaleNotReady                        // ERROR_NOT_READY
)

// GoneVolume is what opening a path answers whose volume is gone.
type GoneVolume int

// Positions of Switches.GoneVolume.
const (
	GonePathNotFound GoneVolume = iota // ERROR_PATH_NOT_FOUND
	GoneFileNotFound                   // ERROR_FILE_NOT_FOUND
	GoneNotConnected                   // ERROR_DEVICE_NOT_CONNECTED
	GoneNotReady                       // ERROR_NOT_READY
)

// ISCSIStatus is where a status of the iSCSI initiator stands.
type ISCSIStatus int

// Positions of Switches.ISCSIStatus.
const (
	ISCSIStatusCode     ISCSIStatus = iota // the HRESULT of the call
	ISCSIStatusInObject                    // WBEM_E_FAILED, with an error object that has it
	ISCSIStatusReturned                    // the iSCSI method's ReturnValue
)

// positions is how many a switch has that is no bool.
var positions = map[reflect.Type]int{
	reflect.TypeFor[BlankDisk]():      3,
	reflect.TypeFor[MSR]():            4,
	reflect.TypeFor[MountManagerID](): 2,
	reflect.TypeFor[StaleHandle]():    3,
	reflect.TypeFor[GoneVolume]():     4,
	reflect.TypeFor[ISCSIStatus]():    3,
}

// check refuses a position that a switch does not have.
func (s Switches) check() error {
	v := reflect.ValueOf(s)
	for _, field := range reflect.VisibleFields(v.Type()) {
		count, ok := positions[field.Type]
		if position := v.FieldByIndex(field.Index); ok && (position.Int() < 0 || position.Int() >= int64(count)) {
			return fmt.Errorf("switch %s has no position %d", field.Name, position.Int())
		}
	}
	return nil
}

// Switch is one switch in one of its other positions.
type Switch struct {
	Name     string // for example "BlankDisk=1"
	Switches Switches
}

// AllSwitches lists every switch in each position but the expected one, alone.
// Tests run once with each.
func AllSwitches() []Switch {
	var all []Switch
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Switches]()) {
		all = append(all, flips(field)...)
	}
	return all
}

// flips are the other positions of one switch.
func flips(field reflect.StructField) []Switch {
	var flipped []Switch
	add := func(name string, set func(reflect.Value)) {
		s := Switch{Name: name}
		set(reflect.ValueOf(&s.Switches).Elem().FieldByIndex(field.Index))
		flipped = append(flipped, s)
	}
	if field.Type.Kind() == reflect.Bool {
		add(field.Name, func(v reflect.Value) { v.SetBool(true) })
		return flipped
	}
	for position := 1; position < positions[field.Type]; position++ {
		add(fmt.Sprintf("%s=%d", field.Name, position), func(v reflect.Value) { v.SetInt(int64(position)) })
	}
	return flipped
}

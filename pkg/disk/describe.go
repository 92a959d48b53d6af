// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// The types of a description.
type (
	// Description is what one disk tells of itself. Read-only.
	Description = hostapi.DiskDescription
	// Details is all that a host tells of one disk. Read-only.
	Details = hostapi.DiskDetails
	// ProviderDisk is a disk as the storage provider has it.
	ProviderDisk = hostapi.ProviderDisk
	// OfflineReason is why a disk is offline.
	OfflineReason = hostapi.OfflineReason
	// SANPolicy says which new disks stay offline and read-only.
	SANPolicy = hostapi.SANPolicy

	// Identifier is one identifier of page 0x83 (windows-api.md 2.3).
	Identifier = abi.Identifier
	// CodeSet says how the bytes of an Identifier are to be read.
	CodeSet = abi.CodeSet
	// IdentifierType says what an Identifier is.
	IdentifierType = abi.IdentifierType
	// Association says what an Identifier names.
	Association = abi.Association
	// Address is a SCSI address (windows-api.md 3.1).
	Address = abi.SCSIAddress
	// BusType is the kind of a disk's bus (windows-api.md 2.2).
	BusType = abi.BusType
)

// Code sets of an Identifier.
const (
	CodeSetBinary = abi.CodeSetBinary
	CodeSetASCII  = abi.CodeSetASCII
	CodeSetUTF8   = abi.CodeSetUTF8
)

// Types of an Identifier.
const (
	IdentifierVendorSpecific = abi.IdentifierVendorSpecific
	IdentifierT10            = abi.IdentifierVendorID
	IdentifierEUI64          = abi.IdentifierEUI64
	IdentifierNAA            = abi.IdentifierNAA
	IdentifierSCSIName       = abi.IdentifierSCSIName
)

// What an Identifier names. Only AssociationDevice is about the disk itself.
const (
	AssociationDevice = abi.AssociationDevice
	AssociationPort   = abi.AssociationPort
	AssociationTarget = abi.AssociationTarget
)

// Reasons of being offline (cim-schema.json, MSFT_Disk.OfflineReason).
const (
	OfflineByPolicy  = hostapi.OfflineByPolicy
	OfflineCollision = hostapi.OfflineCollision
)

// SAN policies (windows-api.md 4).
const (
	SANPolicyOnlineAll       = hostapi.SANPolicyOnlineAll
	SANPolicyOfflineShared   = hostapi.SANPolicyOfflineShared
	SANPolicyOfflineAll      = hostapi.SANPolicyOfflineAll
	SANPolicyOfflineInternal = hostapi.SANPolicyOfflineInternal
)

// DescribeDisk tells all that the host knows of one disk: what ListDisks tells,
// its partition table, why it is offline, whether Windows needs it. It is for
// people and for logs: it asks WMI too and takes longer than a look into a list.
// An unknown disk is ErrNotFound; whatever else could not be read is in Err and
// ProviderErr.
func (d *Disk) DescribeDisk(ctx context.Context, number uint32) (Details, error) {
	details, err := d.host.DescribeDisk(ctx, number)
	return details, errdefs.Wrap("disk.DescribeDisk", subject(number), err)
}

// SANPolicy is the host's policy for disks that it sees for the first time: by
// the default of many servers those on shared buses stay offline and read-only
// (windows-api.md 4, field-reports.md D13). It asks WMI.
func (d *Disk) SANPolicy(ctx context.Context) (SANPolicy, error) {
	policy, err := d.host.SANPolicy(ctx)
	return policy, errdefs.Wrap("disk.SANPolicy", "", err)
}

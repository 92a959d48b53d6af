// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
)

// DiskDetails is all that a host tells of one disk.
type DiskDetails struct {
	DiskDescription

	// PhysicalSectorSize is what the medium writes at once, in bytes; 0 where
	// the disk does not tell.
	PhysicalSectorSize uint32
	// Controller identifies the controller of an NVMe disk.
	Controller *abi.IdentifyController
	// Layout is the partition table; nil where it could not be read.
	Layout *Layout
	// Critical says why changes of the whole disk are refused, as
	// CheckNotCritical does; nil where they are not.
	Critical error
	// Provider is what only the storage provider tells; nil where it does not,
	// for which ProviderErr is the reason.
	Provider    *ProviderDisk
	ProviderErr error
}

// ProviderDisk is a disk as MSFT_Disk has it.
type ProviderDisk struct {
	Path     string // its device interface path
	Location string // in the provider's words, which are no key (windows-api.md 3.2)
	UniqueID string
	// OfflineReason is why the disk is offline.
	OfflineReason OfflineReason
}

// OfflineReason is MSFT_Disk.OfflineReason.
type OfflineReason uint16

// Reasons of being offline.
const (
	NoOfflineReason           OfflineReason = 0 // the disk is online, or was taken offline by hand
	OfflineByPolicy           OfflineReason = 1 // the SAN policy
	OfflineRedundantPath      OfflineReason = 2
	OfflineSnapshot           OfflineReason = 3
	OfflineCollision          OfflineReason = 4 // another disk has the same id
	OfflineResourceExhaustion OfflineReason = 5
	OfflineWriteFailures      OfflineReason = 6
	OfflineIntegrityScan      OfflineReason = 7
)

var offlineReasons = [...]string{
	"none", "SAN policy", "redundant path", "snapshot", "collision of disk ids", "resource exhaustion",
	"critical write failures", "data integrity scan required",
}

func (r OfflineReason) String() string {
	if int(r) < len(offlineReasons) {
		return offlineReasons[r]
	}
	return fmt.Sprintf("offline reason %d", uint16(r))
}

// SANPolicy is MSFT_StorageSetting.NewDiskPolicy: which disks stay offline and
// read-only when they arrive for the first time (field-reports.md D13).
type SANPolicy uint16

// SAN policies.
const (
	SANPolicyUnknown         SANPolicy = 0
	SANPolicyOnlineAll       SANPolicy = 1
	SANPolicyOfflineShared   SANPolicy = 2 // on buses that machines can share
	SANPolicyOfflineAll      SANPolicy = 3
	SANPolicyOfflineInternal SANPolicy = 4 // on the other buses
)

var sanPolicies = [...]string{"unknown", "online all", "offline shared", "offline all", "offline internal"}

func (p SANPolicy) String() string {
	if int(p) < len(sanPolicies) {
		return sanPolicies[p]
	}
	return fmt.Sprintf("SAN policy %d", uint16(p))
}

// DescribeDisk describes one disk in full. It costs the same however many disks
// there are, and asks the storage provider as well. It fails where the number
// names no disk; what else could not be read is in Err and ProviderErr. Its Path
// is \\.\PhysicalDriveN: the interface path is the provider's.
func (s *Storage) DescribeDisk(ctx context.Context, number uint32) (DiskDetails, error) {
	type answer struct {
		details DiskDetails
		id      DiskIdentity
		idErr   error
	}
	a, err := onDisk(ctx, s, "details", number, func(d win.Device) (a answer, err error) {
		if err := checkNumber(d, number); err != nil {
			return a, err
		}
		a.details.Number, a.details.Path = number, drivePath(number)
		a.details.tell(d, func(DiskDescription) {})
		a.details.tellMore(d)
		a.id, a.idErr = identify(d, number)
		return a, nil
	})
	if err != nil {
		return DiskDetails{}, err
	}
	a.details.Critical = s.CheckNotCritical(ctx, number)
	if a.details.ProviderErr = a.idErr; a.idErr == nil {
		a.details.Provider, a.details.ProviderErr = s.providerView(ctx, a.id)
	}
	return a.details, ctx.Err()
}

// tellMore reads what lists do without.
func (details *DiskDetails) tellMore(d win.Device) {
	details.Err = errors.Join(details.Err, details.readAlignment(d), details.readController(d), details.readLayout(d))
}

func (details *DiskDetails) readAlignment(d win.Device) error {
	reply, err := property(d, abi.PropertyQuery{Property: abi.PropertyAccessAlignment}, propertySize)
	if unsupported(err) {
		return nil
	}
	alignment, err := decoded(reply, err, abi.DecodeAlignmentDescriptor)
	details.PhysicalSectorSize = alignment.PhysicalSector
	return err
}

func (details *DiskDetails) readController(d win.Device) error {
	if details.BusType != abi.BusTypeNVMe {
		return nil
	}
	data, err := nvmeIdentify(d, abi.CNSController)
	if unsupported(err) {
		return nil
	}
	controller, err := decoded(data, err, abi.DecodeIdentifyController)
	if err == nil {
		details.Controller = &controller
	}
	return err
}

func (details *DiskDetails) readLayout(d win.Device) error {
	table, err := layout(d)
	if err == nil {
		details.Layout = &table
	}
	return err
}

// providerView reads the provider's row of the disk of that identity.
func (s *Storage) providerView(ctx context.Context, id DiskIdentity) (*ProviderDisk, error) {
	return ask(ctx, s, "provider's view", diskName(id.Number), func() (view *ProviderDisk, err error) {
		return view, s.withProviderDisk(ctx, id, func(p providerDisk) error {
			view, err = decodeProviderDisk(p.row)
			return err
		})
	})
}

func decodeProviderDisk(row wmi.Row) (*ProviderDisk, error) {
	var view ProviderDisk
	for property, to := range map[string]*string{"Path": &view.Path, "Location": &view.Location, "UniqueId": &view.UniqueID} {
		text, err := row.String(property)
		if err != nil && !errors.Is(err, wmi.ErrNull) {
			return nil, err
		}
		*to = text
	}
	reason, err := row.Uint16("OfflineReason")
	if err != nil && !errors.Is(err, wmi.ErrNull) {
		return nil, err
	}
	view.OfflineReason = OfflineReason(reason)
	return &view, nil
}

// SANPolicy is the host's policy for new disks.
func (s *Storage) SANPolicy(ctx context.Context) (SANPolicy, error) {
	out, err := ask(ctx, s, "SAN policy", "disks", func() (wmi.Row, error) {
		return s.wmi.Call(ctx, namespace, wmi.Method{Class: classSetting, Name: "Get"})
	})
	if err != nil {
		return SANPolicyUnknown, err
	}
	setting, err := out.Row("StorageSetting")
	if err != nil {
		return SANPolicyUnknown, err
	}
	policy, err := setting.Uint16("NewDiskPolicy")
	return SANPolicy(policy), err
}

// SPDX-License-Identifier: Apache-2.0

// Package hostapi holds what the disk group asks of a host: facts and single
// changes. Rules, order and waiting are in package disk.
//
// Questions need no rights on the disk, as far as is known; a probe and every
// change need an administrator.
package hostapi

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/storage"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
)

// HostAPI is one host's disks. A disk number is the N of \\.\PhysicalDriveN. A
// number that names no disk is an error of kind NotFound. Every method blocks
// until Windows has answered or ctx ends, is safe for concurrent use, and
// keeps no handle.
type HostAPI interface {
	// ListDisks describes every present disk. What could not be read of one, or
	// not in time, is in its Err; the others are complete. A disk whose number
	// could not be read has NoNumber.
	ListDisks(ctx context.Context) ([]DiskDescription, error)

	// DescribeDisk describes one disk in full; what could not be read is in its
	// Err and ProviderErr.
	DescribeDisk(ctx context.Context, number uint32) (DiskDetails, error)

	// SANPolicy is the host's policy for new disks.
	SANPolicy(ctx context.Context) (SANPolicy, error)

	// DiskArrivals tells, until stop, that disks have arrived: one value for
	// any number of them. The channel is nil where Windows gives no notice.
	DiskArrivals(ctx context.Context) (arrived <-chan struct{}, stop func())

	// DiskSize is a disk's size in bytes.
	DiskSize(ctx context.Context, number uint32) (int64, error)

	// DiskState says whether a disk is offline or read-only.
	DiskState(ctx context.Context, number uint32) (DiskState, error)

	// SetDiskState changes the attributes in which want differs from now,
	// persistently, and reads them back. Once begun it runs to its end, also
	// when ctx ends.
	SetDiskState(ctx context.Context, number uint32, now, want DiskState) error

	// BringOnline makes the disk of that identity online and writable, as
	// SetDiskState does.
	BringOnline(ctx context.Context, id DiskIdentity) error

	// CheckNotCritical fails with ErrCriticalDisk where Windows needs the
	// disk (boot, system, page file, cluster), and where that cannot be told.
	CheckNotCritical(ctx context.Context, number uint32) error

	// InspectDisk reads identity, state and layout through one handle.
	InspectDisk(ctx context.Context, number uint32) (DiskInspection, error)

	// ProbeDisk looks for signatures on the disk of that identity. An
	// unreadable byte is ErrUnknownContent.
	ProbeDisk(ctx context.Context, id DiskIdentity) (Content, error)

	// ProviderStyle is the partition style by which the storage provider
	// knows the disk of that identity, after it has looked again.
	ProviderStyle(ctx context.Context, id DiskIdentity) (ProviderStyle, error)

	// InitializeDisk writes an empty GPT to the disk of that identity. An
	// initialized disk is left as it is. Once begun it runs to its end.
	InitializeDisk(ctx context.Context, id DiskIdentity) error

	// CreatePartition makes one data partition over the free space of the
	// disk of that identity. Once begun it runs to its end.
	CreatePartition(ctx context.Context, id DiskIdentity, style ProviderStyle) error

	// Rescan looks for new disks and sizes.
	Rescan(ctx context.Context) error

	// ChangeDisk runs a change under the disk's lock, with ctx of its own.
	// While it runs, calls for the same disk and change join it instead of
	// starting a second.
	ChangeDisk(ctx context.Context, number uint32, change string, run func(context.Context) error) error
}

// The types of the facts.
type (
	// DiskDescription is what one disk tells of itself.
	DiskDescription = storage.DiskDescription
	// DiskDetails is all that a host tells of one disk.
	DiskDetails = storage.DiskDetails
	// ProviderDisk is a disk as the storage provider has it.
	ProviderDisk = storage.ProviderDisk
	// OfflineReason is why a disk is offline.
	OfflineReason = storage.OfflineReason
	// SANPolicy says which new disks stay offline.
	SANPolicy = storage.SANPolicy
	// DiskState are a disk's attributes.
	DiskState = storage.DiskState
	// DiskIdentity proves which disk a number names.
	DiskIdentity = storage.DiskIdentity
	// DiskInspection is identity, state and layout of a disk.
	DiskInspection = storage.DiskInspection
	// Content is what a probe found.
	Content = storage.Content
	// ProviderStyle is MSFT_Disk.PartitionStyle.
	ProviderStyle = storage.ProviderStyle
)

// NoNumber is the number of a disk that did not tell it.
const NoNumber = storage.NoNumber

// The styles of the storage provider.
const (
	ProviderRAW = storage.ProviderRAW
	ProviderMBR = storage.ProviderMBR
	ProviderGPT = storage.ProviderGPT
)

// Reasons of being offline.
const (
	OfflineByPolicy  = storage.OfflineByPolicy
	OfflineCollision = storage.OfflineCollision
)

// SAN policies.
const (
	SANPolicyOnlineAll       = storage.SANPolicyOnlineAll
	SANPolicyOfflineShared   = storage.SANPolicyOfflineShared
	SANPolicyOfflineAll      = storage.SANPolicyOfflineAll
	SANPolicyOfflineInternal = storage.SANPolicyOfflineInternal
)

// New is the host that the process runs on. It does nothing until it is asked;
// off Windows every question fails with ErrUnsupported.
func New() HostAPI { return On(native.Host()) }

// On is the HostAPI of any host behind the boundary.
func On(h *win.Host) HostAPI { return storage.On(h) }

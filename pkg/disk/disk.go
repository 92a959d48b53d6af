// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"context"
	"slices"
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Interface is the disk group as drivers use it. Its methods are upstream's
// and stay so. A response is never nil, also beside an error.
type Interface interface {
	// GetDiskState says whether a disk is online.
	GetDiskState(context.Context, *GetDiskStateRequest) (*GetDiskStateResponse, error)

	// GetDiskStats is the size of a disk.
	GetDiskStats(context.Context, *GetDiskStatsRequest) (*GetDiskStatsResponse, error)

	// ListDiskIDs lists the identifiers of every disk.
	ListDiskIDs(context.Context, *ListDiskIDsRequest) (*ListDiskIDsResponse, error)

	// ListDiskLocations lists where every disk sits.
	ListDiskLocations(context.Context, *ListDiskLocationsRequest) (*ListDiskLocationsResponse, error)

	// PartitionDisk makes a data partition on an empty disk.
	PartitionDisk(context.Context, *PartitionDiskRequest) (*PartitionDiskResponse, error)

	// Rescan looks for new disks and sizes.
	Rescan(context.Context, *RescanRequest) (*RescanResponse, error)

	// SetDiskState brings a disk online or takes it offline.
	SetDiskState(context.Context, *SetDiskStateRequest) (*SetDiskStateResponse, error)
}

// Disk is the disk group of one host. It is safe for concurrent use.
type Disk struct {
	host hostapi.HostAPI
}

var _ Interface = (*Disk)(nil)

// New makes the disk group of a host. It asks the host nothing and its error is
// always nil.
func New(hostAPI hostapi.HostAPI) (*Disk, error) {
	return &Disk{host: hostAPI}, nil
}

// ListDiskIDs lists the identifiers of every disk. A disk that does not tell
// one has an empty field; none is left out but those that do not even tell their
// number, for which see ListDisks.
func (d *Disk) ListDiskIDs(ctx context.Context, req *ListDiskIDsRequest) (*ListDiskIDsResponse, error) {
	const op = "disk.ListDiskIDs"
	resp := &ListDiskIDsResponse{DiskIDs: map[uint32]*DiskIDs{}}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	disks, err := d.numberedDisks(ctx)
	if err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	for _, disk := range disks {
		resp.DiskIDs[disk.Number] = &DiskIDs{Page83: abi.Page83(disk.Identifiers), SerialNumber: disk.SerialNumber}
	}
	return resp, nil
}

// ListDiskLocations lists where every disk sits. A disk whose place is not
// known has empty fields; none is left out but as of ListDiskIDs.
func (d *Disk) ListDiskLocations(ctx context.Context, req *ListDiskLocationsRequest) (*ListDiskLocationsResponse, error) {
	const op = "disk.ListDiskLocations"
	resp := &ListDiskLocationsResponse{DiskLocations: map[uint32]*DiskLocation{}}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	disks, err := d.numberedDisks(ctx)
	if err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	for _, disk := range disks {
		resp.DiskLocations[disk.Number] = location(disk)
	}
	return resp, nil
}

// numberedDisks are the disks that can be keys of a map.
func (d *Disk) numberedDisks(ctx context.Context) ([]Description, error) {
	disks, err := d.host.ListDisks(ctx)
	return slices.DeleteFunc(disks, func(disk Description) bool { return disk.Number == hostapi.NoNumber }), err
}

// GetDiskStats is the size of a disk in bytes.
func (d *Disk) GetDiskStats(ctx context.Context, req *GetDiskStatsRequest) (*GetDiskStatsResponse, error) {
	const op = "disk.GetDiskStats"
	resp := &GetDiskStatsResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	size, err := d.host.DiskSize(ctx, req.DiskNumber)
	if err != nil {
		return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
	}
	resp.TotalBytes = size
	return resp, nil
}

// GetDiskState says whether a disk is online.
func (d *Disk) GetDiskState(ctx context.Context, req *GetDiskStateRequest) (*GetDiskStateResponse, error) {
	const op = "disk.GetDiskState"
	resp := &GetDiskStateResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	state, err := d.host.DiskState(ctx, req.DiskNumber)
	if err != nil {
		return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
	}
	resp.IsOnline = !state.Offline
	return resp, nil
}

// SetDiskState brings a disk online or takes it offline, for good. Where the disk
// is in the wanted state nothing changes, but Windows looks at it again, so that
// the volumes come of which a call that was cut off did not tell; bringing an
// offline disk online also makes it writable. A disk that Windows needs is
// refused with ErrCriticalDisk. Offline does not flush: unmount its volumes first.
func (d *Disk) SetDiskState(ctx context.Context, req *SetDiskStateRequest) (*SetDiskStateResponse, error) {
	const op = "disk.SetDiskState"
	resp := &SetDiskStateResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	if err := d.host.CheckNotCritical(ctx, req.DiskNumber); err != nil {
		return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
	}
	change := "offline"
	if req.IsOnline {
		change = "online"
	}
	err := d.host.ChangeDisk(ctx, req.DiskNumber, change, func(ctx context.Context) error {
		state, err := d.host.DiskState(ctx, req.DiskNumber)
		if err != nil {
			return err
		}
		comesOnline := req.IsOnline && state.Offline
		return d.host.SetDiskState(ctx, req.DiskNumber, state, hostapi.DiskState{
			Offline:  !req.IsOnline,
			ReadOnly: state.ReadOnly && !comesOnline,
		})
	})
	return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
}

// EnsureOnlineWritableRequest asks for a disk to be online and writable.
type EnsureOnlineWritableRequest struct {
	DiskNumber uint32
}

// EnsureOnlineWritableResponse says what was in the way.
type EnsureOnlineWritableResponse struct {
	WasOffline, WasReadOnly bool
}

// EnsureOnlineWritable brings a disk online and clears its read-only attribute,
// which a SAN policy sets together and SetDiskState alone does not clear on an
// online disk (field-reports.md D13, D14). It is idempotent; a disk that
// Windows needs is refused with ErrCriticalDisk.
func (d *Disk) EnsureOnlineWritable(ctx context.Context, req *EnsureOnlineWritableRequest) (*EnsureOnlineWritableResponse, error) {
	const op = "disk.EnsureOnlineWritable"
	resp := &EnsureOnlineWritableResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	if err := d.host.CheckNotCritical(ctx, req.DiskNumber); err != nil {
		return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
	}
	before, err := d.host.DiskState(ctx, req.DiskNumber)
	if err != nil {
		return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
	}
	resp.WasOffline, resp.WasReadOnly = before.Offline, before.ReadOnly
	err = d.host.ChangeDisk(ctx, req.DiskNumber, "online and writable", func(ctx context.Context) error {
		state, err := d.host.DiskState(ctx, req.DiskNumber)
		if err != nil {
			return err
		}
		return d.host.SetDiskState(ctx, req.DiskNumber, state, hostapi.DiskState{})
	})
	return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
}

// Rescan makes Windows look for new disks and for disks that have grown. It may
// take seconds on a node with many disks, and is idempotent.
func (d *Disk) Rescan(ctx context.Context, req *RescanRequest) (*RescanResponse, error) {
	const op = "disk.Rescan"
	resp := &RescanResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	return resp, errdefs.Wrap(op, "", d.host.Rescan(ctx))
}

func subject(number uint32) string { return "disk " + strconv.FormatUint(uint64(number), 10) }

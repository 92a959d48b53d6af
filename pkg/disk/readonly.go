// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// GetReadOnlyRequest asks whether a disk is read-only.
type GetReadOnlyRequest struct {
	DiskNumber uint32
}

// GetReadOnlyResponse says whether a disk is read-only.
type GetReadOnlyResponse struct {
	IsReadOnly bool
}

// GetReadOnly says whether a disk's read-only attribute is set, whether it is
// online or not.
func (d *Disk) GetReadOnly(ctx context.Context, req *GetReadOnlyRequest) (*GetReadOnlyResponse, error) {
	const op = "disk.GetReadOnly"
	resp := &GetReadOnlyResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	state, err := d.host.DiskState(ctx, req.DiskNumber)
	resp.IsReadOnly = state.ReadOnly && err == nil
	return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
}

// SetReadOnlyRequest asks for a disk to be read-only or writable.
type SetReadOnlyRequest struct {
	DiskNumber uint32

	// IsReadOnly is the wanted state.
	IsReadOnly bool
}

// SetReadOnlyResponse is empty.
type SetReadOnlyResponse struct{}

// SetReadOnly sets or clears a disk's read-only attribute, for good, reads it
// back, and leaves the disk online or offline as it is (field-reports.md D14).
// Where the attribute is as wanted it changes nothing. A disk that Windows needs is
// refused with ErrCriticalDisk. To make a disk usable there is
// [Disk.EnsureOnlineWritable].
func (d *Disk) SetReadOnly(ctx context.Context, req *SetReadOnlyRequest) (*SetReadOnlyResponse, error) {
	const op = "disk.SetReadOnly"
	resp := &SetReadOnlyResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	if err := d.host.CheckNotCritical(ctx, req.DiskNumber); err != nil {
		return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
	}
	change := "writable"
	if req.IsReadOnly {
		change = "read-only"
	}
	err := d.host.ChangeDisk(ctx, req.DiskNumber, change, func(ctx context.Context) error {
		state, err := d.host.DiskState(ctx, req.DiskNumber)
		if err != nil {
			return err
		}
		return d.host.SetDiskState(ctx, req.DiskNumber, state, hostapi.DiskState{Offline: state.Offline, ReadOnly: req.IsReadOnly})
	})
	return resp, errdefs.Wrap(op, subject(req.DiskNumber), err)
}

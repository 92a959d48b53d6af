// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// method is a method of the group with one request.
type method func(context.Context, *disk.Disk) (any, error)

// calling is a method with a request.
func calling[Req, Resp any](of func(*disk.Disk, context.Context, *Req) (*Resp, error), req *Req) method {
	return func(ctx context.Context, d *disk.Disk) (any, error) {
		resp, err := of(d, ctx, req)
		return resp, err
	}
}

// methods are all methods with a nil request, and with one about a disk.
func methods(number uint32) map[string]struct{ none, valid method } {
	return map[string]struct{ none, valid method }{
		"GetDiskState": {
			calling((*disk.Disk).GetDiskState, nil),
			calling((*disk.Disk).GetDiskState, &disk.GetDiskStateRequest{DiskNumber: number}),
		},
		"GetDiskStats": {
			calling((*disk.Disk).GetDiskStats, nil),
			calling((*disk.Disk).GetDiskStats, &disk.GetDiskStatsRequest{DiskNumber: number}),
		},
		"ListDiskIDs": {
			calling((*disk.Disk).ListDiskIDs, nil),
			calling((*disk.Disk).ListDiskIDs, &disk.ListDiskIDsRequest{}),
		},
		"ListDiskLocations": {
			calling((*disk.Disk).ListDiskLocations, nil),
			calling((*disk.Disk).ListDiskLocations, &disk.ListDiskLocationsRequest{}),
		},
		"PartitionDisk": {
			calling((*disk.Disk).PartitionDisk, nil),
			calling((*disk.Disk).PartitionDisk, &disk.PartitionDiskRequest{DiskNumber: number}),
		},
		"Rescan": {
			calling((*disk.Disk).Rescan, nil),
			calling((*disk.Disk).Rescan, &disk.RescanRequest{}),
		},
		"SetDiskState": {
			calling((*disk.Disk).SetDiskState, nil),
			calling((*disk.Disk).SetDiskState, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true}),
		},
		"GetReadOnly": {
			calling((*disk.Disk).GetReadOnly, nil),
			calling((*disk.Disk).GetReadOnly, &disk.GetReadOnlyRequest{DiskNumber: number}),
		},
		"SetReadOnly": {
			calling((*disk.Disk).SetReadOnly, nil),
			calling((*disk.Disk).SetReadOnly, &disk.SetReadOnlyRequest{DiskNumber: number, IsReadOnly: true}),
		},
		"EnsureOnlineWritable": {
			calling((*disk.Disk).EnsureOnlineWritable, nil),
			calling((*disk.Disk).EnsureOnlineWritable, &disk.EnsureOnlineWritableRequest{DiskNumber: number}),
		},
	}
}

func wantResponse(t *testing.T, resp any) {
	t.Helper()
	if reflect.ValueOf(resp).IsNil() {
		t.Error("the response is nil")
	}
}

func TestMethods_Nil(t *testing.T) {
	for name, m := range methods(1) {
		t.Run(name, func(t *testing.T) {
			node := nodeWith(t, blank())
			resp, err := m.none(t.Context(), group(node))
			wantResponse(t, resp)
			wantError(t, err, errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
			if n := node.Calls().Total(); n != 0 {
				t.Errorf("%d boundary calls", n)
			}
		})
	}
}

func TestMethods_Valid(t *testing.T) {
	for name, m := range methods(1) {
		t.Run(name, func(t *testing.T) {
			node := nodeWith(t, blank())
			resp, err := m.valid(t.Context(), group(node))
			wantResponse(t, resp)
			if err != nil {
				t.Error(err)
			}
			if n := node.OpenHandles(); n != 0 {
				t.Errorf("%d handles left open", n)
			}
		})
	}
}

// Every method says what failed, keeps the native code and closes its handles.
func TestMethods_Failing(t *testing.T) {
	for name, m := range methods(1) {
		t.Run(name, func(t *testing.T) {
			node := nodeWith(t, blank())
			failing(node, func(simhost.Call) bool { return true }, win.ERROR_ACCESS_DENIED)
			resp, err := m.valid(t.Context(), group(node))
			wantResponse(t, resp)
			wantError(t, err, win.ERROR_ACCESS_DENIED, errdefs.PermissionDenied)
			var typed *errdefs.Error
			if !errors.As(err, &typed) || typed.Op != "disk."+name {
				t.Errorf("%v names no operation", err)
			}
			if n := node.OpenHandles(); n != 0 {
				t.Errorf("%d handles left open", n)
			}
		})
	}
}

func TestMethods_EndedContext(t *testing.T) {
	for name, m := range methods(1) {
		t.Run(name, func(t *testing.T) {
			node := nodeWith(t, blank())
			before := node.Snapshot()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			resp, err := m.valid(ctx, group(node))
			wantResponse(t, resp)
			wantError(t, err, context.Canceled, errdefs.Canceled)
			if n := node.Calls().Total(); n != 0 {
				t.Errorf("%d boundary calls", n)
			}
			wantUnchanged(t, node, before)
		})
	}
}

// DISK-3: a number that names no disk is NotFound everywhere.
func TestMethods_DISK3_UnknownDisk(t *testing.T) {
	for name, m := range methods(7) {
		switch name {
		case "ListDiskIDs", "ListDiskLocations", "Rescan":
			continue
		}
		t.Run(name, func(t *testing.T) {
			resp, err := m.valid(t.Context(), group(nodeWith(t, blank())))
			wantResponse(t, resp)
			wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
			wantError(t, err, win.ERROR_FILE_NOT_FOUND, errdefs.NotFound)
		})
	}
}

// A caller without a deadline is not held up for ever (docs/architecture.md).
func TestMethods_HangingDiskEndsWithTheBudget(t *testing.T) {
	budgets := map[string]time.Duration{
		"GetDiskState": 30 * time.Second, "GetDiskStats": 30 * time.Second,
		"SetDiskState": 2 * time.Minute, "EnsureOnlineWritable": 30 * time.Second,
		"PartitionDisk": 10 * time.Minute,
	}
	for name, budget := range budgets {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node, release := nodeWith(t, blank()), make(chan struct{})
				node.OnCall(func(c simhost.Call, do func() error) error {
					if c.Subject == `\\.\PhysicalDrive1` {
						<-release
					}
					return do()
				})
				start := time.Now()
				_, err := methods(1)[name].valid(context.Background(), group(node))
				wantError(t, err, context.DeadlineExceeded, errdefs.DeadlineExceeded)
				if took := time.Since(start); took > budget {
					t.Errorf("took %v", took)
				}
				close(release)
			})
		})
	}
}

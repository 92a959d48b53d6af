// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// ofDisk are the calls about one disk.
func ofDisk(number uint32) map[string]func(context.Context, *disk.Disk) error {
	return map[string]func(context.Context, *disk.Disk) error{
		"GetDiskState":         calling((*disk.Disk).GetDiskState, &disk.GetDiskStateRequest{DiskNumber: number}),
		"GetDiskStats":         calling((*disk.Disk).GetDiskStats, &disk.GetDiskStatsRequest{DiskNumber: number}),
		"PartitionDisk":        calling((*disk.Disk).PartitionDisk, &disk.PartitionDiskRequest{DiskNumber: number}),
		"SetDiskState":         calling((*disk.Disk).SetDiskState, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true}),
		"GetReadOnly":          calling((*disk.Disk).GetReadOnly, &disk.GetReadOnlyRequest{DiskNumber: number}),
		"SetReadOnly":          calling((*disk.Disk).SetReadOnly, &disk.SetReadOnlyRequest{DiskNumber: number, IsReadOnly: true}),
		"EnsureOnlineWritable": calling((*disk.Disk).EnsureOnlineWritable, &disk.EnsureOnlineWritableRequest{DiskNumber: number}),
	}
}

func calling[Req, Resp any](method func(*disk.Disk, context.Context, *Req) (*Resp, error), req *Req) func(context.Context, *disk.Disk) error {
	return func(ctx context.Context, d *disk.Disk) error {
		_, err := method(d, ctx, req)
		return err
	}
}

// DISK-3: a number that names no disk is NotFound everywhere.
func TestMethods_DISK3_UnknownDisk(t *testing.T) {
	for name, call := range ofDisk(7) {
		t.Run(name, func(t *testing.T) {
			err := call(t.Context(), group(nodeWith(t, blank())))
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
				err := ofDisk(1)[name](context.Background(), group(node))
				wantError(t, err, context.DeadlineExceeded, errdefs.DeadlineExceeded)
				if took := time.Since(start); took > budget {
					t.Errorf("took %v", took)
				}
				close(release)
			})
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// While the node holds a real call, the caller is released by its context; when
// the call ends, its handle is closed.
func TestHang(t *testing.T) {
	for _, tt := range []struct {
		name, method string
		ask          func(ctx context.Context, s *session) error
	}{
		{"open a device", "Devices.Open", func(ctx context.Context, s *session) error {
			return second(s.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{}))
		}},
		{"control code", "Device.Control", func(ctx context.Context, s *session) error {
			return second(s.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{}))
		}},
		{"open a file", "Files.Open", func(ctx context.Context, s *session) error {
			return second(s.filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: `C:\var`}))
		}},
		{"list", "File.List", func(ctx context.Context, s *session) error {
			return second(s.filesystem.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: `C:\var\lib\kubelet\pods`}))
		}},
		{"mount manager", "Mounts.FreeSpace", func(ctx context.Context, s *session) error {
			at, err := s.node.Host().Mounts.VolumeAt(`C:\`)
			if err != nil {
				return err
			}
			return second(s.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: at}))
		}},
		{"WMI", "Call.Result", func(ctx context.Context, s *session) error {
			return second(s.disk.Rescan(ctx, &disk.RescanRequest{}))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := through(t, named(t, simhost.Names()[0]))
			held, let := make(chan struct{}, 16), make(chan struct{})
			s.node.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == tt.method {
					held <- struct{}{}
					<-let
				}
				return do()
			})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- tt.ask(ctx, s) }()
			select {
			case <-held:
			case err := <-ended:
				t.Fatalf("not held: %v", err)
			case <-time.After(time.Minute):
				t.Fatal("nothing came to the node")
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the caller got %v", err)
			}
			close(let)
			s.node.OnCall(nil)
			until(t, "what was held has closed its handles", func() bool {
				return s.lab.Settle() == nil && s.node.OpenHandles() == 0 && s.lab.Files() == 0
			})
		})
	}
}

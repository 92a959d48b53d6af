// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// Every constructor sees the one host of the process, whose locks and workers
// all groups share.
func TestOneHost(t *testing.T) {
	if any(diskapi.New()) != any(diskapi.New()) || any(diskapi.New()) != any(volumeapi.New()) {
		t.Error("two constructors see two hosts")
	}
}

// A Disk and a Volume from separate constructors exclude each other on one
// disk, and only there: while a format hangs in Windows, taking its disk
// offline waits, and taking another one offline does not.
func TestDiskAndVolumeExcludeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec, err := simhost.Named("aws-nitro")
		must(t, err)
		node, err := simhost.New(spec)
		must(t, err)
		defer node.Close()
		number, other := attach(t, node, "data"), attach(t, node, "data2")

		disks, err := disk.New(node.Disk())
		must(t, err)
		volumes, err := volume.New(node.Volume())
		must(t, err)
		_, err = disks.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
		must(t, err)
		list, err := volumes.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: number})
		must(t, err)

		release, held := make(chan struct{}), make(chan struct{})
		node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Session.Start" && strings.HasPrefix(c.Subject, "MSFT_Volume.Format") {
				close(held)
				<-release
			}
			return do()
		})
		formatted := start(func(ctx context.Context) error {
			_, err := volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: list.VolumeIDs[0]})
			return err
		})
		<-held

		offline := func(number uint32) <-chan error {
			return start(func(ctx context.Context) error {
				_, err := disks.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number})
				return err
			})
		}
		waiting, free := offline(number), offline(other)
		must(t, <-free)
		synctest.Wait()
		select {
		case err := <-waiting:
			t.Errorf("the disk went offline during a format: %v", err)
		default:
		}
		if state, err := disks.GetDiskState(t.Context(), &disk.GetDiskStateRequest{DiskNumber: number}); err != nil || !state.IsOnline {
			t.Errorf("during the format the disk is online: %t, %v", state.IsOnline, err)
		}
		close(release)
		must(t, <-formatted)
		must(t, <-waiting)
		if state, err := disks.GetDiskState(t.Context(), &disk.GetDiskStateRequest{DiskNumber: number}); err != nil || state.IsOnline {
			t.Errorf("afterwards the disk is online: %t, %v", state.IsOnline, err)
		}
	})
}

// start runs a call on a goroutine of its own.
func start(run func(context.Context) error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- run(context.Background()) }()
	return done
}

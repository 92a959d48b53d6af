// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func TestSmoke(t *testing.T) {
	for _, name := range simhost.Names() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec, err := simhost.Named(name)
				if err != nil {
					t.Fatal(err)
				}
				node, err := simhost.New(spec)
				if err != nil {
					t.Fatal(err)
				}
				defer wmi.On(node.Host()).Close()
				ctx := context.Background()
				d, _ := disk.New(node.Disk())
				v, _ := volume.New(node.Volume())
				step := func(what string, err error) {
					t.Helper()
					t.Logf("%-30s calls %d", what, node.Calls().Total())
					node.Calls().Reset()
					if err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
				n, err := node.AttachDisk(node.Disks()[len(node.Disks())-1])
				if err != nil {
					t.Fatal(err)
				}
				ids, err := d.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
				step("ids", err)
				for n, id := range ids.DiskIDs {
					t.Log(n, *id)
				}
				_, err = d.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: n})
				step("partition", err)
				_, err = d.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: n})
				step("partition again", err)
				_, err = d.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: n, IsOnline: true})
				step("online", err)
				vols, err := v.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: n})
				step("list", err)
				if len(vols.VolumeIDs) == 0 {
					t.Fatal("none")
				}
				id := vols.VolumeIDs[0]
				f, err := v.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
				step("formatted", err)
				t.Log(f)
				_, err = v.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id})
				step("format", err)
				f, err = v.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
				step("formatted", err)
				t.Log(f)
				target := `C:\var\lib\kubelet\plugins`
				_, err = v.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: target})
				step("mount", err)
				got, err := v.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: target})
				step("volume of path", err)
				t.Log(got)
				got2, err := v.GetClosestVolumeIDFromTargetPath(ctx, &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: target})
				step("closest", err)
				t.Log(got2)
				s, err := v.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: id})
				step("stats", err)
				t.Log(s)
				if err := node.GrowDisk(node.Disks()[len(node.Disks())-1], simhost.Size(200<<30)); err != nil {
					t.Fatal(err)
				}
				_, err = v.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: id})
				step("resize", err)
				s, err = v.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: id})
				step("stats", err)
				t.Log(s)
				_, err = v.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: id})
				step("flush", err)
				_, err = v.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: target})
				step("unmount", err)
				_, err = d.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: n})
				step("offline", err)
				t.Log(node.OpenHandles(), node.Violations())
			})
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// disturbed disturbs a change of a site in every way.
func disturbed(t *testing.T, setUp func(*testing.T) *simhost.Node, change func(context.Context, *volume.Volume) error) {
	t.Helper()
	disturb.Run(t, disturb.Scenario{
		Node: setUp,
		Change: func(ctx context.Context, n *simhost.Node) error {
			v, err := volume.New(n.Volume())
			if err != nil {
				return err
			}
			return change(ctx, v)
		},
	})
}

// with is a node of a site with its boot disk and those alone: every volume
// adds to what is disturbed.
func with(names ...string) func(*testing.T) *simhost.Node {
	return func(t *testing.T) *simhost.Node { return newNode(t, only(names...)) }
}

func only(names ...string) func(*simhost.NodeSpec) {
	return func(spec *simhost.NodeSpec) {
		spec.Disks = slices.DeleteFunc(spec.Disks, func(d simhost.DiskSpec) bool {
			return d.Name != "boot" && !slices.Contains(names, d.Name)
		})
	}
}

// A driver formats what is not formatted (FLOW-2).
func TestFormatVolume_Disturbed(t *testing.T) {
	disturbed(t, with("raw"), func(ctx context.Context, v *volume.Volume) error {
		is, err := v.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: rawID})
		if err != nil || is.Formatted {
			return err
		}
		_, err = v.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: rawID})
		return err
	})
}

func mountData(ctx context.Context, v *volume.Volume) error {
	_, err := v.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: dataID, TargetPath: staging})
	return err
}

func TestMountVolume_Disturbed(t *testing.T) {
	disturbed(t, with("data"), mountData)
}

// field-reports.md V07: the path has a mount point whose volume is gone.
func TestMountVolume_OverDanglingDisturbed(t *testing.T) {
	disturbed(t, func(t *testing.T) *simhost.Node {
		n := with("data", "other")(t)
		(&site{T: t, node: n}).dangling(staging)
		return n
	}, mountData)
}

func TestUnmountVolume_Disturbed(t *testing.T) {
	disturbed(t, func(t *testing.T) *simhost.Node {
		n := with("data")(t)
		(&site{T: t, node: n}).setPoint(staging, dataID)
		return n
	}, func(ctx context.Context, v *volume.Volume) error {
		_, err := v.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: dataID, TargetPath: staging})
		return err
	})
}

func TestResizeVolume_Disturbed(t *testing.T) {
	grown := func(switches simhost.Switches) func(*testing.T) *simhost.Node {
		return func(t *testing.T) *simhost.Node {
			n := newNode(t, func(spec *simhost.NodeSpec) {
				spec.Switches = switches
				only("data")(spec)
			})
			if err := n.GrowDisk("data", 2*simhost.GiB); err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	for name, setUp := range map[string]func(*testing.T) *simhost.Node{
		"whole":                grown(simhost.Switches{}),
		"usable length new":    grown(simhost.Switches{UsableLengthRenewed: true}),
		"through WMI":          grown(simhost.Switches{GrowPartitionRefused: true}),
		"resumed between both": partitionGrown,
	} {
		t.Run(name, func(t *testing.T) {
			disturbed(t, setUp, func(ctx context.Context, v *volume.Volume) error {
				_, err := v.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: dataID})
				return err
			})
		})
	}
}

// partitionGrown is a node on which a growth was cut off after the partition's
// (field-reports.md D25 for partitioning).
const readWrite = win.GenericRead | win.GenericWrite

func partitionGrown(t *testing.T) *simhost.Node {
	t.Helper()
	n := with("data")(t)
	if err := n.GrowDisk("data", 2*simhost.GiB); err != nil {
		t.Fatal(err)
	}
	d, err := n.Host().Devices.Open(`\\.\PhysicalDrive1`, readWrite)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code uint32
		in   []byte
	}{
		{abi.IOCTL_DISK_UPDATE_PROPERTIES, nil},
		{abi.IOCTL_DISK_GROW_PARTITION, abi.GrowPartition{Partition: 2, BytesToGrow: 1 << 30}.Encode()},
	} {
		if _, err := d.Control(c.code, c.in, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

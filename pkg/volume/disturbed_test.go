// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

type scenario = disturb.Scenario[*volume.Volume]

// The calls of the group, each disturbed in every way.
func TestDisturbed(t *testing.T) {
	mountData := &volume.MountVolumeRequest{VolumeID: dataID, TargetPath: staging}
	unmountData := &volume.UnmountVolumeRequest{VolumeID: dataID, TargetPath: staging}
	formatRaw := &volume.FormatVolumeRequest{VolumeID: rawID}
	growData := &volume.ResizeVolumeRequest{VolumeID: dataID}
	disturb.Group[*volume.Volume]{
		Name: "volume", New: func(n *simhost.Node) (*volume.Volume, error) { return volume.New(n.Volume()) },
		Node: staged,
		Questions: []scenario{
			{Method: "ListVolumesOnDisk", Request: &volume.ListVolumesOnDiskRequest{DiskNumber: dataDisk}},
			{Method: "GetDiskNumberFromVolumeID", Request: &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: dataID}},
			{Method: "GetVolumeStats", Request: &volume.GetVolumeStatsRequest{VolumeID: dataID}},
			{Method: "IsVolumeFormatted", When: "of NTFS", Request: &volume.IsVolumeFormattedRequest{VolumeID: dataID}},
			{Method: "IsVolumeFormatted", When: "of RAW", Request: &volume.IsVolumeFormattedRequest{VolumeID: rawID}, Node: with("raw")},
			{Method: "WriteVolumeCache", Request: &volume.WriteVolumeCacheRequest{VolumeID: dataID}},
			{Method: "GetVolumeIDFromTargetPath", Request: &volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging}},
			{Method: "GetClosestVolumeIDFromTargetPath", Request: &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: staging}},
			{Method: "DescribeVolume", When: "of NTFS", Request: dataID, Partial: true},
			{Method: "DescribeVolume", When: "of RAW", Request: rawID, Node: with("raw"), Partial: true},
			{Method: "Resolve", Request: staging},
		},
		Changes: []scenario{
			{Method: "FormatVolume", Do: formatUnlessFormatted, Node: with("raw")},
			{Method: "MountVolume", Request: mountData, Node: with("data")},
			// field-reports.md V07: the path has a mount point whose volume is gone.
			{Method: "MountVolume", When: "over a dangling mount point", Request: mountData, Node: dangling},
			{Method: "UnmountVolume", Request: unmountData},
			{Method: "ResizeVolume", Request: growData, Node: diskGrown(simhost.Switches{})},
			{Method: "ResizeVolume", When: "with a new usable length", Request: growData, Node: diskGrown(simhost.Switches{UsableLengthRenewed: true})},
			{Method: "ResizeVolume", When: "through WMI", Request: growData, Node: diskGrown(simhost.Switches{GrowPartitionRefused: true})},
			// field-reports.md D25, for growth: it was cut off after the partition's.
			{Method: "ResizeVolume", When: "resumed", Request: growData, Node: partitionGrown},
		},
		Refusals: []scenario{
			{Method: "FormatVolume", When: "of foreign content", Request: formatRaw, Node: signed(simhost.MediaExt4, simhost.MediaMDAtEnd), Refused: errdefs.ErrForeignContent},
			{Method: "FormatVolume", When: "of damaged NTFS", Request: formatRaw, Node: signed(simhost.MediaNTFS), Refused: errdefs.ErrDamaged},
			{Method: "FormatVolume", When: "of the boot volume", Request: &volume.FormatVolumeRequest{VolumeID: bootID}, Refused: errdefs.ErrCriticalDisk},
			{Method: "MountVolume", When: "over another volume", Request: &volume.MountVolumeRequest{VolumeID: bootID, TargetPath: staging}, Refused: errdefs.ErrFailedPrecondition},
			{Method: "UnmountVolume", When: "of another volume", Request: &volume.UnmountVolumeRequest{VolumeID: bootID, TargetPath: staging}, Refused: errdefs.ErrOtherVolume},
		},
	}.Run(t)
}

// formatUnlessFormatted is what a driver does (FLOW-2): FormatVolume alone
// formats again.
func formatUnlessFormatted(ctx context.Context, v *volume.Volume) (any, error) {
	is, err := v.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: rawID})
	if err != nil || is.Formatted {
		return is, err
	}
	return v.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: rawID})
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

// staged has the data volume at staging.
func staged(t *testing.T) *simhost.Node {
	n := with("data")(t)
	(&site{T: t, node: n}).setPoint(staging, dataID)
	return n
}

// signed is a node whose RAW volume has those signatures.
func signed(media ...simhost.Media) func(*testing.T) *simhost.Node {
	return func(t *testing.T) *simhost.Node {
		return newNode(t, func(spec *simhost.NodeSpec) {
			only("raw")(spec)
			holding(media...)(spec)
		})
	}
}

func dangling(t *testing.T) *simhost.Node {
	n := with("data", "other")(t)
	(&site{T: t, node: n}).dangling(staging)
	return n
}

// diskGrown is a node whose data disk has become larger.
func diskGrown(switches simhost.Switches) func(*testing.T) *simhost.Node {
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

const readWrite = win.GenericRead | win.GenericWrite

// partitionGrown is a node whose data disk and partition have become larger.
func partitionGrown(t *testing.T) *simhost.Node {
	t.Helper()
	n := diskGrown(simhost.Switches{})(t)
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

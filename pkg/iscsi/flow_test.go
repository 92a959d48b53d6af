// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

const staging = `C:\var\lib\kubelet\plugins\iscsi`

// driver does as democratic-csi does (behaviour.md FLOW-11).
type driver struct {
	iscsi  *iscsi.ISCSI
	disk   *disk.Disk
	volume *volume.Volume
	files  *filesystem.Filesystem
	node   *simhost.Node
}

func newDriver(node *simhost.Node) driver {
	d, _ := disk.New(node.Disk())
	v, _ := volume.New(node.Volume())
	f, _ := filesystem.New(node.Filesystem())
	return driver{group(node), d, v, f, node}
}

// stage brings the only disk of a target to the staging folder and returns its
// volume.
func (d driver) stage(ctx context.Context) (string, error) {
	if _, err := d.iscsi.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: first}); err != nil {
		return "", err
	}
	if _, err := d.iscsi.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{
		TargetPortal: first, IQN: chap, AuthType: iscsi.ONE_WAY_CHAP, ChapUsername: user, ChapSecret: secret,
	}); err != nil {
		return "", err
	}
	if _, err := d.disk.Rescan(ctx, &disk.RescanRequest{}); err != nil {
		return "", err
	}
	resp, err := d.iscsi.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: first, IQN: chap})
	if err != nil {
		return "", err
	}
	if len(resp.DiskIDs) != 1 {
		return "", errors.New("not one disk")
	}
	number, err := strconv.ParseUint(resp.DiskIDs[0], 10, 32)
	if err != nil {
		return "", err
	}
	if _, err := d.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: uint32(number), IsOnline: true}); err != nil {
		return "", err
	}
	if _, err := d.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: uint32(number)}); err != nil {
		return "", err
	}
	volumes, err := d.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: uint32(number)})
	if err != nil {
		return "", err
	}
	return volumes.VolumeIDs[0], d.mount(ctx, volumes.VolumeIDs[0])
}

func (d driver) mount(ctx context.Context, id string) error {
	is, err := d.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
	if err != nil {
		return err
	}
	if !is.Formatted {
		if _, err := d.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id}); err != nil {
			return err
		}
	}
	if _, err := d.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: staging}); err != nil {
		return err
	}
	_, err = d.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: staging})
	return err
}

func (d driver) unstage(ctx context.Context, id string) error {
	if _, err := d.volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: id}); err != nil {
		return err
	}
	if _, err := d.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: staging}); err != nil {
		return err
	}
	if err := disconnect(ctx, d.node, first, chap); err != nil {
		return err
	}
	_, err := d.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: staging})
	return err
}

// slow is a network whose disks and volumes come late, offline and read-only.
func slow(spec *simhost.NodeSpec) {
	spec.SANPolicy = simhost.OfflineShared
	spec.Arrival = simhost.Duration(2 * time.Second)
	for i := range spec.ISCSI.Targets {
		spec.ISCSI.Targets[i].Arrival = simhost.Duration(3 * time.Second)
	}
}

// ISCSI-18, field-reports.md I04: from a node whose initiator has never run to a
// partitioned disk of a target that wants no CHAP, and offline again.
func TestFlow_ISCSI18(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := newNode(t, slow, func(spec *simhost.NodeSpec) {
			spec.Services = []simhost.ServiceSpec{{Name: "MSiSCSI", Start: "manual", State: "stopped"}}
		})
		d, ctx := newDriver(node), t.Context()
		wantError(t, add(ctx, node, first), errdefs.ErrISCSIStopped, errdefs.Unavailable)
		services, _ := system.New(node.System())
		_, err := services.StartService(ctx, &system.StartServiceRequest{Name: "MSiSCSI"})
		must(t, err)

		must(t, add(ctx, node, first))
		if iqns, err := discover(ctx, node, first); err != nil || !slices.Contains(iqns, open) {
			t.Fatalf("discovered %q, %v", iqns, err)
		}
		must(t, connect(ctx, node, first, open))
		wantSessions(t, node, openSession)
		if ids, err := disks(ctx, node, first, open); err != nil || !slices.Equal(ids, []string{"1"}) {
			t.Fatalf("disks %q, %v", ids, err)
		}
		setOnline := func(online bool) {
			t.Helper()
			_, err := d.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: 1, IsOnline: online})
			must(t, err)
			state, err := d.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: 1})
			if err != nil || state.IsOnline != online {
				t.Errorf("online %t, %v, want %t", state.IsOnline, err, online)
			}
		}
		setOnline(true)
		_, err = d.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: 1})
		must(t, err)
		volumes, err := d.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: 1})
		if err != nil || len(volumes.VolumeIDs) != 1 {
			t.Errorf("volumes %q, %v, want one", volumes.VolumeIDs, err)
		}
		setOnline(false)
	})
}

func TestFlow_FLOW11(t *testing.T) {
	for _, s := range append(simhost.AllSwitches(), simhost.Switch{Name: "none"}) {
		if s.Name != "none" && !strings.HasPrefix(s.Name, "ISCSI") {
			continue // the tests of disk and volume run with it
		}
		t.Run(s.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node := newNode(t, slow, func(spec *simhost.NodeSpec) { spec.Switches = s.Switches })
				d, ctx := newDriver(node), t.Context()
				id, err := d.stage(ctx)
				must(t, err)
				again, err := d.stage(ctx)
				if err != nil || again != id {
					t.Fatalf("again: %s, %v, want %s", again, err, id)
				}
				must(t, d.unstage(ctx, id))
				wantSessions(t, node)

				again, err = d.stage(ctx) // the data is still there
				if err != nil || again != id {
					t.Fatalf("once more: %s, %v, want %s", again, err, id)
				}
				must(t, d.unstage(ctx, id))
			})
		})
	}
}

// field-reports.md I03: after a restart the same calls end in the same state,
// also while the portal answers late.
func TestFlow_I03_Restart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := newNode(t, slow)
		ctx := t.Context()
		id, err := newDriver(node).stage(ctx)
		must(t, err)
		before := node.Snapshot()

		must(t, node.SetISCSIPortal("10.0.0.10:3260", false))
		node.Reboot()
		restarted := newDriver(node)
		_, err = restarted.stage(ctx)
		wantError(t, err, errdefs.ErrUnavailable, errdefs.Unavailable)

		must(t, node.SetISCSIPortal("10.0.0.10:3260", true))
		again, err := restarted.stage(ctx)
		if err != nil || again != id {
			t.Fatalf("after the restart: %s, %v, want %s", again, err, id)
		}
		wantUnchanged(t, node, before)
		must(t, restarted.unstage(ctx, id))
	})
}

// field-reports.md I07: a disk in use is not torn away.
func TestFlow_I07_InUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := newNode(t, slow)
		d, ctx := newDriver(node), t.Context()
		id, err := d.stage(ctx)
		must(t, err)
		before := node.Snapshot()

		err = disconnect(ctx, node, first, chap)
		wantError(t, err, errdefs.ErrISCSIInUse, errdefs.FailedPrecondition)
		wantUnchanged(t, node, before)

		_, err = d.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: 1})
		must(t, err)
		must(t, disconnect(ctx, node, first, chap))
		if _, err := d.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: staging}); err != nil {
			t.Error(err)
		}
	})
}

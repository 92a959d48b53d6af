// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
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

// A question of which one call fails is answered as if none had, or with that
// failure: never with "missing", "not formatted" or a part of the answer.
func TestQuestions_Disturbed(t *testing.T) {
	for _, m := range methods {
		switch m.name {
		case "FormatVolume", "MountVolume", "UnmountVolume", "ResizeVolume":
			continue // disturbed above
		}
		for _, request := range []any{m.valid, m.with("VolumeID", rawID)} {
			if request == nil {
				continue
			}
			t.Run(m.name, func(t *testing.T) { question(t, m, request) })
		}
	}
}

func question(t *testing.T, m method, request any) {
	t.Helper()
	var want any
	calls := 0
	trial(t, func(s *site) {
		s.node.Calls().Reset()
		resp, err := m.ask(s.Context(), s.vol, request)
		s.must(err)
		want, calls = resp, s.node.Calls().Total()
	})
	for k := range calls {
		for _, code := range []win.Errno{win.ERROR_IO_DEVICE, win.ERROR_ACCESS_DENIED, win.ERROR_NOT_READY, win.ERROR_GEN_FAILURE} {
			trial(t, func(s *site) {
				var made atomic.Int32
				s.answers(code, func(c simhost.Call) bool { return !c.Continues && int(made.Add(1)) == k+1 })
				resp, err := m.ask(s.Context(), s.vol, request)
				if err == nil {
					if diff := cmp.Diff(want, resp); diff != "" {
						s.Errorf("call %d answers %d: %s", k+1, code, diff)
					}
					return
				}
				s.fails(err, code)
				switch kind := errdefs.KindOf(err); kind {
				case errdefs.Unavailable, errdefs.PermissionDenied, errdefs.FailedPrecondition:
				default:
					s.Errorf("call %d answers %d: kind %v: %v", k+1, code, kind, err)
				}
			})
		}
		trial(t, func(s *site) { // the call hangs
			var made atomic.Int32
			release := make(chan struct{})
			s.node.OnCall(func(c simhost.Call, do func() error) error {
				if !c.Continues && int(made.Add(1)) == k+1 {
					<-release
				}
				return do()
			})
			ctx, cancel := context.WithTimeout(s.Context(), time.Second)
			defer cancel()
			_, err := m.ask(ctx, s.vol, request)
			s.fails(err, context.DeadlineExceeded)
			close(release)
			synctest.Wait()
			resp, err := m.ask(s.Context(), s.vol, request)
			s.must(err)
			if diff := cmp.Diff(want, resp); diff != "" {
				s.Errorf("call %d hung: %s", k+1, diff)
			}
		})
	}
}

// trial is a site in a bubble, with the data volume at staging.
func trial(t *testing.T, run func(*site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.setPoint(staging, dataID)
		run(s)
	})
}

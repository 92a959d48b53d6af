// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// method is a method of the group with a request that it answers and one that
// it refuses, on a site whose data volume is at staging.
type method struct {
	name           string
	valid, failing any // *XRequest
}

var methods = []method{
	{"FormatVolume", &volume.FormatVolumeRequest{VolumeID: rawID}, &volume.FormatVolumeRequest{VolumeID: bootID}},
	{"GetClosestVolumeIDFromTargetPath", &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: staging}, &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: `C:\nothing`}},
	{"GetDiskNumberFromVolumeID", &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: dataID}, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: deadID}},
	{"GetVolumeIDFromTargetPath", &volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging}, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: pod}},
	{"GetVolumeStats", &volume.GetVolumeStatsRequest{VolumeID: dataID}, &volume.GetVolumeStatsRequest{VolumeID: deadID}},
	{"IsVolumeFormatted", &volume.IsVolumeFormattedRequest{VolumeID: dataID}, &volume.IsVolumeFormattedRequest{VolumeID: deadID}},
	{"ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{DiskNumber: dataDisk}, &volume.ListVolumesOnDiskRequest{DiskNumber: 99}},
	{"MountVolume", &volume.MountVolumeRequest{VolumeID: otherID, TargetPath: pod}, &volume.MountVolumeRequest{VolumeID: otherID, TargetPath: staging}},
	{"ResizeVolume", &volume.ResizeVolumeRequest{VolumeID: dataID}, &volume.ResizeVolumeRequest{VolumeID: dataID, SizeBytes: -1}},
	{"UnmountVolume", &volume.UnmountVolumeRequest{VolumeID: dataID, TargetPath: staging}, &volume.UnmountVolumeRequest{VolumeID: otherID, TargetPath: staging}},
	{"WriteVolumeCache", &volume.WriteVolumeCacheRequest{VolumeID: dataID}, &volume.WriteVolumeCacheRequest{VolumeID: deadID}},
}

// ask calls the method.
func (m method) ask(ctx context.Context, v *volume.Volume, request any) (resp any, err error) {
	f := reflect.ValueOf(v).MethodByName(m.name)
	out := f.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(request)})
	err, _ = out[1].Interface().(error)
	if out[0].IsNil() {
		return nil, err
	}
	return out[0].Interface(), err
}

// call calls the method and wants a response beside whatever error.
func (m method) call(ctx context.Context, t *testing.T, v *volume.Volume, request any) error {
	t.Helper()
	resp, err := m.ask(ctx, v, request)
	if resp == nil {
		t.Errorf("%s: no response", m.name)
	}
	return err
}

func (m method) null() any { return reflect.Zero(reflect.TypeOf(m.valid)).Interface() }

func TestMethods_AreAll(t *testing.T) {
	all := reflect.TypeFor[volume.Interface]()
	if all.NumMethod() != len(methods) {
		t.Fatalf("%d methods, the interface has %d", len(methods), all.NumMethod())
	}
	for i, m := range methods {
		if all.Method(i).Name != m.name {
			t.Errorf("method %d is %s", i, all.Method(i).Name)
		}
	}
}

// consumers.md 2.4: a response is never nil.
func TestMethods(t *testing.T) {
	for _, m := range methods {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.setPoint(staging, dataID)
				s.unchanged(func() {
					s.fails(m.call(t.Context(), t, s.vol, m.null()), errdefs.ErrInvalidArgument)
					err := m.call(t.Context(), t, s.vol, m.failing)
					s.fails(err)
					var e *errdefs.Error
					if !errors.As(err, &e) || e.Op != "volume."+m.name {
						t.Errorf("does not name its operation: %v", err)
					}
				})
				s.must(m.call(t.Context(), t, s.vol, m.valid))
			})
		})
	}
}

// A caller that has left before it calls changes nothing.
func TestMethods_CallerHasLeft(t *testing.T) {
	for _, m := range methods {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.setPoint(staging, dataID)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				s.node.Calls().Reset()
				s.unchanged(func() { s.fails(m.call(ctx, t, s.vol, m.valid), context.Canceled) })
				if calls := s.node.Calls().Calls(); len(calls) != 0 {
					t.Errorf("calls %v", calls)
				}
			})
		})
	}
}

// The rooted spelling asks for the system drive, once.
func TestMethods_SystemDrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.must(s.mount(dataID, staging))
		s.node.Calls().Reset()
		for range 3 {
			got, err := s.volumeAt(staging[2:])
			if err != nil || got != dataID {
				t.Errorf("%q, %v", got, err)
			}
		}
		if n := s.node.Calls().ByMethod()["System.WindowsDirectory"]; n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// After one answer of each method no handle is open and nothing runs on, under
// every switch of the node.
func TestMethods_Switches(t *testing.T) {
	for _, sw := range simhost.AllSwitches() {
		t.Run(sw.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(spec *simhost.NodeSpec) { spec.Switches = sw.Switches })
				s.setPoint(staging, dataID)
				s.must(s.node.GrowDisk("data", 2*simhost.GiB))
				for _, m := range methods {
					s.fails(m.call(t.Context(), t, s.vol, m.failing))
					if err := m.call(t.Context(), t, s.vol, m.valid); err != nil {
						t.Errorf("%s: %v", m.name, err)
					}
				}
				if got := s.partitionOf(dataID); got != 2*simhost.GiB-around {
					t.Errorf("partition of %s", got)
				}
			})
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	fs "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// call calls a method by name with a request, or with nil.
func call(t *testing.T, on any, method string, request any) (response any, err error) {
	t.Helper()
	m := reflect.ValueOf(on).MethodByName(method)
	if !m.IsValid() {
		t.Fatalf("no method %s", method)
	}
	in := reflect.Zero(m.Type().In(1))
	if request != nil {
		in = reflect.ValueOf(request)
	}
	out := m.Call([]reflect.Value{reflect.ValueOf(t.Context()), in})
	if out[0].IsNil() {
		t.Errorf("%s: nil response (error: %v)", method, out[1])
	}
	err, _ = out[1].Interface().(error)
	return out[0].Interface(), err
}

// A response is never nil, whatever happens: drivers read it beside an error
// (consumers.md 2.4; FS-29, LIB-6), in which Windows' code is found (LIB-5). Every
// method is called with nil, then while all that Windows is asked fails, then for
// good, in the order of a volume's life.
func TestResponses(t *testing.T) {
	node := newNode(t, "aws-nitro")
	number := attach(t, node, "data")
	m := newMounterOn(t, node)

	var volumeID string
	lookUp := func() {
		resp, err := m.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: number})
		must(t, err)
		volumeID = resp.VolumeIDs[0]
	}
	seen := map[any]map[string]bool{m.Disk: {}, m.Fs: {}, m.Volume: {}, m.ISCSI: {}, m.SMB: {}, m.System: {}}
	check := func(on any, method string, request any) {
		t.Helper()
		seen[on][method] = true
		node.Calls().Reset()
		if _, err := call(t, on, method, nil); !errors.Is(err, errdefs.ErrInvalidArgument) {
			t.Errorf("%s(nil): %v", method, err)
		}
		if n := node.Calls().Total(); n != 0 {
			t.Errorf("%s(nil) asks Windows %d times", method, n)
		}
		node.OnCall(func(simhost.Call, func() error) error { return win.ERROR_GEN_FAILURE })
		if _, err := call(t, on, method, request); !errors.Is(err, win.ERROR_GEN_FAILURE) {
			t.Errorf("%s while all fails: %v", method, err)
		}
		node.OnCall(nil)
		if _, err := call(t, on, method, request); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}

	check(m.Disk, "Rescan", &disk.RescanRequest{})
	check(m.Disk, "ListDiskIDs", &disk.ListDiskIDsRequest{})
	check(m.Disk, "ListDiskLocations", &disk.ListDiskLocationsRequest{})
	check(m.Disk, "GetDiskStats", &disk.GetDiskStatsRequest{DiskNumber: number})
	check(m.Disk, "GetDiskState", &disk.GetDiskStateRequest{DiskNumber: number})
	check(m.Disk, "PartitionDisk", &disk.PartitionDiskRequest{DiskNumber: number})
	check(m.Volume, "ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	lookUp()
	check(m.Volume, "IsVolumeFormatted", &volume.IsVolumeFormattedRequest{VolumeID: volumeID})
	check(m.Volume, "FormatVolume", &volume.FormatVolumeRequest{VolumeID: volumeID})
	check(m.Fs, "PathValid", &fs.PathValidRequest{Path: kubelet})
	check(m.Fs, "Mkdir", &fs.MkdirRequest{Path: staging})
	check(m.Volume, "MountVolume", &volume.MountVolumeRequest{VolumeID: volumeID, TargetPath: staging})
	check(m.Fs, "CreateSymlink", &fs.CreateSymlinkRequest{SourcePath: staging, TargetPath: podPath})
	check(m.Fs, "PathExists", &fs.PathExistsRequest{Path: podPath})
	check(m.Fs, "IsSymlink", &fs.IsSymlinkRequest{Path: podPath})
	check(m.Volume, "GetVolumeIDFromTargetPath", &volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
	check(m.Volume, "GetClosestVolumeIDFromTargetPath", &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: podPath})
	check(m.Volume, "GetDiskNumberFromVolumeID", &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: volumeID})
	check(m.Volume, "GetVolumeStats", &volume.GetVolumeStatsRequest{VolumeID: volumeID})
	must(t, node.GrowDisk("data", 20*simhost.GiB))
	check(m.Volume, "ResizeVolume", &volume.ResizeVolumeRequest{VolumeID: volumeID})
	check(m.Volume, "WriteVolumeCache", &volume.WriteVolumeCacheRequest{VolumeID: volumeID})
	check(m.Volume, "UnmountVolume", &volume.UnmountVolumeRequest{VolumeID: volumeID, TargetPath: staging})
	check(m.Fs, "RmdirContents", &fs.RmdirContentsRequest{Path: staging})
	check(m.Fs, "Rmdir", &fs.RmdirRequest{Path: staging})
	check(m.Disk, "SetDiskState", &disk.SetDiskStateRequest{DiskNumber: number})
	addFiles(t, node)
	check(m.SMB, "NewSMBGlobalMapping", &smb.NewSMBGlobalMappingRequest{RemotePath: `\\files\data`, Username: `CORP\alice`, Password: "pa:ss"})
	check(m.SMB, "RemoveSMBGlobalMapping", &smb.RemoveSMBGlobalMappingRequest{RemotePath: `\\files\data`})
	check(m.System, "GetBIOSSerialNumber", &system.GetBIOSSerialNumberRequest{})
	check(m.System, "GetService", &system.GetServiceRequest{Name: "MSiSCSI"})
	check(m.System, "StartService", &system.StartServiceRequest{Name: "MSiSCSI"})
	portal := &iscsi.TargetPortal{TargetAddress: "10.0.0.10"}
	check(m.ISCSI, "AddTargetPortal", &iscsi.AddTargetPortalRequest{TargetPortal: portal})
	check(m.ISCSI, "ListTargetPortals", &iscsi.ListTargetPortalsRequest{})
	check(m.ISCSI, "DiscoverTargetPortal", &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal})
	check(m.ISCSI, "SetMutualChapSecret", &iscsi.SetMutualChapSecretRequest{MutualChapSecret: "made-up-pass"})
	check(m.ISCSI, "ConnectTarget", &iscsi.ConnectTargetRequest{
		TargetPortal: portal, IQN: target, AuthType: iscsi.ONE_WAY_CHAP, ChapUsername: "user", ChapSecret: "verysecretpass",
	})
	check(m.ISCSI, "GetTargetDisks", &iscsi.GetTargetDisksRequest{TargetPortal: portal, IQN: target})
	check(m.ISCSI, "DisconnectTarget", &iscsi.DisconnectTargetRequest{TargetPortal: portal, IQN: target})
	check(m.ISCSI, "RemoveTargetPortal", &iscsi.RemoveTargetPortalRequest{TargetPortal: portal})
	check(m.System, "StopService", &system.StopServiceRequest{Name: "MSiSCSI"})

	for _, g := range groups {
		for on, methods := range seen {
			if reflect.TypeOf(on) != reflect.PointerTo(g.concrete) {
				continue
			}
			for i := range g.face.NumMethod() {
				if name := g.face.Method(i).Name; !methods[name] {
					t.Errorf("%s.%s is not called here", g.name, name)
				}
			}
		}
	}
}

// The same with a context that has ended, and for what is not there.
func TestResponses_EndedContextAndUnknownSubject(t *testing.T) {
	node := newNode(t, "aws-nitro")
	m := newMounterOn(t, node)
	must(t, node.SetServiceState("MSiSCSI", "running"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	const unknown = `\\?\Volume{00000000-0000-0000-0000-000000000000}\`

	for _, g := range groups {
		on := map[string]any{"disk": m.Disk, "filesystem": m.Fs, "volume": m.Volume, "iscsi": m.ISCSI, "smb": m.SMB, "system": m.System}[g.name]
		for i := range g.face.NumMethod() {
			method := g.face.Method(i)
			request := reflect.New(method.Type.In(1).Elem())
			for field, value := range map[string]any{
				"DiskNumber": uint32(99), "VolumeID": unknown, "Path": `X:\nowhere`, "TargetPath": `X:\nowhere`, "SourcePath": `X:\from`,
				"Name": "no such service", "RemotePath": `\\nowhere\share`,
				"IQN": target, "MutualChapSecret": "made-up-pass", "TargetPortal": &iscsi.TargetPortal{TargetAddress: "10.0.0.99"},
			} {
				if f := request.Elem().FieldByName(field); f.IsValid() {
					f.Set(reflect.ValueOf(value))
				}
			}
			name := g.name + "." + method.Name
			// A server that is not there may come back, and what is not mapped is unmapped.
			// So may a portal, and a secret is of nobody.
			if g.name != "smb" && method.Name != "AddTargetPortal" && method.Name != "SetMutualChapSecret" && request.Elem().NumField() > 0 && method.Name != "PathExists" && method.Name != "PathValid" && method.Name != "UnmountVolume" {
				if _, err := call(t, on, method.Name, request.Interface()); errdefs.KindOf(err) != errdefs.NotFound {
					t.Errorf("%s of what is not there: %v", name, err)
				}
			}
			out := reflect.ValueOf(on).MethodByName(method.Name).Call([]reflect.Value{reflect.ValueOf(ended), request})
			if err, _ := out[1].Interface().(error); out[0].IsNil() || !errors.Is(err, context.Canceled) {
				t.Errorf("%s with an ended context: nil response %t, %v", name, out[0].IsNil(), err)
			}
		}
	}
}

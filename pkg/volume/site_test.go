// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// The volumes of a site. Each is alone on a disk of 1 GiB of that name, GPT
// with a reserved partition: data and other hold NTFS, raw is fresh from the
// partitioner. dead was never seen.
const (
	bootID  = `\\?\Volume{00000000-0000-4000-8000-00000000000c}\`
	dataID  = `\\?\Volume{11111111-1111-4111-8111-111111111111}\`
	otherID = `\\?\Volume{22222222-2222-4222-8222-222222222222}\`
	rawID   = `\\?\Volume{33333333-3333-4333-8333-333333333333}\`
	deadID  = `\\?\Volume{99999999-9999-4999-8999-999999999999}\`

	kubelet = `C:\var\lib\kubelet`
	staging = kubelet + `\plugins\staging`
	pod     = kubelet + `\pods\pod`
)

// The numbers of a site's disks.
const (
	bootDisk = iota
	dataDisk
	otherDisk
	rawDisk
)

// site is a simulated node with its volume group, and means to set up what no
// driver would.
type site struct {
	*testing.T
	node *simhost.Node
	vol  *volume.Volume
}

// dataPartition is a partition of basic data with a volume of that id.
func dataPartition(id, fileSystem string) simhost.PartitionSpec {
	return simhost.PartitionSpec{Volume: &simhost.VolumeSpec{ID: guid(id), FileSystem: fileSystem}}
}

// guid is what stands between the braces of a volume's name.
func guid(id string) string {
	_, id, _ = strings.Cut(id, "{")
	id, _, _ = strings.Cut(id, "}")
	return id
}

// gptDisk is a GPT disk with a reserved partition and those.
func gptDisk(name string, size simhost.Size, partitions ...simhost.PartitionSpec) simhost.DiskSpec {
	return simhost.DiskSpec{
		Name: name, Size: size, Bus: "scsi", Vendor: "Test", Product: name, Serial: "serial-of-" + name,
		Address: &simhost.AddressSpec{Port: 1, Target: uint8(len(name))}, Style: "gpt",
		Partitions: append([]simhost.PartitionSpec{{Type: "msr"}}, partitions...),
	}
}

// siteSpec describes a site.
func siteSpec() simhost.NodeSpec {
	boot := simhost.BootDisk()
	boot.Partitions[2].Volume.ID = guid(bootID)
	return simhost.NodeSpec{
		Version: simhost.SpecVersion, Name: "site",
		Directories: []string{staging, pod, kubelet + `\warm`},
		Disks: []simhost.DiskSpec{
			boot,
			gptDisk("data", simhost.GiB, dataPartition(dataID, "NTFS")),
			gptDisk("other", simhost.GiB, dataPartition(otherID, "NTFS")),
			gptDisk("raw", simhost.GiB, dataPartition(rawID, "")),
		},
	}
}

// newNode makes a node of a site that edit has changed.
func newNode(t *testing.T, edit func(*simhost.NodeSpec)) *simhost.Node {
	t.Helper()
	spec := siteSpec()
	if edit != nil {
		edit(&spec)
	}
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// newSite makes a site; edit changes its description. Its test must be in a
// bubble, at whose end nothing that was asked may still hang.
func newSite(t *testing.T, edit func(*simhost.NodeSpec)) *site {
	t.Helper()
	node := newNode(t, edit)
	s := &site{T: t, node: node, vol: group(t, node)}
	t.Cleanup(func() {
		wmi.On(node.Host()).Close()
		synctest.Wait() // for the handles of questions that were left
		if err := blocking.On(node.Host()).Clean(); err != nil {
			t.Error(err)
		}
		if n := node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
	})
	return s
}

func group(t *testing.T, node *simhost.Node) *volume.Volume {
	t.Helper()
	v, err := volume.New(node.Volume())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// over puts mounts in the place of the node's, overDevices devices.
func (s *site) over(mounts win.Mounts) {
	node := s.node.Host()
	s.on(&win.Host{Devices: node.Devices, Mounts: mounts, Files: node.Files, System: node.System, WMI: node.WMI})
}

func (s *site) overDevices(devices win.Devices) {
	node := s.node.Host()
	s.on(&win.Host{Devices: devices, Mounts: node.Mounts, Files: node.Files, System: node.System, WMI: node.WMI})
}

// on makes the volume group that of another host.
func (s *site) on(host *win.Host) {
	s.Helper()
	v, err := volume.New(hostapi.On(host))
	s.must(err)
	s.vol = v
	s.Cleanup(func() { wmi.On(host).Close() })
}

// onDisk replaces the disk of that name.
func onDisk(name string, disk simhost.DiskSpec) func(*simhost.NodeSpec) {
	return func(spec *simhost.NodeSpec) {
		for i := range spec.Disks {
			if spec.Disks[i].Name == name {
				spec.Disks[i] = disk
			}
		}
	}
}

// editDisk changes the disk of that name.
func editDisk(name string, edit func(*simhost.DiskSpec)) func(*simhost.NodeSpec) {
	return func(spec *simhost.NodeSpec) {
		for i := range spec.Disks {
			if spec.Disks[i].Name == name {
				edit(&spec.Disks[i])
			}
		}
	}
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// fails wants an error that matches all of those.
func (s *site) fails(err error, want ...error) {
	s.Helper()
	if err == nil {
		s.Fatalf("no error, want %v", want)
	}
	for _, w := range want {
		if !errors.Is(err, w) {
			s.Errorf("error %v, want %v", err, w)
		}
	}
}

// hasKind wants an error of that kind.
func (s *site) hasKind(err error, want errdefs.Kind) {
	s.Helper()
	if got := errdefs.KindOf(err); got != want {
		s.Errorf("error of kind %v, want %v: %v", got, want, err)
	}
}

// unchanged wants the node to be as before while do runs.
func (s *site) unchanged(do func()) {
	s.Helper()
	before := s.node.Snapshot()
	do()
	if after := s.node.Snapshot(); after != before {
		s.Errorf("changed:\n%s", simhost.Diff(before, after))
	}
}

// The methods below call the group's, short.

func (s *site) mount(id, path string) error {
	_, err := s.vol.MountVolume(s.Context(), &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
	return err
}

func (s *site) unmount(id, path string) error { return s.unmountIn(s.Context(), id, path) }

func (s *site) unmountIn(ctx context.Context, id, path string) error {
	_, err := s.vol.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path})
	return err
}

func (s *site) format(id string) error { return s.formatIn(s.Context(), id) }

func (s *site) formatIn(ctx context.Context, id string) error {
	_, err := s.vol.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id})
	return err
}

func (s *site) overwrite(id string) error {
	_, err := s.vol.FormatVolume(s.Context(), &volume.FormatVolumeRequest{VolumeID: id, Overwrite: true})
	return err
}

func (s *site) formatted(id string) (bool, error) {
	resp, err := s.vol.IsVolumeFormatted(s.Context(), &volume.IsVolumeFormattedRequest{VolumeID: id})
	return resp.Formatted, err
}

func (s *site) resize(id string, size simhost.Size) error {
	_, err := s.vol.ResizeVolume(s.Context(), &volume.ResizeVolumeRequest{VolumeID: id, SizeBytes: int64(size)})
	return err
}

func (s *site) flush(id string) error {
	_, err := s.vol.WriteVolumeCache(s.Context(), &volume.WriteVolumeCacheRequest{VolumeID: id})
	return err
}

func (s *site) list(disk uint32) ([]string, error) { return s.listPartition(disk, 0) }

func (s *site) listPartition(disk, partition uint32) ([]string, error) {
	resp, err := s.vol.ListVolumesOnDisk(s.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: disk, PartitionNumber: partition})
	return resp.VolumeIDs, err
}

func (s *site) stats(id string) (*volume.GetVolumeStatsResponse, error) {
	return s.vol.GetVolumeStats(s.Context(), &volume.GetVolumeStatsRequest{VolumeID: id})
}

func (s *site) diskOf(id string) (uint32, error) {
	resp, err := s.vol.GetDiskNumberFromVolumeID(s.Context(), &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
	return resp.DiskNumber, err
}

func (s *site) volumeAt(path string) (string, error) {
	resp, err := s.vol.GetVolumeIDFromTargetPath(s.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return resp.VolumeID, err
}

func (s *site) closest(path string) (string, error) {
	resp, err := s.vol.GetClosestVolumeIDFromTargetPath(s.Context(), &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
	return resp.VolumeID, err
}

// The methods below go through the boundary, past the groups.

// setPoint mounts.
func (s *site) setPoint(path, id string) {
	s.Helper()
	s.must(s.node.Host().Mounts.SetPoint(path+`\`, id))
}

// mountedAt is what the mount manager has at a path, "" for nothing.
func (s *site) mountedAt(path string) string {
	name, err := s.node.Host().Mounts.VolumeAt(path + `\`)
	if err != nil {
		return ""
	}
	return name
}

// directory makes a directory whose parent exists.
func (s *site) directory(path string) {
	s.Helper()
	f, err := s.node.Host().Files.Open(nil, `\\?\`+path, win.OpenFile{
		Access: win.Synchronize, Disposition: win.CreateNew, Options: win.FileDirectoryFile,
	})
	s.must(err)
	s.must(f.Close())
}

// link makes a directory link.
func (s *site) link(path, target string) {
	s.Helper()
	s.must(s.node.Host().Files.SymbolicLink(`\\?\`+path, target, win.SymbolicLinkFlagDirectory))
}

// dangling mounts the other volume at a path and takes its disk away.
func (s *site) dangling(path string) {
	s.Helper()
	s.setPoint(path, otherID)
	s.must(s.node.DetachDisk("other"))
}

// answers makes the calls that are chosen answer a code instead.
func (s *site) answers(code error, chosen func(simhost.Call) bool) {
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if chosen(c) {
			return fmt.Errorf("%w", code)
		}
		return do()
	})
}

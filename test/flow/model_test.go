// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// model says what random calls of the groups must come to: which succeed, with
// which kind the others fail, and what is then online, formatted, mounted, how
// large, and still there.
type model struct {
	hosttest.Driver
	node   *simhost.Node
	spec   simhost.NodeSpec
	disks  []*modelDisk
	mounts map[string]*modelDisk // by folder, whether the disk is there or not
	marks  int
}

// modelDisk is a disk whose volume lies in one partition.
type modelDisk struct {
	name      string
	size      simhost.Size
	number    uint32 // while it is attached
	attached  bool
	offline   bool
	id        string       // of its volume, "" before it is partitioned
	partition simhost.Size // its length
	formatted bool
	marks     []string // files in it
}

// live: Windows shows the disk's volume.
func (d *modelDisk) live() bool { return d.attached && !d.offline && d.id != "" }

// most is what the partition can have: it begins at 16 MiB, and the backup of
// the GPT takes a part of the last MiB.
func (d *modelDisk) most() simhost.Size { return d.size - 17*simhost.MiB }

var folders = []string{`C:\mnt\a`, `C:\mnt\b`}

func newModel(t *rapid.T) *model {
	m := &model{mounts: map[string]*modelDisk{}}
	m.spec = simhost.NodeSpec{
		Version: simhost.SpecVersion, Name: "model", Arrival: simhost.Duration(300 * time.Millisecond),
		Disks: []simhost.DiskSpec{simhost.BootDisk()}, Directories: folders,
	}
	if sw := rapid.SampledFrom(append([]simhost.Switch{{Name: "none"}}, simhost.AllSwitches()...)).Draw(t, "switch"); movesNoPartition(sw.Switches) {
		m.spec.Switches = sw.Switches
	}
	for i, name := range []string{"one", "two"} {
		m.disks = append(m.disks, &modelDisk{name: name, size: simhost.GiB})
		m.spec.Attachable = append(m.spec.Attachable, simhost.DiskSpec{
			Name: name, Size: simhost.GiB, Bus: "scsi", Serial: name, Address: &simhost.AddressSpec{Port: 1, LUN: uint8(i)},
		})
	}
	node, err := simhost.New(m.spec)
	if err != nil {
		t.Fatal(err)
	}
	m.node = node
	if m.Groups, err = hosttest.GroupsOn(node.Host()); err != nil {
		t.Fatal(err)
	}
	for _, d := range m.disks { // most runs begin with something to work on
		m.attachDisk(t, d)
		if rapid.Bool().Draw(t, "partitioned") {
			m.partitionDisk(t, d)
		}
	}
	return m
}

// movesNoPartition: the switches of the reserved partition change where the
// others begin.
func movesNoPartition(s simhost.Switches) bool { return !s.LargeMSR && s.MSR == simhost.MSRFirst }

// settle lets volumes arrive.
func settle() { <-time.After(time.Second) }

func (m *model) drawDisk(t *rapid.T) *modelDisk { return rapid.SampledFrom(m.disks).Draw(t, "disk") }

// drawWhere draws one of the disks that qualify.
func (m *model) drawWhere(t *rapid.T, qualifies func(*modelDisk) bool) *modelDisk {
	var some []*modelDisk
	for _, d := range m.disks {
		if qualifies(d) {
			some = append(some, d)
		}
	}
	if len(some) == 0 {
		t.Skip("no such disk")
	}
	return rapid.SampledFrom(some).Draw(t, "disk")
}

func (m *model) drawVolume(t *rapid.T) *modelDisk {
	return m.drawWhere(t, func(d *modelDisk) bool { return d.id != "" })
}

func drawFolder(t *rapid.T) string { return rapid.SampledFrom(folders).Draw(t, "folder") }

// want judges the error of a call.
func want(t *rapid.T, err error, kind errdefs.Kind) {
	t.Helper()
	if got := errdefs.KindOf(err); got != kind {
		t.Fatalf("error of kind %v, want %v: %v", got, kind, err)
	}
}

// gone is the kind of a call for the volume of a disk that is not live.
func (m *model) gone(d *modelDisk) errdefs.Kind {
	switch {
	case d.live():
		return errdefs.None
	case d.attached && m.spec.Switches.OfflineVolumeNotReady:
		return errdefs.Unavailable
	}
	return errdefs.NotFound
}

func attachedOr(d *modelDisk, kind errdefs.Kind) errdefs.Kind {
	if d.attached {
		return errdefs.None
	}
	return kind
}

// numberOf is a disk's number, or one that no disk has.
func numberOf(d *modelDisk) uint32 {
	if d.attached {
		return d.number
	}
	return 99
}

func (m *model) attach(t *rapid.T) {
	m.attachDisk(t, m.drawWhere(t, func(d *modelDisk) bool { return !d.attached }))
}

func (m *model) attachDisk(t *rapid.T, d *modelDisk) {
	number, err := m.node.AttachDisk(d.name)
	want(t, err, errdefs.None)
	d.attached, d.number = true, number
	settle()
}

func (m *model) detach(t *rapid.T) {
	d := m.drawWhere(t, func(d *modelDisk) bool { return d.attached })
	want(t, m.node.DetachDisk(d.name), errdefs.None)
	d.attached = false
}

func (m *model) growDisk(t *rapid.T) {
	d := m.drawDisk(t)
	d.size += simhost.Size(rapid.IntRange(1, 500).Draw(t, "MiB")) * simhost.MiB
	want(t, m.node.GrowDisk(d.name, d.size), errdefs.None)
}

func (m *model) partition(t *rapid.T) { m.partitionDisk(t, m.drawDisk(t)) }

func (m *model) partitionDisk(t *rapid.T, d *modelDisk) {
	_, err := m.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: numberOf(d)})
	want(t, err, attachedOr(d, errdefs.NotFound))
	if err != nil || d.id != "" {
		return
	}
	d.offline = false
	list, err := m.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: d.number})
	want(t, err, errdefs.None)
	if len(list.VolumeIDs) != 1 {
		t.Fatalf("volumes %q", list.VolumeIDs)
	}
	d.id = list.VolumeIDs[0]
	// Windows may not have seen yet that the disk has grown.
	if d.partition = m.extent(t, d); d.partition > d.most() || d.partition < simhost.GiB-17*simhost.MiB {
		t.Fatalf("partition of %s on %s", d.partition, d.size)
	}
}

// extent is the length of a volume's partition.
func (m *model) extent(t *rapid.T, d *modelDisk) simhost.Size {
	dev, err := m.node.Host().Devices.Open(strings.TrimSuffix(d.id, `\`), win.NoAccess)
	want(t, err, errdefs.None)
	out := make([]byte, abi.DiskExtentsSize(1))
	_, err = dev.Control(abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, out)
	want(t, err, errdefs.None)
	want(t, dev.Close(), errdefs.None)
	on, err := abi.DecodeDiskExtents(out)
	want(t, err, errdefs.None)
	return simhost.Size(on[0].Length)
}

func (m *model) setState(t *rapid.T) {
	d, online := m.drawDisk(t), rapid.Bool().Draw(t, "online")
	_, err := m.Disk.SetDiskState(t.Context(), &disk.SetDiskStateRequest{DiskNumber: numberOf(d), IsOnline: online})
	want(t, err, attachedOr(d, errdefs.NotFound))
	if err == nil {
		d.offline = !online
		settle()
	}
}

func (m *model) format(t *rapid.T) {
	d := m.drawVolume(t)
	_, err := m.Volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeID: d.id})
	want(t, err, m.gone(d))
	if err == nil {
		d.formatted, d.marks = true, nil
	}
}

func (m *model) mount(t *rapid.T) {
	d, folder := m.drawVolume(t), drawFolder(t)
	kind := m.gone(d)
	if at := m.mounts[folder]; kind == errdefs.None && at != nil && at != d && m.gone(at) != errdefs.NotFound {
		kind = errdefs.FailedPrecondition // another volume, and not a dead one
	}
	_, err := m.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeID: d.id, TargetPath: folder})
	want(t, err, kind)
	if err == nil {
		m.mounts[folder] = d
	}
}

func (m *model) unmount(t *rapid.T) {
	d, folder := m.drawVolume(t), drawFolder(t)
	kind := errdefs.None
	if at := m.mounts[folder]; at != nil && at != d {
		kind = errdefs.FailedPrecondition
	}
	_, err := m.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeID: d.id, TargetPath: folder})
	want(t, err, kind)
	if err == nil {
		delete(m.mounts, folder)
	}
}

func (m *model) resize(t *rapid.T) {
	d := m.drawVolume(t)
	size := simhost.Size(rapid.OneOf(
		rapid.Just(int64(0)), rapid.Int64Range(1, int64(d.size)), rapid.Int64Range(int64(d.partition), int64(d.most())),
	).Draw(t, "size"))
	grown := size
	if size == 0 {
		grown = d.most()
	}
	kind := m.gone(d)
	switch {
	case kind != errdefs.None || grown < d.partition+simhost.MiB:
		grown = d.partition
	case grown > d.most():
		grown, kind = d.partition, errdefs.OutOfRange
	}
	_, err := m.Volume.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeID: d.id, SizeBytes: int64(size)})
	want(t, err, kind)
	d.partition = (grown + 511) / 512 * 512
}

// write leaves a file in what is mounted at a folder.
func (m *model) write(t *rapid.T) {
	folder := drawFolder(t)
	d := m.mounts[folder]
	if d == nil || !d.live() || !d.formatted {
		return
	}
	m.marks++
	mark := fmt.Sprintf("mark%d", m.marks)
	want(t, m.node.AddFile(folder+`\`+mark, 1), errdefs.None)
	d.marks = append(d.marks, mark)
}

// check compares all that the groups tell with the model.
func (m *model) check(t *rapid.T) {
	for _, d := range m.disks {
		m.checkDisk(t, d)
	}
	for _, folder := range folders {
		m.checkFolder(t, folder)
	}
	if n := m.node.OpenHandles(); n != 0 {
		t.Fatalf("%d handles open", n)
	}
}

func (m *model) checkDisk(t *rapid.T, d *modelDisk) {
	list, err := m.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: numberOf(d)})
	kind := attachedOr(d, errdefs.NotFound)
	if d.attached && d.offline {
		kind = errdefs.FailedPrecondition
	}
	want(t, err, kind)
	var ids []string
	if d.live() {
		ids = []string{d.id}
	}
	if !slices.Equal(list.VolumeIDs, ids) {
		t.Fatalf("disk %s: volumes %q, want %q", d.name, list.VolumeIDs, ids)
	}
	if d.id == "" {
		return
	}
	number, err := m.Volume.GetDiskNumberFromVolumeID(t.Context(), &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: d.id})
	want(t, err, m.gone(d))
	formatted, err := m.Volume.IsVolumeFormatted(t.Context(), &volume.IsVolumeFormattedRequest{VolumeID: d.id})
	if !d.live() {
		if err == nil {
			t.Fatalf("volume of disk %s, which is gone, is formatted: %v", d.name, formatted.Formatted)
		}
		return
	}
	want(t, err, errdefs.None)
	stats, err := m.Volume.GetVolumeStats(t.Context(), &volume.GetVolumeStatsRequest{VolumeID: d.id})
	want(t, err, errdefs.None)
	total := simhost.Size(0)
	if d.formatted {
		total = d.partition
	}
	if number.DiskNumber != d.number || formatted.Formatted != d.formatted || simhost.Size(stats.TotalBytes) != total || m.extent(t, d) != d.partition {
		t.Fatalf("disk %s: on %d, formatted %v, %d bytes in %s; want %+v", d.name, number.DiskNumber, formatted.Formatted, stats.TotalBytes, m.extent(t, d), d)
	}
}

func (m *model) checkFolder(t *rapid.T, folder string) {
	at, err := m.Volume.GetVolumeIDFromTargetPath(t.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: folder})
	d := m.mounts[folder]
	switch {
	case d == nil:
		want(t, err, errdefs.NotFound)
		return
	case !d.live():
		want(t, err, m.gone(d))
		return
	}
	want(t, err, errdefs.None)
	if at.VolumeID != d.id {
		t.Fatalf("%s: %s, want %s", folder, at.VolumeID, d.id)
	}
	for _, mark := range d.marks {
		there, err := m.Filesystem.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: folder + `\` + mark})
		if err != nil || !there.Exists {
			t.Fatalf("%s is gone from %s: %v", mark, folder, err)
		}
	}
}

// checkModel runs a model in a bubble, few times: each run is long, and
// -rapid.checks asks for more.
func checkModel(t *testing.T, times int, run func(*rapid.T)) {
	t.Helper()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set(strconv.Itoa(times)); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = checks.Value.Set(checks.DefValue) }()
	}
	synctest.Test(t, func(t *testing.T) {
		// In a bubble a test has no deadline, for which rapid would ask it.
		rapid.Check(struct{ rapid.TB }{t}, run)
	})
}

func TestModel(t *testing.T) {
	checkModel(t, 30, func(t *rapid.T) {
		m := newModel(t)
		defer wmi.On(m.node.Host()).Close()
		t.Repeat(map[string]func(*rapid.T){
			"attach": m.attach, "detach": m.detach, "growDisk": m.growDisk,
			"partition": m.partition, "setState": m.setState, "format": m.format,
			"mount": m.mount, "unmount": m.unmount, "resize": m.resize, "write": m.write,
			"": m.check,
		})
	})
}

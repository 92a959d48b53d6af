// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// model says what random calls of the groups must come to: which succeed, with
// which kind the others fail, and what is then online, formatted, mounted, how
// large, and still there; also where a boundary call fails, the process ends
// between two, or the node restarts.
type model struct {
	hosttest.Driver
	node    *simhost.Node
	spec    simhost.NodeSpec
	disks   []*modelDisk
	mounts  map[string]*modelDisk // by folder, whether the disk is there or not
	missing map[string]bool       // folders that are not there
	marks   int
	boot    string // the volume of Windows
}

// modelDisk is a disk whose volume lies in one partition.
type modelDisk struct {
	name       string
	size       simhost.Size
	number     uint32 // while it is attached
	attached   bool
	offline    bool
	unseen     bool         // online, and the volume manager has not been told
	id         string       // of its volume, "" before it is partitioned
	partition  simhost.Size // its length
	fileSystem simhost.Size // what it covers of it, 0 for RAW
	marks      []string     // files in it
	foreign    int64        // where a file system of Linux begins, 0: nowhere
}

// linux is by what a file system of Linux is known.
const linux = "\x53\xef"

// isForeign: what Windows calls empty is in use.
func (d *modelDisk) isForeign() bool { return d.foreign != 0 }

// live: Windows shows the disk's volume.
func (d *modelDisk) live() bool { return d.attached && !d.offline && !d.unseen && d.id != "" }

// most is what the partition can have: it begins at 16 MiB, and the backup of
// the GPT takes a part of the last MiB.
func (d *modelDisk) most() simhost.Size { return d.size - 17*simhost.MiB }

var folders = []string{`C:\mnt\a`, `C:\mnt\b`}

func newModel(t *rapid.T) *model {
	m := &model{mounts: map[string]*modelDisk{}, missing: map[string]bool{}}
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
	t.Cleanup(node.Close)
	m.boot = regexp.MustCompile(`(\S+) letter: C:`).FindStringSubmatch(string(node.Snapshot()))[1]
	m.begin(t)
	for _, d := range m.disks { // most runs begin with something to work on
		m.attachDisk(t, d)
		if often(t) {
			m.partitionDisk(t, d)
		}
		if d.live() && often(t) {
			m.formatVolume(t, d)
			m.mountAt(t, d, drawFolder(t))
		}
	}
	return m
}

// movesNoPartition: the switches of the reserved partition change where the
// others begin.
func movesNoPartition(s simhost.Switches) bool { return !s.LargeMSR && s.MSR == simhost.MSRFirst }

func (m *model) begin(t *rapid.T) {
	groups, err := hosttest.GroupsOn(m.node.Host())
	if err != nil {
		t.Fatal(err)
	}
	m.Groups = groups
}

func (m *model) restart(t *rapid.T) {
	m.node.RestartDriver()
	m.begin(t)
}

func (m *model) reboot(t *rapid.T) {
	m.node.Reboot()
	m.begin(t)
	settle()
}

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

// often is what three of four draws are.
func often(t *rapid.T) bool { return rapid.IntRange(0, 3).Draw(t, "often") > 0 }

func drawFolder(t *rapid.T) string { return rapid.SampledFrom(folders).Draw(t, "folder") }

// want judges the error of a call.
func want(t *rapid.T, err error, kind errdefs.Kind) {
	t.Helper()
	if got := errdefs.KindOf(err); got != kind {
		t.Fatalf("error of kind %v, want %v: %v", got, kind, err)
	}
}

// change is a call of a group that changes something, or is refused.
type change struct {
	of    *modelDisk // which it names, if any
	at    string     // the folder that it names, if any
	calls int        // about how many boundary calls it makes
	call  func() error
	kind  errdefs.Kind
	steps []func() // what becomes of the model, in this order
	// between: there are states between them that only the same call mends.
	between bool
}

// drawDiskFault draws a fault of one of the first calls, or of a vital one.
func drawDiskFault(t *rapid.T, calls int) fault {
	f := drawFaultOf(t, calls, win.ERROR_ACCESS_DENIED, win.ERROR_NOT_READY, win.ERROR_SHARING_VIOLATION, win.ERROR_INVALID_PARAMETER,
		win.ERROR_SEM_TIMEOUT, win.ERROR_BUSY, win.ERROR_IO_DEVICE, win.ERROR_DEVICE_NOT_CONNECTED)
	if f.at > 0 && !often(t) {
		f.at, f.only = 1, rapid.SampledFrom(vital).Draw(t, "only")
	}
	return f
}

// makes makes a change, disturbed or not. Undisturbed it ends as it must.
// Disturbed it may end in an error after any of its steps, and the same call
// again ends as an undisturbed one.
func (m *model) makes(t *rapid.T, c change) {
	before := m.node.Snapshot()
	f := drawDiskFault(t, c.calls)
	struck, err := f.strike(m.node, c.call)
	if struck && f.fatal {
		m.restart(t)
	}
	settle()
	if struck && (err != nil || f.tells()) {
		c = m.cutOff(t, c, f, err)
	} else {
		if struck && f.forbids() {
			t.Fatalf("%v of %s was passed over", f.gave, f.in)
		}
		m.ends(t, c, err)
	}
	m.spares(t, c, before)
	if struck && (rapid.Bool().Draw(t, "again") || c.between) {
		err = c.call()
		settle()
		m.ends(t, c, err)
		m.spares(t, c, before)
	}
}

// ends takes the model to the end of a change.
func (m *model) ends(t *rapid.T, c change, err error) {
	want(t, err, c.kind)
	if err == nil {
		for _, step := range c.steps {
			step()
		}
	}
	m.checkFacts(t)
}

// cutOff takes the model as many steps as the node has gone, and returns what is
// left of the change.
func (m *model) cutOff(t *rapid.T, c change, f fault, err error) change {
	if err != nil && errdefs.KindOf(err) != c.kind && !f.explains(err) {
		t.Fatalf("%v does not explain %v of %s", err, f.gave, f.in)
	}
	refused := c.kind != errdefs.None && !f.tells()
	for !refused && len(c.steps) > 0 && simhost.Diff(m.facts(), m.found()) != "" {
		c.steps[0]()
		c.steps, c.kind = c.steps[1:], errdefs.None // nothing is in its way any more
	}
	m.checkFacts(t)
	return c
}

// spares wants nothing changed since but what a change names.
func (m *model) spares(t *rapid.T, c change, before simhost.Snapshot) {
	for line := range strings.Lines(simhost.Diff(before, m.node.Snapshot())) {
		if !c.names(line[2:]) {
			t.Fatalf("changed what was not named: %s", line)
		}
	}
}

func (c change) names(fact string) bool {
	switch {
	case strings.Contains(fact, " known size: "), strings.Count(fact, " bytes usable, ") == 2:
		return true // Windows has looked how large a disk is, which is no change
	case c.at != "" && strings.Contains(fact, c.at):
		return true
	case c.of == nil:
		return false
	}
	return strings.HasPrefix(fact, "disk "+c.of.name+" ") || c.of.id != "" && strings.Contains(fact, strings.TrimPrefix(c.of.id, `\\?\`))
}

// facts are the model as the node's snapshot has it.
func (m *model) facts() simhost.Snapshot {
	var b strings.Builder
	for _, d := range m.disks {
		fmt.Fprintf(&b, "disk %s state: %s\n", d.name, d.state())
		if d.id != "" {
			fmt.Fprintf(&b, "disk %s partition: %s\n", d.name, d.partition)
		}
		if d.foreign != 0 {
			fmt.Fprintf(&b, "disk %s holds: %q\n", d.name, linux)
		}
		if !d.live() {
			continue
		}
		content := "RAW"
		if d.fileSystem > 0 {
			content = d.fileSystem.String()
		}
		fmt.Fprintf(&b, "volume %s file system: %s\n", d.id, content)
		for _, mark := range d.marks {
			fmt.Fprintf(&b, "file %s%s: 1 bytes\n", d.id, mark)
		}
	}
	for _, folder := range folders {
		if d := m.mounts[folder]; d != nil {
			fmt.Fprintf(&b, "file %s: mount point to %s\n", folder, strings.Replace(d.id, `\\?\`, `\??\`, 1))
			if d.live() {
				fmt.Fprintf(&b, "mount manager %s\\: %s\n", folder, d.id)
			}
		} else if !m.missing[folder] {
			fmt.Fprintf(&b, "file %s: directory\n", folder)
		}
	}
	return simhost.Snapshot(b.String())
}

func (d *modelDisk) state() string {
	switch {
	case !d.attached:
		return "detached"
	case d.offline:
		return fmt.Sprintf("attached as %d, offline", d.number)
	}
	return fmt.Sprintf("attached as %d, online", d.number)
}

// modelFacts are the lines of a snapshot that the model knows of, and what it
// knows.
var modelFacts = []struct {
	line *regexp.Regexp
	fact string
}{
	{regexp.MustCompile(`^disk (one|two) state: .*\n`), "$0"},
	{regexp.MustCompile(`^(disk (?:one|two) partition) \d+: basic data, (\S+) at .*`), "$1: $2"},
	{regexp.MustCompile(`^(volume \S+ file system: )(?:NTFS "", )?(\S+).*`), "$1$2"},
	{regexp.MustCompile(`^file (C:\\mnt\\|\\\\).*\n`), "$0"},
	{regexp.MustCompile(`^mount manager .*\}\\\n`), "$0"},
}

// found is the same of the node.
func (m *model) found() simhost.Snapshot {
	var b strings.Builder
	for line := range strings.Lines(string(m.node.Snapshot())) {
		if at, is := strings.CutPrefix(line, "mount manager "); is && !m.isMounted(at) {
			continue // what it remembers of other folders hurts nobody
		}
		for _, f := range modelFacts {
			if f.line.MatchString(line) && !strings.Contains(line, m.boot) {
				b.WriteString(f.line.ReplaceAllString(line, f.fact))
			}
		}
	}
	for _, d := range m.disks {
		if held, err := m.node.ReadMedia(d.name, d.foreign, len(linux)); d.foreign != 0 && err == nil {
			fmt.Fprintf(&b, "disk %s holds: %q\n", d.name, held)
		}
	}
	return simhost.Snapshot(b.String())
}

// isMounted reports whether a text begins with a folder where a volume is mounted.
func (m *model) isMounted(text string) bool {
	for folder := range m.mounts {
		if strings.HasPrefix(text, folder) {
			return true
		}
	}
	return false
}

func (m *model) checkFacts(t *rapid.T) {
	t.Helper()
	if diff := simhost.Diff(m.facts(), m.found()); diff != "" {
		t.Fatalf("the model and the node differ:\n%s", diff)
	}
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

func (m *model) partition(t *rapid.T) { m.partitionDisk(t, m.drawDisk(t)) }

func (m *model) partitionDisk(t *rapid.T, d *modelDisk) {
	overwrite := d.isForeign() && rapid.Bool().Draw(t, "overwrite")
	c := change{of: d, calls: 80, kind: attachedOr(d, errdefs.NotFound), call: func() error {
		_, err := m.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: numberOf(d), Overwrite: overwrite})
		return err
	}}
	switch {
	case !d.attached || d.id != "":
	case d.isForeign() && !overwrite:
		c.kind = errdefs.FailedPrecondition
	default:
		c.steps = []func(){func() { d.offline, d.foreign = false, 0 }, func() { m.arrived(t, d) }}
		c.between = overwrite
	}
	m.makes(t, c)
}

// arrived takes over the volume of a new partition.
func (m *model) arrived(t *rapid.T, d *modelDisk) {
	on := regexp.MustCompile(`\nvolume (\S+): on disk ` + d.name + `, (\S+) at`).FindStringSubmatch(string(m.node.Snapshot()))
	if on == nil {
		t.Fatalf("disk %s has no volume", d.name)
	}
	d.id = on[1]
	want(t, d.partition.UnmarshalJSON([]byte(strconv.Quote(on[2]))), errdefs.None)
	// Windows may not have seen yet that the disk has grown.
	if d.partition > d.most() || d.partition < simhost.GiB-17*simhost.MiB {
		t.Fatalf("partition of %s on %s", d.partition, d.size)
	}
}

func (m *model) setState(t *rapid.T) {
	d := m.drawDisk(t)
	if at := slices.IndexFunc(m.disks, func(d *modelDisk) bool { return d.offline }); at >= 0 && often(t) {
		d = m.disks[at]
	}
	online := d.offline == often(t)
	c := change{of: d, calls: 6, kind: attachedOr(d, errdefs.NotFound), call: func() error {
		_, err := m.Disk.SetDiskState(t.Context(), &disk.SetDiskStateRequest{DiskNumber: numberOf(d), IsOnline: online})
		return err
	}}
	if d.attached {
		comes := online && d.offline
		c.steps = []func(){func() { d.offline, d.unseen = !online, comes }, func() { d.unseen = false }}
		c.between = comes
	}
	m.makes(t, c)
}

func (m *model) format(t *rapid.T) { m.formatVolume(t, m.drawVolume(t)) }

func (m *model) formatVolume(t *rapid.T, d *modelDisk) {
	overwrite := d.isForeign() && rapid.Bool().Draw(t, "overwrite")
	c := change{of: d, calls: 40, kind: m.gone(d), call: func() error {
		_, err := m.Volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeID: d.id, Overwrite: overwrite})
		return err
	}}
	switch {
	case !d.live():
	case d.isForeign() && !overwrite:
		c.kind = errdefs.FailedPrecondition
	default:
		c.steps = []func(){func() { d.fileSystem, d.marks, d.foreign = d.partition, nil, 0 }}
	}
	m.makes(t, c)
}

func (m *model) mount(t *rapid.T) { m.mountAt(t, m.drawVolume(t), drawFolder(t)) }

func (m *model) mountAt(t *rapid.T, d *modelDisk, folder string) {
	c := change{of: d, at: folder, calls: 10, kind: m.gone(d), call: func() error {
		_, err := m.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeID: d.id, TargetPath: folder})
		return err
	}}
	at := m.mounts[folder]
	switch {
	case !d.live():
	case m.missing[folder]:
		c.kind = errdefs.NotFound
	case at != nil && at != d && m.gone(at) != errdefs.NotFound:
		c.kind = errdefs.FailedPrecondition // another volume, and not a dead one
		fallthrough
	default:
		if at != d {
			c.steps = append(c.steps, func() { delete(m.mounts, folder) })
		}
		c.steps = append(c.steps, func() { m.mounts[folder] = d })
	}
	m.makes(t, c)
}

func (m *model) unmount(t *rapid.T) {
	d, folder := m.drawVolume(t), drawFolder(t)
	if at := m.mounts[folder]; at != nil && often(t) {
		d = at
	}
	c := change{of: d, at: folder, calls: 8, call: func() error {
		_, err := m.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeID: d.id, TargetPath: folder})
		return err
	}}
	switch m.mounts[folder] {
	case nil:
	case d:
		c.steps = []func(){func() { delete(m.mounts, folder) }}
	default:
		c.kind = errdefs.FailedPrecondition
	}
	m.makes(t, c)
}

func (m *model) resize(t *rapid.T) {
	d := m.drawVolume(t)
	size := simhost.Size(rapid.OneOf(
		rapid.Just(int64(0)), rapid.Int64Range(1, int64(d.size)), rapid.Int64Range(int64(d.partition), int64(d.most())),
	).Draw(t, "size"))
	c := change{of: d, calls: 20, kind: m.gone(d), call: func() error {
		_, err := m.Volume.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeID: d.id, SizeBytes: int64(size)})
		return err
	}}
	grown := size
	if size == 0 {
		grown = d.most()
	}
	switch {
	case c.kind != errdefs.None:
	case grown < d.partition+simhost.MiB:
		grown = d.partition
	case grown > d.most():
		c.kind = errdefs.OutOfRange
	}
	if c.kind == errdefs.None {
		c.steps = []func(){func() { d.partition = (grown + 511) / 512 * 512 }, func() {
			if d.fileSystem > 0 {
				d.fileSystem = d.partition
			}
		}}
	}
	m.makes(t, c)
}

// rmdir is also how some drivers unmount.
func (m *model) rmdir(t *rapid.T) {
	folder := drawFolder(t)
	m.makes(t, change{
		at: folder, calls: 40,
		call: func() error {
			_, err := m.Filesystem.Rmdir(t.Context(), &filesystem.RmdirRequest{Path: folder, Force: true})
			return err
		},
		steps: []func(){func() { delete(m.mounts, folder) }, func() { m.missing[folder] = true }},
	})
}

func (m *model) mkdir(t *rapid.T) {
	folder, kind := drawFolder(t), errdefs.None
	if at := m.mounts[folder]; at != nil && !at.live() {
		kind = errdefs.AlreadyExists // something is there, and leads nowhere
	}
	m.makes(t, change{
		at: folder, calls: 10, kind: kind,
		call: func() error {
			_, err := m.Filesystem.Mkdir(t.Context(), &filesystem.MkdirRequest{Path: folder})
			return err
		},
		steps: []func(){func() { delete(m.missing, folder) }},
	})
}

// write leaves a file in what is mounted at a folder.
func (m *model) write(t *rapid.T) {
	folder := drawFolder(t)
	d := m.mounts[folder]
	if d == nil || !d.live() || d.fileSystem == 0 {
		return
	}
	m.marks++
	mark := fmt.Sprintf("mark%d", m.marks)
	want(t, m.node.AddFile(folder+`\`+mark, 1), errdefs.None)
	d.marks = append(d.marks, mark)
}

// writeLinux is another system that uses what Windows calls empty.
func (m *model) writeLinux(t *rapid.T) {
	d := m.drawWhere(t, func(d *modelDisk) bool { return d.fileSystem == 0 })
	d.foreign = 1024 + 56
	if d.id != "" {
		d.foreign += int64(16 * simhost.MiB)
	}
	want(t, m.node.SetMedia(d.name, d.foreign, []byte(linux)), errdefs.None)
}

// check compares the node, and all that the groups tell, with the model.
func (m *model) check(t *rapid.T) {
	m.checkFacts(t)
	for _, d := range m.disks {
		m.checkDisk(t, d)
	}
	for _, folder := range folders {
		m.checkFolder(t, folder)
	}
	want(t, blocking.On(m.node.Host()).Clean(), errdefs.None)
	if n := m.node.OpenHandles(); n != 0 {
		t.Fatalf("%d handles open", n)
	}
	if v := m.node.Violations(); len(v) > 0 {
		t.Fatalf("%q", v)
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
	if d.isForeign() {
		want(t, err, errdefs.FailedPrecondition)
	} else {
		want(t, err, errdefs.None)
	}
	stats, err := m.Volume.GetVolumeStats(t.Context(), &volume.GetVolumeStatsRequest{VolumeID: d.id})
	want(t, err, errdefs.None)
	if number.DiskNumber != d.number || formatted.Formatted != (d.fileSystem > 0) || simhost.Size(stats.TotalBytes) != d.fileSystem {
		t.Fatalf("disk %s: on %d, formatted %v, %d bytes; want %+v", d.name, number.DiskNumber, formatted.Formatted, stats.TotalBytes, d)
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
		t.Repeat(map[string]func(*rapid.T){
			"attach": m.attach, "detach": m.detach, "growDisk": m.growDisk,
			"partition": m.partition, "setState": m.setState, "setStateMore": m.setState, "format": m.format,
			"mount": m.mount, "unmount": m.unmount, "unmountMore": m.unmount, "resize": m.resize, "write": m.write, "writeLinux": m.writeLinux,
			"rmdir": m.rmdir, "mkdir": m.mkdir, "reboot": m.reboot,
			"": m.check,
		})
	})
}

// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/intercept"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// site is a host, the groups on it, and what operations work on.
type site struct {
	testing.TB
	calls *intercept.Counter // of the groups at the boundary

	disk    *disk.Disk
	volume  *volume.Volume
	files   *filesystem.Filesystem
	smb     *smb.SMB
	iscsi   *iscsi.ISCSI
	system  *system.System
	service string // one that runs

	node     *simhost.Node // nil: a host that is no simulated node
	disks    int           // with a volume each, mounted
	id, path string        // of the last of these volumes
	number   uint32        // of its disk
	spare    spare
}

// newSite makes the groups on a host whose calls are counted.
func newSite(tb testing.TB, host *win.Host, calls *intercept.Counter) *site {
	tb.Helper()
	tb.Cleanup(wmi.On(host).Close)
	s := &site{TB: tb, calls: calls}
	g, err := hosttest.GroupsOn(host)
	s.must(err)
	s.disk, s.volume, s.files = g.Disk.(*disk.Disk), g.Volume.(*volume.Volume), g.Filesystem.(*filesystem.Filesystem)
	s.smb, s.iscsi, s.system = g.SMB.(*smb.SMB), g.ISCSI.(*iscsi.ISCSI), g.System.(*system.System)
	return s
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// directSite has the groups on a node of some disks.
func directSite(tb testing.TB, disks int) *site {
	tb.Helper()
	node := newNode(tb, disks)
	s := newSite(tb, node.Host(), node.Calls())
	s.live(node, disks)
	return s
}

// live tells the site which node it is on.
func (s *site) live(node *simhost.Node, disks int) {
	s.node, s.disks, s.number = node, disks, uint32(disks)
	s.id, s.path, s.service = volumeID(disks), mountPath(disks), "Spooler"
}

// serial is that of the last disk.
func (s *site) serial() string { return diskName(s.disks) }

// What all nodes have beside their disks.
const (
	pods    = `C:\var\lib\kubelet\pods`
	folder  = `C:\var\lib\kubelet\bench`
	share   = `\\files\data`
	user    = "user"
	word    = "pass"
	target  = "iqn.2020-01.example.san:data"
	address = "10.0.0.10"
)

// newNode makes a node of a number of disks beside the boot disk, with a volume
// each. Each volume is mounted, and there are as many SMB mappings.
func newNode(tb testing.TB, disks int) *simhost.Node {
	tb.Helper()
	spec := simhost.NodeSpec{
		Version: simhost.SpecVersion, Directories: []string{folder},
		Disks:    []simhost.DiskSpec{simhost.BootDisk()},
		Services: []simhost.ServiceSpec{{Name: "MSiSCSI", Start: "auto"}, {Name: "Spooler", Start: "auto"}},
		SMB: []simhost.SMBServerSpec{{
			Name: "files", Users: []simhost.SMBUserSpec{{Name: user, Password: word}}, Shares: []simhost.SMBShareSpec{{Name: "data"}},
		}},
		ISCSI: &simhost.ISCSISpec{
			Portals: []simhost.ISCSIPortalSpec{{Address: address, Registered: true}, {Address: "10.0.0.11"}},
			Targets: []simhost.ISCSITargetSpec{{Name: target, LUNs: []simhost.DiskSpec{{Name: "lun", Size: simhost.GiB, Serial: "lun"}}}},
		},
	}
	for i := 1; i <= disks; i++ {
		d := blank(diskName(i))
		d.Style, d.Partitions = "gpt", []simhost.PartitionSpec{{Volume: &simhost.VolumeSpec{ID: bare(volumeID(i)), FileSystem: "NTFS"}}}
		spec.Disks, spec.Directories = append(spec.Disks, d), append(spec.Directories, mountPath(i))
	}
	node, err := simhost.New(spec)
	if err != nil {
		tb.Fatal(err)
	}
	for i := 1; i <= disks; i++ {
		if err := node.Host().Mounts.SetPoint(mountPath(i)+`\`, volumeID(i)); err != nil {
			tb.Fatal(err)
		}
		if err := node.AddSMBMapping(simhost.SMBMapping{RemotePath: fmt.Sprintf(`\\elsewhere\s%d`, i)}); err != nil {
			tb.Fatal(err)
		}
	}
	if err := node.AddFile(mountPath(disks)+data, 1); err != nil {
		tb.Fatal(err)
	}
	return node
}

// data is a file on the last volume.
const data = `\data`

func diskName(i int) string { return fmt.Sprint("data ", i) }

func volumeID(i int) string { return fmt.Sprintf(`\\?\Volume{bbbbbbbb-0000-4000-8000-%012d}\`, i) }

// bare is the GUID of a volume's name.
func bare(id string) string {
	return strings.TrimSuffix(strings.TrimPrefix(id, `\\?\Volume{`), `}\`)
}

func mountPath(i int) string { return fmt.Sprintf(`%s\%d`, pods, i) }

// blank describes a blank disk, by whose name it is found too.
func blank(name string) simhost.DiskSpec {
	return simhost.DiskSpec{
		Name: name, Size: simhost.GiB, Bus: "sas", Vendor: "Msft    ", Product: "Virtual Disk    ", Serial: name,
		Address: &simhost.AddressSpec{Port: 1},
	}
}

// spare is the disk that changes are tried on.
type spare struct {
	count  int // so far
	name   string
	number uint32
	id     string // of its volume, "" before it has one
}

// attachBlank attaches a blank disk in place of the last spare.
func attachBlank(s *site) error { return s.attach(nil) }

// attachRaw attaches a disk with a volume that has no file system.
func attachRaw(s *site) error { return s.attach(&simhost.VolumeSpec{}) }

// attachGrown attaches a disk that is larger than the file system on it.
func attachGrown(s *site) error {
	if err := s.attach(&simhost.VolumeSpec{FileSystem: "NTFS"}); err != nil {
		return err
	}
	return s.node.GrowDisk(s.spare.name, 2*simhost.GiB)
}

// attach attaches a disk with a volume, if any, in place of the last spare.
func (s *site) attach(v *simhost.VolumeSpec) error {
	if s.spare.name != "" {
		if err := s.node.DetachDisk(s.spare.name); err != nil {
			return err
		}
	}
	count := s.spare.count + 1
	s.spare = spare{count: count, name: fmt.Sprint("spare ", count)}
	d := blank(s.spare.name)
	if v != nil {
		s.spare.id = volumeID(1_000_000 + count)
		v.ID = bare(s.spare.id)
		d.Style, d.Partitions = "gpt", []simhost.PartitionSpec{{Volume: v}}
	}
	if err := s.node.AddDisk(d); err != nil {
		return err
	}
	var err error
	s.spare.number, err = s.node.AttachDisk(s.spare.name)
	return err
}

// partitionBlank attaches a disk that the group partitions, so that WMI knows
// its volume.
func partitionBlank(s *site) error {
	if err := attachBlank(s); err != nil {
		return err
	}
	if err := partitionSpare(s); err != nil {
		return err
	}
	found, err := s.volume.ListVolumesOnDisk(s.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: s.spare.number})
	if err == nil {
		s.spare.id = found.VolumeIDs[0]
	}
	return err
}

func partitionSpare(s *site) error {
	return second(s.disk.PartitionDisk(s.Context(), &disk.PartitionDiskRequest{DiskNumber: s.spare.number}))
}

func formatSpare(s *site) error {
	return second(s.volume.FormatVolume(s.Context(), &volume.FormatVolumeRequest{VolumeID: s.spare.id}))
}

// second is the error of what answers more.
func second[T any](_ T, err error) error { return err }

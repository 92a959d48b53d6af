// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// many is how many there are of each object, numbered from 1 as the disks are.
const many = 64

const kubelet = `C:\var\lib\kubelet`

// farm is a node with many objects and a driver on it.
type farm struct {
	*testing.T
	node *simhost.Node

	disk       *disk.Disk
	volume     *volume.Volume
	filesystem *filesystem.Filesystem
	smb        *smb.SMB
	iscsi      *iscsi.ISCSI
	system     *system.System
}

// onFarm runs a test in a bubble, on a farm whose disks are as prepare makes
// them, and checks what it leaves open.
func onFarm(t *testing.T, prepare func(*simhost.DiskSpec), test func(*farm)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFarm(t, prepare)
		test(f)
		f.node.OnCall(nil)
		synctest.Wait()
		if err := blocking.On(f.node.Host()).Clean(); err != nil {
			t.Error(err)
		}
		f.node.Close()
		synctest.Wait()
		if n := f.node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
	})
}

func newFarm(t *testing.T, prepare func(*simhost.DiskSpec)) *farm {
	t.Helper()
	node, err := simhost.New(farmSpec(prepare))
	f := &farm{T: t, node: node}
	f.must(err)
	f.disk, err = disk.New(node.Disk())
	f.must(err)
	f.volume, err = volume.New(node.Volume())
	f.must(err)
	f.filesystem, err = filesystem.New(node.Filesystem())
	f.must(err)
	f.smb, err = smb.New(node.SMB(), f.filesystem)
	f.must(err)
	f.iscsi, err = iscsi.New(node.ISCSI())
	f.must(err)
	f.system, err = system.New(node.System())
	f.must(err)
	return f
}

func farmSpec(prepare func(*simhost.DiskSpec)) simhost.NodeSpec {
	spec := simhost.NodeSpec{
		Version: simhost.SpecVersion, Name: "farm", Disks: []simhost.DiskSpec{simhost.BootDisk()},
		Services: []simhost.ServiceSpec{{Name: "MSiSCSI", Start: "auto"}},
		ISCSI:    &simhost.ISCSISpec{Portals: []simhost.ISCSIPortalSpec{{Address: portal.TargetAddress, Registered: true}}},
	}
	for i := 1; i <= many; i++ {
		d := simhost.DiskSpec{
			Name: diskName(i), Size: 64 * simhost.MiB, Bus: "scsi", Serial: fmt.Sprint("serial-", i),
			Address: &simhost.AddressSpec{Port: 1, LUN: uint8(i)},
		}
		prepare(&d)
		for j := range d.Partitions {
			d.Partitions[j].Volume.ID = volumeGUID(i)
		}
		spec.Disks = append(spec.Disks, d)
		spec.Directories = append(spec.Directories, folder(i), sibling(i))
		spec.Services = append(spec.Services, simhost.ServiceSpec{Name: service(i), Starting: simhost.TransitionSpec{Takes: simhost.Duration(time.Second)}})
		spec.SMB = append(spec.SMB, simhost.SMBServerSpec{
			Name: server(i), Shares: []simhost.SMBShareSpec{{Name: "share"}}, Users: []simhost.SMBUserSpec{{Name: "user", Password: "secret"}},
		})
		spec.ISCSI.Targets = append(spec.ISCSI.Targets, simhost.ISCSITargetSpec{
			Name: target(i), Portals: []string{portal.TargetAddress + ":3260"},
			LUNs: []simhost.DiskSpec{{Name: fmt.Sprint("lun", i), Size: 64 * simhost.MiB, Serial: fmt.Sprint("lun-", i)}},
		})
	}
	return spec
}

// The names of the objects of a number.

var portal = &iscsi.TargetPortal{TargetAddress: "10.0.0.10", TargetPort: 3260}

func diskName(i int) string   { return fmt.Sprint("disk", i) }
func volumeGUID(i int) string { return fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012d", i) }
func volumeID(i int) string   { return `\\?\Volume{` + volumeGUID(i) + `}\` }
func folder(i int) string     { return fmt.Sprintf(`%s\plugins\volume%d\globalmount`, kubelet, i) }
func sibling(i int) string    { return fmt.Sprintf(`%s\siblings\%d`, kubelet, i) }
func service(i int) string    { return fmt.Sprint("Service", i) }
func server(i int) string     { return fmt.Sprint("server", i) }
func share(i int) string      { return `\\` + server(i) + `\share` }
func target(i int) string     { return fmt.Sprint("iqn.2020-01.example.san:target", i) }

// The disks of a farm.

func blank(*simhost.DiskSpec) {}

func holding(fileSystem string) func(*simhost.DiskSpec) {
	return func(d *simhost.DiskSpec) {
		d.Style, d.Partitions = "gpt", []simhost.PartitionSpec{{Volume: &simhost.VolumeSpec{FileSystem: fileSystem}}}
	}
}

var formatted, raw = holding("NTFS"), holding("")

func (f *farm) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// The modelled node of a case, where its description does not change it: Windows
// on disk 0, then these disks, each GPT with a reserved partition and a volume.
// dead is the id of a volume that never was.
const (
	dataDisk  uint32 = 1 // 1 GiB, NTFS
	otherDisk uint32 = 2 // 1 GiB, NTFS
	rawDisk   uint32 = 3 // 1 GiB, a volume without a file system
	blankDisk uint32 = 4 // 10 GiB, nothing on it

	dataID  = `\\?\Volume{11111111-1111-4111-8111-111111111111}\`
	otherID = `\\?\Volume{22222222-2222-4222-8222-222222222222}\`
	rawID   = `\\?\Volume{33333333-3333-4333-8333-333333333333}\`
	deadID  = `\\?\Volume{99999999-9999-4999-8999-999999999999}\`

	kubelet = `C:\var\lib\kubelet`
)

// Spec describes that node. Its disks are named after the constants: data,
// other, raw, blank.
func Spec() simhost.NodeSpec {
	disk := func(name string, id, fileSystem string) simhost.DiskSpec {
		return simhost.DiskSpec{
			Name: name, Size: simhost.GiB, Bus: "sas", Vendor: "Msft    ", Product: "Virtual Disk    ", Serial: "serial-of-" + name,
			Address: &simhost.AddressSpec{Port: 1, LUN: uint8(len(name))}, Style: "gpt",
			Partitions: []simhost.PartitionSpec{{Type: "msr"}, {Volume: &simhost.VolumeSpec{ID: id, FileSystem: fileSystem}}},
		}
	}
	return simhost.NodeSpec{
		Version: simhost.SpecVersion, Name: "hosttest",
		Directories: []string{folder, kubelet + `\pods`},
		Disks: []simhost.DiskSpec{
			simhost.BootDisk(),
			disk("data", dataID[11:47], "NTFS"),
			disk("other", otherID[11:47], "NTFS"),
			disk("raw", rawID[11:47], ""),
			{
				Name: "blank", Size: 10 * simhost.GiB, Bus: "sas", Vendor: "Msft    ", Product: "Virtual Disk    ", Serial: "serial-of-blank",
				Address: &simhost.AddressSpec{Port: 1, LUN: 9},
			},
		},
	}
}

// Node makes the modelled node of a case.
func (c Case) Node(t *testing.T) *simhost.Node {
	t.Helper()
	spec := Spec()
	if c.Spec != nil {
		c.Spec(&spec)
	}
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// shipped makes a node one of the shipped ones.
func shipped(name string) func(*simhost.NodeSpec) {
	return func(s *simhost.NodeSpec) {
		spec, err := simhost.Named(name)
		if err != nil {
			panic(err) // shipped: cannot fail
		}
		*s = spec
	}
}

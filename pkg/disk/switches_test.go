// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// The stories below hold whatever Windows does where nobody knows: each switch
// of the node stands in each other position once.
func TestEverySwitch(t *testing.T) {
	stories := map[string]func(*testing.T, simhost.Switches){
		"stage":            stageStory,
		"MBR":              mbrStory,
		"foreign content":  foreignStory,
		"partitioned":      partitionedStory,
		"critical":         criticalStory,
		"identities":       identitiesStory,
		"unreadable":       unreadableStory,
		"cluster":          clusterStory,
		"grown in between": grownStory,
	}
	for _, flipped := range append(simhost.AllSwitches(), simhost.Switch{Name: "as expected"}) {
		for name, story := range stories {
			t.Run(flipped.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				story(t, flipped.Switches)
			})
		}
	}
}

// stageStory is what GCP, EBS and vSphere drivers do with a new disk and, after
// it was unstaged, with the same disk again (FLOW-2, FLOW-3).
func stageStory(t *testing.T, switches simhost.Switches) {
	for _, name := range []string{"vsphere-pvscsi", "azure-scsi", "aws-nitro", "gce-scsi"} {
		spec := shipped(t, name)
		spec.Switches = switches
		node := nodeOf(t, spec)
		number := attach(t, node, "data")
		d := group(node)
		if err := partition(t.Context(), node, number); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := diskWide["SetDiskState online"](t.Context(), d, number); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := table(t, node, "data"); got[0] != "GPT" || got[len(got)-1] != "basic data" {
			t.Errorf("%s has %q", name, got)
		}
		if err := diskWide["SetDiskState offline"](t.Context(), d, number); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		before := node.Snapshot()
		if err := partition(t.Context(), node, number); err != nil {
			t.Errorf("%s again: %v", name, err)
		}
		wantUnchanged(t, node, before)
		if n := node.OpenHandles(); n != 0 {
			t.Errorf("%s: %d handles left open", name, n)
		}
	}
}

// switched is a node with switches, a boot disk and disk 1.
func switched(t *testing.T, switches simhost.Switches, data simhost.DiskSpec) *simhost.Node {
	t.Helper()
	return nodeOf(t, simhost.NodeSpec{Switches: switches, Disks: []simhost.DiskSpec{simhost.BootDisk(), data}})
}

func mbrStory(t *testing.T, switches simhost.Switches) {
	node := switched(t, switches, blankWith(func(d *simhost.DiskSpec) { d.Style, d.Offline, d.ReadOnly = "mbr", true, true }))
	if err := partition(t.Context(), node, 1); err != nil {
		t.Error(err)
	}
	wantTable(t, node, "data", "MBR", "type 0x07")
}

// refused: PartitionDisk fails and nothing has changed.
func refused(t *testing.T, node *simhost.Node, reason error) {
	t.Helper()
	before := node.Snapshot()
	wantError(t, partition(t.Context(), node, 1), reason, errdefs.FailedPrecondition)
	wantUnchanged(t, node, before)
}

func foreignStory(t *testing.T, switches simhost.Switches) {
	for _, media := range []simhost.Media{simhost.MediaExt4, simhost.MediaLUKS, simhost.MediaTornNTFS, simhost.MediaReFS, simhost.MediaGPTBackup} {
		refused(t, switched(t, switches, blankWith(func(d *simhost.DiskSpec) { d.Media = []simhost.Media{media} })), contents[media])
	}
}

func partitionedStory(t *testing.T, switches simhost.Switches) {
	linux := []simhost.PartitionSpec{{Type: linuxData, Media: []simhost.Media{simhost.MediaExt4}}}
	refused(t, switched(t, switches, blankWith(func(d *simhost.DiskSpec) { d.Style, d.Partitions = "gpt", linux })), errdefs.ErrFailedPrecondition)

	for _, style := range []string{"mbr", "superfloppy"} {
		node := switched(t, switches, blankWith(func(d *simhost.DiskSpec) {
			d.Style, d.Partitions = style, []simhost.PartitionSpec{{Volume: &simhost.VolumeSpec{FileSystem: "NTFS"}}}
		}))
		before := node.Snapshot()
		if err := partition(t.Context(), node, 1); err != nil {
			t.Errorf("%s: %v", style, err)
		}
		wantUnchanged(t, node, before)
	}
}

func criticalStory(t *testing.T, switches simhost.Switches) {
	node := switched(t, switches, blank())
	before := node.Snapshot()
	for name, run := range diskWide {
		t.Log(name)
		wantError(t, run(t.Context(), group(node), 0), errdefs.ErrCriticalDisk, errdefs.FailedPrecondition)
	}
	wantUnchanged(t, node, before)
}

func clusterStory(t *testing.T, switches simhost.Switches) {
	refused(t, switched(t, switches, clusteredDisk()), errdefs.ErrCriticalDisk)
	refused(t, switched(t, switches, blankWith(func(d *simhost.DiskSpec) { d.Clustered = true })), errdefs.ErrCriticalDisk)
}

func identitiesStory(t *testing.T, switches simhost.Switches) {
	for _, c := range []struct {
		node, disk string
		matcher    disk.Matcher
	}{
		{"aws-nitro", "data2", disk.MatchEBS("vol-0123456789abcdef1")},
		{"azure-scsi", "data-lun1", disk.MatchLUN(1)},
		{"gce-scsi", "data", disk.MatchGooglePage83("pvc-3f1c9a52-7b64-4d0e-8a37-5c2e9d10b6f4")},
		{"vsphere-pvscsi", "data", disk.MatchPage83("6000c2957a5d0e1b2c3d4e5f60718293")},
	} {
		spec := shipped(t, c.node)
		spec.Switches = switches
		node := nodeOf(t, spec)
		for _, d := range spec.Attachable {
			attach(t, node, d.Name)
		}
		want, _ := node.DiskNumber(c.disk)
		if got, err := group(node).FindDisk(t.Context(), c.matcher); err != nil || got.Number != want {
			t.Errorf("%s: got disk %d, %v; want %d", c.node, got.Number, err, want)
		}
	}
}

func unreadableStory(t *testing.T, switches simhost.Switches) {
	refused(t, switched(t, switches, blankWith(func(d *simhost.DiskSpec) {
		d.Unreadable = []simhost.RangeSpec{{Length: 512}}
	})), errdefs.ErrUnknownContent)
}

// grownStory: the cloud grows a disk while it is attached and blank.
func grownStory(t *testing.T, switches simhost.Switches) {
	node := switched(t, switches, blank())
	if err := node.GrowDisk("data", 30*simhost.GiB); err != nil {
		t.Fatal(err)
	}
	if err := partition(t.Context(), node, 1); err != nil {
		t.Fatal(err)
	}
	if got := table(t, node, "data"); got[0] != "GPT" || got[len(got)-1] != "basic data" {
		t.Errorf("got %q", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	fs "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

const (
	kubelet = `C:\var\lib\kubelet`
	staging = kubelet + `\plugins\globalmount`
	podPath = kubelet + `\pods\mount`
)

// newNode is a shipped node whose volumes arrive at once.
func newNode(t *testing.T, name string) *simhost.Node {
	t.Helper()
	spec, err := simhost.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	spec.Arrival, spec.ISCSI = 0, iscsiNetwork()
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	t.Cleanup(func() {
		if n := node.OpenHandles(); n != 0 {
			t.Errorf("%d handles are left open", n)
		}
	})
	return node
}

// attach attaches a disk of the node.
func attach(t *testing.T, node *simhost.Node, name string) uint32 {
	t.Helper()
	number, err := node.AttachDisk(name)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// newMounterOn is newMounter on a simulated node.
func newMounterOn(t *testing.T, node *simhost.Node) *mounter {
	t.Helper()
	fsClient, fsErr := fs.New(node.Filesystem())
	diskClient, diskErr := disk.New(node.Disk())
	volumeClient, volumeErr := volume.New(node.Volume())
	smbClient, smbErr := smb.New(node.SMB(), fsClient)
	iscsiClient, iscsiErr := iscsi.New(node.ISCSI())
	systemClient, systemErr := system.New(node.System())
	must(t, errors.Join(fsErr, diskErr, volumeErr, iscsiErr, smbErr, systemErr))
	return &mounter{Fs: fsClient, Disk: diskClient, Volume: volumeClient, ISCSI: iscsiClient, SMB: smbClient, System: systemClient}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A driver's life of a volume runs as it does with upstream.
func TestDriver(t *testing.T) {
	for _, c := range []struct{ node, id string }{
		{"aws-nitro", "vol0123456789abcdef0"},
		{"vsphere-pvscsi", "6000c2957a5d0e1b2c3d4e5f60718293"},
	} {
		t.Run(c.node, func(t *testing.T) {
			node, ctx := newNode(t, c.node), t.Context()
			m := newMounterOn(t, node)
			want := attach(t, node, "data")

			number, err := m.findDisk(ctx, c.id)
			must(t, err)
			if number != want {
				t.Fatalf("found disk %d, not %d", number, want)
			}
			must(t, m.mkdir(ctx, staging))
			must(t, m.formatAndMount(ctx, number, staging))
			must(t, m.formatAndMount(ctx, number, staging)) // a retry

			volumeID, on, err := m.deviceOf(ctx, staging)
			must(t, err)
			if on != number || !strings.HasPrefix(volumeID, `\\?\Volume{`) || !strings.HasSuffix(volumeID, `}\`) {
				t.Errorf("%q on disk %d", volumeID, on)
			}
			must(t, m.publish(ctx, staging, podPath))
			must(t, m.publish(ctx, staging, podPath))
			if is, err := m.isMount(ctx, podPath); err != nil || !is {
				t.Errorf("is a mount: %t, %v", is, err)
			}

			before, _, err := m.usage(ctx, podPath)
			must(t, err)
			must(t, node.GrowDisk("data", 30*simhost.GiB))
			must(t, m.expand(ctx, volumeID))
			size, err := m.size(ctx, number)
			must(t, err)
			after, used, err := m.usage(ctx, podPath)
			must(t, err)
			if size != int64(30*simhost.GiB) || after < before+int64(19*simhost.GiB) || used <= 0 || used >= after {
				t.Errorf("the disk has %d bytes, the volume grew from %d to %d, %d in use", size, before, after, used)
			}

			must(t, m.mkdir(ctx, kubelet+`\plugins\scratch\a`))
			must(t, m.empty(ctx, kubelet+`\plugins\scratch`))
			must(t, m.unstage(ctx, staging))
			if online, err := m.online(ctx, number); err != nil || online {
				t.Errorf("online: %t, %v", online, err)
			}
			if is, err := m.isMount(ctx, podPath); err != nil || is {
				t.Errorf("the link leads nowhere now, but is a mount: %t, %v", is, err)
			}
		})
	}
}

func TestDriver_FindByLUN(t *testing.T) {
	node := newNode(t, "azure-scsi")
	want := attach(t, node, "data-lun5")
	number, place, err := newMounterOn(t, node).findByLUN(t.Context(), "5")
	must(t, err)
	if number != want || place.Adapter != "3" || place.Target != "0" {
		t.Errorf("disk %d at %+v", number, place)
	}
}

// The constructor of every driver asks nothing, on any system (LIB-7, L15).
func TestDriver_New(t *testing.T) {
	m, err := newMounter()
	must(t, err)
	if m.Fs == nil || m.Disk == nil || m.Volume == nil {
		t.Errorf("%+v", m)
	}
}

// addFiles puts a file server into the node's network.
func addFiles(t *testing.T, node *simhost.Node) {
	t.Helper()
	must(t, node.AddSMBServer(simhost.SMBServerSpec{
		Name: "files", Users: []simhost.SMBUserSpec{{Name: `CORP\alice`, Password: "pa:ss"}},
		Shares: []simhost.SMBShareSpec{{Name: "data", Directories: []string{"pv1"}}},
	}))
}

// A share's stage and unstage, each twice.
func TestDriver_SMB(t *testing.T) {
	node := newNode(t, "vsphere-pvscsi")
	addFiles(t, node)
	m := newMounterOn(t, node)
	must(t, second(m.Fs.Mkdir(t.Context(), &fs.MkdirRequest{Path: kubelet})))
	before := node.Snapshot()
	for range 2 {
		must(t, m.smbMount(t.Context(), `//files/data/pv1`, kubelet+`\smb`, `CORP\alice`, "pa:ss"))
	}
	if len(node.SMBMappings()) != 1 {
		t.Errorf("%d mappings", len(node.SMBMappings()))
	}
	for range 2 {
		must(t, m.smbUnmount(t.Context(), `//files/data/pv1`, kubelet+`\smb`))
	}
	if after := node.Snapshot(); after != before {
		t.Errorf("left:\n%s", simhost.Diff(before, after))
	}
}

func second[T any](_ T, err error) error { return err }

// What vsphere asks of the system group, and the life of a service.
func TestDriver_System(t *testing.T) {
	m := newMounterOn(t, newNode(t, "vsphere-pvscsi"))
	uuid, err := m.nodeUUID(t.Context())
	must(t, err)
	if want := "564d1a2b3c4d5e6f708192a3b4c5d6e7"; uuid != want {
		t.Errorf("got %s, want %s", uuid, want)
	}
	for range 2 {
		must(t, m.ensureService(t.Context(), "MSiSCSI"))
	}
	for range 2 {
		must(t, m.stopService(t.Context(), "MSiSCSI"))
	}
}

const target = "iqn.2020-01.example.san:data"

// iscsiNetwork is a portal with one target that wants CHAP.
func iscsiNetwork() *simhost.ISCSISpec {
	return &simhost.ISCSISpec{
		Portals: []simhost.ISCSIPortalSpec{{Address: "10.0.0.10"}},
		Targets: []simhost.ISCSITargetSpec{{
			Name: target, User: "user", Secret: "verysecretpass",
			LUNs: []simhost.DiskSpec{{Name: "lun", Size: simhost.GiB, Serial: "serial-of-lun"}},
		}},
	}
}

// A target's login and logout, each twice.
func TestDriver_ISCSI(t *testing.T) {
	m := newMounterOn(t, newNode(t, "vsphere-pvscsi"))
	must(t, m.ensureService(t.Context(), "MSiSCSI"))
	for range 2 {
		disks, err := m.login(t.Context(), "10.0.0.10", target, "user", "verysecretpass")
		must(t, err)
		if len(disks) != 1 || disks[0] != "1" {
			t.Errorf("disks %q", disks)
		}
	}
	for range 2 {
		must(t, m.logout(t.Context(), target))
	}
}

// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// Host is a host with a driver on it, for one case.
type Host struct {
	*testing.T
	Groups
	// World is what is done to the machine from outside.
	World World
	// Folder is an empty directory of the case's own, with its drive.
	Folder string
	// Node stands behind the host where it is modelled.
	Node *simhost.Node
	// Restarted gives the groups of a new process of the driver, where the host
	// is modelled.
	Restarted func() Groups
}

// Groups are the six API groups as a driver has them.
type Groups struct {
	Disk       disk.Interface
	Volume     volume.Interface
	Filesystem filesystem.Interface
	SMB        smb.Interface
	ISCSI      iscsi.Interface
	System     system.Interface
}

// World is what is done to a machine from outside: by its operator, its cloud,
// or another program.
type World interface {
	// WriteFile makes a file of that many bytes.
	WriteFile(path string, size int64) error
	// AttachDisk attaches a blank disk of that many bytes. Needs Disks.
	AttachDisk(size int64) (number uint32, err error)
	// GrowDisk makes a disk that AttachDisk attached larger. Needs Disks.
	GrowDisk(number uint32, size int64) error
	// DetachDisk takes such a disk away without asking Windows. Needs Disks.
	DetachDisk(number uint32) error
}

// folder is the Folder of a modelled host.
const folder = kubelet + `\plugins\hosttest`

// OnNode is a modelled host: the groups on a boundary, behind which the node
// stands. restart is the boundary of a new process.
func OnNode(t *testing.T, node *simhost.Node, boundary *win.Host, restart func() *win.Host) *Host {
	t.Helper()
	groups := func(b *win.Host) Groups {
		g, err := GroupsOn(b)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	return &Host{
		T: t, Groups: groups(boundary), World: &modelled{node: node, disks: map[uint32]string{}}, Folder: folder, Node: node,
		Restarted: func() Groups { return groups(restart()) },
	}
}

// GroupsOn makes the groups on a boundary.
func GroupsOn(b *win.Host) (g Groups, err error) {
	var errs [6]error
	g.Disk, errs[0] = disk.New(diskapi.On(b))
	g.Volume, errs[1] = volume.New(volumeapi.On(b))
	files, err := filesystem.New(filesystemapi.On(b))
	g.Filesystem, errs[2] = files, err
	g.SMB, errs[3] = smb.New(smbapi.On(b), files)
	g.ISCSI, errs[4] = iscsi.New(iscsiapi.On(b))
	g.System, errs[5] = system.New(systemapi.On(b))
	return g, errors.Join(errs[:]...)
}

// modelled is the world around a node.
type modelled struct {
	node  *simhost.Node
	disks map[uint32]string // attached here
	made  int
}

func (m *modelled) WriteFile(path string, size int64) error { return m.node.AddFile(path, size) }

func (m *modelled) AttachDisk(size int64) (uint32, error) {
	m.made++
	name := fmt.Sprintf("attached-%d", m.made)
	err := m.node.AddDisk(simhost.DiskSpec{
		Name: name, Size: simhost.Size(size), Bus: "sas", Vendor: "Msft    ", Product: "Virtual Disk    ", Serial: name,
		Address: &simhost.AddressSpec{Port: 2, LUN: uint8(m.made)},
	})
	if err != nil {
		return 0, err
	}
	number, err := m.node.AttachDisk(name)
	if err == nil {
		m.disks[number] = name
	}
	return number, err
}

func (m *modelled) GrowDisk(number uint32, size int64) error {
	return m.node.GrowDisk(m.disks[number], simhost.Size(size))
}

func (m *modelled) DetachDisk(number uint32) error { return m.node.DetachDisk(m.disks[number]) }

// must ends the case at an error.
func (h *Host) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// wantKind wants an error of a kind.
func (h *Host) wantKind(err error, kind errdefs.Kind) {
	h.Helper()
	if err == nil || errdefs.KindOf(err) != kind {
		h.Errorf("got %v of kind %v, want kind %v", err, errdefs.KindOf(err), kind)
	}
}

// wantText wants words in the text of an error.
func (h *Host) wantText(err error, words string) {
	h.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		h.Errorf("no %q in %v", words, err)
	}
}

// wantUnchanged compares the node with how it was.
func (h *Host) wantUnchanged(before simhost.Snapshot) {
	h.Helper()
	if diff := simhost.Diff(before, h.Node.Snapshot()); diff != "" {
		h.Errorf("changed:\n%s", diff)
	}
}

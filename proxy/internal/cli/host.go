// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"

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

// host is what verbs talk to.
type host struct {
	disk       diskGroup
	volume     volumeGroup
	filesystem filesystemGroup
	smb        smbGroup
	iscsi      iscsi.Interface
	system     system.Interface

	// serviceStatus tells how far a service is on its way to run or to stop, which
	// the group does not; nil on hosts that cannot.
	serviceStatus func(ctx context.Context, name string) (systemapi.ServiceStatus, error)

	// sim is the node behind it, nil for a real host.
	sim *simulation
	// in is where a password may be read from.
	in io.Reader
	// warn tells the user of an error that does not end the command.
	warn func(error)
}

// simulation is a simulated node, and how it was at first.
type simulation struct {
	node   *simhost.Node
	before simhost.Snapshot
}

// changes lists what has changed on the node.
func (s *simulation) changes() string { return simhost.Diff(s.before, s.node.Snapshot()) }

// openHost makes the host of a name that --host takes.
func openHost(name string) (*host, error) {
	if name == "local" {
		return localHost()
	}
	if node, ok := strings.CutPrefix(name, "sim:"); ok {
		return simulatedHost(node)
	}
	return nil, &usageError{message: fmt.Sprintf("no host %q: --host takes local, sim:NAME or sim:FILE", name)}
}

// hostNames are the hosts that need no file.
func hostNames() []string {
	names := []string{"local"}
	for _, n := range nodeNames() {
		names = append(names, "sim:"+n)
	}
	return names
}

func nodeNames() []string { return simhost.Names() }

var errNotWindows = fmt.Errorf("--host local: this machine runs %s, not Windows: %w", runtime.GOOS, errdefs.ErrUnsupported)

func localHost() (*host, error) {
	if runtime.GOOS != "windows" {
		return nil, errNotWindows
	}
	return newHost(hostAPIs{diskapi.New(), volumeapi.New(), filesystemapi.New(), smbapi.New(), iscsiapi.New(), systemapi.New()})
}

// simulatedHost is a node that comes with csi-proxy, or one described in a file.
func simulatedHost(name string) (*host, error) {
	spec, err := describedNode(name)
	if err != nil {
		return nil, err
	}
	node, err := startNode(spec)
	if err != nil {
		return nil, fmt.Errorf("--host sim:%s: %w", name, err)
	}
	return hostOf(node)
}

func hostOf(node *simhost.Node) (*host, error) {
	h, err := newHost(hostAPIs{node.Disk(), node.Volume(), node.Filesystem(), node.SMB(), node.ISCSI(), node.System()})
	h.sim = &simulation{node: node, before: node.Snapshot()}
	return h, err
}

func describedNode(name string) (simhost.NodeSpec, error) {
	if slices.Contains(nodeNames(), name) {
		return simhost.Named(name)
	}
	spec, err := simhost.Load(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("--host sim:%s: neither a file nor one of %s: %w", name, strings.Join(nodeNames(), ", "), err)
	}
	return spec, err
}

// startNode makes a node that shows most in one command: every disk is attached,
// and volumes arrive at once.
func startNode(spec simhost.NodeSpec) (*simhost.Node, error) {
	spec.Arrival = 0
	node, err := simhost.New(spec)
	if err != nil {
		return nil, err
	}
	for _, name := range node.Disks() {
		if _, attached := node.DiskNumber(name); attached {
			continue
		}
		if _, err := node.AttachDisk(name); err != nil {
			return nil, err
		}
	}
	return node, nil
}

// hostAPIs are the groups' views of one host.
type hostAPIs struct {
	disk       diskapi.HostAPI
	volume     volumeapi.HostAPI
	filesystem filesystemapi.HostAPI
	smb        smbapi.HostAPI
	iscsi      iscsiapi.HostAPI
	system     systemapi.HostAPI
}

func newHost(on hostAPIs) (*host, error) {
	d, diskErr := disk.New(on.disk)
	v, volumeErr := volume.New(on.volume)
	f, filesErr := filesystem.New(on.filesystem)
	m, smbErr := smb.New(on.smb, f)
	i, iscsiErr := iscsi.New(on.iscsi)
	s, systemErr := system.New(on.system)
	return &host{disk: d, volume: v, filesystem: f, smb: m, iscsi: i, system: s, serviceStatus: on.system.ServiceStatus},
		errors.Join(diskErr, volumeErr, filesErr, smbErr, iscsiErr, systemErr)
}

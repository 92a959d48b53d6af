// SPDX-License-Identifier: Apache-2.0

// Package flow_test replays what CSI drivers do to a node, call by call
// (behaviour.md FLOW), on each shipped node.
package flow_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// newDriver is a new process of a driver on a node.
func newDriver(t *testing.T, node *simhost.Node) hosttest.Driver {
	t.Helper()
	groups, err := hosttest.GroupsOn(node.Host())
	if err != nil {
		t.Fatal(err)
	}
	return hosttest.Driver{Groups: groups}
}

// site is a shipped node whose test is in a bubble.
type site struct {
	*testing.T
	spec simhost.NodeSpec
	node *simhost.Node
	hosttest.Driver
}

func newSite(t *testing.T, name string, switches simhost.Switches) *site {
	t.Helper()
	spec, err := simhost.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	spec.Switches = switches
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		wmi.On(node.Host()).Close()
		if n := node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
	})
	return &site{t, spec, node, newDriver(t, node)}
}

// restart is a new process of the driver, which knows nothing.
func (s *site) restart() { s.Driver = newDriver(s.T, s.node) }

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// attach attaches the data disk, as the cloud does.
func (s *site) attach() uint32 {
	s.Helper()
	number, err := s.node.AttachDisk("data")
	s.must(err)
	return number
}

// mkdir is what kubelet or a pod does on the node itself.
func (s *site) mkdir(path string) {
	s.Helper()
	_, err := s.Filesystem.Mkdir(s.Context(), &filesystem.MkdirRequest{Path: path})
	s.must(err)
}

// size is that of the data disk when it is attached.
func (s *site) size() simhost.Size {
	s.Helper()
	for _, d := range s.spec.Attachable {
		if d.Name == "data" {
			return d.Size
		}
	}
	s.Fatal("no data disk")
	return 0
}

func (s *site) exists(path string) bool {
	s.Helper()
	got, err := s.Filesystem.PathExists(s.Context(), &filesystem.PathExistsRequest{Path: path})
	s.must(err)
	return got.Exists
}

// write leaves a mark in a volume, through its path.
func (s *site) write(path string) {
	s.Helper()
	s.must(s.node.AddFile(path+`\mark`, 4096))
}

// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/lab"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/intercept"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// session is the groups on a node, with what they said and the boundary calls
// that they made.
type session struct {
	node       *simhost.Node
	lab        *lab.Lab  // nil: the groups have the node itself
	host       *win.Host // counted
	disk       *disk.Disk
	volume     *volume.Volume
	filesystem *filesystem.Filesystem
	calls      recorder
	said       []string
}

// recorder keeps the boundary calls of hosts.
type recorder struct{ intercept.Counter }

// host is a host whose calls are kept, until the test ends.
func (r *recorder) host(t *testing.T, host *win.Host) *win.Host {
	t.Helper()
	kept := r.Host(host)
	t.Cleanup(wmi.On(kept).Close)
	return kept
}

// made are the calls since the last time. Which worker of WMI has a task is
// chance, so their own connections are left out.
func (r *recorder) made() []string {
	var calls []string
	for _, c := range r.Calls() {
		if c.Method != "WMI.Enter" && c.Method != "WMI.Connect" {
			calls = append(calls, fmt.Sprintf("%s %s %#x", c.Method, c.Subject, c.Code))
		}
	}
	r.Reset()
	return calls
}

func newSession(t *testing.T, node *simhost.Node, host *win.Host) *session {
	t.Helper()
	s := &session{node: node}
	s.host = s.calls.host(t, host)
	var err error
	if s.disk, err = disk.New(diskapi.On(s.host)); err != nil {
		t.Fatal(err)
	}
	if s.volume, err = volume.New(volumeapi.On(s.host)); err != nil {
		t.Fatal(err)
	}
	if s.filesystem, err = filesystem.New(filesystemapi.On(s.host)); err != nil {
		t.Fatal(err)
	}
	return s
}

// direct has the groups on a shipped node itself.
func direct(t *testing.T, name string) *session {
	t.Helper()
	node := named(t, name)
	return newSession(t, node, node.Host())
}

// through has the lab and internal/win/native in between.
func through(t *testing.T, name string) *session {
	t.Helper()
	node := named(t, name)
	l := hooked(t, node)
	s := newSession(t, node, near(l))
	s.lab = l
	return s
}

// say writes down what a call gave, and the boundary calls that it made, the
// repeats of a poll folded.
func (s *session) say(what string, response any, err error) {
	s.step(what, fmt.Sprintf("%+v, %v", response, err), fold(s.calls.made()))
}

// sayOfAll is say for a call that asks all disks or volumes at once: which of
// them first is chance.
func (s *session) sayOfAll(what string, response any, err error) {
	calls := s.calls.made()
	slices.Sort(calls)
	s.step(what, fmt.Sprintf("%+v, %v", response, err), calls)
}

func (s *session) step(what, result string, calls []string) {
	s.said = append(s.said, what+": "+result)
	for _, call := range calls {
		s.said = append(s.said, what+" made "+call)
	}
}

// fold leaves out each stretch of calls that repeats the one before it.
func fold(calls []string) []string {
	const longest = 24
	for length := 1; length <= longest; length++ {
		for i := 0; i+2*length <= len(calls); {
			if slices.Equal(calls[i:i+length], calls[i+length:i+2*length]) {
				calls = slices.Delete(calls, i+length, i+2*length)
			} else {
				i++
			}
		}
	}
	return calls
}

// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/lab"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/intercept"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
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
	smb        *smb.SMB
	iscsi      *iscsi.ISCSI
	calls      recorder
	steps      []step
}

// step is one call of a group: what it gave, and the boundary calls that it
// made, the repeats of a poll folded.
type step struct {
	Method, Request string
	Response        any
	Err             error
	Calls           []string
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
	g, err := hosttest.GroupsOn(s.host)
	if err != nil {
		t.Fatal(err)
	}
	s.disk, s.volume, s.filesystem = g.Disk.(*disk.Disk), g.Volume.(*volume.Volume), g.Filesystem.(*filesystem.Filesystem)
	s.smb, s.iscsi = g.SMB.(*smb.SMB), g.ISCSI.(*iscsi.ISCSI)
	return s
}

// direct has the groups on the node itself.
func direct(t *testing.T, node *simhost.Node) *session {
	t.Helper()
	return newSession(t, node, node.Host())
}

// through has the lab and internal/win/native in between.
func through(t *testing.T, node *simhost.Node) *session {
	t.Helper()
	l := hooked(t, node)
	s := newSession(t, node, near(l))
	s.lab = l
	return s
}

// ask calls a method of a group, and writes the step down.
func ask[Request, Response any](t *testing.T, s *session, method func(context.Context, Request) (Response, error), req Request) Response {
	t.Helper()
	response, err := method(t.Context(), req)
	s.note(method, req, response, err, fold(s.calls.made()))
	return response
}

// askOfAll is ask for a method that asks all disks or volumes at once: which of
// them first is chance.
func askOfAll[Request, Response any](t *testing.T, s *session, method func(context.Context, Request) (Response, error), req Request) Response {
	t.Helper()
	response, err := method(t.Context(), req)
	s.note(method, req, response, err, sorted(s.calls.made()))
	return response
}

// list is askOfAll for a method that takes nothing.
func list[Response any](t *testing.T, s *session, method func(context.Context) (Response, error)) Response {
	t.Helper()
	response, err := method(t.Context())
	s.note(method, nil, response, err, sorted(s.calls.made()))
	return response
}

func sorted(calls []string) []string {
	slices.Sort(calls)
	return calls
}

func (s *session) note(method, request, response any, err error, calls []string) {
	name := methodName(method)
	if s.lab != nil {
		carried.Store(name, true)
	}
	s.steps = append(s.steps, step{name, fmt.Sprintf("%+v", request), response, err, calls})
}

// methodName is the name of a bound method, as in disk.Disk.FindDisk.
func methodName(method any) string {
	name := runtime.FuncForPC(reflect.ValueOf(method).Pointer()).Name()
	name = strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], "-fm")
	return strings.NewReplacer("(*", "", ")", "").Replace(name)
}

// sameAs compares with the steps on the node itself. An error is what it says.
func (s *session) sameAs(t *testing.T, direct *session) {
	t.Helper()
	diff := cmp.Diff(direct.steps, s.steps,
		cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }))
	if diff != "" {
		t.Errorf("direct (-), through the lab (+):\n%.4000s", diff)
	}
	if diff := simhost.Diff(direct.node.Snapshot(), s.node.Snapshot()); diff != "" {
		t.Error(diff)
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

// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// The conformance suite: on the node itself and through the lab, with the same
// boundary calls on each subject and the same node afterwards.
func TestConformance(t *testing.T) {
	hosttest.Run(t, hosttest.Harness{
		Name: "Wine lab",
		Can:  []hosttest.Ability{hosttest.InProcess, hosttest.Links, hosttest.Mounts, hosttest.Disks, hosttest.Model},
		With: func(t *testing.T, c hosttest.Case, test func(*hosttest.Host)) {
			t.Helper()
			want, got := &run{node: c.Node(t)}, &run{node: c.Node(t)}
			t.Run("direct", func(t *testing.T) {
				t.Cleanup(want.node.Close)
				want.make(t, want.node.Host, test)
			})
			t.Run("through", func(t *testing.T) {
				l := hooked(t, got.node)
				got.make(t, func() *win.Host { return near(l) }, test)
				if err := l.Settle(); err != nil {
					t.Error(err)
				}
			})
			if t.Failed() {
				return
			}
			if !c.AtOnce {
				same(t, want.made, got.made)
			}
			if diff := simhost.Diff(want.state, got.state); diff != "" {
				t.Error(diff)
			}
		},
	})
}

// run is a case on one host: its boundary calls and the node afterwards.
type run struct {
	node  *simhost.Node
	calls recorder
	made  []string
	state simhost.Snapshot
}

func (r *run) make(t *testing.T, boundary func() *win.Host, test func(*hosttest.Host)) {
	t.Helper()
	h := hosttest.OnNode(t, r.node, r.calls.host(t, boundary()), func() *win.Host {
		r.node.RestartDriver()
		return r.calls.host(t, boundary())
	})
	test(h)
	r.node.OnCall(nil)
	r.made, r.state = fold(bySubject(r.calls.made())), r.node.Snapshot()
}

// bySubject keeps the order of the calls on one subject, which is all that is
// the same in each run: a question about many disks asks them at once.
func bySubject(calls []string) []string {
	slices.SortStableFunc(calls, func(a, b string) int {
		_, a, _ = strings.Cut(a, " ")
		_, b, _ = strings.Cut(b, " ")
		return strings.Compare(a[:strings.LastIndexByte(a, ' ')], b[:strings.LastIndexByte(b, ' ')])
	})
	return calls
}

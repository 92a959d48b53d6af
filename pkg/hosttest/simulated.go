// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// Simulated is the simulated node itself, on any operating system. Its tests run
// in bubbles of testing/synctest.
func Simulated() Harness {
	return Harness{
		Name: "simulated node",
		Can:  []Ability{InProcess, Links, Mounts, Disks, Model, Time},
		With: func(t *testing.T, c Case, test func(*Host)) {
			t.Helper()
			synctest.Test(t, func(t *testing.T) { simulate(t, c, test) })
		},
	}
}

func simulate(t *testing.T, c Case, test func(*Host)) {
	node := c.Node(t)
	h := OnNode(t, node, node.Host(), func() *win.Host {
		node.RestartDriver()
		return node.Host()
	})
	defer ended(t, node)
	test(h)
}

// ended checks what a case has left open.
func ended(t *testing.T, node *simhost.Node) {
	t.Helper()
	node.OnCall(nil)
	synctest.Wait()
	if err := blocking.On(node.Host()).Clean(); err != nil {
		t.Error(err)
	}
	node.Close()
	synctest.Wait()
	if n := node.OpenHandles(); n != 0 {
		t.Errorf("%d handles left open", n)
	}
	for _, v := range node.Violations() {
		t.Errorf("a rule of the boundary is broken: %s", v)
	}
}

// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/lab"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// start puts a node into the lab.
func start(t *testing.T, node *simhost.Node) *lab.Lab {
	t.Helper()
	files := os.Getenv("LAB_FILES")
	if files == "" {
		t.Skip("needs the lab: make test-lab")
	}
	l, err := lab.Start(node, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if n := node.OpenHandles(); n != 0 {
			t.Errorf("%d handles of the node are left open", n)
		}
		for _, v := range node.Violations() {
			t.Error(v)
		}
	})
	return l
}

// shipped makes each shipped node and runs a test on it.
func shipped(t *testing.T, test func(t *testing.T, node *simhost.Node)) {
	t.Helper()
	for _, name := range simhost.Names() {
		t.Run(name, func(t *testing.T) { test(t, named(t, name)) })
	}
}

func named(t *testing.T, name string) *simhost.Node {
	t.Helper()
	spec, err := simhost.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		until(t, "the WMI workers have let go", func() bool { return l.References() == 0 })
		until(t, "COM has all back", func() bool { return outstanding(l) == 0 })
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		node.Close()
		if n := node.OpenHandles(); n != 0 {
			t.Errorf("%d handles of the node are left open", n)
		}
		for _, v := range node.Violations() {
			t.Error(v)
		}
	})
	return l
}

// hooked puts a node into the lab, files and mount points too.
func hooked(t *testing.T, node *simhost.Node) *lab.Lab {
	t.Helper()
	l := start(t, node)
	if err := l.Hook(); err != nil {
		t.Fatal(err)
	}
	return l
}

// shipped runs a test for the name of each shipped node, or in a short run of
// the first.
func shipped(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	names := simhost.Names()
	if testing.Short() {
		names = names[:1]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { test(t, name) })
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

// same compares what two runs said, line by line.
func same(t *testing.T, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("direct (-), through the lab (+):\n%.4000s", diff)
	}
}

// until waits for what happens on other threads.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 1000 {
		if is() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("it never came that %s", what)
}

// outstanding is how many COM references, strings and variants the native host
// has not given back.
func outstanding(l *lab.Lab) int {
	return int(l.Host().WMI.(interface{ Outstanding() int64 }).Outstanding())
}

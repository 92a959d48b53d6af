// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// The disks and volumes of testdata/node.json.
const (
	volC        = `\\?\Volume{c0000000-0000-4000-8000-000000000001}\`
	volD        = `\\?\Volume{d0000000-0000-4000-8000-000000000001}\`
	volRAW      = `\\?\Volume{d0000000-0000-4000-8000-000000000002}\`
	volExt4     = `\\?\Volume{d0000000-0000-4000-8000-000000000003}\`
	volDenied   = `\\?\Volume{d0000000-0000-4000-8000-000000000004}\`
	volGrowable = `\\?\Volume{d0000000-0000-4000-8000-000000000005}\`
	volMissing  = `\\?\Volume{eeeeeeee-0000-4000-8000-000000000001}\`
)

// site is a node that outlives the commands run on it.
type site struct {
	t    *testing.T
	node *simhost.Node
	// local makes commands take the node for the machine they run on.
	local bool
	// person answers questions; nil is nobody.
	person *string
}

func newSite(t *testing.T) *site {
	t.Helper()
	spec, err := simhost.Load("testdata/node.json")
	if err != nil {
		t.Fatal(err)
	}
	node, err := startNode(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return &site{t: t, node: node}
}

type result struct {
	out, err string
	code     int
}

// run runs a command line on the node.
func (s *site) run(args ...string) result {
	s.t.Helper()
	in := ""
	if s.person != nil {
		in = *s.person
	}
	var out, err strings.Builder
	a := newApp(Streams{In: strings.NewReader(in), Out: &out, Err: &err, Terminal: s.person != nil}, s.open)
	code := a.run(context.Background(), args)
	return result{out.String(), err.String(), code}
}

func (s *site) open(string) (*host, error) {
	h, err := hostOf(s.node)
	if s.local {
		h.sim = nil
	}
	return h, err
}

// transcript is what a person would see.
func (r result) transcript(args []string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "> csi-proxy %s\n%s%s", strings.Join(args, " "), r.out, r.err)
	if r.code != 0 {
		fmt.Fprintf(&out, "exit code %d\n", r.code)
	}
	return out.String() + "\n"
}

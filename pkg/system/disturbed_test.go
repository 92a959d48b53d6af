// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
)

type scenario = disturb.Scenario[*system.System]

// The calls of the group, each disturbed in every way.
func TestDisturbed(t *testing.T) {
	short := simhost.TransitionSpec{Takes: seconds(0.1), Hint: seconds(2)}
	stopped := services(
		simhost.ServiceSpec{Name: "A", Starting: short},
		simhost.ServiceSpec{Name: "B", Starting: short, DependsOn: []string{"A"}},
	)
	running := chain(func(s []simhost.ServiceSpec) {
		for i := range s {
			s[i].Stopping = short
		}
	})
	direct := running
	direct.Switches.DirectDependents = true
	stopAll := &system.StopServiceRequest{Name: "A", Force: true}
	disturb.Group[*system.System]{
		Name: "system", New: func(n *simhost.Node) (*system.System, error) { return system.New(n.System()) },
		Node: nodeOf(running),
		Questions: []scenario{
			{Method: "GetBIOSSerialNumber", Request: &system.GetBIOSSerialNumberRequest{}},
			{Method: "GetService", Request: &system.GetServiceRequest{Name: "RpcSs"}},
		},
		Changes: []scenario{
			{Method: "StartService", Request: &system.StartServiceRequest{Name: "B"}, Node: nodeOf(stopped)},
			{Method: "StopService", Request: &system.StopServiceRequest{Name: "C"}},
			{Method: "StopService", When: "with Force", Request: stopAll},
			{Method: "StopService", When: "with Force, direct listing", Request: stopAll, Node: nodeOf(direct)},
		},
		Refusals: []scenario{
			{Method: "StopService", When: "with dependents", Request: &system.StopServiceRequest{Name: "A"}, Refused: errdefs.ErrDependentServices},
			{Method: "StopService", When: "of a protected one", Request: &system.StopServiceRequest{Name: "RpcSs", Force: true}, Refused: errdefs.ErrProtectedService},
		},
	}.Run(t)
}

func nodeOf(spec simhost.NodeSpec) func(*testing.T) *simhost.Node {
	spec.Version = simhost.SpecVersion
	return func(t *testing.T) *simhost.Node {
		t.Helper()
		node, err := simhost.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		return node
	}
}

// Whatever is true of what nobody has verified, services stop and start.
func TestSwitches(t *testing.T) {
	for _, sw := range simhost.AllSwitches() {
		t.Run(sw.Name, func(t *testing.T) {
			spec := chain()
			spec.Switches = sw.Switches
			onSite(t, spec, func(s *site) {
				s.must(s.stop("A", true))
				s.must(s.start("C"))
				for _, name := range []string{"A", "B", "C"} {
					s.wantStatus(name, system.SERVICE_STATUS_RUNNING)
				}
			})
		})
	}
}

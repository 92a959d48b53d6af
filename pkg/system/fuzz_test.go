// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// FuzzServiceName: whatever a name is, StopService stops the service of that
// name or none.
func FuzzServiceName(f *testing.F) {
	for _, name := range []string{
		"", "A", "a", "*", "?", "A*", " A", "A\x00", "a/b", `..\A`, "x' OR '1'='1", "RpcSs", "rpcss", "\u212Aubelet", "kubelet", "DISK", "no such",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s := newSite(t, services(simhost.ServiceSpec{Name: "A", State: "running"}, simhost.ServiceSpec{Name: "K", State: "running"}))
		before := s.node.Snapshot()
		err := s.stop(name, true)
		changed := simhost.Diff(before, s.node.Snapshot())
		stoppable := strings.EqualFold(name, "A") || strings.EqualFold(name, "K")
		switch kind := errdefs.KindOf(err); {
		case stoppable && err == nil:
			if want := "~ service " + strings.ToUpper(name) + ": manual, running -> manual, stopped\n"; changed != want {
				t.Errorf("changed %q, want %q", changed, want)
			}
		case changed != "":
			t.Errorf("%v, and changed %s", err, changed)
		case kind != errdefs.InvalidArgument && kind != errdefs.NotFound && kind != errdefs.PermissionDenied:
			t.Errorf("kind %s: %v", kind, err)
		}
	})
}

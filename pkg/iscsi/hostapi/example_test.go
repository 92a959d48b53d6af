// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// New is the host that a driver hands to its groups; nothing is asked of it yet.
// In the driver's tests a simulated node takes its place.
func ExampleNew() {
	_, err := iscsi.New(hostapi.New())
	fmt.Println(err)

	node, err := simhost.New(simhost.NodeSpec{
		Version:  simhost.SpecVersion,
		Services: []simhost.ServiceSpec{{Name: "MSiSCSI", Start: "auto"}},
		ISCSI:    &simhost.ISCSISpec{Portals: []simhost.ISCSIPortalSpec{{Address: "10.0.0.10", Registered: true}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	targets, err := iscsi.New(node.ISCSI())
	if err != nil {
		log.Fatal(err)
	}
	resp, err := targets.ListTargetPortals(context.Background(), &iscsi.ListTargetPortalsRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.TargetPortals[0])
	// Output:
	// <nil>
	// 10.0.0.10:3260
}

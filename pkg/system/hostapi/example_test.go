// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
)

// New is the host that a driver hands to its groups; nothing is asked of it yet.
// In the driver's tests a simulated node takes its place.
func ExampleNew() {
	_, err := system.New(hostapi.New())
	fmt.Println(err)

	node, err := simhost.New(simhost.NodeSpec{Version: simhost.SpecVersion, BIOS: &simhost.BIOSSpec{Serial: "VMware-56 4d"}})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	group, err := system.New(node.System())
	if err != nil {
		log.Fatal(err)
	}
	resp, err := group.GetBIOSSerialNumber(context.Background(), &system.GetBIOSSerialNumberRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.SerialNumber)
	// Output:
	// <nil>
	// VMware-56 4d
}

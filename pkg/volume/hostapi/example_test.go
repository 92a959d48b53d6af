// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// New is the host that a driver hands to its groups; nothing is asked of it yet.
// In the driver's tests a simulated node takes its place.
func ExampleNew() {
	_, err := volume.New(hostapi.New())
	fmt.Println(err)

	node := newNode()
	defer node.Close()
	volumes, err := volume.New(node.Volume())
	if err != nil {
		log.Fatal(err)
	}
	at, err := volumes.Resolve(context.Background(), `C:\var\lib\kubelet`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("disk", at.DiskNumber, "partition", at.PartitionNumber)
	// Output:
	// <nil>
	// disk 0 partition 3
}

func newNode() *simhost.Node {
	spec, err := simhost.Named("aws-nitro")
	if err != nil {
		log.Fatal(err)
	}
	node, err := simhost.New(spec)
	if err != nil {
		log.Fatal(err)
	}
	return node
}

// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// New is the host that a driver hands to its groups; nothing is asked of it yet.
// In the driver's tests a simulated node takes its place.
func ExampleNew() {
	_, err := disk.New(hostapi.New())
	fmt.Println(err)

	node := newNode()
	defer node.Close()
	disks, err := disk.New(node.Disk())
	if err != nil {
		log.Fatal(err)
	}
	resp, err := disks.ListDiskIDs(context.Background(), &disk.ListDiskIDsRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.DiskIDs[0].SerialNumber)
	// Output:
	// <nil>
	// vol0a1b2c3d4e5f60718_00000001.
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

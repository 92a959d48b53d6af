// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// New is the host that a driver hands to its groups; nothing is asked of it yet.
// In the driver's tests a simulated node takes its place.
func ExampleNew() {
	_, err := filesystem.New(hostapi.New())
	fmt.Println(err)

	node := newNode()
	defer node.Close()
	files, err := filesystem.New(node.Filesystem())
	if err != nil {
		log.Fatal(err)
	}
	resp, err := files.PathExists(context.Background(), &filesystem.PathExistsRequest{Path: `C:\var\lib\kubelet\pods`})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Exists)
	// Output:
	// <nil>
	// true
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

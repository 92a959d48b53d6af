// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
)

// newGroup makes the smb group, which needs that of filesystem for its links.
func newGroup(host hostapi.HostAPI, filesHost filesystemapi.HostAPI) *smb.SMB {
	files, err := filesystem.New(filesHost)
	if err != nil {
		log.Fatal(err)
	}
	group, err := smb.New(host, files)
	if err != nil {
		log.Fatal(err)
	}
	return group
}

// New is the host that a driver hands to its groups; nothing is asked of it yet.
// In the driver's tests a simulated node takes its place.
func ExampleNew() {
	group := newGroup(hostapi.New(), filesystemapi.New())
	fmt.Printf("%T\n", group)

	node, err := simhost.New(simhost.NodeSpec{
		Version: simhost.SpecVersion,
		SMB:     []simhost.SMBServerSpec{{Name: "files", Shares: []simhost.SMBShareSpec{{Name: "data"}}, KnowsNode: true}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	group = newGroup(node.SMB(), node.Filesystem())
	ctx := context.Background()
	_, err = group.NewSMBGlobalMapping(ctx, &smb.NewSMBGlobalMappingRequest{RemotePath: `\\files\data`, LocalPath: `C:\data`})
	fmt.Println(err)
	// Output:
	// *smb.SMB
	// <nil>
}

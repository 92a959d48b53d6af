// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// newExample is the iSCSI group of a node whose network has a target with one
// disk. On Windows it is iscsi.New(hostapi.New()).
func newExample() (*simhost.Node, *iscsi.ISCSI) {
	node, err := simhost.New(simhost.NodeSpec{
		Version:  simhost.SpecVersion,
		Services: []simhost.ServiceSpec{{Name: "MSiSCSI", Start: "auto"}},
		ISCSI: &simhost.ISCSISpec{
			Portals: []simhost.ISCSIPortalSpec{{Address: "10.0.0.10"}},
			Targets: []simhost.ISCSITargetSpec{{
				Name: "iqn.2020-01.example.san:data", User: "node1", Secret: "averylongsecret",
				LUNs: []simhost.DiskSpec{{Name: "data", Size: simhost.GiB}},
			}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	targets, err := iscsi.New(node.ISCSI())
	if err != nil {
		log.Fatal(err)
	}
	return node, targets
}

// A target is found, connected and disconnected; its disk comes and goes.
func Example() {
	ctx := context.Background()
	_, targets := newExample()
	portal := &iscsi.TargetPortal{TargetAddress: "10.0.0.10", TargetPort: 3260}

	_, err := targets.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: portal})
	fmt.Println(err)
	offered, err := targets.DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal})
	fmt.Println(offered.IQNs, err)
	_, err = targets.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{
		TargetPortal: portal, IQN: offered.IQNs[0],
		AuthType: iscsi.ONE_WAY_CHAP, ChapUsername: "node1", ChapSecret: "averylongsecret",
	})
	fmt.Println(err)
	disks, err := targets.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: portal, IQN: offered.IQNs[0]})
	fmt.Println(disks.DiskIDs, err)
	_, err = targets.DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{TargetPortal: portal, IQN: offered.IQNs[0]})
	fmt.Println(err)
	// Output:
	// <nil>
	// [iqn.2020-01.example.san:data] <nil>
	// <nil>
	// [1] <nil>
	// <nil>
}

// A request never shows its secret.
func ExampleConnectTargetRequest() {
	req := &iscsi.ConnectTargetRequest{
		TargetPortal: &iscsi.TargetPortal{TargetAddress: "fd00::10", TargetPort: 3260}, IQN: "iqn.2020-01.example.san:data",
		AuthType: iscsi.ONE_WAY_CHAP, ChapUsername: "node1", ChapSecret: "averylongsecret",
	}
	fmt.Printf("%+v\n", req)
	// Output:
	// {TargetPortal:[fd00::10]:3260 IQN:iqn.2020-01.example.san:data AuthType:ONEWAYCHAP ChapUsername:*** ChapSecret:***}
}

// Without the initiator's service nothing works, and the error says so.
func ExampleISCSI_AddTargetPortal_stopped() {
	node, targets := newExample()
	if err := node.SetServiceState("MSiSCSI", "stopped"); err != nil {
		log.Fatal(err)
	}
	_, err := targets.AddTargetPortal(context.Background(), &iscsi.AddTargetPortalRequest{TargetPortal: &iscsi.TargetPortal{TargetAddress: "10.0.0.10"}})
	fmt.Println(errors.Is(err, errdefs.ErrISCSIStopped), errdefs.KindOf(err))
	// Output:
	// true Unavailable
}

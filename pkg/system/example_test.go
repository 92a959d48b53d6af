// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
)

// newSystem is the group on a simulated node; on a Windows node it is
// system.New(hostapi.New()).
func newSystem(name string) *system.System {
	spec, err := simhost.Named(name)
	if err != nil {
		log.Fatal(err)
	}
	node, err := simhost.New(spec)
	if err != nil {
		log.Fatal(err)
	}
	group, err := system.New(node.System())
	if err != nil {
		log.Fatal(err)
	}
	return group
}

// The serial number tells a machine of vSphere which one it is.
func ExampleSystem_GetBIOSSerialNumber() {
	group := newSystem("vsphere-pvscsi")
	resp, err := group.GetBIOSSerialNumber(context.Background(), &system.GetBIOSSerialNumberRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.SerialNumber)
	// Output: VMware-56 4d 1a 2b 3c 4d 5e 6f-70 81 92 a3 b4 c5 d6 e7
}

// Before iSCSI can be used its service must run.
func ExampleSystem_StartService() {
	ctx, group := context.Background(), newSystem("gce-scsi")
	if _, err := group.StartService(ctx, &system.StartServiceRequest{Name: "MSiSCSI"}); err != nil {
		log.Fatal(err)
	}
	resp, err := group.GetService(ctx, &system.GetServiceRequest{Name: "MSiSCSI"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s, %s\n", resp.DisplayName, resp.Status, resp.StartType)
	// Output: Microsoft iSCSI Initiator Service: Running, Manual
}

// What the node needs is never stopped.
func ExampleSystem_StopService_protected() {
	_, err := newSystem("gce-scsi").StopService(context.Background(), &system.StopServiceRequest{Name: "kubelet", Force: true})
	fmt.Println(errors.Is(err, errdefs.ErrProtectedService), err)
	// Output: true system.StopService "kubelet": protected service, never stopped
}

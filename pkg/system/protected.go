// SPDX-License-Identifier: Apache-2.0

package system

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// protectedServices are those without which the node does not go on, so that no
// storage operation has a reason to stop them (field-reports.md S01). The
// services of storage itself, MSiSCSI and LanmanWorkstation among them, are
// none: drivers restart them.
var protectedServices = []string{
	// Windows: RPC and COM, logon and keys, sessions, devices, events, WMI,
	// addresses.
	"RpcSs", "RpcEptMapper", "DcomLaunch", "BrokerInfrastructure", "SystemEventsBroker",
	"SamSs", "KeyIso", "CryptSvc", "LSM", "ProfSvc", "UserManager", "gpsvc",
	"PlugPlay", "Power", "Schedule", "EventLog", "Winmgmt", "nsi", "Dhcp", "ClusSvc",

	// Its defences: filtering and firewall, Defender.
	"BFE", "mpssvc", "WinDefend", "WdNisSvc", "MDCoreSvc", "Sense", "SecurityHealthService", "wscsvc",

	// The node: what runs the pods, the caller among them, and their network.
	"kubelet", "kube-proxy", "kubeproxy", "containerd", "docker", "hns", "vmcompute",
	"rke2", "rancher-wins", "csi-proxy", "csiproxy",
}

// ProtectedServices lists the services that StopService never stops, beside all
// drivers.
func ProtectedServices() []string { return slices.Clone(protectedServices) }

// checkProtected refuses a protected service, in whatever case it is named.
func checkProtected(name string) error {
	if slices.ContainsFunc(protectedServices, func(p string) bool { return strings.EqualFold(p, name) }) {
		return errdefs.ErrProtectedService
	}
	return nil
}

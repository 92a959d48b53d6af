// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// ServiceSpec describes a service.
type ServiceSpec struct {
	// Name is the key name, by which programs know the service, in any case.
	Name string `json:"name"`
	// DisplayName is for people; "" means Name.
	DisplayName string `json:"displayName,omitempty"`
	// Type is process, shared, driver or fileSystemDriver; "" means process.
	Type string `json:"type,omitempty"`
	// Start is boot, system, auto, delayed, manual or disabled; "" means
	// manual.
	Start string `json:"start,omitempty"`
	// State is stopped, startPending, stopPending, running, continuePending,
	// pausePending or paused; "" means running where Windows starts the service
	// by itself, else stopped.
	State string `json:"state,omitempty"`
	// DependsOn are the services that must run before this one.
	DependsOn []string `json:"dependsOn,omitempty"`
	// Protected makes opening the service for starting or stopping answer
	// ERROR_ACCESS_DENIED.
	Protected bool `json:"protected,omitempty"`
	// Unstoppable makes the service take no stop control.
	Unstoppable bool `json:"unstoppable,omitempty"`
	// StartCode is what a request to start it answers: 1053, 1055, 1069 …; 0
	// means that it starts.
	StartCode uint32 `json:"startCode,omitempty"`
	// Starting and Stopping are how it starts or continues, and how it stops or
	// pauses.
	Starting TransitionSpec `json:"starting,omitzero"`
	Stopping TransitionSpec `json:"stopping,omitzero"`
	// Dies ends the service by itself after it has run for so long, with exit
	// code 1067; 0 means never.
	Dies Duration `json:"dies,omitzero"`
}

// TransitionSpec describes a pending state of a service.
type TransitionSpec struct {
	// Takes is how long the state lasts.
	Takes Duration `json:"takes,omitzero"`
	// Step is how often the check point grows; 0 means never.
	Step Duration `json:"step,omitzero"`
	// Hint is the wait hint.
	Hint Duration `json:"hint,omitzero"`
	// Stuck makes the state last for ever.
	Stuck bool `json:"stuck,omitempty"`
	// Fails is the exit code with which a service that starts ends instead of
	// running; 0 means that it runs.
	Fails uint32 `json:"fails,omitempty"`
}

// windowsServices are on every node; a node's description may say otherwise
// about each. WinDefend refuses as windows-api.md 11.1 says.
func windowsServices() []ServiceSpec {
	core := func(name, displayName string, dependsOn ...string) ServiceSpec {
		return ServiceSpec{Name: name, DisplayName: displayName, Type: "shared", Start: "auto", DependsOn: dependsOn}
	}
	return []ServiceSpec{
		core("DcomLaunch", "DCOM Server Process Launcher"),
		core("RpcEptMapper", "RPC Endpoint Mapper"),
		core("RpcSs", "Remote Procedure Call (RPC)", "RpcEptMapper", "DcomLaunch"),
		core("SamSs", "Security Accounts Manager", "RpcSs"),
		core("EventLog", "Windows Event Log"),
		core("Winmgmt", "Windows Management Instrumentation", "RpcSs"),
		core("LanmanWorkstation", "Workstation"),
		{Name: "WinDefend", DisplayName: "Microsoft Defender Antivirus Service", Start: "auto", DependsOn: []string{"RpcSs"}, Protected: true},
		{Name: "MSiSCSI", DisplayName: "Microsoft iSCSI Initiator Service", Type: "shared"},
		{Name: "disk", DisplayName: "Disk Driver", Type: "driver", Start: "boot", Unstoppable: true},
		{Name: "containerd", Start: "auto"},
		{Name: "kubelet", Start: "auto", DependsOn: []string{"containerd"}},
	}
}

var serviceTypes = map[string]uint32{
	"": win.SERVICE_WIN32_OWN_PROCESS, "process": win.SERVICE_WIN32_OWN_PROCESS, "shared": win.SERVICE_WIN32_SHARE_PROCESS,
	"driver": win.SERVICE_KERNEL_DRIVER, "fileSystemDriver": win.SERVICE_FILE_SYSTEM_DRIVER,
}

var startTypes = map[string]uint32{
	"": win.SERVICE_DEMAND_START, "boot": win.SERVICE_BOOT_START, "system": win.SERVICE_SYSTEM_START, "auto": win.SERVICE_AUTO_START,
	"delayed": win.SERVICE_AUTO_START, "manual": win.SERVICE_DEMAND_START, "disabled": win.SERVICE_DISABLED,
}

var serviceStates = map[string]uint32{
	"stopped": win.SERVICE_STOPPED, "startPending": win.SERVICE_START_PENDING, "stopPending": win.SERVICE_STOP_PENDING,
	"running": win.SERVICE_RUNNING, "continuePending": win.SERVICE_CONTINUE_PENDING, "pausePending": win.SERVICE_PAUSE_PENDING,
	"paused": win.SERVICE_PAUSED,
}

// installServices makes the node's services.
func (n *Node) installServices(specs []ServiceSpec) error {
	n.services = map[string]*service{}
	all := append(windowsServices(), specs...)
	for i, spec := range all {
		described := i >= len(all)-len(specs)
		if err := n.addService(spec, described); err != nil {
			return fmt.Errorf("service %q: %w", spec.Name, err)
		}
	}
	for _, s := range n.services {
		if err := n.checkDependencies(s, nil); err != nil {
			return fmt.Errorf("service %q: %w", s.spec.Name, err)
		}
	}
	return nil
}

func (n *Node) addService(spec ServiceSpec, described bool) error {
	if spec.Name == "" {
		return errors.New("no name")
	}
	s := &service{spec: spec, since: time.Now(), described: described}
	var known [3]bool
	s.kind, known[0] = serviceTypes[spec.Type]
	s.startType, known[1] = startTypes[spec.Start]
	if spec.State == "" {
		spec.State = "stopped"
		if s.startType < win.SERVICE_DEMAND_START {
			spec.State = "running"
		}
	}
	s.state, known[2] = serviceStates[spec.State]
	if known != [3]bool{true, true, true} {
		return fmt.Errorf("type %q, start %q or state %q is unknown", spec.Type, spec.Start, spec.State)
	}
	if s.state == win.SERVICE_STOPPED {
		s.exit = uint32(win.ERROR_SERVICE_NEVER_STARTED)
	}
	key := foldService(spec.Name)
	if old := n.services[key]; old != nil && old.described {
		return errors.New("name is taken")
	}
	n.services[key] = s
	return nil
}

// checkDependencies refuses a service that depends on itself.
func (n *Node) checkDependencies(s *service, above []*service) error {
	if slices.Contains(above, s) {
		return errors.New("depends on itself")
	}
	for _, d := range n.dependencies(s) {
		if err := n.checkDependencies(d, append(above, s)); err != nil {
			return err
		}
	}
	return nil
}

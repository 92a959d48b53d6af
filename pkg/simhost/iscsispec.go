// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// ISCSISpec describes the iSCSI network around a node, and what the node's
// initiator knows of it from the start.
type ISCSISpec struct {
	// Initiator is the initiator's name; "" makes one of the node's.
	Initiator string `json:"initiator,omitempty"`
	// Portals are the target portals in the network.
	Portals []ISCSIPortalSpec `json:"portals"`
	// Targets are behind them.
	Targets []ISCSITargetSpec `json:"targets,omitempty"`
	// MPIO installs the multipath driver and lets it claim iSCSI disks.
	MPIO bool `json:"mpio,omitempty"`
}

// ISCSIPortalSpec describes a target portal.
type ISCSIPortalSpec struct {
	// Address is an IP address or a host name.
	Address string `json:"address"`
	// Port 0 means 3260.
	Port uint16 `json:"port,omitempty"`
	// Registered portals are known to the initiator, with their targets.
	Registered bool `json:"registered,omitempty"`
	// Down portals do not answer.
	Down bool `json:"down,omitempty"`
}

// ISCSITargetSpec describes a target.
type ISCSITargetSpec struct {
	// Name is the target's iSCSI name.
	Name string `json:"name"`
	// Portals are those that offer the target, as "address:port" or
	// "[address]:port"; none means all.
	Portals []string `json:"portals,omitempty"`
	// User and Secret are what CHAP must present; without a secret the target
	// wants none. "" as user is the initiator's name.
	User   string `json:"user,omitempty"`
	Secret string `json:"secret,omitempty"`
	// MutualSecret is with what the target proves itself where the initiator
	// asks for it.
	MutualSecret string `json:"mutualSecret,omitempty"`
	// LUNs are the target's disks, from LUN 0 on. Their bus may be left out,
	// and their address too.
	LUNs []DiskSpec `json:"luns,omitempty"`
	// Arrival is how long its disks take to arrive after a login.
	Arrival Duration `json:"arrival,omitzero"`
	// Redirects makes the target answer from another address than the portal's,
	// as a portal does that stands for several.
	Redirects string `json:"redirects,omitempty"`
}

const iscsiPort = 3260

// buildISCSI makes the network and the initiator of a description.
func (n *Node) buildISCSI(spec *ISCSISpec) error {
	if spec == nil {
		return nil
	}
	i := &n.iscsi
	i.used = true
	i.initiator = or(spec.Initiator, "iqn.1991-05.com.microsoft:"+strings.ToLower(wmiServer))
	if i.mpio = spec.MPIO; i.mpio {
		if err := n.installMPIO(); err != nil {
			return err
		}
	}
	for _, p := range spec.Portals {
		if p.Address == "" || i.portalAt(p.Address, or(p.Port, iscsiPort)) != nil {
			return fmt.Errorf("iSCSI portal %q is described twice or has no address", p.Address)
		}
		i.portals = append(i.portals, &iscsiPortal{address: p.Address, port: or(p.Port, iscsiPort), down: p.Down})
	}
	for at, t := range spec.Targets {
		if err := n.buildTarget(at, t); err != nil {
			return fmt.Errorf("iSCSI target %q: %w", t.Name, err)
		}
	}
	for at, p := range spec.Portals {
		if p.Registered {
			i.register(i.portals[at], p.Address)
		}
	}
	return nil
}

func (n *Node) buildTarget(at int, spec ISCSITargetSpec) error {
	i := &n.iscsi
	if spec.Name == "" || i.target(spec.Name) != nil {
		return errors.New("the name is taken or missing")
	}
	t := &iscsiTarget{
		name: spec.Name, user: spec.User, secret: spec.Secret, mutualSecret: spec.MutualSecret,
		arrival: time.Duration(spec.Arrival), redirects: spec.Redirects, portals: i.portals,
	}
	if len(spec.Portals) > 0 {
		t.portals = nil
	}
	for _, text := range spec.Portals {
		p := i.portalNamed(text)
		if p == nil {
			return fmt.Errorf("no portal %q", text)
		}
		t.portals = append(t.portals, p)
	}
	for lun, d := range spec.LUNs {
		d.Bus = or(d.Bus, "iscsi")
		if d.Address == nil {
			d.Address = &AddressSpec{Port: 9, Target: uint8(at), LUN: uint8(lun)}
		}
		built, err := n.addDisk(d)
		if err != nil {
			return err
		}
		built.remote = true
		t.luns = append(t.luns, built)
	}
	i.targets = append(i.targets, t)
	return nil
}

// installMPIO is what installing the feature and claiming iSCSI disks leave: the
// driver of the Microsoft DSM, and the bus type among the devices that it
// supports.
func (n *Node) installMPIO() error {
	n.setRegistry(`SYSTEM\CurrentControlSet\Services\msdsm\Parameters`, "DsmSupportedDeviceList", regMultiSZ,
		"Vendor 8Product       16", "MSFT2005iSCSIBusType_0x9")
	return n.addService(ServiceSpec{Name: "msdsm", DisplayName: "Microsoft Multi-Path Device Specific Module", Type: "driver", Start: "boot", Unstoppable: true}, false)
}

// portalNamed finds a portal of the network by "address:port".
func (i *iscsiNode) portalNamed(text string) *iscsiPortal {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return nil
	}
	port, err := strconv.ParseUint(text[colon+1:], 10, 16)
	if err != nil {
		return nil
	}
	return i.portalAt(strings.Trim(text[:colon], "[]"), uint16(port))
}

// portalAt finds a portal of the network, however its address is spelled.
func (i *iscsiNode) portalAt(address string, port uint16) *iscsiPortal {
	for _, p := range i.portals {
		if p.port == port && sameAddress(p.address, address) {
			return p
		}
	}
	return nil
}

func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	if cmp.Or(errX, errY) != nil {
		return strings.EqualFold(a, b)
	}
	return x == y
}

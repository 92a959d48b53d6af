// SPDX-License-Identifier: Apache-2.0

package simhost

// RestartDriver ends the process that drives the node, and begins another: the
// host APIs that the node hands out from now on remember nothing of what those
// before have done. Those before still work, as a process does that takes its
// time to end; their WMI does not.
func (n *Node) RestartDriver() {
	n.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host = n.boundary()
}

// Reboot restarts the machine, and with it the process that drives it: open
// handles go stale, volumes arrive again, and of everything else there is what
// Windows keeps over a reboot.
func (n *Node) Reboot() {
	n.RestartDriver()
	n.KillWMIHost()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, restart := range []func(*Node){
		(*Node).rebootDisks,
		(*Node).rebootSMB,
		(*Node).rebootServices,
		(*Node).rebootISCSI, // after its service
	} {
		restart(n)
	}
}

// rebootDisks takes the volumes of all disks away and lets them arrive again.
// A disk keeps its number; an offline one stays so only where that was asked to
// persist.
func (n *Node) rebootDisks() {
	for _, d := range n.sortedDisks() {
		d.dismount()
		if d.persistent != nil {
			d.offline, d.readOnly = d.persistent.offline, d.persistent.readOnly
		}
		if !d.offline {
			n.bringUp(d, n.arrival)
		}
	}
}

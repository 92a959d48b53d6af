// SPDX-License-Identifier: Apache-2.0

package simhost

import "github.com/kubernetes-csi/csi-proxy/v2/internal/win/intercept"

// Call is one call at the boundary: its Method ("Devices.Open",
// "Device.Control", "Mounts.SetPoint" …), its Subject (a path, a query, a WMI
// method …) and its Code (the control code or information class).
type Call = intercept.Call

// Calls counts calls at the boundary.
type Calls = intercept.Counter

// OnCall puts f around every call at the boundary from now on; nil removes it.
// f makes the call with do, at most once, or does not. It may fail the call
// before or after, with any native code (errdefs.Native.Err); delay it; hold it
// up, for as long as a driver may hang; or change what it answered
// ([Call.Answer]). It cannot turn a failure into a success. Calls come from many
// goroutines at once.
func (n *Node) OnCall(f func(c Call, do func() error) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.onCall = f
}

// Calls are the calls at the boundary so far.
func (n *Node) Calls() *Calls { return &n.calls }

// around stands in front of every boundary call.
func (n *Node) around(c Call, do func() error) error {
	n.mu.Lock()
	f := n.onCall
	n.mu.Unlock()
	if f == nil {
		return n.calls.Around(c, do)
	}
	return n.calls.Around(c, func() error { return f(c, do) })
}

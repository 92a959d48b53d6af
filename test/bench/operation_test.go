// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"runtime"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/intercept"
)

// operation is something that a group does.
type operation struct {
	// name is the method, and how it is used if in more ways than one.
	name string
	// before brings the site to where run has its work to do. It is not
	// measured; nil where run changes nothing.
	before func(*site) error
	run    func(*site) error
	// lists says that the operation reads of each disk or mapping.
	lists bool
	// table says that one of its calls answers for the whole node, and is made
	// again if the room was too small.
	table bool
}

// group is the operations of a group.
type group struct {
	name       string
	operations []operation
}

var groups = []group{
	{"disk", diskOperations},
	{"volume", volumeOperations},
	{"filesystem", filesystemOperations},
	{"smb", smbOperations},
	{"iscsi", iscsiOperations},
	{"system", systemOperations},
}

// once does the operation, and what it needs before.
func (o operation) once(s *site) error {
	if o.before != nil {
		if err := o.before(s); err != nil {
			return err
		}
	}
	s.calls.Reset()
	return o.run(s)
}

// cost is what an operation takes at the boundary and of memory.
type cost struct {
	calls map[string]int // by method, but those with which WMI workers connect
	com   int            // calls of COM, those that continue another too
	bytes uint64
}

func (c cost) total() int {
	total := 0
	for _, n := range c.calls {
		total += n
	}
	return total
}

// measure does an operation once. The memory is of the whole process, so what
// else runs at the time may add to it.
func (o operation) measure(s *site) (cost, error) {
	if o.before != nil {
		if err := o.before(s); err != nil {
			return cost{}, err
		}
	}
	var start, end runtime.MemStats
	s.calls.Reset()
	runtime.ReadMemStats(&start)
	err := o.run(s)
	runtime.ReadMemStats(&end)
	c := cost{calls: s.calls.ByMethod(), bytes: end.TotalAlloc - start.TotalAlloc}
	// How many workers connect, and when, is chance.
	delete(c.calls, "WMI.Enter")
	delete(c.calls, "WMI.Connect")
	for _, call := range s.calls.Calls() {
		if ofCOM(call) {
			c.com++
		}
	}
	return c, err
}

// ofCOM tells the calls that reach a provider of WMI.
func ofCOM(c intercept.Call) bool {
	kind, _, _ := strings.Cut(c.Method, ".")
	return kind == "Session" || kind == "Rows" || kind == "Call"
}

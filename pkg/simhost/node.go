// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/intercept"
)

// New makes a node. An error names what in the description cannot be.
func New(spec NodeSpec) (*Node, error) {
	n, err := build(spec)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", spec.Name, err)
	}
	n.host = n.boundary()
	n.readStorage()
	return n, nil
}

// boundary is a host with nothing attached to it.
func (n *Node) boundary() *win.Host {
	return intercept.Host(&win.Host{
		Devices:  devices{n},
		Mounts:   mounts{n},
		Files:    files{n},
		Services: services{n},
		System:   system{n},
		WMI:      nodeWMI{n},
		Logons:   logons{n},
		Arrivals: arrivals{n},
	}, n.around)
}

// Host is the node's boundary, for packages of this module.
func (n *Node) Host() *win.Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host
}

// The methods below are the cloud's side: what happens to a machine from
// outside. They take disks by the name in the description.

// diskNamed finds a described disk, attached or not, or nil.
func (n *Node) diskNamed(name string) *disk {
	for _, d := range n.known {
		if d.name == name {
			return d
		}
	}
	return nil
}

// change runs f with a described disk.
func (n *Node) change(name string, f func(*disk) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.diskNamed(name)
	if d == nil {
		return fmt.Errorf("no disk %q is described", name)
	}
	if err := f(d); err != nil {
		return fmt.Errorf("disk %q: %w", name, err)
	}
	return nil
}

// Disks lists the described disks by name, attached or not, without the LUNs of
// iSCSI targets.
func (n *Node) Disks() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for _, d := range n.known {
		if !d.remote { // iSCSI
			names = append(names, d.name)
		}
	}
	return names
}

// AddDisk describes one more disk, which is not attached yet.
func (n *Node) AddDisk(spec DiskSpec) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, err := n.addDisk(spec)
	return err
}

// AttachDisk attaches a described disk and returns the number that Windows
// gives it: the lowest that is free, which another disk may have had before.
// Its volumes arrive later. An iSCSI login, not this, attaches a target's LUNs.
func (n *Node) AttachDisk(name string) (uint32, error) {
	var number uint32
	err := n.change(name, func(d *disk) error {
		if d.present {
			return fmt.Errorf("is attached as disk %d", d.number)
		}
		if d.remote {
			return fmt.Errorf("is a LUN of an iSCSI target, which a login attaches")
		}
		n.attach(d)
		number = d.number
		return nil
	})
	return number, err
}

// DetachDisk takes a disk away without asking Windows. Open handles go stale,
// mount folders stay and dangle.
func (n *Node) DetachDisk(name string) error {
	return n.change(name, func(d *disk) error {
		if !d.present {
			return fmt.Errorf("is not attached")
		}
		n.detach(d)
		return nil
	})
}

// DiskNumber is the number of an attached disk.
func (n *Node) DiskNumber(name string) (uint32, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.diskNamed(name)
	if d == nil || !d.present {
		return 0, false
	}
	return d.number, true
}

// GrowDisk gives a disk a new, larger size. Windows learns of it when it looks
// at the disk again.
func (n *Node) GrowDisk(name string, size Size) error {
	return n.change(name, func(d *disk) error {
		if int64(size) <= d.size || int64(size)%int64(d.sectorSize) != 0 {
			return fmt.Errorf("cannot grow from %s to %s", Size(d.size), size)
		}
		d.size = int64(size)
		return nil
	})
}

// SetMedia writes bytes onto a disk's medium behind Windows' back.
func (n *Node) SetMedia(name string, offset int64, data []byte) error {
	return n.change(name, func(d *disk) error {
		if offset < 0 || offset+int64(len(data)) > d.size {
			return fmt.Errorf("%d bytes at %d of %d", len(data), offset, d.size)
		}
		d.media.writeAt(data, offset)
		return nil
	})
}

// WriteMedia writes a well-known signature over a whole disk behind Windows'
// back.
func (n *Node) WriteMedia(name string, kind Media) error {
	return n.change(name, func(d *disk) error { return d.writeMedia([]Media{kind}, 0, d.size) })
}

// ReadMedia reads a disk's medium, unreadable ranges too.
func (n *Node) ReadMedia(name string, offset int64, length int) ([]byte, error) {
	b := make([]byte, length)
	err := n.change(name, func(d *disk) error {
		if offset < 0 || offset+int64(length) > d.size {
			return fmt.Errorf("%d bytes at %d of %d", length, offset, d.size)
		}
		d.media.bytesAt(b, offset)
		return nil
	})
	return b, err
}

// SetUnreadable makes ranges of a disk fail to read; without any, all of it can
// be read again.
func (n *Node) SetUnreadable(name string, ranges ...RangeSpec) error {
	return n.change(name, func(d *disk) error {
		d.media.unreadable = nil
		for _, r := range ranges {
			d.media.unreadable = append(d.media.unreadable, r.unreadable())
		}
		return nil
	})
}

// OpenHandles is how many devices, files, WMI queries and WMI calls are open.
// WMI sessions, which clients keep, are not among them.
func (n *Node) OpenHandles() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.handles
}

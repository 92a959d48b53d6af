// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// Lab is a simulated node behind this process's system calls. It is safe for
// concurrent use.
type Lab struct {
	node    *win.Host
	dir     string
	control control
	server  *server
	lists   *interfaceLists
	wmi     *wmiServer
	hook    *hook

	mu        sync.Mutex
	published map[string]uint32 // paths that lead to the driver's devices
	last      uint32            // number of a device
}

// Start puts node behind the devices that [Lab.Publish] names and behind WMI.
// dir holds lab.sys and labhook.dll. The caller closes the lab.
func Start(node *simhost.Node, dir string) (_ *Lab, err error) {
	l := &Lab{node: node.Host(), dir: dir, published: map[string]uint32{}, last: anyDevice}
	if err := loadDriver(filepath.Join(dir, "lab.sys")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unloadDriver())
		}
	}()
	if l.control, err = openControl(); err != nil {
		return nil, err
	}
	if err := l.control.makeDevice(anyDevice, anyDeviceName); err != nil {
		return nil, err
	}
	if l.lists, err = newInterfaceLists(); err != nil {
		return nil, err
	}
	l.server = serve(l.control, l.node)
	if l.wmi, err = serveWMI(node); err != nil {
		return nil, errors.Join(err, l.server.close())
	}
	return l, nil
}

// Close takes the lab away, with all that it has made on the machine. What is
// still held ends with ERROR_DEVICE_NOT_CONNECTED.
func (l *Lab) Close() error {
	var unhooked error
	if l.hook != nil {
		unhooked = l.hook.close()
	}
	return errors.Join(unhooked, l.wmi.close(), l.lists.clear(), l.server.close(), unloadDriver())
}

// Abandon ends the service of the driver, as the death of its process would. The
// lab must still be closed.
func (l *Lab) Abandon() error { return l.server.close() }

// Publish makes a device path, for example \\.\PhysicalDrive1, lead to the
// node's device of that path, whether there is one or not: Wine lets no driver
// refuse an open, so that then each request fails.
func (l *Lab) Publish(path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.published[path]; ok {
		return nil
	}
	before, err := ownTarget(path)
	if err != nil {
		return err
	}
	number := l.last + 1
	device := deviceName(number)
	l.server.known(number, path)
	if err := l.control.makeDevice(number, device); err != nil {
		return err
	}
	if err := l.control.link(linkName(path), device, before); err != nil {
		return errors.Join(err, l.control.removeDevice(number))
	}
	l.published[path], l.last = number, number
	return nil
}

// Withdraw undoes Publish: the path is unknown, and what is held at its device
// fails with ERROR_NO_SUCH_DEVICE.
func (l *Lab) Withdraw(path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	number := l.published[path]
	delete(l.published, path)
	return errors.Join(l.control.unlink(linkName(path)), l.control.removeDevice(number))
}

// Counts are what the driver holds now.
func (l *Lab) Counts() (Counts, error) { return l.control.counts() }

// Openings are the devices and files that have been opened and closed.
func (l *Lab) Openings() []Opening { return l.server.openings.list() }

// Errors are what went wrong in the lab itself, if anything did.
func (l *Lab) Errors() error { return l.server.errors() }

// Host is Windows' own boundary with the node behind it: internal/win/native for
// devices, mounts, files and WMI. The rest is the node's, because in its place
// there would be Wine's own: services, firmware, registry, logons. What the
// boundary names is published on the way, and so are the interface lists.
func (l *Lab) Host() *win.Host {
	windows := native.Host()
	return &win.Host{
		Devices:  published{l, windows.Devices},
		Mounts:   windows.Mounts,
		Files:    windows.Files,
		Services: l.node.Services,
		System:   l.node.System,
		WMI:      windows.WMI,
		Logons:   l.node.Logons,
		Arrivals: l.node.Arrivals,
	}
}

// published are devices whose names are made known before they are asked for.
type published struct {
	lab *Lab
	win.Devices
}

// Interfaces writes the node's list to the registry, where SetupDi looks, and
// puts what it finds there into the node's order: that of the registry means
// nothing. An error of the node cannot go that way.
func (p published) Interfaces(class abi.GUID) ([]string, error) {
	paths, err := p.lab.node.Devices.Interfaces(class)
	if err != nil {
		return nil, err
	}
	if err := p.lab.lists.set(class, paths); err != nil {
		return nil, err
	}
	found, err := p.Devices.Interfaces(class)
	slices.SortFunc(found, func(a, b string) int { return slices.Index(paths, a) - slices.Index(paths, b) })
	return found, err
}

func (p published) Open(path string, access win.Access) (win.Device, error) {
	if p.lab.hook == nil {
		if err := p.lab.prepare(path, access); err != nil {
			return nil, err
		}
	}
	return p.Devices.Open(path, access)
}

// prepare publishes a path if the node has a device there.
func (l *Lab) prepare(path string, access win.Access) error {
	device, err := l.node.Devices.Open(path, access)
	if err == nil {
		return errors.Join(device.Close(), l.Publish(path))
	}
	l.mu.Lock()
	_, known := l.published[path]
	l.mu.Unlock()
	if !known {
		return nil // Windows will say so itself
	}
	return l.Withdraw(path)
}

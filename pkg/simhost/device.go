// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// devices is the node's [win.Devices].
type devices struct{ node *Node }

func (ds devices) Interfaces(class abi.GUID) ([]string, error) {
	n := ds.node
	n.mu.Lock()
	defer n.mu.Unlock()
	var paths []string
	switch class {
	case abi.GUID_DEVINTERFACE_DISK:
		for _, d := range n.sortedDisks() {
			paths = append(append(paths, d.interfacePath), d.pathDisks...)
		}
	case abi.GUID_DEVINTERFACE_VOLUME:
		for _, v := range n.sortedVolumes() {
			paths = append(paths, v.interfacePath())
		}
	}
	return paths, nil
}

// interfacePath is the volume's device interface path.
func (v *volume) interfacePath() string {
	e := v.extents[0]
	return fmt.Sprintf(`\\?\STORAGE#Volume#{%s}#%016X#{%s}`, e.disk.id, e.offset, abi.GUID_DEVINTERFACE_VOLUME)
}

func (ds devices) Open(path string, access win.Access) (win.Device, error) {
	n := ds.node
	n.mu.Lock()
	defer n.mu.Unlock()
	driver, err := n.driverAt(path)
	if err != nil {
		return nil, err
	}
	n.opened()
	return &device{node: n, driver: driver, access: access}, nil
}

// driver is what stands behind a device's handles. Its methods need the node's
// lock.
type driver interface {
	// gone says why the device no longer answers, if it does not.
	gone() error
	// control answers a control code, with data that may be longer than the
	// room in the caller's buffer, and beside ERROR_MORE_DATA with what fits.
	control(code uint32, in []byte, room int) ([]byte, error)
	// sector is the unit of reads; 0: it has no medium.
	sector() int64
	readAt(p []byte, offset int64) (int, error)
	flush() error
}

// driverAt finds a device by its path (windows-api.md 0.2).
func (n *Node) driverAt(path string) (driver, error) {
	if strings.EqualFold(path, abi.MountPointManager) {
		return mountManager{n}, nil
	}
	if number, ok := devicePath(path, `\\.\PhysicalDrive`); ok {
		if d, ok := n.diskByNumber(number); ok {
			return diskDriver{n, d, d.arrivals}, nil
		}
		return nil, win.ERROR_FILE_NOT_FOUND
	}
	if _, isVolume := parseVolumeName(path); !isVolume { // or all disks would be looked at
		if d, ok := n.diskByPath(path); ok {
			return diskDriver{n, d, d.arrivals}, nil
		}
		if d, ok := n.diskOfPathDisk(path); ok {
			return pathDiskDriver{diskDriver{n, d, d.arrivals}}, nil
		}
	}
	v, ok := n.volumeAtPath(path)
	if !ok {
		return nil, win.ERROR_FILE_NOT_FOUND
	}
	if !v.online(time.Now()) {
		return nil, n.offlineCode(v)
	}
	return volumeDriver{n, v, v.extents[0].disk.arrivals}, nil
}

// offlineCode is what opening a volume that is not there answers.
func (n *Node) offlineCode(v *volume) error {
	for _, e := range v.extents {
		if e.disk.present && e.disk.offline && n.switches.OfflineVolumeNotReady {
			return win.ERROR_NOT_READY
		}
	}
	return win.ERROR_FILE_NOT_FOUND
}

// devicePath reads the number at the end of a device path.
func devicePath(path, prefix string) (uint32, bool) {
	if len(path) <= len(prefix) || !strings.EqualFold(path[:len(prefix)], prefix) {
		return 0, false
	}
	number, err := strconv.ParseUint(path[len(prefix):], 10, 32)
	return uint32(number), err == nil
}

// volumeAtPath finds a volume, whether it answers or not, by its name without
// trailing backslash, its drive, its device or its interface path.
func (n *Node) volumeAtPath(path string) (*volume, bool) {
	if id, ok := parseVolumeName(path); ok && !strings.HasSuffix(path, `\`) {
		v, ok := n.volumes[id]
		return v, ok
	}
	if len(path) == 6 && strings.HasPrefix(path, `\\.\`) && path[5] == ':' {
		id, ok := n.letters[upper(path[4])]
		if !ok {
			return nil, false
		}
		v, ok := n.volumes[id]
		return v, ok
	}
	for _, prefix := range []string{`\\.\HarddiskVolume`, `\\?\HarddiskVolume`, `\\?\GLOBALROOT\Device\HarddiskVolume`, `\\.\GLOBALROOT\Device\HarddiskVolume`} {
		if number, ok := devicePath(path, prefix); ok {
			return n.volumeByDevice(number)
		}
	}
	for _, v := range n.volumes {
		if strings.EqualFold(v.interfacePath(), path) {
			return v, true
		}
	}
	return nil, false
}

// volumeByDevice finds a volume by the N of \Device\HarddiskVolumeN, nameless
// ones too.
func (n *Node) volumeByDevice(number uint32) (*volume, bool) {
	for _, d := range n.disks {
		for _, p := range d.partitions {
			if p.volume != nil && p.volume.device == number {
				return p.volume, true
			}
		}
	}
	return nil, false
}

// upper is an ASCII letter in upper case.
func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// device is an open handle.
type device struct {
	node   *Node
	driver driver
	access win.Access
	shut   bool
}

// rights are the handle's, as abi.RequiredAccess counts them.
func (h *device) rights() uint32 {
	var rights uint32
	if h.access&(win.GenericRead|win.FileReadData) != 0 {
		rights |= 1
	}
	if h.access&(win.GenericWrite|win.FileWriteData) != 0 {
		rights |= 2
	}
	return rights
}

// check says why a handle refuses a request that needs rights, if it does.
func (h *device) check(rights uint32) error {
	switch {
	case h.shut:
		return win.ERROR_INVALID_HANDLE
	case h.rights()&rights != rights:
		return win.ERROR_ACCESS_DENIED
	}
	return h.driver.gone()
}

func (h *device) Control(code uint32, in, out []byte) (int, error) {
	h.node.mu.Lock()
	defer h.node.mu.Unlock()
	if err := h.check(abi.RequiredAccess(code)); err != nil {
		return 0, err
	}
	data, err := h.driver.control(code, in, len(out))
	if len(data) > len(out) {
		return 0, win.ERROR_INSUFFICIENT_BUFFER
	}
	return copy(out, data), err
}

func (h *device) ReadAt(p []byte, offset int64) (int, error) {
	h.node.mu.Lock()
	defer h.node.mu.Unlock()
	if err := h.check(1); err != nil {
		return 0, err
	}
	sector := h.driver.sector()
	if sector != 0 && (offset < 0 || offset%sector != 0 || int64(len(p))%sector != 0) {
		return 0, win.ERROR_INVALID_PARAMETER
	}
	return h.driver.readAt(p, offset)
}

func (h *device) Flush() error {
	h.node.mu.Lock()
	defer h.node.mu.Unlock()
	if err := h.check(2); err != nil {
		return err
	}
	return h.driver.flush()
}

func (h *device) Close() error {
	h.node.mu.Lock()
	defer h.node.mu.Unlock()
	if h.shut {
		return win.ERROR_INVALID_HANDLE
	}
	h.shut = true
	h.node.closed()
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

const readWrite = win.GenericRead | win.GenericWrite

// lab is a node with a boot disk 0 and what a test adds, as disk 1, 2, ….
type lab struct {
	*testing.T
	*Node
}

func newLab(t *testing.T, switches Switches, disks ...DiskSpec) lab {
	t.Helper()
	spec := NodeSpec{Version: SpecVersion, Switches: switches, Disks: append([]DiskSpec{BootDisk()}, disks...)}
	n, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if open := n.OpenHandles(); open != 0 {
			t.Errorf("%d handles are open at the end", open)
		}
	})
	return lab{t, n}
}

// plain is a disk of 1 GiB without a table.
func plain(name string) DiskSpec {
	return DiskSpec{Name: name, Size: GiB, Bus: "sas", Vendor: "Msft    ", Product: "Virtual Disk    ", Address: &AddressSpec{Port: 1}}
}

// data is a disk of 1 GiB with a reserved partition and one of NTFS.
func data(name string) DiskSpec {
	d := plain(name)
	d.Style = "gpt"
	d.Partitions = []PartitionSpec{{Type: "msr"}, {Volume: &VolumeSpec{FileSystem: "NTFS"}}}
	return d
}

func (l lab) open(path string, access win.Access) win.Device {
	l.Helper()
	d, err := l.Host().Devices.Open(path, access)
	if err != nil {
		l.Fatalf("open %s: %v", path, err)
	}
	l.Cleanup(func() { _ = d.Close() }) // an error says that the test has closed it
	return d
}

func (l lab) drive(number uint32, access win.Access) win.Device {
	l.Helper()
	return l.open(fmt.Sprintf(`\\.\PhysicalDrive%d`, number), access)
}

// only is the one volume of a disk.
func (l lab) only(name string) *volume {
	l.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *volume
	for _, p := range l.diskNamed(name).partitions {
		if p.volume == nil {
			continue
		}
		if found != nil {
			l.Fatalf("disk %s has several volumes", name)
		}
		found = p.volume
	}
	if found == nil {
		l.Fatalf("disk %s has no volume", name)
	}
	return found
}

func (l lab) openVolume(v *volume, access win.Access) win.Device {
	l.Helper()
	return l.open(strings.TrimSuffix(v.name(), `\`), access)
}

func ask(t *testing.T, d win.Controller, code uint32, in []byte, room int) []byte {
	t.Helper()
	out := make([]byte, room)
	n, err := d.Control(code, in, out)
	if err != nil {
		t.Fatalf("control code %#x: %v", code, err)
	}
	return out[:n]
}

// decode asks and reads the answer.
func decode[T any](t *testing.T, d win.Controller, code uint32, in []byte, read func([]byte) (T, error)) T {
	t.Helper()
	v, err := read(ask(t, d, code, in, 16<<10))
	if err != nil {
		t.Fatalf("control code %#x: %v", code, err)
	}
	return v
}

func layoutOf(t *testing.T, d win.Controller) abi.Layout {
	t.Helper()
	return decode(t, d, abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, abi.DecodeLayout)
}

func sizeOf(t *testing.T, d win.Controller) int64 {
	t.Helper()
	return decode(t, d, abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, nil, abi.DecodeDiskGeometry).DiskSize
}

func read(t *testing.T, d win.Device, offset int64, length int) []byte {
	t.Helper()
	b := make([]byte, length)
	n, err := d.ReadAt(b, offset)
	if err != nil {
		t.Fatalf("read %d bytes at %d: %v", length, offset, err)
	}
	return b[:n]
}

func attributesOf(t *testing.T, d win.Controller) uint64 {
	t.Helper()
	return decode(t, d, abi.IOCTL_DISK_GET_DISK_ATTRIBUTES, nil, abi.DecodeDiskAttributes)
}

func set(t *testing.T, d win.Controller, bits, mask uint64) {
	t.Helper()
	ask(t, d, abi.IOCTL_DISK_SET_DISK_ATTRIBUTES, abi.SetDiskAttributes{Version: 40, Persist: true, Attributes: bits, Mask: mask}.Encode(), 0)
}

// with runs f with a described disk and the node's lock.
func (l lab) with(name string, f func(d *disk) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f(l.diskNamed(name))
}

func (l lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// stage initialises a disk and makes one partition of all its space.
func (l lab) stage(name string) error {
	return l.with(name, func(d *disk) error {
		if err := l.initialise(d, abi.PartitionStyleGPT); err != nil {
			return err
		}
		_, err := l.createPartition(d, newPartition{})
		return err
	})
}

func wantReturn(t *testing.T, err error, want win.ReturnValue) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %d (%v)", err, uint32(want), want)
	}
}

func (l lab) volumeNames() []string {
	l.Helper()
	names, err := l.Host().Mounts.Volumes()
	l.must(err)
	return names
}

// mountFolder makes a directory and mounts a volume there.
func (l lab) mountFolder(path string, v *volume) error {
	l.mu.Lock()
	err := l.makeDirectories(path)
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.Host().Mounts.SetPoint(path+`\`, v.name())
}

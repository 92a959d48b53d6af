// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/lab"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// disk0 is the path of the node's first disk.
const disk0 = `\\.\PhysicalDrive0`

// holding puts a node into the lab that holds a control code until it is
// released.
func holding(t *testing.T, code uint32) (l *lab.Lab, held chan struct{}, release func()) {
	t.Helper()
	node := named(t, simhost.Names()[0])
	l = start(t, node)
	if err := l.Publish(disk0); err != nil {
		t.Fatal(err)
	}
	held, let := make(chan struct{}, 16), make(chan struct{})
	node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method == "Device.Control" && c.Code == code {
			held <- struct{}{}
			<-let
		}
		return do()
	})
	return l, held, func() { close(let) }
}

func open(t *testing.T, path string, access, flags uint32) windows.Handle {
	t.Helper()
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := windows.CreateFile(name, access, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil, windows.OPEN_EXISTING, flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func send(h windows.Handle, code uint32) error {
	var n uint32
	out := make([]byte, 64)
	return windows.DeviceIoControl(h, code, nil, 0, &out[0], uint32(len(out)), &n, nil)
}

// A held request ends as its end comes: cancelled from another thread, with its
// device, or with the server.
func TestHeldRequests(t *testing.T) {
	const code = abi.IOCTL_STORAGE_GET_DEVICE_NUMBER
	for _, tt := range []struct {
		name string
		end  func(l *lab.Lab, h windows.Handle) error
		want error
	}{
		{"cancelled", func(_ *lab.Lab, h windows.Handle) error { return windows.CancelIoEx(h, nil) }, win.ERROR_OPERATION_ABORTED},
		{"device removed", func(l *lab.Lab, _ windows.Handle) error { return l.Withdraw(disk0) }, win.ERROR_NO_SUCH_DEVICE},
		{"server gone", func(l *lab.Lab, _ windows.Handle) error { return l.Abandon() }, win.ERROR_DEVICE_NOT_CONNECTED},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, held, release := holding(t, code)
			h := open(t, disk0, 0, 0)
			ended := make(chan error)
			go func() { ended <- send(h, code) }()
			<-held
			if counts, err := l.Counts(); err != nil || counts.Held != 1 {
				t.Errorf("%+v, %v; want one request held", counts, err)
			}
			if err := tt.end(l, h); err != nil {
				t.Error(err)
			}
			if err := <-ended; !errors.Is(err, tt.want) {
				t.Errorf("the request ended with %v, want %v", err, tt.want)
			}
			release()
			if err := windows.CloseHandle(h); err != nil {
				t.Error(err)
			}
		})
	}
}

// A device that is gone is not found any more; one that comes back is.
func TestRemoval(t *testing.T) {
	node := named(t, simhost.Names()[0])
	devices := near(start(t, node)).Devices
	name := node.Disks()[1]
	for range 2 {
		if d, err := devices.Open(`\\.\PhysicalDrive1`, win.NoAccess); !errors.Is(err, win.ERROR_FILE_NOT_FOUND) {
			t.Fatalf("before: %v, %v", d, err)
		}
		if _, err := node.AttachDisk(name); err != nil {
			t.Fatal(err)
		}
		d, err := devices.Open(`\\.\PhysicalDrive1`, win.NoAccess)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, 12)
		if n, err := d.Control(abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, out); n != 12 || err != nil {
			t.Errorf("there: %d, %v", n, err)
		}
		if err := node.DetachDisk(name); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Control(abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, out); !errors.Is(err, win.ERROR_NO_SUCH_DEVICE) {
			t.Errorf("gone: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Too little access is refused: by the I/O manager for control codes, by the
// node for what has no code.
func TestAccess(t *testing.T) {
	node := named(t, simhost.Names()[0])
	devices := near(start(t, node)).Devices
	for _, tt := range []struct {
		name   string
		access win.Access // the least
		do     func(d win.Device) error
	}{
		{"any", win.NoAccess, func(d win.Device) error {
			return second(d.Control(abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, make([]byte, 12)))
		}},
		{"read", win.GenericRead, func(d win.Device) error {
			return second(d.Control(abi.IOCTL_DISK_GET_LENGTH_INFO, nil, make([]byte, 8)))
		}},
		{"read and write", win.GenericRead | win.GenericWrite, func(d win.Device) error {
			return second(d.Control(abi.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, make([]byte, 64)))
		}},
		{"read media", win.GenericRead, func(d win.Device) error { return second(d.ReadAt(make([]byte, 4096), 0)) }},
		{"flush", win.GenericWrite, func(d win.Device) error { return d.Flush() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, access := range []win.Access{win.NoAccess, win.GenericRead, win.GenericWrite, win.GenericRead | win.GenericWrite} {
				d, err := devices.Open(disk0, access)
				if err != nil {
					t.Fatal(err)
				}
				enough := access&tt.access == tt.access
				if err := tt.do(d); enough == errors.Is(err, win.ERROR_ACCESS_DENIED) {
					t.Errorf("with access %#x: %v", access, err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The driver serves one server, and forgets all of one that dies.
func TestOneServer(t *testing.T) {
	l := start(t, named(t, simhost.Names()[0]))
	if err := l.Publish(disk0); err != nil {
		t.Fatal(err)
	}
	second := open(t, `\\.\LabControl`, windows.GENERIC_READ|windows.GENERIC_WRITE, 0)
	const counts = 0x8000_2018
	if err := send(second, counts); !errors.Is(err, win.ERROR_BUSY) {
		t.Errorf("a second server: %v, want %v", err, win.ERROR_BUSY)
	}
	if err := l.Abandon(); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 16)
	var n uint32
	if err := windows.DeviceIoControl(second, counts, nil, 0, &out[0], 16, &n, nil); err != nil || [16]byte(out) != [16]byte{} {
		t.Errorf("after the first: %v, %v; want nothing left", out, err)
	}
	if err := windows.CloseHandle(second); err != nil {
		t.Error(err)
	}
}

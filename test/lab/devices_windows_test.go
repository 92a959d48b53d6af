// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// answer is what one call gave.
type answer struct {
	Data []byte
	Err  error
}

func control(d win.Device, code uint32, in []byte, room int) answer {
	out := make([]byte, room)
	n, err := d.Control(code, in, out)
	return answer{out[:n], err}
}

// Without the hook: each disk of each node answers CreateFile, DeviceIoControl,
// ReadFile and FlushFileBuffers as the node answers itself.
func TestDisks(t *testing.T) {
	shipped(t, func(t *testing.T, name string) {
		node := named(t, name)
		l := start(t, node)
		near, far := near(l).Devices, node.Host().Devices
		want, err := far.Interfaces(abi.GUID_DEVINTERFACE_DISK)
		if err != nil {
			t.Fatal(err)
		}
		got, err := near.Interfaces(abi.GUID_DEVINTERFACE_DISK)
		if err != nil || len(got) == 0 {
			t.Fatal(got, err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for _, path := range want {
			for _, access := range []win.Access{win.NoAccess, win.GenericRead, win.GenericRead | win.GenericWrite} {
				if diff := cmp.Diff(answersOf(t, far, path, access), answersOf(t, near, path, access), cmp.Comparer(sameError)); diff != "" {
					t.Errorf("%s with access %#x:\n%s", path, access, diff)
				}
			}
		}
		if err := l.Settle(); err != nil {
			t.Error(err)
		}
	})
}

func sameError(a, b error) bool { return reflect.DeepEqual(a, b) }

func answersOf(t *testing.T, devices win.Devices, path string, access win.Access) map[string]answer {
	t.Helper()
	d, err := devices.Open(path, access)
	if err != nil {
		return map[string]answer{"open": {nil, err}}
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	answers := map[string]answer{}
	for name, code := range map[string]uint32{
		"number": abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, "address": abi.IOCTL_SCSI_GET_ADDRESS,
		"geometry": abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, "layout": abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX,
		"attributes": abi.IOCTL_DISK_GET_DISK_ATTRIBUTES, "length": abi.IOCTL_DISK_GET_LENGTH_INFO,
		"unknown": 0x0012_3400,
	} {
		for _, room := range []int{0, 4, 4096} {
			answers[name+string(rune('0'+room%7))] = control(d, code, nil, room)
		}
	}
	for name, offset := range map[string]int64{"first": 0, "second": 4096, "odd": 100, "beyond": 1 << 60} {
		sector := make([]byte, 4096)
		n, err := d.ReadAt(sector, offset)
		answers["read "+name] = answer{sector[:n], err}
	}
	answers["flush"] = answer{nil, d.Flush()}
	return answers
}

// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/lab"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
)

// Without the hook: volumes as kernel32 finds them through the mount manager's
// device and asks their own.
func TestVolumes(t *testing.T) {
	shipped(t, func(t *testing.T, name string) {
		node, twin := named(t, name), named(t, name)
		l := start(t, node)
		if err := l.Publish(abi.MountPointManager); err != nil {
			t.Fatal(err)
		}
		volumes, err := node.Host().Mounts.Volumes()
		if err != nil {
			t.Fatal(err)
		}
		for _, volume := range volumes {
			if err := l.Publish(volume[:len(volume)-1]); err != nil {
				t.Fatal(err)
			}
		}
		same(t, volumesSaid(twin.Host().Mounts, volumes), volumesSaid(near(l).Mounts, volumes))
	})
}

func volumesSaid(m win.Mounts, volumes []string) []string {
	var said []string
	say := func(result any, err error) { said = append(said, fmt.Sprintf("%+v, %v", result, err)) }
	list, err := m.Volumes()
	say(list, err)
	for _, volume := range volumes {
		info, err := m.Information(volume)
		if err != nil {
			continue // what is RAW, Wine tells by another code
		}
		say(info, err)
		space, err := m.FreeSpace(volume)
		say(space, err)
	}
	return said
}

// What the node knows nothing of, Wine's own mount manager answers.
func TestMountManager_PassedOn(t *testing.T) {
	const letters = 0x6D_8014 // not IOCTL_MOUNTMGR_QUERY_POINTS
	l := start(t, named(t, "aws-nitro"))
	own := open(t, `\\?\GLOBALROOT\Device\MountPointManager`, windows.GENERIC_READ|windows.GENERIC_WRITE, 0)
	if err := l.Publish(abi.MountPointManager); err != nil {
		t.Fatal(err)
	}
	through := open(t, abi.MountPointManager, windows.GENERIC_READ|windows.GENERIC_WRITE, 0)
	if want, got := send(own, letters), send(through, letters); !reflect.DeepEqual(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := errors.Join(windows.CloseHandle(own), windows.CloseHandle(through), l.Settle()); err != nil {
		t.Error(err)
	}
}

// machine is what the lab changes on the machine.
func machine(t *testing.T) map[string]any {
	t.Helper()
	state := map[string]any{}
	for _, name := range []string{"PhysicalDrive0", "PhysicalDrive1", "MountPointManager", "C:", "LabControl"} {
		target := make([]uint16, windows.MAX_PATH)
		text, err := windows.UTF16PtrFromString(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = windows.QueryDosDevice(text, &target[0], uint32(len(target)))
		state[name] = fmt.Sprint(windows.UTF16ToString(target), err)
	}
	for _, class := range []abi.GUID{abi.GUID_DEVINTERFACE_DISK, abi.GUID_DEVINTERFACE_VOLUME} {
		paths, err := native.Host().Devices.Interfaces(class)
		state[class.String()] = fmt.Sprint(paths, err)
	}
	volumes, err := native.Host().Mounts.Volumes()
	state["volumes"] = fmt.Sprint(volumes, err)
	info, err := native.Host().Mounts.Information(`C:\`)
	state["C"] = fmt.Sprint(info.FileSystem, err)
	return state
}

// When a lab ends, the machine is as it was: also one that was abandoned, and
// one with the hook.
func TestNothingIsLeft(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, l *lab.Lab) error{
		"closed":    func(*testing.T, *lab.Lab) error { return nil },
		"abandoned": func(_ *testing.T, l *lab.Lab) error { return l.Abandon() },
		"hooked":    func(_ *testing.T, l *lab.Lab) error { return l.Hook() },
	} {
		t.Run(name, func(t *testing.T) {
			var before map[string]any
			t.Run("lab", func(t *testing.T) {
				before = machine(t)
				l := start(t, named(t, "aws-nitro"))
				for _, path := range []string{disk0, `\\.\PhysicalDrive1`, abi.MountPointManager} {
					if err := l.Publish(path); err != nil {
						t.Error(err)
					}
				}
				if _, err := l.Host().Devices.Interfaces(abi.GUID_DEVINTERFACE_DISK); err != nil {
					t.Error(err)
				}
				if reflect.DeepEqual(before, machine(t)) {
					t.Error("the lab has changed nothing")
				}
				if err := use(t, l); err != nil {
					t.Error(err)
				}
			})
			same(t, []string{fmt.Sprint(before)}, []string{fmt.Sprint(machine(t))})
		})
	}
}

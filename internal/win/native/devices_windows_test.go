// SPDX-License-Identifier: Apache-2.0

package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/test/wine"
)

const diskClass = "{53f56307-b6bf-11d0-94f2-00a0c91efb8b}"

func handleCount(t *testing.T) int {
	t.Helper()
	var n uint32
	count := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetProcessHandleCount")
	if ok, _, err := count.Call(uintptr(windows.CurrentProcess()), uintptr(unsafe.Pointer(&n))); ok == 0 {
		t.Fatal(err)
	}
	return int(n)
}

func mustOpenDevice(t *testing.T, path string, access win.Access) win.Device {
	t.Helper()
	d, err := devices{}.Open(path, access)
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close %s: %v", path, err)
		}
	})
	return d
}

func TestDevices_Interfaces(t *testing.T) {
	before, err := Host().Devices.Interfaces(abi.GUID_DEVINTERFACE_DISK)
	if err != nil {
		t.Fatal(err)
	}
	if !wine.Running() {
		for _, path := range before {
			if !strings.HasPrefix(path, `\\?\`) || !strings.HasSuffix(path, diskClass) {
				t.Errorf("not an interface path of the class: %q", path)
			}
		}
		return
	}
	// Wine lists what stands in the registry.
	short, long := `\\?\scsi#disk&ven_test#1#`+diskClass, `\\?\scsi#disk&ven_`+strings.Repeat("x", 180)+`#2#`+diskClass
	want := append(slices.Clone(before), short, long)
	for _, path := range want[len(before):] {
		registerInterface(t, path)
	}
	got, err := Host().Devices.Interfaces(abi.GUID_DEVINTERFACE_DISK)
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func registerInterface(t *testing.T, path string) {
	t.Helper()
	name := strings.TrimPrefix(path, `\\?\`)
	instance := strings.ReplaceAll(strings.TrimSuffix(name, "#"+diskClass), "#", `\`)
	base := `SYSTEM\CurrentControlSet\Control\DeviceClasses\` + diskClass + `\##?#` + name
	set := func(key, value string, data any) {
		k, _, err := registry.CreateKey(registry.LOCAL_MACHINE, key, registry.ALL_ACCESS)
		if err != nil {
			t.Fatal(err)
		}
		switch data := data.(type) {
		case string:
			err = k.SetStringValue(value, data)
		case uint32:
			err = k.SetDWordValue(value, data)
		}
		if err := errors.Join(err, k.Close()); err != nil {
			t.Fatal(err)
		}
	}
	set(base, "DeviceInstance", instance)
	set(base+`\#`, "SymbolicLink", path)
	set(base+`\#\Control`, "Linked", uint32(1))
	set(`SYSTEM\CurrentControlSet\Enum\`+instance, "ClassGUID", "{4d36e967-e325-11ce-bfc1-08002be10318}")
	t.Cleanup(func() {
		for _, key := range []string{base + `\#\Control`, base + `\#`, base, `SYSTEM\CurrentControlSet\Enum\` + instance} {
			if err := registry.DeleteKey(registry.LOCAL_MACHINE, key); err != nil {
				t.Errorf("registry key %s: %v", key, err)
			}
		}
	})
}

func TestDevice_Control(t *testing.T) {
	const noSuchFunction = 0x071FFC // of a disk, for any access
	c := mustOpenDevice(t, `\\.\C:`, win.NoAccess)

	buf := make([]byte, 64)
	n, err := c.Control(abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, buf)
	if err != nil || n != abi.DeviceNumberSize {
		t.Fatalf("device number: %d bytes, %v; want %d", n, err, abi.DeviceNumberSize)
	}
	number, err := abi.DecodeDeviceNumber(buf[:n])
	if err != nil || number.DeviceType != abi.FILE_DEVICE_DISK {
		t.Errorf("%+v, %v; want a disk", number, err)
	}
	if n, err := c.Control(noSuchFunction, nil, buf); n != 0 || !errors.Is(err, wine.UnknownControlCode()) {
		t.Errorf("unknown code: %d bytes, error %v; want %v", n, err, wine.UnknownControlCode())
	}
}

// A warning carries data: the mount manager says how much there is.
func TestDevice_ControlMoreData(t *testing.T) {
	m := mustOpenDevice(t, abi.MountPointManager, win.NoAccess)
	answer := make([]byte, 32) // no room for a name
	n, err := m.Control(abi.IOCTL_MOUNTMGR_QUERY_POINTS, abi.QueryEveryMountPoint(), answer)
	if !errors.Is(err, win.ERROR_MORE_DATA) || n < 4 {
		t.Fatalf("%d bytes, error %v; want the size and 234", n, err)
	}
	answer = make([]byte, binary.LittleEndian.Uint32(answer)) // MOUNTMGR_MOUNT_POINTS.Size
	n, err = m.Control(abi.IOCTL_MOUNTMGR_QUERY_POINTS, abi.QueryEveryMountPoint(), answer)
	if err != nil {
		t.Fatal(err)
	}
	if points, err := abi.DecodeMountPoints(answer[:n]); err != nil || len(points) == 0 {
		t.Errorf("%d mount points, %v", len(points), err)
	}
}

func TestDevices_OpenMissing(t *testing.T) {
	for _, tt := range []struct {
		path string
		want error
	}{
		{`\\.\PhysicalDrive99`, win.ERROR_FILE_NOT_FOUND},
		{`\\?\Volume{99999999-9999-9999-9999-999999999999}`, win.ERROR_FILE_NOT_FOUND},
		{"\\\\.\\C:\x00", win.ERROR_INVALID_NAME},
	} {
		t.Run(tt.path, func(t *testing.T) {
			if _, err := (devices{}).Open(tt.path, win.NoAccess); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// Reads name their offset, so that they may run at the same time. A file stands
// for the media here.
func TestDevice_ReadAt(t *testing.T) {
	const sector, sectors = 512, 64
	media := make([]byte, sector*sectors)
	for i := range media {
		media[i] = byte(i / sector)
	}
	path := filepath.Join(t.TempDir(), "media")
	if err := os.WriteFile(path, media, 0o600); err != nil {
		t.Fatal(err)
	}
	d := mustOpenDevice(t, path, win.GenericRead)
	var wg sync.WaitGroup
	for i := range sectors {
		wg.Go(func() {
			got := make([]byte, sector)
			n, err := d.ReadAt(got, int64(i*sector))
			if err != nil || n != sector || !bytes.Equal(got, media[i*sector:(i+1)*sector]) {
				t.Errorf("sector %d: %d bytes, starting with %d, %v", i, n, got[0], err)
			}
		})
	}
	wg.Wait()

	if n, err := d.ReadAt(make([]byte, 2*sector), (sectors-1)*sector); n != sector || err != nil {
		t.Errorf("over the end: %d bytes, %v; want %d", n, err, sector)
	}
	if n, err := d.ReadAt(make([]byte, sector), sectors*sector); n != 0 || !errors.Is(err, win.ERROR_HANDLE_EOF) {
		t.Errorf("behind the end: %d bytes, error %v; want 38", n, err)
	}
}

func TestDevice_Flush(t *testing.T) {
	path := filepath.Join(t.TempDir(), "media")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := mustOpenDevice(t, path, win.GenericWrite).Flush(); err != nil {
		t.Error(err)
	}
}

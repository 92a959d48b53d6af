// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

type devices struct{ setup setupAPI }

var (
	_ win.Devices = devices{}
	_ win.Device  = (*device)(nil)
)

// Interfaces enumerates a device information set, a snapshot: a device that
// leaves meanwhile stays in it (windows-api.md 1.1).
func (d devices) Interfaces(class abi.GUID) ([]string, error) {
	set, err := d.setup.list(&class)
	if err != nil {
		return nil, err
	}
	defer d.setup.close(set)

	var paths []string
	for index := uint32(0); ; index++ {
		data, err := d.setup.next(set, &class, index)
		if errors.Is(err, win.ERROR_NO_MORE_ITEMS) {
			return paths, nil
		}
		if err != nil {
			return nil, err
		}
		path, err := d.setup.path(set, data)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
}

func (devices) Open(path string, access win.Access) (win.Device, error) {
	name, err := wide(path)
	if err != nil {
		return nil, err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE
	value, err := windows.CreateFile(&name[0], uint32(access), share, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return nil, err
	}
	return &device{handle{value: value}}, nil
}

type device struct{ handle }

// ReadAt names the offset in an OVERLAPPED structure, so that reads on one
// handle do not share a file pointer.
func (d *device) ReadAt(p []byte, offset int64) (int, error) {
	var n uint32
	err := d.use(func(value windows.Handle) error {
		at := windows.Overlapped{Offset: uint32(offset), OffsetHigh: uint32(offset >> 32)}
		return windows.ReadFile(value, p, &n, &at)
	})
	return int(n), err
}

func (d *device) Flush() error { return d.use(windows.FlushFileBuffers) }

// setupAPI is what setupapi.dll has beyond x/sys. Nano Server lacks the DLL.
type setupAPI struct {
	classDevs, enumInterfaces, interfaceDetail, destroy *windows.LazyProc
}

func newSetupAPI() setupAPI {
	dll := windows.NewLazySystemDLL("setupapi.dll")
	return setupAPI{
		classDevs:       dll.NewProc("SetupDiGetClassDevsW"),
		enumInterfaces:  dll.NewProc("SetupDiEnumDeviceInterfaces"),
		interfaceDetail: dll.NewProc("SetupDiGetDeviceInterfaceDetailW"),
		destroy:         dll.NewProc("SetupDiDestroyDeviceInfoList"),
	}
}

// interfaceData is SP_DEVICE_INTERFACE_DATA.
type interfaceData struct {
	size     uint32
	class    abi.GUID
	flags    uint32
	reserved uintptr
}

// list makes a device information set of the present devices of a class.
func (s setupAPI) list(class *abi.GUID) (uintptr, error) {
	if err := find(s.classDevs, s.enumInterfaces, s.interfaceDetail, s.destroy); err != nil {
		return 0, err
	}
	const present = windows.DIGCF_PRESENT | windows.DIGCF_DEVICEINTERFACE
	set, _, last := s.classDevs.Call(uintptr(unsafe.Pointer(class)), 0, 0, uintptr(present))
	if windows.Handle(set) == windows.InvalidHandle {
		return 0, failure(last)
	}
	return set, nil
}

func (s setupAPI) close(set uintptr) { _, _, _ = s.destroy.Call(set) }

func (s setupAPI) next(set uintptr, class *abi.GUID, index uint32) (*interfaceData, error) {
	data := &interfaceData{}
	data.size = uint32(unsafe.Sizeof(*data))
	ok, _, last := s.enumInterfaces.Call(set, 0, uintptr(unsafe.Pointer(class)), uintptr(index), uintptr(unsafe.Pointer(data)))
	if ok == 0 {
		return nil, failure(last)
	}
	return data, nil
}

// path reads SP_DEVICE_INTERFACE_DETAIL_DATA_W: a length, which counts one
// character and the padding behind it (8 in 64-bit Windows), then the path.
func (s setupAPI) path(set uintptr, data *interfaceData) (string, error) {
	const start = 2 // units before the path
	detail, err := grow(start+windows.MAX_PATH, func(buf []uint16) (int, error) {
		buf[0] = 8
		var bytes uint32
		ok, _, last := s.interfaceDetail.Call(set, uintptr(unsafe.Pointer(data)), uintptr(unsafe.Pointer(&buf[0])),
			uintptr(2*len(buf)), uintptr(unsafe.Pointer(&bytes)), 0)
		units := int(bytes+1) / 2
		if ok == 0 {
			return units, failure(last)
		}
		return units, nil
	})
	if err != nil {
		return "", err
	}
	return windows.UTF16ToString(detail[start:]), nil
}

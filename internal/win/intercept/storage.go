// SPDX-License-Identifier: Apache-2.0

package intercept

import (
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

type devices struct {
	inner  win.Devices
	around Around
}

func (d *devices) Interfaces(class abi.GUID) ([]string, error) {
	return ask(d.around, Call{Method: "Devices.Interfaces", Subject: class.String()},
		func() ([]string, error) { return d.inner.Interfaces(class) })
}

func (d *devices) Open(path string, access win.Access) (win.Device, error) {
	opened, err := open(d.around, Call{Method: "Devices.Open", Subject: path},
		func() (win.Device, error) { return d.inner.Open(path, access) },
		func(opened win.Device) { _ = opened.Close() })
	if err != nil {
		return nil, err
	}
	return &device{opened, d.around, path}, nil
}

type device struct {
	inner  win.Device
	around Around
	path   string
}

func (d *device) Control(code uint32, in, out []byte) (int, error) {
	return fill(d.around, Call{Method: "Device.Control", Subject: d.path, Code: code}, out,
		func() (int, error) { return d.inner.Control(code, in, out) })
}

func (d *device) ReadAt(p []byte, offset int64) (int, error) {
	return fill(d.around, Call{Method: "Device.ReadAt", Subject: d.path}, p,
		func() (int, error) { return d.inner.ReadAt(p, offset) })
}

func (d *device) Flush() error {
	return tell(d.around, Call{Method: "Device.Flush", Subject: d.path}, d.inner.Flush)
}

func (d *device) Close() error { return d.inner.Close() }

type mounts struct {
	inner  win.Mounts
	around Around
}

func (m *mounts) Volumes() ([]string, error) {
	return ask(m.around, Call{Method: "Mounts.Volumes"}, m.inner.Volumes)
}

func (m *mounts) Paths(volume string) ([]string, error) {
	return ask(m.around, Call{Method: "Mounts.Paths", Subject: volume},
		func() ([]string, error) { return m.inner.Paths(volume) })
}

func (m *mounts) VolumeAt(mountPoint string) (string, error) {
	return ask(m.around, Call{Method: "Mounts.VolumeAt", Subject: mountPoint},
		func() (string, error) { return m.inner.VolumeAt(mountPoint) })
}

func (m *mounts) SetPoint(mountPoint, volume string) error {
	return tell(m.around, Call{Method: "Mounts.SetPoint", Subject: mountPoint},
		func() error { return m.inner.SetPoint(mountPoint, volume) })
}

func (m *mounts) DeletePoint(mountPoint string) error {
	return tell(m.around, Call{Method: "Mounts.DeletePoint", Subject: mountPoint},
		func() error { return m.inner.DeletePoint(mountPoint) })
}

func (m *mounts) Information(root string) (win.VolumeInformation, error) {
	return ask(m.around, Call{Method: "Mounts.Information", Subject: root},
		func() (win.VolumeInformation, error) { return m.inner.Information(root) })
}

func (m *mounts) FreeSpace(directory string) (win.FreeSpace, error) {
	return ask(m.around, Call{Method: "Mounts.FreeSpace", Subject: directory},
		func() (win.FreeSpace, error) { return m.inner.FreeSpace(directory) })
}

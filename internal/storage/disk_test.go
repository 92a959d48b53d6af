// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// answer answers a control code with at most room bytes.
type answer func(in []byte, room int) ([]byte, error)

// fakeDevice answers control codes; those that it does not know as a driver
// does.
type fakeDevice struct {
	answer map[uint32]answer

	mu     sync.Mutex
	calls  []uint32
	closed int
}

func (d *fakeDevice) Control(code uint32, in, out []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, code)
	reply := d.answer[code]
	if reply == nil {
		return 0, win.ERROR_INVALID_FUNCTION
	}
	b, err := reply(in, len(out))
	return copy(out, b), err
}

func (d *fakeDevice) ReadAt(p []byte, _ int64) (int, error) { return len(p), nil }

func (d *fakeDevice) Flush() error { return nil }

func (d *fakeDevice) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed++
	return nil
}

// always answers the same.
func always(b []byte) answer { return func([]byte, int) ([]byte, error) { return b, nil } }

func refuses(err error) answer { return func([]byte, int) ([]byte, error) { return nil, err } }

// properties answers property queries.
func properties(of map[abi.PropertyID][]byte) answer {
	return func(in []byte, room int) ([]byte, error) {
		query, err := abi.DecodePropertyQuery(in)
		b := of[query.Property]
		if err != nil || b == nil {
			return nil, win.ERROR_NOT_SUPPORTED
		}
		return b[:min(len(b), room)], nil
	}
}

// fakeDevices are devices by path.
type fakeDevices map[string]*fakeDevice

func (all fakeDevices) Interfaces(abi.GUID) ([]string, error) {
	var paths []string
	for path := range all {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths, nil
}

func (all fakeDevices) Open(path string, _ win.Access) (win.Device, error) {
	if d := all[path]; d != nil {
		return d, nil
	}
	return nil, win.ERROR_FILE_NOT_FOUND
}

// fakeDisk answers what identifies a disk.
func fakeDisk(number uint32, serial string) *fakeDevice {
	return &fakeDevice{answer: map[uint32]answer{
		abi.IOCTL_STORAGE_GET_DEVICE_NUMBER:    always(abi.DeviceNumber{DeviceType: abi.FILE_DEVICE_DISK, Number: number}.Encode()),
		abi.IOCTL_STORAGE_GET_DEVICE_NUMBER_EX: always(abi.DeviceNumberEx{DeviceType: abi.FILE_DEVICE_DISK, Number: number, GUID: abi.GUID{Data1: 7}}.Encode()),
		abi.IOCTL_STORAGE_QUERY_PROPERTY: properties(map[abi.PropertyID][]byte{
			abi.PropertyDevice: abi.DeviceDescriptor{Serial: serial, BusType: abi.BusTypeSAS}.Encode(),
		}),
	}}
}

// attributed gives a disk attributes that change as change says: it gets the
// wanted ones and returns what they are then.
func attributed(d *fakeDevice, now uint64, change func(abi.SetDiskAttributes) (uint64, error)) *fakeDevice {
	d.answer[abi.IOCTL_DISK_GET_DISK_ATTRIBUTES] = func([]byte, int) ([]byte, error) {
		return abi.EncodeDiskAttributes(now), nil
	}
	d.answer[abi.IOCTL_DISK_SET_DISK_ATTRIBUTES] = func(in []byte, _ int) ([]byte, error) {
		set, err := abi.DecodeSetDiskAttributes(in)
		if err != nil {
			return nil, err
		}
		now, err = change(set)
		return nil, err
	}
	d.answer[abi.IOCTL_DISK_UPDATE_PROPERTIES] = always(nil)
	return d
}

const (
	offline  = abi.DISK_ATTRIBUTE_OFFLINE
	readOnly = abi.DISK_ATTRIBUTE_READ_ONLY
)

// Attributes are read back: an attribute that stays is an error that names it
// (field-reports.md D13, D14).
func TestSetDiskState_ReadsBack(t *testing.T) {
	for name, c := range map[string]struct {
		now, want DiskState
		mask      uint64 // what is set
		then      uint64 // what the attributes are afterwards
		err       error
	}{
		"online":          {DiskState{true, true}, DiskState{}, offline | readOnly, 0, nil},
		"offline":         {DiskState{}, DiskState{Offline: true}, offline, offline, nil},
		"stays offline":   {DiskState{true, true}, DiskState{}, offline | readOnly, offline, errdefs.ErrDiskOffline},
		"stays read-only": {DiskState{true, true}, DiskState{}, offline | readOnly, readOnly, errdefs.ErrReadOnly},
		"stays both":      {DiskState{true, true}, DiskState{}, offline | readOnly, offline | readOnly, errdefs.ErrDiskOffline},
		"stays online":    {DiskState{}, DiskState{Offline: true}, offline, 0, errdefs.ErrUnavailable},
		// Another program has brought it online since it was looked at.
		"read-only, meanwhile online": {DiskState{Offline: true}, DiskState{true, true}, readOnly, readOnly, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := attributed(fakeDisk(1, "s"), offline|readOnly, func(set abi.SetDiskAttributes) (uint64, error) {
				if !set.Persist || set.Mask != c.mask || set.Attributes != c.want.attributes()&c.mask {
					t.Errorf("set %+v", set)
				}
				return c.then, nil
			})
			s := On(&win.Host{Devices: fakeDevices{`\\.\PhysicalDrive1`: d}})
			if err := s.SetDiskState(t.Context(), 1, c.now, c.want); !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("got %v", err)
			}
			if want := []uint32{abi.IOCTL_DISK_SET_DISK_ATTRIBUTES, abi.IOCTL_DISK_UPDATE_PROPERTIES, abi.IOCTL_DISK_GET_DISK_ATTRIBUTES}; !slices.Equal(d.calls, want) {
				t.Errorf("called %x", d.calls)
			}
			if d.closed != 1 {
				t.Errorf("closed %d times", d.closed)
			}
		})
	}
}

// Both versions of the structure are tried (windows-api.md 16.7), and only if
// the first is not understood.
func TestSetDiskState_Versions(t *testing.T) {
	for name, c := range map[string]struct {
		refusal func(version uint32) error
		want    []uint32
		err     error
	}{
		"40":        {func(uint32) error { return nil }, []uint32{40}, nil},
		"16":        {func(v uint32) error { return oneOf(v == 40, win.ERROR_INVALID_PARAMETER) }, []uint32{40, 16}, nil},
		"neither":   {func(uint32) error { return win.ERROR_INVALID_PARAMETER }, []uint32{40, 16}, win.ERROR_INVALID_PARAMETER},
		"no rights": {func(uint32) error { return win.ERROR_ACCESS_DENIED }, []uint32{40}, win.ERROR_ACCESS_DENIED},
	} {
		t.Run(name, func(t *testing.T) {
			var versions []uint32
			d := attributed(fakeDisk(1, "s"), offline, func(set abi.SetDiskAttributes) (uint64, error) {
				versions = append(versions, set.Version)
				return set.Attributes, c.refusal(set.Version)
			})
			err := On(&win.Host{Devices: fakeDevices{`\\.\PhysicalDrive1`: d}}).SetDiskState(t.Context(), 1, DiskState{Offline: true}, DiskState{})
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || !slices.Equal(versions, c.want) {
				t.Errorf("got %v with versions %d", err, versions)
			}
		})
	}
}

func oneOf(is bool, err error) error {
	if is {
		return err
	}
	return nil
}

// BringOnline and ProbeDisk are for the disk of that identity alone.
func TestDiskOfIdentity(t *testing.T) {
	change := func(set abi.SetDiskAttributes) (uint64, error) { return set.Attributes, nil }
	d := attributed(fakeDisk(1, "one"), offline|readOnly, change)
	d.answer[abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX] = always(gptOf().Encode())
	devices := fakeDevices{`\\.\PhysicalDrive1`: d}
	s := On(&win.Host{Devices: devices})
	found, err := s.InspectDisk(t.Context(), 1)
	if err != nil || found.State != (DiskState{Offline: true, ReadOnly: true}) {
		t.Fatalf("got %+v, %v", found, err)
	}

	other := attributed(fakeDisk(1, "other"), offline, change)
	devices[`\\.\PhysicalDrive1`] = other
	if err := s.BringOnline(t.Context(), found.Identity); !errors.Is(err, errdefs.ErrOtherDisk) {
		t.Errorf("got %v", err)
	}
	if slices.Contains(other.calls, abi.IOCTL_DISK_SET_DISK_ATTRIBUTES) {
		t.Error("the other disk was changed")
	}
	if got, err := s.ProbeDisk(t.Context(), found.Identity); !errors.Is(err, errdefs.ErrOtherDisk) {
		t.Errorf("probe: %+v, %v", got, err)
	}

	devices[`\\.\PhysicalDrive1`] = d
	if err := s.BringOnline(t.Context(), found.Identity); err != nil {
		t.Error(err)
	}
	if state, err := s.DiskState(t.Context(), 1); err != nil || state != (DiskState{}) {
		t.Errorf("got %+v, %v", state, err)
	}
}

// A handle that is of no disk, or of another number, is refused; so is a disk
// that nothing tells from another.
func TestInspectDisk_Identity(t *testing.T) {
	number := func(deviceType, number uint32) func(*fakeDevice) {
		return func(d *fakeDevice) {
			d.answer[abi.IOCTL_STORAGE_GET_DEVICE_NUMBER_EX] = always(abi.DeviceNumberEx{DeviceType: deviceType, Number: number}.Encode())
			d.answer[abi.IOCTL_STORAGE_GET_DEVICE_NUMBER] = always(abi.DeviceNumber{DeviceType: deviceType, Number: number}.Encode())
		}
	}
	withoutEx := func(d *fakeDevice) { delete(d.answer, abi.IOCTL_STORAGE_GET_DEVICE_NUMBER_EX) }
	for name, c := range map[string]struct {
		serial string
		change []func(*fakeDevice)
		want   error
	}{
		"all there":             {"s", nil, nil},
		"GUID alone":            {" ", nil, nil},
		"serial number alone":   {"s", []func(*fakeDevice){withoutEx}, nil},
		"nothing":               {" ", []func(*fakeDevice){withoutEx}, errdefs.ErrUnknownContent},
		"another number":        {"s", []func(*fakeDevice){number(abi.FILE_DEVICE_DISK, 2)}, errdefs.ErrOtherDisk},
		"another number, no Ex": {"s", []func(*fakeDevice){number(abi.FILE_DEVICE_DISK, 2), withoutEx}, errdefs.ErrOtherDisk},
		"a CD":                  {"s", []func(*fakeDevice){number(2, 1)}, errdefs.ErrOtherDisk},
		"number fails": {"s", []func(*fakeDevice){func(d *fakeDevice) {
			d.answer[abi.IOCTL_STORAGE_GET_DEVICE_NUMBER_EX] = refuses(win.ERROR_IO_DEVICE)
		}}, win.ERROR_IO_DEVICE},
		"number fails, no Ex": {"s", []func(*fakeDevice){withoutEx, func(d *fakeDevice) {
			d.answer[abi.IOCTL_STORAGE_GET_DEVICE_NUMBER] = refuses(win.ERROR_IO_DEVICE)
		}}, win.ERROR_IO_DEVICE},
		"descriptor fails": {"s", []func(*fakeDevice){func(d *fakeDevice) {
			d.answer[abi.IOCTL_STORAGE_QUERY_PROPERTY] = refuses(win.ERROR_IO_DEVICE)
		}}, win.ERROR_IO_DEVICE},
		"descriptor is malformed": {"s", []func(*fakeDevice){func(d *fakeDevice) {
			d.answer[abi.IOCTL_STORAGE_QUERY_PROPERTY] = properties(map[abi.PropertyID][]byte{
				abi.PropertyDevice: bytes.Repeat([]byte{0xff}, 64),
			})
		}}, errdefs.ErrInternal},
		"page 83 is malformed": {"s", []func(*fakeDevice){func(d *fakeDevice) {
			d.answer[abi.IOCTL_STORAGE_QUERY_PROPERTY] = properties(map[abi.PropertyID][]byte{
				abi.PropertyDevice:   abi.DeviceDescriptor{Serial: "s"}.Encode(),
				abi.PropertyDeviceID: bytes.Repeat([]byte{0xff}, 64), // D09
			})
		}}, errdefs.ErrInternal},
	} {
		t.Run(name, func(t *testing.T) {
			d := attributed(fakeDisk(1, c.serial), 0, nil)
			d.answer[abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX] = always(gptOf().Encode())
			for _, change := range c.change {
				change(d)
			}
			_, err := On(&win.Host{Devices: fakeDevices{`\\.\PhysicalDrive1`: d}}).InspectDisk(t.Context(), 1)
			switch {
			case errors.Is(c.want, errdefs.ErrInternal):
				if errdefs.KindOf(err) != errdefs.Internal {
					t.Errorf("got %v", err)
				}
			case !errors.Is(err, c.want) || (err == nil) != (c.want == nil):
				t.Errorf("got %v", err)
			}
			if d.closed != 1 {
				t.Errorf("closed %d times", d.closed)
			}
		})
	}
}

// Any page 83 identifier tells two disks apart.
func TestIdentify_Page83(t *testing.T) {
	identity := func(values ...string) DiskIdentity {
		var list []abi.Identifier
		for _, v := range values {
			list = append(list, abi.Identifier{CodeSet: abi.CodeSetBinary, Type: abi.IdentifierNAA, Value: []byte(v)})
		}
		encoded, err := abi.EncodeIdentifiers(list)
		if err != nil {
			t.Fatal(err)
		}
		d := fakeDisk(1, "s")
		d.answer[abi.IOCTL_STORAGE_QUERY_PROPERTY] = properties(map[abi.PropertyID][]byte{
			abi.PropertyDevice: abi.DeviceDescriptor{Serial: "s"}.Encode(), abi.PropertyDeviceID: encoded,
		})
		id, err := identify(d, 1)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if identity("a", "b") != identity("a", "b") {
		t.Error("one disk is two")
	}
	if identity("a", "b") == identity("a", "c") || identity("a", "b") == identity("ab") {
		t.Error("two disks are one")
	}
}

// A driver that claims more bytes than there is room for is not believed.
func TestControl_LyingDriver(t *testing.T) {
	for _, n := range []int{-1, 65} {
		if _, err := control(lyingDevice(n), 1, nil, 64); err == nil {
			t.Errorf("%d of 64 bytes are fine", n)
		}
	}
}

type lyingDevice int

func (d lyingDevice) Control(uint32, []byte, []byte) (int, error) { return int(d), nil }
func (lyingDevice) Close() error                                  { return nil }

// A medium whose length is not its sectors' is not probed.
func TestProbeDisk_OddLength(t *testing.T) {
	for name, c := range map[string]struct {
		length int64
		sector uint32
	}{"odd": {1 << 20, 4095}, "no sector": {1 << 20, 0}, "none": {0, 512}, "negative": {-512, 512}} {
		t.Run(name, func(t *testing.T) {
			d := fakeDisk(1, "s")
			d.answer[abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX] = always(abi.DiskGeometry{BytesPerSector: c.sector, DiskSize: c.length}.Encode())
			d.answer[abi.IOCTL_DISK_GET_LENGTH_INFO] = always(abi.EncodeLength(c.length))
			id, err := identify(d, 1)
			if err != nil {
				t.Fatal(err)
			}
			_, err = On(&win.Host{Devices: fakeDevices{`\\.\PhysicalDrive1`: d}}).ProbeDisk(t.Context(), id)
			if !errors.Is(err, errdefs.ErrUnknownContent) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDiskIdentity_String(t *testing.T) {
	for want, id := range map[string]DiskIdentity{
		"disk 3":                     {Number: 3, serial: "   "},
		`disk 3 (serial number "s")`: {Number: 3, serial: " s "},
	} {
		if got := id.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// One storage per host, which asks nothing when it is made.
func TestOn(t *testing.T) {
	h := &win.Host{}
	if On(h) != On(h) || On(h) == On(&win.Host{}) {
		t.Error("not one storage per host")
	}
	if _, err := On(&win.Host{Devices: fakeDevices{}}).DiskSize(context.Background(), 9); errdefs.KindOf(err) != errdefs.NotFound {
		t.Errorf("got %v", err)
	}
}

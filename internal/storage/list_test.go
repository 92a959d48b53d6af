// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

func interfacePath(name string) string {
	return fmt.Sprintf(`\\?\scsi#disk#%s#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}`, name)
}

// listed lists fake disks and returns them by path.
func listed(t *testing.T, devices fakeDevices) map[string]DiskDescription {
	t.Helper()
	disks, err := On(&win.Host{Devices: devices}).ListDisks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]DiskDescription{}
	for _, d := range disks {
		all[d.Path] = d
	}
	return all
}

// Each property fails for itself: what a disk's kind does not have is no error,
// what it fails to tell is, and the rest is there (field-reports.md D10).
func TestListDisks_EachPropertyFailsForItself(t *testing.T) {
	nvme := abi.DeviceDescriptor{Serial: "s", BusType: abi.BusTypeNVMe}.Encode()
	identifiers, err := abi.EncodeIdentifiers([]abi.Identifier{{CodeSet: abi.CodeSetASCII, Value: []byte("id")}})
	if err != nil {
		t.Fatal(err)
	}
	namespace := abi.NVMeIdentify{CNS: abi.CNSNamespace}.Reply(abi.IdentifyNamespace{EUI64: [8]byte{1}}.Encode())
	whole := func() *fakeDevice {
		d := fakeDisk(1, "s")
		d.answer[abi.IOCTL_STORAGE_QUERY_PROPERTY] = properties(map[abi.PropertyID][]byte{
			abi.PropertyDevice: nvme, abi.PropertyDeviceID: identifiers, abi.PropertyDeviceProtocol: namespace,
		})
		d.answer[abi.IOCTL_SCSI_GET_ADDRESS] = always(abi.SCSIAddress{Port: 2}.Encode())
		return d
	}
	failingProperty := func(id abi.PropertyID, err error) func(*fakeDevice) {
		return func(d *fakeDevice) {
			other := d.answer[abi.IOCTL_STORAGE_QUERY_PROPERTY]
			d.answer[abi.IOCTL_STORAGE_QUERY_PROPERTY] = func(in []byte, room int) ([]byte, error) {
				if query, _ := abi.DecodePropertyQuery(in); query.Property == id {
					return nil, err
				}
				return other(in, room)
			}
		}
	}
	for name, c := range map[string]struct {
		change                                 func(*fakeDevice)
		serial, identifiers, address, identify bool
		err                                    error
	}{
		"nothing":                {func(*fakeDevice) {}, true, true, true, true, nil},
		"descriptor":             {failingProperty(abi.PropertyDevice, win.ERROR_IO_DEVICE), false, true, true, false, win.ERROR_IO_DEVICE},
		"page 83":                {failingProperty(abi.PropertyDeviceID, win.ERROR_IO_DEVICE), true, false, true, true, win.ERROR_IO_DEVICE},
		"page 83 unsupported":    {failingProperty(abi.PropertyDeviceID, win.ERROR_INVALID_FUNCTION), true, false, true, true, nil},
		"identify":               {failingProperty(abi.PropertyDeviceProtocol, win.ERROR_IO_DEVICE), true, true, true, false, win.ERROR_IO_DEVICE},
		"identify unsupported":   {failingProperty(abi.PropertyDeviceProtocol, win.ERROR_NOT_SUPPORTED), true, true, true, false, nil},
		"address":                {func(d *fakeDevice) { d.answer[abi.IOCTL_SCSI_GET_ADDRESS] = refuses(win.ERROR_IO_DEVICE) }, true, true, false, true, win.ERROR_IO_DEVICE},
		"address unsupported":    {func(d *fakeDevice) { delete(d.answer, abi.IOCTL_SCSI_GET_ADDRESS) }, true, true, false, true, nil},
		"address cut short":      {func(d *fakeDevice) { d.answer[abi.IOCTL_SCSI_GET_ADDRESS] = always([]byte{8}) }, true, true, false, true, errdefs.ErrInternal},
		"identify is cut short":  {failingProperty(abi.PropertyDeviceProtocol, nil), true, true, true, false, errdefs.ErrInternal},
		"descriptor, page 83 at": {func(d *fakeDevice) { d.answer[abi.IOCTL_STORAGE_QUERY_PROPERTY] = refuses(win.ERROR_CRC) }, false, false, true, false, win.ERROR_CRC},
	} {
		t.Run(name, func(t *testing.T) {
			d := whole()
			c.change(d)
			path := interfacePath("x")
			got := listed(t, fakeDevices{path: d})[path]
			if page83 := map[bool]string{true: "id"}[c.identifiers]; got.Page83() != page83 {
				t.Errorf("page 83 %q, want %q", got.Page83(), page83)
			}
			if got.Number != 1 || (got.SerialNumber == "s") != c.serial || (len(got.Identifiers) == 1) != c.identifiers ||
				(got.Address != nil) != c.address || (got.NVMe != nil) != c.identify {
				t.Errorf("got %+v", got)
			}
			switch {
			case errors.Is(c.err, errdefs.ErrInternal):
				if errdefs.KindOf(got.Err) != errdefs.Internal {
					t.Errorf("got %v", got.Err)
				}
			case !errors.Is(got.Err, c.err) || (got.Err == nil) != (c.err == nil):
				t.Errorf("got %v", got.Err)
			}
			if d.closed != 1 {
				t.Errorf("closed %d times", d.closed)
			}
		})
	}
}

// A path disk that MPIO hides has no number: the disk behind it is listed once.
func TestListDisks_MPIO(t *testing.T) {
	got := listed(t, fakeDevices{
		interfacePath("path 1"): fakeDisk(NoNumber, "s"),
		interfacePath("path 2"): fakeDisk(NoNumber, "s"),
		interfacePath("mpio"):   fakeDisk(4, "s"),
	})
	if len(got) != 1 || got[interfacePath("mpio")].Number != 4 {
		t.Errorf("got %+v", got)
	}
}

// A disk without medium or number is listed with its error, a vanished one is
// not.
func TestListDisks_WithoutNumber(t *testing.T) {
	for code, there := range map[win.Errno]bool{
		win.ERROR_NOT_READY: true, win.ERROR_ACCESS_DENIED: true, win.ERROR_IO_DEVICE: true,
		win.ERROR_FILE_NOT_FOUND: false, win.ERROR_PATH_NOT_FOUND: false,
		win.ERROR_NO_SUCH_DEVICE: false, win.ERROR_DEVICE_NOT_CONNECTED: false,
	} {
		t.Run(fmt.Sprint(uint32(code)), func(t *testing.T) {
			d := fakeDisk(1, "s")
			d.answer[abi.IOCTL_STORAGE_GET_DEVICE_NUMBER] = refuses(code)
			got, ok := listed(t, fakeDevices{interfacePath("x"): d})[interfacePath("x")]
			if ok != there {
				t.Fatalf("listed: %v", ok)
			}
			if ok && (got.Number != NoNumber || !errors.Is(got.Err, code)) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestListDisks_IsByNumber(t *testing.T) {
	devices := fakeDevices{}
	for i, name := range []string{"a", "b", "c", "d"} {
		devices[interfacePath(name)] = fakeDisk(uint32(9-i), name)
	}
	devices[interfacePath("0")] = &fakeDevice{answer: map[uint32]answer{}}
	disks, err := On(&win.Host{Devices: devices}).ListDisks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []uint32
	for _, d := range disks {
		got = append(got, d.Number)
	}
	if want := fmt.Sprint([]uint32{6, 7, 8, 9, NoNumber}); fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A disk that hangs after it told some of itself has told that much. Forty of
// them hold the list up for three times 5 s, and the rest is there.
func TestListDisks_HangingDisks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		devices := fakeDevices{interfacePath("well"): fakeDisk(1, "well")}
		for i := range 40 {
			d := fakeDisk(uint32(100+i), "s")
			d.answer[abi.IOCTL_SCSI_GET_ADDRESS] = func([]byte, int) ([]byte, error) {
				<-release
				return nil, win.ERROR_IO_DEVICE
			}
			devices[interfacePath(fmt.Sprint(i))] = d
		}
		start := time.Now()
		got := listed(t, devices)
		if took := time.Since(start); took != 15*time.Second {
			t.Errorf("took %v", took)
		}
		if len(got) != 41 || got[interfacePath("well")].Err != nil {
			t.Errorf("%d disks, well: %v", len(got), got[interfacePath("well")].Err)
		}
		sick := got[interfacePath("7")]
		if sick.Number != 107 || sick.SerialNumber != "s" || errdefs.KindOf(sick.Err) != errdefs.DeadlineExceeded {
			t.Errorf("got %+v", sick)
		}
		close(release)
	})
}

// Whoever cannot wait for all gets no list, which could pass for all disks.
func TestListDisks_LeftEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := fakeDisk(1, "s")
		d.answer[abi.IOCTL_SCSI_GET_ADDRESS] = func([]byte, int) ([]byte, error) {
			<-release
			return nil, win.ERROR_IO_DEVICE
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		disks, err := On(&win.Host{Devices: fakeDevices{interfacePath("x"): d}}).ListDisks(ctx)
		if disks != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %+v, %v", disks, err)
		}
		close(release)
	})
}

// The state of a disk that does not tell it is not that of an online disk.
func TestListDisks_StateKnown(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fakeDevice)
		want   bool
		err    error
	}{
		"told":        {func(d *fakeDevice) { attributed(d, 0, nil) }, true, nil},
		"unsupported": {func(*fakeDevice) {}, false, nil},
		"failing":     {func(d *fakeDevice) { d.answer[abi.IOCTL_DISK_GET_DISK_ATTRIBUTES] = refuses(win.ERROR_IO_DEVICE) }, false, win.ERROR_IO_DEVICE},
	} {
		t.Run(name, func(t *testing.T) {
			d := fakeDisk(1, "s")
			c.change(d)
			got := listed(t, fakeDevices{interfacePath("x"): d})[interfacePath("x")]
			if got.StateKnown() != c.want || !errors.Is(got.Err, c.err) || (got.Err == nil) != (c.err == nil) {
				t.Errorf("known: %v, %v", got.StateKnown(), got.Err)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// fakeWindows is where a Windows says that it is.
type fakeWindows struct {
	win.Mounts // of these only some methods are needed
	win.System

	directory string
	registry  map[string][]string // by value name
	at        map[string]string   // volumes by drive root
	volumes   []string
	unlisted  error        // why volumes are not told
	reads     atomic.Int32 // of the Windows directory
}

func (w *fakeWindows) WindowsDirectory() (string, error) {
	w.reads.Add(1)
	return w.directory, nil
}

func (w *fakeWindows) RegistryValue(_, name string) (win.RegistryValue, error) {
	texts, ok := w.registry[name]
	if !ok {
		return win.RegistryValue{}, win.ERROR_FILE_NOT_FOUND
	}
	return win.RegistryValue{Type: 7, Data: abi.EncodeUTF16(strings.Join(texts, "\x00") + "\x00\x00")}, nil
}

func (w *fakeWindows) VolumeAt(root string) (string, error) {
	if volume, ok := w.at[root]; ok {
		return volume, nil
	}
	return "", win.ERROR_FILE_NOT_FOUND
}

func (w *fakeWindows) Volumes() ([]string, error) { return w.volumes, w.unlisted }

// volumeOn is a volume's device with its extents, which is not clustered.
func volumeOn(on ...abi.DiskExtent) *fakeDevice {
	return &fakeDevice{answer: map[uint32]answer{
		abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS: always(abi.EncodeDiskExtents(on)),
		abi.IOCTL_VOLUME_IS_CLUSTERED:            refuses(win.ERROR_GEN_FAILURE),
	}}
}

func volumeName(n int) string { return fmt.Sprintf(`\\?\Volume{00000000-0000-0000-0000-%012d}`, n) }

// usual is a host with Windows on disk 0, from 1 GiB on, the system partition
// before it, and two more volumes: 3 on disk 1, 4 on disks 2 and 3.
func usual() (*fakeWindows, fakeDevices) {
	w := &fakeWindows{
		directory: `C:\Windows`,
		registry: map[string][]string{
			"SystemPartition":   {`\Device\HarddiskVolume1`},
			"ExistingPageFiles": {`\??\C:\pagefile.sys`},
		},
		at:      map[string]string{`C:\`: volumeName(1) + `\`, `D:\`: volumeName(3) + `\`},
		volumes: []string{volumeName(1) + `\`, volumeName(3) + `\`, volumeName(4) + `\`},
	}
	return w, fakeDevices{
		`\\?\GLOBALROOT\Device\HarddiskVolume1`: volumeOn(abi.DiskExtent{Disk: 0, Offset: 1 << 20, Length: 1 << 20}),
		volumeName(1):                           volumeOn(abi.DiskExtent{Disk: 0, Offset: 1 << 30, Length: 1 << 30}),
		volumeName(3):                           volumeOn(abi.DiskExtent{Disk: 1, Offset: 1 << 20, Length: 1 << 30}),
		volumeName(4):                           volumeOn(abi.DiskExtent{Disk: 2, Offset: 1 << 20, Length: 1 << 30}, abi.DiskExtent{Disk: 3, Offset: 1 << 20, Length: 1 << 30}),
	}
}

func storageOf(w *fakeWindows, devices win.Devices) *Storage {
	return On(&win.Host{Devices: devices, Mounts: w, System: w})
}

// wantCritical checks which of disks 0 to 3 are critical.
func wantCritical(t *testing.T, s *Storage, want ...uint32) {
	t.Helper()
	critical := map[uint32]bool{}
	for _, number := range want {
		critical[number] = true
	}
	for number := range uint32(4) {
		err := s.CheckNotCritical(t.Context(), number)
		if critical[number] != errors.Is(err, errdefs.ErrCriticalDisk) || !critical[number] && err != nil {
			t.Errorf("disk %d: %v", number, err)
		}
	}
}

func TestCheckNotCritical(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fakeWindows, fakeDevices)
		want   []uint32
	}{
		"usual":             {func(*fakeWindows, fakeDevices) {}, []uint32{0}},
		"Windows elsewhere": {func(w *fakeWindows, _ fakeDevices) { w.directory = `D:\Windows` }, []uint32{0, 1}},
		"system elsewhere": {func(w *fakeWindows, d fakeDevices) {
			d[`\\?\GLOBALROOT\Device\HarddiskVolume1`] = d[volumeName(4)]
		}, []uint32{0, 2, 3}},
		"page file on D:": {func(w *fakeWindows, _ fakeDevices) {
			w.registry["ExistingPageFiles"] = []string{`\??\C:\pagefile.sys`, `\??\D:\pagefile.sys`}
		}, []uint32{0, 1}},
		"page file on a volume without letter": {func(w *fakeWindows, _ fakeDevices) {
			w.registry["ExistingPageFiles"] = []string{`\??\` + strings.TrimPrefix(volumeName(3), `\\?\`) + `\pagefile.sys`}
		}, []uint32{0, 1}},
		"no page file":  {func(w *fakeWindows, _ fakeDevices) { w.registry["ExistingPageFiles"] = nil }, []uint32{0}},
		"no such value": {func(w *fakeWindows, _ fakeDevices) { delete(w.registry, "ExistingPageFiles") }, []uint32{0}},
		"clustered": {func(_ *fakeWindows, d fakeDevices) {
			d[volumeName(4)].answer[abi.IOCTL_VOLUME_IS_CLUSTERED] = always(nil)
		}, []uint32{0, 2, 3}},
		"a listed volume is gone": {func(_ *fakeWindows, d fakeDevices) { delete(d, volumeName(4)) }, []uint32{0}},
		"a clustered volume on no disk": {func(w *fakeWindows, d fakeDevices) {
			d[volumeName(4)] = volumeOn()
			d[volumeName(4)].answer[abi.IOCTL_VOLUME_IS_CLUSTERED] = always(nil)
		}, []uint32{0}},
	} {
		t.Run(name, func(t *testing.T) {
			w, devices := usual()
			c.change(w, devices)
			wantCritical(t, storageOf(w, devices), c.want...)
		})
	}
}

// Where it cannot be told what Windows starts from or runs on, all disks refuse.
func TestCheckNotCritical_CannotTell(t *testing.T) {
	system := `\\?\GLOBALROOT\Device\HarddiskVolume1`
	for name, c := range map[string]struct {
		change func(*fakeWindows, fakeDevices)
		want   error
	}{
		"directory without drive":   {func(w *fakeWindows, _ fakeDevices) { w.directory = `\Windows` }, errdefs.ErrUnknownContent},
		"no directory":              {func(w *fakeWindows, _ fakeDevices) { w.directory = "" }, errdefs.ErrUnknownContent},
		"drive without volume":      {func(w *fakeWindows, _ fakeDevices) { w.directory = `X:\Windows` }, win.ERROR_FILE_NOT_FOUND},
		"no system partition":       {func(w *fakeWindows, _ fakeDevices) { delete(w.registry, "SystemPartition") }, win.ERROR_FILE_NOT_FOUND},
		"empty system partition":    {func(w *fakeWindows, _ fakeDevices) { w.registry["SystemPartition"] = nil }, errdefs.ErrUnknownContent},
		"several system partitions": {func(w *fakeWindows, _ fakeDevices) { w.registry["SystemPartition"] = []string{"a", "b"} }, errdefs.ErrUnknownContent},
		"unknown system partition":  {func(_ *fakeWindows, d fakeDevices) { delete(d, system) }, win.ERROR_FILE_NOT_FOUND},
		"system partition nowhere":  {func(_ *fakeWindows, d fakeDevices) { d[system] = volumeOn() }, errdefs.ErrUnknownContent},
		"extents fail": {func(_ *fakeWindows, d fakeDevices) {
			d[volumeName(1)].answer[abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS] = refuses(win.ERROR_IO_DEVICE)
		}, win.ERROR_IO_DEVICE},
		"page file of no drive": {func(w *fakeWindows, _ fakeDevices) {
			w.registry["ExistingPageFiles"] = []string{`\??\UNC\server\pagefile.sys`}
		}, errdefs.ErrUnknownContent},
		"page file on a lost drive": {func(w *fakeWindows, _ fakeDevices) {
			w.registry["ExistingPageFiles"] = []string{`\??\E:\pagefile.sys`}
		}, win.ERROR_FILE_NOT_FOUND},
	} {
		t.Run(name, func(t *testing.T) {
			w, devices := usual()
			c.change(w, devices)
			s := storageOf(w, devices)
			for number := range uint32(4) {
				if err := s.CheckNotCritical(t.Context(), number); !errors.Is(err, c.want) {
					t.Errorf("disk %d: %v", number, err)
				}
			}
		})
	}
}

// A data partition beside Windows is fair game, what overlaps Windows is not.
func TestCheckVolumeNotCritical(t *testing.T) {
	w, devices := usual()
	s := storageOf(w, devices)
	for name, c := range map[string]struct {
		on       []abi.DiskExtent
		critical bool
	}{
		"Windows":           {[]abi.DiskExtent{{Disk: 0, Offset: 1 << 30, Length: 1 << 30}}, true},
		"system partition":  {[]abi.DiskExtent{{Disk: 0, Offset: 1 << 20, Length: 1 << 20}}, true},
		"right before":      {[]abi.DiskExtent{{Disk: 0, Offset: 1<<30 - 1<<20, Length: 1 << 20}}, false},
		"right behind":      {[]abi.DiskExtent{{Disk: 0, Offset: 2 << 30, Length: 1 << 20}}, false},
		"a byte of it":      {[]abi.DiskExtent{{Disk: 0, Offset: 2<<30 - 1, Length: 1 << 20}}, true},
		"around it":         {[]abi.DiskExtent{{Disk: 0, Offset: 0, Length: 1 << 40}}, true},
		"another disk":      {[]abi.DiskExtent{{Disk: 1, Offset: 1 << 30, Length: 1 << 30}}, false},
		"spans both":        {[]abi.DiskExtent{{Disk: 1, Offset: 0, Length: 1}, {Disk: 0, Offset: 1 << 30, Length: 1}}, true},
		"on no disk at all": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.CheckVolumeNotCritical(t.Context(), c.on)
			if c.critical != errors.Is(err, errdefs.ErrCriticalDisk) || !c.critical && err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A volume that does not say whether it is clustered makes its disks refuse, and
// is asked again.
func TestCheckNotCritical_UnsureVolume(t *testing.T) {
	w, devices := usual()
	devices[volumeName(4)].answer[abi.IOCTL_VOLUME_IS_CLUSTERED] = refuses(win.ERROR_IO_DEVICE)
	s := storageOf(w, devices)
	for number, want := range []error{errdefs.ErrCriticalDisk, nil, win.ERROR_IO_DEVICE, win.ERROR_IO_DEVICE} {
		err := s.CheckNotCritical(t.Context(), uint32(number))
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("disk %d: %v", number, err)
		}
	}
	devices[volumeName(4)].answer[abi.IOCTL_VOLUME_IS_CLUSTERED] = refuses(win.ERROR_INVALID_FUNCTION)
	wantCritical(t, s, 0)
}

// What was read whole holds for a minute.
func TestCheckNotCritical_IsReadOncePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, devices := usual()
		s := storageOf(w, devices)
		for _, c := range []struct {
			after time.Duration
			want  int32
		}{{0, 1}, {59 * time.Second, 1}, {time.Second, 2}, {30 * time.Second, 2}} {
			time.Sleep(c.after)
			wantCritical(t, s, 0)
			if got := w.reads.Load(); got != c.want {
				t.Errorf("read %d times, want %d", got, c.want)
			}
		}
	})
}

// A caller that found nothing fresh, but comes after another has read it, does
// not read once more.
func TestRenewCritical_ReadMeanwhile(t *testing.T) {
	w, devices := usual()
	s := storageOf(w, devices)
	first, err := s.renewCritical(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := s.renewCritical(t.Context()); err != nil || second != first {
		t.Errorf("got %v, %v", second, err)
	}
	if got := w.reads.Load(); got != 1 {
		t.Errorf("read %d times, want 1", got)
	}
}

// The set is another caller's work. Nothing but its lock comes between the two
// here: time passes without either waiting for the other.
func TestCheckNotCritical_SharesWhatAnotherRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, devices := usual()
		s := storageOf(w, devices)
		look := func() {
			if err := s.CheckNotCritical(t.Context(), 0); !errors.Is(err, errdefs.ErrCriticalDisk) {
				t.Error(err)
			}
		}
		var callers sync.WaitGroup
		callers.Go(func() {
			time.Sleep(30 * time.Second)
			look()
		})
		look()
		callers.Wait()
		if got := w.reads.Load(); got != 1 {
			t.Errorf("read %d times, want 1", got)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

const someVolume = `\\?\Volume{01234567-89ab-cdef-0123-456789abcdef}\`

// behaviour.md VOL-1, VOL-14: one text for a volume, whatever its spelling.
func TestParseVolumeID(t *testing.T) {
	for _, text := range []string{
		someVolume, strings.TrimSuffix(someVolume, `\`), strings.ToUpper(someVolume), `\\?\vOLUME{01234567-89AB-cdef-0123-456789abcdef}`,
	} {
		id, err := ParseVolumeID(text)
		if err != nil || id.String() != someVolume || id.device()+`\` != someVolume {
			t.Errorf("%s: %s, %v", text, id, err)
		}
	}
}

// It never panics, and what it accepts it reads again from its own text.
func FuzzParseVolumeID(f *testing.F) {
	f.Add(someVolume)
	f.Add(`\\?\Volume{}\`)
	f.Add(`\\?\Volume01234567-89ab-cdef-0123-456789abcdef00`)
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseVolumeID(text)
		if err != nil {
			if !errors.Is(err, errdefs.ErrInvalidArgument) {
				t.Error(err)
			}
			return
		}
		if again, err := ParseVolumeID(id.String()); err != nil || again != id || !strings.EqualFold(id.device(), strings.TrimSuffix(text, `\`)) {
			t.Errorf("%q reads as %s, which reads as %s, %v", text, id, again, err)
		}
	})
}

// A volume of more extents than expected is read whole (windows-api.md 7.5).
func TestExtents_Grow(t *testing.T) {
	var want []abi.DiskExtent
	for i := range 100 {
		want = append(want, abi.DiskExtent{Disk: uint32(i), Offset: 1 << 20, Length: 1 << 30})
	}
	whole := abi.EncodeDiskExtents(want)
	d := &fakeDevice{answer: map[uint32]answer{abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS: func(_ []byte, room int) ([]byte, error) {
		if room < len(whole) {
			return whole[:room], win.ERROR_MORE_DATA
		}
		return whole, nil
	}}}
	got, err := extents(d)
	if err != nil || len(got) != len(want) || got[99] != want[99] {
		t.Errorf("%d extents, %v", len(got), err)
	}
	if _, err := oneDisk(got); !errors.Is(err, errdefs.ErrFailedPrecondition) {
		t.Errorf("on several disks: %v", err)
	}
	if _, err := oneDisk(nil); !errors.Is(err, errdefs.ErrNotFound) {
		t.Errorf("on no disk: %v", err)
	}
}

// A volume may grow while a change waits for its turn; it must not be another.
func TestCheckExtents(t *testing.T) {
	was := []abi.DiskExtent{{Disk: 1, Offset: 1 << 20, Length: 1 << 30}}
	for name, tt := range map[string]struct {
		is   []abi.DiskExtent
		want error
	}{
		"same":          {was, nil},
		"grown":         {[]abi.DiskExtent{{Disk: 1, Offset: 1 << 20, Length: 2 << 30}}, nil},
		"another disk":  {[]abi.DiskExtent{{Disk: 2, Offset: 1 << 20, Length: 1 << 30}}, errdefs.ErrOtherDisk},
		"another place": {[]abi.DiskExtent{{Disk: 1, Offset: 2 << 20, Length: 1 << 30}}, errdefs.ErrOtherDisk},
		"one more":      {append(was, was...), errdefs.ErrOtherDisk},
		"none":          {nil, errdefs.ErrOtherDisk},
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakeDevice{answer: map[uint32]answer{abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS: always(abi.EncodeDiskExtents(tt.is))}}
			if err := checkExtents(d, was); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	gone := &fakeDevice{answer: map[uint32]answer{abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS: refuses(win.ERROR_NO_SUCH_DEVICE)}}
	if err := checkExtents(gone, was); !Gone(err) {
		t.Errorf("gone: %v", err)
	}
}

func TestGone(t *testing.T) {
	for code, want := range map[win.Errno]bool{
		win.ERROR_FILE_NOT_FOUND: true, win.ERROR_PATH_NOT_FOUND: true, win.ERROR_NO_SUCH_DEVICE: true, win.ERROR_DEVICE_NOT_CONNECTED: true,
		win.ERROR_NOT_READY: false, win.ERROR_ACCESS_DENIED: false, win.ERROR_BAD_NETPATH: false, win.ERROR_IO_DEVICE: false, win.ERROR_UNRECOGNIZED_VOLUME: false,
	} {
		if got := Gone(code); got != want {
			t.Errorf("%d: %v", code, got)
		}
	}
	if Gone(nil) || Gone(errdefs.ErrNotMounted) {
		t.Error("counts what is no code of Windows")
	}
}

// Which mount manager entries may be of a disk; which are, their extents tell
// (windows-api.md 7.12).
func TestLayout_Has(t *testing.T) {
	id := abi.GUID{Data1: 7}
	p := gptEntry(abi.PARTITION_BASIC_DATA_GUID, 1<<20, 1<<30)
	p.ID = id
	gpt := gptOf(p)
	mbr := mbrOf(mbrEntry(0x07, 1<<20, 1<<30))
	mbr.Signature = 42
	for name, tt := range map[string]struct {
		layout Layout
		unique abi.UniqueID
		want   bool
	}{
		"GPT":                    {gpt, abi.UniqueID{Style: abi.PartitionStyleGPT, Partition: id}, true},
		"another partition":      {gpt, abi.UniqueID{Style: abi.PartitionStyleGPT, Partition: abi.GUID{Data1: 8}}, false},
		"MBR id, GPT disk":       {gpt, abi.UniqueID{Style: abi.PartitionStyleMBR, Offset: 1 << 20}, false},
		"MBR":                    {mbr, abi.UniqueID{Style: abi.PartitionStyleMBR, Signature: 42, Offset: 1 << 20}, true},
		"another MBR disk":       {mbr, abi.UniqueID{Style: abi.PartitionStyleMBR, Signature: 43, Offset: 1 << 20}, false},
		"another offset":         {mbr, abi.UniqueID{Style: abi.PartitionStyleMBR, Signature: 42, Offset: 2 << 20}, false},
		"zero GPT id, MBR disk":  {mbr, abi.UniqueID{Style: abi.PartitionStyleGPT}, false},
		"GPT disk without parts": {gptOf(), abi.UniqueID{Style: abi.PartitionStyleGPT, Partition: id}, false},
	} {
		if got := tt.layout.has(tt.unique); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPointName(t *testing.T) {
	long := `C:` + strings.Repeat(`\`+strings.Repeat("d", 60), 5)
	for text, want := range map[string]string{
		`C:\mnt\a`:         `C:\mnt\a\`,
		`C:\`:              `C:\`,
		someVolume:         someVolume,
		someVolume + `dir`: someVolume + `dir\`,
		long:               `\\?\` + long + `\`,
	} {
		path, err := winpath.Parse(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := pointName(path); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Only a volume on one disk is formatted, or said to be in a partition.
func TestVolume_OnOneDisk(t *testing.T) {
	w, devices := usual()
	devices[drivePath(1)] = fakeDisk(1, "one")
	second := gptEntry(abi.PARTITION_BASIC_DATA_GUID, 1<<20, 1<<30)
	second.Number = 2
	devices[drivePath(1)].answer[abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX] = always(gptOf(second).Encode())
	devices[volumeName(5)] = volumeOn(abi.DiskExtent{Disk: 1, Offset: 2 << 20, Length: 1 << 20})
	devices[volumeName(6)] = volumeOn()
	s := storageOf(w, devices)
	for name, tt := range map[string]struct {
		volume int
		disk   error
		part   error
	}{
		"one disk":        {3, nil, nil},
		"two disks":       {4, errdefs.ErrFailedPrecondition, errdefs.ErrFailedPrecondition},
		"in no partition": {5, nil, errdefs.ErrUnknownContent},
		"on no disk":      {6, errdefs.ErrNotFound, errdefs.ErrNotFound},
		"no such volume":  {7, win.ERROR_FILE_NOT_FOUND, win.ERROR_FILE_NOT_FOUND},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := ParseVolumeID(volumeName(tt.volume))
			if err != nil {
				t.Fatal(err)
			}
			if disk, err := s.DiskOfVolume(t.Context(), id); !errors.Is(err, tt.disk) || err == nil && disk != 1 {
				t.Errorf("disk %d, %v", disk, err)
			}
			if disk, part, err := s.PartitionOfVolume(t.Context(), id); !errors.Is(err, tt.part) || err == nil && (disk != 1 || part != 2) {
				t.Errorf("disk %d, partition %d, %v", disk, part, err)
			}
			if on, err := s.VolumeExtents(t.Context(), id); err == nil && tt.disk != nil {
				if err := s.FormatVolume(t.Context(), id, on, Format{FileSystem: "NTFS"}); !errors.Is(err, tt.disk) {
					t.Errorf("format: %v", err)
				}
			}
		})
	}
}

// All volumes are asked for where the mount manager's ids say nothing; a list
// that cannot be read whole is none.
func TestAllVolumes(t *testing.T) {
	w, devices := usual()
	w.volumes = []string{someVolume, volumeName(1)}
	s := storageOf(w, devices)
	if got, err := s.allVolumes(); err != nil || len(got) != 2 || got[0].String() != someVolume {
		t.Errorf("got %v, %v", got, err)
	}
	w.volumes = append(w.volumes, `\\?\Volume{}\`)
	if got, err := s.allVolumes(); !errors.Is(err, errdefs.ErrInvalidArgument) || got != nil {
		t.Errorf("an odd name: %v, %v", got, err)
	}
	w.unlisted = win.ERROR_NOT_READY
	if got, err := s.allVolumes(); !errors.Is(err, win.ERROR_NOT_READY) || got != nil {
		t.Errorf("no list: %v, %v", got, err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// The data disk of a site: 16 MiB before its partition, and 1 MiB, in which the
// backup of the GPT is, after the last one that is aligned.
const around = 17 * simhost.MiB

// partitionOf is the length of the partition that a volume lies on.
func (s *site) partitionOf(id string) simhost.Size {
	s.Helper()
	d, err := s.node.Host().Devices.Open(strings.TrimSuffix(id, `\`), win.NoAccess)
	s.must(err)
	out := make([]byte, abi.DiskExtentsSize(1))
	_, err = d.Control(abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, out)
	s.must(err)
	s.must(d.Close())
	on, err := abi.DecodeDiskExtents(out)
	s.must(err)
	return simhost.Size(on[0].Length)
}

// covered is how much the file system of a volume says it has.
func (s *site) covered(id string) simhost.Size {
	s.Helper()
	got, err := s.stats(id)
	s.must(err)
	return simhost.Size(got.TotalBytes)
}

// 4 KiB sectors, MBR and its 2 TiB, a partition in the way, file systems that
// Windows grows and that it does not, and RAW.
func TestResizeVolume_Layouts(t *testing.T) {
	mbr := func(size simhost.Size) simhost.DiskSpec {
		d := gptDisk("data", size, dataPartition(dataID, "NTFS"))
		d.Style, d.Partitions = "mbr", d.Partitions[1:]
		return d
	}
	inTheWay := func() simhost.DiskSpec {
		first := dataPartition(dataID, "NTFS")
		first.Size = 100 * simhost.MiB
		return gptDisk("data", simhost.GiB, first, simhost.PartitionSpec{Type: "recovery", Offset: 200 * simhost.MiB, Size: 100 * simhost.MiB})
	}
	large := func() simhost.DiskSpec {
		d := gptDisk("data", simhost.GiB, dataPartition(dataID, "NTFS"))
		d.SectorSize = 4096
		return d
	}
	gpt := func(fileSystem string) simhost.DiskSpec {
		return gptDisk("data", simhost.GiB, dataPartition(dataID, fileSystem))
	}
	for _, tt := range []struct {
		name string
		disk simhost.DiskSpec
		grow simhost.Size // of the disk
		want simhost.Size
		err  error
	}{
		{"4 KiB sectors", large(), 2 * simhost.GiB, 2*simhost.GiB - around, nil},
		{"a partition in the way", inTheWay(), 2 * simhost.GiB, 184 * simhost.MiB, nil},
		{"MBR", mbr(simhost.GiB), 2 * simhost.GiB, 2*simhost.GiB - simhost.MiB, nil},
		{"MBR beyond 2 TiB", mbr(simhost.TiB), 3 * simhost.TiB, 2*simhost.TiB - 2*simhost.MiB, nil},
		{"ReFS", gpt("ReFS"), 2 * simhost.GiB, 2*simhost.GiB - around, nil},
		{"RAW", gpt(""), 2 * simhost.GiB, 2*simhost.GiB - around, nil},
		{"FAT32", gpt("FAT32"), 2 * simhost.GiB, simhost.GiB - around, errdefs.ErrUnsupported},
		{"exFAT", gpt("exFAT"), 2 * simhost.GiB, simhost.GiB - around, errdefs.ErrUnsupported},
		{"FAT32 with nothing to gain", gpt("FAT32"), 0, simhost.GiB - around, nil},
	} {
		for _, refused := range []bool{false, true} {
			name := tt.name
			if refused {
				name += " through the provider"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t, func(spec *simhost.NodeSpec) {
						spec.Switches.GrowPartitionRefused = refused
						onDisk("data", tt.disk)(spec)
					})
					if tt.grow != 0 {
						s.must(s.node.GrowDisk("data", tt.grow))
					}
					if err := s.resize(dataID, 0); tt.err != nil {
						s.fails(err, tt.err)
					} else {
						s.must(err)
					}
					if got := s.partitionOf(dataID); got != tt.want {
						t.Errorf("partition of %s, want %s", got, tt.want)
					}
					if fs := tt.disk.Partitions[len(tt.disk.Partitions)-1].Volume; fs != nil && fs.FileSystem != "" {
						if got := s.covered(dataID); got != tt.want {
							t.Errorf("file system of %s, want %s", got, tt.want)
						}
					}
				})
			})
		}
	}
}

// The partition has grown and its file system not: a crash between the two, or
// a refusal. The same call goes on, with any size that is wanted.
func TestResizeVolume_Resumed(t *testing.T) {
	for _, size := range []simhost.Size{0, 2*simhost.GiB - around, simhost.GiB} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.must(s.node.GrowDisk("data", 2*simhost.GiB))
			extends := func(c simhost.Call) bool { return c.Code == abi.FSCTL_EXTEND_VOLUME }
			for _, code := range []win.Errno{win.ERROR_IO_DEVICE, win.ERROR_INVALID_PARAMETER, win.ERROR_NOT_SUPPORTED} {
				s.answers(code, extends)
				err := s.resize(dataID, 0)
				s.fails(err, code)
				if kind := errdefs.KindOf(err); kind != errdefs.Unavailable && kind != errdefs.FailedPrecondition {
					t.Errorf("kind %v: %v", kind, err)
				}
			}
			if got := s.partitionOf(dataID); got != 2*simhost.GiB-around {
				t.Fatalf("partition of %s", got)
			}
			s.node.OnCall(nil)
			s.must(s.resize(dataID, size))
			if got := s.covered(dataID); got != 2*simhost.GiB-around {
				t.Errorf("file system of %s", got)
			}
		})
	}
}

// Windows may accept a growth and make none; that is never reported as done.
func TestResizeVolume_NotReached(t *testing.T) {
	for code, kind := range map[uint32]errdefs.Kind{
		abi.IOCTL_DISK_GROW_PARTITION: errdefs.FailedPrecondition, // the file system would exceed its partition
		abi.FSCTL_EXTEND_VOLUME:       errdefs.Unavailable,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.must(s.node.GrowDisk("data", 2*simhost.GiB))
			s.overDevices(ignoring{s.node.Host().Devices, code})
			s.hasKind(s.resize(dataID, 0), kind)
		})
	}
}

// ignoring devices accept a control code and do nothing.
type ignoring struct {
	win.Devices
	code uint32
}

func (d ignoring) Open(path string, access win.Access) (win.Device, error) {
	opened, err := d.Devices.Open(path, access)
	if err != nil {
		return nil, err
	}
	return ignoringDevice{opened, d.code}, nil
}

type ignoringDevice struct {
	win.Device
	code uint32
}

func (d ignoringDevice) Control(code uint32, in, out []byte) (int, error) {
	if code == d.code {
		return 0, nil
	}
	return d.Device.Control(code, in, out)
}

// What cannot be grown is refused before anything is changed.
func TestResizeVolume_Refused(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*simhost.NodeSpec)
		id   string
		want error
	}{
		{"unknown volume", nil, deadID, errdefs.ErrNotFound},
		{"offline", editDisk("data", func(d *simhost.DiskSpec) { d.Offline = true }), dataID, errdefs.ErrNotFound},
		{"read-only", editDisk("data", func(d *simhost.DiskSpec) { d.ReadOnly = true }), dataID, win.ERROR_WRITE_PROTECT},
		{"denied", withState(win.ERROR_ACCESS_DENIED), dataID, errdefs.ErrPermissionDenied},
		{"locked", withState(win.ERROR_NOT_READY), dataID, win.ERROR_NOT_READY},
		{"corrupt", withState(win.ERROR_FILE_CORRUPT), dataID, win.ERROR_FILE_CORRUPT},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, tt.edit)
				s.must(s.node.GrowDisk("data", 2*simhost.GiB))
				before := s.fileSystemOf(dataID)
				s.fails(s.resize(tt.id, 0), tt.want)
				if after := s.fileSystemOf(dataID); after != before {
					t.Errorf("file system was %s, is %s", before, after)
				}
			})
		})
	}
}

// A volume that spans disks, or several stretches of one, lies in no partition
// that could grow.
func TestResizeVolume_Spanned(t *testing.T) {
	for name, second := range map[string]uint32{"two disks": otherDisk, "one disk": dataDisk} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.overDevices(spanning{s.node.Host().Devices, second})
				s.unchanged(func() {
					s.fails(s.resize(dataID, 0), errdefs.ErrFailedPrecondition)
					if second != dataDisk {
						s.fails(s.format(dataID), errdefs.ErrFailedPrecondition)
						_, err := s.diskOf(dataID)
						s.fails(err, errdefs.ErrFailedPrecondition)
					}
				})
			})
		})
	}
}

// spanning devices give every volume a second extent.
type spanning struct {
	win.Devices
	disk uint32
}

func (d spanning) Open(path string, access win.Access) (win.Device, error) {
	opened, err := d.Devices.Open(path, access)
	if err != nil {
		return nil, err
	}
	return spanningDevice{opened, d.disk}, nil
}

type spanningDevice struct {
	win.Device
	disk uint32
}

func (d spanningDevice) Control(code uint32, in, out []byte) (int, error) {
	n, err := d.Device.Control(code, in, out)
	if code != abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS || err != nil {
		return n, err
	}
	on, err := abi.DecodeDiskExtents(out[:n])
	if err != nil {
		return 0, err
	}
	more := abi.EncodeDiskExtents(append(on, abi.DiskExtent{Disk: d.disk, Offset: 512 << 20, Length: 1 << 20}))
	return copy(out, more), nil
}

// The provider may act on what its cache says, or refuse; then it is updated
// and asked once more.
func TestResizeVolume_ProviderRefuses(t *testing.T) {
	for _, tt := range []struct {
		code win.ReturnValue
		want error
	}{
		{win.ReturnSizeNotSupported, errdefs.ErrOutOfRange},
		{win.ReturnCriticalPartition, errdefs.ErrCriticalDisk},
		{win.ReturnAccessDenied, errdefs.ErrPermissionDenied},
		{win.ReturnCacheOutOfDate, errdefs.ErrUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, func(spec *simhost.NodeSpec) { spec.Switches.GrowPartitionRefused = true })
			s.must(s.node.GrowDisk("data", 2*simhost.GiB))
			var resizes atomic.Int32
			s.answers(tt.code, func(c simhost.Call) bool {
				is := c.Method == "Session.Start" && strings.HasPrefix(c.Subject, "MSFT_Partition.Resize")
				if is {
					resizes.Add(1)
				}
				return is
			})
			s.fails(s.resize(dataID, 0), tt.want, tt.code)
			want := int32(1)
			if tt.code == win.ReturnCacheOutOfDate {
				want = 2
			}
			if got := resizes.Load(); got != want {
				t.Errorf("%d calls of Resize, want %d", got, want)
			}
		})
	}
}

// The volume's disk may get another number while a resize waits for its turn;
// the partition that has its place then is not touched.
func TestResizeVolume_DiskMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		for _, name := range []string{"data", "other"} {
			s.must(s.node.GrowDisk(name, 2*simhost.GiB))
		}
		release := make(chan struct{})
		var held atomic.Bool
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			err := do()
			// After the first look at the extents, before the change.
			if c.Code == abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS && strings.Contains(c.Subject, guid(dataID)) && !held.Swap(true) {
				<-release
			}
			return err
		})
		done := make(chan error)
		go func() { done <- s.resize(dataID, 0) }()
		synctest.Wait()
		for _, name := range []string{"data", "other"} {
			s.must(s.node.DetachDisk(name))
		}
		for _, name := range []string{"other", "data"} {
			s.must(second(s.node.AttachDisk(name)))
		}
		close(release)
		s.fails(<-done, errdefs.ErrOtherDisk)
		s.node.OnCall(nil)
		for _, id := range []string{dataID, otherID} {
			if got := s.partitionOf(id); got != simhost.GiB-around {
				t.Errorf("%s: partition of %s", id, got)
			}
		}
		s.must(s.resize(dataID, 0))
	})
}

// A resize that takes long keeps its locks until its end; a later one waits for
// it and begins nothing meanwhile.
func TestResizeVolume_Hangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.must(s.node.GrowDisk("data", 2*simhost.GiB))
		var begun atomic.Int32
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Code == abi.IOCTL_DISK_GROW_PARTITION {
				begun.Add(1)
				<-release
			}
			return do()
		})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := s.vol.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: dataID})
			s.fails(err, context.DeadlineExceeded)
			cancel()
		}
		s.must(s.mount(otherID, staging))
		if n := begun.Load(); n != 1 {
			t.Errorf("%d growths begun", n)
		}
		close(release)
		s.must(s.resize(dataID, 0))
		if n := begun.Load(); n != 1 {
			t.Errorf("%d growths begun", n)
		}
		if got := s.covered(dataID); got != 2*simhost.GiB-around {
			t.Errorf("file system of %s", got)
		}
	})
}

// Growths to different sizes share no result: each is reached.
func TestResizeVolume_SizesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.must(s.node.GrowDisk("data", 2*simhost.GiB))
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Code == abi.IOCTL_DISK_GROW_PARTITION {
				<-release
			}
			return do()
		})
		sizes := []simhost.Size{simhost.GiB, 3 * simhost.GiB / 2, 5 * simhost.GiB / 4}
		ended := make(chan error)
		for _, size := range sizes {
			go func() { ended <- s.resize(dataID, size) }()
			synctest.Wait()
		}
		close(release)
		for range sizes {
			s.must(<-ended)
		}
		if got := s.covered(dataID); got != sizes[1] {
			t.Errorf("file system of %s", got)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// holding makes the raw volume's partition hold that.
func holding(media ...simhost.Media) func(*simhost.NodeSpec) {
	return editDisk("raw", func(d *simhost.DiskSpec) { d.Partitions[1].Media = media })
}

// withState makes the data volume, which has a file system, answer a code
// instead of naming it.
func withState(code win.Errno) func(*simhost.NodeSpec) {
	return editDisk("data", func(d *simhost.DiskSpec) { d.Partitions[1].Volume.State = uint32(code) })
}

// fileSystemOf is what a snapshot says of a volume's file system.
func (s *site) fileSystemOf(id string) string {
	for line := range strings.Lines(string(s.node.Snapshot())) {
		if fact, ok := strings.CutPrefix(line, "volume "+id+" file system: "); ok {
			return strings.TrimSuffix(fact, "\n")
		}
	}
	return ""
}

// A volume that another process formats between the two questions is formatted,
// and not damaged.
func TestIsVolumeFormatted_Meanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		another := &site{T: t, node: s.node}
		another.over(s.node.Host().Mounts)
		var asked atomic.Bool
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			err := do()
			if c.Method == "Mounts.Information" && !asked.Swap(true) {
				if err := another.format(rawID); err != nil {
					t.Error(err)
				}
			}
			return err
		})
		if is, err := s.formatted(rawID); err != nil || !is {
			t.Errorf("%v, %v", is, err)
		}
	})
}

// What Windows says last counts, also where a probe has found something.
func TestIsVolumeFormatted_SecondLookFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, holding(simhost.MediaExt4))
		var asked atomic.Int32
		s.answers(win.ERROR_NOT_READY, func(c simhost.Call) bool {
			return c.Method == "Mounts.Information" && asked.Add(1) == 2
		})
		is, err := s.formatted(rawID)
		s.fails(err, win.ERROR_NOT_READY)
		if is {
			t.Error("counts as formatted")
		}
	})
}

// Windows may name no file system and call that a success.
func TestIsVolumeFormatted_Nameless(t *testing.T) {
	for _, name := range []string{"", "RAW"} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.over(nameless{s.node.Host().Mounts, name})
			_, err := s.formatted(rawID)
			s.fails(err, errdefs.ErrUnknownContent)
			s.unchanged(func() { s.fails(s.format(rawID), errdefs.ErrUnknownContent) })
		})
	}
}

type nameless struct {
	win.Mounts
	name string
}

func (m nameless) Information(string) (win.VolumeInformation, error) {
	return win.VolumeInformation{FileSystem: m.name}, nil
}

// recorder is a host that records how it was told to format.
type recorder struct {
	hostapi.HostAPI
	formats []hostapi.Format
}

func (r *recorder) FormatVolume(ctx context.Context, id hostapi.VolumeID, on []hostapi.Extent, format hostapi.Format) error {
	r.formats = append(r.formats, format)
	return r.HostAPI.FormatVolume(ctx, id, on, format)
}

// docs/architecture.md: Force only for what Windows mounts, so that Windows itself is
// one more guard.
func TestFormatVolume_Force(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, holding(simhost.MediaExt4))
		host := &recorder{HostAPI: s.node.Volume()}
		s.vol, _ = volume.New(host)
		s.must(s.overwrite(rawID))
		s.must(s.format(rawID))
		s.must(s.overwrite(dataID))
		want := []hostapi.Format{{FileSystem: "NTFS"}, {FileSystem: "NTFS", Force: true}, {FileSystem: "NTFS", Force: true}}
		if diff := cmp.Diff(want, host.formats); diff != "" {
			t.Error(diff)
		}
	})
}

// field-reports.md D21: RAW with something on it is not empty.
func TestFormatVolume_Content(t *testing.T) {
	windows := map[simhost.Media]bool{
		simhost.MediaNTFS: true, simhost.MediaTornNTFS: true, simhost.MediaReFS: true, simhost.MediaExFAT: true, simhost.MediaFAT32: true,
		simhost.MediaBitLocker: true, simhost.MediaLDM: true, simhost.MediaSpaces: true, simhost.MediaGPT: true, simhost.MediaGPTBackup: true, simhost.MediaMBR: true,
	}
	for _, media := range simhost.AllMedia() {
		t.Run(string(media), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, holding(media))
				want := errdefs.ErrForeignContent
				if windows[media] {
					want = errdefs.ErrDamaged
				}
				s.unchanged(func() {
					is, err := s.formatted(rawID)
					s.fails(err, want)
					if is {
						t.Error("counts as formatted")
					}
					err = s.format(rawID)
					s.fails(err, want, errdefs.ErrFailedPrecondition)
					if !strings.Contains(err.Error(), "Overwrite") {
						t.Errorf("does not say what to do: %v", err)
					}
				})
				s.must(s.overwrite(rawID))
				if got := s.fileSystemOf(rawID); !strings.HasPrefix(got, "NTFS") {
					t.Errorf("file system: %s", got)
				}
			})
		})
	}
}

// windows-api.md 7.6: any error but 1005 may hide data; Overwrite does not help.
func TestFormatVolume_CannotTell(t *testing.T) {
	unreadable := func(offset simhost.Size) func(*simhost.NodeSpec) {
		return editDisk("raw", func(d *simhost.DiskSpec) {
			d.Unreadable = []simhost.RangeSpec{{Offset: offset, Length: 512}}
		})
	}
	locked := func(spec *simhost.NodeSpec) {
		withState(win.ERROR_NOT_READY)(spec)
		editDisk("data", func(d *simhost.DiskSpec) { d.Partitions[1].Media = []simhost.Media{simhost.MediaBitLocker} })(spec)
	}
	for _, tt := range []struct {
		name string
		edit func(*simhost.NodeSpec)
		id   string
		want []error
	}{
		{"denied", withState(win.ERROR_ACCESS_DENIED), dataID, []error{win.ERROR_ACCESS_DENIED, errdefs.ErrPermissionDenied}},
		{"not ready", withState(win.ERROR_NOT_READY), dataID, []error{win.ERROR_NOT_READY, errdefs.ErrUnavailable}},
		{"corrupt", withState(win.ERROR_FILE_CORRUPT), dataID, []error{win.ERROR_FILE_CORRUPT, errdefs.ErrFailedPrecondition}},
		{"locked by BitLocker", locked, dataID, []error{win.ERROR_NOT_READY}},
		{"first sector unreadable", unreadable(16 * simhost.MiB), rawID, []error{errdefs.ErrUnknownContent, win.ERROR_CRC}},
		{"last sector unreadable", unreadable(simhost.GiB - simhost.MiB - 512), rawID, []error{errdefs.ErrUnknownContent, win.ERROR_CRC}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, tt.edit)
				s.unchanged(func() {
					is, err := s.formatted(tt.id)
					s.fails(err, tt.want...)
					if is {
						t.Error("counts as formatted")
					}
					s.fails(s.format(tt.id), tt.want...)
					s.fails(s.overwrite(tt.id), tt.want...)
				})
			})
		})
	}
}

// A disk that cannot be changed says why.
func TestFormatVolume_DiskState(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*simhost.DiskSpec)
		want error
	}{
		"read-only": {func(d *simhost.DiskSpec) { d.ReadOnly = true }, errdefs.ErrReadOnly},
		"offline":   {func(d *simhost.DiskSpec) { d.Offline = true }, errdefs.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, editDisk("raw", tt.edit))
				s.unchanged(func() { s.fails(s.format(rawID), tt.want) })
			})
		})
	}
}

// Windows' own volumes are refused, a data partition beside them is not
// (docs/architecture.md, rule 3, field-reports.md D01).
func TestCriticalVolumes(t *testing.T) {
	beside := func(spec *simhost.NodeSpec) {
		boot := &spec.Disks[0]
		boot.Partitions[2].Size = 40 * simhost.GiB
		boot.Partitions = append(boot.Partitions, dataPartition(deadID, "NTFS"))
		boot.Partitions[3].Size = 10 * simhost.GiB
	}
	pageFile := func(spec *simhost.NodeSpec) {
		spec.PageFiles = []string{`C:\pagefile.sys`, `D:\pagefile.sys`}
		editDisk("other", func(d *simhost.DiskSpec) { d.Partitions[1].Volume.Letter = "D" })(spec)
	}
	system := func(spec *simhost.NodeSpec) { // the machine starts from an MBR volume that has a name
		boot := &spec.Disks[0]
		boot.Style = "mbr"
		boot.Partitions = []simhost.PartitionSpec{
			{Size: 500 * simhost.MiB, Volume: &simhost.VolumeSpec{ID: guid(deadID), FileSystem: "NTFS"}},
			boot.Partitions[2],
		}
	}
	clustered := editDisk("other", func(d *simhost.DiskSpec) { d.Clustered = true })
	for _, tt := range []struct {
		name string
		edit func(*simhost.NodeSpec)
		id   string
	}{
		{"boot", nil, bootID},
		{"system", system, deadID},
		{"page file", pageFile, otherID},
		{"clustered", clustered, otherID},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, tt.edit)
				s.unchanged(func() {
					for _, err := range []error{
						s.format(tt.id), s.overwrite(tt.id), s.resize(tt.id, 0), s.resize(tt.id, simhost.MiB), s.mount(tt.id, staging),
					} {
						s.fails(err, errdefs.ErrCriticalDisk, errdefs.ErrFailedPrecondition)
					}
				})
				s.setPoint(staging, tt.id)
				s.must(s.unmount(tt.id, staging)) // never refused for this
			})
		})
	}
	t.Run("data beside Windows", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, beside)
			s.must(s.format(deadID))
			s.must(s.mount(deadID, staging))
			s.must(s.resize(deadID, 12*simhost.GiB))
		})
	})
	t.Run("cannot be told", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.answers(win.ERROR_ACCESS_DENIED, func(c simhost.Call) bool { return c.Method == "System.RegistryValue" })
			s.unchanged(func() {
				for _, err := range []error{s.format(rawID), s.resize(dataID, 0), s.mount(dataID, staging)} {
					s.fails(err, errdefs.ErrPermissionDenied)
				}
			})
		})
	})
	t.Run("where it lies cannot be told", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.must(s.mount(otherID, pod)) // what Windows needs is known from now on
			s.answers(win.ERROR_ACCESS_DENIED, func(c simhost.Call) bool {
				return c.Code == abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS && strings.Contains(c.Subject, guid(dataID))
			})
			s.unchanged(func() {
				for _, err := range []error{s.format(dataID), s.resize(dataID, 0), s.mount(dataID, staging)} {
					s.fails(err, errdefs.ErrPermissionDenied)
				}
			})
		})
	})
}

// formats counts the formats that Windows begins.
func formats(c simhost.Call) bool {
	return c.Method == "Session.Start" && strings.HasPrefix(c.Subject, "MSFT_Volume.Format")
}

// takesLong makes each format take until release is closed, as Windows shows it:
// the method has started, and its result is not there yet.
func (s *site) takesLong(release <-chan struct{}) (begun *atomic.Int32) {
	begun = &atomic.Int32{}
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if formats(c) {
			begun.Add(1)
		}
		if c.Method == "Call.Result" && strings.Contains(c.Subject, "MSFT_Volume.Format") {
			select {
			case <-release:
			case <-time.After(time.Second):
				return win.WBEM_S_TIMEDOUT
			}
		}
		return do()
	})
	return begun
}

// field-reports.md V13: callers at once share one format, whoever leaves, and
// one that takes long is joined by those who come later.
func TestFormatVolume_V13Joined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		release := make(chan struct{})
		begun := s.takesLong(release)
		callers := func(patience time.Duration) []error {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			errs := make([]error, 64)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() { errs[i] = s.formatIn(ctx, rawID) })
			}
			all.Wait()
			return errs
		}
		for range 3 { // each time all leave
			for _, err := range callers(3 * time.Minute) {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("while it takes long: %v", err)
				}
			}
		}
		time.AfterFunc(30*time.Second, func() { close(release) })
		for _, err := range callers(time.Minute) {
			s.must(err)
		}
		if n := begun.Load(); n != 1 {
			t.Errorf("%d formats begun", n)
		}
	})
}

// A call that never comes back from COM is lost: nobody waits for it for ever,
// and no second format is begun while it may still be at work.
func TestFormatVolume_Lost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		var begun atomic.Int32
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if formats(c) {
				begun.Add(1)
				<-release
			}
			return do()
		})
		s.fails(s.format(rawID), errdefs.ErrUnavailable)
		s.fails(s.format(rawID), errdefs.ErrResourceExhausted)
		close(release)
		synctest.Wait()
		if is, err := s.formatted(rawID); err != nil || !is || begun.Load() != 1 {
			t.Errorf("formatted: %v, %v; %d formats begun", is, err, begun.Load())
		}
		s.must(s.format(rawID))
	})
}

// Other disks do not wait for a format that hangs, nor does what reads the
// volume, nor does its unmounting elsewhere.
func TestFormatVolume_HoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.setPoint(staging, otherID)
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if formats(c) {
				<-release
			}
			return do()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.fails(s.formatIn(ctx, rawID), context.DeadlineExceeded)
		if is, err := s.formatted(rawID); err != nil || is {
			t.Errorf("formatted: %v, %v", is, err)
		}
		if number, err := s.diskOf(rawID); err != nil || number != rawDisk {
			t.Errorf("disk %d, %v", number, err)
		}
		s.must(s.unmount(otherID, staging))
		s.must(s.mount(otherID, staging))
		s.must(s.resize(dataID, 0))
		close(release)
		synctest.Wait()
	})
}

// A disk number that moves to another disk before the format begins ends it
// (docs/architecture.md).
func TestFormatVolume_DiskMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.must(s.node.AddDisk(gptDisk("late", simhost.GiB, dataPartition(deadID, ""))))
		var moved atomic.Bool
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Session.Query" && !moved.Swap(true) {
				err := errors.Join(s.node.DetachDisk("raw"), second(s.node.AttachDisk("late")), second(s.node.AttachDisk("raw")))
				if err != nil {
					t.Error(err)
				}
			}
			return do()
		})
		err := s.format(rawID)
		if err == nil {
			t.Fatal("formatted on a disk that had another number")
		}
		for _, id := range []string{rawID, deadID} {
			if got := s.fileSystemOf(id); got != "RAW" {
				t.Errorf("%s: %s", id, got)
			}
		}
		s.node.OnCall(nil)
		s.must(s.format(rawID))
		if got := s.fileSystemOf(deadID); got != "RAW" {
			t.Errorf("the other volume: %s", got)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// The provider's answers have the kinds and reasons of errdefs.
func TestFormatVolume_Provider(t *testing.T) {
	for _, tt := range []struct {
		code win.ReturnValue
		want error
	}{
		{win.ReturnCriticalPartition, errdefs.ErrCriticalDisk},
		{win.ReturnVolumeReadOnly, errdefs.ErrReadOnly},
		{win.ReturnInUse, errdefs.ErrBusy},
		{win.ReturnAccessDenied, errdefs.ErrPermissionDenied},
		{win.ReturnFileSystem, errdefs.ErrUnsupported},
		{win.ReturnIOError, errdefs.ErrUnavailable},
		{win.ReturnFailed, errdefs.ErrInternal},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.answers(tt.code, formats)
			s.fails(s.format(rawID), tt.want, tt.code)
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func TestDescribeVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, editDisk("data", func(d *simhost.DiskSpec) {
			v := d.Partitions[1].Volume
			v.Label, v.Letter, v.Dirty, v.Used = "Data", "E", true, 100*simhost.MiB
		}))
		s.must(s.mount(dataID, staging))

		got, err := s.vol.DescribeVolume(t.Context(), dataID)

		s.must(err)
		s.must(got.Err)
		if got.ID.String() != dataID || got.FileSystem != "NTFS" || got.Label != "Data" || !got.Dirty || got.Flags.ReadOnly() || got.Content != nil {
			t.Errorf("got %+v", got)
		}
		if len(got.Extents) != 1 || got.Extents[0].Disk != dataDisk || uint64(got.Extents[0].Length) != got.Space.Total {
			t.Errorf("extents %+v, space %+v", got.Extents, got.Space)
		}
		if used := got.Space.Total - got.Space.Free; used != uint64(100*simhost.MiB) {
			t.Errorf("%d bytes used", used)
		}
		want := []volume.Mount{{Path: `E:\`}, {Path: staging}}
		if diff := cmp.Diff(want, got.Mounts); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDescribeVolume_RAW(t *testing.T) {
	for name, test := range map[string]struct {
		media []simhost.Media
		want  error
	}{
		"empty":   {nil, nil},
		"ext4":    {[]simhost.Media{simhost.MediaExt4}, errdefs.ErrForeignContent},
		"damaged": {[]simhost.Media{simhost.MediaTornNTFS}, errdefs.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, holding(test.media...))
				got, err := s.vol.DescribeVolume(t.Context(), rawID)
				s.must(err)
				s.must(got.Err)
				if got.FileSystem != "" || got.Dirty || got.Space.Total != 0 || len(got.Mounts) != 0 {
					t.Errorf("got %+v", got)
				}
				if test.want != nil {
					s.fails(got.Content, test.want)
				} else {
					s.must(got.Content)
				}
			})
		})
	}
}

// field-reports.md V09: paths that the mount manager keeps although they lead to
// the volume no more are told apart from those that do.
func TestDescribeVolume_V09StaleMounts(t *testing.T) {
	for name, spoil := range map[string]func(*site){
		"folder is plain now": func(s *site) { s.plain(staging) },
		"folder is gone": func(s *site) {
			s.plain(staging)
			files, err := filesystem.New(s.node.Filesystem())
			s.must(err)
			_, err = files.Rmdir(s.Context(), &filesystem.RmdirRequest{Path: staging})
			s.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.must(s.mount(dataID, staging))
				s.must(s.mount(dataID, pod))
				spoil(s)
				got, err := s.vol.DescribeVolume(t.Context(), dataID)
				s.must(err)
				s.must(got.Err)
				want := []volume.Mount{{Path: staging, Stale: true}, {Path: pod}}
				if diff := cmp.Diff(want, got.Mounts); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// plain takes the reparse point of a mount folder away, behind the mount
// manager's back.
func (s *site) plain(path string) {
	s.Helper()
	f, err := s.node.Host().Files.Open(nil, `\\?\`+path, win.OpenFile{
		Access: win.FileWriteAttributes | win.Synchronize, Disposition: win.OpenExisting, Options: win.FileDirectoryFile,
	})
	s.must(err)
	header := binary.LittleEndian.AppendUint32(nil, uint32(abi.IO_REPARSE_TAG_MOUNT_POINT))
	_, err = f.Control(abi.FSCTL_DELETE_REPARSE_POINT, append(header, 0, 0, 0, 0), nil)
	s.must(err)
	s.must(f.Close())
}

func TestDescribeVolume_Errors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, withState(win.ERROR_FILE_CORRUPT))
		_, err := s.vol.DescribeVolume(t.Context(), "volume")
		s.fails(err, errdefs.ErrInvalidArgument)
		_, err = s.vol.DescribeVolume(t.Context(), deadID)
		s.fails(err, errdefs.ErrNotFound)
		got, err := s.vol.DescribeVolume(t.Context(), dataID)
		s.must(err)
		s.fails(got.Err, win.ERROR_FILE_CORRUPT)
		if len(got.Extents) != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

// A path at which Windows does not tell what is mounted is not called stale.
func TestDescribeVolume_MountUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.must(s.mount(dataID, staging))
		s.answers(win.ERROR_ACCESS_DENIED, func(c simhost.Call) bool { return c.Method == "Mounts.VolumeAt" })
		got, err := s.vol.DescribeVolume(t.Context(), dataID)
		s.must(err)
		s.fails(got.Err, win.ERROR_ACCESS_DENIED)
		if diff := cmp.Diff([]volume.Mount{{Path: staging}}, got.Mounts); diff != "" {
			t.Error(diff)
		}
		if got.FileSystem != "NTFS" {
			t.Errorf("got %+v", got)
		}
	})
}

// A path that is none is told, and keeps back nothing else.
func TestDescribeVolume_MountUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.must(s.mount(dataID, staging))
		s.over(garbled{s.node.Host().Mounts})
		got, err := s.vol.DescribeVolume(t.Context(), dataID)
		s.must(err)
		s.fails(got.Err, errdefs.ErrInvalidArgument)
		if diff := cmp.Diff([]volume.Mount{{Path: staging}}, got.Mounts); diff != "" {
			t.Error(diff)
		}
	})
}

// garbled mounts name one path more, which no path can be.
type garbled struct{ win.Mounts }

func (m garbled) Paths(volume string) ([]string, error) {
	paths, err := m.Mounts.Paths(volume)
	return append([]string{`C:\mnt\a:b\`}, paths...), err
}

// A file system that keeps no dirty mark is not dirty; what stops the question
// is told.
func TestDescribeVolume_DirtyUnknown(t *testing.T) {
	for code, want := range map[win.Errno]error{win.ERROR_INVALID_FUNCTION: nil, win.ERROR_ACCESS_DENIED: win.ERROR_ACCESS_DENIED} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, nil)
			s.answers(code, func(c simhost.Call) bool { return c.Code == abi.FSCTL_IS_VOLUME_DIRTY })
			got, err := s.vol.DescribeVolume(t.Context(), dataID)
			s.must(err)
			if got.Dirty || !errors.Is(got.Err, want) {
				t.Errorf("%v: got %+v", code, got)
			}
		})
	}
}

// What a caller leaves, it leaves at once, and nothing writes into its answer.
func TestDescribeVolume_Hangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Mounts.Information" {
				<-release
			}
			return do()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.vol.DescribeVolume(ctx, dataID)
		close(release)
		synctest.Wait()
		s.fails(err, context.DeadlineExceeded)
	})
}

func TestResolve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.must(s.mount(dataID, staging))
		s.directory(staging + `\below`)
		s.link(pod+`\link`, staging+`\below`)
		for path, want := range map[string]volume.Location{
			`C:\`:              {VolumeID: bootID, DiskNumber: bootDisk, PartitionNumber: 3},
			kubelet:            {VolumeID: bootID, DiskNumber: bootDisk, PartitionNumber: 3},
			staging:            {VolumeID: dataID, DiskNumber: dataDisk, PartitionNumber: 2},
			staging + `\below`: {VolumeID: dataID, DiskNumber: dataDisk, PartitionNumber: 2},
			pod + `\link`:      {VolumeID: dataID, DiskNumber: dataDisk, PartitionNumber: 2},
			dataID + `below`:   {VolumeID: dataID, DiskNumber: dataDisk, PartitionNumber: 2},
		} {
			got, err := s.vol.Resolve(t.Context(), path)
			s.must(err)
			if got != want {
				t.Errorf("%s: got %+v, want %+v", path, got, want)
			}
		}
		for path, want := range map[string]error{
			``:                errdefs.ErrInvalidArgument,
			`\\server\share`:  errdefs.ErrInvalidArgument,
			kubelet + `\none`: errdefs.ErrNotFound,
		} {
			_, err := s.vol.Resolve(t.Context(), path)
			s.fails(err, want)
		}
	})
}

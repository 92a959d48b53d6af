// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// hang makes the calls that are chosen hang until release.
func (f *farm) hang(chosen func(simhost.Call) bool) (release func()) {
	ended := make(chan struct{})
	f.node.OnCall(func(c simhost.Call, do func() error) error {
		if chosen(c) {
			<-ended
		}
		return do()
	})
	return func() { close(ended); synctest.Wait() }
}

func device(i int) func(simhost.Call) bool {
	return func(c simhost.Call) bool { return c.Subject == fmt.Sprintf(`\\.\PhysicalDrive%d`, i) }
}

// abandoned calls, and leaves after a second.
func (f *farm) abandoned(call func(context.Context) error) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), time.Second)
	defer cancel()
	start := time.Now()
	if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
		f.Errorf("left what hangs: %v", err)
	}
	if took := time.Since(start); took != time.Second {
		f.Errorf("left after %v", took)
	}
	synctest.Wait()
}

// refused calls, and is told at once what hangs.
func (f *farm) refused(call func(context.Context) error, hangs ...string) {
	f.Helper()
	start := time.Now()
	err := call(f.Context())
	if errdefs.KindOf(err) != errdefs.ResourceExhausted {
		f.Errorf("beside what hangs: %v", err)
	}
	for _, name := range hangs {
		if err == nil || !strings.Contains(err.Error(), name) {
			f.Errorf("%v does not name %q", err, name)
		}
	}
	if took := time.Since(start); took != 0 {
		f.Errorf("refused after %v", took)
	}
}

// served calls, and has an answer at once.
func (f *farm) served(call func(context.Context) error) {
	f.Helper()
	start := time.Now()
	if err := call(f.Context()); err != nil {
		f.Errorf("what does not hang: %v", err)
	}
	if took := time.Since(start); took != 0 {
		f.Errorf("what does not hang took %v", took)
	}
}

func (f *farm) state(i int) func(context.Context) error {
	return func(ctx context.Context) error {
		return only(f.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: uint32(i)}))
	}
}

func (f *farm) size(i int) func(context.Context) error {
	return func(ctx context.Context) error {
		return only(f.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: uint32(i)}))
	}
}

func (f *farm) describe(i int) func(context.Context) error {
	return func(ctx context.Context) error { return only(f.disk.DescribeDisk(ctx, uint32(i))) }
}

func (f *farm) volumes(i int) func(context.Context) error {
	return func(ctx context.Context) error {
		return only(f.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: uint32(i)}))
	}
}

func (f *farm) partition(i int) func(context.Context) error {
	return func(ctx context.Context) error {
		return only(f.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: uint32(i)}))
	}
}

func (f *farm) exists(path string) func(context.Context) error {
	return func(ctx context.Context) error {
		return only(f.filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: path}))
	}
}

func (f *farm) mapping(i int) func(context.Context) error {
	return func(ctx context.Context) error {
		return only(f.smb.NewSMBGlobalMapping(ctx, &smb.NewSMBGlobalMappingRequest{RemotePath: share(i), Username: "user", Password: "secret"}))
	}
}

// At most one call of a kind hangs per disk, and four in all; then every further
// one is told at once, and no other disk is concerned.
func TestHungDisk(t *testing.T) {
	onFarm(t, formatted, func(f *farm) {
		f.served(f.state(1)) // Windows' own disks are known now
		release := f.hang(device(1))
		for _, call := range []func(context.Context) error{f.state(1), f.size(1), f.describe(1), f.partition(1)} {
			f.abandoned(call)
			f.served(f.state(2))
			f.served(f.volumes(2))
		}
		f.refused(f.state(1), "state of disk 1", "(1)")
		f.refused(f.volumes(1), "(4)", "state of disk 1", "size of disk 1")
		if left := blocking.On(f.node.Host()).Unfinished(); len(left) != blocking.MaxPerGroup {
			f.Errorf("unfinished: %+v", left)
		}
		for i := 2; i <= many; i++ {
			f.served(f.state(i))
		}
		f.served(f.exists(folder(1)))
		release()
		f.served(f.state(1))
		f.served(f.volumes(1))
	})
}

// 64 calls may hang on a host; then none is begun, until one of them ends.
func TestHungHost(t *testing.T) {
	onFarm(t, formatted, func(f *farm) {
		f.served(f.exists(folder(1)))
		release := f.hang(func(c simhost.Call) bool { return strings.HasPrefix(c.Subject, `\\.\PhysicalDrive`) })
		for i := 1; i <= blocking.MaxPerHost; i++ {
			f.served(f.exists(folder(1)))
			f.abandoned(f.state(i))
		}
		f.refused(f.exists(folder(1)), "(64)", "state of disk 1 for")
		f.refused(f.size(1))
		release()
		f.served(f.exists(folder(1)))
		f.served(f.state(1))
	})
}

// A file server that hangs has four calls of whatever group, and no other server
// nor disk is concerned.
func TestHungServer(t *testing.T) {
	onFarm(t, formatted, func(f *farm) {
		f.must(f.mapping(1)(f.Context()))
		f.must(f.mapping(2)(f.Context()))
		release, err := f.node.HangSMBServer(server(1))
		f.must(err)
		for i := range blocking.MaxPerGroup {
			f.abandoned(f.exists(fmt.Sprintf(`%s\dir%d`, share(1), i)))
			f.served(f.exists(share(2)))
			f.served(f.state(1))
		}
		f.refused(f.exists(share(1)+`\other`), "(4)")
		f.refused(f.mapping(1), "(4)")
		f.served(f.mapping(2))
		release()
		synctest.Wait()
		f.served(f.mapping(1))
	})
}

// Formats that hang take the workers of WMI's methods. Reads go on, and changes
// of other disks as soon as those workers are replaced, which takes a minute.
func TestHungFormats(t *testing.T) {
	onFarm(t, raw, func(f *farm) {
		f.must(f.volumes(1)(f.Context()))
		release := f.node.Hang("MSFT_Volume.Format")
		format := func(i int) func(context.Context) error {
			return func(ctx context.Context) error {
				return only(f.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: volumeID(i)}))
			}
		}
		for i := 1; i <= methodWorkers; i++ {
			f.abandoned(format(i))
		}
		f.served(func(ctx context.Context) error { return only(f.smb.ListMappings(ctx, &smb.ListMappingsRequest{})) })
		f.served(f.state(1))
		f.served(f.volumes(1))
		start := time.Now()
		f.must(f.mapping(1)(f.Context()))
		if took := time.Since(start); took > time.Minute {
			f.Errorf("a method of another object waited %v", took)
		}
		release()
		for i := 1; i <= methodWorkers; i++ {
			f.must(format(i)(f.Context()))
		}
	})
}

// Taking a disk offline and removing a mount folder do not wait for a flush that
// was left behind.
func TestHungFlush(t *testing.T) {
	onFarm(t, formatted, func(f *farm) {
		for i := 1; i <= 2; i++ {
			f.must(mount(f, i))
		}
		f.served(f.state(1))
		release := f.hang(func(c simhost.Call) bool { return c.Method == "Device.Flush" })
		for i := 1; i <= 2; i++ {
			f.abandoned(func(ctx context.Context) error {
				return only(f.volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: volumeID(i)}))
			})
		}
		f.served(func(ctx context.Context) error {
			return only(f.filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: folder(1), Force: true}))
		})
		f.abandoned(func(ctx context.Context) error { // joins the flush, and leaves the volume mounted
			return only(f.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: volumeID(2), TargetPath: folder(2)}))
		})
		if name, err := f.node.Host().Mounts.VolumeAt(folder(2) + `\`); name != volumeID(2) {
			f.Errorf("at the other folder is %q, %v", name, err)
		}
		for i := 1; i <= 2; i++ {
			f.served(func(ctx context.Context) error {
				return only(f.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: uint32(i)}))
			})
		}
		release()
	})
}

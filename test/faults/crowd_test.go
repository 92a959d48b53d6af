// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// latency is how long each boundary call takes.
const latency = 10 * time.Millisecond

// methodWorkers is how many WMI methods run at once (docs/architecture.md).
const methodWorkers = 3

// job is what a driver does with the object of a number, on a node with disks.
type job struct {
	name  string
	disks func(*simhost.DiskSpec)
	do    func(context.Context, *farm, int) error
	first func(*farm, int) error // what was done before; nil is nothing
}

var jobs = []job{
	{name: "GetDiskState", disks: blank, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: uint32(i)}))
	}},
	{name: "SetDiskState", disks: formatted, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: uint32(i)}))
	}},
	{name: "PartitionDisk", disks: blank, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: uint32(i)}))
	}},
	{name: "FormatVolume", disks: raw, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: volumeID(i)}))
	}},
	{name: "MountVolume", disks: formatted, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: volumeID(i), TargetPath: folder(i)}))
	}},
	{name: "UnmountVolume", disks: formatted, first: mount, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: volumeID(i), TargetPath: folder(i)}))
	}},
	{name: "ResizeVolume", disks: formatted, first: growDisk, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: volumeID(i)}))
	}},
	{name: "Rmdir of a mount folder", disks: formatted, first: mount, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: folder(i), Force: true}))
	}},
	{name: "GetVolumeStats", disks: formatted, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: volumeID(i)}))
	}},
	{name: "WriteVolumeCache", disks: formatted, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: volumeID(i)}))
	}},
	{name: "Mkdir", disks: blank, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: folder(i) + `\mount`}))
	}},
	{name: "CreateSymlink", disks: blank, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.filesystem.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: folder(i), TargetPath: folder(i) + "-link"}))
	}},
	{name: "Rmdir", disks: blank, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: folder(i), Force: true}))
	}},
	{name: "NewSMBGlobalMapping", disks: blank, do: func(ctx context.Context, f *farm, i int) error {
		return f.mapping(i)(ctx)
	}},
	{name: "ConnectTarget", disks: blank, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.iscsi.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{TargetPortal: portal, IQN: target(i)}))
	}},
	{name: "StartService", disks: blank, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.system.StartService(ctx, &system.StartServiceRequest{Name: service(i)}))
	}},
}

func mount(f *farm, i int) error { return f.node.Host().Mounts.SetPoint(folder(i)+`\`, volumeID(i)) }

func growDisk(f *farm, i int) error { return f.node.GrowDisk(diskName(i), 128*simhost.MiB) }

func only[T any](_ T, err error) error { return err }

// Many callers of as many objects take as long as one of them alone, but for the
// calls of WMI, of which few run at once; and each of them makes its change once.
func TestUnrelatedObjectsDoNotWait(t *testing.T) {
	for _, job := range jobs {
		t.Run(job.name, func(t *testing.T) {
			alone, once := job.measure(t, 1)
			together, all := job.measure(t, many)
			queued := time.Duration(ofWMI(once)) * latency * many / methodWorkers
			if together > alone+queued {
				t.Errorf("%d callers take %v, one takes %v, and may wait %v for WMI", many, together, alone, queued)
			}
			want := changes(once)
			for change := range want {
				want[change] *= many
			}
			if got := changes(all); !maps.Equal(got, want) {
				t.Errorf("changes %v, want %v", got, want)
			}
		})
	}
}

// What lies in one directory waits for no more than the look at the directory
// that names its lock: two calls each.
func TestSiblingsWaitForTheirDirectoryAlone(t *testing.T) {
	removal := job{name: "Rmdir", disks: blank, do: func(ctx context.Context, f *farm, i int) error {
		return only(f.filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: sibling(i), Force: true}))
	}}
	alone, _ := removal.measure(t, 1)
	together, _ := removal.measure(t, many)
	if most := alone + 2*latency*many; together > most {
		t.Errorf("%d callers take %v, one takes %v", many, together, alone)
	}
}

// measure tells how long callers take, each with the object of its number, and
// which boundary calls they make.
func (j job) measure(t *testing.T, callers int) (took time.Duration, calls []simhost.Call) {
	t.Helper()
	onFarm(t, j.disks, func(f *farm) {
		for i := 1; i <= many && j.first != nil; i++ {
			f.must(j.first(f, i))
		}
		f.node.OnCall(func(_ simhost.Call, do func() error) error {
			<-time.After(latency)
			return do()
		})
		f.node.Calls().Reset()
		took = f.atOnce(callers, func(ctx context.Context, i int) error { return j.do(ctx, f, i) })
		calls = f.node.Calls().Calls()
	})
	return took, calls
}

// atOnce has callers do something with the objects from 1 on, and tells how long
// all of them took.
func (f *farm) atOnce(callers int, do func(context.Context, int) error) time.Duration {
	f.Helper()
	start := time.Now()
	var all sync.WaitGroup
	for i := 1; i <= callers; i++ {
		all.Go(func() {
			if err := do(f.Context(), i); err != nil {
				f.Errorf("%d: %v", i, err)
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

// ofWMI counts the calls that need a worker.
func ofWMI(calls []simhost.Call) int {
	n := 0
	for _, c := range calls {
		if of, _, _ := strings.Cut(c.Method, "."); slices.Contains([]string{"WMI", "Session", "Rows", "Call"}, of) {
			n++
		}
	}
	return n
}

// changes counts the calls that change a node, by their kind.
func changes(calls []simhost.Call) map[string]int {
	counts := map[string]int{}
	for _, c := range calls {
		if !disturb.Changes(c) {
			continue
		}
		kind := c.Method
		if c.Method == "Session.Start" {
			kind, _, _ = strings.Cut(c.Subject, " ")
		}
		counts[fmt.Sprintf("%s %#x", kind, c.Code)]++
	}
	return counts
}

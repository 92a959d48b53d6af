// SPDX-License-Identifier: Apache-2.0

// Package demo walks a data disk of each simulated node that comes with the
// library through its life on a node, step by step, and shows what each step
// changes and how many calls at the boundary of Windows it takes. Its output is
// the same in every run.
package demo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

const intro = `A disk's life on a simulated Windows node, as a CSI driver leads it. Below each step stand what
changed on the node (+ new, - gone, ~ changed) and the step's calls at the boundary of Windows.
Connecting a WMI worker, which each of the four does once, is not counted.
`

// Run walks the named nodes, all that are shipped if none is named.
func Run(ctx context.Context, out io.Writer, names ...string) error {
	if len(names) == 0 {
		names = simhost.Names()
	}
	if _, err := io.WriteString(out, intro); err != nil {
		return err
	}
	var summary summary
	for _, name := range names {
		w, err := newWalk(name)
		if err != nil {
			return err
		}
		counts, err := w.run(ctx, out)
		w.node.Close()
		if err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		summary.add(name, counts)
	}
	_, err := io.WriteString(out, summary.String())
	return err
}

// arrival is how long new volumes take to arrive on the nodes of the demo. It
// lies amid two looks of ListVolumesOnDisk, so that a busy machine too looks
// as often as ever.
const arrival = 375 * time.Millisecond

// walk is one disk's way through one node.
type walk struct {
	spec     simhost.NodeSpec
	platform platform
	size     simhost.Size // of the disk, as attached

	node   *simhost.Node
	disk   *disk.Disk
	volume *volume.Volume
	files  *filesystem.Filesystem

	number   uint32 // of the disk
	volumeID string
}

func newWalk(name string) (*walk, error) {
	spec, err := simhost.Named(name)
	if err != nil {
		return nil, err
	}
	p, err := platformOf(name)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(spec.Attachable, func(d simhost.DiskSpec) bool { return d.Name == p.disk })
	if i < 0 {
		return nil, fmt.Errorf("node %s has no disk %q to attach", name, p.disk)
	}
	spec.Arrival = simhost.Duration(arrival)
	w := &walk{spec: spec, platform: p, size: spec.Attachable[i].Size}
	return w, w.start()
}

func (w *walk) start() (err error) {
	if w.node, err = simhost.New(w.spec); err != nil {
		return err
	}
	if w.disk, err = disk.New(w.node.Disk()); err != nil {
		return err
	}
	if w.volume, err = volume.New(w.node.Volume()); err != nil {
		return err
	}
	w.files, err = filesystem.New(w.node.Filesystem())
	return err
}

// run takes the steps, prints each, and returns their calls.
func (w *walk) run(ctx context.Context, out io.Writer) ([]int, error) {
	if _, err := io.WriteString(out, title(w.spec.Name, w.spec.Description)); err != nil {
		return nil, err
	}
	var counts []int
	for i, s := range steps {
		before := w.node.Snapshot()
		w.node.Calls().Reset()
		said, err := s.run(w, ctx)
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", s.name, err)
		}
		calls := countCalls(w.node.Calls())
		counts = append(counts, calls.total())
		report := stepReport(i+1, s.name, said, simhost.Diff(before, w.node.Snapshot()), calls)
		if _, err := io.WriteString(out, report); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// Where the volume is mounted for the node, and linked to for a pod.
const (
	pluginPath = `C:\var\lib\kubelet\plugins\demo`
	stagePath  = pluginPath + `\globalmount`
	podPath    = `C:\var\lib\kubelet\pods\demo`
	linkPath   = podPath + `\mount`
)

// step is one step of every walk. It returns what it has done.
type step struct {
	name string
	run  func(*walk, context.Context) (string, error)
}

var steps = []step{
	{"attach", (*walk).attach},
	{"wait", (*walk).wait},
	{"online", (*walk).online},
	{"partition", (*walk).partition},
	{"volumes", (*walk).volumes},
	{"format", (*walk).format},
	{"mkdir", (*walk).mkdir},
	{"mount", (*walk).mount},
	{"link", (*walk).link},
	{"stats", (*walk).stats},
	{"grow", (*walk).grow},
	{"resize", (*walk).resize},
	{"unlink", (*walk).unlink},
	{"unmount", (*walk).unmount},
	{"rmdir", (*walk).rmdir},
	{"offline", (*walk).offline},
	{"detach", (*walk).detach},
}

func (w *walk) attach(context.Context) (string, error) {
	_, err := w.node.AttachDisk(w.platform.disk)
	return fmt.Sprintf("the cloud attaches a disk of %s", w.size), err
}

func (w *walk) wait(ctx context.Context) (string, error) {
	found, err := w.disk.WaitForDisk(ctx, w.platform.match)
	w.number = found.Number
	return fmt.Sprintf("it is disk %d, the only one with %s", w.number, w.platform.match), err
}

func (w *walk) online(ctx context.Context) (string, error) {
	resp, err := w.disk.EnsureOnlineWritable(ctx, &disk.EnsureOnlineWritableRequest{DiskNumber: w.number})
	if resp.WasOffline || resp.WasReadOnly {
		return "it arrived offline or read-only, and is online and writable now", err
	}
	return "it is online and writable", err
}

func (w *walk) partition(ctx context.Context) (string, error) {
	_, err := w.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: w.number})
	return "the empty disk is initialised and gets a data partition", err
}

func (w *walk) volumes(ctx context.Context) (string, error) {
	resp, err := w.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: w.number})
	if err != nil {
		return "", err
	}
	if len(resp.VolumeIDs) != 1 {
		return "", fmt.Errorf("%d volumes on the new disk: %s", len(resp.VolumeIDs), strings.Join(resp.VolumeIDs, ", "))
	}
	w.volumeID = resp.VolumeIDs[0]
	return "its volume has arrived: " + w.volumeID, nil
}

func (w *walk) format(ctx context.Context) (string, error) {
	resp, err := w.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: w.volumeID})
	if err != nil {
		return "", err
	}
	if resp.Formatted {
		return "it is formatted", nil
	}
	_, err = w.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: w.volumeID})
	return "it holds nothing, and is formatted", err
}

func (w *walk) mkdir(ctx context.Context) (string, error) {
	for _, path := range []string{stagePath, podPath} {
		if _, err := w.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: path}); err != nil {
			return "", err
		}
	}
	return "directories for the mount and for the pod", nil
}

func (w *walk) mount(ctx context.Context) (string, error) {
	_, err := w.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: w.volumeID, TargetPath: stagePath})
	return "the volume is mounted for the node", err
}

func (w *walk) link(ctx context.Context) (string, error) {
	_, err := w.files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: stagePath, TargetPath: linkPath})
	return "and linked to for the pod", err
}

func (w *walk) stats(ctx context.Context) (string, error) {
	mounted, err := w.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: linkPath})
	if err != nil {
		return "", err
	}
	if mounted.VolumeID != w.volumeID {
		return "", fmt.Errorf("the link leads to %s", mounted.VolumeID)
	}
	resp, err := w.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: mounted.VolumeID})
	return fmt.Sprintf("asked through the link: %d bytes, %d of them used", resp.TotalBytes, resp.UsedBytes), err
}

func (w *walk) grow(context.Context) (string, error) {
	grown := 2 * w.size
	return fmt.Sprintf("the cloud makes the disk %s large; Windows does not know yet", grown), w.node.GrowDisk(w.platform.disk, grown)
}

func (w *walk) resize(ctx context.Context) (string, error) {
	_, err := w.volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: w.volumeID})
	return "partition and file system follow", err
}

func (w *walk) unlink(ctx context.Context) (string, error) {
	_, err := w.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: linkPath})
	return "the pod's link is removed, and nothing behind it", err
}

func (w *walk) unmount(ctx context.Context) (string, error) {
	_, err := w.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: w.volumeID, TargetPath: stagePath})
	return "the volume is flushed and unmounted", err
}

func (w *walk) rmdir(ctx context.Context) (string, error) {
	for _, path := range []string{podPath, pluginPath} {
		if _, err := w.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: true}); err != nil {
			return "", err
		}
	}
	return "the directories are removed", nil
}

func (w *walk) offline(ctx context.Context) (string, error) {
	_, err := w.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: w.number})
	return "the disk is taken offline", err
}

func (w *walk) detach(context.Context) (string, error) {
	return "the cloud detaches it", w.node.DetachDisk(w.platform.disk)
}

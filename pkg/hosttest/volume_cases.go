// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"errors"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func volumeCases() []Case {
	return slices.Concat(volumeInputCases(), volumeListCases(), volumePathCases(), volumeMountCases(), volumeUnmountCases(), volumeFormatCases(), volumeResizeCases(), []Case{volumeFlow()})
}

// volumeFlow is upstream's own test of each version.
func volumeFlow() Case {
	return Case{IDs: []string{"VOL-46"}, Shows: "list, format, measure, grow, mount, unmount", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
		id, number := h.newRAW()
		h.wantVolumes(number, 0, id)
		h.wantFormatted(id, false)
		h.must(h.format(id))
		h.wantFormatted(id, true)
		size := h.sizeOf(id)
		h.wantNear(size, int64(simhost.GiB))
		h.must(h.World.GrowDisk(number, 2*int64(simhost.GiB)))
		_, err := h.resize(id, size*3/2)
		h.must(err)
		h.wantNear(h.sizeOf(id), size*3/2)
		h.wantDisk(id, number)
		path := h.newMount(id, "mount")
		h.wantMounted(path, id)
		h.must(h.unmount(id, path))
		h.wantMounted(path, "")
	}}
}

// around is what a disk of World has beside its one volume, at most: upstream's
// tests allow as much (behaviour.md VOL-30).
const around = int64(20 * simhost.MiB)

// newRAW attaches a disk of 1 GiB and partitions it.
func (h *Host) newRAW() (id string, number uint32) {
	h.Helper()
	number, err := h.World.AttachDisk(int64(simhost.GiB))
	h.must(err)
	_, err = h.Disk.PartitionDisk(h.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
	h.must(err)
	ids, err := h.volumesOf(number, 0)
	h.must(err)
	if len(ids) != 1 {
		h.Fatalf("volumes %q", ids)
	}
	return ids[0], number
}

// newVolume attaches a disk of 1 GiB and formats a volume on it.
func (h *Host) newVolume() (id string, number uint32) {
	h.Helper()
	id, number = h.newRAW()
	h.must(h.format(id))
	return id, number
}

// newFolder makes a directory in the case's folder.
func (h *Host) newFolder(name string) (path string) {
	h.Helper()
	path = h.Folder + `\` + name
	h.must(h.mkdir(path))
	return path
}

// newMount mounts a volume at a new folder.
func (h *Host) newMount(id, name string) (path string) {
	h.Helper()
	path = h.newFolder(name)
	h.must(h.mount(id, path))
	return path
}

// wantMounted wants a volume at a path, "" for none.
func (h *Host) wantMounted(path, want string) {
	h.Helper()
	if got, _ := h.volumeAt(path); got != want {
		h.Errorf("%s: mounted %q, want %q", path, got, want)
	}
}

// wantErrors wants an error that is all of those.
func (h *Host) wantErrors(err error, want ...error) {
	h.Helper()
	if err == nil {
		h.Errorf("no error, want %v", want)
	}
	for _, w := range want {
		if !errors.Is(err, w) {
			h.Errorf("got %v, want %v", err, w)
		}
	}
}

// answers makes the boundary calls that are chosen answer a code instead.
func (h *Host) answers(code error, chosen func(simhost.Call) bool) {
	h.Node.OnCall(func(c simhost.Call, do func() error) error {
		if chosen(c) {
			return code
		}
		return do()
	})
}

// method chooses the calls of a method of the boundary.
func method(name string) func(simhost.Call) bool {
	return func(c simhost.Call) bool { return c.Method == name }
}

// control chooses the calls with a control code.
func control(code uint32) func(simhost.Call) bool {
	return func(c simhost.Call) bool { return c.Code == code }
}

func (h *Host) mount(id, path string) error {
	_, err := h.Volume.MountVolume(h.Context(), &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
	return err
}

func (h *Host) unmount(id, path string) error {
	_, err := h.Volume.UnmountVolume(h.Context(), &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path})
	return err
}

func (h *Host) format(id string) error {
	_, err := h.Volume.FormatVolume(h.Context(), &volume.FormatVolumeRequest{VolumeID: id})
	return err
}

func (h *Host) formatted(id string) (bool, error) {
	resp, err := h.Volume.IsVolumeFormatted(h.Context(), &volume.IsVolumeFormattedRequest{VolumeID: id})
	return resp.Formatted, err
}

func (h *Host) resize(id string, size int64) (*volume.ResizeVolumeResponse, error) {
	return h.Volume.ResizeVolume(h.Context(), &volume.ResizeVolumeRequest{VolumeID: id, SizeBytes: size})
}

func (h *Host) flush(id string) error {
	_, err := h.Volume.WriteVolumeCache(h.Context(), &volume.WriteVolumeCacheRequest{VolumeID: id})
	return err
}

func (h *Host) volumesOf(number, partition uint32) ([]string, error) {
	resp, err := h.Volume.ListVolumesOnDisk(h.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: partition})
	return resp.VolumeIDs, err
}

func (h *Host) statsOf(id string) (*volume.GetVolumeStatsResponse, error) {
	return h.Volume.GetVolumeStats(h.Context(), &volume.GetVolumeStatsRequest{VolumeID: id})
}

func (h *Host) diskOf(id string) (uint32, error) {
	resp, err := h.Volume.GetDiskNumberFromVolumeID(h.Context(), &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
	return resp.DiskNumber, err
}

func (h *Host) volumeAt(path string) (string, error) {
	resp, err := h.Volume.GetVolumeIDFromTargetPath(h.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return resp.VolumeID, err
}

func (h *Host) closest(path string) (string, error) {
	resp, err := h.Volume.GetClosestVolumeIDFromTargetPath(h.Context(), &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
	return resp.VolumeID, err
}

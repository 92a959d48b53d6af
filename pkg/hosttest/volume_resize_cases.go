// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"math"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

const (
	mib = int64(simhost.MiB)
	gib = int64(simhost.GiB)
)

func volumeResizeCases() []Case {
	return []Case{
		{IDs: []string{"VOL-23", "V05"}, Shows: "0 takes all that the disk has grown by, without a rescan", Needs: []Ability{Disks}, Test: func(h *Host) {
			id := h.newGrown()
			resp, err := h.resize(id, 0)
			h.must(err)
			h.wantNear(h.sizeOf(id), 2*gib)
			if !resp.Grew || resp.NewSizeBytes != resp.LargestSizeBytes {
				h.Errorf("got %+v", resp)
			}
		}},
		{IDs: []string{"VOL-24"}, Shows: "a negative size is refused", Test: func(h *Host) {
			for _, size := range []int64{-1, math.MinInt64} {
				_, err := h.resize(deadID, size)
				h.wantError(err, errdefs.InvalidArgument, "invalid negative size -")
			}
		}},
		{IDs: []string{"VOL-25"}, Shows: "the size that it has, or a smaller one, changes nothing", Needs: []Ability{Disks}, Test: func(h *Host) {
			id := h.newGrown()
			before := h.sizeOf(id)
			now, err := h.resize(id, 1)
			h.must(err)
			for _, size := range []int64{1, 100 * mib, now.OldSizeBytes - 1, now.OldSizeBytes} {
				resp, err := h.resize(id, size)
				h.must(err)
				h.wantResized(resp, volume.ResizeVolumeResponse{OldSizeBytes: now.OldSizeBytes, NewSizeBytes: now.OldSizeBytes, LargestSizeBytes: now.LargestSizeBytes})
			}
			if got := h.sizeOf(id); got != before {
				h.Errorf("file system of %d bytes, was %d", got, before)
			}
		}},
		{IDs: []string{"VOL-26", "V02"}, Shows: "it grows by 1 MiB and more, and never claims what it has not reached", Needs: []Ability{Disks}, Test: func(h *Host) {
			id := h.newGrown()
			was, err := h.resize(id, 1)
			h.must(err)
			size := was.OldSizeBytes
			for _, tt := range []struct{ by, grown int64 }{{1, 0}, {mib - 1, 0}, {mib, mib}, {64 * mib, 64 * mib}, {100*mib - 512, 100*mib - 512}, {100 * mib, 100 * mib}} {
				resp, err := h.resize(id, size+tt.by)
				h.must(err)
				h.wantResized(resp, volume.ResizeVolumeResponse{
					OldSizeBytes: size, NewSizeBytes: size + tt.grown, LargestSizeBytes: was.LargestSizeBytes, Grew: tt.grown > 0,
				})
				size = resp.NewSizeBytes
				h.wantNear(h.sizeOf(id), size)
			}
		}},
		{IDs: []string{"VOL-27"}, Shows: "more than the disk has is an error that tells what it has", Needs: []Ability{Disks}, Test: func(h *Host) {
			id := h.newGrown()
			was, err := h.resize(id, 1)
			h.must(err)
			for _, size := range []int64{was.LargestSizeBytes + 1, 3 * gib, math.MaxInt64} {
				resp, err := h.resize(id, size)
				h.wantErrors(err, errdefs.ErrOutOfRange)
				h.wantResized(resp, *was)
			}
			resp, err := h.resize(id, was.LargestSizeBytes)
			h.must(err)
			if resp.NewSizeBytes != was.LargestSizeBytes {
				h.Errorf("got %+v of %d", resp, was.LargestSizeBytes)
			}
		}},
		{IDs: []string{"VOL-27", "TXT-9"}, Shows: "nothing to gain is no error", Needs: []Ability{Disks}, Test: func(h *Host) {
			for _, make := range []func() (string, uint32){h.newVolume, h.newRAW} {
				id, _ := make()
				for range 2 {
					resp, err := h.resize(id, 0)
					h.must(err)
					if resp.Grew || resp.NewSizeBytes != resp.OldSizeBytes {
						h.Errorf("got %+v", resp)
					}
				}
			}
		}},
		{IDs: []string{"VOL-28"}, Shows: "Windows reads the disk again before it grows, and before the file system does", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.Node.GrowDisk("data", 2*simhost.GiB))
			steps := []uint32{abi.IOCTL_DISK_UPDATE_PROPERTIES, abi.IOCTL_DISK_GROW_PARTITION, abi.FSCTL_EXTEND_VOLUME}
			var made []uint32
			h.Node.OnCall(func(c simhost.Call, do func() error) error {
				if slices.Contains(steps, c.Code) {
					made = append(made, c.Code)
				}
				return do()
			})
			_, err := h.resize(dataID, 0)
			h.must(err)
			if want := []uint32{steps[0], steps[1], steps[0], steps[2]}; !slices.Equal(made, want) {
				h.Errorf("control codes %#x, want %#x", made, want)
			}
		}},
		{IDs: []string{"VOL-29"}, Shows: "half as much again", Needs: []Ability{Disks}, Test: func(h *Host) {
			id := h.newGrown()
			size := h.sizeOf(id) * 3 / 2
			for range 2 {
				_, err := h.resize(id, size)
				h.must(err)
				h.wantNear(h.sizeOf(id), size)
			}
		}},
		{IDs: []string{"V03"}, Shows: "no defragmenter is needed", Needs: []Ability{Model}, Test: growsWithoutDefragmenter},
		{IDs: []string{"V03"}, Shows: "no defragmenter is needed through WMI either", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			spec.Switches.GrowPartitionRefused = true
		}, Test: growsWithoutDefragmenter},
		{IDs: []string{"V05"}, Shows: "a clone on a larger disk, whose file system is smaller than its partition", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			clone := &spec.Disks[dataDisk].Partitions[1]
			clone.Size, clone.Volume.Covers = 500*simhost.MiB, 400*simhost.MiB
		}, Test: func(h *Host) {
			for _, tt := range []struct{ size, want int64 }{{500 * mib, 500 * mib}, {0, gib - 17*mib}} {
				resp, err := h.resize(dataID, tt.size)
				h.must(err)
				if got := h.sizeOf(dataID); got != tt.want || !resp.Grew {
					h.Errorf("file system of %d bytes, %+v; want %d", got, resp, tt.want)
				}
			}
		}},
	}
}

func growsWithoutDefragmenter(h *Host) {
	h.Node.SetDefragmenter(false)
	h.must(h.Node.GrowDisk("data", 2*simhost.GiB))
	h.Node.OnCall(func(c simhost.Call, do func() error) error {
		if strings.Contains(c.Subject, "GetSupportedSize") {
			h.Errorf("asks %s", c.Subject)
		}
		return do()
	})
	_, err := h.resize(dataID, 0)
	h.must(err)
	h.wantNear(h.sizeOf(dataID), 2*gib)
}

// newGrown makes a volume of 1 GiB whose disk has grown to 2 GiB since.
func (h *Host) newGrown() (id string) {
	h.Helper()
	id, number := h.newVolume()
	h.must(h.World.GrowDisk(number, 2*gib))
	return id
}

// sizeOf is the size of a volume's file system.
func (h *Host) sizeOf(id string) int64 {
	h.Helper()
	stats, err := h.statsOf(id)
	h.must(err)
	return stats.TotalBytes
}

func (h *Host) wantResized(got *volume.ResizeVolumeResponse, want volume.ResizeVolumeResponse) {
	h.Helper()
	if *got != want {
		h.Errorf("got %+v, want %+v", *got, want)
	}
}

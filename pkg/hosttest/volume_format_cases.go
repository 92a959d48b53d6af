// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"context"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func volumeFormatCases() []Case {
	return []Case{
		{IDs: []string{"VOL-21"}, Shows: "a fresh volume is not formatted, a formatted one is", Needs: []Ability{Disks}, Test: func(h *Host) {
			id, _ := h.newRAW()
			h.wantFormatted(id, false)
			h.must(h.format(id))
			h.wantFormatted(id, true)
		}},
		{IDs: []string{"VOL-21"}, Shows: "every file system counts", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			for number, fileSystem := range map[uint32]string{dataDisk: "ReFS", otherDisk: "FAT32", rawDisk: "exFAT"} {
				spec.Disks[number].Partitions[1].Volume.FileSystem = fileSystem
			}
			fat := &spec.Disks[blankDisk]
			fat.Style, fat.Partitions = "mbr", []simhost.PartitionSpec{{Volume: &simhost.VolumeSpec{ID: deadID[11:47], FileSystem: "FAT"}}}
		}, Test: func(h *Host) {
			for _, id := range []string{dataID, otherID, rawID, deadID} {
				h.wantFormatted(id, true)
			}
		}},
		{IDs: []string{"VOL-21", "D21"}, Shows: "what Windows does not know is no empty volume", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			for number, media := range map[uint32]simhost.Media{dataDisk: simhost.MediaExt4, otherDisk: simhost.MediaLUKS, rawDisk: simhost.MediaTornNTFS} {
				p := &spec.Disks[number].Partitions[1]
				p.Volume.FileSystem, p.Media = "", []simhost.Media{media}
			}
		}, Test: func(h *Host) {
			before := h.Node.Snapshot()
			for _, tt := range []struct {
				id   string
				want error
			}{{dataID, errdefs.ErrForeignContent}, {otherID, errdefs.ErrForeignContent}, {rawID, errdefs.ErrDamaged}} {
				is, err := h.formatted(tt.id)
				h.wantErrors(err, tt.want)
				if is {
					h.Error("it counts as formatted")
				}
				h.wantErrors(h.format(tt.id), tt.want, errdefs.ErrFailedPrecondition)
			}
			h.wantUnchanged(before)
			_, err := h.Volume.FormatVolume(h.Context(), &volume.FormatVolumeRequest{VolumeID: rawID, Overwrite: true})
			h.must(err)
			h.wantFormatted(rawID, true)
		}},
		{IDs: []string{"VOL-21"}, Shows: "what Windows does not tell is an error", Needs: []Ability{Model}, Test: func(h *Host) {
			before := h.Node.Snapshot()
			for _, code := range []win.Errno{win.ERROR_ACCESS_DENIED, win.ERROR_NOT_READY, win.ERROR_FILE_CORRUPT} {
				h.answers(code, method("Mounts.Information"))
				is, err := h.formatted(rawID)
				h.wantErrors(err, code)
				if is {
					h.Errorf("%d: formatted", code)
				}
				h.wantErrors(h.format(rawID), code)
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"VOL-22"}, Shows: "NTFS, without a label, of the default unit", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.format(rawID))
			h.wantFileSystem(rawID, `NTFS "", 1007MiB in units of 4096`)
		}},
		{IDs: []string{"VOL-22"}, Shows: "what is formatted is formatted again, and stays mounted", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path := h.newMount(id, "mount")
			for range 2 {
				h.must(h.World.WriteFile(path+`\data`, 1))
				h.must(h.format(id))
				h.wantMounted(path, id)
				if h.exists(path + `\data`) {
					h.Error("the data is still there")
				}
			}
			h.wantFormatted(id, true)
		}},
		{IDs: []string{"VOL-22"}, Shows: "another file system becomes NTFS", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			spec.Disks[dataDisk].Partitions[1].Volume.FileSystem = "ReFS"
			spec.Disks[otherDisk].Partitions[1].Volume.FileSystem = "FAT32"
		}, Test: func(h *Host) {
			for _, id := range []string{dataID, otherID} {
				h.must(h.format(id))
				h.wantFileSystem(id, `NTFS "", 1007MiB`)
			}
		}},
		{IDs: []string{"VOL-22", "D01"}, Shows: "Windows' own volume is neither formatted, grown nor mounted elsewhere", Needs: []Ability{Model}, Test: func(h *Host) {
			boot, err := h.closest(h.Folder)
			h.must(err)
			path := h.newFolder("mount")
			before := h.Node.Snapshot()
			_, resize := h.resize(boot, 0)
			for _, err := range []error{h.format(boot), resize, h.mount(boot, path)} {
				h.wantErrors(err, errdefs.ErrCriticalDisk, errdefs.ErrFailedPrecondition)
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"V13"}, Shows: "a retry joins a format that takes long", Needs: []Ability{Model, Time}, Test: func(h *Host) {
			begun, end := 0, time.Now().Add(5*time.Minute)
			h.Node.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == "Session.Start" && strings.HasPrefix(c.Subject, "MSFT_Volume.Format") {
					begun++
				}
				if c.Method == "Call.Result" && time.Now().Before(end) {
					<-time.After(time.Second)
					return win.WBEM_S_TIMEDOUT
				}
				return do()
			})
			for range 2 {
				ctx, cancel := context.WithTimeout(h.Context(), 2*time.Minute)
				_, err := h.Volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: rawID})
				h.wantErrors(err, context.DeadlineExceeded)
				cancel()
			}
			h.must(h.format(rawID))
			if begun != 1 {
				h.Errorf("%d formats begun", begun)
			}
			h.must(h.mount(rawID, h.newFolder("mount")))
		}},
		{IDs: []string{"V14"}, Shows: "a file system that Windows does not make is refused, and those that it makes are named", Test: func(h *Host) {
			for _, req := range []volume.FormatVolumeRequest{{FileSystem: "ext4"}, {FileSystem: "xfs"}, {FileSystem: "FAT"}, {FileSystem: " "}} {
				req.VolumeID = deadID
				_, err := h.Volume.FormatVolume(h.Context(), &req)
				h.wantError(err, errdefs.InvalidArgument, "NTFS, ReFS, FAT32, exFAT")
			}
		}},
		{IDs: []string{"V15"}, Shows: "file system, label and allocation unit", Needs: []Ability{Model}, Test: func(h *Host) {
			for _, tt := range []struct {
				req  volume.FormatVolumeRequest
				want string
			}{
				{volume.FormatVolumeRequest{Label: "SQL", AllocationUnitSize: 64 << 10, Full: true}, `NTFS "SQL", 1007MiB in units of 65536`},
				{volume.FormatVolumeRequest{FileSystem: "refs", Label: "Data"}, `ReFS "Data", 1007MiB`},
				{volume.FormatVolumeRequest{FileSystem: "exfat"}, `exFAT "", 1007MiB`},
				{volume.FormatVolumeRequest{FileSystem: "FAT32", Label: "ELEVENCHARS"}, `FAT32 "ELEVENCHARS", 1007MiB`},
			} {
				tt.req.VolumeID = rawID
				_, err := h.Volume.FormatVolume(h.Context(), &tt.req)
				h.must(err)
				h.wantFileSystem(rawID, tt.want)
			}
		}},
		{IDs: []string{"V15"}, Shows: "options that no file system has are refused", Test: func(h *Host) {
			for _, tt := range []struct {
				req  volume.FormatVolumeRequest
				says string
			}{
				{volume.FormatVolumeRequest{AllocationUnitSize: 5000}, "AllocationUnitSize"},
				{volume.FormatVolumeRequest{AllocationUnitSize: 256}, "AllocationUnitSize"},
				{volume.FormatVolumeRequest{AllocationUnitSize: 4 << 20}, "AllocationUnitSize"},
				{volume.FormatVolumeRequest{FileSystem: "ReFS", AllocationUnitSize: 8192}, "AllocationUnitSize"},
				{volume.FormatVolumeRequest{Label: strings.Repeat("x", 33)}, "Label"},
				{volume.FormatVolumeRequest{FileSystem: "FAT32", Label: "twelve chars"}, "Label"},
				{volume.FormatVolumeRequest{FileSystem: "ReFS", Compress: true}, "Compress"},
				{volume.FormatVolumeRequest{AllocationUnitSize: 8192, Compress: true}, "Compress"},
			} {
				tt.req.VolumeID = deadID
				_, err := h.Volume.FormatVolume(h.Context(), &tt.req)
				h.wantError(err, errdefs.InvalidArgument, tt.says)
			}
		}},
	}
}

func (h *Host) wantFormatted(id string, want bool) {
	h.Helper()
	if got, err := h.formatted(id); err != nil || got != want {
		h.Errorf("%s: formatted %t, %v; want %t", id, got, err, want)
	}
}

// wantFileSystem wants the node to say so of a volume's file system.
func (h *Host) wantFileSystem(id, want string) {
	h.Helper()
	if got := h.Node.Snapshot(); !strings.Contains(string(got), "volume "+id+" file system: "+want) {
		h.Errorf("no %s on %s:\n%s", want, id, got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func volumeCases() []Case {
	return []Case{
		{IDs: []string{"VOL-18", "V11"}, Shows: "a volume that is gone is unmounted, twice", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.mkdir(h.Folder + `\mount`))
			h.must(h.mount(dataID, h.Folder+`\mount`))
			h.must(h.Node.DetachDisk("data"))
			for range 2 {
				h.must(h.unmount(dataID, h.Folder+`\mount`))
			}
			if !h.exists(h.Folder + `\mount`) {
				h.Error("the folder is gone, too")
			}
		}},
		{IDs: []string{"VOL-18"}, Shows: "what cannot be flushed stays mounted", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.mkdir(h.Folder + `\mount`))
			h.must(h.mount(dataID, h.Folder+`\mount`))
			before := h.Node.Snapshot()
			h.Node.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == "Device.Flush" {
					return win.ERROR_IO_DEVICE
				}
				return do()
			})
			if err := h.unmount(dataID, h.Folder+`\mount`); err == nil {
				h.Error("unmounted")
			}
			h.wantUnchanged(before)
		}},
	}
}

func (h *Host) mount(id, path string) error {
	_, err := h.Volume.MountVolume(h.Context(), &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
	return err
}

func (h *Host) unmount(id, path string) error {
	_, err := h.Volume.UnmountVolume(h.Context(), &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path})
	return err
}

// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func volumeUnmountCases() []Case {
	return []Case{
		{IDs: []string{"VOL-18"}, Shows: "the folder stays and is empty, the other mounts stay", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path, other := h.newMount(id, "mount"), h.newMount(id, "other")
			h.must(h.World.WriteFile(path+`\of the volume`, 1))
			h.must(h.unmount(id, path))
			h.wantMounted(path, "")
			h.wantMounted(other, id)
			if h.exists(path+`\of the volume`) || !h.exists(other+`\of the volume`) {
				h.Error("the folder shows the volume still, or the other not")
			}
			h.must(h.rmdir(path, false))
		}},
		{IDs: []string{"VOL-18", "V10"}, Shows: "the cache is written before the mount point goes", Needs: []Ability{Model}, Test: func(h *Host) {
			path := h.newMount(dataID, "mount")
			var order []string
			h.Node.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == "Device.Flush" || c.Method == "Mounts.DeletePoint" {
					order = append(order, c.Method)
				}
				return do()
			})
			h.must(h.unmount(dataID, path))
			if !slices.Equal(order, []string{"Device.Flush", "Mounts.DeletePoint"}) {
				h.Errorf("order %q", order)
			}
		}},
		{IDs: []string{"VOL-18", "V11"}, Shows: "a volume that is gone is unmounted, twice", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, number := h.newVolume()
			path := h.newMount(id, "mount")
			h.must(h.World.DetachDisk(number))
			for range 2 {
				h.must(h.unmount(id, path))
			}
			if !h.exists(path) {
				h.Error("the folder is gone, too")
			}
			another, _ := h.newVolume()
			h.must(h.mount(another, path))
		}},
		{IDs: []string{"VOL-18", "V11"}, Shows: "a volume that goes while it is flushed is unmounted", Needs: []Ability{Model}, Test: func(h *Host) {
			path := h.newMount(dataID, "mount")
			for _, code := range []win.Errno{win.ERROR_FILE_NOT_FOUND, win.ERROR_PATH_NOT_FOUND, win.ERROR_DEVICE_NOT_CONNECTED, win.ERROR_NO_SUCH_DEVICE, win.ERROR_NOT_READY} {
				h.answers(code, method("Device.Flush"))
				h.must(h.unmount(dataID, path))
				h.Node.OnCall(nil)
				h.wantMounted(path, "")
				h.must(h.mount(dataID, path))
			}
		}},
		{IDs: []string{"VOL-18"}, Shows: "what cannot be flushed stays mounted", Needs: []Ability{Model}, Test: func(h *Host) {
			path := h.newMount(dataID, "mount")
			before := h.Node.Snapshot()
			for _, tt := range []struct{ code, want error }{
				{win.ERROR_IO_DEVICE, errdefs.ErrUnavailable},
				{win.ERROR_ACCESS_DENIED, errdefs.ErrPermissionDenied},
				{win.ERROR_DISK_FULL, errdefs.ErrResourceExhausted},
			} {
				h.answers(tt.code, method("Device.Flush"))
				h.wantErrors(h.unmount(dataID, path), tt.code, tt.want)
			}
			h.wantUnchanged(before)
			h.Node.OnCall(nil)
			h.must(h.unmount(dataID, path))
		}},
		{IDs: []string{"VOL-19"}, Shows: "what another volume's driver mounted stays", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			another, _ := h.newVolume()
			path := h.newMount(another, "mount")
			for _, wrong := range []string{id, deadID} {
				h.wantErrors(h.unmount(wrong, path), errdefs.ErrOtherVolume, errdefs.ErrFailedPrecondition)
			}
			h.wantMounted(path, another)
		}},
		{IDs: []string{"VOL-20", "TXT-8"}, Shows: "nothing to unmount is no error", Test: func(h *Host) {
			h.files("file")
			for _, path := range []string{h.Folder, h.at("none"), h.at(`none\at\all`), h.at("file")} {
				if err := h.unmount(deadID, path); err != nil {
					h.Errorf("%s: %v", path, err)
				}
			}
			h.wantThere("file")
			h.wantKind(h.unmount(deadID, h.Folder[:3]), errdefs.InvalidArgument)
		}},
		{IDs: []string{"VOL-20"}, Shows: "a link to a mount folder is no mount and stays", Needs: []Ability{Disks, Mounts, Links}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path := h.newMount(id, "mount")
			h.must(h.link(path, h.at("link")))
			for range 2 {
				h.must(h.unmount(id, h.at("link")))
			}
			h.wantKind(h.mount(id, h.at("link")), errdefs.FailedPrecondition)
			h.must(h.link(id, h.at("toVolume")))
			h.must(h.unmount(id, h.at("toVolume")))
			for _, name := range []string{"mount", "link", "toVolume"} {
				h.wantMounted(h.at(name), id)
			}
		}},
		{IDs: []string{"V09"}, Shows: "fifty mounts and unmounts leave nothing behind", Needs: []Ability{Model}, Test: func(h *Host) {
			path := h.newFolder("mount")
			before := h.Node.Snapshot()
			for range 50 {
				h.must(h.mount(dataID, path))
				h.must(h.unmount(dataID, path))
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"V09"}, Shows: "the mount manager names no path of a volume that was unmounted", Needs: []Ability{Disks, Mounts, InProcess}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path, other := h.newMount(id, "mount"), h.newMount(id, "other")
			h.wantMountPaths(id, path, other)
			h.must(h.unmount(id, path))
			h.wantMountPaths(id, other)
			h.must(h.unmount(id, other))
			h.wantMountPaths(id)
		}},
	}
}

// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func volumeMountCases() []Case {
	return []Case{
		{IDs: []string{"VOL-11"}, Shows: "what is made at the folder is made on the volume", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path := h.newMount(id, "mount")
			h.wantMounted(path, id)
			h.must(h.World.WriteFile(path+`\on the volume`, 1))
			if other := h.newMount(id, "other"); !h.exists(other + `\on the volume`) {
				h.Error("it is not there")
			}
		}},
		{IDs: []string{"VOL-11", "VOL-13"}, Shows: "a folder that is missing, not empty or no folder is refused", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			h.files("file")
			h.directories(`full\inside`)
			for _, tt := range []struct {
				path string
				kind errdefs.Kind
			}{
				{h.at("none"), errdefs.NotFound},
				{h.at(`none\at\all`), errdefs.NotFound},
				{h.at("full"), errdefs.FailedPrecondition},
				{h.at("file"), errdefs.InvalidArgument},
				{h.Folder[:3], errdefs.InvalidArgument},
				{id, errdefs.InvalidArgument},
			} {
				h.wantKind(h.mount(id, tt.path), tt.kind)
			}
			h.wantThere(`full\inside`)
			h.wantGone("none")
		}},
		{IDs: []string{"VOL-11"}, Shows: "FAT has no mount folders", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			v := spec.Disks[otherDisk].Partitions[1].Volume
			v.FileSystem, v.Letter = "FAT32", "F"
			spec.Directories = append(spec.Directories, `F:\folder`)
		}, Test: func(h *Host) {
			before := h.Node.Snapshot()
			h.wantKind(h.mount(dataID, `F:\folder`), errdefs.Unsupported)
			h.wantUnchanged(before)
		}},
		{IDs: []string{"VOL-12", "TXT-7"}, Shows: "mounted already is no error", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path := h.newFolder("mount")
			for range 3 {
				h.must(h.mount(id, path))
				h.wantMounted(path, id)
			}
			h.must(h.unmount(id, path))
			h.wantMounted(path, "")
		}},
		{IDs: []string{"VOL-13"}, Shows: "where another volume is mounted it stays", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			another, _ := h.newVolume()
			path := h.newMount(another, "mount")
			h.wantErrors(h.mount(id, path), errdefs.ErrOtherVolume, errdefs.ErrFailedPrecondition)
			h.wantMounted(path, another)
		}},
		{IDs: []string{"VOL-14"}, Shows: "each spelling of an id and of a path means the same", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, number := h.newVolume()
			path := h.newFolder("mount")
			for _, spelled := range []string{id, strings.ToUpper(id), strings.ToLower(id), strings.TrimSuffix(id, `\`)} {
				for _, at := range []string{path, path + `\`, strings.ToUpper(path), strings.ReplaceAll(path, `\`, `/`), `\\?\` + path} {
					h.must(h.mount(spelled, at))
				}
				if got, err := h.diskOf(spelled); err != nil || got != number {
					h.Errorf("%s: disk %d, %v; want %d", spelled, got, err, number)
				}
			}
			h.wantMounted(path, id)
			h.must(h.unmount(strings.ToUpper(id), strings.ToLower(path)+`\`))
			h.wantMounted(path, "")
		}},
		{IDs: []string{"VOL-15"}, Shows: "the error is what the call itself answered", Needs: []Ability{Model}, Test: func(h *Host) {
			path := h.newFolder("mount")
			before := h.Node.Snapshot()
			for _, tt := range []struct {
				code win.Errno
				kind errdefs.Kind
			}{
				{win.ERROR_ACCESS_DENIED, errdefs.PermissionDenied},
				{win.ERROR_NOT_READY, errdefs.Unavailable},
				{win.ERROR_INVALID_PARAMETER, errdefs.InvalidArgument},
				{win.ERROR_DIR_NOT_EMPTY, errdefs.FailedPrecondition},
				{win.ERROR_SHARING_VIOLATION, errdefs.Busy},
			} {
				h.answers(tt.code, method("Mounts.SetPoint"))
				err := h.mount(dataID, path)
				h.wantErrors(err, tt.code)
				h.wantKind(err, tt.kind)
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"VOL-17", "V17"}, Shows: "one volume at several folders, and no drive letter", Needs: []Ability{Disks, Mounts, InProcess}, Test: func(h *Host) {
			id, _ := h.newVolume()
			h.wantMountPaths(id)
			h.wantMountPaths(id, h.newMount(id, "a"), h.newMount(id, "b"), h.newMount(id, "c"))
		}},
		{IDs: []string{"V06"}, Shows: "a mount folder is a link in either way of Go to see it", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path := h.newMount(id, "mount")
			for _, setting := range []string{"winsymlink=0,winreadlinkvolume=0", "winsymlink=1,winreadlinkvolume=1"} {
				h.Setenv("GODEBUG", setting)
				h.wantLink(path, true)
				h.wantMounted(path, id)
				h.wantMounted(path+`\`, id)
			}
		}},
		{IDs: []string{"V07", "V08"}, Shows: "a mount point whose volume is gone is told, and makes room", Needs: []Ability{Disks, Mounts, InProcess}, Test: func(h *Host) {
			gone, number := h.newVolume()
			path := h.newMount(gone, "mount")
			h.must(h.World.DetachDisk(number))
			h.wantLink(path, false)
			state, err := h.linkState(path)
			h.must(err)
			if state.State != filesystem.DanglingLink || state.Kind != filesystem.MountPoint || state.Target != gone {
				h.Errorf("got %+v, want a dangling mount point of %s", state, gone)
			}
			h.wantNotMounted(path)
			h.wantNoClosest(path, errdefs.NotFound)
			id, _ := h.newVolume()
			for range 2 {
				h.must(h.mount(id, path))
			}
			h.wantMounted(path, id)
		}},
		{IDs: []string{"V07"}, Shows: "a mount point whose volume may be alive stays", Needs: []Ability{Model}, Test: func(h *Host) {
			path := h.newMount(otherID, "mount")
			before := h.Node.Snapshot()
			h.answers(win.ERROR_NOT_READY, func(c simhost.Call) bool {
				return c.Method == "Devices.Open" && strings.EqualFold(c.Subject, strings.TrimSuffix(otherID, `\`))
			})
			h.wantErrors(h.mount(dataID, path), errdefs.ErrOtherVolume, win.ERROR_NOT_READY)
			h.answers(win.ERROR_ACCESS_DENIED, control(abi.FSCTL_GET_REPARSE_POINT))
			h.wantErrors(h.mount(dataID, path), win.ERROR_ACCESS_DENIED)
			h.wantUnchanged(before)
		}},
		{IDs: []string{"V22"}, Shows: "a read-only disk is what makes a mount read-only, and it is told", Needs: []Ability{Disks, Mounts, InProcess}, Test: func(h *Host) {
			id, number := h.newVolume()
			for _, readOnly := range []bool{true, false} {
				_, err := h.Disk.(*disk.Disk).SetReadOnly(h.Context(), &disk.SetReadOnlyRequest{DiskNumber: number, IsReadOnly: readOnly})
				h.must(err)
				path := h.newMount(id, "mount")
				if got := h.describe(id).Flags.ReadOnly(); got != readOnly {
					h.Errorf("read-only %t, want %t", got, readOnly)
				}
				if err := h.mkdir(id + `new`); (err != nil) != readOnly {
					h.Errorf("read-only %t, and writing: %v", readOnly, err)
				}
				h.must(h.unmount(id, path))
			}
		}},
	}
}

func (h *Host) describe(id string) volume.Description {
	h.Helper()
	description, err := h.Volume.(*volume.Volume).DescribeVolume(h.Context(), id)
	h.must(err)
	h.must(description.Err)
	return description
}

// wantMountPaths wants a volume to be mounted there and nowhere else.
func (h *Host) wantMountPaths(id string, want ...string) {
	h.Helper()
	var got []string
	for _, m := range h.describe(id).Mounts {
		if m.Stale {
			h.Errorf("stale: %s", m.Path)
		}
		got = append(got, strings.ToLower(m.Path))
	}
	for i := range want {
		want[i] = strings.ToLower(want[i])
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		h.Errorf("mounted at %q, want %q", got, want)
	}
}

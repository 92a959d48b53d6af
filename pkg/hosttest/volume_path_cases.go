// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func volumePathCases() []Case {
	return []Case{
		{IDs: []string{"VOL-1"}, Shows: "an id has one spelling, whoever tells it", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, number := h.newVolume()
			if !regexp.MustCompile(`^\\\\\?\\Volume\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}\\$`).MatchString(id) {
				h.Errorf("the id is %s", id)
			}
			path := h.newMount(strings.ToUpper(id), "mount")
			h.wantMounted(path, id)
			h.wantClosest(path, id)
			h.wantVolumes(number, 0, id)
		}},
		{IDs: []string{"VOL-3"}, Shows: "any folder of the host, as kubelet spells paths too", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			spec.Directories = append(spec.Directories, `C:\elsewhere\disks\one`)
		}, Test: func(h *Host) {
			for _, path := range []string{folder[2:] + `\mount`, strings.ReplaceAll(folder[2:]+`\mount`, `\`, `/`), `C:\elsewhere\disks\one`, `\\?\C:\elsewhere\disks\one`, `c:/elsewhere/disks/one/`} {
				h.must(h.mkdir(h.Folder + `\mount`))
				h.must(h.mount(dataID, path))
				h.wantMounted(path, dataID)
				h.wantClosest(path, dataID)
				h.must(h.unmount(dataID, path))
			}
		}},
		{IDs: []string{"VOL-32", "VOL-37"}, Shows: "the volume of a mount folder, in each spelling", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path := h.newMount(id, "mount")
			for _, spelled := range []string{path, path + `\`, strings.ToLower(path), strings.ToUpper(path), strings.ReplaceAll(path, `\`, `/`) + `/`, `\\?\` + path} {
				h.wantMounted(spelled, id)
			}
		}},
		{IDs: []string{"VOL-33", "VOL-34", "V20"}, Shows: "what is missing, or a plain folder or file, is not mounted", Test: func(h *Host) {
			h.files("file")
			h.directories("plain")
			for _, path := range []string{
				h.at("none"), h.at(`none\at\all`), h.at("plain"), h.at(`plain\`), h.at("file"), h.at(`file\below`), h.Folder[:3], strings.ToLower(h.Folder[:3]),
			} {
				h.wantNotMounted(path)
			}
			_, err := h.volumeAt(h.at("none"))
			h.wantErrors(err, win.ERROR_FILE_NOT_FOUND)
			_, err = h.volumeAt(h.at(`none\at\all`))
			h.wantErrors(err, win.ERROR_PATH_NOT_FOUND)
		}},
		{IDs: []string{"VOL-34", "V20"}, Shows: "a folder inside a volume, and the volume itself, are not mounted", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path := h.newMount(id, "mount")
			h.must(h.mkdir(id + `inside`))
			h.wantNotMounted(path + `\inside`)
			h.wantNotMounted(path + `\none`)
			h.wantNotMounted(id)
			h.wantMounted(path, id)
		}},
		{IDs: []string{"VOL-35"}, Shows: "links to a mount folder give its volume", Needs: []Ability{Disks, Mounts, Links}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path := h.newMount(id, "mount")
			h.must(h.link(path, h.at("link")))
			h.must(h.link(h.at("link"), h.at("second")))
			h.must(h.link(path+`\`, h.at("slash")))
			h.must(h.link(id, h.at("toVolume")))
			for _, name := range []string{"link", `link\`, "second", "slash", "toVolume"} {
				h.wantMounted(h.at(name), id)
			}
		}},
		{IDs: []string{"VOL-36", "V20"}, Shows: "a link to an ordinary folder is not mounted", Needs: []Ability{Disks, Mounts, Links}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path := h.newMount(id, "mount")
			h.must(h.mkdir(id + `inside`))
			h.directories("plain")
			for name, source := range []string{h.at("plain"), path + `\inside`, h.Folder[:3]} {
				link := h.at(fmt.Sprint("link", name))
				h.must(h.link(source, link))
				h.wantNotMounted(link)
			}
		}},
		{IDs: []string{"VOL-36", "V07"}, Shows: "a link to nothing is not mounted", Needs: []Ability{Links}, Test: func(h *Host) {
			h.must(h.linkToMissing(h.at("none"), h.at("link")))
			h.must(h.linkToMissing(deadID, h.at("dead")))
			for _, name := range []string{"link", "dead"} {
				h.wantNotMounted(h.at(name))
				h.wantNoClosest(h.at(name), errdefs.NotFound)
			}
		}},
		{IDs: []string{"VOL-34"}, Shows: "what Windows does not tell is not taken for not mounted", Needs: []Ability{Model}, Test: func(h *Host) {
			path := h.newMount(dataID, "mount")
			for _, code := range []win.Errno{win.ERROR_ACCESS_DENIED, win.ERROR_CRC, win.ERROR_NOT_READY} {
				for _, chosen := range []string{"Files.Open", "Devices.Open"} {
					h.answers(code, method(chosen))
					got, err := h.volumeAt(path)
					h.wantErrors(err, code)
					if got != "" || err != nil && notMountedForEBS.MatchString(err.Error()) {
						h.Errorf("%s answers %d: EBS takes it for not mounted: %q, %v", chosen, code, got, err)
					}
				}
			}
		}},
		{IDs: []string{"VOL-38", "VOL-42"}, Shows: "circles of links and endless chains end", Needs: []Ability{Model}, Test: func(h *Host) {
			path := h.newMount(dataID, "mount")
			h.must(h.makeLink(extended(h.at("relative")), `.\mount`))
			h.wantMounted(h.at("relative"), dataID)
			h.must(h.makeLink(extended(h.at("itself")), h.at("itself")))
			h.must(h.makeLink(extended(h.at("one")), h.at("two")))
			h.must(h.makeLink(extended(h.at("two")), h.at("one")))
			for _, name := range []string{"itself", "one", "two"} {
				_, err := h.volumeAt(h.at(name))
				h.wantErrors(err, errdefs.ErrLinkLoop)
				h.wantNoClosest(h.at(name), errdefs.FailedPrecondition)
			}
			h.must(h.makeLink(extended(h.at("long0")), path))
			for i := 1; i < 300; i++ {
				h.must(h.makeLink(extended(h.at(fmt.Sprint("long", i))), h.at(fmt.Sprint("long", i-1))))
			}
			h.wantMounted(h.at("long60"), dataID)
			h.wantClosest(h.at("long60"), dataID)
			_, err := h.volumeAt(h.at("long299"))
			h.wantErrors(err, errdefs.ErrLinkLoop)
			h.wantNoClosest(h.at("long299"), errdefs.FailedPrecondition)
		}},
		{IDs: []string{"VOL-40"}, Shows: "the closest volume of what is not mounted is the drive's", Test: func(h *Host) {
			drive, err := h.closest(h.Folder[:3])
			h.must(err)
			h.files("file")
			h.directories(`foo\bar`)
			for _, path := range []string{h.Folder, h.at("file"), h.at(`foo\bar`), h.at(`foo\bar\`), strings.ReplaceAll(h.at(`foo\bar`), `\`, `/`)} {
				h.wantClosest(path, drive)
			}
			for _, name := range []string{"none", `foo\none`, `file\below`} {
				h.wantNoClosest(h.at(name), errdefs.NotFound)
			}
		}},
		{IDs: []string{"VOL-40"}, Shows: "the volume of a drive that is not the system's", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			spec.Disks[dataDisk].Partitions[1].Volume.Letter = "E"
			spec.Directories = append(spec.Directories, `E:\foo`)
		}, Test: func(h *Host) {
			h.wantClosest(`E:\`, dataID)
			h.wantClosest(`e:\foo`, dataID)
			h.wantNoClosest(`X:\foo`, errdefs.NotFound)
			h.wantNotMounted(`X:\foo`)
			h.must(h.unmount(dataID, `X:\foo`))
		}},
		{IDs: []string{"VOL-41", "VOL-44"}, Shows: "mount folders and links are each followed on the way up", Needs: []Ability{Disks, Mounts, Links}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path := h.newMount(id, "mount")
			h.must(h.mkdir(id + `foo\bar`))
			h.must(h.link(path, h.at("link")))
			h.must(h.link(path+`\foo`, h.at("into")))
			h.must(h.link(h.at("link"), h.at("second")))
			h.must(h.link(id, h.at("toVolume")))
			for _, closest := range []string{
				path, path + `\`, path + `\foo`, path + `\foo\bar`, id, id + `foo\bar`,
				h.at("link"), h.at(`link\foo\bar`), h.at("into"), h.at(`into\bar`), h.at(`second\foo`), h.at("toVolume"),
			} {
				h.wantClosest(closest, id)
			}
			h.wantNoClosest(path+`\none`, errdefs.NotFound)
		}},
		{IDs: []string{"VOL-44", "VOL-45"}, Shows: "a link to an ordinary folder is followed", Needs: []Ability{Links}, Test: func(h *Host) {
			drive, err := h.closest(h.Folder[:3])
			h.must(err)
			h.directories(`plain\below`)
			h.must(h.link(h.at("plain"), h.at("link")))
			h.must(h.link(h.Folder[:3], h.at("toDrive")))
			for _, name := range []string{"link", `link\below`, "toDrive"} {
				h.wantClosest(h.at(name), drive)
			}
		}},
		{IDs: []string{"VOL-43"}, Shows: "a path that is not absolute, or on a share, is refused", Test: func(h *Host) {
			for _, path := range []string{`var\lib`, `.`, `..`, `C:`, `C:var`, `\\server\share\dir`, `\\?\UNC\server\share\dir`} {
				h.wantNoClosest(path, errdefs.InvalidArgument)
			}
		}},
		{IDs: []string{"VOL-43"}, Shows: "a link to a share has no volume, and its server is not asked", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.makeLink(extended(h.at("link")), `\\server\share\dir`))
			h.Node.OnCall(func(c simhost.Call, do func() error) error {
				if strings.Contains(c.Subject, `\server`) {
					h.Errorf("asked: %+v", c)
				}
				return do()
			})
			h.wantNotMounted(h.at("link"))
			h.wantNoClosest(h.at("link"), errdefs.FailedPrecondition)
			h.must(h.unmount(dataID, h.at("link")))
			h.wantKind(h.mount(dataID, h.at("link")), errdefs.FailedPrecondition)
		}},
	}
}

// notMountedForEBS is how the AWS EBS driver tells "not mounted" from a failure
// (consumers.md 2.2).
var notMountedForEBS = regexp.MustCompile(`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)

// wantNotMounted wants what a path is not to have a volume's id, and the error to
// say so to programs and to the EBS driver.
func (h *Host) wantNotMounted(path string) {
	h.Helper()
	got, err := h.volumeAt(path)
	if got != "" {
		h.Errorf("%s: volume %s", path, got)
	}
	h.wantErrors(err, errdefs.ErrNotMounted, errdefs.ErrNotFound)
	if err != nil && !notMountedForEBS.MatchString(err.Error()) {
		h.Errorf("%s: EBS takes it for a failure: %v", path, err)
	}
}

// wantClosest wants a volume to hold a path; wantNoClosest wants none.
func (h *Host) wantClosest(path, want string) {
	h.Helper()
	if got, err := h.closest(path); err != nil || got != want {
		h.Errorf("%s: closest is %q, %v; want %s", path, got, err, want)
	}
}

func (h *Host) wantNoClosest(path string, kind errdefs.Kind) {
	h.Helper()
	got, err := h.closest(path)
	if got != "" {
		h.Errorf("%s: closest is %s", path, got)
	}
	h.wantKind(err, kind)
}

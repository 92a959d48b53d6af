// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func linkCases() []Case {
	return []Case{
		{IDs: []string{"FS-31", "FS-44"}, Shows: "a link stands for the directory, file or link that is its source", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories(`dir\below`)
			h.files("file")
			h.must(h.link(h.at("dir"), h.at("to dir")))
			h.must(h.link(h.at("file"), h.at("to file")))
			h.must(h.link(h.at("to dir"), h.at("to link")))
			h.must(h.link(strings.ReplaceAll(h.at("dir"), `\`, `/`), strings.ReplaceAll(h.at("slashes"), `\`, `/`)))
			h.must(h.link(h.at("dir")+`\`, h.at("backslash")+`\`))
			for _, name := range []string{"to dir", "to file", "to link", "slashes", "backslash"} {
				h.wantLink(h.at(name), true)
			}
			h.wantThere(`to dir\below`, `to link\below`, `slashes\below`, `backslash\below`)
		}},
		{IDs: []string{"FS-31", "FLOW-4"}, Shows: "what a link says", Needs: []Ability{InProcess, Model}, Test: func(h *Host) {
			long := strings.Repeat(strings.Repeat("d", 200)+`\`, 2) + "end"
			h.directories("dir", long)
			h.files("file")
			h.must(h.makeMountFolder(extended(h.at("mount")), dataID))
			h.must(h.link(h.at("file"), h.at("file link")))
			for i, l := range []struct{ source, kind, says string }{
				{h.at("dir"), "directory", h.at("dir")},
				{h.at("dir") + `\`, "directory", h.at("dir") + `\`}, // SMB-12
				{h.at("file"), "file", h.at("file")},
				{h.at("file link"), "file", h.at("file link")},
				{h.at("mount"), "directory", h.at("mount")},
				{dataID, "directory", dataID},
				{strings.TrimPrefix(h.at("dir"), "C:"), "directory", h.at("dir")},
				{h.at(long), "directory", h.at(long)},
			} {
				name := fmt.Sprintf("link %d", i)
				h.must(h.link(l.source, h.at(name)))
				state, err := h.linkState(h.at(name))
				if err != nil || state.Target != l.says || state.State != filesystem.LiveLink {
					h.Errorf("to %s: got %+v, %v", l.source, state, err)
				}
				if !strings.Contains(string(h.Node.Snapshot()), h.at(name)+": "+l.kind+" link to ") {
					h.Errorf("to %s: no %s link", l.source, l.kind)
				}
			}
		}},
		{IDs: []string{"FS-32"}, Shows: "the same link again is no error, any other thing there is", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories("source", "dir")
			h.files("file")
			h.must(h.link(h.at("dir"), h.at("other link")))
			h.must(h.linkToMissing(h.at("none"), h.at("dangling")))
			for range 2 {
				h.must(h.link(h.at("source"), h.at("link")))
			}
			for _, name := range []string{"dir", "file", "other link", "dangling", "source"} {
				h.wantError(h.link(h.at("source"), h.at(name)), errdefs.AlreadyExists, "symlink "+h.at("source")+" "+h.at(name)+": ")
			}
			h.wantLink(h.at("other link"), true)
			h.wantLink(h.at("dangling"), false)
			h.wantLink(h.at("dir"), false)
		}},
		{IDs: []string{"FS-32"}, Shows: "a mount folder, a junction and a link of the wrong kind are not taken for the link", Needs: []Ability{Model}, Test: func(h *Host) {
			h.directories("source")
			h.must(h.makeMountFolder(extended(h.at("mount")), dataID))
			h.must(h.makeJunction(extended(h.at("junction")), h.at("source")))
			h.must(h.makeLink(extended(h.at("odd")), `\Device\x`))
			h.must(h.Node.Host().Files.SymbolicLink(extended(h.at("file link")), h.at("source"), 0))
			before := h.Node.Snapshot()
			for _, name := range []string{"mount", "junction", "odd", "file link"} {
				h.wantKind(h.link(h.at("source"), h.at(name)), errdefs.AlreadyExists)
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"FS-33"}, Shows: "a link in a missing directory is an error", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories("source")
			h.wantKind(h.link(h.at("source"), h.at(`none\link`)), errdefs.NotFound)
			h.wantGone("none")
		}},
		{IDs: []string{"FS-34", "F08"}, Shows: "a missing source is NotFound, and no link is made", Test: func(h *Host) {
			h.wantKind(h.link(h.at("none"), h.at("link")), errdefs.NotFound)
			h.wantKind(h.link(h.at(`none\below`), h.at("link")), errdefs.NotFound)
			h.wantGone("link")
		}},
		{IDs: []string{"FS-34"}, Shows: "a file whose path ends as a directory's gets no link", Test: func(h *Host) {
			h.files("file")
			h.wantKind(h.link(h.at(`file\`), h.at("link")), errdefs.FailedPrecondition)
			h.wantGone("link")
		}},
		{IDs: []string{"FS-34", "F08"}, Shows: "with AllowMissing, a link to what will be a directory", Needs: []Ability{Links}, Test: func(h *Host) {
			for range 2 {
				h.must(h.linkToMissing(h.at("later"), h.at("link")))
			}
			h.wantLink(h.at("link"), false)
			h.directories(`later\below`)
			h.wantLink(h.at("link"), true)
			h.wantThere(`link\below`)
		}},
		{IDs: []string{"FS-34", "F08", "M22"}, Shows: "a source on a server that does not answer is not missing", Needs: []Ability{Model}, Test: func(h *Host) {
			h.wantKind(h.link(`\\nowhere\share`, h.at("link")), errdefs.Unavailable)
			h.wantKind(h.linkToMissing(`\\nowhere\share`, h.at("link")), errdefs.Unavailable)
			h.wantGone("link")
		}},
		{IDs: []string{"FS-36"}, Shows: "IsSymlink of a missing path is an error", Test: func(h *Host) {
			for _, path := range []string{h.at("none"), h.at(`none\below`), `Q:\x`} {
				isLink, err := h.isSymlink(path)
				h.wantKind(err, errdefs.NotFound)
				if isLink {
					h.Errorf("%s is a link", path)
				}
			}
		}},
		{IDs: []string{"FS-37", "FS-44"}, Shows: "a directory, a file and a root are no links", Test: func(h *Host) {
			h.directories("dir")
			h.files("file")
			for _, path := range []string{h.at("dir"), h.at("file"), h.at(`dir\`), h.Folder[:3], `\Windows`} {
				h.wantLink(path, false)
			}
		}},
		{IDs: []string{"FS-38"}, Shows: "a link is one while its target is there", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories("dir")
			h.files("file")
			h.must(h.link(h.at("dir"), h.at("to dir")))
			h.must(h.link(h.at("file"), h.at("to file")))
			h.wantLink(h.at("to dir"), true)
			h.wantLink(h.at("to file"), true)
			h.must(h.rmdir(h.at("dir"), false))
			h.must(h.rmdir(h.at("file"), false))
			h.wantLink(h.at("to dir"), false)
			h.wantLink(h.at("to file"), false)
			h.wantThere("to dir", "to file")
		}},
		{IDs: []string{"F07"}, Shows: "a backslash behind a link changes nothing", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories(`dir\below`)
			h.must(h.link(h.at("dir"), h.at("live")))
			h.must(h.linkToMissing(h.at("none"), h.at("dangling")))
			h.wantLink(h.at(`live\`), true)
			h.wantLink(h.at(`dangling\`), false)
			h.wantThere(`live\`, `dangling\`)
			h.must(h.rmdir(h.at(`live\`), true))
			h.must(h.rmdir(h.at(`dangling\`), false))
			h.wantGone("live", "dangling")
			h.wantThere(`dir\below`)
		}},
		{IDs: []string{"FS-39", "FS-44"}, Shows: "a mount folder is a link while its volume is there", Needs: []Ability{Disks, Mounts, Links}, Test: func(h *Host) {
			id, number := h.newVolume()
			path := h.newMount(id, "mount")
			h.must(h.link(path, h.at("link")))
			for _, path := range []string{path, path + `\`, h.at("link")} {
				h.wantLink(path, true)
			}
			h.must(h.World.DetachDisk(number))
			h.wantLink(path, false)
			h.wantLink(h.at("link"), false)
		}},
		{IDs: []string{"FS-39"}, Shows: "a volume without a file system is there, too", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.makeMountFolder(extended(h.at("raw")), rawID))
			h.wantLink(h.at("raw"), true)
		}},
		{IDs: []string{"FS-41"}, Shows: "a chain of links is as live as its end", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories("end")
			h.must(h.link(h.at("end"), h.at("last")))
			h.must(h.link(h.at("last"), h.at("first")))
			h.wantLink(h.at("first"), true)
			h.must(h.rmdir(h.at("end"), false))
			h.wantLink(h.at("first"), false)
			h.wantLink(h.at("last"), false)
		}},
		{IDs: []string{"FS-41"}, Shows: "a relative link is looked up from where it is", Needs: []Ability{Model}, Test: func(h *Host) {
			h.directories(`dir\below`)
			h.files("file")
			for _, l := range []struct {
				at, says string
				live     bool
			}{
				{"down", `dir\below`, true},
				{`dir\up`, `..\file`, true},
				{"rooted", h.at("dir")[2:], true},
				{"nowhere", `below`, false},
				{`dir\nowhere`, `file`, false},
			} {
				h.must(h.makeLink(extended(h.at(l.at)), l.says))
				h.wantLink(h.at(l.at), l.live)
			}
		}},
		{IDs: []string{"FS-42"}, Shows: "only links and mount points are links, not every reparse point", Needs: []Ability{InProcess, Model}, Test: func(h *Host) {
			for i, tag := range []abi.ReparseTag{abi.IO_REPARSE_TAG_DEDUP, abi.IO_REPARSE_TAG_CLOUD} {
				name := fmt.Sprint(i)
				h.must(h.makeReparsePoint(extended(h.at(name)), abi.ReparsePoint{Tag: tag, Data: []byte{1, 2, 3}}))
				h.wantLink(h.at(name), false)
				if state, err := h.linkState(h.at(name)); err != nil || *state != (filesystem.LinkStateResponse{}) {
					h.Errorf("tag %x: got %+v, %v", tag, state, err)
				}
			}
			h.directories("dir")
			h.must(h.link(h.at("dir"), h.at("link")))
			h.must(h.makeJunction(extended(h.at("junction")), h.at("dir")))
			h.must(h.makeMountFolder(extended(h.at("mount")), dataID))
			for _, l := range []struct {
				name string
				kind filesystem.LinkKind
			}{{"link", filesystem.Symlink}, {"junction", filesystem.Junction}, {"mount", filesystem.MountPoint}} {
				if state, err := h.linkState(h.at(l.name)); err != nil || state.Kind != l.kind {
					h.Errorf("%s: got %+v, %v", l.name, state, err)
				}
			}
		}},
		{IDs: []string{"FS-43"}, Shows: "a look at a link leaves no handle, whatever fails", Needs: []Ability{Model}, Test: func(h *Host) {
			h.directories("mount")
			h.must(h.mount(dataID, h.at("mount")))
			h.must(h.link(h.at("mount"), h.at("link")))
			for failing := 1; failing > 0; failing++ {
				calls := 0
				h.Node.OnCall(func(_ simhost.Call, do func() error) error {
					if calls++; calls == failing {
						return win.ERROR_GEN_FAILURE
					}
					return do()
				})
				_, err := h.isSymlink(h.at("link")) // harnesses count what it leaves open
				h.Node.OnCall(nil)
				if calls < failing {
					h.must(err)
					return
				}
				if err == nil {
					h.Errorf("the failure of call %d is not told", failing)
				}
			}
		}},
		{IDs: []string{"FS-46"}, Shows: "upstream's own flow", Needs: []Ability{Links}, Test: func(h *Host) {
			stage, pod := `testplugin-1.csi.io\volume1`, `test-pod-id\volumes\kubernetes.io~csi\pvc-test1`
			h.directories(stage, pod)
			h.must(h.link(h.at(stage), h.at(pod+`\rootvol`)))
			h.wantThere(stage)
			h.must(h.rmdir(h.at(pod), true))
			h.wantGone(pod)
			h.wantThere(stage)
			h.must(h.rmdir(h.at(stage), true))
			h.wantGone(stage)
		}},
	}
}

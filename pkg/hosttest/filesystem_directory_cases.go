// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"context"
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func directoryCases() []Case {
	return []Case{
		{IDs: []string{"FS-22"}, Shows: "Mkdir makes all parents, twice", Test: func(h *Host) {
			for range 2 {
				h.must(h.mkdir(h.at(`a\b\c`)))
			}
			h.wantThere(`a\b\c`)
			h.must(h.mkdir(h.Folder[:3]))
		}},
		{IDs: []string{"FS-22"}, Shows: "Mkdir at a link to a directory, and at no other link", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories("dir")
			h.files("file")
			h.must(h.link(h.at("dir"), h.at("live")))
			h.must(h.link(h.at("file"), h.at("to a file")))
			h.must(h.linkToMissing(h.at("none"), h.at("dangling")))
			h.must(h.linkToMissing(h.at("loop"), h.at("loop")))
			h.must(h.mkdir(h.at("live")))
			h.wantKind(h.mkdir(h.at("to a file")), errdefs.FailedPrecondition)
			h.wantKind(h.mkdir(h.at("dangling")), errdefs.AlreadyExists)
			h.wantKind(h.mkdir(h.at("loop")), errdefs.FailedPrecondition)
			h.wantGone("none")
		}},
		{IDs: []string{"FS-22"}, Shows: "Mkdir on a volume without a letter, on the system drive, and at a mount folder", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.makeMountFolder(extended(h.at("mount")), dataID))
			h.must(h.makeJunction(extended(h.at("junction")), h.at("mount")))
			for range 2 {
				for _, path := range []string{dataID + `a\b`, `\rooted\x`, h.at("mount"), h.at("junction"), dataID} {
					h.must(h.mkdir(path))
				}
			}
			h.wantThere(`mount\a\b`)
			if !h.exists(`C:\rooted\x`) {
				h.Error("made elsewhere")
			}
		}},
		{IDs: []string{"FS-23"}, Shows: "Mkdir on or below a file is an error that names it", Test: func(h *Host) {
			h.files("file")
			for _, name := range []string{"file", `file\x`, `file\x\y`} {
				err := h.mkdir(h.at(name))
				h.wantError(err, errdefs.FailedPrecondition, "mkdir "+h.at(name)+": ")
				h.wantError(err, errdefs.FailedPrecondition, `"file"`)
			}
		}},
		{IDs: []string{"FS-29", "LIB-6"}, Shows: "a response is never nil", Needs: []Ability{Links}, Test: func(h *Host) {
			for _, m := range h.pathMethods() {
				h.directories("x")
				resp, err := m.call(h.at("x"))
				if reflect.ValueOf(resp).IsNil() || (err != nil) != (m.name == "CreateSymlink from") { // x is taken
					h.Errorf("%s: got %v, %v", m.name, resp, err)
				}
			}
		}},
		{IDs: []string{"GEN-7"}, Shows: "an ended context changes nothing, and the call can be repeated", Needs: []Ability{InProcess}, Test: func(h *Host) {
			h.directories(`dir\below`)
			ended, cancel := context.WithCancel(h.Context())
			cancel()
			_, mkdir := h.Filesystem.Mkdir(ended, &filesystem.MkdirRequest{Path: h.at("new")})
			_, rmdir := h.Filesystem.Rmdir(ended, &filesystem.RmdirRequest{Path: h.at("dir"), Force: true})
			for _, err := range []error{mkdir, rmdir} {
				if !errors.Is(err, context.Canceled) {
					h.Errorf("got %v", err)
				}
			}
			h.wantThere(`dir\below`)
			h.wantGone("new")
			h.must(h.rmdir(h.at("dir"), true))
		}},
		{IDs: []string{"GEN-8"}, Shows: "changes of one path at once happen one after the other", AtOnce: true, Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories("source")
			var all sync.WaitGroup
			for range 32 {
				all.Go(func() {
					if err := errors.Join(h.mkdir(h.at(`dir\a\b`)), h.link(h.at("source"), h.at("link"))); err != nil {
						h.Error(err)
					}
				})
			}
			all.Wait()
			h.wantThere(`dir\a\b`)
			h.wantLink(h.at("link"), true)
			for range 32 {
				all.Go(func() {
					if err := errors.Join(h.rmdir(h.at("link"), true), h.rmdir(h.at("dir"), true)); err != nil {
						h.Error(err)
					}
				})
			}
			all.Wait()
			h.wantGone("dir", "link")
			h.wantThere("source")
		}},
		{IDs: []string{"GEN-8"}, Shows: "while a change of a path runs, another of it waits, and one of another path does not", AtOnce: true, Needs: []Ability{Model, Time}, Test: func(h *Host) {
			h.directories("source", `dir\below`, `full\below`)
			rmdir := func(name string) error { return h.rmdir(h.at(name), true) }
			link := func(name string) error { return h.link(h.at("source"), h.at(name)) }
			contents := func(name string) error { return h.rmdirContents(h.at(name)) }
			h.wantInTurn("link", "Files.SymbolicLink", link, rmdir)
			h.wantInTurn("dir", "File.SetInformation", rmdir, link)
			h.wantInTurn("full", "File.SetInformation", contents, func(name string) error {
				h.wantKind(link(name), errdefs.AlreadyExists)
				return nil
			})
		}},
	}
}

// wantInTurn holds up a change at one of its calls, and wants a second of the same
// name to wait for it.
func (h *Host) wantInTurn(name, held string, first, second func(name string) error) {
	h.Helper()
	var holds atomic.Bool
	release := make(chan struct{})
	h.Node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method == held && holds.CompareAndSwap(false, true) {
			<-release
		}
		return do()
	})
	var ended atomic.Int32
	var both sync.WaitGroup
	for _, change := range []func(string) error{first, second} {
		both.Go(func() {
			if err := change(name); err != nil {
				h.Errorf("%s: %v", name, err)
			}
			ended.Add(1)
		})
		synctest.Wait()
	}
	h.must(h.link(h.at("source"), h.at("beside "+name)))
	if !holds.Load() || ended.Load() != 0 {
		h.Errorf("%s: held up %t, and %d have ended", name, holds.Load(), ended.Load())
	}
	close(release)
	both.Wait()
	h.Node.OnCall(nil)
}

func removalCases() []Case {
	return []Case{
		{IDs: []string{"FS-9"}, Shows: "nobody removes or empties a root", Test: func(h *Host) {
			roots := []string{h.Folder[:3], `\`, extended(h.Folder[:3]), strings.ToLower(h.Folder[:2]) + `/.`, dataID, `\\host\share`}
			for _, root := range roots {
				for _, err := range []error{h.rmdir(root, false), h.rmdir(root, true), h.rmdirContents(root)} {
					h.wantKind(err, errdefs.InvalidArgument)
				}
			}
			h.wantThere(".")
		}},
		{IDs: []string{"FS-24"}, Shows: "Rmdir removes an empty directory and a file", Test: func(h *Host) {
			h.directories("dir")
			h.files("file")
			h.must(h.rmdir(h.at("dir"), false))
			h.must(h.rmdir(h.at("file"), false))
			h.wantGone("dir", "file")
		}},
		{IDs: []string{"FS-24"}, Shows: "Rmdir removes a link alone", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories(`dir\full`)
			h.files("file")
			h.must(h.link(h.at("dir"), h.at("live")))
			h.must(h.link(h.at("file"), h.at("to a file")))
			h.must(h.linkToMissing(h.at("none"), h.at("dangling")))
			for _, name := range []string{"live", "to a file", "dangling"} {
				h.must(h.rmdir(h.at(name), false))
				h.wantGone(name)
			}
			h.wantThere(`dir\full`, "file")
		}},
		{IDs: []string{"FS-25"}, Shows: "Rmdir of what is missing is an error", Test: func(h *Host) {
			for _, name := range []string{"none", `none\below`} {
				err := h.rmdir(h.at(name), false)
				h.wantError(err, errdefs.NotFound, "remove "+h.at(name)+": "+win.ERROR_FILE_NOT_FOUND.Error())
				if !errors.Is(err, fs.ErrNotExist) {
					h.Errorf("not fs.ErrNotExist: %v", err)
				}
			}
		}},
		{IDs: []string{"FS-26"}, Shows: "Rmdir of a directory that is not empty removes nothing", Test: func(h *Host) {
			h.directories(`dir\below`)
			h.files(`dir\file`)
			err := h.rmdir(h.at("dir"), false)
			h.wantError(err, errdefs.FailedPrecondition, "remove "+h.at("dir")+": "+win.ERROR_DIR_NOT_EMPTY.Error())
			h.wantThere(`dir\below`, `dir\file`)
		}},
		{IDs: []string{"FS-27"}, Shows: "Rmdir with force removes all below, twice, and takes missing for done", Test: func(h *Host) {
			h.directories(`dir\a\b\c`, `dir\d`)
			h.files(`dir\a\file`, `dir\a\b\file`, "file")
			h.must(h.rmdir(h.at(`file\below`), true))
			for range 2 {
				h.must(h.rmdir(h.at("dir"), true))
				h.wantGone("dir")
				h.must(h.rmdir(h.at("file"), true))
				h.wantGone("file")
			}
			h.must(h.rmdir(h.at(`none\below`), true))
		}},
		{IDs: []string{"FS-24", "FS-27"}, Shows: "read-only files and directories are removed, too", Needs: []Ability{Model}, Test: func(h *Host) {
			h.directories(`dir\a`, `dir\b`)
			h.files(`dir\a\file`)
			for _, name := range []string{`dir\a\file`, `dir\a`, `dir\b`} {
				h.must(h.makeReadOnly(extended(h.at(name))))
			}
			h.must(h.rmdir(h.at(`dir\b`), false))
			h.must(h.rmdir(h.at("dir"), true))
			h.wantGone("dir")
		}},
		{IDs: []string{"FS-28", "F05"}, Shows: "links below go themselves", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories(`precious\deep`)
			h.files(`precious\file`)
			for _, remove := range []func() error{
				func() error { return h.rmdir(h.at("pod"), true) },
				func() error { return errors.Join(h.rmdirContents(h.at("pod")), h.rmdir(h.at("pod"), false)) },
			} {
				h.directories(`pod\below`)
				h.must(h.link(h.at("precious"), h.at(`pod\below\rootvol`)))
				h.must(h.link(h.at(`precious\file`), h.at(`pod\file`)))
				h.must(h.link(h.at("pod"), h.at(`pod\below\loop`)))
				h.must(h.linkToMissing(h.at("none"), h.at(`pod\dangling`)))
				h.must(remove())
				h.wantGone("pod")
				h.wantThere(`precious\deep`, `precious\file`)
			}
		}},
		{IDs: []string{"FS-28", "F05"}, Shows: "junctions, relative links and other reparse points below go themselves", Needs: []Ability{Model}, Test: func(h *Host) {
			before := h.Node.Snapshot()
			h.directories(`pod\below`)
			below := extended(h.at(`pod\below\`))
			h.must(h.makeJunction(below+"junction", `C:\Windows`))
			h.must(h.makeJunction(below+"drive", `C:\`))
			h.must(h.makeLink(below+"up", `..\..\..`))
			h.must(h.makeLink(below+"share", `\\host\share\`))
			h.must(h.makeReparsePoint(below+"dedup", abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_DEDUP, Data: []byte{1}}))
			h.must(h.rmdirContents(h.at(`pod`)))
			h.must(h.rmdir(h.at(`pod`), false))
			h.wantUnchanged(before)
		}},
		{IDs: []string{"FS-30"}, Shows: "RmdirContents keeps the directory, twice", Test: func(h *Host) {
			h.directories(`dir\foo\bar\baz`, `dir\alpha\beta\gamma`)
			h.files(`dir\foo\goo`)
			for range 2 {
				h.must(h.rmdirContents(h.at("dir")))
				h.wantThere("dir")
				h.wantGone(`dir\foo`, `dir\alpha`)
			}
			h.files("file")
			h.wantError(h.rmdirContents(h.at("none")), errdefs.NotFound, "open "+h.at("none")+": ")
			h.wantError(h.rmdirContents(h.at("file")), errdefs.InvalidArgument, "readdir "+h.at("file")+": ")
			h.wantThere("file")
		}},
		{IDs: []string{"FS-30"}, Shows: "RmdirContents of a link removes nothing", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories(`dir\below`)
			h.must(h.link(h.at("dir"), h.at("link")))
			h.wantKind(h.rmdirContents(h.at("link")), errdefs.FailedPrecondition)
			h.wantThere(`dir\below`, "link")
		}},
		{IDs: []string{"FS-30"}, Shows: "removal stops at what cannot be removed, and names it", Needs: []Ability{Model}, Test: func(h *Host) {
			h.directories(`dir\a`, `dir\b`, `dir\c`)
			h.files(`dir\b\file`)
			release, err := h.Node.HoldOpen(h.at(`dir\b\file`))
			h.must(err)
			for _, err := range []error{h.rmdirContents(h.at("dir")), h.rmdir(h.at("dir"), true)} {
				h.wantError(err, errdefs.Busy, h.at(`dir\b\file`))
			}
			h.wantGone(`dir\a`)
			h.wantThere(`dir\c`)
			release()
			h.must(h.rmdir(h.at("dir"), true))
		}},
	}
}

func mountFolderCases() []Case {
	return []Case{
		{IDs: []string{"FS-28", "F05"}, Shows: "Rmdir of a mount folder unmounts it, and the volume's files stay", Needs: []Ability{InProcess, Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			for _, force := range []bool{false, true} {
				path := h.newMount(id, "mount")
				h.must(h.mkdir(id + "precious"))
				h.must(h.rmdir(path, force))
				h.wantGone("mount")
				h.wantMountPaths(id)
				if !h.exists(id + "precious") {
					h.Error("the volume has lost a file")
				}
			}
		}},
		{IDs: []string{"FS-28", "F05"}, Shows: "what cannot be flushed stays mounted", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.makeMountFolder(extended(h.at("mount")), dataID))
			before := h.Node.Snapshot()
			h.answers(win.ERROR_IO_DEVICE, func(c simhost.Call) bool { return c.Method == "Device.Flush" })
			if err := h.rmdir(h.at("mount"), true); !errors.Is(err, win.ERROR_IO_DEVICE) {
				h.Errorf("got %v", err)
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"FS-28", "F05"}, Shows: "a mount folder below stays mounted, is named, and nothing is removed", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			h.directories(`dir\a\first`, `dir\c`)
			deep, last := h.newMount(id, `dir\a\mount`), h.newMount(id, `dir\b`)
			h.files(`dir\b\precious`)
			for _, err := range []error{h.rmdir(h.at("dir"), true), h.rmdirContents(h.at("dir"))} {
				h.wantError(err, errdefs.FailedPrecondition, deep+", "+last)
			}
			h.wantError(h.rmdirContents(last), errdefs.FailedPrecondition, last)
			h.wantThere(`dir\a\first`, `dir\a\mount\precious`, `dir\c`)
			h.wantMounted(deep, id)
			h.wantMounted(last, id)
		}},
		{IDs: []string{"FS-28", "F05"}, Shows: "a mount folder however far below stays mounted", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			path := h.newMount(id, "dir"+strings.Repeat(`\d`, 80)+`\mount`)
			h.must(h.mkdir(id + "precious"))
			h.wantError(h.rmdir(h.at("dir"), true), errdefs.FailedPrecondition, path)
			if !h.exists(path + `\precious`) {
				h.Error("unmounted, or emptied")
			}
		}},
		{IDs: []string{"FS-28", "V07"}, Shows: "a dead mount point goes, at the path and below it", Needs: []Ability{Model}, Test: func(h *Host) {
			h.directories("pod", "contents")
			for _, name := range []string{"dead", `pod\dead`, `contents\dead`} {
				h.must(h.makeMountFolder(extended(h.at(name)), dataID))
			}
			h.must(h.Node.DetachDisk("data"))
			h.must(h.rmdir(h.at("dead"), false))
			h.must(h.rmdir(h.at("pod"), true))
			h.must(h.rmdirContents(h.at("contents")))
			h.must(h.rmdir(h.at("contents"), false))
			if left := h.mountPoints(); len(left) > 0 {
				h.Errorf("the mount manager still knows %q", left)
			}
			h.wantGone("dead", "pod", "contents")
		}},
	}
}

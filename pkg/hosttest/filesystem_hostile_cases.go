// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// hostileCases: whoever can write to a directory, as a pod can to its volume,
// cannot have this process create or remove anything elsewhere.
func hostileCases() []Case {
	return []Case{
		{IDs: []string{"FS-12", "F04"}, Shows: "nothing is made or removed through a link", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories(`system\below`, "pod")
			h.must(h.link(h.at("system"), h.at(`pod\link`)))
			h.wantNothingThrough(`pod\link`)
			h.wantThere(`system\below`)
			h.wantGone(`system\evil`, `system\below\evil`)
		}},
		{IDs: []string{"FS-12", "F04"}, Shows: "nor through a relative link, a junction or a mount folder", Needs: []Ability{Model}, Test: func(h *Host) {
			h.directories(`system\below`, "pod")
			h.must(h.mkdir(dataID + "below"))
			h.must(h.makeLink(extended(h.at(`pod\relative`)), `..\system`))
			h.must(h.makeJunction(extended(h.at(`pod\junction`)), h.at("system")))
			h.must(h.makeMountFolder(extended(h.at(`pod\mount`)), dataID))
			before := h.Node.Snapshot()
			for _, name := range []string{"relative", "junction", "mount"} {
				h.wantNothingThrough(`pod\` + name)
			}
			h.wantUnchanged(before)
		}},
		swapCase("a symbolic link", func(h *Host, victim string) error { return h.makeLink(victim, h.at("system")) }),
		swapCase("a junction", func(h *Host, victim string) error { return h.makeJunction(victim, h.at("system")) }),
		swapCase("a mount folder", func(h *Host, victim string) error { return h.makeMountFolder(victim, dataID) }),
		{IDs: []string{"L06", "FS-41"}, Shows: "no chain of links is followed for ever", Needs: []Ability{InProcess, Links}, Test: func(h *Host) {
			h.must(h.linkToMissing(h.at("self"), h.at("self")))
			h.must(h.linkToMissing(h.at("b"), h.at("a")))
			h.must(h.linkToMissing(h.at("a"), h.at("b")))
			h.must(h.linkToMissing(h.at(`grow\x`), h.at("grow")))
			for i := range 300 {
				h.must(h.linkToMissing(h.at(fmt.Sprintf("chain%d", i+1)), h.at(fmt.Sprintf("chain%d", i))))
			}
			h.directories("chain300")
			for _, name := range []string{"self", "a", "chain0"} {
				if _, err := h.isSymlink(h.at(name)); !errors.Is(err, errdefs.ErrLinkLoop) {
					h.Errorf("IsSymlink of %s: %v", name, err)
				}
			}
			h.wantLink(h.at("chain250"), true)
			if _, err := h.isSymlink(h.at("grow")); err == nil {
				h.Error("a link below itself is live")
			}
			for _, name := range []string{"self", "a", "b", "chain0", "grow"} {
				h.must(h.rmdir(h.at(name), true))
				h.wantGone(name)
			}
			h.wantThere("chain1", "chain300")
		}},
		{IDs: []string{"L06", "FS-41"}, Shows: "a loop costs a bounded number of calls", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.linkToMissing(h.at("a"), h.at("b")))
			h.must(h.linkToMissing(h.at("b"), h.at("a")))
			h.Node.Calls().Reset()
			_, err := h.isSymlink(h.at("a"))
			h.wantKind(err, errdefs.FailedPrecondition)
			if n := h.Node.Calls().Total(); n > 2*64 {
				h.Errorf("%d calls", n)
			}
		}},
		{IDs: []string{"FS-42", "F04"}, Shows: "a link to a device, a stream or a reserved name leads nowhere", Needs: []Ability{Model}, Test: func(h *Host) {
			for i, text := range []string{
				`\Device\HarddiskVolume1\`, `\??\GLOBALROOT\Device\x`, `\??\C:`, `\??\C:\a:stream`, `\??\C:\NUL`, `\??\UNC\host\pipe\x`, `\??\Volume{x}\`, `\??\C:\..\x`,
			} {
				name := fmt.Sprint(i)
				h.must(h.makeReparsePoint(extended(h.at(name)), abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_SYMLINK, Substitute: text}))
				isLink, err := h.isSymlink(h.at(name))
				h.wantKind(err, errdefs.FailedPrecondition)
				if isLink {
					h.Errorf("%s is live", text)
				}
				h.must(h.rmdir(h.at(name), true))
				h.wantGone(name)
			}
		}},
		{IDs: []string{"F10", "FS-27"}, Shows: "a tree 40 deep is made and removed", Test: func(h *Host) {
			deep := `top` + strings.Repeat(`\deep`, 40)
			h.directories(deep)
			h.files(deep + `\file`)
			h.wantThere(deep + `\file`)
			h.must(h.rmdir(h.at("top"), true))
			h.wantGone("top")
		}},
		{IDs: []string{"F10", "FS-27"}, Shows: "a path of 32,000 units, a tree 100 deep, and half of a character", Needs: []Ability{Model}, Test: func(h *Host) {
			before := h.Node.Snapshot()
			for _, path := range []string{`top` + strings.Repeat(`\`+strings.Repeat("n", 255), 124), `top` + strings.Repeat(`\d`, 100), `top\` + "\xed\xa0\xbd"} {
				h.directories(path)
				h.wantThere(path)
				h.must(h.rmdir(h.at("top"), true))
			}
			h.wantUnchanged(before)
			h.wantKind(h.mkdir(h.at(strings.Repeat(strings.Repeat("n", 255)+`\`, 128))), errdefs.InvalidArgument)
		}},
		{IDs: []string{"FS-11", "FS-27"}, Shows: "names that no request may have go with their directory", Needs: []Ability{Model}, Test: func(h *Host) {
			before := h.Node.Snapshot()
			h.directories("pod")
			for _, name := range []string{"NUL", "con.txt", "dot.", "blank ", "...", "\xed\xa0\xbd", "\U0001F4BE", "$(x)", "a;b&c%d"} {
				h.must(h.makeDirectory(extended(h.at(`pod\` + name))))
				h.must(h.makeDirectory(extended(h.at(`pod\` + name + `\` + name))))
			}
			h.must(h.mkdir(h.at(`pod\dot`)))
			h.must(h.rmdir(h.at(`pod\dot`), false)) // not the one with the dot
			h.must(h.rmdirContents(h.at("pod")))
			h.must(h.rmdir(h.at("pod"), false))
			h.wantUnchanged(before)
		}},
	}
}

// wantNothingThrough wants each change below a link refused, and the link named.
func (h *Host) wantNothingThrough(link string) {
	h.Helper()
	for _, err := range []error{
		h.mkdir(h.at(link + `\evil`)), h.mkdir(h.at(link + `\below\evil`)),
		h.rmdir(h.at(link+`\below`), false), h.rmdir(h.at(link+`\below`), true), h.rmdirContents(h.at(link + `\below`)),
	} {
		h.wantError(err, errdefs.FailedPrecondition, `"`+h.at(link)+`"`)
	}
}

// swapCase replaces a directory before each boundary call of each change in
// turn. put puts something else there; it takes an extended path.
func swapCase(other string, put func(h *Host, victim string) error) Case {
	return Case{
		IDs: []string{"F04", "F05"}, Shows: "a directory that becomes " + other + " between two calls leads nowhere", Needs: []Ability{Model},
		Test: func(h *Host) {
			h.directories(`system\below\precious`)
			h.must(h.mkdir(dataID + `below\precious`))
			h.must(h.makeMountFolder(extended(h.at(`system\below\mount`)), otherID))
			for _, change := range []struct {
				name    string
				mounted string // at victim\below\mount
				make    func(pod string) error
			}{
				{"Rmdir above", deadID, func(pod string) error { return h.rmdir(pod, true) }},
				{"Rmdir", deadID, func(pod string) error { return h.rmdir(pod+`\victim`, true) }},
				{"RmdirContents", deadID, func(pod string) error { return h.rmdirContents(pod + `\victim`) }},
				{"Mkdir below", deadID, func(pod string) error { return h.mkdir(pod + `\victim\below\new`) }},
				{"Rmdir of a dead mount point", deadID, func(pod string) error { return h.rmdir(pod+`\victim\below\mount`, true) }},
				{"Rmdir of a mount folder", rawID, func(pod string) error { return h.rmdir(pod+`\victim\below\mount`, true) }},
			} {
				swaps := 0
				for call := 1; ; call++ {
					pod := fmt.Sprintf(`C:\%s %d`, change.name, call) // near the root, where few calls lead to it
					reached, swapped := h.swapBefore(call, pod+`\victim`, change.mounted, put, func() error { return change.make(pod) })
					if h.wantOutsideUntouched(); h.Failed() {
						h.Fatalf("%s, swapped before call %d", change.name, call)
					}
					if swapped {
						swaps++
					}
					if !reached {
						break
					}
				}
				if swaps == 0 {
					h.Errorf("%s: never swapped", change.name)
				}
			}
		},
	}
}

// swapBefore makes a change in which a directory is replaced before the n-th
// call, and tells whether there were that many, and whether it could be. Below it
// a volume is mounted, or was.
func (h *Host) swapBefore(n int, victim, mounted string, put func(h *Host, victim string) error, change func() error) (reached, swapped bool) {
	for _, path := range []string{victim[:strings.LastIndexByte(victim, '\\')], victim, victim + `\below`} {
		h.must(h.makeDirectory(extended(path)))
	}
	h.must(h.makeReparsePoint(extended(victim+`\below\mount`), abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: `\??` + mounted[3:]}))
	var calls atomic.Int64
	h.Node.OnCall(func(_ simhost.Call, do func() error) error {
		if calls.Add(1) == int64(n) {
			h.Node.OnCall(nil)
			h.wipe(extended(victim))
			reached, swapped = true, put(h, extended(victim)) == nil
		}
		return do()
	})
	_ = change() // whether it fails or not
	h.Node.OnCall(nil)
	return reached, swapped
}

// wantOutsideUntouched looks, past the groups, at what the hostile directories
// led to.
func (h *Host) wantOutsideUntouched() {
	h.Helper()
	if id, err := h.Node.Host().Mounts.VolumeAt(extended(h.at(`system\below\mount\`))); id != otherID {
		h.Errorf("unmounted: %q, %v", id, err)
	}
	for _, root := range []string{extended(h.at("system")), strings.TrimSuffix(dataID, `\`)} {
		for _, name := range []string{`\below\precious`, `\new`, `\below\new`} {
			f, err := h.open(root+name, win.FileReadAttributes)
			if (err == nil) != (name == `\below\precious`) {
				h.Errorf("%s%s: %v", root, name, err)
			}
			if err == nil {
				h.must(f.Close())
			}
		}
	}
}

// wipe removes what is at an extended path with all below it, as far as it can,
// and without the groups.
func (h *Host) wipe(path string) {
	f, err := h.open(path, win.Delete|win.FileReadData)
	if err != nil {
		return
	}
	buf := make([]byte, 4096)
	for n, err := f.List(buf, true); err == nil; n, err = f.List(buf, false) {
		entries, err := abi.DecodeDirEntries(buf[:n])
		h.must(err)
		for _, e := range entries {
			if e.Name != "." && e.Name != ".." {
				h.wipe(path + `\` + e.Name)
			}
		}
	}
	_ = f.SetInformation(abi.FileDispositionInfoExClass, abi.EncodeFileDispositionInfoEx(abi.FILE_DISPOSITION_FLAG_DELETE|abi.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS))
	h.must(f.Close())
}

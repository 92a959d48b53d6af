// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func pathCases() []Case {
	return []Case{
		{
			IDs:   []string{"FS-1", "FS-2", "FS-3", "FS-4", "FS-5", "FS-6", "FS-10", "FS-11", "FS-17", "LIB-4"},
			Shows: "ValidatePathWindows has upstream's rules and texts",
			Test: func(h *Host) {
				for _, p := range upstreamPaths() {
					err := filesystem.ValidatePathWindows(p.path)
					if p.refused == "" {
						if err != nil {
							h.Errorf("%s: %v", p.about, err)
						}
						continue
					}
					if !errors.Is(err, errdefs.ErrInvalidArgument) || !strings.Contains(err.Error(), p.refused) {
						h.Errorf("%s: got %v, want %q", p.about, err, p.refused)
					}
				}
			},
		},
		{IDs: []string{"FS-11", "F01", "FLOW-9"}, Shows: "every spelling of a path names the same", Test: func(h *Host) {
			h.directories(`a..b`)
			for _, spelling := range []string{
				h.at(`A..B`), strings.ToLower(h.at(`a..b`)), strings.ReplaceAll(h.at(`a..b`), `\`, `/`), h.at(`a..b\`), h.at(`\\.\\a..b\.\`),
				extended(h.at(`a..b`)), `\Windows`, `/windows`,
			} {
				if !h.exists(spelling) {
					h.Errorf("%s is not there", spelling)
				}
				if err := h.mkdir(spelling); err != nil {
					h.Errorf("Mkdir: %v", err)
				}
			}
			h.must(h.rmdir(strings.ReplaceAll(h.at(`A..B\`), `\`, `/`), false))
			h.wantGone(`a..b`)
		}},
		{IDs: []string{"FS-1", "FS-5", "F10"}, Shows: "names of 255 units, at any depth", Test: func(h *Host) {
			for _, name := range []string{strings.Repeat("n", 255), strings.Repeat("é", 120), strings.Repeat("\U0001F4BE", 60)} {
				h.must(h.mkdir(h.at(name + `\` + name)))
				h.wantThere(name + `\` + name)
				h.must(h.rmdir(h.at(name), true))
				h.wantGone(name)
			}
			h.wantKind(h.mkdir(h.at(strings.Repeat("n", 256))), errdefs.InvalidArgument)
		}},
		{
			IDs:   []string{"FS-10", "FS-11", "FS-17", "FS-40", "F01", "F10"},
			Shows: "what is no path is refused by every method",
			Test: func(h *Host) {
				h.wantNothingAsked()
				for _, m := range h.pathMethods() {
					for _, path := range h.noPaths() {
						resp, err := m.call(path)
						if errdefs.KindOf(err) != errdefs.InvalidArgument || reflect.ValueOf(resp).IsNil() {
							h.Errorf("%s(%.80q): got %v, %v", m.name, path, resp, err)
						}
					}
				}
				h.wantKind(h.mkdir(h.Folder+strings.Repeat(`\a`, 16384)), errdefs.InvalidArgument)
				for _, path := range []string{"", `pv1\foo`, `C:`, `C:foo`} {
					_, err := h.isSymlink(path)
					h.wantError(err, errdefs.InvalidArgument, "not an absolute Windows path")
				}
			},
		},
		{IDs: []string{"FS-20"}, Shows: "a missing path does not exist, which is no error", Test: func(h *Host) {
			h.directories("dir")
			h.files(`dir\file`)
			h.wantThere("dir", `dir\file`)
			h.wantGone("none", `none\below`, `dir\file\below`)
			if !h.exists(h.Folder[:3]) || h.exists(`Q:\`) || h.exists(`Q:\x`) {
				h.Error("the drives are mixed up")
			}
		}},
		{IDs: []string{"FS-20"}, Shows: "a link exists wherever it leads", Needs: []Ability{Links}, Test: func(h *Host) {
			h.directories("dir")
			h.must(h.link(h.at("dir"), h.at("live")))
			h.must(h.linkToMissing(h.at("none"), h.at("dangling")))
			h.must(h.linkToMissing(h.at("loop"), h.at("loop")))
			h.wantThere("live", "dangling", "loop")
			h.wantGone(`dangling\below`)
		}},
		{IDs: []string{"FS-20"}, Shows: "a mount folder exists, and so does its volume", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, number := h.newVolume()
			h.newMount(id, "mount")
			h.files(`mount\inside`)
			h.wantThere("mount", `mount\inside`)
			if !h.exists(id) || !h.exists(id+"inside") || h.exists(id+"none") || h.exists(deadID) {
				h.Error("the volumes are mixed up")
			}
			h.must(h.World.DetachDisk(number))
			h.wantThere("mount")
		}},
		{IDs: []string{"FS-21"}, Shows: "another failure is an error", Needs: []Ability{Model}, Test: func(h *Host) {
			for _, code := range []win.Errno{win.ERROR_ACCESS_DENIED, win.ERROR_GEN_FAILURE, win.ERROR_NOT_READY, win.ERROR_FILE_CORRUPT} {
				h.Node.OnCall(func(simhost.Call, func() error) error { return code })
				exists, err := h.pathExists(h.Folder)
				var dressed *fs.PathError
				if exists || !errors.As(err, &dressed) || dressed.Path != h.Folder || !errors.Is(err, code) {
					h.Errorf("%d: got %v, %v", code, exists, err)
				}
			}
		}},
		{IDs: []string{"FS-21", "FS-45", "M22"}, Shows: "a file server that does not answer is not a missing path", Needs: []Ability{Model}, Test: func(h *Host) {
			exists, err := h.pathExists(`\\nowhere\share\x`)
			h.wantKind(err, errdefs.Unavailable)
			valid, err := h.pathValid(`\\nowhere\share\x`)
			h.wantKind(err, errdefs.Unavailable)
			if exists || valid {
				h.Error("there, beside an error")
			}
		}},
		{IDs: []string{"FS-44", "FS-45"}, Shows: "PathValid takes any form, and what is no path is not valid", Test: func(h *Host) {
			h.directories("dir")
			h.files("file")
			for _, p := range []struct {
				path string
				want bool
			}{
				{h.at("dir"), true},
				{h.at("file"), true},
				{strings.ToLower(h.Folder[:2]), true},
				{h.Folder[:3], true},
				{h.at("none"), false},
				{"Q:", false},
				{h.at("a<b"), false},
				{"invalid-remote-path", false},
				{"", false},
			} {
				if got, err := h.pathValid(p.path); got != p.want || err != nil {
					h.Errorf("%s: got %v, %v", p.path, got, err)
				}
			}
			valid, err := h.pathValid(h.at("a\x00"))
			h.wantError(err, errdefs.InvalidArgument, "invalid path: invalid argument")
			if valid {
				h.Error("a NUL is valid")
			}
		}},
		{IDs: []string{"FS-45"}, Shows: "a changed password is an error of PathValid", Needs: []Ability{Model}, Test: func(h *Host) {
			h.answers(win.ERROR_LOGON_FAILURE, func(simhost.Call) bool { return true })
			valid, err := h.pathValid(`\\host\share`)
			h.wantKind(err, errdefs.PermissionDenied)
			if valid {
				h.Error("valid, beside an error")
			}
		}},
	}
}

func (h *Host) pathValid(path string) (bool, error) {
	resp, err := h.Filesystem.PathValid(h.Context(), &filesystem.PathValidRequest{Path: path})
	return resp.Valid, err
}

// noPaths are texts that name nothing on any host.
func (h *Host) noPaths() []string {
	paths := []string{
		``, `pv1\foo`, `C:`, `C:foo`, `1:\foo`, `\\csi-plugin\..\..\..\system32`, `\\host`, `\\.\PhysicalDrive0`, `\\.\pipe\x`, `\??\C:\x`,
		`\\?\GLOBALROOT\Device\x`, `\\?\PhysicalDrive0`, `\\host\pipe\x`, dataID[:len(dataID)-1],
	}
	for _, name := range []string{
		`..`, `a\..\..\system32`, `a/../b`, `pv1:foo`, `dir::$INDEX_ALLOCATION`, `pv1*foo`, `pv1?foo`, `csi|pv1`, `a<b`, `a>b`, `a"b`, "a\x00b", "a\nb", "\x1f",
		`NUL`, `com1.txt`, `CON`, `aux\below`, `COM` + "\u00b9", `conin$`, `x.`, `x `, `...`, `x. \below`, "\xff", "\xed\xa0\xbd\xed\xb2\xbe",
		strings.Repeat("a", 256), strings.Repeat("\U0001F4BE", 128),
	} {
		paths = append(paths, h.at(name))
	}
	return paths
}

type upstreamPath struct {
	about, path string
	refused     string // part of the text; "" is valid
}

// upstreamPaths is what upstream's validation says of paths, but for its bugs: it
// counts UTF-16 units (BUG 3) and refuses all that Windows does (BUG 6).
func upstreamPaths() []upstreamPath {
	const prefix = kubelet + `\`
	long := func(units int, letter string) string { return prefix + strings.Repeat(letter, units-len(prefix)) }
	return []upstreamPath{
		{"FS-1 longest", long(260, "a"), ""},
		{"FS-1 too long", long(261, "a"), "path length 261 exceeds maximum characters: 260"},
		{"FS-1 counts UTF-16 units", long(260, "é"), ""},
		{"FS-1 astral counts two", prefix + strings.Repeat("\U0001F4BE", 121), "path length 261 exceeds maximum characters: 260"},
		{"FS-1 before the others", `\` + strings.Repeat("a", 260), "path length 261 exceeds"},
		{"FS-2 rooted", `\x`, `invalid character \ at beginning of path: \x`},
		{"FS-2, FS-3 UNC", `\\server\share\x`, `invalid character \ at beginning of path: \\server\share\x`},
		{"FS-2 extended", `\\?\C:\x`, `invalid character \ at beginning`},
		{"FS-2 device", `\\.\pipe\x`, `invalid character \ at beginning`},
		{"FS-4 colon", prefix + `pv1:foo`, "path contains invalid characters: " + prefix + "pv1:foo"},
		{"FS-4 slash", prefix + `pods\pv1/foo`, "path contains invalid characters"},
		{"FS-4 all slashes", `C:/x`, "path contains invalid characters"},
		{"FS-4 asterisk", prefix + `pv1*foo`, "path contains invalid characters"},
		{"FS-4 question mark", prefix + `pv1?foo`, "path contains invalid characters"},
		{"FS-4 bar", prefix + `csi-plugin|pv1\foo`, "path contains invalid characters"},
		{"FS-4 quote", prefix + `a"b`, "path contains invalid characters"},
		{"FS-4 drive alone", `C:`, "path contains invalid characters: C:"},
		{"FS-4 drive-relative", `C:foo`, "path contains invalid characters"},
		{"FS-4 no drive letter", `1:\foo`, "path contains invalid characters"},
		{"FS-5 parent", prefix + `pods\pv1\..\..\..\system32`, "path contains invalid characters"},
		{"FS-5 dots in a name", prefix + `a..b`, "path contains invalid characters"},
		{"FS-6 relative", `pv1\foo`, `not an absolute Windows path: pv1\foo`},
		{"FS-6 empty", ``, "not an absolute Windows path: "},
		{"FS-10 less", prefix + `a<b`, "path contains invalid characters"},
		{"FS-10 greater", prefix + `a>b`, "path contains invalid characters"},
		{"FS-10 control", prefix + "a\nb", "path contains invalid characters"},
		{"FS-10 last control", prefix + "a\x1fb", "path contains invalid characters"},
		{"FS-10 blank", prefix + "a b", ""},
		{"FS-10 NUL", prefix + "a\x00b", "path contains invalid characters"},
		{"FS-11 trailing backslash", prefix, ""},
		{"FS-11 doubled backslash", kubelet + `\\pods`, ""},
		{"FS-17 pod path", kubelet + `\pods\pv1`, ""},
		{"FS-17 plugin path", kubelet + `\plugins\pv1`, ""},
		{"FS-17 UNC parent", `\\csi-plugin\..\..\..\system32`, `invalid character \ at beginning`},
		{"LIB-4 other drive, lower case", `d:\x`, ""},
		{"LIB-4 outside of kubelet's directory", `C:\foo\bar`, ""},
		{"drive root", `C:\`, ""},
	}
}

// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func volumeInputCases() []Case {
	return []Case{
		{IDs: []string{"VOL-2"}, Shows: "what is empty is told in upstream's words, the id before the path", Test: func(h *Host) {
			for i, want := range []string{
				"MountVolumeRequest.VolumeID is empty", "volume id empty", "volume id empty", "volume id empty", "volume id empty",
				"volume id empty", "volume id empty", "volume id empty",
			} {
				h.wantError(h.withID("", "")[i], errdefs.InvalidArgument, want)
			}
			for i, want := range []string{"MountVolumeRequest.TargetPath is empty", "target path empty", "target path is empty", "target path is empty"} {
				h.wantError(h.withPath("")[i], errdefs.InvalidArgument, want)
			}
		}},
		{IDs: []string{"VOL-4"}, Shows: "an unknown volume is an error of every method but UnmountVolume", Test: func(h *Host) {
			for i, err := range h.withID(deadID, h.Folder) {
				if i == 1 { // nothing is mounted there
					h.must(err)
					continue
				}
				h.wantKind(err, errdefs.NotFound)
			}
			for _, err := range h.withID("-1", h.Folder) { // upstream's tests
				h.wantKind(err, errdefs.InvalidArgument)
			}
		}},
		{IDs: []string{"VOL-5", "VOL-16"}, Shows: "what is no volume id is refused before Windows is asked", Test: func(h *Host) {
			h.wantNothingAsked()
			guid := deadID[11:47]
			for _, id := range []string{
				guid, `Volume{` + guid + `}\`, `\\.\Volume{` + guid + `}\`, `\\?\Volume` + guid + `\`, `\\?\Volume(` + guid + `)\`,
				strings.Replace(deadID, "99999999-", "9999999-", 1), strings.Replace(deadID, "9-", "g-", 1),
				deadID + `dir`, deadID + `\`, deadID + ` `, ` ` + deadID, deadID + "\x00", strings.Replace(deadID, "-", "\x00", 1),
				`C:\`, `\\.\PhysicalDrive1`, `\\?\Volume{' OR '1'='1}\`, `\\?\Volume{$(Stop-Computer)}\`, `$(Stop-Computer)`, `; Stop-Computer`,
				"\\\\?\\Volume{\xff}\\", `\\?\Volume{` + strings.Repeat("1", 100_000) + `}\`,
			} {
				for _, err := range h.withID(id, h.Folder) {
					h.wantError(err, errdefs.InvalidArgument, "VolumeID")
				}
			}
		}},
		{IDs: []string{"VOL-16", "VOL-43"}, Shows: "what is no path of a volume of this host is refused before Windows is asked", Test: func(h *Host) {
			h.wantNothingAsked()
			for _, path := range []string{
				`var\lib`, `.`, `C:var`, `C:`, `1:\dir`, `\\server\share\dir`, `\\?\UNC\server\share\dir`, `\\.\PhysicalDrive1`, `\\.\pipe\x`,
				`\??\C:\dir`, `\\?\GLOBALROOT\Device\HarddiskVolume1\`, `C:\var\..\Windows`, `C:\var\lib:stream`, `C:\var\*`, `C:\var\a|b`,
				`C:\var\NUL`, `C:\var\lib.`, `C:\var\lib `, "C:\\var\x00lib", "C:\\var\nlib", "C:\\var\\\xff",
				`C:\` + strings.Repeat("a", 256), `C:` + strings.Repeat(`\`+strings.Repeat("a", 200), 200),
			} {
				for _, err := range h.withPath(path) {
					h.wantError(err, errdefs.InvalidArgument, "TargetPath")
				}
			}
		}},
		{IDs: []string{"VOL-5"}, Shows: "a folder with the name of a command is a folder", Needs: []Ability{Disks, Mounts}, Test: func(h *Host) {
			id, _ := h.newVolume()
			for _, name := range []string{`$(Stop-Computer)`, `a; Stop-Computer #`, `' & Stop-Computer & '`, "`Stop-Computer`", `%windir%`} {
				path := h.newMount(id, name)
				h.wantMounted(path, id)
				h.must(h.unmount(id, path))
				h.must(h.rmdir(path, false))
			}
		}},
	}
}

// withID asks each method that takes a volume id.
func (h *Host) withID(id, path string) []error {
	_, formatted := h.formatted(id)
	_, resize := h.resize(id, 0)
	_, stats := h.statsOf(id)
	_, number := h.diskOf(id)
	return []error{h.mount(id, path), h.unmount(id, path), h.format(id), formatted, resize, h.flush(id), stats, number}
}

// withPath asks each method that takes a path.
func (h *Host) withPath(path string) []error {
	_, at := h.volumeAt(path)
	_, closest := h.closest(path)
	return []error{h.mount(deadID, path), h.unmount(deadID, path), at, closest}
}

// wantNothingAsked wants a modelled node to be asked for its system drive alone
// from now on.
func (h *Host) wantNothingAsked() {
	if h.Node == nil {
		return
	}
	h.Node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method != "System.WindowsDirectory" {
			h.Errorf("asked: %+v", c.Bare())
		}
		return do()
	})
}

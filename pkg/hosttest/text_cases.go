// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"runtime"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// textCases are about the words by which democratic-csi tells what has happened:
// either the call succeeds, or they stand in the error. TXT-7 to TXT-9 are among
// the cases of the volume group.
func textCases() []Case {
	return []Case{
		{IDs: []string{"TXT-1"}, Shows: "PathExists and IsSymlink say that a path is not absolute", Test: func(h *Host) {
			for _, path := range []string{`relative`, `pv1\foo`, `./pv1`, `C:pv1`} {
				exists, err := h.pathExists(path)
				h.wantError(err, errdefs.InvalidArgument, "not an absolute Windows path")
				link, err := h.isSymlink(path)
				h.wantError(err, errdefs.InvalidArgument, "not an absolute Windows path")
				if exists || link {
					h.Errorf("%s is there", path)
				}
			}
		}},
		{IDs: []string{"TXT-2"}, Shows: "Rmdir of a missing path has Windows' own words", Test: func(h *Host) {
			words := "The system cannot find the file specified"
			if runtime.GOOS == "windows" { // in its language; Wine has other words
				words = win.ERROR_FILE_NOT_FOUND.Error()
			}
			h.wantText(h.rmdir(h.at("none"), false), words)
		}},
		{IDs: []string{"TXT-3"}, Shows: "a share that is mapped and linked already, and what stands in the link's place", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.directories("taken")
			for range 2 {
				h.must(h.ask(h.Context(), request(dataShare, h.at("link"), bob)))
			}
			h.wantError(h.ask(h.Context(), request(`\\files\o'brien`, h.at("link"), bob)), errdefs.AlreadyExists, "ResourceExists")
			h.wantError(h.ask(h.Context(), request(dataShare, h.at("taken"), bob)), errdefs.AlreadyExists, "ResourceExists")
			state, err := h.linkState(h.at("link"))
			h.must(err)
			if !strings.HasPrefix(state.Target, dataShare) {
				h.Errorf("it leads to %s", state.Target)
			}
		}},
		{IDs: []string{"TXT-4"}, Shows: "what is not mapped is removed without an error", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.ask(h.Context(), request(dataShare, "", bob)))
			for _, remote := range []string{dataShare, dataShare, `\\nowhere\share`} {
				h.must(h.unmap(remote))
			}
		}},
		{IDs: []string{"V23"}, Shows: "no name of a share becomes a query", Needs: []Ability{Model}, Spec: withServers, Test: noShareIsQuery},
		{IDs: []string{"V23"}, Shows: "no name of a share becomes a query where shares are found by one", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			withServers(spec)
			spec.Switches.SMBMappingNotByPath = true
		}, Test: noShareIsQuery},
		{IDs: []string{"TXT-5"}, Shows: "a target that is connected is connected without an error", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			for range 2 {
				for range 2 {
					h.must(h.login(firstPortal, openTarget))
				}
				h.Groups = h.Restarted()
			}
		}},
		{IDs: []string{"TXT-6"}, Shows: "an unknown target or portal is ObjectNotFound", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			for _, at := range []struct {
				portal *iscsi.TargetPortal
				target string
			}{{firstPortal, noTarget}, {absentPortal, openTarget}} {
				_, disks := h.targetDisks(at.portal, at.target)
				for _, err := range []error{h.logout(at.portal, at.target), disks} {
					h.wantError(err, errdefs.NotFound, "ObjectNotFound")
				}
			}
			for _, p := range []*iscsi.TargetPortal{absentPortal, samePortal} {
				h.wantError(h.removePortal(p), errdefs.NotFound, "ObjectNotFound")
			}
		}},
	}
}

// noShareIsQuery maps a share whose name ends a text of WQL, and removes others
// by names that would select it, or the one beside it, in a query.
func noShareIsQuery(h *Host) {
	for _, remote := range []string{dataShare, `\\files\o'brien`} {
		for range 2 {
			h.must(h.ask(h.Context(), request(remote, "", bob)))
		}
	}
	before := h.Node.Snapshot()
	for _, remote := range []string{
		`\\files\x' OR '1'='1`, `\\files\data' OR RemotePath LIKE '%`, `\\files\data'`, `\\fil'es\data`, `\\files\%`, `\\files\dat_`, `\\files\o''brien`, `\\files\o`,
	} {
		if err := h.unmap(remote); err != nil && errdefs.KindOf(err) != errdefs.InvalidArgument {
			h.Errorf("%s: %v", remote, err)
		}
	}
	h.wantUnchanged(before)
	h.must(h.unmap(`\\files\o'brien`))
	if got := h.Node.SMBMappings(); len(got) != 1 || got[0].RemotePath != dataShare {
		h.Errorf("mapped: %+v", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"errors"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func iscsiCases() []Case {
	return slices.Concat(iscsiInputCases(), portalCases(), loginCases(), logoutCases(), targetDiskCases())
}

// iscsiInputCases are what is refused before anything is asked, whatever the host.
func iscsiInputCases() []Case {
	return []Case{
		{IDs: []string{"ISCSI-2"}, Shows: "a request without a portal is refused before anything is asked", Test: func(h *Host) {
			h.wantNothingAsked()
			for _, err := range h.withPortal(nil) {
				h.wantError(err, errdefs.InvalidArgument, "TargetPortal")
			}
		}},
		{IDs: []string{"ISCSI-3"}, Shows: "what can be no portal is refused, and no port is cut", Test: func(h *Host) {
			h.wantNothingAsked()
			for _, p := range []*iscsi.TargetPortal{
				portalAt("10.0.0.10", 68796), portalAt("10.0.0.10", 65536), portalAt("10.0.0.10", 1<<32-1), portalAt("", 3260), portalAt("0.0.0.0", 3260),
				portalAt("10.0.0.300", 3260), portalAt("10.0.0.10:3260", 0), portalAt("x' OR '1'='1", 3260), portalAt("san\x00", 3260), portalAt(`fd00::1%"}`, 3260),
			} {
				for _, err := range h.withPortal(p) {
					h.wantError(err, errdefs.InvalidArgument, "TargetPortal")
				}
			}
		}},
		{IDs: []string{"ISCSI-8"}, Shows: "an authentication type that is none is refused by its number", Test: func(h *Host) {
			h.wantNothingAsked()
			for _, is := range []struct {
				kind  iscsi.AuthenticationType
				words string
			}{{3, "invalid authentication type authType=3"}, {1<<32 - 1, "invalid authentication type authType=4294967295"}} {
				h.wantError(h.loginAs(is.kind, "", ""), errdefs.InvalidArgument, is.words)
			}
		}},
		{IDs: []string{"ISCSI-9", "I06"}, Shows: "CHAP wants a secret of 12 to 16 characters, and NONE has neither secret nor user", Test: func(h *Host) {
			h.wantNothingAsked()
			for _, is := range []struct {
				kind         iscsi.AuthenticationType
				user, secret string
				field        string
			}{
				{iscsi.NONE, chapUser, "", "ChapUsername"},
				{iscsi.NONE, "", chapSecret, "ChapSecret"},
				{iscsi.ONE_WAY_CHAP, chapUser, "", "ChapSecret"},
				{iscsi.MUTUAL_CHAP, chapUser, "", "ChapSecret"},
				{iscsi.ONE_WAY_CHAP, chapUser, "8-chars.", "ChapSecret"},
				{iscsi.ONE_WAY_CHAP, chapUser, "eleven-byte", "ChapSecret"},
				{iscsi.ONE_WAY_CHAP, chapUser, "seventeen-bytes-x", "ChapSecret"},
				{iscsi.ONE_WAY_CHAP, chapUser, "pässwörd-12", "ChapSecret"},
				{iscsi.ONE_WAY_CHAP, "üser", chapSecret, "ChapUsername"},
				{iscsi.ONE_WAY_CHAP, "user\x00", chapSecret, "ChapUsername"},
			} {
				err := h.loginAs(is.kind, is.user, is.secret)
				h.wantError(err, errdefs.InvalidArgument, is.field)
				if err != nil && is.secret != "" && strings.Contains(err.Error(), is.secret) {
					h.Errorf("it tells the secret: %v", err)
				}
			}
		}},
		{IDs: []string{"I06"}, Shows: "what can be no target is refused, and becomes no query", Test: func(h *Host) {
			h.wantNothingAsked()
			for _, name := range []string{
				"", "storage", "iqn.", "naa.5x", "eui.0123", "x' OR '1'='1", `x" OR "1"="1`, `iqn.2020-01.a:b' OR NodeAddress <> '`,
				`iqn.2020-01.a:b"} WHERE AssocClass = Win32_Service`, `iqn.2020-01.a:\`, "iqn.2020-01.a:%", "iqn.2020-01.a:b\x00", "iqn.2020-01.a:b\n",
			} {
				_, disks := h.targetDisks(firstPortal, name)
				for _, err := range []error{h.login(firstPortal, name), h.logout(firstPortal, name), disks} {
					h.wantError(err, errdefs.InvalidArgument, "IQN")
				}
			}
		}},
		{IDs: []string{"ISCSI-16"}, Shows: "a secret of the initiator has 12 to 16 characters", Test: func(h *Host) {
			h.wantNothingAsked()
			for _, secret := range []string{"", "eleven-byte", "seventeen-bytes-x", "12345678901\x00", "ümläute-xxxx", "tab\tbed-12345"} {
				err := h.setInitiatorSecret(secret)
				h.wantError(err, errdefs.InvalidArgument, "MutualChapSecret")
				if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
					h.Errorf("it tells the secret: %v", err)
				}
			}
		}},
	}
}

func portalCases() []Case {
	cases := []Case{
		{IDs: []string{"ISCSI-1"}, Shows: "port 0 is 3260, in every request", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			zero := portalAt("10.0.0.10", 0)
			h.must(h.removePortal(zero))
			h.wantPortals()
			h.must(h.addPortal(zero))
			h.wantPortals("10.0.0.10:3260")
			h.wantOffered(zero, openTarget, chapTarget, sharedTarget)
			h.must(h.login(zero, openTarget))
			h.wantSessions(openSession)
			h.wantTargetDisks(zero, openTarget, "open")
			h.must(h.logout(zero, openTarget))
			h.wantSessions()
		}},
		{IDs: []string{"ISCSI-4"}, Shows: "a portal is registered once, however it is spelled", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.addPortal(sixPortal))
			before := h.Node.Snapshot()
			h.must(h.addPortal(firstPortal))
			for _, address := range []string{"fd00::10", "FD00::10", "[fd00::10]", "fd00:0:0:0::0010"} {
				h.must(h.addPortal(portalAt(address, 3260)))
				h.wantOffered(portalAt(address, 0), openTarget)
			}
			h.wantUnchanged(before)
			h.wantPortals("10.0.0.10:3260", "[fd00::10]:3260")
		}},
		{IDs: []string{"ISCSI-4"}, Shows: "a portal that does not answer is not registered", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			before := h.Node.Snapshot()
			err := h.addPortal(absentPortal)
			h.wantErrors(err, win.ISDSC_CONNECTION_FAILED)
			h.wantKind(err, errdefs.Unavailable)
			h.wantUnchanged(before)
		}},
		{IDs: []string{"ISCSI-5"}, Shows: "to register a portal again asks it for its targets, to list them does not", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.Node.SetISCSIPortal("10.0.0.10:3260", false))
			h.Node.Reboot()
			h.restart()
			h.wantErrors(h.addPortal(firstPortal), errdefs.ErrUnavailable)
			h.must(h.Node.SetISCSIPortal("10.0.0.10:3260", true))
			h.wantOffered(firstPortal)
			h.must(h.addPortal(firstPortal))
			h.wantOffered(firstPortal, openTarget, chapTarget, sharedTarget)
		}},
		{IDs: []string{"ISCSI-5"}, Shows: "each registered portal tells its own targets, another is not found", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			for _, p := range []*iscsi.TargetPortal{secondPortal, samePortal, absentPortal} {
				names, err := h.discover(p)
				h.wantErrors(err, errdefs.ErrNotFound)
				if len(names) > 0 {
					h.Errorf("%s: %q", p, names)
				}
			}
			h.must(h.addPortal(secondPortal))
			h.wantOffered(firstPortal, openTarget, chapTarget, sharedTarget)
			h.wantOffered(secondPortal, sharedTarget, wideTarget)
		}},
		{IDs: []string{"ISCSI-6"}, Shows: "all registered portals are listed, or none", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.removePortal(firstPortal))
			h.wantPortals()
			for _, p := range []*iscsi.TargetPortal{firstPortal, secondPortal, sixPortal, samePortal} {
				h.must(h.addPortal(p))
			}
			h.wantPortals("10.0.0.10:3260", "10.0.0.10:3261", "10.0.0.11:3260", "[fd00::10]:3260")
		}},
		{IDs: []string{"ISCSI-7"}, Shows: "a portal is removed once, without its sessions and without the one beside it", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.addPortal(samePortal))
			h.must(h.login(firstPortal, openTarget))
			h.must(h.removePortal(firstPortal))
			h.wantPortals("10.0.0.10:3261")
			h.wantSessions(openSession)
			h.wantErrors(h.removePortal(firstPortal), errdefs.ErrNotFound)
			h.must(h.logout(firstPortal, openTarget))
			h.wantSessions()
		}},
	}
	for _, empty := range []bool{false, true} {
		shows := "an initiator whose service does not run says so"
		if empty {
			shows += ", also where Windows finds nothing"
		}
		cases = append(cases, Case{IDs: []string{"ISCSI-17"}, Shows: shows, Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			withTargets(spec)
			spec.Switches.ISCSIStoppedEmpty = empty
			stuck := simhost.TransitionSpec{Stuck: true}
			spec.Services = []simhost.ServiceSpec{{Name: "MSiSCSI", State: "running", Starting: stuck, Stopping: stuck}}
		}, Test: func(h *Host) {
			h.must(h.login(firstPortal, openTarget))
			for _, state := range []string{"stopped", "startPending", "stopPending", "paused"} {
				h.must(h.Node.SetServiceState("MSiSCSI", state))
				before := h.Node.Snapshot()
				_, list := h.portals()
				for _, err := range append(h.withPortal(firstPortal), list, h.setInitiatorSecret(mutualSecret)) {
					h.wantErrors(err, errdefs.ErrISCSIStopped)
					h.wantError(err, errdefs.Unavailable, "MSiSCSI")
				}
				h.wantUnchanged(before)
			}
		}})
	}
	return cases
}

// The targets of the cases. open wants no CHAP, chap wants it and proves itself
// too, shared is behind several portals, wide has three disks.
const (
	openTarget   = "iqn.2020-01.example.san:open"
	chapTarget   = "iqn.2020-01.example.san:chap"
	sharedTarget = "iqn.2020-01.example.san:shared"
	wideTarget   = "iqn.2020-01.example.san:wide"
	noTarget     = "iqn.2020-01.example.san:none"

	chapUser     = "storage-user"
	chapSecret   = "averylongsecret" // 15 bytes (behaviour.md ISCSI-12)
	mutualSecret = "made-up-pass"    // 12 bytes

	openSession = openTarget + " through 10.0.0.10:3260: none"
)

// Their portals: same stands at the address of first, absent nowhere.
var (
	firstPortal  = portalAt("10.0.0.10", 3260)
	secondPortal = portalAt("10.0.0.11", 3260)
	sixPortal    = portalAt("fd00::10", 3260)
	samePortal   = portalAt("10.0.0.10", 3261)
	absentPortal = portalAt("10.0.0.99", 3260)
)

func portalAt(address string, port uint32) *iscsi.TargetPortal {
	return &iscsi.TargetPortal{TargetAddress: address, TargetPort: port}
}

// withTargets gives a node an iSCSI network, whose first portal is registered
// with an initiator that runs.
func withTargets(spec *simhost.NodeSpec) {
	lun := func(name string) simhost.DiskSpec {
		return simhost.DiskSpec{Name: name, Size: simhost.GiB, Vendor: "SAN     ", Product: "Virtual LUN     ", Serial: "serial-of-" + name}
	}
	spec.Services = append(spec.Services, simhost.ServiceSpec{Name: "MSiSCSI", Start: "auto"})
	spec.ISCSI = &simhost.ISCSISpec{
		Portals: []simhost.ISCSIPortalSpec{{Address: "10.0.0.10", Registered: true}, {Address: "10.0.0.11"}, {Address: "fd00::10"}, {Address: "10.0.0.10", Port: 3261}},
		Targets: []simhost.ISCSITargetSpec{
			{Name: openTarget, Portals: []string{"10.0.0.10:3260", "[fd00::10]:3260"}, LUNs: []simhost.DiskSpec{lun("open")}},
			{Name: chapTarget, Portals: []string{"10.0.0.10:3260"}, User: chapUser, Secret: chapSecret, MutualSecret: mutualSecret, LUNs: []simhost.DiskSpec{lun("chap")}},
			{Name: sharedTarget, Portals: []string{"10.0.0.10:3260", "10.0.0.11:3260", "10.0.0.10:3261"}, LUNs: []simhost.DiskSpec{lun("shared")}},
			{Name: wideTarget, Portals: []string{"10.0.0.11:3260"}, LUNs: []simhost.DiskSpec{lun("wide-0"), lun("wide-1"), lun("wide-2")}},
		},
	}
}

// withMultipath is the same where several sessions make one disk.
func withMultipath(spec *simhost.NodeSpec) {
	withTargets(spec)
	spec.ISCSI.MPIO = true
}

// withPortal asks each method that takes a portal.
func (h *Host) withPortal(p *iscsi.TargetPortal) []error {
	_, offered := h.discover(p)
	_, disks := h.targetDisks(p, openTarget)
	return []error{h.addPortal(p), offered, h.removePortal(p), h.login(p, openTarget), h.logout(p, openTarget), disks}
}

func (h *Host) addPortal(p *iscsi.TargetPortal) error {
	_, err := h.ISCSI.AddTargetPortal(h.Context(), &iscsi.AddTargetPortalRequest{TargetPortal: p})
	return err
}

func (h *Host) discover(p *iscsi.TargetPortal) ([]string, error) {
	resp, err := h.ISCSI.DiscoverTargetPortal(h.Context(), &iscsi.DiscoverTargetPortalRequest{TargetPortal: p})
	return resp.IQNs, err
}

func (h *Host) removePortal(p *iscsi.TargetPortal) error {
	_, err := h.ISCSI.RemoveTargetPortal(h.Context(), &iscsi.RemoveTargetPortalRequest{TargetPortal: p})
	return err
}

func (h *Host) login(p *iscsi.TargetPortal, target string) error {
	_, err := h.ISCSI.ConnectTarget(h.Context(), &iscsi.ConnectTargetRequest{TargetPortal: p, IQN: target})
	return err
}

// loginAs logs in to the target that wants CHAP.
func (h *Host) loginAs(kind iscsi.AuthenticationType, user, secret string) error {
	_, err := h.ISCSI.ConnectTarget(h.Context(), &iscsi.ConnectTargetRequest{
		TargetPortal: firstPortal, IQN: chapTarget, AuthType: kind, ChapUsername: user, ChapSecret: secret,
	})
	return err
}

func (h *Host) logout(p *iscsi.TargetPortal, target string) error {
	_, err := h.ISCSI.DisconnectTarget(h.Context(), &iscsi.DisconnectTargetRequest{TargetPortal: p, IQN: target})
	return err
}

func (h *Host) targetDisks(p *iscsi.TargetPortal, target string) ([]string, error) {
	resp, err := h.ISCSI.GetTargetDisks(h.Context(), &iscsi.GetTargetDisksRequest{TargetPortal: p, IQN: target})
	return resp.DiskIDs, err
}

func (h *Host) setInitiatorSecret(secret string) error {
	_, err := h.ISCSI.SetMutualChapSecret(h.Context(), &iscsi.SetMutualChapSecretRequest{MutualChapSecret: secret})
	return err
}

// wantPortals wants those to be registered.
func (h *Host) wantPortals(want ...string) {
	h.Helper()
	list, err := h.portals()
	var got []string
	for _, p := range list {
		got = append(got, p.String())
	}
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		h.Errorf("portals %q, %v, want %q", got, err, want)
	}
}

// wantOffered wants a portal to offer targets.
func (h *Host) wantOffered(p *iscsi.TargetPortal, want ...string) {
	h.Helper()
	if got, err := h.discover(p); err != nil || !slices.Equal(got, want) {
		h.Errorf("%s: targets %q, %v, want %q", p, got, err, want)
	}
}

// wantSessions wants the node to have those sessions.
func (h *Host) wantSessions(want ...string) {
	h.Helper()
	var got []string
	for line := range strings.Lines(string(h.Node.Snapshot())) {
		if session, ok := strings.CutPrefix(line, "iSCSI session of "); ok {
			got = append(got, strings.TrimSpace(session))
		}
	}
	if !slices.Equal(got, want) {
		h.Errorf("sessions %q, want %q", got, want)
	}
}

// wantTargetDisks wants a target to have the node's disks of those names.
func (h *Host) wantTargetDisks(p *iscsi.TargetPortal, target string, names ...string) {
	h.Helper()
	got, err := h.targetDisks(p, target)
	var want []string
	for _, name := range names {
		number, attached := h.Node.DiskNumber(name)
		if !attached {
			err = errors.Join(err, errors.New(name+" is not attached"))
		}
		want = append(want, decimal(number))
	}
	if err != nil || !slices.Equal(got, want) {
		h.Errorf("%s: disks %q, %v, want %q", target, got, err, want)
	}
}

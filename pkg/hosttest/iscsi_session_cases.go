// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"strconv"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func loginCases() []Case {
	return []Case{
		{IDs: []string{"ISCSI-9"}, Shows: "CHAP with the right user and secret lets in, and nothing else does", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			for _, is := range []struct {
				kind         iscsi.AuthenticationType
				user, secret string
			}{
				{iscsi.ONE_WAY_CHAP, chapUser, "verysecretpass"},
				{iscsi.ONE_WAY_CHAP, "nobody", chapSecret},
				{iscsi.ONE_WAY_CHAP, "", chapSecret},
				{iscsi.NONE, "", ""},
			} {
				err := h.loginAs(is.kind, is.user, is.secret)
				h.wantErrors(err, win.ISDSC_AUTHENTICATION_FAILURE)
				h.wantKind(err, errdefs.PermissionDenied)
				h.wantSessions()
			}
			h.must(h.loginAs(iscsi.ONE_WAY_CHAP, chapUser, chapSecret))
			h.wantSessions(chapTarget + " through 10.0.0.10:3260: onewaychap")
		}},
		{IDs: []string{"ISCSI-9"}, Shows: "CHAP without a user has the initiator's name", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			withTargets(spec)
			spec.ISCSI.Targets[1].User = ""
		}, Test: func(h *Host) {
			h.must(h.loginAs(iscsi.ONE_WAY_CHAP, "", chapSecret))
		}},
		{IDs: []string{"ISCSI-10"}, Shows: "a target that is connected is connected, however it is spelled", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.login(firstPortal, openTarget))
			h.wantSessions(openSession)
			before := h.Node.Snapshot()
			h.must(h.login(firstPortal, openTarget))
			h.must(h.login(portalAt("10.0.0.10", 0), strings.ToUpper(openTarget)))
			h.wantUnchanged(before)
		}},
		{IDs: []string{"ISCSI-10"}, Shows: "a changed secret concerns the next login", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.loginAs(iscsi.ONE_WAY_CHAP, chapUser, chapSecret))
			h.must(h.Node.SetISCSISecret(chapTarget, "rotated-secret"))
			before := h.Node.Snapshot()
			h.must(h.loginAs(iscsi.ONE_WAY_CHAP, chapUser, chapSecret))
			h.must(h.loginAs(iscsi.ONE_WAY_CHAP, "another", "anothersecret"))
			h.wantUnchanged(before)
			h.Node.Reboot()
			h.restart()
			h.wantErrors(h.loginAs(iscsi.ONE_WAY_CHAP, chapUser, chapSecret), errdefs.ErrPermissionDenied)
			h.must(h.loginAs(iscsi.ONE_WAY_CHAP, chapUser, "rotated-secret"))
		}},
		{IDs: []string{"ISCSI-10"}, Shows: "what a registered portal does not offer is not found", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.addPortal(sixPortal))
			before := h.Node.Snapshot()
			for _, is := range []struct {
				portal *iscsi.TargetPortal
				target string
			}{
				{secondPortal, openTarget},      // is not registered
				{samePortal, openTarget},        // nor is the one beside it
				{absentPortal, openTarget},      // is not there
				{firstPortal, noTarget},         // nobody has it
				{firstPortal, wideTarget},       // another has it
				{sixPortal, sharedTarget},       // another that is registered has it
				{firstPortal, openTarget + "x"}, // has another's name and more
			} {
				h.wantErrors(h.login(is.portal, is.target), errdefs.ErrNotFound)
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"ISCSI-11", "I03"}, Shows: "a session does not outlive a restart, and the same requests bring it back", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.login(firstPortal, openTarget))
			before := h.Node.Snapshot()
			h.Node.Reboot()
			h.restart()
			h.wantSessions()
			h.wantTargetDisks(firstPortal, openTarget)
			h.must(h.addPortal(firstPortal))
			h.must(h.login(firstPortal, openTarget))
			h.wantTargetDisks(firstPortal, openTarget, "open")
			h.wantUnchanged(before)
		}},
		{IDs: []string{"I03"}, Shows: "what was staged when the node went down is staged again, with its data", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			path := h.at("staging")
			id, err := Driver{h.Groups}.StageTarget(h.Context(), firstPortal, openTarget, path)
			h.must(err)
			h.must(h.World.WriteFile(path+`\mark`, 4096))
			before := h.Node.Snapshot()

			h.must(h.Node.SetISCSIPortal("10.0.0.10:3260", false))
			h.Node.Reboot()
			h.restart()
			_, err = Driver{h.Groups}.StageTarget(h.Context(), firstPortal, openTarget, path)
			h.wantErrors(err, errdefs.ErrUnavailable)

			h.must(h.Node.SetISCSIPortal("10.0.0.10:3260", true))
			again, err := Driver{h.Groups}.StageTarget(h.Context(), firstPortal, openTarget, path)
			h.must(err)
			if again != id || !h.exists(path+`\mark`) {
				h.Errorf("volume %s, was %s; its data is there: %t", again, id, h.exists(path+`\mark`))
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"ISCSI-12", "ISCSI-16", "I01"}, Shows: "mutual CHAP wants the initiator's secret, of which the last one holds", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			mutual := func() error { return h.loginAs(iscsi.MUTUAL_CHAP, chapUser, chapSecret) }
			h.wantErrors(mutual(), win.ISDSC_NO_AUTH_INFO)
			for _, secret := range []string{mutualSecret, "sixteen-bytes-ok", "reversssssssse"} {
				h.must(h.setInitiatorSecret(secret))
			}
			h.wantErrors(mutual(), errdefs.ErrPermissionDenied)
			h.wantSessions()
			h.must(h.setInitiatorSecret(mutualSecret))
			h.must(mutual())
			h.wantSessions(chapTarget + " through 10.0.0.10:3260: mutualchap")
		}},
		{IDs: []string{"I01"}, Shows: "without multipath no disk comes twice", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.login(firstPortal, sharedTarget))
			for _, p := range []*iscsi.TargetPortal{secondPortal, samePortal} {
				h.must(h.addPortal(p))
				before := h.Node.Snapshot()
				h.Node.OnCall(func(c simhost.Call, do func() error) error {
					if strings.HasPrefix(c.Subject, "MSFT_iSCSITarget.Connect") {
						h.Error("a login was tried") // which not every target would refuse
					}
					return do()
				})
				h.wantErrors(h.login(p, sharedTarget), errdefs.ErrISCSIOtherPortal)
				h.wantTargetDisks(p, sharedTarget)
				h.must(h.logout(p, sharedTarget))
				h.Node.OnCall(nil)
				h.wantUnchanged(before)
			}
		}},
		{IDs: []string{"I01"}, Shows: "with multipath several portals make one disk, and nobody has to say so", Needs: []Ability{Model}, Spec: withMultipath, Test: func(h *Host) {
			h.must(h.addPortal(secondPortal))
			for _, p := range []*iscsi.TargetPortal{firstPortal, secondPortal, firstPortal} {
				h.must(h.login(p, sharedTarget))
			}
			viaSecond := sharedTarget + " through 10.0.0.11:3260: none, multipath"
			h.wantSessions(sharedTarget+" through 10.0.0.10:3260: none, multipath", viaSecond)
			for _, p := range []*iscsi.TargetPortal{firstPortal, secondPortal} {
				h.wantTargetDisks(p, sharedTarget, "shared")
			}
			h.must(h.logout(firstPortal, sharedTarget))
			h.wantSessions(viaSecond)
			h.must(h.logout(secondPortal, sharedTarget))
			h.wantSessions()
		}},
		{IDs: []string{"I03"}, Shows: "a session whose connection is broken is neither connected nor made twice", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.login(firstPortal, openTarget))
			h.must(h.Node.SetISCSIPortal("10.0.0.10:3260", false))
			h.wantErrors(h.login(firstPortal, openTarget), errdefs.ErrUnavailable)
			h.wantSessions(openSession + ", lost")
			h.must(h.Node.SetISCSIPortal("10.0.0.10:3260", true))
			h.must(h.login(firstPortal, openTarget))
			h.must(h.Node.SetISCSIPortal("10.0.0.10:3260", false))
			h.must(h.logout(firstPortal, openTarget))
			h.wantSessions()
			h.wantErrors(h.login(firstPortal, openTarget), win.ISDSC_CONNECTION_FAILED, errdefs.ErrUnavailable)
		}},
		{IDs: []string{"I06"}, Shows: "a portal with an IPv6 address is a portal", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			for range 2 {
				h.must(h.addPortal(sixPortal))
				h.must(h.login(sixPortal, openTarget))
			}
			h.wantTargetDisks(portalAt("[FD00::0010]", 0), openTarget, "open")
			h.must(h.logout(sixPortal, openTarget))
			h.must(h.removePortal(sixPortal))
			h.wantSessions()
		}},
	}
}

func logoutCases() []Case {
	return []Case{
		{IDs: []string{"ISCSI-13"}, Shows: "a target that is not connected is disconnected", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			before := h.Node.Snapshot()
			h.must(h.logout(firstPortal, openTarget))
			h.must(h.login(firstPortal, openTarget))
			h.must(h.loginAs(iscsi.ONE_WAY_CHAP, chapUser, chapSecret))
			for range 2 {
				h.must(h.logout(firstPortal, openTarget))
				h.wantSessions(chapTarget + " through 10.0.0.10:3260: onewaychap")
			}
			h.must(h.logout(firstPortal, chapTarget))
			h.wantUnchanged(before)
		}},
		{IDs: []string{"ISCSI-13"}, Shows: "an unknown target is not found, and takes none along that is called likewise", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.login(firstPortal, openTarget))
			before := h.Node.Snapshot()
			for _, target := range []string{noTarget, wideTarget, "iqn.2020-01.example.san:ope_", "iqn.2020-01.example.san:ope", openTarget + ":x"} {
				h.wantErrors(h.logout(firstPortal, target), errdefs.ErrNotFound)
			}
			h.wantErrors(h.logout(secondPortal, wideTarget), errdefs.ErrNotFound)
			h.wantUnchanged(before)
		}},
		{IDs: []string{"ISCSI-13"}, Shows: "a session that somebody has made persistent does not come back", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.Node.AddISCSISession(openTarget, "10.0.0.10:3260", true))
			h.Node.Reboot()
			h.restart()
			h.wantSessions(openSession + ", persistent")
			h.must(h.login(firstPortal, openTarget))
			h.must(h.logout(firstPortal, openTarget))
			h.Node.Reboot()
			h.restart()
			h.wantSessions()
		}},
		{IDs: []string{"ISCSI-14"}, Shows: "every session of a target ends", Needs: []Ability{Model}, Spec: withMultipath, Test: func(h *Host) {
			for range 2 {
				h.must(h.Node.AddISCSISession(openTarget, "10.0.0.10:3260", false))
			}
			h.wantSessions(openSession+", multipath", openSession+", multipath")
			h.wantTargetDisks(firstPortal, openTarget, "open")
			h.must(h.logout(firstPortal, openTarget))
			h.wantSessions()
		}},
		{IDs: []string{"I07"}, Shows: "a target whose disk is in use stays connected, until the disk is offline", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			path := h.at("staging")
			id, err := Driver{h.Groups}.StageTarget(h.Context(), firstPortal, openTarget, path)
			h.must(err)
			before := h.Node.Snapshot()
			h.wantErrors(h.logout(firstPortal, openTarget), errdefs.ErrISCSIInUse)
			h.wantUnchanged(before)

			number, err := h.diskOf(id)
			h.must(err)
			h.must(h.setOnline(number, false))
			h.must(h.logout(firstPortal, openTarget))
			h.must(h.unmount(id, path))
			h.wantSessions()
		}},
	}
}

func targetDiskCases() []Case {
	return []Case{
		{IDs: []string{"ISCSI-15", "I07"}, Shows: "disks are numbers in decimal, those of the target alone, none where it is not connected", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			h.must(h.addPortal(secondPortal))
			h.wantTargetDisks(firstPortal, openTarget)
			h.must(h.login(secondPortal, wideTarget))
			h.must(h.login(firstPortal, openTarget))
			h.wantTargetDisks(firstPortal, openTarget, "open")
			h.wantTargetDisks(secondPortal, wideTarget, "wide-0", "wide-1", "wide-2")
			h.must(h.logout(secondPortal, wideTarget))
			h.wantTargetDisks(secondPortal, wideTarget)
			h.wantTargetDisks(firstPortal, openTarget, "open")
		}},
		{IDs: []string{"ISCSI-15"}, Shows: "a disk that arrives late is waited for, by no login", Needs: []Ability{Model, Time}, Spec: arriving(10 * time.Second), Test: func(h *Host) {
			began := time.Now()
			h.must(h.login(firstPortal, openTarget))
			if took := time.Since(began); took != 0 {
				h.Errorf("the login took %s", took)
			}
			ids, err := h.targetDisks(firstPortal, openTarget)
			if took := time.Since(began); err != nil || len(ids) != 1 || took < 10*time.Second || took > 11*time.Second {
				h.Errorf("got %q, %v after %s", ids, err, took)
			}
		}},
		{IDs: []string{"ISCSI-15"}, Shows: "a disk that does not arrive is an error in the end, which may be repeated", Needs: []Ability{Model, Time}, Spec: arriving(time.Hour), Test: func(h *Host) {
			h.must(h.login(firstPortal, openTarget))
			began := time.Now()
			ids, err := h.targetDisks(firstPortal, openTarget)
			h.wantKind(err, errdefs.Unavailable)
			if took := time.Since(began); len(ids) > 0 || took != 30*time.Second {
				h.Errorf("got %q after %s", ids, took)
			}
		}},
		{
			IDs: []string{"ISCSI-18", "I04"}, Shows: "from an initiator that has never run to a disk with a volume, and offline again", Needs: []Ability{Model},
			Spec: func(spec *simhost.NodeSpec) {
				withTargets(spec)
				spec.Services, spec.SANPolicy = nil, simhost.OfflineShared
				spec.ISCSI.Portals[0].Registered = false
			},
			Test: func(h *Host) {
				h.wantErrors(h.addPortal(firstPortal), errdefs.ErrISCSIStopped)
				h.must(h.startService("MSiSCSI"))
				h.must(h.addPortal(firstPortal))
				h.wantOffered(firstPortal, openTarget, chapTarget, sharedTarget)
				h.must(h.login(firstPortal, openTarget))
				h.wantTargetDisks(firstPortal, openTarget, "open")
				number, _ := h.Node.DiskNumber("open")
				h.wantOnline(number, false)
				h.must(h.setOnline(number, true))
				h.must(h.partition(number))
				if ids, err := h.volumesOf(number, 0); err != nil || len(ids) != 1 {
					h.Errorf("volumes %q, %v", ids, err)
				}
				h.must(h.setOnline(number, false))
				h.wantOnline(number, false)
			},
		},
	}
}

// arriving is the same network, where disks take that long to arrive.
func arriving(after time.Duration) func(*simhost.NodeSpec) {
	return func(spec *simhost.NodeSpec) {
		withTargets(spec)
		for i := range spec.ISCSI.Targets {
			spec.ISCSI.Targets[i].Arrival = simhost.Duration(after)
		}
	}
}

func decimal(number uint32) string { return strconv.FormatUint(uint64(number), 10) }

// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// iscsiModel says what random calls of a driver of targets must come to, with
// portals that come and go, secrets that change, another program that logs in for
// good, processes that end, and calls that fail.
type iscsiModel struct {
	hosttest.Driver
	node       *simhost.Node
	multipath  bool
	down       map[string]bool // portals that do not answer
	chapSecret string          // of the target that wants CHAP
	initiator
}

// initiator is what the node's initiator knows and has.
type initiator struct {
	secret     string // its own, "" for none
	registered []registration
	sessions   []session
	logins     []login // that Windows makes again after a reboot
}

type registration struct {
	portal  string
	offered []string // when it was last asked
}

type session struct {
	login
	auth       string
	persistent bool
}

type login struct{ target, portal, secret string }

const (
	openTarget   = "iqn.2020-01.example.san:open"
	chapTarget   = "iqn.2020-01.example.san:chap"
	sharedTarget = "iqn.2020-01.example.san:shared"

	chapUser     = "storage-user"
	mutualSecret = "made-up-pass"
)

// modelTargets are the targets' portals and disks.
var modelTargets = []struct {
	name    string
	portals []string
	disks   []string
}{
	{openTarget, []string{"10.0.0.10:3260"}, []string{"open"}},
	{chapTarget, []string{"10.0.0.10:3260"}, []string{"chap"}},
	{sharedTarget, []string{"10.0.0.10:3260", "10.0.0.11:3260"}, []string{"shared-0", "shared-1"}},
}

var modelPortals = []string{"10.0.0.10:3260", "10.0.0.11:3260"}

func newISCSIModel(t *rapid.T) *iscsiModel {
	m := &iscsiModel{multipath: rapid.Bool().Draw(t, "multipath"), down: map[string]bool{}, chapSecret: "averylongsecret"}
	spec := simhost.NodeSpec{
		Version: simhost.SpecVersion, Name: "iscsi model", Services: []simhost.ServiceSpec{{Name: "MSiSCSI", Start: "auto"}},
		ISCSI: &simhost.ISCSISpec{MPIO: m.multipath, Portals: []simhost.ISCSIPortalSpec{{Address: "10.0.0.10", Registered: true}, {Address: "10.0.0.11"}}},
	}
	arrival := simhost.Duration(rapid.SampledFrom([]time.Duration{0, 2 * time.Second}).Draw(t, "arrival"))
	for _, is := range modelTargets {
		target := simhost.ISCSITargetSpec{Name: is.name, Portals: is.portals, Arrival: arrival}
		if is.name == chapTarget {
			target.User, target.Secret, target.MutualSecret = chapUser, m.chapSecret, mutualSecret
		}
		for _, name := range is.disks {
			target.LUNs = append(target.LUNs, simhost.DiskSpec{Name: name, Size: simhost.GiB, Serial: name})
		}
		spec.ISCSI.Targets = append(spec.ISCSI.Targets, target)
	}
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	m.node, m.registered = node, []registration{{modelPortals[0], offeredBy(modelPortals[0])}}
	m.begin(t)
	return m
}

// offeredBy are the targets behind a portal.
func offeredBy(portal string) (names []string) {
	for _, is := range modelTargets {
		if slices.Contains(is.portals, portal) {
			names = append(names, is.name)
		}
	}
	return names
}

func disksOf(target string) (names []string) {
	for _, is := range modelTargets {
		if is.name == target {
			names = is.disks
		}
	}
	return names
}

func (m *iscsiModel) begin(t *rapid.T) {
	groups, err := hosttest.GroupsOn(m.node.Host())
	if err != nil {
		t.Fatal(err)
	}
	m.Groups = groups
}

func (m *iscsiModel) restart(t *rapid.T) {
	m.node.RestartDriver()
	m.begin(t)
}

// reboot ends all sessions; portals that answer are asked again, and the logins
// made that are persistent.
func (m *iscsiModel) reboot(t *rapid.T) {
	m.node.Reboot()
	m.begin(t)
	m.sessions = nil
	for i, r := range m.registered {
		m.registered[i].offered = nil
		if !m.down[r.portal] {
			m.registered[i].offered = offeredBy(r.portal)
		}
	}
	for _, l := range m.logins {
		if m.knows(l.target) && !m.down[l.portal] && (l.target != chapTarget || l.secret == m.chapSecret) {
			m.sessions = append(m.sessions, session{l, authOf(l.target), true})
		}
	}
}

func authOf(target string) string {
	if target == chapTarget {
		return "onewaychap"
	}
	return "none"
}

// copied is the initiator, to be changed.
func (i *initiator) copied() initiator {
	return initiator{i.secret, slices.Clone(i.registered), slices.Clone(i.sessions), slices.Clone(i.logins)}
}

func (i *initiator) registration(portal string) int {
	return slices.IndexFunc(i.registered, func(r registration) bool { return r.portal == portal })
}

// offers reports whether a portal has offered a target.
func (i *initiator) offers(portal, target string) bool {
	at := i.registration(portal)
	return at >= 0 && slices.Contains(i.registered[at].offered, target)
}

// knows reports whether the initiator knows a target.
func (i *initiator) knows(target string) bool {
	return slices.ContainsFunc(i.registered, func(r registration) bool { return slices.Contains(r.offered, target) }) ||
		slices.ContainsFunc(i.sessions, func(s session) bool { return s.target == target })
}

// sessionsOf are a target's sessions through a portal, and the others. One whose
// connection is broken, or whose portal is not registered, is of each portal
// (docs/architecture.md ISCSI-10).
func (m *iscsiModel) sessionsOf(target, portal string) (mine, others []session) {
	for _, s := range m.sessions {
		switch {
		case s.target != target:
		case s.portal == portal, m.down[s.portal], m.registration(s.portal) < 0:
			mine = append(mine, s)
		default:
			others = append(others, s)
		}
	}
	return mine, others
}

// text is the initiator as the node's snapshot has it.
func (m *iscsiModel) text(i initiator) string {
	var b strings.Builder
	fmt.Fprintf(&b, "secret %t\n", i.secret != "")
	for _, r := range i.registered {
		fmt.Fprintf(&b, "portal %s: offers %d\n", r.portal, len(r.offered))
	}
	for _, s := range i.sessions {
		fmt.Fprintf(&b, "session of %s through %s: %s", s.target, s.portal, s.auth)
		for _, w := range []struct {
			word string
			is   bool
		}{{"multipath", m.multipath}, {"persistent", s.persistent}, {"lost", m.down[s.portal]}} {
			if w.is {
				b.WriteString(", " + w.word)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// found is the same of the node.
func (m *iscsiModel) found() string {
	var b strings.Builder
	for line := range strings.Lines(string(m.node.Snapshot())) {
		about, ok := strings.CutPrefix(line, "iSCSI ")
		if initiator, is := strings.CutPrefix(about, "initiator: "); is {
			about = fmt.Sprintf("secret %t\n", strings.Contains(initiator, "with a secret"))
		}
		if before, _, is := strings.Cut(about, " target"); is && strings.HasPrefix(about, "portal ") {
			about = before + "\n"
		}
		if ok {
			b.WriteString(about)
		}
	}
	return b.String()
}

// change makes a call that must end in an error of a kind, or in the last of the
// states. Disturbed, it may end in an error and any of them.
func (m *iscsiModel) change(t *rapid.T, kind errdefs.Kind, call func() error, states ...initiator) {
	f := drawFault(t)
	if kind != errdefs.None {
		states = nil
	}
	states = append([]initiator{m.copied()}, states...)
	struck, err := f.strike(m.node, call)
	if struck && f.fatal {
		m.restart(t)
	}
	if err == nil || !struck {
		want(t, err, kind)
		states = states[len(states)-1:]
	}
	found := m.found()
	at := slices.IndexFunc(states, func(i initiator) bool { return m.text(i) == found })
	if at < 0 {
		t.Fatalf("disturbed %t, %v: the node has\n%swant\n%s", struck, err, found, m.text(states[len(states)-1]))
	}
	m.initiator = states[at]
}

func portalOf(portal string) *iscsi.TargetPortal {
	return &iscsi.TargetPortal{TargetAddress: strings.TrimSuffix(portal, ":3260"), TargetPort: 3260}
}

func drawPortal(t *rapid.T) string { return rapid.SampledFrom(modelPortals).Draw(t, "portal") }

func drawTarget(t *rapid.T) string {
	return rapid.SampledFrom([]string{openTarget, chapTarget, sharedTarget}).Draw(t, "target")
}

func (m *iscsiModel) addPortal(t *rapid.T) {
	portal, then, kind := drawPortal(t), m.copied(), errdefs.None
	is := registration{portal, offeredBy(portal)}
	if at := m.registration(portal); at >= 0 {
		then.registered[at] = is
	} else {
		then.registered = append(then.registered, is)
	}
	if m.down[portal] {
		kind = errdefs.Unavailable
	}
	m.change(t, kind, func() error {
		_, err := m.ISCSI.AddTargetPortal(t.Context(), &iscsi.AddTargetPortalRequest{TargetPortal: portalOf(portal)})
		return err
	}, then)
}

func (m *iscsiModel) removePortal(t *rapid.T) {
	portal, then, kind := drawPortal(t), m.copied(), errdefs.None
	if at := m.registration(portal); at >= 0 {
		then.registered = slices.Delete(then.registered, at, at+1)
	} else {
		kind = errdefs.NotFound
	}
	m.change(t, kind, func() error {
		_, err := m.ISCSI.RemoveTargetPortal(t.Context(), &iscsi.RemoveTargetPortalRequest{TargetPortal: portalOf(portal)})
		return err
	}, then)
}

func (m *iscsiModel) setSecret(t *rapid.T) {
	then := m.copied()
	then.secret = rapid.SampledFrom([]string{mutualSecret, "anothersecret"}).Draw(t, "secret")
	before := m.secret
	m.change(t, errdefs.None, func() error {
		_, err := m.ISCSI.SetMutualChapSecret(t.Context(), &iscsi.SetMutualChapSecretRequest{MutualChapSecret: then.secret})
		return err
	}, then)
	if m.secret == before && before != then.secret { // it cannot be told which it is
		want(t, m.setInitiatorSecret(t, then.secret), errdefs.None)
		m.secret = then.secret
	}
}

func (m *iscsiModel) setInitiatorSecret(t *rapid.T, secret string) error {
	_, err := m.ISCSI.SetMutualChapSecret(t.Context(), &iscsi.SetMutualChapSecretRequest{MutualChapSecret: secret})
	return err
}

// connect logs in with a credential that may be right.
func (m *iscsiModel) connect(t *rapid.T) {
	target, portal := drawTarget(t), drawPortal(t)
	req := &iscsi.ConnectTargetRequest{TargetPortal: portalOf(portal), IQN: target}
	if target == chapTarget && rapid.IntRange(0, 4).Draw(t, "CHAP") > 0 {
		req.AuthType = rapid.SampledFrom([]iscsi.AuthenticationType{iscsi.ONE_WAY_CHAP, iscsi.MUTUAL_CHAP}).Draw(t, "type")
		req.ChapUsername = chapUser
		req.ChapSecret = rapid.SampledFrom([]string{m.chapSecret, m.chapSecret, "averylongsecret", "wrongwrongwrong"}).Draw(t, "secret")
	}
	then := m.copied()
	then.sessions = append(then.sessions, session{login{target, portal, req.ChapSecret}, strings.ToLower(req.AuthType.String()), false})
	mine, others := m.sessionsOf(target, portal)
	kind := m.loginKind(req, portal, others)
	if len(mine) > 0 {
		then, kind = m.copied(), errdefs.Unavailable
		if slices.ContainsFunc(mine, func(s session) bool { return !m.down[s.portal] }) {
			kind = errdefs.None
		}
	}
	m.change(t, kind, func() error {
		_, err := m.ISCSI.ConnectTarget(t.Context(), req)
		return err
	}, then)
}

// loginKind is how a login ends where there is no session through the portal.
func (m *iscsiModel) loginKind(req *iscsi.ConnectTargetRequest, portal string, others []session) errdefs.Kind {
	chap := req.IQN == chapTarget
	switch {
	case !m.offers(portal, req.IQN):
		return errdefs.NotFound
	case len(others) > 0 && !m.multipath:
		return errdefs.FailedPrecondition
	case m.down[portal]:
		return errdefs.Unavailable
	case req.AuthType == iscsi.MUTUAL_CHAP && m.secret == "":
		return errdefs.FailedPrecondition
	case chap && (req.AuthType == iscsi.NONE || req.ChapSecret != m.chapSecret),
		req.AuthType == iscsi.MUTUAL_CHAP && m.secret != mutualSecret:
		return errdefs.PermissionDenied
	}
	return errdefs.None
}

// disconnect closes each session through a portal, after Windows has forgotten
// it.
func (m *iscsiModel) disconnect(t *rapid.T) {
	target, portal := drawTarget(t), drawPortal(t)
	if len(m.sessions) > 0 && rapid.IntRange(0, 3).Draw(t, "not connected") > 0 {
		s := rapid.SampledFrom(m.sessions).Draw(t, "session")
		target, portal = s.target, s.portal
	}
	mine, _ := m.sessionsOf(target, portal)
	kind, states := errdefs.None, []initiator{m.copied()}
	if len(mine) == 0 && !m.offers(portal, target) {
		kind = errdefs.NotFound
	}
	for _, s := range mine {
		for _, i := range states {
			states = append(states, i.forgetting(s))
		}
		for _, i := range states {
			states = append(states, i.forgetting(s).without(s.login))
		}
	}
	m.change(t, kind, func() error {
		_, err := m.ISCSI.DisconnectTarget(t.Context(), &iscsi.DisconnectTargetRequest{TargetPortal: portalOf(portal), IQN: target})
		return err
	}, states...)
}

// forgetting is the initiator when a session is not persistent any more.
func (i initiator) forgetting(s session) initiator {
	then := i.copied()
	for at, is := range then.sessions {
		if is.login == s.login && is.persistent {
			then.sessions[at].persistent = false
			then.logins = slices.DeleteFunc(then.logins, func(l login) bool { return l == s.login })
		}
	}
	return then
}

func (i initiator) without(l login) initiator {
	then := i.copied()
	then.sessions = slices.DeleteFunc(then.sessions, func(s session) bool { return s.login == l })
	return then
}

// logInElsewhere is another program that makes a persistent session.
func (m *iscsiModel) logInElsewhere(t *rapid.T) {
	l := login{drawTarget(t), drawPortal(t), ""}
	if l.target == chapTarget {
		l.secret = m.chapSecret
	}
	same := func(o login) bool { return o.target == l.target && (o.portal == l.portal || !m.multipath) }
	if !m.knows(l.target) || m.down[l.portal] || !slices.Contains(offeredBy(l.portal), l.target) ||
		slices.ContainsFunc(m.sessions, func(s session) bool { return same(s.login) }) || slices.ContainsFunc(m.logins, same) {
		t.Skip("it cannot")
	}
	want(t, m.node.AddISCSISession(l.target, l.portal, true), errdefs.None)
	m.sessions = append(m.sessions, session{l, authOf(l.target), true})
	m.logins = append(m.logins, l)
}

func (m *iscsiModel) changeSecret(t *rapid.T) {
	m.chapSecret = "secret-" + strconv.Itoa(rapid.IntRange(10000, 99999).Draw(t, "secret"))
	want(t, m.node.SetISCSISecret(chapTarget, m.chapSecret), errdefs.None)
}

func (m *iscsiModel) togglePortal(t *rapid.T) {
	portal := drawPortal(t)
	m.down[portal] = !m.down[portal]
	want(t, m.node.SetISCSIPortal(portal, !m.down[portal]), errdefs.None)
}

// check compares all that the group tells, and the node, with the model.
func (m *iscsiModel) check(t *rapid.T) {
	if found := m.found(); found != m.text(m.initiator) {
		t.Fatalf("the node has\n%swant\n%s", found, m.text(m.initiator))
	}
	m.checkPortal(t, drawPortal(t))
	m.checkDisks(t, drawTarget(t), drawPortal(t))
	for _, s := range m.sessions {
		m.checkDisks(t, s.target, s.portal)
	}
	want(t, blocking.On(m.node.Host()).Clean(), errdefs.None)
	if n := m.node.OpenHandles(); n != 0 {
		t.Fatalf("%d handles open", n)
	}
	if v := m.node.Violations(); len(v) > 0 {
		t.Fatalf("%q", v)
	}
}

func (m *iscsiModel) checkPortal(t *rapid.T, portal string) {
	got, err := m.ISCSI.DiscoverTargetPortal(t.Context(), &iscsi.DiscoverTargetPortalRequest{TargetPortal: portalOf(portal)})
	at := m.registration(portal)
	if at < 0 {
		want(t, err, errdefs.NotFound)
		return
	}
	want(t, err, errdefs.None)
	if names := m.registered[at].offered; !maps.Equal(set(got.IQNs), set(names)) {
		t.Fatalf("%s offers %q, want %q", portal, got.IQNs, names)
	}
}

func set(names []string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

func (m *iscsiModel) checkDisks(t *rapid.T, target, portal string) {
	got, err := m.ISCSI.GetTargetDisks(t.Context(), &iscsi.GetTargetDisksRequest{TargetPortal: portalOf(portal), IQN: target})
	mine, _ := m.sessionsOf(target, portal)
	if len(mine) == 0 && !m.offers(portal, target) {
		want(t, err, errdefs.NotFound)
		return
	}
	want(t, err, errdefs.None)
	numbers := map[string]bool{}
	names := disksOf(target)
	for _, name := range names {
		if number, attached := m.node.DiskNumber(name); attached {
			numbers[strconv.FormatUint(uint64(number), 10)] = true
		}
	}
	switch {
	case len(mine) == 0 && len(got.DiskIDs) > 0:
		t.Fatalf("%s is not connected and has disks %q", target, got.DiskIDs)
	case len(mine) > 0 && (len(numbers) != len(names) || !maps.Equal(set(got.DiskIDs), numbers)):
		t.Fatalf("%s has disks %q, want %v", target, got.DiskIDs, numbers)
	}
}

func TestModel_ISCSI(t *testing.T) {
	checkModel(t, 20, func(t *rapid.T) {
		m := newISCSIModel(t)
		defer func() { wmi.On(m.node.Host()).Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"addPortal": m.addPortal, "removePortal": m.removePortal, "setSecret": m.setSecret,
			"connect": m.connect, "connectMore": m.connect, "disconnect": m.disconnect,
			"logInElsewhere": m.logInElsewhere, "changeSecret": m.changeSecret, "togglePortal": m.togglePortal,
			"restart": m.restart, "reboot": m.reboot,
			"": m.check,
		})
	})
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// iscsiNode is the node's initiator with the network around it. Guarded by
// Node.mu.
type iscsiNode struct {
	used      bool // the node is described with iSCSI
	initiator string
	secret    string // the initiator's own, for mutual CHAP
	mpio      bool

	portals []*iscsiPortal // of the network
	targets []*iscsiTarget

	registered []*iscsiRegistration // Windows keeps them over a reboot
	sessions   []*iscsiSession
	logins     []iscsiLogin // to be made again after a reboot
	serial     int          // sessions so far
}

type iscsiPortal struct {
	address string
	port    uint16
	down    bool
}

type iscsiTarget struct {
	name                       string
	portals                    []*iscsiPortal
	user, secret, mutualSecret string
	luns                       []*disk
	arrival                    time.Duration
	redirects                  string // the address from which it answers; "" the portal's
}

// iscsiRegistration is a portal that the initiator knows.
type iscsiRegistration struct {
	portal  *iscsiPortal
	address string   // as it was given
	found   []string // what it offered when it was last asked
}

type iscsiSession struct {
	id         string
	target     *iscsiTarget
	portal     *iscsiPortal
	auth       string
	login      iscsiLogin
	persistent bool
	lost       bool // its connection broke, and Windows tries to renew it
	attached   bool // its disks have arrived
}

// iscsiLogin is what a login says.
type iscsiLogin struct {
	target       string
	address      string
	port         uint16
	auth         string // NONE, ONEWAYCHAP, MUTUALCHAP
	user, secret string
	multipath    bool
}

// The length of CHAP secrets in bytes (windows-api.md 10.3).
const (
	iscsiSecretMin = 12
	iscsiSecretMax = 16
)

// iscsiRuns reports whether the initiator's service runs.
func (n *Node) iscsiRuns() bool {
	s, ok := n.serviceNamed("MSiSCSI")
	return ok && s.state == win.SERVICE_RUNNING
}

// target finds a target of the network.
func (i *iscsiNode) target(name string) *iscsiTarget {
	at := slices.IndexFunc(i.targets, func(t *iscsiTarget) bool { return strings.EqualFold(t.name, name) })
	if at < 0 {
		return nil
	}
	return i.targets[at]
}

// registration finds a registered portal.
func (i *iscsiNode) registration(address string, port uint16) *iscsiRegistration {
	for _, r := range i.registered {
		if r.portal.port == port && sameAddress(r.address, address) {
			return r
		}
	}
	return nil
}

// register lets the initiator know a portal and ask it for its targets.
func (i *iscsiNode) register(p *iscsiPortal, address string) {
	r := &iscsiRegistration{portal: p, address: address}
	i.registered = append(i.registered, r)
	i.discover(r)
}

// discover asks a portal for its targets (SendTargets).
func (i *iscsiNode) discover(r *iscsiRegistration) {
	r.found = nil
	for _, t := range i.targets {
		if slices.Contains(t.portals, r.portal) {
			r.found = append(r.found, t.name)
		}
	}
}

// knownTargets are the names that the initiator has discovered or is connected
// to, once each (windows-api.md 10.2).
func (i *iscsiNode) knownTargets() []string {
	var names []string
	for _, r := range i.registered {
		names = append(names, r.found...)
	}
	for _, s := range i.sessions {
		names = append(names, s.target.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (i *iscsiNode) sessionsOf(target string) []*iscsiSession {
	var list []*iscsiSession
	for _, s := range i.sessions {
		if strings.EqualFold(s.target.name, target) {
			list = append(list, s)
		}
	}
	return list
}

// addPortal registers a portal that answers.
func (n *Node) addPortal(address string, port uint16) error {
	i := &n.iscsi
	if i.registration(address, port) != nil {
		if n.switches.ISCSIPortalAgain {
			return nil
		}
		return win.ISDSC_PORTAL_ALREADY_EXISTS
	}
	p := i.portalAt(address, port)
	if p == nil || p.down {
		return win.ISDSC_CONNECTION_FAILED
	}
	i.register(p, address)
	return nil
}

// connectTarget logs in to a target (windows-api.md 10.2, 10.3).
func (n *Node) connectTarget(l iscsiLogin, persistent bool) (*iscsiSession, error) {
	i := &n.iscsi
	t := i.target(l.target)
	if t == nil || !slices.Contains(i.knownTargets(), t.name) {
		return nil, win.ISDSC_TARGET_NOT_FOUND
	}
	p := i.portalAt(l.address, l.port)
	others := i.sessionsOf(l.target)
	switch {
	case len(others) > 0 && !l.multipath:
		return nil, win.ISDSC_TARGET_ALREADY_LOGGED_IN
	case p == nil || p.down:
		return nil, win.ISDSC_CONNECTION_FAILED
	case !slices.Contains(t.portals, p):
		return nil, win.ISDSC_NOT_FOUND
	case len(others) > 0 && !i.mpio:
		n.violate("two sessions to " + t.name + " without a multipath driver: the same disk twice")
	}
	if err := i.authenticate(t, l); err != nil {
		return nil, err
	}
	i.serial++
	s := &iscsiSession{
		id: fmt.Sprintf("ffffac0cacbff010-40000137%08x", i.serial), target: t, portal: p, auth: l.auth, login: l, persistent: persistent,
	}
	i.sessions = append(i.sessions, s)
	if persistent {
		i.logins = append(i.logins, l)
	}
	n.arriveLater(s)
	return s, nil
}

// authenticate is CHAP: the initiator proves itself with the target's user and
// secret, and with mutual CHAP the target with the initiator's secret.
func (i *iscsiNode) authenticate(t *iscsiTarget, l iscsiLogin) error {
	chap := l.auth == "ONEWAYCHAP" || l.auth == "MUTUALCHAP"
	switch {
	case !chap && l.auth != "NONE":
		return win.ISDSC_INVALID_AUTHENTICATION_TYPE
	case chap && len(l.secret) < iscsiSecretMin:
		return win.ISDSC_SHORT_CHAP_SECRET
	case chap && len(l.secret) > iscsiSecretMax:
		return win.ISDSC_INVALID_CHAP_SECRET
	case l.auth == "MUTUALCHAP" && i.secret == "":
		return win.ISDSC_NO_AUTH_INFO
	case chap != (t.secret != ""),
		chap && (l.secret != t.secret || or(l.user, i.initiator) != or(t.user, i.initiator)),
		l.auth == "MUTUALCHAP" && i.secret != t.mutualSecret:
		return win.ISDSC_AUTHENTICATION_FAILURE
	}
	return nil
}

// arriveLater lets the disks of a session arrive.
func (n *Node) arriveLater(s *iscsiSession) {
	if s.target.arrival == 0 {
		n.arrive(s)
		return
	}
	time.AfterFunc(s.target.arrival, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if slices.Contains(n.iscsi.sessions, s) {
			n.arrive(s)
		}
	})
}

func (n *Node) arrive(s *iscsiSession) {
	s.attached = true
	for _, d := range s.target.luns {
		if !d.present {
			n.attach(d)
		}
	}
}

// disconnectTarget ends a session. Its disks go with the last one of the target,
// and while one of them is in use Windows refuses (windows-api.md 10.2).
func (n *Node) disconnectTarget(s *iscsiSession) error {
	last := len(n.iscsi.sessionsOf(s.target.name)) == 1
	if last && slices.ContainsFunc(s.target.luns, n.inUse) {
		return win.ISDSC_DEVICE_BUSY_ON_SESSION
	}
	n.endSession(s)
	return nil
}

func (n *Node) endSession(s *iscsiSession) {
	n.iscsi.sessions = slices.DeleteFunc(n.iscsi.sessions, func(o *iscsiSession) bool { return o == s })
	if len(n.iscsi.sessionsOf(s.target.name)) > 0 {
		return
	}
	for _, d := range s.target.luns {
		if d.present {
			n.detach(d)
		}
	}
}

// inUse reports whether a volume of a disk that is online is mounted.
func (n *Node) inUse(d *disk) bool {
	if !d.present || d.offline {
		return false
	}
	return slices.ContainsFunc(d.partitions, func(p *partition) bool {
		return n.answers(p.volume) && len(n.pathsOf(p.volume)) > 0
	})
}

// forgetLogin takes a session out of those that are made again after a reboot.
func (n *Node) forgetLogin(s *iscsiSession) {
	s.persistent = false
	n.iscsi.logins = slices.DeleteFunc(n.iscsi.logins, func(l iscsiLogin) bool { return l == s.login })
}

// rebootISCSI ends all sessions. Portals stay registered and are asked again,
// and persistent logins are made again where the service starts by itself.
func (n *Node) rebootISCSI() {
	i := &n.iscsi
	for _, s := range slices.Clone(i.sessions) {
		n.endSession(s)
	}
	for _, r := range i.registered {
		if r.found = nil; !r.portal.down {
			i.discover(r)
		}
	}
	logins := i.logins
	i.logins = nil
	for _, l := range logins {
		if !n.iscsiRuns() {
			i.logins = append(i.logins, l)
			continue
		}
		if _, err := n.connectTarget(l, true); err != nil {
			i.logins = append(i.logins, l) // Windows goes on trying
		}
	}
}

// AddISCSISession logs in to a target through a portal of the network,
// "address:port", as other software does that knows the target's secret, a
// further time where the node has multipath. A persistent session comes back
// after a reboot.
func (n *Node) AddISCSISession(target, portal string, persistent bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	t, p := n.iscsi.target(target), n.iscsi.portalNamed(portal)
	if t == nil || p == nil {
		return fmt.Errorf("iSCSI target %q, portal %q: one of the two is not described", target, portal)
	}
	l := iscsiLogin{target: t.name, address: p.address, port: p.port, auth: "NONE", multipath: n.iscsi.mpio}
	if t.secret != "" {
		l.auth, l.user, l.secret = "ONEWAYCHAP", t.user, t.secret
	}
	_, err := n.connectTarget(l, persistent)
	return err
}

// SetISCSIPortal makes a portal of the network, "address:port", answer or not.
// The sessions through a portal that does not answer are lost, and come back
// with it; their disks stay.
func (n *Node) SetISCSIPortal(name string, up bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.iscsi.portalNamed(name)
	if p == nil {
		return fmt.Errorf("no iSCSI portal %q is described", name)
	}
	p.down = !up
	for _, s := range n.iscsi.sessions {
		if s.portal == p {
			s.lost = p.down
		}
	}
	return nil
}

// SetISCSISecret changes the CHAP secret of a target. Sessions that are there
// stay.
func (n *Node) SetISCSISecret(target, secret string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.iscsi.target(target)
	if t == nil {
		return fmt.Errorf("no iSCSI target %q is described", target)
	}
	t.secret = secret
	return nil
}

// endpoint is where a session's connection leads.
func (s *iscsiSession) endpoint() (address string, port uint16) {
	return or(s.target.redirects, s.portal.address), s.portal.port
}

func (r *iscsiRegistration) String() string { return endpointText(r.address, r.portal.port) }

func endpointText(address string, port uint16) string {
	if a, err := netip.ParseAddr(address); err == nil && a.Is6() {
		address = "[" + address + "]"
	}
	return fmt.Sprintf("%s:%d", address, port)
}

// iscsi describes the initiator without its secrets.
func (s *snapshot) iscsi(n *Node) {
	i := &n.iscsi
	if !i.used {
		return
	}
	secret := "no secret of its own"
	if i.secret != "" {
		secret = "with a secret of its own"
	}
	s.line("iSCSI initiator: %s, %s", i.initiator, secret)
	for _, r := range i.registered {
		plural := "s"
		if len(r.found) == 1 {
			plural = ""
		}
		s.line("iSCSI portal %s: offers %d target%s", r, len(r.found), plural)
	}
	for _, session := range i.sessions {
		s.line("iSCSI session of %s through %s: %s", session.target.name, endpointText(session.portal.address, session.portal.port), session.describe())
	}
}

func (s *iscsiSession) describe() string {
	words := []string{strings.ToLower(s.auth)}
	for _, w := range []struct {
		word string
		is   bool
	}{{"multipath", s.login.multipath}, {"persistent", s.persistent}, {"lost", s.lost}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ", ")
}

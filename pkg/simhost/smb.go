// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// SMBServerSpec describes a file server that the node can reach.
type SMBServerSpec struct {
	// Name is the host, as in \\name\share.
	Name   string         `json:"name"`
	Shares []SMBShareSpec `json:"shares"`
	Users  []SMBUserSpec  `json:"users,omitempty"`
	// WithoutEncryption is a server that cannot do what RequirePrivacy wants
	// (field-reports.md M11).
	WithoutEncryption bool `json:"withoutEncryption,omitempty"`
	// Guest lets in whom the server does not know, to shares that name no users.
	Guest bool `json:"guest,omitempty"`
	// KnowsNode is a server in the node's domain: it lets the node's own account
	// in, to shares that name no users.
	KnowsNode bool `json:"knowsNode,omitempty"`
}

// SMBShareSpec describes a share.
type SMBShareSpec struct {
	Name string `json:"name"`
	// Users may use the share; nil means everyone whom the server lets in.
	Users []string `json:"users,omitempty"`
	// Directories exist from the start, as dir\sub.
	Directories []string `json:"directories,omitempty"`
}

// SMBUserSpec is an account of a file server. Name may be of the form
// DOMAIN\user or user@domain; it is matched as a whole, in any case.
type SMBUserSpec struct {
	Name     string `json:"name"`
	Password string `json:"password"`
}

// SMBCredential is what a server was shown. Both are "" for the null session.
type SMBCredential struct{ User, Password string }

// smbNetwork is the file servers around a node and its mappings of their
// shares. Guarded by Node.mu.
type smbNetwork struct {
	servers  map[string]*smbServer // by folded host
	mappings []*smbMapping
}

// smbServer is a file server.
type smbServer struct {
	name                    string
	shares                  map[string]*smbShare // by folded name
	users                   map[string]string    // passwords by folded name
	encrypts, guest, domain bool
	failure                 win.Errno     // what it answers to everything; 0: it works
	silent                  chan struct{} // closed when it answers again; nil: it does
	shown                   []SMBCredential
}

// smbShare is a share: a file system of the server's.
type smbShare struct {
	name   string
	users  []string // folded; nil: everyone
	volume *volume
}

// credential is as whom somebody comes.
type credential struct {
	own            bool // the node's own account
	user, password string
}

// Values of MSFT_SmbGlobalMapping.Status (cim-schema.json).
const (
	smbOK uint32 = iota
	smbPaused
	smbDisconnected
	smbNetworkError
	smbConnecting
	smbReconnecting
	smbUnavailable
)

var smbStatusNames = [...]string{"OK", "paused", "disconnected", "network error", "connecting", "reconnecting", "unavailable"}

// smbMapping is a global mapping: a share with a credential.
type smbMapping struct {
	localPath, remotePath string
	host, share           string // folded
	credential            credential
	lost                  bool // the credential has not survived a reboot
	privacy, integrity    bool
	persistent            bool
	status                uint32
}

// silence is the failure to get an answer. Whoever may wait does so until it
// ends, without the node's lock.
type silence struct{ ends <-chan struct{} }

func (*silence) Error() string { return "the file server does not answer" }
func (*silence) Unwrap() error { return win.ERROR_SEM_TIMEOUT }

// patiently runs do under the node's lock, and again when a file server that it
// needed answers.
func (n *Node) patiently(do func() error) error {
	for {
		n.mu.Lock()
		err := do()
		n.mu.Unlock()
		var s *silence
		if !errors.As(err, &s) {
			return err
		}
		<-s.ends
	}
}

// addSMBServer makes a described server.
func (n *Node) addSMBServer(spec SMBServerSpec) error {
	key := foldHost(spec.Name)
	if key == "" || n.smb.servers[key] != nil {
		return fmt.Errorf("smb server %q: no name, or one that is taken", spec.Name)
	}
	s := &smbServer{
		name: spec.Name, shares: map[string]*smbShare{}, users: map[string]string{},
		encrypts: !spec.WithoutEncryption, guest: spec.Guest, domain: spec.KnowsNode,
	}
	for _, user := range spec.Users {
		s.users[foldHost(user.Name)] = user.Password
	}
	for _, share := range spec.Shares {
		built, err := n.newShare(s, share)
		if err != nil {
			return fmt.Errorf(`smb share \\%s\%s: %w`, spec.Name, share.Name, err)
		}
		s.shares[foldHost(share.Name)] = built
	}
	if n.smb.servers == nil {
		n.smb.servers = map[string]*smbServer{}
	}
	n.smb.servers[key] = s
	return nil
}

func (n *Node) newShare(s *smbServer, spec SMBShareSpec) (*smbShare, error) {
	share := &smbShare{name: spec.Name, volume: &volume{
		id: n.newGUID(), present: true, fs: "NTFS", fsSize: int64(TiB), unitSize: 4096, tree: newTree(),
		remote: `UNC\` + s.name + `\` + spec.Name + `\`,
	}}
	if err := checkName(spec.Name); err != nil {
		return nil, err
	}
	for _, user := range spec.Users {
		share.users = append(share.users, foldHost(user))
	}
	for _, directory := range spec.Directories {
		if err := share.volume.tree.makeAll(strings.Split(directory, `\`)); err != nil {
			return nil, fmt.Errorf("directory %q: %w", directory, err)
		}
	}
	return share, nil
}

// makeAll makes a directory and its parents.
func (t *tree) makeAll(names []string) error {
	at := t.root
	for _, name := range names {
		next := at.child(name)
		if next == nil {
			var err error
			if next, err = t.create(at, name, true); err != nil {
				return err
			}
		}
		at = next
	}
	return nil
}

// reach finds a server that answers.
func (n *Node) reach(host string) (*smbServer, error) {
	s := n.smb.servers[foldHost(host)]
	switch {
	case s == nil:
		return nil, win.ERROR_BAD_NETPATH
	case s.silent != nil:
		return nil, &silence{s.silent}
	case s.failure != 0:
		return nil, s.failure
	}
	return s, nil
}

// enter lets somebody into a share: first the logon, then the share.
func (n *Node) enter(host, share string, as credential) (*smbShare, error) {
	s, err := n.reach(host)
	if err != nil {
		return nil, err
	}
	if !as.own {
		s.shown = append(s.shown, SMBCredential{as.user, as.password})
	}
	account, err := s.logOn(as, n.switches.SMBWrongPassword86)
	if err != nil {
		return nil, err
	}
	found := s.shares[foldHost(share)]
	switch {
	case found == nil:
		return nil, win.ERROR_BAD_NET_NAME
	case found.users != nil && !slices.Contains(found.users, account):
		return nil, win.ERROR_ACCESS_DENIED
	}
	return found, nil
}

// logOn is the account of a credential, "" for guests and the node's own. That
// a server which does not know the node denies access is an assumption [K].
func (s *smbServer) logOn(as credential, says86 bool) (string, error) {
	account := foldHost(strings.TrimPrefix(as.user, `.\`))
	password, known := s.users[account]
	switch {
	case as.own && s.domain:
		return "", nil
	case as.own:
		return "", win.ERROR_ACCESS_DENIED
	case known && as.user != "" && password == as.password:
		return account, nil
	case !known && s.guest:
		return "", nil
	case says86:
		return "", win.ERROR_INVALID_PASSWORD
	}
	return "", win.ERROR_LOGON_FAILURE
}

// locateShare reads the part of a path behind \\?\UNC\ and lets this process in:
// with the credential of the mapping, if there is one, else as the node itself.
func (n *Node) locateShare(path string) (location, error) {
	host, rest, _ := strings.Cut(path, `\`)
	name, rest, _ := strings.Cut(rest, `\`)
	share, err := n.visit(host, name)
	if err != nil {
		return location{}, err
	}
	if rest == "" {
		return newLocation(share.volume, nil)
	}
	return newLocation(share.volume, strings.Split(strings.TrimSuffix(rest, `\`), `\`))
}

// visit uses a share as any process of the node does: global mappings serve all
// (windows-api.md 9.1). An idle one connects again.
func (n *Node) visit(host, share string) (*smbShare, error) {
	m := n.mappingOf(host, share)
	if m == nil {
		return n.enter(host, share, credential{own: true})
	}
	switch m.status {
	case smbNetworkError:
		return nil, win.ERROR_UNEXP_NET_ERR
	case smbConnecting, smbReconnecting, smbUnavailable:
		return nil, win.ERROR_NETNAME_DELETED
	case smbDisconnected:
		return n.reconnect(m)
	}
	s, err := n.reach(host)
	if err != nil {
		if _, silent := err.(*silence); !silent { //nolint:errorlint // from reach itself
			m.status = smbDisconnected
		}
		return nil, err
	}
	found := s.shares[m.share]
	if found == nil {
		return nil, win.ERROR_BAD_NET_NAME
	}
	return found, nil
}

func (n *Node) reconnect(m *smbMapping) (*smbShare, error) {
	if m.lost { // field-reports.md M01
		return nil, win.ERROR_NO_SUCH_LOGON_SESSION
	}
	share, err := n.enter(m.host, m.share, m.credential)
	if err == nil {
		m.status = smbOK
	}
	return share, err
}

// foldHost is the key of a host, share or user.
func foldHost(name string) string { return strings.ToLower(name) }

func (n *Node) mappingOf(host, share string) *smbMapping {
	for _, m := range n.smb.mappings {
		if m.host == foldHost(host) && m.share == foldHost(share) {
			return m
		}
	}
	return nil
}

// map makes a mapping, as the redirector does (windows-api.md 9.4).
func (n *Node) mapShare(m *smbMapping) error {
	for _, other := range n.smb.mappings {
		if other.host == m.host && (other.credential != m.credential || other.lost) {
			return win.ERROR_SESSION_CREDENTIAL_CONFLICT
		}
	}
	for _, other := range n.smb.mappings {
		if other.host == m.host && other.share == m.share && strings.EqualFold(other.localPath, m.localPath) {
			return win.ERROR_ALREADY_ASSIGNED
		}
	}
	if _, err := n.enter(m.host, m.share, m.credential); err != nil {
		return err
	}
	if m.privacy && !n.smb.servers[m.host].encrypts {
		return win.ERROR_NOT_SUPPORTED // the code is an assumption [K]
	}
	n.smb.mappings = append(n.smb.mappings, m)
	return nil
}

// splitShare reads \\host\share, which must be just that.
func splitShare(remote string) (host, share string, ok bool) {
	names, ok := strings.CutPrefix(remote, `\\`)
	host, share, found := strings.Cut(names, `\`)
	ok = ok && found && host != "" && share != "" && !strings.ContainsAny(share, `\/`) && !strings.Contains(host, "/")
	return foldHost(host), foldHost(share), ok
}

// rebootSMB is what a reboot leaves of the mappings: the persistent ones, which
// have lost their credential (field-reports.md M01, M02).
func (n *Node) rebootSMB() {
	n.smb.mappings = slices.DeleteFunc(n.smb.mappings, func(m *smbMapping) bool { return !m.persistent })
	for _, m := range n.smb.mappings {
		m.status, m.lost = smbDisconnected, true
	}
}

// smb describes the mappings and the files of the servers. It names no user.
func (s *snapshot) smb(n *Node) {
	for _, server := range n.sortedServers() {
		for _, key := range slices.Sorted(maps.Keys(server.shares)) {
			share := server.shares[key]
			s.entries(`\\`+server.name+`\`+share.name+`\`, share.volume.tree.root)
		}
	}
	mappings := slices.Clone(n.smb.mappings)
	slices.SortFunc(mappings, func(a, b *smbMapping) int { return strings.Compare(a.key(), b.key()) })
	for _, m := range mappings {
		s.line("smb mapping %s: %s", m.key(), m.describe(n))
	}
}

func (m *smbMapping) key() string {
	if m.localPath != "" {
		return m.remotePath + " on " + m.localPath
	}
	return m.remotePath
}

func (m *smbMapping) describe(n *Node) string {
	words := []string{smbStatusNames[m.status]}
	for _, w := range []struct {
		word string
		is   bool
	}{
		{"encrypted", m.privacy},
		{"signed", m.integrity},
		{"persistent", m.persistent},
		{"its credential is lost", m.lost},
		{"its credential is not good any more", !m.lost && !m.good(n)},
	} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ", ")
}

// good reports whether the server would let the mapping in.
func (m *smbMapping) good(n *Node) bool {
	s := n.smb.servers[m.host]
	if s == nil {
		return false
	}
	_, err := s.logOn(m.credential, false)
	return err == nil
}

func (n *Node) sortedServers() []*smbServer {
	var servers []*smbServer
	for _, key := range slices.Sorted(maps.Keys(n.smb.servers)) {
		servers = append(servers, n.smb.servers[key])
	}
	return servers
}

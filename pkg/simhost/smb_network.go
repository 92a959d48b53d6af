// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// The methods below are the network's side, and what other software has left.

// withServer runs f on a described server.
func (n *Node) withServer(name string, f func(*smbServer)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.smb.servers[foldHost(name)]
	if s == nil {
		return fmt.Errorf("no smb server %q is described", name)
	}
	f(s)
	return nil
}

// AddSMBServer describes one more file server.
func (n *Node) AddSMBServer(spec SMBServerSpec) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.addSMBServer(spec)
}

// SetSMBPassword gives an account of a server a password, and makes the account
// where there is none. Sessions go on until they are dropped.
func (n *Node) SetSMBPassword(server, user, password string) error {
	return n.withServer(server, func(s *smbServer) { s.users[foldHost(user)] = password })
}

// RemoveSMBUser takes an account away.
func (n *Node) RemoveSMBUser(server, user string) error {
	return n.withServer(server, func(s *smbServer) { delete(s.users, foldHost(user)) })
}

// SetSMBEncryption turns a server's encryption on or off.
func (n *Node) SetSMBEncryption(server string, on bool) error {
	return n.withServer(server, func(s *smbServer) { s.encrypts = on })
}

// FailSMBServer makes a server answer everything with a code, such as 53 or 64,
// until it is 0 again.
func (n *Node) FailSMBServer(server string, code uint32) error {
	return n.withServer(server, func(s *smbServer) { s.failure = win.Errno(code) })
}

// HangSMBServer makes a server answer nothing at all until release is called.
func (n *Node) HangSMBServer(server string) (release func(), err error) {
	silent := make(chan struct{})
	err = n.withServer(server, func(s *smbServer) { s.silent = silent })
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if s := n.smb.servers[foldHost(server)]; s != nil && s.silent == silent {
			s.silent = nil
			close(silent)
		}
	}, err
}

// DropSMBSessions ends the sessions with a server: mappings are disconnected and
// log on again when they are next used.
func (n *Node) DropSMBSessions(server string) error {
	return n.withServer(server, func(*smbServer) {
		for _, m := range n.smb.mappings {
			if m.host == foldHost(server) && m.status == smbOK {
				m.status = smbDisconnected
			}
		}
	})
}

// ShownToSMBServer lists the credentials that a server was shown, in order.
func (n *Node) ShownToSMBServer(server string) []SMBCredential {
	var shown []SMBCredential
	if err := n.withServer(server, func(s *smbServer) { shown = slices.Clone(s.shown) }); err != nil {
		return nil
	}
	return shown
}

// SMBMapping is a mapping that the node has.
type SMBMapping struct {
	LocalPath, RemotePath string
	Credential            SMBCredential
	Own                   bool // made as the node itself
	Status                uint32
	Privacy, Integrity    bool
	Persistent            bool // survives a reboot, without its credential
}

// SMBMappings lists the mappings in the order in which they were made.
func (n *Node) SMBMappings() []SMBMapping {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]SMBMapping, len(n.smb.mappings))
	for i, m := range n.smb.mappings {
		list[i] = SMBMapping{
			m.localPath, m.remotePath,
			SMBCredential{m.credential.user, m.credential.password},
			m.credential.own, m.status, m.privacy, m.integrity, m.persistent,
		}
	}
	return list
}

// AddSMBMapping makes a mapping as other software has left it, whatever the
// server says.
func (n *Node) AddSMBMapping(m SMBMapping) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	host, share, ok := splitShare(m.RemotePath)
	if !ok || m.Status > smbUnavailable {
		return fmt.Errorf("no mapping of %q in state %d", m.RemotePath, m.Status)
	}
	n.smb.mappings = append(n.smb.mappings, &smbMapping{
		localPath: m.LocalPath, remotePath: m.RemotePath, host: host, share: share,
		credential: credential{m.Own, m.Credential.User, m.Credential.Password},
		privacy:    m.Privacy, integrity: m.Integrity, persistent: m.Persistent, status: m.Status,
	})
	return nil
}

// SetSMBStatus puts the mappings of a share into a state, by its number in WMI.
func (n *Node) SetSMBStatus(remotePath string, status uint32) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	host, share, _ := splitShare(remotePath)
	m := n.mappingOf(host, share)
	if m == nil || status > smbUnavailable {
		return fmt.Errorf("no mapping of %q, or no state %d", remotePath, status)
	}
	m.status = status
	return nil
}

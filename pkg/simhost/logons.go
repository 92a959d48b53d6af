// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// logons is the node's [win.Logons].
type logons struct{ node *Node }

// Logon takes any user and password: nobody looks at them before they are used.
func (l logons) Logon(user, domain, password string) (win.Logon, error) {
	l.node.mu.Lock()
	defer l.node.mu.Unlock()
	if domain != "" {
		user = domain + `\` + user
	}
	l.node.opened()
	return &logon{node: l.node, as: credential{user: user, password: password}}, nil
}

// logon is a session with other credentials than the node's.
type logon struct {
	node   *Node
	as     credential
	closed bool
}

// Open opens a path on a file server with the session's own credential, past the
// mappings, unless the switch says that these serve this session too.
func (l *logon) Open(path string) error {
	return l.node.patiently(func() error {
		rest, ok := strings.CutPrefix(path, `\\?\UNC\`)
		switch {
		case l.closed:
			return win.ERROR_INVALID_HANDLE
		case !ok:
			return win.ERROR_PATH_NOT_FOUND // local files are not modelled here
		}
		host, rest, _ := strings.Cut(rest, `\`)
		name, rest, _ := strings.Cut(rest, `\`)
		share, err := l.visit(host, name)
		if err != nil || rest == "" {
			return err
		}
		at, err := newLocation(share.volume, strings.Split(strings.TrimSuffix(rest, `\`), `\`))
		if err != nil {
			return err
		}
		p, _, _, err := at.walk(false)
		if err == nil && p.entry == nil {
			return win.ERROR_FILE_NOT_FOUND
		}
		return err
	})
}

func (l *logon) visit(host, share string) (*smbShare, error) {
	if l.node.switches.SMBMappingServesAll && l.node.mappingOf(host, share) != nil {
		return l.node.visit(host, share)
	}
	return l.node.enter(host, share, l.as)
}

func (l *logon) Close() error {
	l.node.mu.Lock()
	defer l.node.mu.Unlock()
	if l.closed {
		return win.ERROR_INVALID_HANDLE
	}
	l.closed = true
	l.node.closed()
	return nil
}

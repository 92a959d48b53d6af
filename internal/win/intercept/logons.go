// SPDX-License-Identifier: Apache-2.0

package intercept

import "github.com/kubernetes-csi/csi-proxy/v2/internal/win"

type logons struct {
	inner  win.Logons
	around Around
}

// Logon has no subject: whose session it is belongs into no list of calls.
func (l *logons) Logon(user, domain, password string) (win.Logon, error) {
	opened, err := open(l.around, Call{Method: "Logons.Logon"},
		func() (win.Logon, error) { return l.inner.Logon(user, domain, password) },
		func(opened win.Logon) { _ = opened.Close() })
	if err != nil {
		return nil, err
	}
	return &logon{opened, l.around}, nil
}

type logon struct {
	inner  win.Logon
	around Around
}

func (l *logon) Open(path string) error {
	return tell(l.around, Call{Method: "Logon.Open", Subject: path}, func() error { return l.inner.Open(path) })
}

func (l *logon) Close() error { return l.inner.Close() }

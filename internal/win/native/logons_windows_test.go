// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/test/wine"
)

// ownSession is a session with this process's own token, so that impersonation
// itself is tested wherever there are tokens.
func ownSession(t *testing.T) win.Logon {
	t.Helper()
	var token windows.Token
	err := windows.OpenProcessToken(windows.CurrentProcess(), windows.TOKEN_QUERY|windows.TOKEN_DUPLICATE|windows.TOKEN_IMPERSONATE, &token)
	if err != nil {
		t.Fatal(err)
	}
	session := &logon{handle{value: windows.Handle(token)}, newLogons().impersonate}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// newSession is a session as nobody in particular: no one looks at the password
// of a session with new credentials before another machine does.
func newSession(t *testing.T) win.Logon {
	t.Helper()
	session, err := newLogons().Logon("nobody", "nowhere", "no\u00e4 password $\"';&|`:\\")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// As another to others, the session is this process here: it opens what this
// process can open.
func TestLogon_OpensLocally(t *testing.T) {
	t.Run("own token", func(t *testing.T) { opensLocally(t, ownSession(t)) })
	t.Run("new credentials", func(t *testing.T) {
		wine.Need(t, wine.LogonSessions)
		opensLocally(t, newSession(t))
	})
}

func opensLocally(t *testing.T, session win.Logon) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Dir(file), `\\?\` + file} {
		if err := session.Open(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := session.Open(file + " missing"); !errors.Is(err, win.ERROR_FILE_NOT_FOUND) {
		t.Errorf("missing: %v", err)
	}
	if err := session.Open("a\x00b"); !errors.Is(err, win.ERROR_INVALID_NAME) {
		t.Errorf("NUL: %v", err)
	}
	// The thread that impersonated serves nobody else, and ours is as before.
	var token windows.Token
	err := windows.OpenThreadToken(windows.CurrentThread(), windows.TOKEN_QUERY, true, &token)
	if !errors.Is(err, windows.ERROR_NO_TOKEN) {
		t.Errorf("this thread impersonates: %v", err)
	}
}

// A server that is not there is told as such, and not as a refusal.
func TestLogon_UnknownServer(t *testing.T) {
	session := ownSession(t)
	if err := session.Open(`\\?\UNC\csi-proxy-no-such-host.invalid\share\`); !errors.Is(err, wine.UnknownServer()) {
		t.Errorf("got %v", err)
	}
}

func TestLogon_Closed(t *testing.T) {
	session := ownSession(t)
	for range 2 {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := session.Open(`C:\`); !errors.Is(err, win.ERROR_INVALID_HANDLE) {
		t.Errorf("got %v", err)
	}
}

func TestLogons_NUL(t *testing.T) {
	for _, c := range [][3]string{{"a\x00b", "", ""}, {"a", "b\x00c", ""}, {"a", "", "b\x00c"}} {
		if _, err := newLogons().Logon(c[0], c[1], c[2]); !errors.Is(err, win.ERROR_INVALID_NAME) {
			t.Errorf("%q: %v", c, err)
		}
	}
}

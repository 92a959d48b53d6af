// SPDX-License-Identifier: Apache-2.0

package native

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// logons are the exports that x/sys does not wrap.
type logons struct{ logonUser, impersonate *windows.LazyProc }

var _ win.Logons = logons{}

func newLogons() logons {
	dll := windows.NewLazySystemDLL("advapi32.dll")
	return logons{dll.NewProc("LogonUserW"), dll.NewProc("ImpersonateLoggedOnUser")}
}

func (l logons) Logon(user, domain, password string) (win.Logon, error) {
	const (
		newCredentials = 9 // LOGON32_LOGON_NEW_CREDENTIALS
		providerWinNT  = 3 // LOGON32_PROVIDER_WINNT50, which that needs
	)
	if err := find(l.logonUser, l.impersonate); err != nil {
		return nil, err
	}
	name, err := wide(user)
	if err != nil {
		return nil, err
	}
	authority, err := optional(domain)
	if err != nil {
		return nil, err
	}
	secret, err := wide(password)
	if err != nil {
		return nil, err
	}
	defer clear(secret)

	var token windows.Handle
	ok, _, last := l.logonUser.Call(uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(authority)), uintptr(unsafe.Pointer(&secret[0])),
		newCredentials, providerWinNT, uintptr(unsafe.Pointer(&token)))
	if ok == 0 {
		return nil, failure(last)
	}
	return &logon{handle{value: token}, l.impersonate}, nil
}

// optional is a string for a call that takes NULL for none.
func optional(s string) (*uint16, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // NULL is the value
	}
	units, err := wide(s)
	if err != nil {
		return nil, err
	}
	return &units[0], nil
}

// logon owns the token of a session.
type logon struct {
	handle
	impersonate *windows.LazyProc
}

// Open impersonates on a thread of its own: it is locked and never unlocked, so
// that it ends with its goroutine, whatever it was last.
func (l *logon) Open(path string) error {
	name, err := wide(path)
	if err != nil {
		return err
	}
	return l.use(func(token windows.Handle) error {
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- l.openAs(token, &name[0])
		}()
		return <-done
	})
}

func (l *logon) openAs(token windows.Handle, name *uint16) error {
	if ok, _, last := l.impersonate.Call(uintptr(token)); ok == 0 {
		return failure(last)
	}
	defer func() {
		if err := windows.RevertToSelf(); err != nil {
			// Nobody recovers from this on the thread of its own: the process ends.
			panic(fmt.Sprintf("csi-proxy: a thread stays another user: %v", err))
		}
	}()
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	opened, err := windows.CreateFile(name, windows.FILE_READ_ATTRIBUTES, share, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return err
	}
	return windows.CloseHandle(opened)
}

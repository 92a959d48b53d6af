// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// ErrCannotTell says that a credential was neither accepted nor refused.
var ErrCannotTell = errors.New("the credential cannot be verified")

// patience is how long a probe or verification waits for a file server. Windows
// itself gives up on a dead one after some 20 seconds or more.
const patience = 15 * time.Second

func (h *host) Probe(ctx context.Context, share winpath.Share) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	exists, err := hostpath.Ask(ctx, h.paths, "probe", share.Root(), func() (bool, error) { return h.paths.Probe(share.Root()) })
	if err == nil && !exists {
		return win.ERROR_BAD_NET_NAME // the root of a share that is not there
	}
	return err
}

func (h *host) Verify(ctx context.Context, share winpath.Share, c Credential) error {
	if c.Own() { // there is no logon without a password
		return fmt.Errorf("%w: it is the host's own account", ErrCannotTell)
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	call := blocking.Call{Kind: "verification", Object: share.String(), Group: share.Server()}
	_, err := blocking.Do(bounded, h.calls, call, func() (struct{}, error) {
		return struct{}{}, h.verify(share.Root().Extended(), c)
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil, refused(err):
		return err
	case errors.Is(err, ErrCannotTell):
		return err
	}
	return fmt.Errorf("%w: %w", ErrCannotTell, err)
}

// verify opens the root of a share as a user, and then as one who cannot be:
// where that is let in too, nobody looks at credentials, either because the
// server takes guests or because Windows serves the session through the mapping
// itself, which windows-api.md 9.1 does not exclude [K].
func (h *host) verify(path string, c Credential) error {
	user, domain := c.names()
	if err := h.openAs(path, user, domain, c.Password); err != nil {
		return err
	}
	err := h.openAs(path, "csi-proxy-"+rand.Text(), domain, rand.Text())
	switch {
	case err == nil:
		return fmt.Errorf("%w: any other is accepted as well", ErrCannotTell)
	case refused(err):
		return nil
	}
	return fmt.Errorf("%w: trying another: %w", ErrCannotTell, err)
}

// openAs opens a path in a logon session of its own. That the session cannot be
// had says nothing about the credential.
func (h *host) openAs(path, user, domain, password string) error {
	if h.Logons == nil {
		return fmt.Errorf("%w: this host has no logon sessions", ErrCannotTell)
	}
	session, err := h.Logons.Logon(user, domain, password)
	if err != nil {
		return fmt.Errorf("%w: no logon session: %w", ErrCannotTell, err)
	}
	err = session.Open(path)
	if closeErr := session.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("%w: %w", ErrCannotTell, closeErr)
	}
	return err
}

// refusals are how a server says that it does not let a user in.
var refusals = []win.Errno{
	win.ERROR_ACCESS_DENIED, win.ERROR_NETWORK_ACCESS_DENIED, win.ERROR_INVALID_PASSWORD, win.ERROR_LOGON_FAILURE,
	win.ERROR_ACCOUNT_RESTRICTION, win.ERROR_INVALID_LOGON_HOURS, win.ERROR_INVALID_WORKSTATION, win.ERROR_PASSWORD_EXPIRED,
	win.ERROR_ACCOUNT_DISABLED, win.ERROR_LOGON_TYPE_NOT_GRANTED, win.ERROR_PASSWORD_MUST_CHANGE, win.ERROR_ACCOUNT_LOCKED_OUT,
	win.ERROR_SMB_GUEST_LOGON_BLOCKED,
}

// refused reports whether a server has refused a user. What stopped before the
// server is no refusal.
func refused(err error) bool {
	return !errors.Is(err, ErrCannotTell) && slices.ContainsFunc(refusals, func(code win.Errno) bool { return errors.Is(err, code) })
}

// Denied reports whether an error says that a user may not open something,
// after the server has let the user in or not.
func Denied(err error) bool { return errors.Is(err, win.ERROR_ACCESS_DENIED) }

// ShutOut reports whether an error says that a mapping's user is not let in any
// more. Access denied does not: a user may have rights below the root alone.
func ShutOut(err error) bool {
	return refused(err) && !Denied(err) || errors.Is(err, win.ERROR_NO_SUCH_LOGON_SESSION)
}

// Conflicts reports whether Windows refused a mapping because of one that is
// there already: of the server with another user or password, or of the share
// under another name.
func Conflicts(err error) bool {
	return errors.Is(err, win.ERROR_SESSION_CREDENTIAL_CONFLICT) || errors.Is(err, win.ERROR_ALREADY_ASSIGNED)
}

// NotMade reports whether the error of a change says that it was not made: Windows
// itself answered so, with a code of its own or one of WMI that does not say that
// WMI failed on the way, or the change was not begun, because too much hangs or
// nobody waits for it any more.
func NotMade(err error) bool {
	kind := errdefs.KindOf(err)
	switch {
	case errors.As(err, new(win.Errno)):
		return true
	case errors.As(err, new(win.HRESULT)):
		return kind != errdefs.Unavailable && kind != errdefs.Internal
	}
	return kind == errdefs.ResourceExhausted || kind == errdefs.Canceled || kind == errdefs.DeadlineExceeded
}

// Silent reports whether an error says that a file server cannot be reached or
// does not answer, which no new mapping would change.
func Silent(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errdefs.ErrResourceExhausted) {
		return true
	}
	return slices.ContainsFunc([]win.Errno{
		win.ERROR_BAD_NETPATH, win.ERROR_SEM_TIMEOUT, win.ERROR_NO_NETWORK,
		win.ERROR_NETWORK_UNREACHABLE, win.ERROR_HOST_UNREACHABLE, win.WSAEHOSTDOWN,
	}, func(code win.Errno) bool { return errors.Is(err, code) })
}

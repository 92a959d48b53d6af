// SPDX-License-Identifier: Apache-2.0

// Package hostapi holds what the iSCSI group asks of a host's initiator: facts
// and single changes. Rules, order and waiting are in package iscsi.
//
// The initiator is asked through the WMI classes MSFT_iSCSI* (windows-api.md
// 10.2), with parameters by name. Its service, MSiSCSI, must run; without it
// every call but CheckService and Multipath is [errdefs.ErrISCSIStopped] or
// finds nothing.
package hostapi

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/keylock"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/secret"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/storage"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
)

// HostAPI is one host's iSCSI initiator. Every method blocks until Windows has
// answered or ctx ends, is safe for concurrent use, and keeps no handle. The
// changes run to their end once begun, also when ctx ends. The native status of
// a failure is in the error.
type HostAPI interface {
	// CheckService fails with ErrISCSIStopped unless the initiator's service
	// runs.
	CheckService(ctx context.Context) error

	// Portals lists the registered target portals.
	Portals(ctx context.Context) ([]RegisteredPortal, error)
	// AddPortal registers a portal and asks it for its targets. One that is
	// registered is [PortalExists] or no error.
	AddPortal(ctx context.Context, p Portal) error
	// RefreshPortal asks a registered portal for its targets.
	RefreshPortal(ctx context.Context, p RegisteredPortal) error
	// RemovePortal forgets a portal. Its sessions stay.
	RemovePortal(ctx context.Context, p RegisteredPortal) error

	// TargetsOf lists the targets that a registered portal offered when it was
	// last asked. Portals of one address are not told apart by every Windows.
	TargetsOf(ctx context.Context, p RegisteredPortal) ([]string, error)
	// FindTarget finds a target that the initiator knows. Another is NotFound.
	FindTarget(ctx context.Context, t Target) (KnownTarget, error)
	// PortalsOf lists the registered portals that offer a target.
	PortalsOf(ctx context.Context, t KnownTarget) ([]Portal, error)

	// Sessions lists the sessions of a target.
	Sessions(ctx context.Context, t Target) ([]Session, error)
	// Multipath reports whether the Microsoft multipath driver runs and claims
	// iSCSI disks, so that two sessions of a target give one disk.
	Multipath(ctx context.Context) (bool, error)
	// Connect logs in to a target. Where a session is there already it is
	// [AlreadyConnected].
	Connect(ctx context.Context, l Login) error
	// Unregister takes a session out of those that Windows makes again after a
	// restart.
	Unregister(ctx context.Context, s Session) error
	// Disconnect ends a session. One of whose disks is in use is ErrISCSIInUse;
	// one that is gone is NotFound.
	Disconnect(ctx context.Context, s Session) error

	// Disks lists the numbers of the disks of a session that have arrived.
	Disks(ctx context.Context, s Session) ([]uint32, error)
	// Rescan makes Windows look for disks.
	Rescan(ctx context.Context) error

	// SetSecret sets the initiator's own CHAP secret, with which targets prove
	// themselves, for the whole host.
	SetSecret(ctx context.Context, s Secret) error

	// Change runs a change of an object ("portal …", "target …") under its
	// lock, with ctx of its own. While it runs, calls for the same object and
	// change join it.
	Change(ctx context.Context, change, object string, run func(context.Context) error) error
	// ChangeAlone is Change for changes that nobody may join, because they
	// differ in secrets.
	ChangeAlone(ctx context.Context, change, object string, run func(context.Context) error) error
}

// RegisteredPortal is a portal that the initiator knows.
type RegisteredPortal struct {
	Portal

	// Spelling is the address as Windows has it.
	Spelling string

	path                string
	instance, initiator string // of the initiator that it is registered for
}

// KnownTarget is a target that the initiator has discovered.
type KnownTarget struct {
	// Name is the target's name as Windows has it.
	Name string

	path string
}

// Session is a session of a target.
type Session struct {
	ID         string
	Connected  bool // else Windows tries to connect again
	Persistent bool // Windows makes it again after a restart
	// Portals are where its connections lead: a portal, or where a portal has
	// sent the login. None is known of a session that is not connected.
	Portals []Portal

	target, path string
}

// Login says how to log in to a target.
type Login struct {
	Target KnownTarget
	Portal Portal
	// Auth is NONE, ONEWAYCHAP or MUTUALCHAP.
	Auth string
	// User and Secret are not handed over where they are empty.
	User      string
	Secret    Secret
	Multipath bool
}

// Format writes where the login leads, whatever the verb, and not with what.
func (l Login) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "%s at %s with %s", l.Target.Name, l.Portal, l.Auth)
}

// MarshalText is what Format writes.
func (l Login) MarshalText() ([]byte, error) { return fmt.Append(nil, l), nil }

// Secret is a text that never shows itself.
type Secret = secret.Text

// Answers of Windows that mean something to the group.
const (
	PortalExists     = win.ISDSC_PORTAL_ALREADY_EXISTS
	AlreadyConnected = win.ISDSC_TARGET_ALREADY_LOGGED_IN
	SessionExists    = win.ISDSC_SESSION_ALREADY_EXISTS
)

// New is the initiator of the machine that the process runs on. It does nothing
// until it is asked; off Windows every question fails with ErrUnsupported.
func New() HostAPI { return On(native.Host()) }

// On is the HostAPI of any host behind the boundary.
func On(h *win.Host) HostAPI {
	return &host{Host: h, wmi: wmi.On(h), calls: blocking.On(h), locks: keylock.On(h), storage: storage.On(h)}
}

type host struct {
	*win.Host
	wmi     *wmi.Client
	calls   *blocking.Table
	locks   *keylock.Table
	storage *storage.Storage
}

func (h *host) Rescan(ctx context.Context) error { return h.storage.Rescan(ctx) }

func (h *host) Change(ctx context.Context, change, object string, run func(context.Context) error) error {
	ctx, cancel := blocking.WithBudget(ctx, blocking.ChangeBudget)
	defer cancel()
	_, err := blocking.Join(ctx, h.calls, change+" of iSCSI "+object, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, h.locked(ctx, object, run)
	})
	return err
}

func (h *host) ChangeAlone(ctx context.Context, change, object string, run func(context.Context) error) error {
	ctx, cancel := blocking.WithBudget(ctx, blocking.ChangeBudget)
	defer cancel()
	return blocking.Alone(ctx, h.calls, change+" of iSCSI "+object, func(ctx context.Context) error {
		return h.locked(ctx, object, run)
	})
}

func (h *host) locked(ctx context.Context, object string, run func(context.Context) error) error {
	unlock, err := h.locks.Lock(ctx, keylock.ISCSI(object))
	if err != nil {
		return err
	}
	defer unlock()
	return run(ctx)
}

// ask runs a question so that the caller can leave when ctx ends.
func ask[T any](ctx context.Context, h *host, question, object string, run func() (T, error)) (T, error) {
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()
	return blocking.Do(ctx, h.calls, blocking.Call{Kind: question, Object: object, Group: object}, run)
}

// SPDX-License-Identifier: Apache-2.0

// Package hostapi is what the smb group asks of a host and changes there: one
// question or one change a method. The rules are in package smb.
//
// Its methods block until Windows answers or the context ends, and are safe for
// concurrent use. What needs a file server runs among the calls of that server:
// one that does not answer holds up nothing else, and after four abandoned
// calls further ones are [errdefs.ErrResourceExhausted] at once. At a server
// one mapping is made or removed at a time, so that a silent server takes one
// WMI worker at most.
//
// The caller must be an administrator; to verify a credential needs no further
// privilege [K] (windows-api.md 9, 14).
package hostapi

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/keylock"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
)

// HostAPI is the mappings of one host.
type HostAPI interface {
	// ParseLocal reads a local path as this host means it.
	//
	// Errors: [errdefs.ErrInvalidArgument] for the path, and for one that is
	// not local.
	ParseLocal(ctx context.Context, path string) (winpath.Path, error)

	// Link reads where the link at a local path leads, one step.
	//
	// Errors: [errdefs.ErrNotFound] where nothing is there;
	// [errdefs.ErrFailedPrecondition] where no link is, or one to no path.
	Link(ctx context.Context, path winpath.Path) (winpath.Path, error)

	// Join runs a change of a share, or joins the unfinished run of the same
	// key. It blocks until that has ended or ctx ends; a mapping that is being
	// made or removed then goes on, and change with it.
	Join(ctx context.Context, key string, change func(context.Context) error) error

	// Lock waits until nothing else in this process changes the mapping of a
	// share.
	Lock(ctx context.Context, share winpath.Share) (unlock func(), err error)

	// Mapping finds the mapping of a share without a drive letter, by its key.
	//
	// Errors: [errdefs.ErrNotFound].
	Mapping(ctx context.Context, share winpath.Share) (Mapping, error)

	// Mappings lists all global mappings. It takes long where there are
	// hundreds (field-reports.md M04).
	Mappings(ctx context.Context) ([]Mapping, error)

	// Map makes a mapping, which a reboot ends.
	//
	// Errors: the Win32 code of Windows, such as 53, 86, 1219 or 1326.
	Map(ctx context.Context, share winpath.Share, c Credential, o Options) error

	// Unmap removes a mapping, and closes what is open through it. A mapping
	// that is gone is no error.
	Unmap(ctx context.Context, m Mapping) error

	// Probe opens the root of a share once, as any process of the host would,
	// and gives up after a while.
	//
	// Errors: Windows' code; [context.DeadlineExceeded] and
	// [errdefs.ErrResourceExhausted] for a server that does not answer.
	Probe(ctx context.Context, share winpath.Share) error

	// Verify tries a credential at a share, in a logon session of its own and
	// without touching the mapping. It is nil where the server lets the
	// credential in, and would not let in anybody.
	//
	// Errors: [errdefs.ErrPermissionDenied] where the server refuses it;
	// [ErrCannotTell] for everything else.
	Verify(ctx context.Context, share winpath.Share, c Credential) error

	// Known says what this process remembers of a mapping.
	Known(share winpath.Share, c Credential) Familiarity
	// Remember notes that a credential is good for a mapping; where the mapping
	// is new, all others are forgotten.
	Remember(share winpath.Share, c Credential, isNew bool)
	// Suspect notes that a mapping may have been made with a credential of which
	// nobody has said that it is good: the user alone is known, and no other.
	Suspect(share winpath.Share, c Credential)
	// Forget forgets all of a mapping.
	Forget(share winpath.Share)
	// Tag is a short name of a credential, good for this process alone, that
	// tells nothing about it.
	Tag(c Credential) string
}

// New is the mappings of this machine: a view of one host for the whole process.
// It asks nothing. Off Windows every question is [errors.ErrUnsupported].
func New() HostAPI { return On(native.Host()) }

// On is the mappings of a host. It asks nothing.
func On(h *win.Host) HostAPI {
	return &host{h, wmi.On(h), hostpath.On(h), blocking.On(h), keylock.On(h), memoryOf(h)}
}

type host struct {
	*win.Host
	wmi   *wmi.Client
	paths *hostpath.Paths
	calls *blocking.Table
	locks *keylock.Table
	*memory
}

func (h *host) Join(ctx context.Context, key string, change func(context.Context) error) error {
	_, err := blocking.Join(ctx, h.calls, key, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, change(ctx)
	})
	return err
}

func (h *host) Lock(ctx context.Context, share winpath.Share) (func(), error) {
	return h.locks.Lock(ctx, keylock.Share(share.String()))
}

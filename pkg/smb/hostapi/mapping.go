// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

const (
	namespace = `root\Microsoft\Windows\SMB`
	class     = "MSFT_SmbGlobalMapping"
)

// Mapping is a global mapping.
type Mapping struct {
	// Share is the zero share where RemotePath names none.
	Share      winpath.Share
	RemotePath string // as Windows has it
	LocalPath  string // a drive such as G:, "" for none
	Status     Status
	Privacy    bool // encryption is required
	Integrity  bool // signing is required

	path string // of its WMI object
}

// Status is the state of a mapping (cim-schema.json).
type Status uint32

// The states.
const (
	OK Status = iota
	Paused
	Disconnected
	NetworkError
	Connecting
	Reconnecting
	Unavailable
)

// Options are how a share is mapped.
type Options struct {
	WithoutPrivacy bool // do not require encryption
	Integrity      bool // require signing
}

// Mapping asks by the object's path, and where the provider cannot do that by
// its remote path (architecture.md).
func (h *host) Mapping(ctx context.Context, share winpath.Share) (Mapping, error) {
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()
	path, err := wmi.PathOfKeys(class, wmi.Key{Name: "LocalPath"}, wmi.Key{Name: "RemotePath", Value: share.String()})
	if err != nil {
		return Mapping{}, err
	}
	row, err := h.wmi.Get(ctx, namespace, path)
	if errors.Is(err, win.WBEM_E_PROVIDER_NOT_CAPABLE) || errors.Is(err, win.WBEM_E_NOT_SUPPORTED) {
		return h.queried(ctx, share)
	}
	if err = windowsCode(err); isGone(err) {
		return Mapping{}, notMapped(share, err)
	}
	if err != nil {
		return Mapping{}, err
	}
	return mapping(row, path)
}

var columns = []string{"LocalPath", "RemotePath", "Status", "RequirePrivacy", "RequireIntegrity"}

func (h *host) queried(ctx context.Context, share winpath.Share) (Mapping, error) {
	rows, err := h.wmi.Query(ctx, namespace, wmi.Select(columns...).From(class).Where(wmi.Eq("RemotePath", share.String())))
	if err != nil {
		return Mapping{}, err
	}
	for _, row := range rows {
		m, err := mapping(row, "")
		if err != nil {
			return Mapping{}, err
		}
		if m.LocalPath == "" {
			return m, nil
		}
	}
	return Mapping{}, notMapped(share, errdefs.ErrNotFound)
}

func notMapped(share winpath.Share, err error) error {
	return errdefs.As(errdefs.NotFound, "mapping", share.String(), fmt.Errorf("the share is not mapped: %w", err))
}

func (h *host) Mappings(ctx context.Context) ([]Mapping, error) {
	ctx, cancel := blocking.WithBudget(ctx, blocking.ChangeBudget)
	defer cancel()
	rows, err := h.wmi.Query(ctx, namespace, wmi.Select(columns...).From(class))
	if err != nil {
		return nil, err
	}
	list := make([]Mapping, len(rows))
	for i, row := range rows {
		if list[i], err = mapping(row, ""); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// mapping reads a row. Its path is made of its own keys where it is not given. A
// LocalPath or option that is NULL is none.
func mapping(row wmi.Row, path string) (Mapping, error) {
	m := Mapping{path: path}
	var errs [5]error
	var status uint32
	m.RemotePath, errs[0] = row.String("RemotePath")
	status, errs[1] = row.Uint32("Status")
	m.LocalPath, errs[2] = optional(row.String("LocalPath"))
	m.Privacy, errs[3] = optional(row.Bool("RequirePrivacy"))
	m.Integrity, errs[4] = optional(row.Bool("RequireIntegrity"))
	if err := errors.Join(errs[:]...); err != nil {
		return Mapping{}, errdefs.Wrap("mapping", m.RemotePath, err)
	}
	m.Status = Status(status)
	if share, _, err := winpath.ParseRemote(m.RemotePath); err == nil {
		m.Share = share
	}
	if path == "" {
		var err error
		m.path, err = wmi.PathOfKeys(class, wmi.Key{Name: "LocalPath", Value: m.LocalPath}, wmi.Key{Name: "RemotePath", Value: m.RemotePath})
		if err != nil {
			return Mapping{}, err
		}
	}
	return m, nil
}

func optional[T any](v T, err error) (T, error) {
	if errors.Is(err, wmi.ErrNull) {
		return v, nil
	}
	return v, err
}

// Map leaves Persistent out: a persistent mapping comes back from a reboot
// without its credential and stands in the way (field-reports.md M01).
func (h *host) Map(ctx context.Context, share winpath.Share, c Credential, o Options) error {
	in := []win.Param{
		wmi.String("RemotePath", share.String()),
		wmi.Bool("RequirePrivacy", !o.WithoutPrivacy),
		wmi.Bool("RequireIntegrity", o.Integrity),
	}
	if !c.Own() {
		in = append(in, wmi.String("Credential", c.text()))
	}
	return h.change(ctx, share.Server(), wmi.Method{Class: class, Name: "Create", On: share.String(), In: in})
}

func (h *host) Unmap(ctx context.Context, m Mapping) error {
	err := h.change(ctx, m.Share.Server(), wmi.Method{Class: class, Path: m.path, Name: "Remove", In: []win.Param{wmi.Bool("Force", true)}})
	if isGone(err) {
		return nil
	}
	return err
}

// isGone reports whether a mapping was not there to be removed.
func isGone(err error) bool {
	return errors.Is(err, win.WBEM_E_NOT_FOUND) || errors.Is(err, win.ERROR_NOT_CONNECTED) || errors.Is(err, win.ERROR_NOT_FOUND)
}

// change calls a method, which once begun reaches its end whatever becomes of its
// caller, one at a time for a server.
func (h *host) change(ctx context.Context, server string, m wmi.Method) error {
	call := blocking.Call{Kind: "change of a mapping", Object: server, Group: server}
	_, err := blocking.Finish(ctx, h.calls, call, func() (struct{}, error) {
		_, err := h.wmi.Call(ctx, namespace, m)
		return struct{}{}, windowsCode(err)
	})
	return err
}

// windowsCode puts the Win32 code that the provider tells in its error object
// before the error, which is mostly WBEM_E_FAILED (windows-api.md 9.2).
func windowsCode(err error) error {
	var p *win.ProviderError
	if !errors.As(err, &p) {
		return err
	}
	code, ok := p.Info["error_Code"].(int32)
	if kind, _ := p.Info["error_Type"].(string); !ok || code == 0 || kind != "Windows System Error" {
		return err
	}
	known := &coded{win.Errno(code), err}
	return errdefs.As(errdefs.KindOf(known.code), "", "", known)
}

// coded is a failed call by the code that matters.
type coded struct {
	code  win.Errno
	cause error
}

func (e *coded) Error() string {
	return fmt.Sprintf("%v (%s)", e.code, errdefs.Native{Facility: errdefs.Win32, Code: uint32(e.code)})
}

func (e *coded) Unwrap() []error { return []error{e.code, e.cause} }

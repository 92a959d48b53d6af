// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// The provider's namespace and classes (cim-schema.json).
const (
	namespace       = `root\Microsoft\Windows\Storage`
	classPortal     = "MSFT_iSCSITargetPortal"
	classTarget     = "MSFT_iSCSITarget"
	classSession    = "MSFT_iSCSISession"
	classConnection = "MSFT_iSCSIConnection"
	classDisk       = "MSFT_Disk"

	targetToPortal      = "MSFT_iSCSITargetToiSCSITargetPortal"
	sessionToConnection = "MSFT_iSCSISessionToiSCSIConnection"
	sessionToDisk       = "MSFT_iSCSISessionToDisk"
)

func (h *host) query(ctx context.Context, q wmi.Query) ([]wmi.Row, error) {
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()
	rows, err := h.wmi.Query(ctx, namespace, q)
	return rows, known(err)
}

// finish starts a method, which once begun reaches its end whatever becomes of its
// caller. server is what hangs together with it.
func (h *host) finish(ctx context.Context, change, object, server string, m wmi.Method) error {
	_, err := blocking.Finish(ctx, h.calls, blocking.Call{Kind: change, Object: object, Group: server}, func() (struct{}, error) {
		_, err := h.wmi.Call(ctx, namespace, m)
		return struct{}{}, known(err)
	})
	return err
}

// reasons are the statuses that have a reason of ours.
var reasons = map[win.ISDSC]error{
	win.ISDSC_SERVICE_NOT_RUNNING:    errdefs.ErrISCSIStopped,
	win.ISDSC_DEVICE_BUSY_ON_SESSION: errdefs.ErrISCSIInUse,
}

// known gives an error of the provider the kind of the initiator's status in it,
// wherever that stands (windows-api.md 10.5).
func known(err error) error {
	status, ok := statusIn(err)
	e := (*errdefs.Error)(nil) // whose kind is that of the WMI code
	if !ok || !errors.As(err, &e) {
		return err
	}
	err = errdefs.As(errdefs.KindOf(status), e.Op, e.Subject, fmt.Errorf("%w: %w", status, e.Err))
	if reason := reasons[status]; reason != nil {
		err = fmt.Errorf("%w: %w", reason, err)
	}
	return err
}

func statusIn(err error) (win.ISDSC, bool) {
	var (
		returned win.ReturnValue
		provider *win.ProviderError
		hr       win.HRESULT
	)
	if errors.As(err, &returned) {
		return win.ISDSCOf(uint32(returned))
	}
	if errors.As(err, &hr) {
		if status, ok := win.ISDSCOf(uint32(hr)); ok {
			return status, true
		}
	}
	if errors.As(err, &provider) {
		if code, ok := provider.Info["error_Code"].(int32); ok {
			return win.ISDSCOf(uint32(code))
		}
	}
	return 0, false
}

func (h *host) Portals(ctx context.Context) ([]RegisteredPortal, error) {
	rows, err := h.query(ctx, wmi.Select().From(classPortal))
	if err != nil {
		return nil, err
	}
	list := make([]RegisteredPortal, len(rows))
	for i, row := range rows {
		if list[i], err = registeredPortal(row); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func registeredPortal(row wmi.Row) (p RegisteredPortal, err error) {
	if p.Spelling, err = row.String("TargetPortalAddress"); err != nil {
		return p, err
	}
	port, err := row.Uint16("TargetPortalPortNumber")
	if err != nil {
		return p, err
	}
	p.Portal = portalAt(p.Spelling, port)
	if p.path, err = row.String("__PATH"); err != nil {
		return p, err
	}
	p.instance, p.initiator = text(row, "InitiatorInstanceName"), text(row, "InitiatorPortalAddress")
	return p, nil
}

// portalAt is a portal as Windows tells of it, which may be none that we would
// take.
func portalAt(address string, port uint16) Portal {
	p, err := ParsePortal(address, uint32(port))
	if err != nil {
		return Portal{Address: strings.ToLower(address), Port: port}
	}
	return p
}

// text is a string that may be NULL.
func text(row wmi.Row, name string) string {
	s, _ := row[name].(string)
	return s
}

func (h *host) AddPortal(ctx context.Context, p Portal) error {
	return h.finish(ctx, "registration", "iSCSI portal "+p.String(), p.Address, wmi.Method{
		Class: classPortal, Name: "New", On: p.String(),
		In: []win.Param{wmi.String("TargetPortalAddress", p.Address), wmi.Uint16("TargetPortalPortNumber", p.Port)},
	})
}

func (h *host) RefreshPortal(ctx context.Context, p RegisteredPortal) error {
	return h.finish(ctx, "refresh", "iSCSI portal "+p.String(), p.Address, p.method("Update"))
}

func (h *host) RemovePortal(ctx context.Context, p RegisteredPortal) error {
	return h.finish(ctx, "removal", "iSCSI portal "+p.String(), p.Address, p.method("Remove"))
}

// method is a method of a portal. Its path does not tell the port, so that the
// parameters do.
func (p RegisteredPortal) method(name string) wmi.Method {
	in := []win.Param{wmi.String("TargetPortalAddress", p.Spelling), wmi.Uint16("TargetPortalPortNumber", p.Port)}
	if p.instance != "" {
		in = append(in, wmi.String("InitiatorInstanceName", p.instance))
	}
	if p.initiator != "" {
		in = append(in, wmi.String("InitiatorPortalAddress", p.initiator))
	}
	return wmi.Method{Class: classPortal, Path: p.path, Name: name, In: in}
}

func (h *host) TargetsOf(ctx context.Context, p RegisteredPortal) ([]string, error) {
	rows, err := h.query(ctx, wmi.Associated(p.path, targetToPortal, classTarget))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(rows))
	for i, row := range rows {
		if names[i], err = row.String("NodeAddress"); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (h *host) FindTarget(ctx context.Context, t Target) (found KnownTarget, err error) {
	rows, err := h.query(ctx, wmi.Select("NodeAddress").From(classTarget).Where(wmi.Eq("NodeAddress", string(t))))
	if err != nil {
		return found, err
	}
	if len(rows) == 0 {
		return found, errdefs.New(errdefs.NotFound, "", "", "the initiator does not know it")
	}
	if found.Name, err = rows[0].String("NodeAddress"); err != nil {
		return found, err
	}
	found.path, err = rows[0].String("__PATH")
	return found, err
}

func (h *host) PortalsOf(ctx context.Context, t KnownTarget) ([]Portal, error) {
	rows, err := h.query(ctx, wmi.Associated(t.path, targetToPortal, classPortal))
	if err != nil {
		return nil, err
	}
	list := make([]Portal, len(rows))
	for i, row := range rows {
		p, err := registeredPortal(row)
		if err != nil {
			return nil, err
		}
		list[i] = p.Portal
	}
	return list, nil
}

func (h *host) Sessions(ctx context.Context, t Target) ([]Session, error) {
	rows, err := h.query(ctx, wmi.Select("SessionIdentifier", "TargetNodeAddress", "IsConnected", "IsPersistent").
		From(classSession).Where(wmi.Eq("TargetNodeAddress", string(t))))
	if err != nil {
		return nil, err
	}
	list := make([]Session, len(rows))
	for i, row := range rows {
		if list[i], err = h.session(ctx, row); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (h *host) session(ctx context.Context, row wmi.Row) (s Session, err error) {
	for name, to := range map[string]*string{"SessionIdentifier": &s.ID, "TargetNodeAddress": &s.target, "__PATH": &s.path} {
		if *to, err = row.String(name); err != nil {
			return s, err
		}
	}
	for name, to := range map[string]*bool{"IsConnected": &s.Connected, "IsPersistent": &s.Persistent} {
		if *to, err = row.Bool(name); err != nil {
			return s, err
		}
	}
	connections, err := h.query(ctx, wmi.Associated(s.path, sessionToConnection, classConnection))
	if errors.Is(err, errdefs.ErrNotFound) { // the session has just ended
		return s, nil
	}
	if err != nil {
		return s, err
	}
	for _, c := range connections {
		address, err := c.String("TargetAddress")
		if err != nil {
			return s, err
		}
		port, err := c.Uint32("TargetPortNumber")
		if err != nil {
			return s, err
		}
		s.Portals = append(s.Portals, portalAt(address, uint16(port)))
	}
	return s, nil
}

func (h *host) Connect(ctx context.Context, l Login) error {
	in := []win.Param{
		wmi.String("NodeAddress", l.Target.Name),
		wmi.String("TargetPortalAddress", l.Portal.Address),
		wmi.Uint16("TargetPortalPortNumber", l.Portal.Port),
		wmi.String("AuthenticationType", l.Auth),
		wmi.Bool("IsPersistent", false),
		wmi.Bool("IsMultipathEnabled", l.Multipath),
	}
	if l.User != "" {
		in = append(in, wmi.String("ChapUsername", l.User))
	}
	if l.Secret != "" {
		in = append(in, wmi.String("ChapSecret", string(l.Secret)))
	}
	return h.finish(ctx, "login", "iSCSI target "+l.Target.Name, l.Portal.Address, wmi.Method{
		Class: classTarget, Name: "Connect", On: l.Target.Name + " at " + l.Portal.String(), In: in,
	})
}

func (h *host) Unregister(ctx context.Context, s Session) error {
	return h.finish(ctx, "unregistration", "iSCSI session "+s.ID, s.target, wmi.Method{Class: classSession, Path: s.path, Name: "Unregister"})
}

func (h *host) Disconnect(ctx context.Context, s Session) error {
	path, err := wmi.PathOf(classTarget, "NodeAddress", s.target)
	if err != nil {
		return err
	}
	return h.finish(ctx, "logout", "iSCSI session "+s.ID, s.target, wmi.Method{
		Class: classTarget, Path: path, Name: "Disconnect", In: []win.Param{wmi.String("SessionIdentifier", s.ID)},
	})
}

func (h *host) Disks(ctx context.Context, s Session) ([]uint32, error) {
	rows, err := h.query(ctx, wmi.Associated(s.path, sessionToDisk, classDisk))
	if err != nil {
		return nil, err
	}
	numbers := make([]uint32, len(rows))
	for i, row := range rows {
		if numbers[i], err = row.Uint32("Number"); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

func (h *host) SetSecret(ctx context.Context, s Secret) error {
	return h.finish(ctx, "secret", "iSCSI initiator", "iSCSI initiator", wmi.Method{
		Class: classSession, Name: "SetCHAPSecret", In: []win.Param{wmi.String("ChapSecret", string(s))},
	})
}

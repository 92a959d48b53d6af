// SPDX-License-Identifier: Apache-2.0

package iscsi

import (
	"context"
	"errors"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
)

// Interface is the iSCSI group as drivers use it. Its methods are upstream's and
// stay so. A response is never nil, also beside an error.
type Interface interface {
	// AddTargetPortal registers a portal and asks it for its targets.
	AddTargetPortal(context.Context, *AddTargetPortalRequest) (*AddTargetPortalResponse, error)

	// ConnectTarget logs in to a target.
	ConnectTarget(context.Context, *ConnectTargetRequest) (*ConnectTargetResponse, error)

	// DisconnectTarget logs out of a target.
	DisconnectTarget(context.Context, *DisconnectTargetRequest) (*DisconnectTargetResponse, error)

	// DiscoverTargetPortal lists the targets of a registered portal.
	DiscoverTargetPortal(context.Context, *DiscoverTargetPortalRequest) (*DiscoverTargetPortalResponse, error)

	// GetTargetDisks lists the disks of a connected target.
	GetTargetDisks(context.Context, *GetTargetDisksRequest) (*GetTargetDisksResponse, error)

	// ListTargetPortals lists the registered portals.
	ListTargetPortals(context.Context, *ListTargetPortalsRequest) (*ListTargetPortalsResponse, error)

	// RemoveTargetPortal forgets a portal.
	RemoveTargetPortal(context.Context, *RemoveTargetPortalRequest) (*RemoveTargetPortalResponse, error)

	// SetMutualChapSecret sets the initiator's own secret.
	SetMutualChapSecret(context.Context, *SetMutualChapSecretRequest) (*SetMutualChapSecretResponse, error)
}

// ISCSI is the iSCSI group of one host. It is safe for concurrent use.
type ISCSI struct {
	host hostapi.HostAPI
}

var _ Interface = (*ISCSI)(nil)

// New makes the iSCSI group of a host. It asks the host nothing and its error is
// always nil.
func New(hostAPI hostapi.HostAPI) (*ISCSI, error) {
	return &ISCSI{host: hostAPI}, nil
}

// AddTargetPortal registers a portal with the initiator, which asks it for its
// targets; a portal that is registered is asked again. It is idempotent and
// blocks until the portal has answered; one that does not is Unavailable.
func (i *ISCSI) AddTargetPortal(ctx context.Context, req *AddTargetPortalRequest) (*AddTargetPortalResponse, error) {
	const op = "iscsi.AddTargetPortal"
	resp := &AddTargetPortalResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	portal, err := parsePortal(req.TargetPortal)
	if err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	err = i.host.Change(ctx, "registration", "portal "+portal.String(), func(ctx context.Context) error {
		return i.addPortal(ctx, portal)
	})
	return resp, errdefs.Wrap(op, portal.String(), err)
}

func (i *ISCSI) addPortal(ctx context.Context, portal hostapi.Portal) error {
	known, err := i.portals(ctx)
	if err != nil {
		return err
	}
	if registered, ok := find(known, portal); ok {
		return i.host.RefreshPortal(ctx, registered)
	}
	if err = i.host.AddPortal(ctx, portal); !errors.Is(err, hostapi.PortalExists) {
		return err
	}
	// Somebody else was faster, if it is there now.
	known, listErr := i.host.Portals(ctx)
	if listErr != nil {
		return listErr
	}
	if registered, ok := find(known, portal); ok {
		return i.host.RefreshPortal(ctx, registered)
	}
	return err
}

// portals lists the registered portals of an initiator that runs.
func (i *ISCSI) portals(ctx context.Context) ([]hostapi.RegisteredPortal, error) {
	if err := i.host.CheckService(ctx); err != nil {
		return nil, err
	}
	return i.host.Portals(ctx)
}

func find(known []hostapi.RegisteredPortal, portal hostapi.Portal) (hostapi.RegisteredPortal, bool) {
	at := slices.IndexFunc(known, func(p hostapi.RegisteredPortal) bool { return p.Portal == portal })
	if at < 0 {
		return hostapi.RegisteredPortal{}, false
	}
	return known[at], true
}

// DiscoverTargetPortal lists the targets that a registered portal offered when
// it was last asked, which AddTargetPortal does and this does not. A portal that
// is not registered is NotFound.
func (i *ISCSI) DiscoverTargetPortal(ctx context.Context, req *DiscoverTargetPortalRequest) (*DiscoverTargetPortalResponse, error) {
	const op = "iscsi.DiscoverTargetPortal"
	resp := &DiscoverTargetPortalResponse{IQNs: []string{}}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	portal, err := parsePortal(req.TargetPortal)
	if err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	names, err := i.targetsOf(ctx, portal)
	if err != nil {
		return resp, errdefs.Wrap(op, portal.String(), err)
	}
	resp.IQNs = names
	return resp, nil
}

func (i *ISCSI) targetsOf(ctx context.Context, portal hostapi.Portal) ([]string, error) {
	known, err := i.portals(ctx)
	if err != nil {
		return nil, err
	}
	registered, ok := find(known, portal)
	if !ok {
		return nil, errNotRegistered
	}
	return i.host.TargetsOf(ctx, registered)
}

// errNotRegistered and notOffered carry a word that democratic-csi searches for
// (behaviour.md TXT-6).
var errNotRegistered = errdefs.New(errdefs.NotFound, "", "", "the portal is not registered, AddTargetPortal comes first (ObjectNotFound)")

func notOffered(cause error) error {
	const text = "the portal has not offered the target, AddTargetPortal asks it again (ObjectNotFound)"
	if cause != nil {
		return errdefs.New(errdefs.NotFound, "", "", text+": %w", cause)
	}
	return errdefs.New(errdefs.NotFound, "", "", text)
}

// ListTargetPortals lists the registered portals, in no order.
func (i *ISCSI) ListTargetPortals(ctx context.Context, req *ListTargetPortalsRequest) (*ListTargetPortalsResponse, error) {
	const op = "iscsi.ListTargetPortals"
	resp := &ListTargetPortalsResponse{TargetPortals: []*TargetPortal{}}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	known, err := i.portals(ctx)
	if err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	for _, p := range known {
		resp.TargetPortals = append(resp.TargetPortals, &TargetPortal{TargetAddress: p.Spelling, TargetPort: uint32(p.Port)})
	}
	return resp, nil
}

// RemoveTargetPortal forgets a portal and what it offered. Its sessions stay. A
// portal that is not registered is NotFound, so that a repeated call is.
func (i *ISCSI) RemoveTargetPortal(ctx context.Context, req *RemoveTargetPortalRequest) (*RemoveTargetPortalResponse, error) {
	const op = "iscsi.RemoveTargetPortal"
	resp := &RemoveTargetPortalResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	portal, err := parsePortal(req.TargetPortal)
	if err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	err = i.host.Change(ctx, "removal", "portal "+portal.String(), func(ctx context.Context) error {
		known, err := i.portals(ctx)
		if err != nil {
			return err
		}
		registered, ok := find(known, portal)
		if !ok {
			return errNotRegistered
		}
		return i.host.RemovePortal(ctx, registered)
	})
	return resp, errdefs.Wrap(op, portal.String(), err)
}

// SetMutualChapSecret sets the secret with which targets prove themselves to
// this host, for all of them; the last one holds. It is idempotent. Windows
// keeps it over restarts.
func (i *ISCSI) SetMutualChapSecret(ctx context.Context, req *SetMutualChapSecretRequest) (*SetMutualChapSecretResponse, error) {
	const op = "iscsi.SetMutualChapSecret"
	resp := &SetMutualChapSecretResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	if err := checkSecret("MutualChapSecret", req.MutualChapSecret); err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	err := i.host.ChangeAlone(ctx, "secret", "initiator", func(ctx context.Context) error {
		if err := i.host.CheckService(ctx); err != nil {
			return err
		}
		return i.host.SetSecret(ctx, hostapi.Secret(req.MutualChapSecret))
	})
	return resp, errdefs.Wrap(op, "", err)
}

// SPDX-License-Identifier: Apache-2.0

package iscsi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
)

// ConnectTarget logs in to a target that a registered portal has offered, and
// returns when the session is there; its disks arrive after that. The session
// ends with the next restart.
//
// It is idempotent: where the target is connected through the portal it does
// nothing, and does not look at the credential. Connected through another
// portal it is ErrISCSIOtherPortal, unless the host does multipath. A session
// whose connection is broken is Unavailable, for Windows renews it. A portal
// that is not registered or does not offer the target is NotFound; a credential
// that the target does not take is PermissionDenied. Once begun, a login runs to
// its end even if ctx ends; the next call waits for it.
func (i *ISCSI) ConnectTarget(ctx context.Context, req *ConnectTargetRequest) (*ConnectTargetResponse, error) {
	const op = "iscsi.ConnectTarget"
	resp := &ConnectTargetResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	at, err := parseAddress(req.TargetPortal, req.IQN)
	if err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	c, err := parseCredential(req)
	if err != nil {
		return resp, errdefs.Wrap(op, at.String(), err)
	}
	err = i.host.ChangeAlone(ctx, "login", at.object(), func(ctx context.Context) error {
		return i.connect(ctx, at, c)
	})
	return resp, errdefs.Wrap(op, at.String(), err)
}

// connect needs the target's lock.
func (i *ISCSI) connect(ctx context.Context, at address, c credential) error {
	known, mine, others, err := i.sessions(ctx, at)
	if err != nil || len(mine) > 0 {
		return errors.Join(err, checkConnected(mine))
	}
	target, err := i.findTarget(ctx, known, at)
	if err != nil {
		return err
	}
	multipath, err := i.host.Multipath(ctx)
	if err != nil {
		return err
	}
	if len(others) > 0 && !multipath {
		return otherPortal(others)
	}
	err = i.host.Connect(ctx, hostapi.Login{
		Target: target, Portal: at.portal, Auth: c.auth, User: c.user, Secret: c.secret, Multipath: multipath,
	})
	if errors.Is(err, hostapi.AlreadyConnected) || errors.Is(err, hostapi.SessionExists) {
		return i.confirm(ctx, at, err)
	}
	return err
}

// confirm looks at the sessions after Windows has said that there is one.
func (i *ISCSI) confirm(ctx context.Context, at address, said error) error {
	_, mine, others, err := i.sessions(ctx, at)
	switch {
	case err != nil:
		return err
	case len(mine) > 0:
		return checkConnected(mine)
	case len(others) > 0:
		return errdefs.As(errdefs.FailedPrecondition, "login", "", fmt.Errorf("%w: %w", otherPortal(others), said))
	}
	return errdefs.As(errdefs.Unavailable, "login", "", fmt.Errorf("%w: but there is no session", said))
}

// checkConnected wants one of the sessions to be connected.
func checkConnected(sessions []hostapi.Session) error {
	if len(sessions) == 0 || slices.ContainsFunc(sessions, func(s hostapi.Session) bool { return s.Connected }) {
		return nil
	}
	return fmt.Errorf("%w: the connection of the session is broken, and Windows tries to renew it", errdefs.ErrUnavailable)
}

func otherPortal(sessions []hostapi.Session) error {
	return fmt.Errorf("%w, %s, and MPIO does not claim iSCSI disks", errdefs.ErrISCSIOtherPortal, sessions[0].Portals[0])
}

// sessions are the sessions of a target, those of a portal apart from the
// others, beside the registered portals. One of which no connection is known, or
// that was sent on to an address that is no registered portal, is the portal's
// that is asked about.
func (i *ISCSI) sessions(ctx context.Context, at address) (known []hostapi.RegisteredPortal, mine, others []hostapi.Session, err error) {
	if known, err = i.portals(ctx); err != nil {
		return nil, nil, nil, err
	}
	all, err := i.host.Sessions(ctx, at.target)
	for _, s := range all {
		elsewhere := slices.ContainsFunc(s.Portals, func(p hostapi.Portal) bool {
			_, registered := find(known, p)
			return registered
		})
		if elsewhere && !slices.Contains(s.Portals, at.portal) {
			others = append(others, s)
		} else {
			mine = append(mine, s)
		}
	}
	return known, mine, others, err
}

// findTarget finds a target that a registered portal offers.
func (i *ISCSI) findTarget(ctx context.Context, known []hostapi.RegisteredPortal, at address) (hostapi.KnownTarget, error) {
	if _, ok := find(known, at.portal); !ok {
		return hostapi.KnownTarget{}, errNotRegistered
	}
	target, err := i.host.FindTarget(ctx, at.target)
	if errors.Is(err, errdefs.ErrNotFound) {
		return target, notOffered(err)
	}
	if err != nil {
		return target, err
	}
	portals, err := i.host.PortalsOf(ctx, target)
	if err != nil {
		return target, err
	}
	if !slices.Contains(portals, at.portal) {
		return target, notOffered(nil)
	}
	return target, nil
}

// DisconnectTarget closes every session of a target through a portal, after
// taking it out of those that Windows makes again. Where there is none it does
// nothing. A target that is neither connected nor offered by the portal, and a
// portal that is not registered, are NotFound. While a disk of the target is in
// use it is ErrISCSIInUse: unmount its volumes and take it offline first. Once
// begun, a logout runs to its end even if ctx ends; the next call joins it.
func (i *ISCSI) DisconnectTarget(ctx context.Context, req *DisconnectTargetRequest) (*DisconnectTargetResponse, error) {
	const op = "iscsi.DisconnectTarget"
	resp := &DisconnectTargetResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	at, err := parseAddress(req.TargetPortal, req.IQN)
	if err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	err = i.host.Change(ctx, "logout through "+at.portal.String(), at.object(), func(ctx context.Context) error {
		return i.disconnect(ctx, at)
	})
	return resp, errdefs.Wrap(op, at.String(), err)
}

// disconnect needs the target's lock.
func (i *ISCSI) disconnect(ctx context.Context, at address) error {
	known, mine, _, err := i.sessions(ctx, at)
	if err != nil {
		return err
	}
	if len(mine) == 0 {
		_, err := i.findTarget(ctx, known, at)
		return err
	}
	var failed []error
	for _, s := range mine {
		failed = append(failed, i.closeSession(ctx, s))
	}
	return errors.Join(failed...)
}

// closeSession closes a session for good. One that has ended meanwhile is
// closed.
func (i *ISCSI) closeSession(ctx context.Context, s hostapi.Session) error {
	if s.Persistent {
		if err := i.host.Unregister(ctx, s); err != nil && !errors.Is(err, errdefs.ErrNotFound) {
			return err
		}
	}
	err := i.host.Disconnect(ctx, s)
	switch {
	case errors.Is(err, errdefs.ErrNotFound):
		return nil
	case errors.Is(err, errdefs.ErrISCSIInUse):
		return fmt.Errorf("unmount its volumes and take its disks offline first: %w", err)
	}
	return err
}

// How long GetTargetDisks waits for disks that have not arrived, how often it
// looks, and after how many looks it makes Windows look, too.
const (
	arrivalBudget   = 30 * time.Second
	arrivalInterval = 500 * time.Millisecond
	looksPerRescan  = 10
)

// GetTargetDisks lists the numbers, in decimal and in order, of the disks of a
// target that is connected through a portal. A disk arrives a while after the
// login: it waits until there is one, at most 30 s or until ctx ends, then
// Unavailable; where none is there at once it makes Windows look for disks, and
// again every few seconds. A target with several LUNs may show some later. A target that is not connected
// has an empty list; one that the portal does not offer, and a portal that is
// not registered, are NotFound.
func (i *ISCSI) GetTargetDisks(ctx context.Context, req *GetTargetDisksRequest) (*GetTargetDisksResponse, error) {
	const op = "iscsi.GetTargetDisks"
	resp := &GetTargetDisksResponse{DiskIDs: []string{}}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	at, err := parseAddress(req.TargetPortal, req.IQN)
	if err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	numbers, err := i.waitForDisks(ctx, at)
	if err != nil {
		return resp, errdefs.Wrap(op, at.String(), err)
	}
	for _, n := range numbers {
		resp.DiskIDs = append(resp.DiskIDs, strconv.FormatUint(uint64(n), 10))
	}
	return resp, nil
}

func (i *ISCSI) waitForDisks(ctx context.Context, at address) ([]uint32, error) {
	deadline := time.NewTimer(arrivalBudget)
	defer deadline.Stop()
	for looks := 0; ; looks++ {
		numbers, connected, err := i.disks(ctx, at)
		switch {
		case err != nil && looks > 0 && ctx.Err() != nil:
			return nil, notArrived(err)
		case err != nil || len(numbers) > 0 || !connected:
			return numbers, err
		}
		if looks%looksPerRescan == 0 {
			if err := i.host.Rescan(ctx); err != nil {
				return nil, err
			}
			if looks == 0 {
				continue
			}
		}
		select {
		case <-time.After(arrivalInterval):
		case <-deadline.C:
			return nil, notArrived(nil)
		case <-ctx.Done():
			return nil, notArrived(ctx.Err())
		}
	}
}

// notArrived is Unavailable also where the caller's context has ended: the disk
// may come yet.
func notArrived(cause error) error {
	err := fmt.Errorf("%w: the target is connected, but none of its disks has arrived", errdefs.ErrUnavailable)
	return errdefs.As(errdefs.Unavailable, "wait for disks", "", errors.Join(err, cause))
}

// disks are the disks that have arrived, each once.
func (i *ISCSI) disks(ctx context.Context, at address) (numbers []uint32, connected bool, err error) {
	known, mine, _, err := i.sessions(ctx, at)
	if err != nil {
		return nil, false, err
	}
	if len(mine) == 0 {
		_, err := i.findTarget(ctx, known, at)
		return nil, false, err
	}
	for _, s := range mine {
		found, err := i.host.Disks(ctx, s)
		if err != nil && !errors.Is(err, errdefs.ErrNotFound) { // the session has just ended
			return nil, true, err
		}
		numbers = append(numbers, found...)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), true, nil
}

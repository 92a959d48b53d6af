// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
)

// stopAlone stops a service unless others depend on it.
func (s *System) stopAlone(ctx context.Context, name string) error {
	if err := checkProtected(name); err != nil {
		return err
	}
	unlock, err := s.host.LockServices(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()

	err = s.stop(ctx, name)
	if errors.Is(err, hostapi.DependentsRunning) {
		return s.refusedByDependents(ctx, name, err)
	}
	return err
}

// refusedByDependents names the dependents for which a service was not stopped.
func (s *System) refusedByDependents(ctx context.Context, name string, refusal error) error {
	dependents, err := s.host.Dependents(ctx, name)
	if err != nil {
		return fmt.Errorf("%w: %w, and asking which: %w", errdefs.ErrDependentServices, refusal, err)
	}
	var names []string
	for _, d := range dependents {
		names = append(names, strconv.Quote(d.Name))
	}
	return fmt.Errorf("%w: %s: %w", errdefs.ErrDependentServices, strings.Join(names, ", "), refusal)
}

// stopWithDependents stops a service after all that depend on it.
func (s *System) stopWithDependents(ctx context.Context, name string) error {
	if err := checkProtected(name); err != nil {
		return err
	}
	status, err := s.status(ctx, name)
	if err != nil || status.State == hostapi.Stopped {
		return err
	}
	if status.Driver {
		return errDriver
	}
	dependents, err := s.dependents(ctx, name)
	if err != nil {
		return err
	}
	unlock, err := s.host.LockServices(ctx, append(dependents, name)...)
	if err != nil {
		return err
	}
	defer unlock()

	const rounds = 5 // somebody else may start a dependent, but not for ever
	stopped := map[string]bool{}
	var refusal error
	for range rounds {
		if err := s.stopEach(ctx, dependents, stopped); err != nil {
			return err
		}
		if err = s.stop(ctx, name); !errors.Is(err, hostapi.DependentsRunning) {
			return err
		}
		refusal = err
		if dependents, err = s.dependents(ctx, name); err != nil {
			return err
		}
	}
	return errdefs.New(errdefs.Unavailable, "", "", "further ones are started all the time: %w", refusal)
}

// stopEach stops services in the order given, each once.
func (s *System) stopEach(ctx context.Context, names []string, stopped map[string]bool) error {
	for _, name := range names {
		err := errCameBack
		if !stopped[name] {
			err = s.stop(ctx, name)
		}
		if err != nil {
			return errdefs.Wrap("stop dependent service", name, err)
		}
		stopped[name] = true
	}
	return nil
}

// dependents lists the active services that depend on a service, through others
// too, each before those that it depends on. One that must not be stopped is an
// error.
//
// Windows lists them all in that order, as is believed; where it lists only
// those that depend directly, their own make the list complete (windows-api.md
// 11.1).
func (s *System) dependents(ctx context.Context, name string) ([]string, error) {
	var list []string
	seen := map[string]bool{}
	var visit func(name string) error
	visit = func(name string) error {
		direct, err := s.host.Dependents(ctx, name)
		if err != nil {
			return err
		}
		for _, d := range direct {
			if seen[d.Name] {
				continue
			}
			seen[d.Name] = true
			if err := checkDependent(d); err != nil {
				return errdefs.Wrap("stop dependent service", d.Name, err)
			}
			if err := visit(d.Name); err != nil {
				return err
			}
			list = append(list, d.Name)
		}
		return nil
	}
	return list, visit(name)
}

func checkDependent(d hostapi.Dependent) error {
	if d.Driver {
		return errDriver
	}
	return checkProtected(d.Name)
}

var (
	errDriver   = fmt.Errorf("%w: it is a driver", errdefs.ErrProtectedService)
	errCameBack = fmt.Errorf("%w: it was stopped and is active again", errdefs.ErrUnavailable)
)

// stop stops one service and waits until it has. It needs the service's lock.
func (s *System) stop(ctx context.Context, name string) error {
	var refusal, left error // it is refused for a while only, or until the caller leaves
	for ; left == nil; left = pause(ctx, firstLook) {
		status, err := s.settled(ctx, name, toStop)
		switch {
		case err != nil:
			return because(ctx, err, refusal)
		case status.State == hostapi.Stopped:
			return nil
		case status.Driver:
			return errDriver
		}
		err = s.host.StopService(ctx, name)
		switch {
		case err == nil:
			_, err := s.requested(ctx, name, toStop, isStopped)
			return err
		case !errors.Is(err, hostapi.CannotAcceptControl) && !errors.Is(err, hostapi.NotActive):
			return because(ctx, unseen(ctx, toStop, err), refusal)
		}
		refusal = err // its state has just changed
	}
	return because(ctx, left, refusal)
}

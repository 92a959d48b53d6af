// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
)

// start starts a service under its lock and waits until it runs.
func (s *System) start(ctx context.Context, name string) error {
	unlock, err := s.host.LockServices(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()

	var refusal, left error // it is refused for a while only, or until the caller leaves
	for ; left == nil; left = pause(ctx, firstLook) {
		status, err := s.settled(ctx, name, toRun)
		switch {
		case err != nil:
			return because(ctx, err, refusal)
		case status.State == hostapi.Running:
			return nil
		case status.State == hostapi.Paused:
			return errPaused
		}
		err = s.host.StartService(ctx, name)
		switch {
		case err == nil:
			return s.awaitStarted(ctx, name)
		case !errors.Is(err, hostapi.DatabaseLocked) && !errors.Is(err, hostapi.AlreadyRunning):
			return because(ctx, unseen(ctx, toRun, err), refusal)
		}
		refusal = err // its state has just changed
	}
	return because(ctx, left, refusal)
}

// awaitStarted waits for a service whose start was accepted.
func (s *System) awaitStarted(ctx context.Context, name string) error {
	status, err := s.requested(ctx, name, toRun, isSettled)
	switch {
	case err != nil:
		return err
	case status.State == hostapi.Running:
		return nil
	case status.State == hostapi.Paused:
		return errPaused
	}
	return ended(status)
}

var errPaused = fmt.Errorf("%w: the service is paused", errdefs.ErrFailedPrecondition)

// ended says that a service was started and has ended.
func ended(status hostapi.ServiceStatus) error {
	if status.Exit == nil {
		return fmt.Errorf("%w, with exit code 0", errdefs.ErrServiceEnded)
	}
	return fmt.Errorf("%w: %w", errdefs.ErrServiceEnded, status.Exit)
}

// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
)

// How long a service may take where the caller names no deadline (behaviour.md
// SYS-5), and for how long it may show no progress.
const (
	serviceBudget = 30 * time.Second
	patience      = 30 * time.Second
)

// How soon its status is looked at again: at first soon, for most services take
// no second, then as Windows documents (windows-api.md 11.1).
const (
	firstLook   = 50 * time.Millisecond
	shortest    = time.Second
	longest     = 10 * time.Second
	looksInHint = 10
)

// What a service is waited for.
const (
	toRun  = "to become running"
	toStop = "to stop"
)

// status is the status of a service, in a state that Windows has.
func (s *System) status(ctx context.Context, name string) (hostapi.ServiceStatus, error) {
	status, err := s.host.ServiceStatus(ctx, name)
	if err == nil {
		err = checkState(status.State)
	}
	return status, err
}

// settled is the status of a service when it is in no pending state any more.
func (s *System) settled(ctx context.Context, name, goal string) (hostapi.ServiceStatus, error) {
	status, err := s.status(ctx, name)
	if err != nil {
		return status, err
	}
	return s.await(ctx, name, goal, status, isSettled)
}

// requested is the status of a service when it has reached what Windows has
// accepted to do.
func (s *System) requested(ctx context.Context, name, goal string, reached func(hostapi.State) bool) (hostapi.ServiceStatus, error) {
	status, err := s.status(ctx, name)
	if err != nil {
		return status, unseen(ctx, goal, err)
	}
	return s.await(ctx, name, goal, status, reached)
}

func isSettled(state hostapi.State) bool {
	return state == hostapi.Stopped || state == hostapi.Running || state == hostapi.Paused
}

func isStopped(state hostapi.State) bool { return state == hostapi.Stopped }

// await looks at a service until it is in a state that is reached. It gives up
// when ctx ends, or when neither the state nor the check point moves.
func (s *System) await(ctx context.Context, name, goal string, status hostapi.ServiceStatus, reached func(hostapi.State) bool) (hostapi.ServiceStatus, error) {
	moved := time.Now()
	for interval := firstLook; !reached(status.State); interval = min(2*interval, betweenLooks(status.WaitHint)) {
		if err := pause(ctx, interval); err != nil {
			return status, waitEnded(goal, status, err)
		}
		now, err := s.status(ctx, name)
		switch {
		case err != nil && ctx.Err() != nil:
			return status, waitEnded(goal, status, err)
		case err != nil:
			return status, err
		case now.State != status.State || now.CheckPoint > status.CheckPoint:
			moved = time.Now()
		case time.Since(moved) > max(now.WaitHint, patience):
			return now, fmt.Errorf("%w: waiting for the service %s: it makes no progress (%s)", errdefs.ErrUnavailable, goal, describe(now))
		}
		status = now
	}
	return status, nil
}

func betweenLooks(hint time.Duration) time.Duration {
	return min(max(hint/looksInHint, shortest), longest)
}

// unseen says of a request that the caller's time was over before anybody saw
// what became of it.
func unseen(ctx context.Context, goal string, err error) error {
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("the service was asked %s, which may still happen: %w", goal, err)
}

// waitEnded says that the caller's time is over, and how far the service was.
func waitEnded(goal string, status hostapi.ServiceStatus, cause error) error {
	how := "stopped"
	if errors.Is(cause, context.DeadlineExceeded) {
		how = "timed out"
	}
	return fmt.Errorf("%s waiting for the service %s, which may still happen (%s): %w", how, goal, describe(status), cause)
}

func describe(status hostapi.ServiceStatus) string {
	return fmt.Sprintf("state %s, check point %d", ServiceStatus(status.State), status.CheckPoint)
}

// because adds what Windows refused for a while to the end of the caller's time.
func because(ctx context.Context, err, refusal error) error {
	if refusal == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, refusal)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

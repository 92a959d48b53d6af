// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"context"
	"time"
)

// How often to look for a disk where Windows tells of arrivals, and where it
// does not. An arrival is worth some looks in short order, since a disk may
// arrive before all of it answers.
const (
	rareInterval   = 10 * time.Second
	lookInterval   = time.Second
	looksAtArrival = 3
)

// How often to rescan, and how long one rescan may take.
const (
	rescanInterval = 10 * time.Second
	rescanBudget   = 10 * time.Second
)

// wait is what passes between two looks for a disk.
type wait struct {
	rescan  func(context.Context) error
	arrived <-chan struct{} // nil: Windows tells of no arrivals
	soon    int             // looks that are due in short order

	rescanned time.Time
	rescanErr error // of the last rescan
}

// next returns when it is time to look again, or ctx has ended: after a rescan,
// if one is due, at an arrival, or after a while.
func (w *wait) next(ctx context.Context) {
	if time.Since(w.rescanned) >= rescanInterval {
		w.rescanErr = w.rescanBriefly(ctx)
		w.rescanned = time.Now()
		return
	}
	pause := rareInterval
	if w.arrived == nil || w.soon > 0 {
		pause = lookInterval
		w.soon--
	}
	select {
	case <-w.arrived:
		w.soon = looksAtArrival
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// rescanBriefly leaves a rescan that takes too long, or while which a disk
// arrives.
func (w *wait) rescanBriefly(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rescanBudget)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.rescan(ctx) }()
	select {
	case err := <-done:
		return err
	case <-w.arrived:
		w.soon = looksAtArrival
		return nil
	}
}

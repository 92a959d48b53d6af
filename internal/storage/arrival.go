// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// arrivals hands notices of arriving disks on to those who wait. Windows is
// asked for them when somebody first waits, and then as long as the process
// lives (windows-api.md 1.5).
type arrivals struct {
	mu       sync.Mutex
	watching bool
	waiting  map[chan struct{}]struct{}
}

// DiskArrivals tells, until stop, that disks have arrived: one value for any
// number of them. The channel is nil where Windows gives no notice, and whoever
// waits has to look again and again.
func (s *Storage) DiskArrivals(ctx context.Context) (arrived <-chan struct{}, stop func()) {
	if !s.watchDisks(ctx) {
		return nil, func() {}
	}
	notice := make(chan struct{}, 1)
	s.arrivals.mu.Lock()
	defer s.arrivals.mu.Unlock()
	if s.arrivals.waiting == nil {
		s.arrivals.waiting = map[chan struct{}]struct{}{}
	}
	s.arrivals.waiting[notice] = struct{}{}
	return notice, func() {
		s.arrivals.mu.Lock()
		defer s.arrivals.mu.Unlock()
		delete(s.arrivals.waiting, notice)
	}
}

// watchDisks reports whether Windows tells of disks that arrive.
func (s *Storage) watchDisks(ctx context.Context) bool {
	a := &s.arrivals
	if a.isWatching() {
		return true
	}
	if s.host.Arrivals == nil {
		return false
	}
	_, err := ask(ctx, s, "watch", "disks", func() (struct{}, error) {
		if a.isWatching() { // calls take turns
			return struct{}{}, nil
		}
		err := s.host.Arrivals.Watch(abi.GUID_DEVINTERFACE_DISK, a.tell)
		if err == nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.watching = true
		}
		return struct{}{}, err
	})
	return err == nil
}

func (a *arrivals) isWatching() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.watching
}

// tell is called by the host. It does not wait.
func (a *arrivals) tell() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for notice := range a.waiting {
		select {
		case notice <- struct{}{}:
		default: // has one already
		}
	}
}

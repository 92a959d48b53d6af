// SPDX-License-Identifier: Apache-2.0

package blocking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// How many abandoned calls are borne before further ones are refused. Calls
// that run when a bound is reached are not stopped by it.
const (
	MaxPerGroup = 4
	MaxPerHost  = 64
)

// Table knows the unfinished calls and flights of one host.
type Table struct {
	mu      sync.Mutex
	running map[slot]*call
	flights map[string]*flight
	panic   *PanicError // the first
}

// On is the table of a host, shared by all that is built on it.
func On(h *win.Host) *Table {
	return win.Attached(h, func() *Table {
		return &Table{running: map[slot]*call{}, flights: map[string]*flight{}}
	})
}

// Unfinished is a call that has begun and not ended.
type Unfinished struct {
	Kind, Object string
	Since        time.Time
	Abandoned    bool // nobody waits for its result
}

// Unfinished lists the calls that have begun and not ended, the oldest first.
func (t *Table) Unfinished() []Unfinished {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Unfinished, 0, len(t.running))
	for _, c := range t.running {
		list = append(list, Unfinished{c.Kind, c.Object, c.since, c.abandoned()})
	}
	slices.SortFunc(list, func(a, b Unfinished) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object))
	})
	return list
}

// Clean fails where a call has begun and not ended, and where one has panicked,
// be it that nobody has the panic as an error, for all callers had left. It is
// for the end of tests.
func (t *Table) Clean() error {
	var failed []error
	if left := t.Unfinished(); len(left) > 0 {
		failed = append(failed, fmt.Errorf("calls left: %+v", left))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.panic; p != nil {
		failed = append(failed, fmt.Errorf("%w\n%s", p, p.Stack))
	}
	return errors.Join(failed...)
}

func (t *Table) panicked(p *PanicError) *PanicError {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.panic == nil {
		t.panic = p
	}
	return p
}

// slot is what only one running call may hold.
type slot struct{ kind, object string }

// call is a call that waits for its turn or runs.
type call struct {
	Call
	flight *flight    // of a step that must end, else nil
	turn   chan error // receives nil when the call may begin, or why it may not

	// Guarded by Table.mu.
	since time.Time
	left  bool    // its caller has left
	queue []*call // those that wait for the end of this one
}

func newCall(c Call, f *flight) *call {
	return &call{Call: c, flight: f, turn: make(chan error, 1)}
}

func (c *call) slot() slot { return slot{c.Kind, c.Object} }

func (c *call) abandoned() bool {
	return c.left || c.flight != nil && c.flight.waiters == 0
}

// await returns nil when it is c's turn; then c runs, and end must follow.
func (t *Table) await(ctx context.Context, c *call) error {
	if err := t.enter(ctx, c); err != nil {
		return err
	}
	var refused error
	select {
	case refused = <-c.turn:
	case <-ctx.Done():
		if t.unqueue(c) {
			return fmt.Errorf("another %s is still running: %w", c, ctx.Err())
		}
		refused = <-c.turn
	}
	if refused != nil {
		return refused
	}
	if err := ctx.Err(); err != nil {
		t.end(c)
		return err
	}
	return nil
}

// enter begins c or puts it in the queue of the running call. The context is
// looked at under the lock, so that no step begins in a cancelled flight.
func (t *Table) enter(ctx context.Context, c *call) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.refusal(c); err != nil {
		return err
	}
	if r := t.running[c.slot()]; r != nil {
		r.queue = append(r.queue, c)
		return nil
	}
	t.begin(c)
	return nil
}

func (t *Table) begin(c *call) {
	c.since = time.Now()
	t.running[c.slot()] = c
	c.turn <- nil
}

// unqueue takes c out of the queue; false says that its turn has come, or that
// it was refused.
func (t *Table) unqueue(c *call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.running[c.slot()]
	if r == nil {
		return false
	}
	i := slices.Index(r.queue, c)
	if i < 0 {
		return false
	}
	r.queue = slices.Delete(r.queue, i, i+1)
	return true
}

// end gives the slot of c to the next in its queue.
func (t *Table) end(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, c.slot())
	for i, next := range c.queue {
		if err := t.refusal(next); err != nil {
			next.turn <- err
			continue
		}
		next.queue = c.queue[i+1:]
		t.begin(next)
		break
	}
	if c.flight != nil {
		t.settle(c.flight)
	}
}

// leave abandons c; false says that it has ended.
func (t *Table) leave(c *call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[c.slot()] != c {
		return false
	}
	c.left = true
	t.refuseQueue(c)
	return true
}

// refuseQueue turns away those that wait for an abandoned call.
func (t *Table) refuseQueue(abandoned *call) {
	for _, c := range abandoned.queue {
		c.turn <- t.refusal(c)
	}
	abandoned.queue = nil
}

// refusal says why c may neither begin nor wait: too much hangs.
func (t *Table) refusal(c *call) error {
	var before, group, host []*call
	for _, r := range t.running {
		if !r.abandoned() {
			continue
		}
		host = append(host, r)
		if c.Group != "" && r.Group == c.Group {
			group = append(group, r)
		}
		if r.slot() == c.slot() {
			before = append(before, r)
		}
	}
	switch {
	case len(before) > 0:
		return exhausted(c, before)
	case len(group) >= MaxPerGroup:
		return exhausted(c, group)
	case len(host) >= MaxPerHost:
		return exhausted(c, host)
	}
	return nil
}

// exhausted is the refusal of c, naming the oldest of the calls that hang.
func exhausted(c *call, hang []*call) error {
	const named = 4
	slices.SortFunc(hang, func(a, b *call) int { return a.since.Compare(b.since) })
	var names []string
	for _, h := range hang[:min(len(hang), named)] {
		names = append(names, fmt.Sprintf("%s for %s", h, time.Since(h.since).Round(time.Millisecond)))
	}
	if len(hang) > named {
		names = append(names, "...")
	}
	return errdefs.New(errdefs.ResourceExhausted, c.Kind, c.Object,
		"abandoned and still running (%d): %s", len(hang), strings.Join(names, ", "))
}

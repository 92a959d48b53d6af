// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

const (
	// workers is how many calls run at once. Providers break under many
	// (windows-api.md 14.8), but a long format must not hold up other disks.
	workers = 4
	// spares is how many workers are replaced while they hang.
	spares = 4
	// patience is how long one boundary call may take before its worker is
	// left behind.
	patience = time.Minute
)

// A job is one read or method on its way through a worker.
type job struct {
	call   string // for messages: class, or class.method
	ask    func(*worker) ([]win.Row, error)
	cancel context.CancelFunc // a read stops, and no method begins
	done   chan outcome       // room for the worker's answer and for its loss
	begun  bool               // the method has been started; guarded by Client.mu
}

type outcome struct {
	rows []win.Row
	err  error
}

// A hang is a boundary call that did not come back, or a method that runs for
// long.
type hang struct {
	call, in string
	told     bool // the caller waits no more
}

func (h hang) String() string { return h.call + " in " + h.in }

// run has a worker ask and waits for the answer. When ctx ends the job is
// withdrawn, unless it is a method that has begun. The context that ask is given
// ends with ctx, with run, and when the worker is left behind.
func (c *Client) run(ctx context.Context, queue chan *job, call string, ask func(context.Context, *worker) ([]win.Row, error)) ([]win.Row, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	j := &job{call: call, cancel: cancel, done: make(chan outcome, 2)}
	j.ask = func(w *worker) ([]win.Row, error) { return ask(inner, w) }
	if err := c.submit(ctx, queue, j); err != nil {
		return nil, err
	}
	select {
	case o := <-j.done:
		return o.rows, o.err
	case <-ctx.Done():
	}
	if c.withdraw(j) {
		return nil, ctx.Err()
	}
	o := <-j.done
	return o.rows, o.err
}

func (c *Client) submit(ctx context.Context, queue chan *job, j *job) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		changed, err := c.serve(queue)
		if err != nil {
			return err
		}
		select {
		case queue <- j:
			return nil
		case <-changed:
		case <-c.closed:
		case <-ctx.Done():
		}
	}
}

// serve sees to it that a queue has workers. The channel closes when one is
// left behind or comes back; then serve again.
func (c *Client) serve(queue chan *job) (<-chan struct{}, error) {
	if c.wmi == nil {
		return nil, fmt.Errorf("this host has no WMI: %w", errdefs.ErrUnsupported)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return nil, fmt.Errorf("%w: the host is closed", errdefs.ErrUnavailable)
	}
	c.fill()
	for _, w := range c.slots {
		if w != nil && (queue == c.reads || queue == w.methods) {
			return c.changed, nil
		}
	}
	return nil, fmt.Errorf("%w: WMI calls hang: %s", errdefs.ErrUnavailable, c.hanging())
}

// fill starts the missing workers that may be started. c.mu is held.
func (c *Client) fill() {
	for i, w := range c.slots {
		if w == nil && c.mayStart() {
			c.start(i)
		}
	}
}

// start starts the worker of a slot; all but the first take methods, too. c.mu is
// held.
func (c *Client) start(slot int) {
	w := &worker{client: c, sessions: map[string]session{}}
	if slot > 0 {
		w.methods = c.methods
	}
	c.slots[slot] = w
	go w.serve()
}

// mayStart reports whether there may be one more worker. c.mu is held.
func (c *Client) mayStart() bool {
	running := len(c.lost)
	for _, w := range c.slots {
		if w != nil {
			running++
		}
	}
	return running < workers+spares
}

// hanging names the calls that hang. c.mu is held.
func (c *Client) hanging() string {
	var names []string
	for _, h := range c.lost {
		names = append(names, h.String())
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// leaveBehind takes a worker whose boundary call does not come back out of the
// pool and tells the caller of its job.
func (c *Client) leaveBehind(w *worker, j *job, in string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.job != j || c.lost[w].told {
		return
	}
	c.takeOut(w, hang{call: j.call, in: in, told: true})
	err := fmt.Errorf("%w: WMI has not answered for %s (%s)", errdefs.ErrUnavailable, patience, in)
	if entry, begun := c.ledger[j]; begun {
		entry.Lost = true
		c.ledger[j] = entry
		err = fmt.Errorf("%w; the method may still complete", err)
	}
	j.done <- outcome{err: err}
	j.cancel()
}

// stepAside takes a worker whose method runs for long out of the pool, if another
// may take its place, for the methods of other objects. Its caller goes on
// waiting.
func (c *Client) stepAside(w *worker, j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, already := c.lost[w]; w.job == j && !already && c.mayStart() {
		c.takeOut(w, hang{call: j.call, in: "its provider"})
	}
}

// takeOut frees the place of a worker, which ends with its job. c.mu is held.
func (c *Client) takeOut(w *worker, h hang) {
	if i := slices.Index(c.slots[:], w); i >= 0 {
		c.slots[i] = nil
	}
	c.lost[w] = h
	c.changedSlots()
}

// comeBack forgets a worker that has ended.
func (c *Client) comeBack(w *worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.lost[w]; !ok {
		return
	}
	delete(c.lost, w)
	c.changedSlots()
}

// changedSlots wakes those who wait for a worker. c.mu is held.
func (c *Client) changedSlots() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// assign notes what a worker does; nil for nothing. It reports whether the
// worker still belongs to the pool.
func (c *Client) assign(w *worker, j *job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.job = j
	_, lost := c.lost[w]
	return !lost
}

// SPDX-License-Identifier: Apache-2.0

package blocking

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// flight is a change that callers share.
type flight struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when landed

	// Guarded by Table.mu.
	waiters int
	doomed  bool // its context is cancelled
	landed  bool
	outcome any // an outcome[T]; immutable once landed
}

type flightKey struct{ *Table }

// flightIn is the flight of t that ctx belongs to, or nil.
func (t *Table) flightIn(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{t}).(*flight)
	return f
}

// Join runs fn, or joins the unfinished run of the same key, and returns its
// result, which all callers share and none may modify. One key has one T.
//
// fn runs on its own goroutine, with a context that has the values of the first
// caller and an end of its own: it is cancelled when the last caller has left,
// or, where a [Finish] step runs then, at the end of that step if still nobody
// waits. A caller that comes later waits for the end of the cancelled flight
// and starts anew. fn must return soon after its context ends, and must not
// join its own key.
//
// When ctx ends Join returns at once; the error wraps ctx.Err() and says that
// the change may still complete. A ctx that has ended starts and joins nothing.
// A panic in fn is an Internal error, as for [Do].
func Join[T any](ctx context.Context, t *Table, key string, fn func(ctx context.Context) (T, error)) (T, error) {
	var zero T
	for {
		if err := ctx.Err(); err != nil {
			return zero, err
		}
		f, joined := board(ctx, t, key, fn)
		if joined {
			return ride[T](ctx, t, key, f)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return zero, leaving(ctx, key)
		}
	}
}

// Alone runs fn as [Join] does, but for one caller: no other joins it or shares
// its result. Callers exclude each other by locks that fn takes, which a
// [Finish] step of it keeps after its caller has left.
func Alone(ctx context.Context, t *Table, change string, fn func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f := launch(ctx, t, change, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	_, err := ride[struct{}](ctx, t, change, f)
	return err
}

// Wanted fails where nobody waits any more for the flight that ctx belongs to,
// and, outside of flights, with ctx.Err(). A [Finish] step asks it right before
// what cannot be undone.
func (t *Table) Wanted(ctx context.Context) error {
	f := t.flightIn(ctx)
	if f == nil {
		return ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.waiters == 0 {
		return context.Canceled
	}
	return nil
}

// board joins the flight of a key, or starts it. It joins no doomed one.
func board[T any](ctx context.Context, t *Table, key string, fn func(ctx context.Context) (T, error)) (f *flight, joined bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.flights[key]; f != nil {
		if f.doomed {
			return f, false
		}
		f.waiters++
		return f, true
	}

	f = launch(ctx, t, key, fn)
	t.flights[key] = f
	return f, true
}

// launch starts a flight with one caller.
func launch[T any](ctx context.Context, t *Table, key string, fn func(ctx context.Context) (T, error)) *flight {
	f := &flight{waiters: 1, done: make(chan struct{})}
	own := context.WithValue(context.WithoutCancel(ctx), flightKey{t}, f)
	own, f.cancel = context.WithCancel(own)
	spawn(t, key, func() (T, error) { return fn(own) }, func(o outcome[T]) { t.land(key, f, o) })
	return f
}

// ride waits for the end of a flight or leaves it when ctx ends.
func ride[T any](ctx context.Context, t *Table, key string, f *flight) (T, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
		if t.alight(f) {
			var zero T
			return zero, leaving(ctx, key)
		}
	}
	o, ok := f.outcome.(outcome[T])
	if !ok {
		return o.value, errdefs.New(errdefs.Internal, key, "", "callers expect %T and %T", f.outcome, o)
	}
	return o.value, o.err
}

func leaving(ctx context.Context, key string) error {
	return fmt.Errorf("%s: the change may still complete: %w", key, ctx.Err())
}

// alight takes one caller off; false says that the flight has landed.
func (t *Table) alight(f *flight) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.landed {
		return false
	}
	f.waiters--
	t.settle(f)
	return true
}

// settle cancels a flight that nobody waits for, unless a step of it must end
// first. What waits for such a step is turned away.
func (t *Table) settle(f *flight) {
	if f.waiters > 0 {
		return
	}
	held := false
	for _, c := range t.running {
		if c.flight == f {
			held = true
			t.refuseQueue(c)
		}
	}
	if !held {
		f.doomed = true
		f.cancel()
	}
}

func (t *Table) land(key string, f *flight, outcome any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flights[key] == f { // no flight of Alone
		delete(t.flights, key)
	}
	f.landed, f.outcome = true, outcome
	f.cancel()
	close(f.done)
}

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
		select {
		case <-f.done:
		case <-ctx.Done():
			if !joined || t.alight(f) {
				return zero, fmt.Errorf("%s: the change may still complete: %w", key, ctx.Err())
			}
		}
		if joined {
			return landing[T](key, f)
		}
	}
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

	f = &flight{waiters: 1, done: make(chan struct{})}
	own := context.WithValue(context.WithoutCancel(ctx), flightKey{t}, f)
	own, f.cancel = context.WithCancel(own)
	t.flights[key] = f
	spawn(key, func() (T, error) { return fn(own) }, func(o outcome[T]) { t.land(key, f, o) })
	return f, true
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
	delete(t.flights, key)
	f.landed, f.outcome = true, outcome
	f.cancel()
	close(f.done)
}

func landing[T any](key string, f *flight) (T, error) {
	o, ok := f.outcome.(outcome[T])
	if !ok {
		return o.value, errdefs.New(errdefs.Internal, key, "", "callers expect %T and %T", f.outcome, o)
	}
	return o.value, o.err
}

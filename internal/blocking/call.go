// SPDX-License-Identifier: Apache-2.0

package blocking

import (
	"context"
	"fmt"
)

// Call says what a call does and to what. One call of a Kind and Object runs
// at a time.
type Call struct {
	Kind   string // "query", "read", "flush", "format" …
	Object string // "disk 3", a volume name, a path …
	Group  string // what hangs together: a disk, a server; "" is no group
}

// String reads "query of disk 3".
func (c Call) String() string { return c.Kind + " of " + c.Object }

// Do runs fn on its own goroutine and returns its result. Calls of the same
// Kind and Object take turns, in the order in which they came.
//
// When ctx ends Do returns at once with an error that wraps ctx.Err() and names
// what is still running; fn runs on, abandoned, and must close what it opened.
// Where a call that Do would wait for is or becomes abandoned, or where
// [MaxPerGroup] calls of the group or [MaxPerHost] of the host are, fn is not
// run and the error is ResourceExhausted and names what hangs, for how long. A
// ctx that has ended makes no call. A panic in fn is an Internal error that
// holds a *[PanicError].
func Do[T any](ctx context.Context, t *Table, c Call, fn func() (T, error)) (T, error) {
	return run(ctx, t, newCall(c, nil), fn)
}

// Finish runs fn as Do does, as a step of the flight in ctx (see [Join]) that
// must reach its end: once it has begun, Finish returns only when fn has, and
// the flight is not cancelled before. Such a step counts as abandoned while its
// flight has no callers. Outside of a flight Finish is Do.
func Finish[T any](ctx context.Context, t *Table, c Call, fn func() (T, error)) (T, error) {
	return run(ctx, t, newCall(c, t.flightIn(ctx)), fn)
}

func run[T any](ctx context.Context, t *Table, c *call, fn func() (T, error)) (T, error) {
	var zero T
	if err := t.await(ctx, c); err != nil {
		return zero, err
	}
	done := make(chan outcome[T], 1)
	spawn(t, c.String(), fn, func(o outcome[T]) {
		t.end(c)
		done <- o
	})

	left := ctx.Done()
	if c.flight != nil {
		left = nil
	}
	select {
	case o := <-done:
		return o.value, o.err
	case <-left:
	}
	if !t.leave(c) {
		o := <-done
		return o.value, o.err
	}
	return zero, fmt.Errorf("%s is still running: %w", c, ctx.Err())
}

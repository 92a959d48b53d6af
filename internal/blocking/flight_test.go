// SPDX-License-Identifier: Apache-2.0

package blocking

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/keylock"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

const partition = "partition disk 3"

func format(object string) Call { return Call{Kind: "format", Object: object, Group: object} }

// caller joins a flight and can leave it.
type caller struct {
	leave context.CancelFunc
	got   string
	errs  <-chan error
}

func join(t *testing.T, table *Table, fn func(context.Context) (string, error)) *caller {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	c := &caller{leave: leave}
	c.errs = background(func() (err error) {
		c.got, err = Join(ctx, table, partition, fn)
		return err
	})
	synctest.Wait() // it has arrived
	return c
}

// mustLeave leaves and checks that the caller is released at once.
func (c *caller) mustLeave(t *testing.T) {
	t.Helper()
	c.leave()
	err := <-c.errs
	if c.got != "" || !errors.Is(err, context.Canceled) || errdefs.KindOf(err) != errdefs.Canceled {
		t.Errorf("got %q, %v", c.got, err)
	}
	if !strings.Contains(err.Error(), partition+": the change may still complete") {
		t.Errorf("%q does not say that the change may still complete", err)
	}
	synctest.Wait()
}

func (c *caller) mustGet(t *testing.T, want string) {
	t.Helper()
	if err := <-c.errs; err != nil || c.got != want {
		t.Errorf("got %q, %v, want %q", c.got, err, want)
	}
}

func never(t *testing.T) func(context.Context) (string, error) {
	t.Helper()
	return func(context.Context) (string, error) {
		t.Error("a second flight")
		return "", nil
	}
}

func TestJoin_CallersShareOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, h := newTable(), newHang()
		callers := []*caller{join(t, table, func(context.Context) (string, error) { return h.call() })}
		for range 63 {
			callers = append(callers, join(t, table, never(t)))
		}
		close(h.release)
		for _, c := range callers {
			c.mustGet(t, "late")
		}
		if h.runs != 1 {
			t.Errorf("%d runs", h.runs)
		}

		again := join(t, table, func(context.Context) (string, error) { return "again", nil })
		again.mustGet(t, "again")
	})
}

func TestJoin_SharesErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, h := newTable(), newHang()
		a := join(t, table, func(context.Context) (string, error) {
			got, _ := h.call()
			return got, win.ERROR_BUSY
		})
		b := join(t, table, never(t))
		close(h.release)
		for _, c := range []*caller{a, b} {
			if err := <-c.errs; !errors.Is(err, win.ERROR_BUSY) || c.got != "late" {
				t.Errorf("got %q, %v", c.got, err)
			}
		}
	})
}

func TestJoin_OtherKeysDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, h := newTable(), newHang()
		defer close(h.release)
		join(t, table, func(context.Context) (string, error) { return h.call() })
		got, err := Join(t.Context(), table, "partition disk 4", func(context.Context) (int, error) { return 1, nil })
		if got != 1 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	})
}

func TestJoin_EndedContextStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Join(ctx, newTable(), partition, never(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestJoin_KeepsValuesNotDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		ctx, cancel := WithBudget(context.WithValue(t.Context(), key{}, "logger"), QueryBudget)
		defer cancel()
		_, err := Join(ctx, newTable(), partition, func(ctx context.Context) (int, error) {
			if ctx.Value(key{}) != "logger" {
				t.Error("the first caller's values are lost")
			}
			if _, ok := ctx.Deadline(); ok {
				t.Error("the flight has the first caller's deadline")
			}
			return 0, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestJoin_LastCallerEndsFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable()
		landed := false
		fly := func(ctx context.Context) (string, error) {
			<-ctx.Done()
			landed = true
			return "", ctx.Err()
		}
		first := join(t, table, fly)
		second := join(t, table, never(t))
		first.mustLeave(t)
		if landed {
			t.Fatal("the flight ended before its last caller left")
		}
		second.mustLeave(t)
		if !landed {
			t.Error("the flight outlived its callers")
		}
	})
}

func TestJoin_DoInFlightIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, h, start := newTable(), newHang(), time.Now()
		c := join(t, table, func(ctx context.Context) (string, error) {
			return Do(ctx, table, query("disk 3"), h.call)
		})
		c.mustLeave(t)
		wantUnfinished(t, table, Unfinished{"query", "disk 3", start, true})

		again := join(t, table, func(context.Context) (string, error) { return "again", nil })
		again.mustGet(t, "again")
		close(h.release)
		wantUnfinished(t, table)
	})
}

func TestJoin_ArrivalAtCancelledFlightStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, slow, next := newTable(), make(chan struct{}), make(chan struct{})
		first := join(t, table, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			<-slow
			return "old", nil
		})
		first.mustLeave(t)

		runs := 0
		anew := func(context.Context) (string, error) { runs++; <-next; return "new", nil }
		impatient := join(t, table, anew)
		impatient.mustLeave(t)
		a, b := join(t, table, anew), join(t, table, anew)
		if runs != 0 {
			t.Fatal("a second flight beside the cancelled one")
		}
		close(slow)
		synctest.Wait()
		close(next)
		a.mustGet(t, "new")
		b.mustGet(t, "new")
		if runs != 1 {
			t.Errorf("%d runs", runs)
		}
	})
}

func TestJoin_PanicIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable()
		for range 2 { // also after the first, the key is free
			_, err := Join(t.Context(), table, partition, func(context.Context) (int, error) { panic("boom") })
			if errdefs.KindOf(err) != errdefs.Internal || !strings.Contains(err.Error(), partition+": panic: boom") {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestJoin_TypesOfOneKeyMustAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, h := newTable(), newHang()
		first := join(t, table, func(context.Context) (string, error) { return h.call() })
		other := background(func() error {
			_, err := Join(t.Context(), table, partition, func(context.Context) (int, error) { return 0, nil })
			return err
		})
		synctest.Wait()
		close(h.release)
		first.mustGet(t, "late")
		if err := <-other; errdefs.KindOf(err) != errdefs.Internal {
			t.Errorf("got %v", err)
		}
	})
}

func TestFinish_HoldsFlightToEndOfStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, step, start := newTable(), newHang(), time.Now()
		var flight context.Context
		c := join(t, table, func(ctx context.Context) (string, error) {
			flight = ctx
			got, err := Finish(ctx, table, format("disk 3"), step.call)
			if got != "late" || err != nil {
				t.Errorf("the step: got %q, %v", got, err)
			}
			return Finish(ctx, table, Call{Kind: "grow", Object: "disk 3"}, func() (string, error) {
				t.Error("a step that nobody waits for has begun")
				return "", nil
			})
		})
		c.mustLeave(t)
		if flight.Err() != nil {
			t.Fatal("the flight was cancelled during the step")
		}
		wantUnfinished(t, table, Unfinished{"format", "disk 3", start, true})

		close(step.release)
		synctest.Wait()
		if flight.Err() == nil {
			t.Error("the flight was not cancelled after the step")
		}
		wantUnfinished(t, table)
	})
}

func TestFinish_ReturningCallerTakesFlightOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, first, second := newTable(), newHang(), newHang()
		c := join(t, table, func(ctx context.Context) (string, error) {
			if _, err := Finish(ctx, table, format("disk 3"), first.call); err != nil {
				return "", err
			}
			return Finish(ctx, table, Call{Kind: "grow", Object: "disk 3"}, second.call)
		})
		c.mustLeave(t)
		time.Sleep(time.Minute)
		back := join(t, table, never(t))
		if list := table.Unfinished(); list[0].Abandoned {
			t.Error("a step that is waited for counts as abandoned")
		}

		close(first.release)
		synctest.Wait()
		close(second.release)
		back.mustGet(t, "late")
		if first.runs != 1 || second.runs != 1 {
			t.Errorf("%d and %d runs", first.runs, second.runs)
		}
	})
}

func TestFinish_IgnoresDeadlineOnceBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable()
		c := join(t, table, func(ctx context.Context) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return Finish(ctx, table, format("disk 3"), func() (string, error) {
				time.Sleep(time.Hour)
				return "formatted", nil
			})
		})
		c.mustGet(t, "formatted")
	})
}

func TestFinish_WaitingForTurnHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, h := newTable(), newHang()
		before := background(func() error { _, err := Do(t.Context(), table, format("disk 3"), h.call); return err })
		<-h.entered

		landed := false
		c := join(t, table, func(ctx context.Context) (string, error) {
			defer func() { landed = true }()
			return Finish(ctx, table, format("disk 3"), func() (string, error) {
				t.Error("called")
				return "", nil
			})
		})
		c.mustLeave(t)
		if !landed {
			t.Error("the flight outlived its callers")
		}
		close(h.release)
		if err := <-before; err != nil {
			t.Error(err)
		}
		wantUnfinished(t, table)
	})
}

func TestFinish_WithoutCallersCountsAsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, step := newTable(), newHang()
		c := join(t, table, func(ctx context.Context) (string, error) {
			return Finish(ctx, table, format("disk 3"), step.call)
		})
		other := func() error {
			_, err := Do(t.Context(), table, format("disk 3"), func() (int, error) { return 0, nil })
			return err
		}
		waiter := background(other)
		synctest.Wait()
		time.Sleep(time.Minute)
		c.mustLeave(t)
		wantExhausted(t, <-waiter, "format of disk 3 for 1m0s")
		wantExhausted(t, other(), "format of disk 3 for 1m0s")

		back := join(t, table, never(t))
		waiter = background(other)
		synctest.Wait()
		close(step.release)
		back.mustGet(t, "late")
		if err := <-waiter; err != nil {
			t.Errorf("behind a step that is waited for: %v", err)
		}
	})
}

func TestFinish_PanicIsAnErrorOfTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable()
		c := join(t, table, func(ctx context.Context) (string, error) {
			_, err := Finish(ctx, table, format("disk 3"), func() (string, error) { panic("boom") })
			if errdefs.KindOf(err) != errdefs.Internal {
				t.Errorf("got %v", err)
			}
			return "cleaned up", nil
		})
		c.mustGet(t, "cleaned up")
	})
}

func TestFinish_OutsideOfFlightIsDo(t *testing.T) {
	outside := func(t *testing.T, ctx context.Context, table *Table) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		h := newHang()
		if _, err := Finish(ctx, table, format("disk 3"), h.call); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		close(h.release)
		wantUnfinished(t, table)
	}

	t.Run("no flight", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { outside(t, t.Context(), newTable()) })
	})
	t.Run("flight of another host", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := join(t, newTable(), func(ctx context.Context) (string, error) {
				outside(t, ctx, newTable())
				return "", nil
			})
			c.mustGet(t, "")
		})
	})
}

// What a flight locks stays locked until its step has ended, whoever leaves.
func TestFinish_LocksOutliveCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &win.Host{}
		table, locks, step := On(host), keylock.On(host), newHang()
		c := join(t, table, func(ctx context.Context) (string, error) {
			unlock, err := locks.Lock(ctx, keylock.Disk("3"))
			if err != nil {
				return "", err
			}
			defer unlock()
			return Finish(ctx, table, format("disk 3"), step.call)
		})
		c.mustLeave(t)

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := locks.Lock(ctx, keylock.Disk("3")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("during the step: %v", err)
		}
		close(step.release)
		unlock, err := locks.Lock(t.Context(), keylock.Disk("3"))
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	})
}

func TestAlone_DoesNotShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, release := newTable(), make(chan struct{})
		running := 0
		fn := func(context.Context) error { running++; <-release; return win.ERROR_BUSY }
		joined := join(t, table, func(context.Context) (string, error) { <-release; return "shared", nil })
		first := background(func() error { return Alone(t.Context(), table, partition, fn) })
		synctest.Wait()
		second := background(func() error { return Alone(t.Context(), table, partition, fn) })
		synctest.Wait()
		if running != 2 {
			t.Errorf("%d run", running)
		}
		again := join(t, table, never(t))
		close(release)
		for _, errs := range []<-chan error{first, second} {
			if err := <-errs; !errors.Is(err, win.ERROR_BUSY) {
				t.Errorf("got %v", err)
			}
		}
		joined.mustGet(t, "shared")
		again.mustGet(t, "shared")
	})
}

// A flight of Alone that lands leaves the shared one of its name alone.
func TestAlone_LeavesSharedFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, h := newTable(), newHang()
		first := join(t, table, func(context.Context) (string, error) { return h.call() })
		if err := Alone(t.Context(), table, partition, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		second := join(t, table, never(t))
		close(h.release)
		first.mustGet(t, "late")
		second.mustGet(t, "late")
	})
}

func TestAlone_EndsWithItsCallerButForAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, step := newTable(), newHang()
		ctx, leave := context.WithCancel(t.Context())
		var flight context.Context
		errs := background(func() error {
			return Alone(ctx, table, partition, func(ctx context.Context) error {
				flight = ctx
				_, err := Finish(ctx, table, format("disk 3"), step.call)
				return err
			})
		})
		<-step.entered
		leave()
		err := <-errs
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), partition+": the change may still complete") {
			t.Errorf("got %v", err)
		}
		if flight.Err() != nil {
			t.Error("cancelled during the step")
		}
		close(step.release)
		wantUnfinished(t, table)
		if flight.Err() == nil {
			t.Error("not cancelled after the step")
		}

		if err := Alone(ctx, table, partition, func(context.Context) error { t.Error("called"); return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, ask := newTable(), make(chan struct{})
		answers := make(chan error)
		c := join(t, table, func(ctx context.Context) (string, error) {
			return Finish(ctx, table, format("disk 3"), func() (string, error) {
				for range ask {
					answers <- table.Wanted(ctx)
				}
				return "formatted", nil
			})
		})
		wanted := func() error { ask <- struct{}{}; return <-answers }
		if err := wanted(); err != nil {
			t.Errorf("with a caller: %v", err)
		}
		c.mustLeave(t)
		if err := wanted(); !errors.Is(err, context.Canceled) {
			t.Errorf("without a caller: %v", err)
		}
		back := join(t, table, never(t))
		if err := wanted(); err != nil {
			t.Errorf("with a caller again: %v", err)
		}
		close(ask)
		back.mustGet(t, "formatted")
	})

	ctx, cancel := context.WithCancel(t.Context())
	if err := newTable().Wanted(ctx); err != nil {
		t.Errorf("outside of flights: %v", err)
	}
	cancel()
	if err := newTable().Wanted(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("outside of flights, cancelled: %v", err)
	}
}

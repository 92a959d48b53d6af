// SPDX-License-Identifier: Apache-2.0

package blocking

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

func TestDo_ReturnsResultAndErrorUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := Do(t.Context(), newTable(), query("disk 3"), func() (int, error) {
			return 7, win.ERROR_MORE_DATA
		})
		if got != 7 || !errors.Is(err, win.ERROR_MORE_DATA) {
			t.Errorf("got %d, %v", got, err)
		}
	})
}

func TestDo_EndedContextMakesNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Do(ctx, newTable(), query("disk 3"), func() (int, error) {
			t.Error("called")
			return 0, nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestDo_LeavesHangingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, h, start := newTable(), newHang(), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), QueryBudget)
		defer cancel()

		got, err := Do(ctx, table, query("disk 3"), h.call)
		if got != "" || !errors.Is(err, context.DeadlineExceeded) || errdefs.KindOf(err) != errdefs.DeadlineExceeded {
			t.Errorf("got %q, %v", got, err)
		}
		if !strings.Contains(err.Error(), "query of disk 3") {
			t.Errorf("%q does not name the call", err)
		}
		if d := time.Since(start); d != QueryBudget {
			t.Errorf("left after %v", d)
		}
		wantUnfinished(t, table, Unfinished{"query", "disk 3", start, true})

		close(h.release)
		wantUnfinished(t, table)
		if !h.closed {
			t.Error("the abandoned call did not close what it opened")
		}
	})
}

func TestDo_CancelLeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, h := newTable(), newHang()
		ctx, cancel := context.WithCancel(t.Context())
		errs := background(func() error { _, err := Do(ctx, table, query("disk 3"), h.call); return err })
		<-h.entered
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(h.release)
	})
}

func TestDo_SameObjectTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, start := newTable(), time.Now()
		var order []int
		var wg sync.WaitGroup
		for i := range 64 {
			synctest.Wait() // so that they arrive in this order
			wg.Go(func() {
				_, err := Do(t.Context(), table, query("disk 3"), func() (int, error) {
					order = append(order, i) // unguarded: one at a time
					time.Sleep(time.Second)
					return 0, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(start); d != 64*time.Second {
			t.Errorf("took %v", d)
		}
		if len(order) != 64 || !slices.IsSorted(order) {
			t.Errorf("order %v", order)
		}
		wantUnfinished(t, table)
	})
}

func TestDo_OthersDoNotWait(t *testing.T) {
	for _, other := range []Call{
		{Kind: "query", Object: "disk 4"},
		{Kind: "query", Object: "disk 4", Group: "disk 3"},
		{Kind: "flush", Object: "disk 3", Group: "disk 3"},
	} {
		t.Run(other.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table, h := newTable(), newHang()
				defer close(h.release)
				background(func() error { _, err := Do(t.Context(), table, Call{"query", "disk 3", "disk 3"}, h.call); return err })
				<-h.entered
				got, err := Do(t.Context(), table, other, func() (int, error) { return 1, nil })
				if got != 1 || err != nil {
					t.Errorf("got %d, %v", got, err)
				}
			})
		})
	}
}

func TestDo_WaiterLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, h := newTable(), newHang()
		first := background(func() error { _, err := Do(t.Context(), table, query("disk 3"), h.call); return err })
		<-h.entered

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Do(ctx, table, query("disk 3"), func() (int, error) {
			t.Error("called")
			return 0, nil
		})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "query of disk 3") {
			t.Errorf("got %v", err)
		}

		close(h.release)
		if err := <-first; err != nil {
			t.Errorf("the call itself: %v", err)
		}
		wantUnfinished(t, table)
	})
}

func TestDo_WaitersFailWhenCallIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, h, start := newTable(), newHang(), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		first := background(func() error { _, err := Do(ctx, table, query("disk 3"), h.call); return err })
		<-h.entered

		never := func() (int, error) { t.Error("called"); return 0, nil }
		var waiters []<-chan error
		for range 3 {
			waiters = append(waiters, background(func() error {
				_, err := Do(t.Context(), table, query("disk 3"), never)
				return err
			}))
		}
		for _, errs := range waiters {
			wantExhausted(t, <-errs, "query of disk 3", "1m30s")
		}
		if d := time.Since(start); d != 90*time.Second {
			t.Errorf("waiters failed after %v", d)
		}
		if err := <-first; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}

		time.Sleep(30 * time.Second)
		_, err := Do(t.Context(), table, query("disk 3"), never)
		wantExhausted(t, err, "query of disk 3", "2m0s")

		close(h.release)
		synctest.Wait()
		if _, err := Do(t.Context(), table, query("disk 3"), func() (int, error) { return 0, nil }); err != nil {
			t.Errorf("after the end of the abandoned call: %v", err)
		}
	})
}

func TestDo_Bounds(t *testing.T) {
	probe := func(table *Table, c Call) error {
		_, err := Do(context.Background(), table, c, func() (int, error) { return 0, nil })
		return err
	}

	t.Run("group", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table, release := newTable(), make(chan struct{})
			for i := range MaxPerGroup {
				if err := probe(table, Call{"query", "share", "server"}); err != nil {
					t.Fatalf("with %d abandoned: %v", i, err)
				}
				abandon(t, table, Call{"read", fmt.Sprint("share ", i), "server"}, release)
			}
			wantExhausted(t, probe(table, Call{"query", "share", "server"}), "read of share 0 for 4s", "read of share 3 for 1s")
			for _, c := range []Call{{"query", "share", "other"}, {"query", "share", ""}} {
				if err := probe(table, c); err != nil {
					t.Errorf("%+v: %v", c, err)
				}
			}

			close(release)
			synctest.Wait()
			if err := probe(table, Call{"query", "share", "server"}); err != nil {
				t.Errorf("after the end of the abandoned calls: %v", err)
			}
		})
	})

	t.Run("no group", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table, release := newTable(), make(chan struct{})
			defer close(release)
			for i := range MaxPerGroup + 1 {
				abandon(t, table, query(fmt.Sprint("path ", i)), release)
			}
		})
	})

	t.Run("host", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table, release := newTable(), make(chan struct{})
			for i := range MaxPerHost {
				d := fmt.Sprint("disk ", i)
				abandon(t, table, Call{"read", d, d}, release)
			}
			wantExhausted(t, probe(table, Call{"query", "disk 99", "disk 99"}), "(64)", "read of disk 0 for 1m4s")
			close(release)
			synctest.Wait()
			if err := probe(table, Call{"query", "disk 99", "disk 99"}); err != nil {
				t.Errorf("after the end of the abandoned calls: %v", err)
			}
		})
	})

	t.Run("waiters", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			table, h, release := newTable(), newHang(), make(chan struct{})
			defer close(release)
			background(func() error { _, err := Do(t.Context(), table, Call{"query", "share", "server"}, h.call); return err })
			<-h.entered
			full := background(func() error { return probe(table, Call{"query", "share", "server"}) })
			synctest.Wait()
			free := background(func() error { return probe(table, Call{"query", "share", "other"}) })
			for i := range MaxPerGroup {
				abandon(t, table, Call{"read", fmt.Sprint("share ", i), "server"}, release)
			}

			close(h.release)
			wantExhausted(t, <-full, "read of share 0")
			if err := <-free; err != nil {
				t.Errorf("the next waiter: %v", err)
			}
		})
	})
}

func TestDo_PanicIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable()
		_, err := Do(t.Context(), table, query("disk 3"), func() (int, error) { panic("boom") })
		if errdefs.KindOf(err) != errdefs.Internal || !strings.Contains(err.Error(), "query of disk 3: panic: boom") {
			t.Errorf("got %v", err)
		}
		if p := (*PanicError)(nil); !errors.As(err, &p) || p.Value != "boom" || !strings.Contains(string(p.Stack), "call_test.go") {
			t.Errorf("no stack in %#v", err)
		}
		wantUnfinished(t, table)
		if err := table.Clean(); !strings.Contains(fmt.Sprint(err), "panic: boom\ngoroutine ") {
			t.Errorf("Clean() = %v, want the panic with its stack", err)
		}
	})
}

// A panic that comes when the caller has left is not lost.
func TestDo_LatePanicIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable()
		ctx, leave := context.WithCancel(t.Context())
		_, err := Do(ctx, table, query("disk 3"), func() (int, error) {
			leave()
			time.Sleep(time.Second)
			panic("boom")
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := table.Clean(); !strings.Contains(fmt.Sprint(err), "panic: boom") {
			t.Errorf("Clean() = %v, want the panic", err)
		}
	})
}

func TestDo_PanicOfContextErrorIsInternal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := Do(t.Context(), newTable(), query("disk 3"), func() (int, error) { panic(context.Canceled) })
		if errdefs.KindOf(err) != errdefs.Internal || errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestDo_GoexitIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable()
		_, err := Do(t.Context(), table, query("disk 3"), func() (int, error) { runtime.Goexit(); return 0, nil })
		if errdefs.KindOf(err) != errdefs.Internal {
			t.Errorf("got %v", err)
		}
		wantUnfinished(t, table)
	})
}

// Many callers of few objects, with random durations and patience: one call at
// a time, every caller gets its own result or a reason, nothing is left.
func TestDo_Storm(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table, rnd := newTable(), rand.New(rand.NewPCG(seed, 0))
				running := make([]int, 3)
				var wg sync.WaitGroup
				for i := range 200 {
					object := rnd.IntN(len(running))
					c := Call{"query", fmt.Sprint("disk ", object), fmt.Sprint("group ", object%2)}
					arrival := time.Duration(rnd.IntN(500)) * time.Millisecond
					patience := time.Duration(rnd.IntN(50)) * time.Millisecond
					duration := time.Duration(rnd.IntN(10)) * time.Millisecond
					wg.Go(func() {
						time.Sleep(arrival)
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						defer cancel()
						got, err := Do(ctx, table, c, func() (int, error) {
							running[object]++ // the race detector also sees two at once
							if running[object] != 1 {
								t.Errorf("%d calls of %s at once", running[object], c)
							}
							time.Sleep(duration)
							running[object]--
							return i, nil
						})
						switch kind := errdefs.KindOf(err); {
						case err == nil && got == i:
						case got == 0 && (kind == errdefs.DeadlineExceeded || kind == errdefs.ResourceExhausted):
						default:
							t.Errorf("caller %d: got %d, %v", i, got, err)
						}
					})
				}
				wg.Wait()
				time.Sleep(time.Second)
				wantUnfinished(t, table)
			})
		})
	}
}

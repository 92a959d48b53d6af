// SPDX-License-Identifier: Apache-2.0

package keylock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

func newTable() *Table { return On(&win.Host{}) }

func mustLock(t *testing.T, locks *Table, keys ...Key) (unlock func()) {
	t.Helper()
	unlock, err := locks.Lock(t.Context(), keys...)
	if err != nil {
		t.Fatal(err)
	}
	return unlock
}

// wantHeld checks which locks are held, by probing with an impatient caller.
func wantHeld(t *testing.T, locks *Table, want ...Key) {
	t.Helper()
	for _, key := range []Key{Disk("1"), Disk("2"), Volume("v"), Path("p"), Share("s")} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		unlock, err := locks.Lock(ctx, key)
		cancel()
		if got := err != nil; got != slices.Contains(want, key) {
			t.Errorf("%s held: %v", key, got)
		}
		if err == nil {
			unlock()
		}
	}
}

func wantEmpty(t *testing.T, locks *Table) {
	t.Helper()
	if len(locks.queues) != 0 {
		t.Errorf("left in the table: %v", locks.queues)
	}
}

func TestOn_IsOneTablePerHost(t *testing.T) {
	h := &win.Host{}
	if table := On(h); table != On(h) {
		t.Error("two tables of one host")
	}
	if On(h) == On(&win.Host{}) {
		t.Error("one table of two hosts")
	}
}

func TestLock_ExcludesAndReleases(t *testing.T) {
	for _, keys := range [][]Key{
		{},
		{Disk("1")},
		{Disk("1"), Disk("1")},
		{Share("s"), Path("p"), Volume("v"), Disk("2"), Disk("1"), Volume("v")},
	} {
		t.Run(fmt.Sprint(keys), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				locks := newTable()
				given := slices.Clone(keys)
				unlock := mustLock(t, locks, keys...)
				if !slices.Equal(keys, given) {
					t.Errorf("the caller's keys became %v", keys)
				}
				wantHeld(t, locks, keys...)
				unlock()
				wantEmpty(t, locks)
			})
		})
	}
}

func TestLock_SameNameOfAnotherKindIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := newTable()
		defer mustLock(t, locks, Disk("x"))()
		defer mustLock(t, locks, Volume("x"))()
		defer mustLock(t, locks, Path("x"))()
		defer mustLock(t, locks, Share("x"))()
		defer mustLock(t, locks, Service("x"))()
		defer mustLock(t, locks, ISCSI("x"))()
	})
}

func TestLock_UnlockTwiceReleasesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := newTable()
		first := mustLock(t, locks, Disk("1"))
		first()
		second := mustLock(t, locks, Disk("1"))
		first()
		wantHeld(t, locks, Disk("1"))
		second()
		wantEmpty(t, locks)
	})
}

func TestLock_EndedContextTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := newTable()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := locks.Lock(ctx, Disk("1"), Volume("v")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		wantEmpty(t, locks)
	})
}

func TestLock_CancelledWaiterHoldsNothing(t *testing.T) {
	for _, busy := range []Key{Disk("1"), Volume("v"), Share("s")} {
		t.Run(busy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				locks, start := newTable(), time.Now()
				unlock := mustLock(t, locks, busy)

				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := locks.Lock(ctx, Share("s"), Volume("v"), Disk("1"))
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
				if !strings.Contains(err.Error(), busy.String()) {
					t.Errorf("%q does not name %s", err, busy)
				}
				wantHeld(t, locks, busy)
				unlock()
				wantEmpty(t, locks)
			})
		})
	}
}

func TestLock_IsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := newTable()
		unlock := mustLock(t, locks, Disk("1"))
		var order []int
		var wg sync.WaitGroup
		for i := range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() {
				unlock, err := locks.Lock(ctx, Disk("1"))
				if err != nil {
					return
				}
				order = append(order, i)
				unlock()
			})
			synctest.Wait() // so that they arrive in this order
			if i%3 == 0 {
				cancel()
				synctest.Wait()
			}
			defer cancel()
		}
		unlock()
		wg.Wait()
		if want := []int{1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		wantEmpty(t, locks)
	})
}

// Random sets of keys in random order, some callers without patience: no
// deadlock (synctest would see it), no two holders, nothing left.
func TestLock_Storm(t *testing.T) {
	keys := []Key{Disk("1"), Disk("2"), Volume("v"), Path("p"), Share("s")}
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				locks, rnd := newTable(), rand.New(rand.NewPCG(seed, 0))
				holders := make([]int, len(keys))
				var wg sync.WaitGroup
				for range 200 {
					mine := rnd.Perm(len(keys))[:1+rnd.IntN(len(keys))]
					arrival := time.Duration(rnd.IntN(100)) * time.Millisecond
					patience := time.Duration(rnd.IntN(300)) * time.Millisecond
					work := time.Duration(rnd.IntN(5)) * time.Millisecond
					wg.Go(func() {
						time.Sleep(arrival)
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						defer cancel()
						var set []Key
						for _, i := range mine {
							set = append(set, keys[i])
						}
						unlock, err := locks.Lock(ctx, set...)
						if err != nil {
							if !errors.Is(err, context.DeadlineExceeded) {
								t.Error(err)
							}
							return
						}
						defer unlock()
						for _, i := range mine {
							if holders[i]++; holders[i] != 1 {
								t.Errorf("%d holders of %s", holders[i], keys[i])
							}
						}
						time.Sleep(work)
						for _, i := range mine {
							holders[i]--
						}
					})
				}
				wg.Wait()
				wantEmpty(t, locks)
			})
		})
	}
}

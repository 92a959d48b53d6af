// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

func TestCall_RunsToItsEndWhateverTheContextDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.slow = 10 * time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		out, err := c.Call(ctx, storage, format)
		if err != nil || out.Null("ReturnValue") {
			t.Errorf("Call = %v, %v", out, err)
		}
		if d := time.Since(began); d != f.slow {
			t.Errorf("Call came back after %v", d)
		}
		f.settle(c)
	})
}

// A method is being started when its caller's time ends, and when somebody lists
// what is under way. No timer of the worker's has run by then, so it is the lock
// alone that orders its begin before both.
func TestCall_IsNotWithdrawnWhileItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		release := make(chan struct{})
		f.play(holdAt("Start", release))
		var others sync.WaitGroup
		others.Go(func() {
			time.Sleep(2 * time.Second)
			if n := len(c.Unfinished()); n != 1 {
				t.Errorf("%d methods unfinished, want 1", n)
			}
			close(release)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Call(ctx, storage, format); err != nil {
			t.Errorf("a method that was started is given up: %v", err)
		}
		others.Wait()
		f.settle(c)
	})
}

func TestCall_ReadsGetThroughBesideMethods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.slow = 10 * time.Minute
		var wg sync.WaitGroup
		for _, path := range []string{"a", "b", "c", "d"} {
			wg.Go(func() {
				if _, err := c.Call(t.Context(), storage, Method{Class: "MSFT_Volume", Path: path, Name: "Format"}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := f.count("Start"); n != workers-1 {
			t.Errorf("%d methods run, want %d", n, workers-1)
		}
		if n := len(c.Unfinished()); n != workers-1 {
			t.Errorf("%d methods unfinished, want %d", n, workers-1)
		}
		began := time.Now()
		if _, err := c.Get(t.Context(), storage, "MSFT_Disk"); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("a read waited %v for methods", d)
		}
		wg.Wait()
		if n := f.count("Start"); n != workers {
			t.Errorf("%d methods were started, want %d", n, workers)
		}
		f.settle(c)
	})
}

// Methods that run for long get out of the way of others, four of them; those
// that come then take turns.
func TestCall_LongMethodsStepAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.slow = 10 * time.Minute
		var wg sync.WaitGroup
		for _, path := range strings.Split("abcdefghijkl", "") {
			wg.Go(func() {
				if _, err := c.Call(t.Context(), storage, Method{Class: "MSFT_Volume", Path: path, Name: "Format"}); err != nil {
					t.Error(err)
				}
			})
		}
		for after, want := range []int{workers - 1, workers - 1 + workers - 1, workers + spares - 1, workers + spares - 1} {
			synctest.Wait()
			if n := f.count("Start"); n != want {
				t.Errorf("%d methods run after %d minutes, want %d", n, after, want)
			}
			<-time.After(patience + time.Second)
		}
		began := time.Now()
		if _, err := c.Get(t.Context(), storage, "MSFT_Disk"); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("a read waited %v for methods", d)
		}
		wg.Wait()
		if n := f.count("Start"); n != 12 {
			t.Errorf("%d methods were started, want 12", n)
		}
		f.settle(c)
	})
}

func TestCall_WithdrawnBeforeItsStart(t *testing.T) {
	for _, at := range []string{"Enter", "Connect"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(t)
				release := make(chan struct{})
				f.play(holdAt(at, release))
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				if _, err := c.Call(ctx, storage, format); err != context.DeadlineExceeded { //nolint:errorlint // passed through untouched
					t.Errorf("err = %v", err)
				}
				close(release)
				synctest.Wait()
				if n := f.count("Start"); n != 0 {
					t.Errorf("the method was started %d times", n)
				}
				f.settle(c)
			})
		})
	}
	t.Run("in the queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, c := newFake(t)
			f.slow = 10 * time.Minute
			var wg sync.WaitGroup
			for _, path := range []string{"a", "b", "c"} {
				wg.Go(func() {
					if _, err := c.Call(t.Context(), storage, Method{Class: "MSFT_Volume", Path: path, Name: "Format"}); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			began := time.Now()
			if _, err := c.Call(ctx, storage, format); err != context.DeadlineExceeded { //nolint:errorlint // passed through untouched
				t.Errorf("err = %v", err)
			}
			if d := time.Since(began); d != 30*time.Second {
				t.Errorf("the caller was let go after %v", d)
			}
			wg.Wait()
			if n := f.count("Start"); n != workers-1 {
				t.Errorf("%d methods were started, want %d", n, workers-1)
			}
			f.settle(c)
		})
	})
}

// A method whose worker was lost while connecting was not begun, and is not
// when the worker comes back: the caller was told that it failed.
func TestCall_LostBeforeItsStartIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		release := make(chan struct{})
		f.play(holdAt("Connect", release))
		_, err := c.Call(t.Context(), storage, format)
		if !errors.Is(err, errdefs.ErrUnavailable) || strings.Contains(err.Error(), "may still complete") {
			t.Errorf("err = %v", err)
		}
		close(release)
		synctest.Wait()
		if n := f.count("Start"); n != 0 {
			t.Errorf("the method was started %d times", n)
		}
		f.settle(c)
	})
}

func TestCall_LostMethodIsRefusedUntilItEnds(t *testing.T) {
	for _, at := range []string{"Start", "Result", "Call.Close"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(t)
				release := make(chan struct{})
				f.play(holdAt(at, release))
				began := time.Now()
				_, err := c.Call(t.Context(), storage, format)
				if !errors.Is(err, errdefs.ErrUnavailable) || !strings.Contains(err.Error(), "may still complete") {
					t.Errorf("err = %v", err)
				}
				if d := time.Since(began); d != time.Minute {
					t.Errorf("the worker was left behind after %v", d)
				}
				want := []Unfinished{{Namespace: storage, Class: "MSFT_Volume", Method: "Format", Path: format.Path, Since: began, Lost: true}}
				if diff := cmp.Diff(want, c.Unfinished()); diff != "" {
					t.Errorf("Unfinished (-want +got):\n%s", diff)
				}

				f.play(nil)
				upper, absolute := format, format
				upper.Path = strings.ToUpper(format.Path)
				absolute.Path = `\\NODE\` + storage + ":" + format.Path
				for _, m := range []Method{format, upper, absolute, {Class: "MSFT_Volume", Path: format.Path, Name: "Resize"}} {
					_, err := c.Call(t.Context(), strings.ToLower(storage), m)
					if !errors.Is(err, errdefs.ErrResourceExhausted) || !strings.Contains(err.Error(), "MSFT_Volume.Format") {
						t.Errorf("%v on the same object: %v", m, err)
					}
				}
				if _, err := c.Call(t.Context(), storage, Method{Class: "MSFT_Volume", Path: "other", Name: "Format"}); err != nil {
					t.Errorf("on another object: %v", err)
				}
				if n := f.count("Start"); n != 2 {
					t.Errorf("%d methods were started, want 2", n)
				}

				close(release)
				synctest.Wait()
				if left := c.Unfinished(); len(left) != 0 {
					t.Errorf("Unfinished = %v after the end", left)
				}
				if _, err := c.Call(t.Context(), storage, format); err != nil {
					t.Errorf("after the end: %v", err)
				}
				f.settle(c)
			})
		})
	}
}

func TestCall_LostStaticMethodIsRefusedByWhatItActsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		release := make(chan struct{})
		f.play(holdAt("Result", release))
		create := Method{Class: "MSFT_SmbGlobalMapping", Name: "Create", On: `\\srv\a`}
		if _, err := c.Call(t.Context(), storage, create); !errors.Is(err, errdefs.ErrUnavailable) {
			t.Errorf("err = %v", err)
		}
		f.play(nil)
		if _, err := c.Call(t.Context(), storage, create); !errors.Is(err, errdefs.ErrResourceExhausted) {
			t.Errorf("the same share: %v", err)
		}
		create.On = `\\srv\b`
		if _, err := c.Call(t.Context(), storage, create); err != nil {
			t.Errorf("another share: %v", err)
		}
		close(release)
		f.settle(c)
	})
}

// Each hanging read costs a worker. Four are replaced; when the last worker
// hangs, calls fail at once and say why, until a hang ends.
func TestClient_StuckWorkersAreReplacedFourTimes(t *testing.T) {
	for _, at := range []string{"Enter", "Connect", "Query", "Next", "Rows.Close"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(t)
				f.rows = []win.Row{{}}
				release := make(chan struct{})
				f.play(holdAt(at, release))
				for i := range workers + spares {
					began := time.Now()
					_, err := c.Query(t.Context(), storage, disks)
					if !errors.Is(err, errdefs.ErrUnavailable) {
						t.Fatalf("query %d: %v", i, err)
					}
					if d := time.Since(began); d != time.Minute {
						t.Fatalf("query %d failed after %v", i, d)
					}
				}
				if n := f.count(at); n != 8 { // four workers, each replaced once
					t.Errorf("%d calls hang, want 8", n)
				}

				began := time.Now()
				_, err := c.Query(t.Context(), storage, disks)
				if !errors.Is(err, errdefs.ErrUnavailable) || !strings.Contains(err.Error(), "MSFT_Disk in ") {
					t.Errorf("err = %v does not name what hangs", err)
				}
				if d := time.Since(began); d != 0 {
					t.Errorf("failed after %v", d)
				}

				close(release)
				synctest.Wait()
				for range 10 {
					if _, err := c.Query(t.Context(), storage, disks); err != nil {
						t.Errorf("when the hangs have ended: %v", err)
					}
				}
				f.settle(c)
			})
		})
	}
}

// However many calls hang, each is named once, and always in the same order.
func TestClient_WhatHangsIsNamedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		release := make(chan struct{})
		f.play(holdAt("Query", release))
		for i := range workers + spares {
			class := []string{"MSFT_Volume", "MSFT_Disk", "MSFT_Partition"}[i%3]
			if _, err := c.Query(t.Context(), storage, Select("ObjectId").From(class)); !errors.Is(err, errdefs.ErrUnavailable) {
				t.Fatalf("query %d: %v", i, err)
			}
		}
		_, err := c.Query(t.Context(), storage, disks)
		const want = ": MSFT_Disk in ExecQuery, MSFT_Partition in ExecQuery, MSFT_Volume in ExecQuery"
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want …%s", err, want)
		}
		close(release)
		f.settle(c)
	})
}

// Whoever waits in the queue learns that the last worker hangs.
func TestClient_QueueIsToldWhenTheLastWorkerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		release := make(chan struct{})
		f.play(holdAt("Query", release))
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				began := time.Now()
				if _, err := c.Query(t.Context(), storage, disks); !errors.Is(err, errdefs.ErrUnavailable) {
					t.Errorf("err = %v", err)
				}
				if d := time.Since(began); d > 2*patience {
					t.Errorf("told after %v", d)
				}
			})
		}
		wg.Wait()
		if n := f.count("Query"); n != workers+spares {
			t.Errorf("%d calls hang, want %d", n, workers+spares)
		}
		close(release)
		f.settle(c)
	})
}

// Lost methods take no read's place.
func TestClient_HangingMethodsLeaveAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		release := make(chan struct{})
		f.play(holdAt("Start", release))
		for i := range 2 * (workers + spares) {
			m := Method{Class: "MSFT_Volume", Path: string(rune('a' + i)), Name: "Format"}
			if _, err := c.Call(t.Context(), storage, m); !errors.Is(err, errdefs.ErrUnavailable) {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		if n := f.count("Start"); n != workers+spares-1 {
			t.Errorf("%d methods hang, want %d", n, workers+spares-1)
		}
		if _, err := c.Get(t.Context(), storage, "MSFT_Disk"); err != nil {
			t.Errorf("a read: %v", err)
		}
		close(release)
		f.settle(c)
	})
}

// A method whose caller has left is not begun, however far its worker has come.
func TestBegin_NobodyWaits(t *testing.T) {
	_, c := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	j := &job{}
	if err := c.begin(ctx, j, newEntry(storage, format)); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if left := c.Unfinished(); j.begun || len(left) != 0 {
		t.Errorf("begun: %v, Unfinished = %v", j.begun, left)
	}
}

// A worker is left behind once, and only for the job that it still does.
func TestLeaveBehind_Once(t *testing.T) {
	_, c := newFake(t)
	ended := &job{call: "Get", done: make(chan outcome, 2), cancel: func() {}}
	now := &job{call: "Format", done: make(chan outcome, 2), cancel: func() {}}
	w := &worker{client: c, job: now}
	c.leaveBehind(w, ended, "Next")
	if len(c.lost) != 0 || len(ended.done) != 0 {
		t.Errorf("left behind for a job that has ended: %v", c.lost)
	}
	for _, in := range []string{"ExecMethod", "Release"} {
		c.leaveBehind(w, now, in)
	}
	if h := c.lost[w]; len(now.done) != 1 || h.in != "ExecMethod" {
		t.Errorf("told %d times, %v", len(now.done), h)
	}
}

// What was begun first is listed first.
func TestUnfinished_OldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.slow = 10 * time.Minute
		var wg sync.WaitGroup
		for _, path := range []string{"c", "a", "b"} {
			wg.Go(func() {
				if _, err := c.Call(t.Context(), storage, Method{Class: "MSFT_Volume", Path: path, Name: "Format"}); err != nil {
					t.Error(err)
				}
			})
			<-time.After(time.Second)
		}
		var got []string
		for _, u := range c.Unfinished() {
			got = append(got, u.Path)
		}
		if !slices.Equal(got, []string{"c", "a", "b"}) {
			t.Errorf("Unfinished() = %q", got)
		}
		wg.Wait()
		f.settle(c)
	})
}

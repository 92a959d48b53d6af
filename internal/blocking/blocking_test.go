// SPDX-License-Identifier: Apache-2.0

package blocking

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

func newTable() *Table { return On(&win.Host{}) }

func query(object string) Call { return Call{Kind: "query", Object: object} }

// hang is a call that runs until it is released.
type hang struct {
	entered, release chan struct{}
	runs             int
	closed           bool // what the call opened
}

func newHang() *hang {
	return &hang{entered: make(chan struct{}, 1), release: make(chan struct{})}
}

func (h *hang) call() (string, error) {
	h.runs++
	h.entered <- struct{}{}
	<-h.release
	h.closed = true
	return "late", nil
}

// background runs f on a goroutine and returns where its error will be.
func background(f func() error) <-chan error {
	errs := make(chan error, 1)
	go func() { errs <- f() }()
	return errs
}

// abandon leaves a call behind that hangs until release is closed.
func abandon(t *testing.T, table *Table, c Call, release <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := Do(ctx, table, c, func() (int, error) { <-release; return 0, nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("abandoning %s: %v", c, err)
	}
}

func wantExhausted(t *testing.T, err error, names ...string) {
	t.Helper()
	if !errors.Is(err, errdefs.ErrResourceExhausted) || errdefs.KindOf(err) != errdefs.ResourceExhausted {
		t.Fatalf("got %v, want resource exhausted", err)
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %q", err, name)
		}
	}
}

func wantUnfinished(t *testing.T, table *Table, want ...Unfinished) {
	t.Helper()
	synctest.Wait()
	got := table.Unfinished()
	if len(got) != len(want) {
		t.Fatalf("unfinished: got %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("unfinished: got %v, want %v", got[i], want[i])
		}
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

func TestWithBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := WithBudget(t.Context(), QueryBudget)
		defer cancel()
		if d, ok := ctx.Deadline(); !ok || d.Sub(start) != 30*time.Second {
			t.Errorf("deadline after %v, %v", d.Sub(start), ok)
		}

		longer, cancel := WithBudget(ctx, LongBudget)
		defer cancel()
		if d, _ := longer.Deadline(); d.Sub(start) != 30*time.Second {
			t.Errorf("the caller's deadline became %v", d.Sub(start))
		}

		own, cancelOwn := context.WithTimeout(t.Context(), time.Hour)
		defer cancelOwn()
		shorter, cancel := WithBudget(own, QueryBudget)
		defer cancel()
		if d, _ := shorter.Deadline(); d.Sub(start) != time.Hour {
			t.Errorf("the caller's deadline became %v", d.Sub(start))
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package disturb

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

func (s subject) twice(t *testing.T, o outcome) {
	s.in(t, "twice", func(tr *trial) {
		if _, err := tr.call(tr.Context()); err != nil {
			tr.Fatal(err)
		}
		if _, err := tr.call(tr.Context()); err != nil {
			tr.Errorf("again: %v", err)
		}
		tr.doneOnce()
		tr.same(o.after)
	})
}

func (s subject) atOnce(t *testing.T, o outcome) {
	s.in(t, "64 at once", func(tr *trial) {
		tr.watch(func(s spot, do func() error) error {
			if tr.scenario.change && Changes(s.Call) {
				<-time.After(time.Second) // when every caller has come
			}
			return do()
		})
		var callers sync.WaitGroup
		for range 64 {
			callers.Go(func() {
				resp, err := tr.call(tr.Context())
				if !errors.Is(err, s.refused) {
					tr.Errorf("%v", err)
				} else if !s.change {
					tr.answered(o, resp)
				}
			})
		}
		callers.Wait()
		tr.doneOnce()
		tr.same(o.after)
	})
}

// disturbances are what befalls only changes, at each boundary call.
func (s subject) disturbances(t *testing.T, o outcome) {
	for _, at := range o.calls {
		if !at.Continues {
			s.abandoned(t, o, at)
			s.losesAnswer(t, o, at)
		}
	}
}

// abandoned: the caller leaves right after a call.
func (s subject) abandoned(t *testing.T, o outcome, at spot) {
	s.in(t, where(at.Call)+" and its caller leaves", func(tr *trial) {
		ctx, leave := context.WithCancel(tr.Context())
		defer leave()
		tr.watchAt(at, func(_ spot, do func() error) error {
			err := do()
			leave()
			return err
		})
		if _, err := tr.call(ctx); err != nil && !errors.Is(err, context.Canceled) {
			tr.Errorf("%v", err)
		}
		synctest.Wait()
		tr.leftAlone(o)
		tr.again(o)
	})
}

// losesAnswer: a call has its effect and fails all the same.
func (s subject) losesAnswer(t *testing.T, o outcome, at spot) {
	s.in(t, where(at.Call)+" fails after its effect", func(tr *trial) {
		var lost error = win.ERROR_IO_DEVICE
		if ofWMI(at.Method) {
			lost = win.WBEM_E_PROVIDER_FAILURE
		}
		tr.watchAt(at, func(_ spot, do func() error) error {
			if err := do(); err != nil {
				return err
			}
			return lost
		})
		resp, err := tr.call(tr.Context())
		tr.judge(o, fault{err: lost}, resp, err)
		tr.again(o)
	})
}

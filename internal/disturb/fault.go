// SPDX-License-Identifier: Apache-2.0

package disturb

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// fault is what a boundary call does instead of what it should.
type fault struct {
	name    string
	err     error                       // it fails so without being made,
	lasts   bool                        // and so do all later ones of its kind,
	returns bool                        // or it is made and returns that,
	alter   func(*noise, reflect.Value) // or it is made and this becomes of its answer,
	hangs   bool                        // or it hangs
}

// faultsOf are all faults of a call.
func faultsOf(s spot) []fault {
	list := []fault{{name: "hangs", hangs: true}}
	for _, code := range codesOf(s.Method) {
		list = append(list,
			fault{name: fmt.Sprintf("fails with %v", native(code)), err: code},
			fault{name: fmt.Sprintf("fails with %v, and all after it", native(code)), err: code, lasts: true})
	}
	for _, code := range returnsOf(s.Call) {
		list = append(list, fault{name: fmt.Sprintf("returns %v", native(code)), err: code, returns: true})
	}
	if s.answers {
		list = append(list, alterations...)
	}
	return list
}

// faults tries each fault, or some, at each call of the run.
func (s subject) faults(t *testing.T, o outcome) {
	pick := picker(s.name)
	for _, at := range o.calls {
		for _, f := range pick(faultsOf(at)) {
			label := fmt.Sprintf("%s %s", where(at.Call), f.name)
			s.in(t, label, func(tr *trial) {
				if f.hangs {
					tr.hangs(o, at)
				} else {
					tr.fails(o, at, f)
				}
			})
		}
	}
}

// plain: nothing but that the call has failed.
func (f fault) plain() bool { return f.err != nil && !f.lasts && !f.returns && !telling(f.err) }

func (f fault) alters() bool { return f.alter != nil }

// picker picks of the faults of a call: those that FAULTS wants. One of them is
// plain, so that every error is looked at, and one alters the answer.
func picker(name string) func([]fault) []fault {
	wanted := os.Getenv("FAULTS")
	if wanted == "all" {
		return func(list []fault) []fault { return list }
	}
	seed, _ := strconv.ParseUint(wanted, 10, 64)
	h := fnv.New64()
	_, _ = h.Write([]byte(name))
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	return func(list []fault) []fault {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for place, is := range []func(fault) bool{fault.plain, fault.alters} {
			if i := slices.IndexFunc(list, is); i >= 0 {
				list[place], list[i] = list[i], list[place]
			}
		}
		return list[:min(sample, len(list))]
	}
}

// fails makes the call with one boundary call at fault, and once more without.
func (tr *trial) fails(o outcome, at spot, f fault) {
	noise := newNoise(tr.label)
	var reached atomic.Bool
	tr.watch(func(s spot, do func() error) error {
		switch {
		case s.at(at):
			reached.Store(true)
		case !f.lasts || !reached.Load() || ofWMI(s.Method) != ofWMI(at.Method):
			return do()
		}
		if f.err != nil && !f.returns {
			return f.err
		}
		err := do()
		switch row, ok := s.Answer().(*win.Row); {
		case err != nil:
		case f.returns && ok && *row != nil:
			*row = win.Row{"ReturnValue": int32(native(f.err).Code)}
		case f.alter != nil:
			f.alter(noise, reflect.ValueOf(s.Answer()).Elem())
		}
		return err
	})
	resp, err := tr.call(tr.Context())
	if !reached.Load() { // what the WMI workers do varies
		if !ofWMI(at.Method) {
			tr.Errorf("was not called")
		}
		return
	}
	tr.judge(o, f, resp, err)
	tr.again(o)
}

// judge wants of a call at fault the end of an undisturbed run, or an error that
// says why not.
func (tr *trial) judge(o outcome, f fault, resp any, err error) {
	tr.Helper()
	switch {
	case f.err == nil || telling(f.err):
	case tr.refusal(err):
	case err != nil:
		tr.explained(f.err, err)
	case tr.scenario.refused != nil:
		tr.Errorf("not refused")
	case tr.scenario.change:
		tr.same(o.after)
	case !tr.scenario.partial:
		tr.answered(o, resp)
	}
	tr.leftAlone(o)
	if !tr.scenario.change && tr.scenario.refused == nil && len(tr.effects) > 0 {
		tr.Errorf("changed what it was asked about: %q", tr.effects)
	}
}

// reasons are what an error may say instead of its cause's kind: what the call
// cannot go on without knowing, or what it must leave alone.
var reasons = []error{
	errdefs.ErrUnknownContent, errdefs.ErrMountedBelow, errdefs.ErrOtherVolume, errdefs.ErrDiskOffline, errdefs.ErrCredentialConflict,
}

// explained wants an error that keeps its cause, names its operation and has the
// kind of the cause, or a reason: nobody is told that something is missing, empty
// or done.
func (tr *trial) explained(cause, err error) {
	tr.Helper()
	if !errors.Is(err, cause) {
		tr.Errorf("lost its cause: %v", err)
	}
	if op := tr.scenario.op; op != "" && !names(err, op) {
		tr.Errorf("names no operation: %v", err)
	}
	if kind := errdefs.KindOf(err); kind != errdefs.KindOf(cause) && !slices.ContainsFunc(reasons, func(r error) bool { return errors.Is(err, r) }) {
		tr.Errorf("kind %v: %v", kind, err)
	}
}

// hangs: a caller leaves a call that hangs when his time is up, and one without a
// deadline when the longest budget is; once the call has ended, the next makes no
// more of it than is left to do.
func (tr *trial) hangs(o outcome, at spot) {
	release := make(chan struct{})
	var reached atomic.Bool // how many sessions the WMI workers open varies
	tr.watchAt(at, func(_ spot, do func() error) error {
		reached.Store(true)
		<-release
		return do()
	})
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(tr.Context(), patience)
	resp, err := tr.within(ctx, patience)
	cancel()
	switch {
	case err == nil && reached.Load(): // it went on without the call
		tr.judge(o, fault{err: context.DeadlineExceeded}, resp, nil)
	case err == nil, errors.Is(err, context.DeadlineExceeded), tr.refusal(err):
	default:
		tr.Errorf("%v", err)
	}
	if _, err := tr.within(context.WithoutCancel(tr.Context()), blocking.LongBudget); err != nil && !tr.refusal(err) {
		tr.stuck(err)
	}
	tr.leftAlone(o)
	close(release)
	synctest.Wait()
	tr.again(o)
	tr.doneOnce()
}

// within makes the call and wants it to return in time.
func (tr *trial) within(ctx context.Context, most time.Duration) (any, error) {
	tr.Helper()
	start := time.Now()
	resp, err := tr.call(ctx)
	if took := time.Since(start); took > most {
		tr.Errorf("returned after %v: %v", took, err)
	}
	return resp, err
}

// stuck wants an error that says that something hangs or is in use.
func (tr *trial) stuck(err error) {
	tr.Helper()
	for _, says := range []error{context.DeadlineExceeded, errdefs.ErrResourceExhausted, errdefs.ErrUnavailable, errdefs.ErrBusy} {
		if errors.Is(err, says) {
			return
		}
	}
	tr.Errorf("of what hangs: %v", err)
}

// SPDX-License-Identifier: Apache-2.0

// Package disturb tests that a change of a simulated node withstands what may
// happen to it: repetition, concurrency, callers that leave, boundary calls
// that fail before or after their effect, and calls that hang. However it was
// disturbed, the same call again must end in the state of an undisturbed run,
// with nothing done twice and nothing left open.
package disturb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// Scenario is a change of a node.
type Scenario struct {
	// Node makes a new node on which the change has all to do. It runs in the
	// bubble of the test, like Change.
	Node func(t *testing.T) *simhost.Node
	// Change makes the change, with ctx. On a node on which it was made
	// already it must do nothing.
	Change func(ctx context.Context, n *simhost.Node) error
}

// Run disturbs the change in every way, at each of its boundary calls.
func Run(t *testing.T, s Scenario) {
	t.Helper()
	want, calls := s.undisturbed(t)
	if len(calls) == 0 {
		t.Fatal("the change makes no boundary call")
	}
	t.Run("twice", func(t *testing.T) { s.twice(t, want) })
	t.Run("64 at once", func(t *testing.T) { s.atOnce(t, want) })
	for k, call := range calls {
		name := fmt.Sprintf("%02d %s", k+1, call.Method)
		t.Run(name+" and its caller leaves", func(t *testing.T) { s.abandoned(t, want, k) })
		t.Run(name+" fails", func(t *testing.T) { s.fails(t, want, k, false) })
		t.Run(name+" fails after its effect", func(t *testing.T) { s.fails(t, want, k, true) })
		t.Run(name+" hangs", func(t *testing.T) { s.hangs(t, want, k) })
	}
}

// trial is one run on a node of its own.
type trial struct {
	*testing.T
	scenario Scenario
	node     *simhost.Node

	mu      sync.Mutex
	made    []simhost.Call // without those that continue another
	effects []string       // changes that Windows accepted
}

// in runs a trial in a bubble and checks what it leaves open.
func (s Scenario) in(t *testing.T, run func(*trial)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr := &trial{T: t, scenario: s, node: s.Node(t)}
		run(tr)
		tr.node.OnCall(nil)
		synctest.Wait()
		if left := blocking.On(tr.node.Host()).Unfinished(); len(left) > 0 {
			t.Errorf("calls left: %+v", left)
		}
		wmi.On(tr.node.Host()).Close()
		synctest.Wait()
		if n := tr.node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
		if v := tr.node.Violations(); len(v) > 0 {
			t.Errorf("boundary rules broken: %q", v)
		}
	})
}

// watch counts calls and effects; at is called for the k-th call, from 0, and
// makes it or not.
func (tr *trial) watch(k int, at func(c simhost.Call, do func() error) error) {
	tr.node.OnCall(func(c simhost.Call, do func() error) error {
		do = tr.recording(c, do)
		if !c.Continues && tr.count(c) == k {
			return at(c, do)
		}
		return do()
	})
}

func (tr *trial) count(c simhost.Call) int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.made = append(tr.made, c)
	return len(tr.made) - 1
}

func (tr *trial) recording(c simhost.Call, do func() error) func() error {
	return func() error {
		err := do()
		if err == nil && changes(c) {
			tr.mu.Lock()
			defer tr.mu.Unlock()
			tr.effects = append(tr.effects, fmt.Sprintf("%s %s %x", c.Method, c.Subject, c.Code))
		}
		return err
	}
}

// changes tells the calls that change a node, beyond what it knows of itself.
func changes(c simhost.Call) bool {
	switch c.Method {
	case "Mounts.SetPoint", "Mounts.DeletePoint", "Files.SymbolicLink", "File.SetInformation", "Service.Start", "Service.Control":
		return true
	case "Device.Control":
		return slices.Contains([]uint32{
			abi.IOCTL_DISK_SET_DISK_ATTRIBUTES, abi.IOCTL_DISK_GROW_PARTITION, abi.FSCTL_EXTEND_VOLUME,
		}, c.Code)
	case "Session.Start":
		method, _, _ := strings.Cut(c.Subject, " ")
		return !slices.Contains([]string{
			"MSFT_Disk.Refresh", "MSFT_StorageSetting.UpdateHostStorageCache", "MSFT_iSCSITargetPortal.Update",
		}, method)
	}
	return false
}

func (tr *trial) change(ctx context.Context) error { return tr.scenario.Change(ctx, tr.node) }

// again makes the change once more, undisturbed, and compares the end.
func (tr *trial) again(want simhost.Snapshot) {
	tr.Helper()
	tr.node.OnCall(nil)
	if err := tr.change(tr.Context()); err != nil {
		tr.Fatalf("again: %v", err)
	}
	tr.compare(want)
}

func (tr *trial) compare(want simhost.Snapshot) {
	tr.Helper()
	if got := tr.settled(); got != want {
		tr.Errorf("not the state of an undisturbed run:\n%s", simhost.Diff(want, got))
	}
}

// settled is the node's state once what arrives late has arrived.
func (tr *trial) settled() simhost.Snapshot {
	<-time.After(time.Minute)
	synctest.Wait()
	return tr.node.Snapshot()
}

func (s Scenario) undisturbed(t *testing.T) (want simhost.Snapshot, calls []simhost.Call) {
	t.Helper()
	s.in(t, func(tr *trial) {
		before := tr.settled()
		tr.watch(-1, nil)
		if err := tr.change(tr.Context()); err != nil {
			tr.Fatal(err)
		}
		want, calls = tr.settled(), tr.made
		if want == before {
			tr.Fatal("the change changes nothing")
		}
	})
	return want, calls
}

func (s Scenario) twice(t *testing.T, want simhost.Snapshot) {
	s.in(t, func(tr *trial) {
		if err := tr.change(tr.Context()); err != nil {
			tr.Fatal(err)
		}
		tr.watch(-1, nil)
		if err := tr.change(tr.Context()); err != nil {
			tr.Fatalf("again: %v", err)
		}
		if len(tr.effects) > 0 {
			tr.Errorf("done twice: %q", tr.effects)
		}
		tr.compare(want)
	})
}

func (s Scenario) atOnce(t *testing.T, want simhost.Snapshot) {
	s.in(t, func(tr *trial) {
		tr.node.OnCall(func(c simhost.Call, do func() error) error {
			if changes(c) {
				<-time.After(time.Second) // when every caller has come
			}
			return tr.recording(c, do)()
		})
		errs := make([]error, 64)
		var callers sync.WaitGroup
		for i := range errs {
			callers.Go(func() { errs[i] = tr.change(tr.Context()) })
		}
		callers.Wait()
		if err := errors.Join(errs...); err != nil {
			tr.Fatal(err)
		}
		seen := map[string]bool{}
		for _, effect := range tr.effects {
			if seen[effect] {
				tr.Errorf("done twice: %s", effect)
			}
			seen[effect] = true
		}
		tr.compare(want)
	})
}

func (s Scenario) abandoned(t *testing.T, want simhost.Snapshot, k int) {
	s.in(t, func(tr *trial) {
		ctx, leave := context.WithCancel(tr.Context())
		defer leave()
		tr.watch(k, func(_ simhost.Call, do func() error) error {
			err := do()
			leave()
			return err
		})
		if err := tr.change(ctx); err != nil && !errors.Is(err, context.Canceled) {
			tr.Errorf("caller left: %v", err)
		}
		synctest.Wait()
		tr.again(want)
	})
}

// failure is a code that a call of that kind may well answer, and that means
// nothing special to anyone.
func failure(c simhost.Call) error {
	switch c.Method {
	case "WMI.Enter", "WMI.Connect", "Session.Query", "Session.Get", "Session.Start":
		return win.WBEM_E_PROVIDER_FAILURE
	}
	return win.ERROR_IO_DEVICE
}

func (s Scenario) fails(t *testing.T, want simhost.Snapshot, k int, afterEffect bool) {
	s.in(t, func(tr *trial) {
		var injected error
		tr.watch(k, func(c simhost.Call, do func() error) error {
			injected = failure(c)
			if afterEffect {
				if err := do(); err != nil {
					return err
				}
			}
			return injected
		})
		err := tr.change(tr.Context())
		if err == nil { // the call was not needed, or done in another way
			tr.compare(want)
		} else {
			tr.checkError(err, injected)
		}
		tr.again(want)
	})
}

// checkError: the cause is kept, and nobody is told that something is missing,
// empty or done.
func (tr *trial) checkError(err, injected error) {
	tr.Helper()
	if !errors.Is(err, injected) {
		tr.Errorf("lost its cause %v: %v", injected, err)
	}
	switch kind := errdefs.KindOf(err); kind {
	case errdefs.Unavailable, errdefs.FailedPrecondition:
	default:
		tr.Errorf("kind %v: %v", kind, err)
	}
}

func (s Scenario) hangs(t *testing.T, want simhost.Snapshot, k int) {
	s.in(t, func(tr *trial) {
		release := make(chan struct{})
		var reached atomic.Bool // how many sessions the WMI workers open varies
		tr.watch(k, func(_ simhost.Call, do func() error) error {
			reached.Store(true)
			<-release
			return do()
		})
		for _, caller := range []string{"first", "second"} {
			ctx, cancel := context.WithTimeout(tr.Context(), 10*time.Second)
			err := tr.change(ctx)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) && !(caller == "second" && errors.Is(err, errdefs.ErrResourceExhausted)) && err != nil {
				tr.Errorf("%s caller: %v", caller, err)
			}
			if err == nil && caller == "first" && reached.Load() { // it went on without the call
				tr.compare(want)
			}
		}
		close(release)
		synctest.Wait()
		tr.again(want)
		effects := slices.Sorted(slices.Values(tr.effects))
		if len(slices.Compact(effects)) != len(tr.effects) {
			tr.Errorf("done twice: %q", tr.effects)
		}
	})
}

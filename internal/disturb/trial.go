// SPDX-License-Identifier: Apache-2.0

package disturb

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// trial is one run of a scenario on a node of its own.
type trial struct {
	*testing.T
	scenario subject
	label    string
	node     *simhost.Node

	mu      sync.Mutex
	seen    map[simhost.Call]int
	made    []spot
	effects []string // changes that Windows accepted
	wrong   []string
}

// spot is a boundary call of a run: the nth that looks so, from 0.
type spot struct {
	simhost.Call
	nth int
	// answers says that it answers more than an error.
	answers bool
}

// at reports whether two calls are at the same place of a run.
func (s spot) at(other spot) bool { return s.Bare() == other.Bare() && s.nth == other.nth }

// in runs a trial in a bubble and checks what it leaves open.
func (s subject) in(t *testing.T, label string, run func(*trial)) {
	t.Helper()
	var tr *trial
	synctest.Test(t, func(t *testing.T) {
		tr = &trial{T: t, scenario: s, label: label, node: s.node(t), seen: map[simhost.Call]int{}}
		tr.watch(nil)
		run(tr)
		tr.undisturb()
		synctest.Wait()
		if err := blocking.On(tr.node.Host()).Clean(); err != nil {
			tr.Errorf("%v", err)
		}
		tr.node.Close()
		synctest.Wait()
		if n := tr.node.OpenHandles(); n != 0 {
			tr.Errorf("%d handles left open", n)
		}
		if v := tr.node.Violations(); len(v) > 0 {
			tr.Errorf("boundary rules broken: %q", v)
		}
	})
	for _, wrong := range tr.wrong {
		t.Errorf("%s: %s", label, wrong)
	}
}

// Errorf keeps what is wrong for the end of the trial: a bubble that fails ends
// the test, and the other trials are to run.
func (tr *trial) Errorf(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.wrong = append(tr.wrong, fmt.Sprintf(format, args...))
}

// call makes the call of the scenario.
func (tr *trial) call(ctx context.Context) (any, error) {
	tr.Helper()
	resp, err := tr.scenario.call(ctx, tr.node)
	if missing(resp) {
		tr.Errorf("no response, %v", err)
	}
	return resp, err
}

// refusal reports that an error is the one that the call is refused with.
func (tr *trial) refusal(err error) bool { return err != nil && errors.Is(err, tr.scenario.refused) }

// watch records calls and effects; at each call around, if any, may decide.
func (tr *trial) watch(around func(s spot, do func() error) error) {
	tr.node.OnCall(func(c simhost.Call, do func() error) error {
		do = tr.recording(c, do)
		if s := tr.meet(c); around != nil {
			return around(s, do)
		}
		return do()
	})
}

// watchAt is watch for one call of the run.
func (tr *trial) watchAt(there spot, around func(s spot, do func() error) error) {
	tr.watch(func(s spot, do func() error) error {
		if s.at(there) {
			return around(s, do)
		}
		return do()
	})
}

func (tr *trial) undisturb() { tr.node.OnCall(nil) }

func (tr *trial) meet(c simhost.Call) spot {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	bare := c.Bare()
	s := spot{Call: bare, nth: tr.seen[bare], answers: garbles(c.Answer())}
	tr.seen[bare]++
	tr.made = append(tr.made, s)
	s.Call = c
	return s
}

func (tr *trial) recording(c simhost.Call, do func() error) func() error {
	return func() error {
		err := do()
		tr.mu.Lock()
		defer tr.mu.Unlock()
		switch {
		case refused(c, err):
			tr.forget("Session.Start " + c.Subject)
		case err == nil && Changes(c):
			tr.effects = append(tr.effects, where(c))
		}
		return err
	}
}

// refused tells the end of a WMI method that has changed nothing.
func refused(c simhost.Call, err error) bool {
	if c.Method != "Call.Result" || err == win.WBEM_S_TIMEDOUT { //nolint:errorlint // it has not ended
		return false
	}
	out, _ := c.Answer().(*win.Row)
	return err != nil || out != nil && (*out)["ReturnValue"] != int32(0)
}

// forget takes back the last of an effect.
func (tr *trial) forget(effect string) {
	for i, e := range slices.Backward(tr.effects) {
		if e == effect {
			tr.effects = slices.Delete(tr.effects, i, i+1)
			return
		}
	}
}

// Changes tells the calls that change a node, beyond what it knows of itself.
func Changes(c simhost.Call) bool {
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
			"MSFT_Disk.Refresh", "MSFT_StorageSetting.Get", "MSFT_StorageSetting.UpdateHostStorageCache", "MSFT_iSCSITargetPortal.Update",
		}, method)
	}
	return false
}

// doneOnce wants no effect twice.
func (tr *trial) doneOnce() {
	if tr.scenario.repeats {
		return
	}
	for i, effect := range tr.effects {
		if slices.Contains(tr.effects[:i], effect) {
			tr.Errorf("done twice: %s", effect)
		}
	}
}

// settled is the node's state once what arrives late has arrived.
func (tr *trial) settled() simhost.Snapshot {
	<-time.After(time.Minute)
	return tr.now()
}

// now is the node's state without what the mount manager remembers of volumes
// that are gone. That hurts nobody: it stays where the mount manager refuses to
// forget it.
func (tr *trial) now() simhost.Snapshot {
	synctest.Wait()
	var kept strings.Builder
	for line := range strings.Lines(string(tr.node.Snapshot())) {
		if !strings.HasPrefix(line, "mount manager ") || !strings.HasSuffix(line, ", which is gone\n") {
			kept.WriteString(line)
		}
	}
	return simhost.Snapshot(kept.String())
}

// same wants the node to be in a state.
func (tr *trial) same(want simhost.Snapshot) {
	tr.Helper()
	if got := tr.settled(); got != want {
		tr.Errorf("not the state of an undisturbed run:\n%s", simhost.Diff(want, got))
	}
}

// outcome is what comes of an undisturbed run.
type outcome struct {
	before, after simhost.Snapshot
	response      any
	calls         []spot
}

func (s subject) undisturbed(t *testing.T) (o outcome) {
	t.Helper()
	s.in(t, "undisturbed", func(tr *trial) {
		o.before = tr.settled()
		resp, err := tr.call(tr.Context())
		if !errors.Is(err, s.refused) {
			tr.Fatal(err)
		}
		o.after, o.response, o.calls = tr.settled(), resp, tr.made
		if (o.before != o.after) != s.change {
			tr.Fatalf("a change %t that changes:\n%s", s.change, simhost.Diff(o.before, o.after))
		}
	})
	return o
}

// again makes the call once more, undisturbed, and compares its end.
func (tr *trial) again(o outcome) {
	tr.Helper()
	tr.undisturb()
	resp, err := tr.call(tr.Context())
	if !errors.Is(err, tr.scenario.refused) {
		tr.Errorf("again: %v", err)
		return
	}
	tr.same(o.after)
	if !tr.scenario.change {
		tr.answered(o, resp)
	}
}

// answered wants a question's answer.
func (tr *trial) answered(o outcome, resp any) {
	tr.Helper()
	if !reflect.DeepEqual(o.response, resp) {
		tr.Errorf("answered %s, want %s", show(resp), show(o.response))
	}
}

// leftAlone wants the node to differ from before only in what an undisturbed run
// changes: no layout entry lost, no formatted volume RAW, no other disk touched.
func (tr *trial) leftAlone(o outcome) {
	tr.Helper()
	may := changed(o.before, o.after)
	now := tr.now()
	for _, subject := range changed(o.before, now) {
		if !slices.Contains(may, subject) {
			tr.Errorf("changed %s:\n%s", subject, simhost.Diff(o.before, now))
		}
	}
}

// changed are the subjects of the facts that differ.
func changed(a, b simhost.Snapshot) []string {
	var list []string
	for line := range strings.Lines(simhost.Diff(a, b)) {
		subject, _, _ := strings.Cut(line[2:], ": ")
		list = append(list, subject)
	}
	return list
}

func show(v any) string { return fmt.Sprintf("%+v", v) }

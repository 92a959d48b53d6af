// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// fault is what goes wrong in a call of a group.
type fault struct {
	at       int             // which boundary call fails, 0: none
	only     string          // of those of a method; "" for all
	after    bool            // it fails when it has had its effect
	fatal    bool            // the process ends there: no call is made any more
	code     win.Errno       // of calls that are none of WMI's
	com      win.HRESULT     // of those that are,
	returned win.ReturnValue // but for methods that have done what they were to
	gave     error           // which of them it was,
	in       string          // and of which method
}

// drawFault draws a fault whose code is no answer: it tells nothing of what was
// asked for.
func drawFault(t *rapid.T) fault {
	return drawFaultOf(t, 12, win.ERROR_IO_DEVICE, win.ERROR_SEM_TIMEOUT, win.ERROR_NO_SYSTEM_RESOURCES)
}

// drawFaultOf draws one of the first calls, and of the codes.
func drawFaultOf(t *rapid.T, first int, codes ...win.Errno) fault {
	if rapid.IntRange(0, 2).Draw(t, "undisturbed") > 0 {
		return fault{}
	}
	return fault{
		at:       rapid.IntRange(1, first).Draw(t, "fault at"),
		after:    rapid.Bool().Draw(t, "after its effect"),
		fatal:    rapid.Bool().Draw(t, "fatal"),
		code:     rapid.SampledFrom(codes).Draw(t, "code"),
		com:      rapid.SampledFrom([]win.HRESULT{win.WBEM_E_FAILED, win.WBEM_E_ACCESS_DENIED, win.WBEM_E_QUOTA_VIOLATION, win.RPC_S_SERVER_UNAVAILABLE}).Draw(t, "COM's code"),
		returned: rapid.SampledFrom([]win.ReturnValue{win.ReturnFailed, win.ReturnAccessDenied}).Draw(t, "return value"),
	}
}

// strike makes a call that goes wrong so, and reports whether it came to that.
// Which of WMI's workers does a job, and so whether it connects first, is left to
// chance: that does not count.
func (f *fault) strike(node *simhost.Node, call func() error) (struck bool, err error) {
	if f.at == 0 {
		return false, call()
	}
	var made atomic.Int64
	node.OnCall(func(c simhost.Call, do func() error) error {
		switch {
		case int(made.Load()) >= f.at && f.fatal:
			return f.of(c)
		case strings.HasPrefix(c.Method, "WMI."), f.only != "" && f.only != c.Method, int(made.Add(1)) != f.at:
			return do()
		}
		return f.fail(c, do)
	})
	err = call()
	synctest.Wait()
	node.OnCall(nil)
	return int(made.Load()) >= f.at, err
}

func (f *fault) fail(c simhost.Call, do func() error) error {
	f.in = c.Method
	if f.after {
		if f.gave = do(); f.gave != nil { // by itself
			return f.gave
		}
		if row, ok := c.Answer().(*win.Row); ok && c.Method == "Call.Result" && *row != nil {
			f.gave, *row = f.returned, win.Row{"ReturnValue": int32(f.returned)}
			return nil
		}
	}
	f.gave = f.of(c)
	return f.gave
}

func (f *fault) of(c simhost.Call) error {
	of, _, _ := strings.Cut(c.Method, ".")
	switch of {
	case "WMI", "Session", "Rows", "Call":
		return f.com
	}
	return f.code
}

// tells: the code is an answer as much as a failure.
func (f *fault) tells() bool {
	code, ok := f.gave.(win.Errno) //nolint:errorlint // as it was given
	return ok && slices.Contains([]win.Errno{win.ERROR_NOT_READY, win.ERROR_INVALID_PARAMETER, win.ERROR_DEVICE_NOT_CONNECTED}, code)
}

// vital are the calls that must not fail unheard: what they do not write is lost,
// and what they do not read is not known to be empty (behaviour.md VOL-18;
// docs/architecture.md).
var vital = []string{"Device.Flush", "Device.ReadAt"}

// forbids reports that a call may not go on.
func (f *fault) forbids() bool {
	return slices.Contains(vital, f.in) && errors.Is(f.gave, f.code) && !f.tells()
}

// explains reports whether an error has a cause in it, unless that was an answer,
// and a kind, unless the cause has none.
func (f *fault) explains(err error) bool {
	causes := []error{f.gave}
	if f.fatal {
		causes = append(causes, f.code, f.com)
	}
	return slices.ContainsFunc(causes, func(cause error) bool {
		classified := errdefs.KindOf(err) != errdefs.Internal || errdefs.KindOf(cause) == errdefs.Internal
		return classified && (f.tells() || errors.Is(err, cause))
	})
}

// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"strings"
	"sync/atomic"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// fault is what goes wrong in a call of a group. Its codes are no answers: they
// tell nothing of what was asked for.
type fault struct {
	at    int       // which boundary call fails, 0: none
	after bool      // it fails when it has had its effect
	fatal bool      // the process ends there: no call is made any more
	code  win.Errno // of calls that are none of WMI's
	com   win.HRESULT
}

func drawFault(t *rapid.T) fault {
	if rapid.IntRange(0, 2).Draw(t, "undisturbed") > 0 {
		return fault{}
	}
	return fault{
		at:    rapid.IntRange(1, 12).Draw(t, "fault at"),
		after: rapid.Bool().Draw(t, "after its effect"),
		fatal: rapid.Bool().Draw(t, "fatal"),
		code:  rapid.SampledFrom([]win.Errno{win.ERROR_IO_DEVICE, win.ERROR_SEM_TIMEOUT, win.ERROR_NO_SYSTEM_RESOURCES}).Draw(t, "code"),
		com:   rapid.SampledFrom([]win.HRESULT{win.WBEM_E_FAILED, win.WBEM_E_QUOTA_VIOLATION, win.RPC_S_SERVER_UNAVAILABLE}).Draw(t, "COM's code"),
	}
}

// strike makes a call that goes wrong so, and reports whether it came to that.
func (f fault) strike(node *simhost.Node, call func() error) (struck bool, err error) {
	if f.at == 0 {
		return false, call()
	}
	var made atomic.Int64
	node.OnCall(func(c simhost.Call, do func() error) error {
		nth := int(made.Add(1))
		switch {
		case nth < f.at, nth > f.at && !f.fatal:
			return do()
		case nth == f.at && f.after:
			if err := do(); err != nil {
				return err
			}
		}
		return f.of(c)
	})
	err = call()
	synctest.Wait()
	node.OnCall(nil)
	return int(made.Load()) >= f.at, err
}

func (f fault) of(c simhost.Call) error {
	of, _, _ := strings.Cut(c.Method, ".")
	switch of {
	case "WMI", "Session", "Rows", "Call":
		return f.com
	}
	return f.code
}

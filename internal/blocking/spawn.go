// SPDX-License-Identifier: Apache-2.0

package blocking

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

type outcome[T any] struct {
	value T
	err   error
}

// PanicError is a panic in a call. Its stack is not part of its text.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

var errNoResult = errors.New("goroutine ended without a result")

// spawn runs fn on a new goroutine and hands its outcome to end, once,
// whichever way fn ends.
func spawn[T any](t *Table, op string, fn func() (T, error), end func(outcome[T])) {
	go func() {
		o := outcome[T]{err: errdefs.As(errdefs.Internal, op, "", errNoResult)}
		defer func() {
			if p := recover(); p != nil {
				o.err = errdefs.As(errdefs.Internal, op, "", t.panicked(&PanicError{p, debug.Stack()}))
			}
			end(o)
		}()
		o.value, o.err = fn()
	}()
}

// SPDX-License-Identifier: Apache-2.0

// Package intercept puts a function around every boundary call of a host, to
// count, delay, fail or hang calls without a word of it in any host.
package intercept

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// Call is a call of a boundary method. Closing and leaving are not among them.
type Call struct {
	// Method is the interface and its method: "Devices.Open", "File.List".
	Method string
	// Subject is what was asked: the path of an open device or file, a mount
	// point or volume, a service, a registry key and value, a namespace, a
	// query, an object path, or "Class.Method" with the object path behind it.
	Subject string
	// Code is the control code, information class, provider or flags, else 0.
	Code uint32
	// Continues marks a further step of a documented call that was counted
	// before: of an enumeration (File.List without restart, Rows.Next) or of
	// waiting for an end (Call.Result).
	Continues bool

	answer any
}

// Answer points to what do got, once it has returned: to the type that the
// method returns, such as *string or *win.Row, to *[]byte for the valid bytes of
// a buffer, and to *struct{} where there is an error alone. Around may put
// another value there, or change bytes in place and cut them, and so answer what
// a broken or hostile device might.
func (c Call) Answer() any { return c.answer }

// Bare is the call without its answer, to keep and to compare.
func (c Call) Bare() Call {
	c.answer = nil
	return c
}

// Around decides about a call. do makes it and returns its error; it does so
// once, and only until Around returns. Around may
//
//   - return an error without do: nothing has happened, and the call fails;
//   - return do's error, also wrapped: the call ends as it ended;
//   - return an error of its own after do: the call has happened and its result
//     is lost; what it opened is closed;
//   - block.
//
// It can make no success of a failure, nor of a call that was not made. It is
// called by many goroutines at once; those of WMI are locked to their thread,
// on which do must be called.
type Around func(c Call, do func() error) error

// Host is h with around in front of every call. Its interfaces and all that
// they open are wrapped. What is attached to h is not attached to the new host.
func Host(h *win.Host, around Around) *win.Host {
	return &win.Host{
		Devices:  &devices{h.Devices, around},
		Mounts:   &mounts{h.Mounts, around},
		Files:    &files{h.Files, around},
		Services: &services{h.Services, around},
		System:   &system{h.System, around},
		WMI:      &wmi{h.WMI, around},
		Logons:   &logons{h.Logons, around},
		Arrivals: &arrivals{h.Arrivals, around},
	}
}

var errNotMade = errors.New("boundary call was intercepted and not made")

// open makes a call through around; drop undoes a success that gets lost.
func open[T any](around Around, c Call, do func() (T, error), drop func(T)) (T, error) {
	var (
		zero, got T
		own       = errNotMade
		made      bool
	)
	c.answer = &got
	err := around(c, func() error {
		if !made {
			made = true
			got, own = do()
		}
		return own
	})
	switch {
	case err == nil:
		return got, own
	case own == nil:
		drop(got)
		return zero, err
	case errors.Is(err, own):
		return got, err
	default:
		return zero, err
	}
}

// ask makes a call that opens nothing.
func ask[T any](around Around, c Call, do func() (T, error)) (T, error) {
	return open(around, c, do, func(T) {})
}

// fill makes a call that writes into buf and returns how many bytes are valid.
func fill(around Around, c Call, buf []byte, do func() (int, error)) (int, error) {
	valid, err := ask(around, c, func() ([]byte, error) {
		n, err := do()
		return buf[:n], err
	})
	return len(valid), err
}

// tell makes a call that only succeeds or fails.
func tell(around Around, c Call, do func() error) error {
	_, err := ask(around, c, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

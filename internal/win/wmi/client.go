// SPDX-License-Identifier: Apache-2.0

// Package wmi asks a host's WMI questions and calls its methods, from any
// goroutine and within a context, over the blocking and thread-bound interface
// [win.WMI].
//
// A small fixed set of workers, each an OS thread of its own, does the calls:
// COM never meets a caller's thread (field-reports.md L07, L11), and a thread
// keeps its connections (L08). Workers start at the first call. None waits
// inside COM for more than a second at a time; one whose call does not come
// back for a minute is left behind and replaced, within limits. A read whose
// connection broke is asked once more; a method is never started twice, and the
// ledger ([Client.Unfinished]) knows those whose end is not known.
//
// Query text comes from [Select] and object paths from [PathOf] or from a row,
// never from concatenation (V23). Everything here is safe for concurrent use.
package wmi

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Client is the WMI of one host. [On] makes it.
type Client struct {
	wmi     win.WMI
	reads   chan *job // for every worker
	methods chan *job // for all workers but the first, so that reads get through
	closing sync.Once
	closed  chan struct{}
	// age counts broken connections: a session of an earlier age is renewed.
	age atomic.Int64

	mu      sync.Mutex
	slots   [workers]*worker
	lost    map[*worker]hang // left behind, not yet back
	changed chan struct{}    // closed and replaced when slots change
	ledger  map[*job]Unfinished
}

// On returns the client of a host, one for all callers. It starts nothing.
func On(h *win.Host) *Client {
	return win.Attached(h, func() *Client {
		return &Client{
			wmi:     h.WMI,
			reads:   make(chan *job),
			methods: make(chan *job),
			closed:  make(chan struct{}),
			lost:    map[*worker]hang{},
			changed: make(chan struct{}),
			ledger:  map[*job]Unfinished{},
		}
	})
}

// Query returns the rows of a query. It blocks until they are all there or ctx
// ends; the worker then stops at its next bounded wait. Errors: InvalidArgument
// for a query with a name or value that WQL cannot express, Unsupported where
// the host has no WMI or no such class, Unavailable where WMI fails or hangs,
// or what the native code means.
func (c *Client) Query(ctx context.Context, namespace string, q Query) ([]Row, error) {
	text, err := q.text()
	if err != nil {
		return nil, errdefs.Wrap("wmi.Query", q.class, err)
	}
	rows, err := c.read(ctx, q.class, namespace, func(ctx context.Context, w *worker, s win.Session) ([]win.Row, error) {
		return w.query(ctx, s, text)
	})
	if err != nil {
		return nil, errdefs.Wrap("wmi.Query", q.class, err)
	}
	out := make([]Row, len(rows))
	for i, r := range rows {
		out[i] = Row(r)
	}
	return out, nil
}

// Get reads one object by its path, as [PathOf] or a row's __PATH gives it. A
// path without keys reads the class. It blocks until the object is there or
// ctx ends. Errors as of [Client.Query], and NotFound.
func (c *Client) Get(ctx context.Context, namespace, path string) (Row, error) {
	class := classOf(path)
	if class == "" {
		return nil, errdefs.New(errdefs.InvalidArgument, "wmi.Get", "", "object path names no class")
	}
	rows, err := c.read(ctx, class, namespace, func(_ context.Context, w *worker, s win.Session) ([]win.Row, error) {
		return w.get(s, path)
	})
	if err != nil {
		return nil, errdefs.Wrap("wmi.Get", class, err)
	}
	return Row(rows[0]), nil
}

// Method is a call of a WMI method. Its input may hold secrets, so that it
// formats as its name alone.
type Method struct {
	Class string
	// Path is the object's path; "" calls a static method on the class.
	Path string
	// On names what a static method acts on, for example a share, for the
	// ledger. Methods with a Path do not need it. It must not be a secret.
	On   string
	Name string
	In   []win.Param
}

// Format writes the method's name, whatever the verb.
func (m Method) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%s.%s", m.Class, m.Name) }

// Call runs a method and returns its out parameters, beside a
// [win.ReturnValue] error too (42002 comes with the partition that was made
// anyway).
//
// Before the method is started, Call honours ctx and does not start it once ctx
// has ended. After that it blocks until the method's real end, whatever becomes
// of ctx, or until its worker is left behind: callers let go by means of
// internal/blocking. A method is started at most once, also where the
// connection breaks.
//
// Errors: a [*win.ProviderError] for a failed call, a [win.ReturnValue] for a
// method that answers anything but 0 (4096, job started, too), Unavailable for
// a worker left behind, ResourceExhausted while a lost method acts on the same
// object, else as of [Client.Query].
func (c *Client) Call(ctx context.Context, namespace string, m Method) (Row, error) {
	subject := fmt.Sprint(m)
	if !isName(m.Class) || !isName(m.Name) {
		return nil, errdefs.New(errdefs.InvalidArgument, "wmi.Call", subject, "class or method is not a WMI name")
	}
	rows, err := c.run(ctx, c.methods, subject, func(ctx context.Context, w *worker) ([]win.Row, error) {
		return w.call(ctx, namespace, m)
	})
	if err != nil {
		return nil, errdefs.Wrap("wmi.Call", subject, err)
	}
	out := Row(rows[0])
	return out, errdefs.Wrap("wmi.Call", subject, returned(out))
}

// returned is the error in a method's out parameters (windows-api.md 14.4).
func returned(out Row) error {
	code, err := out.Uint32("ReturnValue")
	if err != nil {
		return err
	}
	if code == 0 {
		return nil
	}
	status, _ := out.Row("ExtendedStatus") // which may be missing, as may its message
	message, _ := status.String("Message")
	if message == "" {
		return win.ReturnValue(code)
	}
	return fmt.Errorf("%w: %s", win.ReturnValue(code), message)
}

// Close ends the workers, each after what it is doing, and does not wait for
// them. Later calls are Unavailable. It is for hosts that end before their
// process does; a second Close does nothing.
func (c *Client) Close() { c.closing.Do(func() { close(c.closed) }) }

func (c *Client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

func (c *Client) read(ctx context.Context, class, namespace string, ask question) ([]win.Row, error) {
	return c.run(ctx, c.reads, class, func(ctx context.Context, w *worker) ([]win.Row, error) {
		return w.read(ctx, namespace, ask)
	})
}

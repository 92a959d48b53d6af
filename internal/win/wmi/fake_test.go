// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// fake is a scripted win.WMI. It complains about a call from another thread
// than the one that entered, and counts what is open.
type fake struct {
	t *testing.T

	rows []win.Row     // what each query yields
	slow time.Duration // how long a row or a method takes
	out  win.Row       // what each method yields

	mu      sync.Mutex
	script  func(call string) error
	log     []string
	threads map[int]int // enters less leaves, by thread
	open    map[string]int
}

func newFake(t *testing.T) (*fake, *Client) {
	t.Helper()
	f := &fake{t: t, threads: map[int]int{}, open: map[string]int{}, out: win.Row{"ReturnValue": int32(0)}}
	return f, On(&win.Host{WMI: f})
}

// play sets who answers each boundary call, by name: it may fail or block. nil
// lets all pass.
func (f *fake) play(script func(call string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = script
}

// settle closes the client and checks that nothing is left.
func (f *fake) settle(c *Client) {
	f.t.Helper()
	c.Close()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for what, n := range f.open {
		if n != 0 {
			f.t.Errorf("%d %s left open", n, what)
		}
	}
	for thread, n := range f.threads {
		if n != 0 {
			f.t.Errorf("thread %d entered %d times more than it left", thread, n)
		}
	}
	if left := c.Unfinished(); len(left) != 0 {
		f.t.Errorf("Unfinished() = %v at the end", left)
	}
}

// count is how often a boundary call was made.
func (f *fake) count(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.log {
		if c == call {
			n++
		}
	}
	return n
}

func (f *fake) called() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// at makes a boundary call on the thread that entered.
func (f *fake) at(call string, thread int) error {
	f.mu.Lock()
	f.log = append(f.log, call)
	if here := threadID(); here != thread {
		f.t.Errorf("%s on thread %d, not on %d", call, here, thread)
	}
	if f.threads[thread] != 1 {
		f.t.Errorf("%s on a thread that has entered %d times", call, f.threads[thread])
	}
	script := f.script
	f.mu.Unlock()
	if script == nil {
		return nil
	}
	return script(call)
}

func (f *fake) opened(what string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[what] += n
}

func (f *fake) Enter() error {
	thread := threadID()
	f.mu.Lock()
	f.threads[thread]++
	f.mu.Unlock()
	err := f.at("Enter", thread)
	if err != nil {
		f.mu.Lock()
		f.threads[thread]--
		f.mu.Unlock()
	}
	return err
}

func (f *fake) Leave() {
	thread := threadID()
	_ = f.at("Leave", thread)
	f.mu.Lock()
	f.threads[thread]--
	f.mu.Unlock()
}

func (f *fake) Connect(namespace string) (win.Session, error) {
	thread := threadID()
	if err := f.at("Connect", thread); err != nil {
		return nil, err
	}
	f.opened("sessions", 1)
	return &fakeSession{f, thread}, nil
}

type fakeSession struct {
	f      *fake
	thread int
}

func (s *fakeSession) Query(wql string) (win.Rows, error) {
	if err := s.f.at("Query", s.thread); err != nil {
		return nil, err
	}
	s.f.opened("rows", 1)
	return &fakeRows{fakeSession: *s, left: s.f.rows, ready: time.Now().Add(s.f.slow)}, nil
}

func (s *fakeSession) Get(path string) (win.Row, error) {
	if err := s.f.at("Get", s.thread); err != nil {
		return nil, err
	}
	return win.Row{"__PATH": path}, nil
}

func (s *fakeSession) Start(class, path, method string, _ []win.Param) (win.Call, error) {
	if err := s.f.at("Start", s.thread); err != nil {
		return nil, err
	}
	s.f.opened("calls", 1)
	return &fakeCall{fakeSession: *s, ready: time.Now().Add(s.f.slow)}, nil
}

func (s *fakeSession) Close() {
	_ = s.f.at("Session.Close", s.thread)
	s.f.opened("sessions", -1)
}

type fakeRows struct {
	fakeSession
	left  []win.Row
	ready time.Time
}

func (r *fakeRows) Next(wait time.Duration) (win.Row, error) {
	if err := r.f.at("Next", r.thread); err != nil {
		return nil, err
	}
	if !arrives(r.f.t, r.ready, wait) {
		return nil, win.WBEM_S_TIMEDOUT
	}
	if len(r.left) == 0 {
		return nil, win.WBEM_S_FALSE
	}
	row := r.left[0]
	r.left, r.ready = r.left[1:], time.Now().Add(r.f.slow)
	return row, nil
}

func (r *fakeRows) Close() {
	_ = r.f.at("Rows.Close", r.thread)
	r.f.opened("rows", -1)
}

type fakeCall struct {
	fakeSession
	ready time.Time
}

func (c *fakeCall) Result(wait time.Duration) (win.Row, error) {
	if err := c.f.at("Result", c.thread); err != nil {
		return nil, err
	}
	if !arrives(c.f.t, c.ready, wait) {
		return nil, win.WBEM_S_TIMEDOUT
	}
	return c.f.out, nil
}

func (c *fakeCall) Close() {
	_ = c.f.at("Call.Close", c.thread)
	c.f.opened("calls", -1)
}

// arrives waits for a time within wait, which is bounded.
func arrives(t *testing.T, at time.Time, wait time.Duration) bool {
	t.Helper()
	if wait <= 0 || wait > time.Second {
		t.Errorf("waits %v inside COM", wait)
	}
	rest := time.Until(at)
	time.Sleep(min(rest, wait))
	return rest <= wait
}

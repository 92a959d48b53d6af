// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// pause is the longest wait inside COM. After each the worker looks whether
// anybody still waits for the answer.
const pause = time.Second

// A worker is one OS thread in the multithreaded apartment, with a connection
// per namespace.
type worker struct {
	client   *Client
	methods  chan *job // nil for a worker that only reads
	job      *job      // written by the worker under Client.mu
	entered  bool
	sessions map[string]session // by namespace in lower case
}

type session struct {
	win.Session
	age int64
}

// serve does jobs until the client is closed or the worker was left behind. The
// thread is never unlocked, so it ends with the goroutine.
func (w *worker) serve() {
	runtime.LockOSThread()
	defer w.client.comeBack(w)
	defer w.leave()
	for {
		select {
		case <-w.client.closed:
			return
		case j := <-w.client.reads:
			w.do(j)
		case j := <-w.methods:
			w.do(j)
		}
		if !w.client.assign(w, nil) {
			return
		}
	}
}

func (w *worker) do(j *job) {
	w.client.assign(w, j)
	rows, err := j.ask(w)
	j.done <- outcome{rows, err}
}

// watch guards a boundary call: if it takes longer than patience, the worker is
// left behind. The call ends with stop.
func (w *worker) watch(in string) (stop func() bool) {
	j := w.job
	return time.AfterFunc(patience, func() { w.client.leaveBehind(w, j, in) }).Stop
}

// A question is a read on a worker's connection to a namespace.
type question func(context.Context, *worker, win.Session) ([]win.Row, error)

// read asks, and asks once more where the connection was broken.
func (w *worker) read(ctx context.Context, namespace string, ask question) ([]win.Row, error) {
	rows, err := w.readOnce(ctx, namespace, ask)
	if isBroken(err) {
		return w.readOnce(ctx, namespace, ask)
	}
	return rows, err
}

func (w *worker) readOnce(ctx context.Context, namespace string, ask question) ([]win.Row, error) {
	s, err := w.session(ctx, namespace)
	if err != nil {
		return nil, err
	}
	rows, err := ask(ctx, w, s)
	w.note(err)
	return rows, err
}

// query drains a query in bounded waits.
func (w *worker) query(ctx context.Context, s win.Session, text string) ([]win.Row, error) {
	stop := w.watch("ExecQuery")
	rows, err := s.Query(text)
	stop()
	if err != nil {
		return nil, err
	}
	defer func() {
		defer w.watch("Release")()
		rows.Close()
	}()
	var all []win.Row
	for ctx.Err() == nil {
		stop := w.watch("Next")
		row, err := rows.Next(pause)
		stop()
		switch {
		case err == nil:
			all = append(all, row)
		case errors.Is(err, win.WBEM_S_FALSE):
			return all, nil
		case !errors.Is(err, win.WBEM_S_TIMEDOUT):
			return nil, err
		}
	}
	return nil, ctx.Err()
}

func (w *worker) get(s win.Session, path string) ([]win.Row, error) {
	defer w.watch("GetObject")()
	row, err := s.Get(path)
	return []win.Row{row}, err
}

// call starts a method once and waits for its end, however long that takes.
func (w *worker) call(ctx context.Context, namespace string, m Method) ([]win.Row, error) {
	s, err := w.session(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if err := w.client.begin(ctx, w.job, newEntry(namespace, m)); err != nil {
		return nil, err
	}
	defer w.client.end(w.job)
	row, err := w.toEnd(s, m)
	w.note(err)
	return []win.Row{row}, err
}

func (w *worker) toEnd(s win.Session, m Method) (win.Row, error) {
	stop := w.watch("ExecMethod")
	call, err := s.Start(m.Class, m.Path, m.Name, m.In)
	stop()
	if err != nil {
		return nil, err
	}
	defer func() {
		defer w.watch("Release")()
		call.Close()
	}()
	j := w.job
	defer time.AfterFunc(patience, func() { w.client.stepAside(w, j) }).Stop()
	for {
		stop := w.watch("GetCallStatus")
		row, err := call.Result(pause)
		stop()
		if !errors.Is(err, win.WBEM_S_TIMEDOUT) {
			return row, err
		}
	}
}

// session is the worker's connection to a namespace, made where there is none
// or the last one is of an earlier age.
func (w *worker) session(ctx context.Context, namespace string) (win.Session, error) {
	if err := w.enter(); err != nil {
		return nil, err
	}
	key, age := strings.ToLower(namespace), w.client.age.Load()
	if s, ok := w.sessions[key]; ok {
		if s.age == age {
			return s, ctx.Err()
		}
		delete(w.sessions, key)
		stop := w.watch("Release")
		s.Close()
		stop()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stop := w.watch("ConnectServer")
	s, err := w.client.wmi.Connect(namespace)
	stop()
	if err != nil {
		w.note(err)
		return nil, fmt.Errorf("connecting to %s: %w", namespace, err)
	}
	w.sessions[key] = session{s, age}
	return s, ctx.Err()
}

func (w *worker) enter() error {
	if w.entered {
		return nil
	}
	stop := w.watch("CoInitializeEx")
	err := w.client.wmi.Enter()
	stop()
	if err != nil {
		return fmt.Errorf("entering COM: %w", err)
	}
	w.entered = true
	return nil
}

// note makes every worker renew its connections after a broken one: most of
// them go to the same WMI service.
func (w *worker) note(err error) {
	if isBroken(err) {
		w.client.age.Add(1)
	}
}

// leave undoes enter and the connections.
func (w *worker) leave() {
	for _, s := range w.sessions {
		s.Close()
	}
	if w.entered {
		w.client.wmi.Leave()
	}
}

// isBroken tells the codes of a connection that is gone: the WMI service or a
// provider host died (windows-api.md 14.5).
func isBroken(err error) bool {
	return slices.ContainsFunc([]win.HRESULT{
		win.RPC_S_SERVER_UNAVAILABLE,
		win.RPC_S_CALL_FAILED,
		win.RPC_E_DISCONNECTED,
		win.CO_E_SERVER_EXEC_FAILURE,
		win.WBEM_E_SHUTTING_DOWN,
	}, func(code win.HRESULT) bool { return errors.Is(err, code) })
}

// SPDX-License-Identifier: Apache-2.0

package intercept

import (
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

type wmi struct {
	inner  win.WMI
	around Around
}

func (w *wmi) Enter() error {
	_, err := open(w.around, Call{Method: "WMI.Enter"},
		func() (struct{}, error) { return struct{}{}, w.inner.Enter() },
		func(struct{}) { w.inner.Leave() })
	return err
}

func (w *wmi) Leave() { w.inner.Leave() }

func (w *wmi) Connect(namespace string) (win.Session, error) {
	opened, err := open(w.around, Call{Method: "WMI.Connect", Subject: namespace},
		func() (win.Session, error) { return w.inner.Connect(namespace) }, win.Session.Close)
	if err != nil {
		return nil, err
	}
	return &session{opened, w.around}, nil
}

type session struct {
	inner  win.Session
	around Around
}

func (s *session) Query(wql string) (win.Rows, error) {
	opened, err := open(s.around, Call{Method: "Session.Query", Subject: wql},
		func() (win.Rows, error) { return s.inner.Query(wql) }, win.Rows.Close)
	if err != nil {
		return nil, err
	}
	return &rows{opened, s.around, wql}, nil
}

func (s *session) Get(path string) (win.Row, error) {
	return ask(s.around, Call{Method: "Session.Get", Subject: path},
		func() (win.Row, error) { return s.inner.Get(path) })
}

func (s *session) Start(class, path, method string, in []win.Param) (win.Call, error) {
	subject := strings.TrimSpace(class + "." + method + " " + path)
	opened, err := open(s.around, Call{Method: "Session.Start", Subject: subject},
		func() (win.Call, error) { return s.inner.Start(class, path, method, in) }, win.Call.Close)
	if err != nil {
		return nil, err
	}
	return &call{opened, s.around, subject}, nil
}

func (s *session) Close() { s.inner.Close() }

type rows struct {
	inner  win.Rows
	around Around
	wql    string
}

func (r *rows) Next(wait time.Duration) (win.Row, error) {
	return ask(r.around, Call{Method: "Rows.Next", Subject: r.wql, Continues: true},
		func() (win.Row, error) { return r.inner.Next(wait) })
}

func (r *rows) Close() { r.inner.Close() }

type call struct {
	inner   win.Call
	around  Around
	subject string
}

func (c *call) Result(wait time.Duration) (win.Row, error) {
	return ask(c.around, Call{Method: "Call.Result", Subject: c.subject, Continues: true},
		func() (win.Row, error) { return c.inner.Result(wait) })
}

func (c *call) Close() { c.inner.Close() }

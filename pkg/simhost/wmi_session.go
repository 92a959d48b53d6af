// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"fmt"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// nodeWMI answers win.WMI from the model.
type nodeWMI struct{ n *Node }

var _ win.WMI = nodeWMI{}

func (w nodeWMI) Enter() error {
	w.n.mu.Lock()
	defer w.n.mu.Unlock()
	w.n.thread(true).entered++
	return nil
}

func (w nodeWMI) Leave() {
	w.n.mu.Lock()
	defer w.n.mu.Unlock()
	t := w.n.thread(false)
	switch {
	case t == nil || t.entered == 0:
		w.n.violate("Leave on a thread that has not entered")
		return
	case t.entered == 1 && t.objects > 0:
		w.n.violate(fmt.Sprintf("Leave with %d objects open", t.objects))
	}
	t.entered--
}

func (w nodeWMI) Connect(namespace string) (win.Session, error) {
	w.n.mu.Lock()
	defer w.n.mu.Unlock()
	if t := w.n.thread(false); t == nil || t.entered == 0 {
		w.n.violate("Connect on a thread that has not entered")
		return nil, errNotInitialized
	}
	if !w.n.schema().hasNamespace(namespace) {
		return nil, win.WBEM_E_INVALID_NAMESPACE
	}
	return &wmiSession{wmiObject: w.n.openObject("session"), namespace: namespace}, nil
}

// thread is the record of the calling OS thread, nil where it has none and
// none is to be made.
func (n *Node) thread(create bool) *wmiThread {
	id := osThread()
	t := n.wmi.threads[id]
	if t == nil && create {
		if n.wmi.threads == nil {
			n.wmi.threads = map[int]*wmiThread{}
		}
		t = &wmiThread{}
		n.wmi.threads[id] = t
	}
	return t
}

// wmiObject is what sessions, rows and calls are: COM objects that belong to
// the thread that got them and to a life of the provider host.
type wmiObject struct {
	n          *Node
	kind       string
	thread     *wmiThread
	generation int
	closed     bool
}

func (n *Node) openObject(kind string) wmiObject {
	t := n.thread(true)
	t.objects++
	o := wmiObject{n: n, kind: kind, thread: t, generation: n.wmi.generation}
	if o.isHandle() {
		n.opened()
	}
	return o
}

// isHandle reports whether the object counts as an open handle. A session does
// not: a client keeps its sessions.
func (o *wmiObject) isHandle() bool { return o.kind != "session" }

// use checks that the object may be used here and now.
func (o *wmiObject) use() error {
	switch {
	case o.closed:
		o.n.violate(o.kind + " used after Close")
		return errDisconnected
	case o.n.thread(false) != o.thread:
		o.n.violate(o.kind + " used on another thread")
		return errWrongThread
	case o.thread.entered == 0:
		o.n.violate(o.kind + " used after Leave")
		return errNotInitialized
	}
	return nil
}

// Close releases the object.
func (o *wmiObject) Close() {
	o.n.mu.Lock()
	defer o.n.mu.Unlock()
	if errors.Is(o.use(), errDisconnected) { // which has told of the second Close
		return
	}
	o.closed = true
	o.thread.objects--
	if o.isHandle() {
		o.n.closed()
	}
}

// wmiSession is a connection to a namespace.
type wmiSession struct {
	wmiObject
	namespace string
}

// use also finds a connection whose host has died.
func (s *wmiSession) use() error {
	if err := s.wmiObject.use(); err != nil {
		return err
	}
	if s.generation != s.n.wmi.generation {
		return win.RPC_S_SERVER_UNAVAILABLE
	}
	return nil
}

// Query starts a query. What is wrong with it shows at the first Next, because
// it is semi-synchronous (windows-api.md 14.3).
func (s *wmiSession) Query(wql string) (win.Rows, error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	if err := s.use(); err != nil {
		return nil, err
	}
	class := ""
	if q, err := parseWQL(wql); err == nil {
		class = q.class
	} else if q, ok := parseAssociators(wql); ok { // of iSCSI objects
		class = q.association
	}
	work := s.n.begin(class, func() ([]win.Row, error) { return s.n.runWQL(s.namespace, wql) })
	return &wmiRows{wmiObject: s.n.openObject("query"), work: work}, nil
}

// Get reads a class or an instance.
func (s *wmiSession) Get(path string) (win.Row, error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	if err := s.use(); err != nil {
		return nil, err
	}
	p, c, err := s.resolve(path)
	if err != nil {
		return nil, err
	}
	if p.keys == nil {
		r := c.row(nil)
		r[sysRelPath], r[sysPath] = c.name, c.absolutePath(c.name)
		return r, nil
	}
	if c.name == smbMappingClass && s.n.switches.SMBMappingNotByPath {
		return nil, win.WBEM_E_PROVIDER_NOT_CAPABLE
	}
	return s.n.instance(c, p)
}

// resolve reads an object path and finds its class.
func (s *wmiSession) resolve(path string) (wmiPath, *cimClass, error) {
	p, err := parseWMIPath(path)
	if err != nil {
		return wmiPath{}, nil, err
	}
	if p.namespace != "" && !sameNamespace(p.namespace, s.namespace) {
		return wmiPath{}, nil, win.WBEM_E_INVALID_NAMESPACE
	}
	c, ok := s.n.schema().class(s.namespace, p.class)
	switch {
	case !ok && p.keys == nil:
		return wmiPath{}, nil, win.WBEM_E_NOT_FOUND
	case !ok:
		return wmiPath{}, nil, win.WBEM_E_INVALID_CLASS
	}
	return p, c, nil
}

// Start begins a method. Parameters are checked as they are Put; that the
// object is not there shows in the result.
func (s *wmiSession) Start(class, path, method string, in []win.Param) (win.Call, error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	if err := s.use(); err != nil {
		return nil, err
	}
	c, m, err := s.n.method(s.namespace, class, method)
	if err != nil {
		return nil, err
	}
	given, err := m.put(in)
	if err != nil {
		return nil, err
	}
	target, err := s.target(c, m, path)
	if err != nil {
		return nil, err
	}
	call := &wmiInvocation{n: s.n, class: c, method: m, target: target, in: given}
	return &wmiCall{wmiObject: s.n.openObject("call"), work: call.start()}, nil
}

func (n *Node) method(namespace, class, method string) (*cimClass, cimMethod, error) {
	c, ok := n.schema().class(namespace, class)
	if !ok {
		return nil, cimMethod{}, win.WBEM_E_NOT_FOUND // as GetObject says
	}
	m, ok := c.method(method)
	if !ok {
		return nil, cimMethod{}, win.WBEM_E_INVALID_METHOD
	}
	return c, m, nil
}

// MethodInput lists the parameters that a WMI method takes, none for a method
// without. It is for the lab: COM hands out their class before they are put.
func (n *Node) MethodInput(namespace, class, method string) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, m, err := n.method(namespace, class, method)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range m.parameters {
		if !p.out {
			names = append(names, p.name)
		}
	}
	return names, nil
}

// put is the in-parameters object: an unknown name is WBEM_E_NOT_FOUND, a value
// of another type WBEM_E_TYPE_MISMATCH.
func (m cimMethod) put(in []win.Param) (cimObject, error) {
	given := cimObject{}
	for _, param := range in {
		p, ok := m.parameter(param.Name)
		if !ok || p.out {
			return nil, win.WBEM_E_NOT_FOUND
		}
		v, ok := p.fromVariant(param.Value)
		if !ok {
			return nil, win.WBEM_E_TYPE_MISMATCH
		}
		given[p.name] = v
	}
	return given, nil
}

// target is the object path of a method call, nil for the class itself, which
// only has static methods.
func (s *wmiSession) target(c *cimClass, m cimMethod, path string) (*wmiPath, error) {
	if path == "" {
		path = c.name
	}
	p, found, err := s.resolve(path)
	switch {
	case err != nil:
		return nil, err
	case found != c, p.keys == nil && !m.static:
		return nil, win.WBEM_E_INVALID_OBJECT_PATH
	case p.keys == nil:
		return nil, nil //nolint:nilnil // the class itself
	}
	return &p, nil
}

// wmiRows is a running query.
type wmiRows struct {
	wmiObject
	work *wmiWork
	next int
}

func (r *wmiRows) Next(wait time.Duration) (win.Row, error) {
	if err := r.begin(); err != nil {
		return nil, err
	}
	if !r.work.wait(wait) {
		return nil, win.WBEM_S_TIMEDOUT
	}
	r.n.mu.Lock()
	defer r.n.mu.Unlock()
	switch {
	case r.work.err != nil:
		return nil, r.work.err
	case r.generation != r.n.wmi.generation:
		return nil, win.RPC_S_CALL_FAILED
	case r.next == len(r.work.rows):
		return nil, win.WBEM_S_FALSE
	}
	r.next++
	return r.work.rows[r.next-1], nil
}

// wmiCall is a running method.
type wmiCall struct {
	wmiObject
	work *wmiWork
}

func (c *wmiCall) Result(wait time.Duration) (win.Row, error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
	if !c.work.wait(wait) {
		return nil, win.WBEM_S_TIMEDOUT
	}
	if c.work.err != nil {
		return nil, c.work.err
	}
	return c.work.rows[0], nil
}

// begin is use for a method that goes on to wait without Node.mu.
func (o *wmiObject) begin() error {
	o.n.mu.Lock()
	defer o.n.mu.Unlock()
	return o.use()
}

// wmiInvocation is a method call in the provider.
type wmiInvocation struct {
	n      *Node
	class  *cimClass
	method cimMethod
	target *wmiPath // nil: the class
	in     cimObject
}

func (i *wmiInvocation) name() string { return i.class.name + "." + i.method.name }

// start begins the call. As a job it goes on after the call has ended with 4096
// (windows-api.md 14.8).
func (i *wmiInvocation) start() *wmiWork {
	work := i.n.begin(i.name(), i.run)
	if i.in["RunAsJob"] != true {
		return work
	}
	out, err := i.outputs(cimObject{
		"CreatedStorageJob": `\\` + wmiServer + `\` + i.class.namespace + `:MSFT_StorageJob.ObjectId="job"`,
	}, win.ReturnJobStarted)
	ended := &wmiWork{done: make(chan struct{}), rows: out, err: err}
	close(ended.done)
	return ended
}

// run carries the method out.
func (i *wmiInvocation) run() ([]win.Row, error) {
	implementation, ok := i.n.classes()[i.class.name].methods[i.method.name]
	if !ok {
		return nil, errMethodUnimplemented
	}
	var self cimObject
	if i.target != nil {
		row, err := i.n.instance(i.class, *i.target)
		if err != nil {
			return nil, err
		}
		self = i.class.object(row)
	}
	ordered, ok := i.n.takeResult(i.name())
	if ok && !ordered.applied {
		return i.outputs(nil, ordered.code)
	}
	out, code, err := implementation(i.n, self, i.in)
	if err != nil {
		return nil, err
	}
	if ok && code == 0 {
		code = ordered.code
	}
	return i.outputs(out, code)
}

// outputs is the out-parameters object.
func (i *wmiInvocation) outputs(out cimObject, code win.ReturnValue) ([]win.Row, error) {
	row := win.Row{sysClass: "__PARAMETERS", "ReturnValue": int32(code)}
	for _, p := range i.method.parameters {
		if p.out {
			row[p.name] = p.toVariant(out[p.name])
		}
	}
	if _, ok := row["ExtendedStatus"]; ok && code != 0 {
		row["ExtendedStatus"] = i.method.extendedStatus(code)
	}
	return []win.Row{row}, nil
}

// extendedStatus tells a return value in words (windows-api.md 14.5).
func (m cimMethod) extendedStatus(code win.ReturnValue) win.Row {
	return win.Row{sysClass: "MSFT_StorageExtendedStatus", "Message": m.codes[decimal(uint64(code))]}
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// Codes of COM that only a mistake in the use of WMI brings up.
const (
	errNotInitialized      win.HRESULT = 0x8004_01F0 // CO_E_NOTINITIALIZED
	errWrongThread         win.HRESULT = 0x8001_010E // RPC_E_WRONG_THREAD
	errDisconnected        win.HRESULT = 0x8001_0108 // RPC_E_DISCONNECTED
	errMethodUnimplemented win.HRESULT = 0x8004_1055 // WBEM_E_METHOD_NOT_IMPLEMENTED
)

// wmiService is the state of WMI on a node. Its zero value is a service that
// nobody has talked to. Guarded by Node.mu.
type wmiService struct {
	known      *schema
	classes    map[string]wmiClass // nil until first asked for
	storage    *storageCache       // nil until the provider is first asked
	generation int                 // of the provider host; rises when it dies
	threads    map[int]*wmiThread
	running    map[*wmiWork]struct{}
	delays     map[string]wmiDelay
	results    map[string][]methodResult
	violations []string

	noDefragmenter bool // defragsvc does not run
}

// wmiThread is what one OS thread has done.
type wmiThread struct {
	entered int
	objects int // sessions, queries and calls that it has open
}

// cimObject is an instance of a class, or the parameters of a method: values
// by name in the model's types ([cimType.toVariant]); what is not there is
// NULL.
type cimObject map[string]any

// wmiClass is what a provider of the node does for one class of the schema. Its
// functions are called with Node.mu.
type wmiClass struct {
	instances func(n *Node) []cimObject
	methods   map[string]wmiMethod

	association *wmiAssociation     // of an association class
	ready       func(n *Node) error // why an iSCSI provider does not answer now
}

// wmiMethod carries out a method. self is the instance, nil for a static
// method. It returns the out parameters and the ReturnValue, or the code with
// which the whole call fails.
type wmiMethod func(n *Node, self, in cimObject) (cimObject, win.ReturnValue, error)

// wmiClasses are the classes that the node answers for.
func wmiClasses() map[string]wmiClass {
	classes := map[string]wmiClass{}
	addStorageClasses(classes)
	addSMBClasses(classes)
	addISCSIClasses(classes)
	return classes
}

// schema is what WMI of the node's build knows.
func (n *Node) schema() *schema {
	if n.wmi.known == nil {
		n.wmi.known = schemaFor(n.build)
	}
	return n.wmi.known
}

// classes are what the node's providers do.
func (n *Node) classes() map[string]wmiClass {
	if n.wmi.classes == nil {
		n.wmi.classes = wmiClasses()
	}
	return n.wmi.classes
}

// rows are all instances of a class and of its subclasses. A class without a
// provider fails as one whose provider cannot be loaded.
func (n *Node) rows(c *cimClass) ([]win.Row, error) {
	var rows []win.Row
	found := false
	classes := n.classes()
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		class, ok := n.schema().class(c.namespace, name)
		if !ok || class != c && !class.inherits(c) {
			continue
		}
		found = true
		if ready := classes[name].ready; ready != nil {
			if err := ready(n); err != nil { // iSCSI
				return nil, err
			}
		}
		for _, o := range classes[name].instances(n) {
			rows = append(rows, class.row(o))
		}
	}
	if !found {
		return nil, win.WBEM_E_PROVIDER_LOAD_FAILURE
	}
	return rows, nil
}

// instance is the object that a path names.
func (n *Node) instance(c *cimClass, path wmiPath) (win.Row, error) {
	is, err := path.bind(c)
	if err != nil {
		return nil, err
	}
	rows, err := n.rows(c)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(rows, is); i >= 0 {
		return rows[i], nil
	}
	return nil, win.WBEM_E_NOT_FOUND
}

// The system properties that rows carry.
const (
	sysClass     = "__CLASS"
	sysNamespace = "__NAMESPACE"
	sysServer    = "__SERVER"
	sysRelPath   = "__RELPATH"
	sysPath      = "__PATH"
)

var systemProperties = []string{sysClass, sysNamespace, sysServer, sysRelPath, sysPath}

// row is an object of the class as COM hands it over, with every property of
// the class. An object may not have others.
func (c *cimClass) row(o cimObject) win.Row {
	r := win.Row{sysClass: c.name, sysNamespace: c.namespace, sysServer: wmiServer}
	for _, p := range c.properties {
		r[p.name] = p.toVariant(o[p.name])
	}
	for name := range o {
		if _, ok := r[name]; !ok {
			panic("simhost: " + c.name + " has no property " + name)
		}
	}
	c.addPaths(r)
	return r
}

func (c *cimClass) addPaths(r win.Row) {
	r[sysRelPath] = c.relativePath(r)
	r[sysPath] = c.absolutePath(r[sysRelPath])
}

// embedded is an object inside another one: it has no path.
func (c *cimClass) embedded(o cimObject) win.Row {
	r := c.row(o)
	r[sysRelPath], r[sysPath] = nil, nil
	return r
}

// object is the row in the model's types.
func (c *cimClass) object(r win.Row) cimObject {
	o := cimObject{}
	for _, p := range c.properties {
		o[p.name], _ = p.fromVariant(r[p.name])
	}
	return o
}

// selectable finds what a query may name: a property or a system property.
func (c *cimClass) selectable(name string) (cimProperty, bool) {
	if i := slices.IndexFunc(systemProperties, func(s string) bool { return strings.EqualFold(s, name) }); i >= 0 {
		return cimProperty{name: systemProperties[i], cimType: cimType{base: "string"}}, true
	}
	return c.property(name)
}

// project leaves the values of the listed properties in a row; the others read
// as NULL. The paths are made of the keys and go with them (windows-api.md
// 14.3), unless the node's switch says otherwise.
func (c *cimClass) project(r win.Row, listed []string, keepPaths bool) win.Row {
	if listed == nil {
		return r
	}
	out := win.Row{sysClass: r[sysClass], sysNamespace: r[sysNamespace], sysServer: r[sysServer]}
	for _, p := range c.properties {
		out[p.name] = nil
		if slices.ContainsFunc(listed, func(name string) bool { return strings.EqualFold(name, p.name) }) {
			out[p.name] = r[p.name]
		}
	}
	if keepPaths {
		out[sysRelPath], out[sysPath] = r[sysRelPath], r[sysPath]
	} else {
		c.addPaths(out)
	}
	return out
}

// runWQL answers a query of a namespace. A name that the class does not have is
// an invalid query, in the list as in the condition: the schema finds it before
// the provider is asked.
func (n *Node) runWQL(namespace, text string) ([]win.Row, error) {
	if q, ok := parseAssociators(text); ok { // of iSCSI objects
		return n.runAssociators(namespace, q)
	}
	q, err := parseWQL(text)
	if err != nil {
		return nil, err
	}
	c, ok := n.schema().class(namespace, q.class)
	if !ok {
		return nil, win.WBEM_E_INVALID_CLASS
	}
	for _, name := range q.properties {
		if _, ok := c.selectable(name); !ok {
			return nil, win.WBEM_E_INVALID_QUERY
		}
	}
	matches := func(win.Row) bool { return true }
	if q.where != nil {
		if matches, err = q.where.bind(c); err != nil {
			return nil, err
		}
	}
	rows, err := n.rows(c)
	if err != nil {
		return nil, err
	}
	var out []win.Row
	for _, r := range rows {
		if matches(r) {
			out = append(out, c.project(r, q.properties, n.switches.PathsWithoutKeys))
		}
	}
	return out, nil
}

// Violations are the mistakes in the use of WMI that the node has seen: calls
// from a thread that did not enter or does not own the object, objects used
// after Close or closed twice, a Leave without Enter or with objects open. On
// systems other than Linux, threads are not told apart.
func (n *Node) Violations() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.wmi.violations)
}

func (n *Node) violate(text string) { n.wmi.violations = append(n.wmi.violations, text) }

// KillWMIHost ends the process that hosts the providers, as its quota would
// (windows-api.md 14.8). Running queries and methods fail with
// RPC_S_CALL_FAILED, and a method that has not ended has no effect. Connections
// from before stay broken (RPC_S_SERVER_UNAVAILABLE); a new one works, and its
// provider has read the node anew.
func (n *Node) KillWMIHost() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wmi.generation++
	n.wmi.storage = nil
	for w := range n.wmi.running {
		n.finish(w, nil, win.RPC_S_CALL_FAILED)
	}
}

// Latency makes a WMI method ("MSFT_Volume.Format"), or the queries of a class
// ("MSFT_Disk"), take a time in the provider. 0 takes it back. It does not
// concern what is running already.
func (n *Node) Latency(name string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delay := n.wmi.delays[strings.ToLower(name)]
	delay.duration = d
	n.setDelay(name, delay)
}

// LatencyEach makes the queries of a class take longer with each object that it
// has, as those of SMB mappings do (field-reports.md M04).
func (n *Node) LatencyEach(class string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delay := n.wmi.delays[strings.ToLower(class)]
	delay.each = d
	n.setDelay(class, delay)
}

// Hang makes a method, or the queries of a class, named as for Latency, hang in
// the provider until release is called. A hanging method takes effect when it
// is released, whether or not its caller has waited; KillWMIHost ends it too.
func (n *Node) Hang(name string) (release func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delay := n.wmi.delays[strings.ToLower(name)]
	released := make(chan struct{})
	delay.released = released
	n.setDelay(name, delay)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delay := n.wmi.delays[strings.ToLower(name)]
		if delay.released == released {
			delay.released = nil
			n.setDelay(name, delay)
			close(released)
		}
	}
}

// ReturnNext makes the next call of a method ("MSFT_Disk.CreatePartition")
// return a code. With applied the method is carried out all the same, as
// CreatePartition does beside 42002 (windows-api.md 5.4).
func (n *Node) ReturnNext(method string, code uint32, applied bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wmi.results == nil {
		n.wmi.results = map[string][]methodResult{}
	}
	key := strings.ToLower(method)
	n.wmi.results[key] = append(n.wmi.results[key], methodResult{win.ReturnValue(code), applied})
}

// methodResult is a ReturnValue ordered by ReturnNext.
type methodResult struct {
	code    win.ReturnValue
	applied bool
}

func (n *Node) takeResult(method string) (methodResult, bool) {
	key := strings.ToLower(method)
	ordered := n.wmi.results[key]
	if len(ordered) == 0 {
		return methodResult{}, false
	}
	n.wmi.results[key] = ordered[1:]
	return ordered[0], true
}

// wmiDelay is how long something takes in the provider: first until it is
// released, then the duration.
type wmiDelay struct {
	duration time.Duration
	each     time.Duration   // more for each object of the class
	released <-chan struct{} // nil: does not hang
}

func (n *Node) setDelay(name string, d wmiDelay) {
	if n.wmi.delays == nil {
		n.wmi.delays = map[string]wmiDelay{}
	}
	n.wmi.delays[strings.ToLower(name)] = d
}

// wmiWork is a query or method in the provider. rows and err are set before
// done is closed.
type wmiWork struct {
	done chan struct{}
	rows []win.Row
	err  error
}

// begin lets the provider do something in its own time, under Node.mu, and at
// once where that time is 0.
func (n *Node) begin(name string, do func() ([]win.Row, error)) *wmiWork {
	w := &wmiWork{done: make(chan struct{})}
	if n.wmi.running == nil {
		n.wmi.running = map[*wmiWork]struct{}{}
	}
	n.wmi.running[w] = struct{}{}
	delay := n.wmi.delays[strings.ToLower(name)]
	delay.duration += delay.each * time.Duration(n.instancesOf(name))
	if delay.released == nil && delay.duration == 0 {
		n.complete(w, do)
		return w
	}
	go func() {
		if !w.pass(delay) {
			return
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if _, running := n.wmi.running[w]; running {
			n.complete(w, do)
		}
	}()
	return w
}

// complete carries the work out. Where that needs a file server that does not
// answer, it goes on when it does.
func (n *Node) complete(w *wmiWork, do func() ([]win.Row, error)) {
	rows, err := do()
	var s *silence
	if !errors.As(err, &s) {
		n.finish(w, rows, err)
		return
	}
	go func() {
		if !w.pass(wmiDelay{released: s.ends}) {
			return
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if _, running := n.wmi.running[w]; running {
			n.complete(w, do)
		}
	}()
}

// instancesOf is how many objects a class has.
func (n *Node) instancesOf(class string) int {
	for name, c := range n.classes() {
		if strings.EqualFold(name, class) {
			return len(c.instances(n))
		}
	}
	return 0
}

// pass waits out the delay; it reports false where the work ended meanwhile.
func (w *wmiWork) pass(delay wmiDelay) bool {
	if delay.released != nil {
		select {
		case <-delay.released:
		case <-w.done:
			return false
		}
	}
	timer := time.NewTimer(delay.duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.done:
		return false
	}
}

func (n *Node) finish(w *wmiWork, rows []win.Row, err error) {
	w.rows, w.err = rows, err
	delete(n.wmi.running, w)
	close(w.done)
}

// wait waits for the end of the work; a negative time is WBEM_INFINITE.
func (w *wmiWork) wait(d time.Duration) bool {
	select {
	case <-w.done:
		return true
	default:
	}
	if d < 0 {
		<-w.done
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.done:
		return true
	case <-timer.C:
		return false
	}
}

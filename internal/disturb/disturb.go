// SPDX-License-Identifier: Apache-2.0

// Package disturb tests that every method of a group withstands what may happen
// to it, on a simulated node.
//
// Each boundary call of each [Scenario] in turn fails with each of a set of
// codes, answers short or with noise, or hangs. A change is also repeated, made
// by 64 callers at once, left by its caller, and loses the answers of its
// calls. However it was disturbed, nothing panics and nothing is left open; an
// error keeps its cause and has the kind that the cause deserves; a question has
// changed nothing, and a change only what it changes undisturbed; and the same
// call again ends where an undisturbed run ends, with nothing done twice.
//
// By default each boundary call gets a few faults, picked by a seed. With FAULTS=all in
// the environment it gets every one (make faults), with FAULTS=<number> another
// seed.
package disturb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// Group is a group of the library, with one scenario or more for each method
// that takes a context.
type Group[G any] struct {
	Name string // as errors begin: "disk"
	New  func(*simhost.Node) (G, error)
	// Node makes a new node, in the bubble of a test. Scenarios may have their
	// own.
	Node func(*testing.T) *simhost.Node

	Questions []Scenario[G] // which change nothing
	Changes   []Scenario[G] // which do nothing where they were made already
	Refusals  []Scenario[G] // changes that are refused whatever else happens
}

// Scenario is a call of a method on a node on which it has all to do.
type Scenario[G any] struct {
	Method  string
	When    string // what tells it from other scenarios of the method
	Request any    // nil where the method takes none
	Node    func(*testing.T) *simhost.Node
	// Partial says that the answer of a question is what could be read, and
	// that what could not be is no error.
	Partial bool
	// Repeats says that a change sets what cannot be read, and so does it again
	// each time.
	Repeats bool
	// Refused is the error of a refusal.
	Refused error
	// Do is what a driver does where that is more than to call the method.
	Do func(context.Context, G) (any, error)
}

// subject is a scenario, whatever its group.
type subject struct {
	name    string
	op      string // which the errors of its method name; "" with Do
	node    func(*testing.T) *simhost.Node
	call    func(context.Context, *simhost.Node) (any, error)
	change  bool
	partial bool
	repeats bool
	refused error
}

// Run tests every scenario of the group.
func (g Group[G]) Run(t *testing.T) {
	t.Run("methods", g.methods)
	for _, s := range g.subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t)
		})
	}
}

func (s subject) run(t *testing.T) {
	o := s.undisturbed(t)
	s.leftBefore(t)
	s.faults(t, o)
	s.atOnce(t, o)
	if s.change {
		s.twice(t, o)
		s.disturbances(t, o)
	}
}

func (g Group[G]) subjects() []subject {
	var list []subject
	for _, s := range g.Questions {
		list = append(list, g.subject(s, false))
	}
	for _, s := range g.Changes {
		list = append(list, g.subject(s, true))
	}
	for _, s := range g.Refusals {
		list = append(list, g.subject(s, false))
	}
	return list
}

func (g Group[G]) subject(s Scenario[G], change bool) subject {
	sub := subject{name: strings.TrimSpace(s.Method + " " + s.When), node: g.Node, change: change, partial: s.Partial, repeats: s.Repeats, refused: s.Refused}
	if s.Node != nil {
		sub.node = s.Node
	}
	if s.Do == nil {
		sub.op = g.Name + "." + s.Method
		s.Do = func(ctx context.Context, group G) (any, error) { return invoke(ctx, group, s.Method, s.Request) }
	}
	sub.call = func(ctx context.Context, n *simhost.Node) (any, error) {
		group, err := g.New(n) // of a caller of its own
		if err != nil {
			return nil, err
		}
		return s.Do(ctx, group)
	}
	return sub
}

func invoke(ctx context.Context, group any, method string, request any) (any, error) {
	in := []reflect.Value{reflect.ValueOf(ctx)}
	if request != nil {
		in = append(in, reflect.ValueOf(request))
	}
	out := reflect.ValueOf(group).MethodByName(method).Call(in)
	err, _ := out[1].Interface().(error)
	return out[0].Interface(), err
}

// missing reports that a method gave no response, which drivers do not expect
// beside an error either (consumers.md 2.4).
func missing(response any) bool {
	v := reflect.ValueOf(response)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// methods wants a scenario for each method of the group, and nil requests to be
// refused without a boundary call.
func (g Group[G]) methods(t *testing.T) {
	listed := map[string]bool{}
	for _, s := range append(g.Questions, g.Changes...) {
		listed[s.Method] = true
	}
	of := reflect.TypeFor[G]()
	for i := range of.NumMethod() {
		m := of.Method(i)
		if m.Type.NumIn() < 2 || m.Type.In(1) != reflect.TypeFor[context.Context]() {
			continue
		}
		if !listed[m.Name] {
			t.Errorf("%s has no scenario", m.Name)
		}
		if m.Type.NumIn() == 3 && m.Type.In(2).Kind() == reflect.Pointer {
			g.refusesNil(t, m.Name, reflect.Zero(m.Type.In(2)).Interface())
		}
	}
}

func (g Group[G]) refusesNil(t *testing.T, method string, request any) {
	node := g.Node(t)
	group, err := g.New(node)
	if err != nil {
		t.Fatal(err)
	}
	node.Calls().Reset()
	resp, err := invoke(t.Context(), group, method, request)
	if missing(resp) || errdefs.KindOf(err) != errdefs.InvalidArgument || !names(err, g.Name+"."+method) {
		t.Errorf("%s of nil: %v, %v", method, resp, err)
	}
	if n := node.Calls().Total(); n != 0 {
		t.Errorf("%s of nil: %d boundary calls", method, n)
	}
}

// names reports whether an error names an operation, or is outermost one of the
// file system, which does so in its own way.
func names(err error, op string) bool {
	switch err.(type) { //nolint:errorlint // outermost
	case *fs.PathError, *os.LinkError:
		return true
	}
	var typed *errdefs.Error
	return errors.As(err, &typed) && typed.Op == op
}

// leftBefore: a caller who has left before it calls is told so, and nothing is
// asked.
func (s subject) leftBefore(t *testing.T) {
	s.in(t, "left before", func(tr *trial) {
		ctx, leave := context.WithCancel(tr.Context())
		leave()
		before := tr.now()
		if _, err := tr.call(ctx); !errors.Is(err, context.Canceled) && !tr.refusal(err) {
			tr.Errorf("got %v", err)
		}
		if len(tr.made) > 0 {
			tr.Errorf("made %v", tr.made)
		}
		tr.same(before)
	})
}

// where names a boundary call.
func where(c simhost.Call) string {
	name := strings.TrimSpace(c.Method + " " + c.Subject)
	if c.Code != 0 {
		name += fmt.Sprintf(" %#x", c.Code)
	}
	return name
}

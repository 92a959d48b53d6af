// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// operator makes mistakes of one kind. Where a mistake could change nothing, or
// only what people read, it makes none.
type operator struct {
	name string
	race bool
	find func(*cursor)
}

var operators = []operator{
	{name: "negated condition", find: negate},
	{name: "dropped error check", find: dropCheck},
	{name: "dropped lock", find: dropLock, race: true},
	{name: "swapped statements", find: swap},
	{name: "changed constant", find: changeConstant},
	{name: "early return", find: returnEarly},
}

// site is a place where an operator can be applied.
type site struct {
	operator
	pkg   *pkg
	file  *file
	edits []edit
}

func (s site) mutant() mutant {
	line := 1 + strings.Count(string(s.file.text[:s.edits[0].from]), "\n")
	return mutant{what: s.name, pkg: s.pkg, file: s.file, line: line, text: s.file.edited(s.edits), race: s.race}
}

// sites are all places by operator, then by package.
func (t *tree) sites() [][][]site {
	var all [][][]site
	for _, op := range operators {
		var packages [][]site
		for _, p := range t.packages {
			if found := t.apply(op, p); len(found) > 0 {
				packages = append(packages, found)
			}
		}
		all = append(all, packages)
	}
	return all
}

func (t *tree) apply(op operator, p *pkg) []site {
	var found []site
	for _, f := range p.files {
		ast.PreorderStack(f.ast, nil, func(n ast.Node, above []ast.Node) bool {
			c := &cursor{fset: t.fset, pkg: p, file: f, node: n, above: above}
			op.find(c)
			for _, edits := range c.found {
				found = append(found, site{op, p, f, edits})
			}
			return true
		})
	}
	return found
}

// cursor is where an operator looks.
type cursor struct {
	fset  *token.FileSet
	pkg   *pkg
	file  *file
	node  ast.Node
	above []ast.Node // the file first, the parent last
	found [][]edit
}

func (c *cursor) propose(edits ...edit) { c.found = append(c.found, edits) }

// parent is the node i levels above; nil above the file.
func (c *cursor) parent(i int) ast.Node {
	if i > len(c.above) {
		return nil
	}
	return c.above[len(c.above)-i]
}

func (c *cursor) offset(p token.Pos) int { return c.fset.Position(p).Offset }

func (c *cursor) replace(n ast.Node, text string) edit {
	return edit{c.offset(n.Pos()), c.offset(n.End()), text}
}

func (c *cursor) text(n ast.Node) string {
	return string(c.file.text[c.offset(n.Pos()):c.offset(n.End())])
}

func (c *cursor) typeOf(e ast.Expr) types.Type { return c.pkg.info.TypeOf(e) }

// negate takes whole conditions and the operands of && and ||.
func negate(c *cursor) {
	if e, ok := c.node.(ast.Expr); ok && c.isCondition(e) {
		c.propose(c.replace(e, "!("+c.text(e)+")"))
	}
}

func (c *cursor) isCondition(e ast.Expr) bool {
	switch p := c.parent(1).(type) {
	case *ast.IfStmt:
		return p.Cond == e
	case *ast.ForStmt:
		return p.Cond == e
	case *ast.BinaryExpr:
		return p.Op == token.LAND || p.Op == token.LOR
	case *ast.CaseClause:
		s, ok := c.parent(3).(*ast.SwitchStmt)
		return ok && s.Tag == nil && slices.Contains(p.List, e)
	}
	return false
}

var errorType = types.Universe.Lookup("error").Type()

// dropCheck takes comparisons of an error with nil that decide what is done.
func dropCheck(c *cursor) {
	e, ok := c.node.(*ast.BinaryExpr)
	if ok && e.Op == token.NEQ && c.isNil(e.Y) && types.Identical(c.typeOf(e.X), errorType) && c.isCondition(e) {
		c.propose(c.replace(e, "("+c.text(e)+" && false)"))
	}
}

func (c *cursor) isNil(e ast.Expr) bool { return c.pkg.info.Types[e].IsNil() }

// dropLock takes a mutex's Lock with its Unlock, and what returns a function
// that unlocks.
func dropLock(c *cursor) {
	for i, s := range statements(c.node) {
		mutex := c.mutex(s, "Lock", "RLock")
		if mutex == "" {
			continue
		}
		for _, later := range statements(c.node)[i+1:] {
			if c.mutex(later, "Unlock", "RUnlock") == mutex {
				c.propose(c.replace(s, ""), c.replace(later, ""))
				break
			}
		}
	}
	if call, ok := c.node.(*ast.CallExpr); ok && c.isLock(call) {
		c.propose(c.replace(call, "func() {}, error(nil)"))
	}
}

// mutex is what the statement calls one of the methods of.
func (c *cursor) mutex(s ast.Stmt, methods ...string) string {
	var call *ast.CallExpr
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, _ = s.X.(*ast.CallExpr)
	case *ast.DeferStmt:
		call = s.Call
	}
	if call == nil {
		return ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) > 0 || !slices.Contains(methods, method.Sel.Name) {
		return ""
	}
	return c.text(method.X)
}

func (c *cursor) isLock(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(method.Sel.Name, "Lock") {
		return false
	}
	results, ok := c.typeOf(call).(*types.Tuple)
	if !ok || results.Len() != 2 || !types.Identical(results.At(1).Type(), errorType) {
		return false
	}
	unlock, ok := results.At(0).Type().(*types.Signature)
	return ok && unlock.Params().Len() == 0 && unlock.Results().Len() == 0
}

// statements are those of a block or a clause.
func statements(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// swap takes neighbours whose order matters.
func swap(c *cursor) {
	list := statements(c.node)
	for i := range len(list) - 1 {
		a, b := list[i], list[i+1]
		if !c.exclude(a, b) && c.effects(a).orders(c.effects(b)) {
			c.propose(c.replace(a, c.text(b)), c.replace(b, c.text(a)))
		}
	}
}

// exclude: cases of which one at most can hold.
func (c *cursor) exclude(a, b ast.Stmt) bool {
	x, ok := a.(*ast.CaseClause)
	if !ok {
		return false
	}
	y := b.(*ast.CaseClause)
	s, ok := c.parent(1).(*ast.SwitchStmt)
	return ok && s.Tag != nil || x.List == nil || y.List == nil || c.asks(x, y) || c.asks(y, x)
}

// asks: one case is that there is no error, the other which error it is.
func (c *cursor) asks(none, which *ast.CaseClause) bool {
	e, ok := none.List[0].(*ast.BinaryExpr)
	call, isCall := which.List[0].(*ast.CallExpr)
	return ok && isCall && e.Op == token.EQL && c.isNil(e.Y) && len(none.List)+len(which.List) == 2 &&
		slices.ContainsFunc(call.Args, func(of ast.Expr) bool { return c.text(of) == c.text(e.X) })
}

// changeConstant takes numbers, truth values, and texts that the code compares
// or looks up.
func changeConstant(c *cursor) {
	e, ok := c.node.(ast.Expr)
	if !ok || c.isForPeople() || c.isBesideError() {
		return
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		if text := c.otherLiteral(e); text != "" {
			c.propose(c.replace(e, text))
		}
	case *ast.Ident:
		if other, ok := opposite[c.pkg.info.Uses[e]]; ok {
			c.propose(c.replace(e, other))
		}
	}
}

var opposite = map[types.Object]string{types.Universe.Lookup("true"): "false", types.Universe.Lookup("false"): "true"}

func (c *cursor) otherLiteral(e *ast.BasicLit) string {
	switch {
	case e.Kind == token.INT && c.isTime():
		return "100 * " + e.Value // far enough for who waits for it
	case e.Kind == token.INT && c.isShifted(e):
		return "2 * " + e.Value // another power of two
	case e.Kind == token.INT && !c.isCapacity(e):
		return "(" + e.Value + " + 1)"
	case e.Kind == token.STRING && c.isSet():
		return e.Value + "[1:]"
	case e.Kind == token.STRING && c.isCompared(e):
		return e.Value + ` + "x"`
	}
	return ""
}

// isTime: a number of seconds and the like.
func (c *cursor) isTime() bool {
	product, ok := c.parent(1).(*ast.BinaryExpr)
	return ok && c.typeOf(product).String() == "time.Duration"
}

// isShifted: 64 in 64 << 10.
func (c *cursor) isShifted(e ast.Expr) bool {
	shift, ok := c.parent(1).(*ast.BinaryExpr)
	return ok && shift.Op == token.SHL && shift.X == e
}

// isCapacity: room that is made before it is needed.
func (c *cursor) isCapacity(e ast.Expr) bool {
	call, ok := c.parent(1).(*ast.CallExpr)
	if !ok || c.text(call.Fun) != "make" {
		return false
	}
	_, isChannel := c.typeOf(call).Underlying().(*types.Chan)
	return isChannel || len(call.Args) == 3 && call.Args[2] == e
}

// isSet: characters to look for.
func (c *cursor) isSet() bool {
	call, ok := c.parent(1).(*ast.CallExpr)
	return ok && slices.Contains([]string{"strings.ContainsAny", "strings.IndexAny", "strings.LastIndexAny", "strings.Trim", "strings.TrimLeft", "strings.TrimRight"}, c.text(call.Fun))
}

func (c *cursor) isCompared(e ast.Expr) bool {
	switch p := c.parent(1).(type) {
	case *ast.BinaryExpr:
		return p.Op == token.EQL || p.Op == token.NEQ
	case *ast.CaseClause, *ast.IndexExpr:
		return true
	case *ast.KeyValueExpr:
		return p.Key == e
	case *ast.ValueSpec:
		decl, ok := c.parent(2).(*ast.GenDecl)
		return ok && decl.Tok == token.CONST && p.Names[0].Name != "op"
	case *ast.CallExpr:
		fun, ok := p.Fun.(*ast.SelectorExpr)
		return ok && c.text(fun.X) == "strings"
	}
	return false
}

// isForPeople: inside of an error's text or a panic, or of what makes texts.
func (c *cursor) isForPeople() bool {
	return slices.ContainsFunc(c.above, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			fun := c.text(n.Fun)
			return fun == "panic" || fun == "fmt.Errorf" || fun == "errors.New" || strings.HasPrefix(fun, "errdefs.")
		case *ast.FuncDecl:
			return n.Name.Name == "Error" || n.Name.Name == "String"
		}
		return false
	})
}

// isBesideError: returned with an error that is not nil, or with false, so that
// nobody looks at it.
func (c *cursor) isBesideError() bool {
	r, ok := c.parent(1).(*ast.ReturnStmt)
	if !ok {
		return false
	}
	last := r.Results[len(r.Results)-1]
	if last == c.node {
		return false
	}
	return c.text(last) == "false" || c.isNewError(last) || slices.ContainsFunc(c.above, func(n ast.Node) bool {
		switch guard := n.(type) {
		case *ast.IfStmt:
			return c.tells(guard.Cond, last) && guard.Body.Pos() < c.node.Pos() && c.node.Pos() < guard.Body.End()
		case *ast.CaseClause:
			return len(guard.List) == 1 && c.tells(guard.List[0], last)
		}
		return false
	})
}

// returnEarly takes each statement of a function behind which not all is done.
func returnEarly(c *cursor) {
	kind, body := function(c.node)
	if body == nil {
		return
	}
	for _, s := range body.List {
		if c.isZeroReturn(s) {
			continue
		}
		at := c.offset(s.Pos())
		c.propose(edit{at, at, "return " + c.zeros(kind) + "\n"})
	}
}

func function(n ast.Node) (*ast.FuncType, *ast.BlockStmt) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Type, n.Body
	case *ast.FuncLit:
		return n.Type, n.Body
	}
	return nil, nil
}

// zeros are the zero values of the results.
func (c *cursor) zeros(f *ast.FuncType) string {
	if f.Results == nil {
		return ""
	}
	var values []string
	for _, field := range f.Results.List {
		for range max(1, len(field.Names)) {
			values = append(values, c.zero(field.Type))
		}
	}
	return strings.Join(values, ", ")
}

func (c *cursor) zero(e ast.Expr) string {
	t := c.typeOf(e)
	if _, isParameter := t.(*types.TypeParam); isParameter {
		return "*new(" + c.text(e) + ")"
	}
	switch t := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case t.Info()&types.IsBoolean != 0:
			return "false"
		case t.Info()&types.IsString != 0:
			return `""`
		}
		return "0"
	case *types.Struct, *types.Array:
		return c.text(e) + "{}"
	}
	return "nil"
}

// isZeroReturn: a return of nothing but zero values.
func (c *cursor) isZeroReturn(s ast.Stmt) bool {
	r, ok := s.(*ast.ReturnStmt)
	return ok && !slices.ContainsFunc(r.Results, func(e ast.Expr) bool { return !c.isZero(e) })
}

func (c *cursor) isZero(e ast.Expr) bool {
	if literal, ok := e.(*ast.CompositeLit); ok {
		return len(literal.Elts) == 0
	}
	known := c.pkg.info.Types[e]
	if known.Value == nil {
		return known.IsNil()
	}
	return slices.Contains([]string{"false", `""`, "0"}, known.Value.ExactString())
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// effects is what a statement does that another before or after it may see.
type effects struct {
	reads, writes []string // variables and their fields: d.host.Disks
	lasts         bool     // writes what is there after a return
	acts          bool     // calls what may change more than its variables
	leaves        bool     // may return, break, continue
	defers        bool
}

func (c *cursor) effects(s ast.Stmt) *effects {
	e := &effects{}
	_, e.defers = s.(*ast.DeferStmt)
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			if guard, ok := s.(*ast.IfStmt); ok && n == guard.Body && c.givesUp(guard) {
				e.leaves = true
				return false // nobody looks at what is returned beside the error
			}
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt, *ast.BranchStmt:
			e.leaves = true
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if name, ok := to.(*ast.Ident); !ok || c.pkg.info.Defs[name] == nil {
					e.writes = append(e.writes, c.text(to))
					e.lasts = e.lasts || c.lasts(to)
				}
			}
		case *ast.IncDecStmt:
			e.writes = append(e.writes, c.text(n.X))
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				e.writes = append(e.writes, c.text(n.X))
			}
		case *ast.CallExpr:
			e.call(c, n)
		case *ast.SelectorExpr:
			e.reads = append(e.reads, c.text(n))
			return !isPath(n)
		case *ast.Ident:
			if _, ok := c.pkg.info.Uses[n].(*types.Var); ok {
				e.reads = append(e.reads, n.Name)
			}
		}
		return true
	})
	return e
}

// givesUp: if it went wrong { return value, err }.
func (c *cursor) givesUp(guard *ast.IfStmt) bool {
	if len(guard.Body.List) != 1 {
		return false
	}
	r, ok := guard.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) == 0 {
		return false
	}
	last := r.Results[len(r.Results)-1]
	return c.isNewError(last) || c.tells(guard.Cond, last)
}

// isNewError: a call that makes an error, which has a text.
func (c *cursor) isNewError(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && types.Identical(c.typeOf(e), errorType) && slices.ContainsFunc(call.Args, isText)
}

// tells: e is the error that the condition has found, or made of it.
func (c *cursor) tells(condition, e ast.Expr) bool {
	if call, ok := e.(*ast.CallExpr); ok {
		return slices.ContainsFunc(call.Args, func(of ast.Expr) bool { return c.finds(condition, of) })
	}
	return c.finds(condition, e)
}

// finds: the condition is that this error is not nil.
func (c *cursor) finds(condition, e ast.Expr) bool {
	return types.Identical(c.typeOf(e), errorType) && c.text(condition) == c.text(e)+" != nil"
}

func isText(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	return ok && literal.Kind == token.STRING
}

// lasts: a field behind a pointer, an element of a slice or map.
func (c *cursor) lasts(to ast.Expr) bool {
	switch to := to.(type) {
	case *ast.SelectorExpr:
		_, isPointer := c.typeOf(to.X).Underlying().(*types.Pointer)
		return isPointer || c.lasts(to.X)
	case *ast.IndexExpr:
		_, isArray := c.typeOf(to.X).Underlying().(*types.Array)
		return !isArray || c.lasts(to.X)
	case *ast.StarExpr:
		return true
	}
	return false
}

// isPath: d.host.Disks, and not open().host.
func isPath(e ast.Expr) bool {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return isPath(s.X)
	}
	_, ok := e.(*ast.Ident)
	return ok
}

// call: a method of a pointer or an interface may change its object, delete and
// its like the argument.
func (e *effects) call(c *cursor, call *ast.CallExpr) {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		if slices.Contains([]string{"delete", "copy", "clear"}, fun.Name) {
			e.writes = append(e.writes, c.text(call.Args[0]))
		}
	case *ast.SelectorExpr:
		method := c.pkg.info.Selections[fun]
		if method == nil || method.Kind() != types.MethodVal {
			return
		}
		receiver := method.Obj().(*types.Func).Signature().Recv().Type()
		_, isPointer := receiver.Underlying().(*types.Pointer)
		if isPointer || types.IsInterface(receiver) {
			e.acts = true
			e.writes = append(e.writes, c.text(fun.X))
		}
	}
}

// orders reports whether it matters that e comes before next.
func (e *effects) orders(next *effects) bool {
	if e.defers || next.defers {
		return e.leaves || next.leaves
	}
	return e.leaves && (next.acts || next.lasts) || (e.acts || e.lasts) && next.leaves ||
		touch(e.writes, next.reads) || touch(e.writes, next.writes) || touch(e.reads, next.writes)
}

// touch: one is the other, or a part of it.
func touch(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return x != "_" && slices.ContainsFunc(b, func(y string) bool {
			return x == y || strings.HasPrefix(x, y+".") || strings.HasPrefix(y, x+".")
		})
	})
}

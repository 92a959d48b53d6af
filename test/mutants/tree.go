// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// targets are the packages that get mutants, as the go command names them.
var targets = []string{"./pkg/...", "./internal/storage", "./internal/win/wmi", "./internal/win/abi"}

// exempt are packages of tests, which nothing tests in turn.
var exempt = []string{"pkg/hosttest"}

// tree is the source of the targets.
type tree struct {
	fset     *token.FileSet
	exports  map[string]string // what the compiler says of a package, by import path
	packages []*pkg
}

// pkg is one target with the types of its expressions.
type pkg struct {
	path  string // import path
	files []*file
	info  *types.Info
}

type file struct {
	name string // from the root of the work tree
	text []byte
	ast  *ast.File
}

// mutant is a file with a mistake in it.
type mutant struct {
	what string // the operator or, of a hand-written one, the mistake
	pkg  *pkg
	file *file
	line int
	text []byte
	race bool // only the race detector sees it for sure
}

func (m mutant) String() string { return fmt.Sprintf("%s at %s:%d", m.what, m.file.name, m.line) }

// edit puts text in place of what stands from one offset to another.
type edit struct {
	from, to int
	text     string
}

func (f *file) edited(edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var text []byte
	at := 0
	for _, e := range edits {
		text = append(append(text, f.text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(text, f.text[at:]...)
}

// golist asks the go command for a line per package.
func golist(ctx context.Context, format string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-f", format}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), err
}

func loadTree(ctx context.Context) (*tree, error) {
	t := &tree{fset: token.NewFileSet(), exports: map[string]string{}}
	lines, err := golist(ctx, `{{.ImportPath}} {{.Export}}`, append([]string{"-export", "-deps"}, targets...)...)
	if err != nil {
		return nil, err
	}
	t.addExports(lines)
	lines, err = golist(ctx, `{{.ImportPath}} {{.Dir}} {{join .GoFiles " "}}`, targets...)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		fields := strings.Fields(line)
		p, err := t.load(fields[0], fields[1], fields[2:])
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(exempt, func(path string) bool { return strings.HasSuffix(p.path, "/"+path) }) {
			t.packages = append(t.packages, p)
		}
	}
	return t, nil
}

func (t *tree) addExports(lines []string) {
	for _, line := range lines {
		path, export, _ := strings.Cut(line, " ")
		t.exports[path] = export
	}
}

func (t *tree) load(path, dir string, names []string) (*pkg, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	p := &pkg{path: path}
	for _, name := range names {
		f := &file{}
		if f.name, err = filepath.Rel(root, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		if f.text, err = os.ReadFile(f.name); err != nil {
			return nil, err
		}
		if f.ast, err = t.parse(f, f.text); err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
	}
	p.info, err = t.check(p, nil, nil)
	return p, err
}

func (t *tree) parse(f *file, text []byte) (*ast.File, error) {
	return parser.ParseFile(t.fset, f.name, text, parser.ParseComments)
}

// check has the package checked as the compiler does, with one file changed
// unless changed is nil.
func (t *tree) check(p *pkg, changed *file, text []byte) (*types.Info, error) {
	var files []*ast.File
	for _, f := range p.files {
		source := f.ast
		if f == changed {
			var err error
			if source, err = t.parse(f, text); err != nil {
				return nil, err
			}
		}
		files = append(files, source)
	}
	info := &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	config := types.Config{
		GoVersion: "go1.25",
		Importer:  importer.ForCompiler(t.fset, "gc", t.export),
	}
	_, err := config.Check(p.path, t.fset, files, info)
	return info, err
}

func (t *tree) export(path string) (io.ReadCloser, error) {
	name, ok := t.exports[path]
	if !ok {
		return nil, errors.New("no package " + path)
	}
	return os.Open(name)
}

// random draws an operator, then a package, then a place, each with equal
// chances, so that a rare operator and a small package get their share. Only
// what compiles counts.
func (t *tree) random(seed uint64, count int) ([]mutant, error) {
	draw := rand.New(rand.NewPCG(seed, 0))
	sites := t.sites()
	var mutants []mutant
	for len(mutants) < count {
		if len(sites) == 0 {
			return nil, fmt.Errorf("there are %d mutants and no more", len(mutants))
		}
		op := draw.IntN(len(sites))
		at := draw.IntN(len(sites[op]))
		i := draw.IntN(len(sites[op][at]))
		m := sites[op][at][i].mutant()
		sites[op][at] = slices.Delete(sites[op][at], i, i+1)
		if len(sites[op][at]) == 0 {
			sites[op] = slices.Delete(sites[op], at, at+1)
		}
		if len(sites[op]) == 0 {
			sites = slices.Delete(sites, op, op+1)
		}
		if _, err := t.check(m.pkg, m.file, m.text); err == nil {
			mutants = append(mutants, m)
		}
	}
	return mutants, nil
}

// planted are the hand-written mutants. Each must find its text once, and
// compile.
func (t *tree) planted() ([]mutant, error) {
	var mutants []mutant
	for _, h := range handWritten {
		p, f := t.find(h.file)
		if f == nil {
			return nil, fmt.Errorf("%s: no file %s", h.mistake, h.file)
		}
		text := string(f.text)
		if n := strings.Count(text, h.right); n != 1 {
			return nil, fmt.Errorf("%s: %q stands %d times in %s", h.mistake, h.right, n, h.file)
		}
		before, after, _ := strings.Cut(text, h.right)
		m := mutant{
			what: h.mistake, pkg: p, file: f, line: 1 + strings.Count(before, "\n"),
			text: []byte(before + h.wrong + after),
		}
		if _, err := t.check(p, f, m.text); err != nil {
			return nil, fmt.Errorf("%s: %w", h.mistake, err)
		}
		mutants = append(mutants, m)
	}
	return mutants, nil
}

func (t *tree) find(name string) (*pkg, *file) {
	for _, p := range t.packages {
		for _, f := range p.files {
			if f.name == name {
				return p, f
			}
		}
	}
	return nil, nil
}

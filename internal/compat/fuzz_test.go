// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// otherParsers read what others write, under other names than Parse and Decode.
var otherParsers = map[string][]string{
	"internal/hostpath": {"ReadLink"},
	"internal/storage":  {"probe"},
	"internal/win/wmi":  {"Eq", "PathOf"}, // their literals
	"pkg/filesystem":    {"ValidatePathWindows"},
	"pkg/disk":          {"MatchAzureNVMe", "MatchXenDevice"},
	"pkg/simhost":       {"parseWQL", "parseWMIPath", "unquote"},
}

// passedOn are parsers that are another one by a second name.
var passedOn = []string{"pkg/volume/hostapi.ParseVolumeID"}

// Every parser has a fuzz target, and every target says in its comment what must
// hold and has seeds.
func TestFuzz_EveryParser(t *testing.T) {
	for dir, p := range packages(t) {
		for _, name := range append(p.parsers, otherParsers[dir]...) {
			if !slices.Contains(passedOn, dir+"."+name) && !p.fuzzed[name] {
				t.Errorf("%s.%s has no fuzz target", dir, name)
			}
		}
		for _, target := range p.targets {
			uses := p.reach(target.Name.Name, map[string]bool{})
			if target.Doc.Text() == "" {
				t.Errorf("%s.%s does not say what must hold", dir, target.Name)
			}
			if !uses["Add"] {
				t.Errorf("%s.%s has no seeds", dir, target.Name)
			}
		}
	}
}

// fuzzing is what one package parses, and what of it is fuzzed.
type fuzzing struct {
	parsers []string
	targets []*ast.FuncDecl
	uses    map[string]map[string]bool // names in the body of each function of the tests
	fuzzed  map[string]bool            // names that a target reaches
}

// packages reads all packages of the library.
func packages(t *testing.T) map[string]*fuzzing {
	t.Helper()
	found := map[string]*fuzzing{}
	for _, top := range []string{"internal", "pkg"} {
		root := filepath.Join("..", "..")
		must(t, filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			dir, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			dir = filepath.ToSlash(dir)
			if found[dir] == nil {
				found[dir] = &fuzzing{uses: map[string]map[string]bool{}, fuzzed: map[string]bool{}}
			}
			return found[dir].read(path)
		}))
	}
	if len(found) < 20 {
		t.Fatalf("only %d packages found", len(found))
	}
	for _, p := range found {
		for _, target := range p.targets {
			maps.Copy(p.fuzzed, p.reach(target.Name.Name, map[string]bool{}))
		}
	}
	return found
}

func (p *fuzzing) read(path string) error {
	tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	test := strings.HasSuffix(path, "_test.go")
	for _, declaration := range tree.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		switch {
		case !ok:
		case !test && isParser(f):
			p.parsers = append(p.parsers, f.Name.Name)
		case test:
			p.uses[f.Name.Name] = namesIn(f)
			if strings.HasPrefix(f.Name.Name, "Fuzz") {
				p.targets = append(p.targets, f)
			}
		}
	}
	return nil
}

var parserName = regexp.MustCompile(`^(Decode|Parse)`)

// isParser tells a function that takes text or bytes and makes something of it.
func isParser(f *ast.FuncDecl) bool {
	if f.Recv != nil || !parserName.MatchString(f.Name.Name) || len(f.Type.Params.List) == 0 {
		return false
	}
	switch taken := f.Type.Params.List[0].Type.(type) {
	case *ast.Ident:
		return taken.Name == "string"
	case *ast.ArrayType:
		return true
	}
	return false
}

func namesIn(f *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			names[name.Name] = true
		}
		return true
	})
	return names
}

// reach adds the names that a function of the tests uses, itself and through
// others.
func (p *fuzzing) reach(function string, reached map[string]bool) map[string]bool {
	for name := range p.uses[function] {
		if !reached[name] {
			reached[name] = true
			p.reach(name, reached)
		}
	}
	return reached
}

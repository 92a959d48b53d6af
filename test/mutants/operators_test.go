// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `package sample

import (
	"fmt"
	"strings"
)

type mutex struct{}

func (m *mutex) Lock()   {}
func (m *mutex) Unlock() {}

type store struct {
	mu    mutex
	disks map[int]string
	n     int
	at    string
}

func (s *store) add(name string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := check(name); err != nil {
		return 0, fmt.Errorf("7 are %w", err)
	}
	s.at = "here"
	s.n += 2 << 4
	s.disks[s.n] = name
	return s.n, nil
}

func check(name string) error {
	if name != "none" && !strings.ContainsAny(name, "*?") {
		return nil
	}
	return fmt.Errorf("no name: %s", name)
}

func first(name string) (s store, err error) {
	if err = check(name); err != nil {
		return s, err
	}
	s.n = 1
	return s, nil
}

func (s *store) count(err error) {
	switch {
	case err == nil:
		s.n = 1
	case is(err):
		return
	case s.at != "":
		s.n = 2
	default:
		return
	}
}

func is(error) bool { return true }

func size(err error) (int, error) {
	switch {
	case err != nil:
		return 5, err
	}
	return 3, nil
}

func found() (int, bool) { return 3, false }
`

// Each operator on the sample: what stands there, and what instead.
func TestOperators(t *testing.T) {
	const guard = "if err := check(name); err != nil {\n\t\treturn 0, fmt.Errorf(\"7 are %w\", err)\n\t}"
	early := func(before string) string { return " -> return 0, nil\n|" + before }
	want := map[string][]string{
		"negated condition": {
			`err != nil -> !(err != nil)`,
			`name != "none" && !strings.ContainsAny(name, "*?") -> !(name != "none" && !strings.ContainsAny(name, "*?"))`,
			`name != "none" -> !(name != "none")`,
			`!strings.ContainsAny(name, "*?") -> !(!strings.ContainsAny(name, "*?"))`,
			`err != nil -> !(err != nil)`,
			`err == nil -> !(err == nil)`, `is(err) -> !(is(err))`, `s.at != "" -> !(s.at != "")`,
			`err != nil -> !(err != nil)`,
		},
		"dropped error check": {`err != nil -> (err != nil && false)`, `err != nil -> (err != nil && false)`, `err != nil -> (err != nil && false)`},
		"dropped lock":        {`s.mu.Lock() -> , defer s.mu.Unlock() -> `},
		"swapped statements": {
			"defer s.mu.Unlock() -> " + guard + ", " + guard + " -> defer s.mu.Unlock()",
			guard + ` -> s.at = "here", s.at = "here" -> ` + guard,
			"s.n += 2 << 4 -> s.disks[s.n] = name, s.disks[s.n] = name -> s.n += 2 << 4",
			"s.disks[s.n] = name -> return s.n, nil, return s.n, nil -> s.disks[s.n] = name",
			"s.n = 1 -> return s, nil, return s, nil -> s.n = 1",
			"case is(err):\n\t\treturn -> case s.at != \"\":\n\t\ts.n = 2, case s.at != \"\":\n\t\ts.n = 2 -> case is(err):\n\t\treturn",
		},
		"changed constant": {
			`2 -> 2 * 2`, `4 -> (4 + 1)`, `"none" -> "none" + "x"`, `"*?" -> "*?"[1:]`, `1 -> (1 + 1)`,
			`1 -> (1 + 1)`, `"" -> "" + "x"`, `2 -> (2 + 1)`, `true -> false`, `3 -> (3 + 1)`, `false -> true`,
		},
		"early return": {
			early("s.mu.Lock()"), early("defer s.mu.Unlock()"), early("if err := check(name); err != nil {"),
			early(`s.at = "here"`), early("s.n += 2 << 4"), early("s.disks[s.n] = name"), early("return s.n, nil"),
			" -> return nil\n|if name != \"none\" && !strings.ContainsAny(name, \"*?\") {", " -> return nil\n|return fmt.Errorf(\"no name: %s\", name)",
			" -> return store{}, nil\n|if err = check(name); err != nil {", " -> return store{}, nil\n|s.n = 1", " -> return store{}, nil\n|return s, nil",
			" -> return \n|switch {", " -> return false\n|return true }",
			early("switch {"), early("return 3, nil"), " -> return 0, false\n|return 3, false }",
		},
	}
	tree := &tree{fset: token.NewFileSet(), exports: map[string]string{}}
	p := parsed(t, tree, sample)
	for _, op := range operators {
		t.Run(op.name, func(t *testing.T) {
			var got []string
			for _, s := range tree.apply(op, p) {
				got = append(got, shown(s))
			}
			if diff := cmp.Diff(want[op.name], got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func parsed(t *testing.T, tree *tree, text string) *pkg {
	t.Helper()
	lines, err := golist(t.Context(), "{{.ImportPath}} {{.Export}}", "-export", "-deps", "fmt", "strings")
	if err != nil {
		t.Fatal(err)
	}
	tree.addExports(lines)
	f := &file{name: "sample.go", text: []byte(text)}
	if f.ast, err = tree.parse(f, f.text); err != nil {
		t.Fatal(err)
	}
	p := &pkg{path: "sample", files: []*file{f}}
	if p.info, err = tree.check(p, nil, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

func shown(s site) string {
	var edits []string
	for _, e := range s.edits {
		text := string(s.file.text[e.from:e.to]) + " -> " + e.text
		if e.from == e.to {
			before, _, _ := strings.Cut(string(s.file.text[e.from:]), "\n")
			text += "|" + before
		}
		edits = append(edits, text)
	}
	return strings.Join(edits, ", ")
}

// Every hand-written mutant finds its text, and compiles.
func TestPlanted(t *testing.T) {
	t.Chdir("../..")
	tree, err := loadTree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := tree.planted()
	if err != nil {
		t.Fatal(err)
	}
	if len(mutants) != 20 {
		t.Errorf("%d mutants, want 20", len(mutants))
	}
}

// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"testing"
)

// Every public package shows how it is used, by an example that go test runs and
// whose output it compares.
func TestExamples(t *testing.T) {
	list := json.NewDecoder(bytes.NewReader(goCommand(t, "linux", "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", "./pkg/...")))
	for {
		var p struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
		}
		err := list.Decode(&p)
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		if !hasExample(t, p.Dir, append(p.TestGoFiles, p.XTestGoFiles...)) {
			t.Errorf("%s has no example with output", p.ImportPath)
		}
	}
}

func hasExample(t *testing.T, dir string, names []string) bool {
	t.Helper()
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments)
		must(t, err)
		files = append(files, file)
	}
	for _, example := range doc.Examples(files...) {
		if example.Output != "" {
			return true
		}
	}
	return false
}

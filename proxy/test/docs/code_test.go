// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// findCode: Go code of a page is a piece, word for word, of a program or test
// whose output a test compares.
func findCode(t *testing.T, b block) {
	t.Helper()
	code := strings.Join(b.lines, "\n") + "\n"
	inFunction := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(code, "\t$1")
	for _, file := range sources(t) {
		source := read(t, file)
		if (strings.Contains(source, code) || strings.Contains(source, inFunction)) && hasOutput(t, filepath.Dir(file)) {
			return
		}
	}
	t.Error("this is in no file of examples and in no example of a public package")
}

// sources are the programs of examples and the examples of the public packages.
func sources(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"examples/*/*.go", "pkg/*/example*_test.go", "pkg/*/*/example*_test.go"} {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// hasOutput tells whether a test in a folder compares an output.
func hasOutput(t *testing.T, folder string) bool {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tests {
		if strings.Contains(read(t, file), "// Output:") {
			return true
		}
	}
	return false
}

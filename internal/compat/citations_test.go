// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What Go comments cite is there: a page of docs, and of docs/facts the section,
// rule or row too.
func TestCitations(t *testing.T) {
	pages := map[string]map[string]bool{}
	for _, folder := range []string{"", "facts"} {
		names, err := filepath.Glob(filepath.Join("..", "..", "docs", folder, "*.md"))
		must(t, err)
		for _, name := range names {
			pages[filepath.Base(name)] = sections(read(t, folder+"/"+filepath.Base(name)))
		}
	}
	cited := regexp.MustCompile(`\b([a-z0-9-]+\.md)(?:[ /]+([0-9]+(?:\.[0-9]+)?|[A-Z]+-?[0-9]+)\b)?`)
	eachGoFile(t, func(path, source string) {
		for _, m := range cited.FindAllStringSubmatch(comments(source), -1) {
			page, known := pages[m[1]]
			switch {
			case m[1] == "README.md":
			case !known:
				t.Errorf("%s cites %s, which docs has not", path, m[1])
			case m[1] != "architecture.md" && !page[m[2]]:
				t.Errorf("%s cites %s %s, which has no such section", path, m[1], m[2])
			}
		}
	})
}

// eachGoFile visits the Go files of all modules.
func eachGoFile(t *testing.T, visit func(path, source string)) {
	t.Helper()
	must(t, filepath.WalkDir(filepath.Join("..", ".."), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && strings.Trim(entry.Name(), ".") != "":
			return filepath.SkipDir // .git, .wine
		case filepath.Ext(path) != ".go":
			return nil
		}
		source, err := os.ReadFile(path)
		if err == nil {
			visit(path, string(source))
		}
		return err
	}))
}

// comments are a file's comments in one line, without those that are for the go
// command.
func comments(source string) string {
	if !strings.Contains(source, ".md") {
		return ""
	}
	var text strings.Builder
	for line := range strings.Lines(source) {
		if _, comment, ok := strings.Cut(line, "//"); ok && !strings.HasPrefix(comment, "go:") {
			text.WriteString(strings.TrimSpace(comment) + " ")
		}
	}
	return text.String()
}

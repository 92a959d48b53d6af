// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// top is the top folder of the repository.
const top = "../../.."

// block is a fenced or an indented block of a page.
type block struct {
	page  string // its path from top
	line  int
	kind  string // the word of its fence
	lines []string
}

// indented is the kind of a block without a fence.
const indented = "indented"

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// blocksOf splits a page.
func blocksOf(page, text string) []block {
	var all []block
	inFence, indentedBefore := false, false
	for i, line := range strings.Split(text, "\n") {
		kind, isFence := strings.CutPrefix(line, "```")
		isIndented := !inFence && strings.HasPrefix(line, "    ")
		switch {
		case isFence && !inFence:
			all = append(all, block{page: page, line: i + 1, kind: kind})
		case isIndented && !indentedBefore:
			all = append(all, block{page: page, line: i + 1, kind: indented})
		}
		if inFence && !isFence || isIndented {
			last := &all[len(all)-1]
			last.lines = append(last.lines, line)
		}
		inFence, indentedBefore = inFence != isFence, isIndented
	}
	return all
}

// pages are the texts of the repository's pages, but for docs/facts, which are
// copies and quote others, and for test, which has pieces of pages.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		page := filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash(top+"/")))
		hidden := strings.HasPrefix(entry.Name(), ".") && path != top
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (hidden || page == "docs/facts" || page == "test"):
			return filepath.SkipDir
		case !entry.IsDir() && filepath.Ext(path) == ".md":
			all[page] = read(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// blocks are those of all pages.
func blocks(t *testing.T) []block {
	t.Helper()
	texts := pages(t)
	var all []block
	for _, page := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, blocksOf(page, texts[page])...)
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n") // as git may check it out
}

func TestBlocksOf(t *testing.T) {
	const page = "text\n```go\nx := 1\n\n    y\n```\n\n    make a\n    make b\n\ntext\n\n    make c\n"
	want := []block{
		{"p", 2, "go", []string{"x := 1", "", "    y"}},
		{"p", 8, indented, []string{"    make a", "    make b"}},
		{"p", 13, indented, []string{"    make c"}},
	}
	if got := blocksOf("p", page); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A fence begins its line: another one would hide its block.
func TestFences(t *testing.T) {
	for page, text := range pages(t) {
		for line := range strings.Lines(text) {
			if strings.Contains(line, "~~~") || strings.LastIndex(line, "```") > 0 {
				t.Errorf("%s: %s", page, line)
			}
		}
	}
}

// Every block of every page is code that a test runs, commands that a test runs,
// or text without either.
func TestBlocks(t *testing.T) {
	all := blocks(t)
	if len(all) < 100 {
		t.Fatalf("only %d blocks found", len(all))
	}
	for _, b := range all {
		t.Run(b.String(), func(t *testing.T) {
			generated := strings.HasPrefix(b.page, "docs/cli/")
			switch {
			case generated && b.kind == indented:
				checkUsage(t, b)
			case generated && b.kind == "text":
				runHelp(t, b)
			case b.kind == "go":
				findCode(t, b)
			case b.kind == "console":
				runSession(t, b)
			case b.kind == "sh", b.kind == indented:
				runLines(t, b)
			case b.kind == "text":
				checkText(t, b)
			default:
				t.Errorf("a block of kind %q, and not go, sh, console or text", b.kind)
			}
		})
	}
}

// commandLine is how a line begins that should be run.
var commandLine = regexp.MustCompile(`^ {0,4}(\$ |> |csi-proxy |make |go (run|test|build|get|install|generate|tool) |test/|git )`)

// checkText: drawings and answers hide no command.
func checkText(t *testing.T, b block) {
	t.Helper()
	for _, line := range b.lines {
		if commandLine.MatchString(line) {
			t.Errorf("%q is a command: it belongs into a block of sh or console", line)
		}
	}
}

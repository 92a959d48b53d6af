// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// entry is one row of docs/unverified.md.
type entry struct{ expected, page, flip, wrong, confirm string }

func unverified(t *testing.T) []entry {
	t.Helper()
	var entries []entry
	for line := range strings.Lines(read(t, "unverified.md")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what is expected") {
			continue
		}
		if len(cells) != 5 {
			t.Fatalf("%d cells: %s", len(cells), line)
		}
		for i, cell := range cells {
			if cells[i] = strings.TrimSpace(cell); cells[i] == "" {
				t.Errorf("cell %d is empty: %s", i+1, line)
			}
		}
		entries = append(entries, entry{cells[0], cells[1], cells[2], cells[3], cells[4]})
	}
	return entries
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", filepath.FromSlash(name)))
	must(t, err)
	return string(b)
}

// Every switch of the simulated node stands on the page, once, and none that it
// has not.
func TestUnverified_Switches(t *testing.T) {
	listed := map[string]int{}
	for _, e := range unverified(t) {
		if e.flip != "none" {
			listed[strings.Trim(e.flip, "`")]++
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[simhost.Switches]()) {
		if listed[field.Name] != 1 {
			t.Errorf("simhost.Switches.%s stands on docs/unverified.md %d times", field.Name, listed[field.Name])
		}
		delete(listed, field.Name)
	}
	for name := range listed {
		t.Errorf("docs/unverified.md names a switch %s that is none", name)
	}
}

// section reports whether a page has what is cited: a section, an item of its
// list, a rule or a row.
func section(page, cited string) bool {
	if cited == "" {
		return true
	}
	if strings.ContainsAny(cited[:1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		return regexp.MustCompile(`\b` + cited + `\b`).MatchString(page)
	}
	if regexp.MustCompile(`(?m)^#+ ` + regexp.QuoteMeta(cited) + `\.? `).MatchString(page) {
		return true
	}
	number, item, ok := strings.Cut(cited, ".")
	_, body, found := strings.Cut(page, "\n## "+number+". ")
	body, _, _ = strings.Cut(body, "\n## ")
	return ok && found && strings.Contains(body, "\n"+item+". ")
}

// Every entry names a section that is there.
func TestUnverified_Sections(t *testing.T) {
	cited := regexp.MustCompile(`^([a-z-]+\.md) ([0-9]+(?:\.[0-9]+)?)$`)
	for _, e := range unverified(t) {
		m := cited.FindStringSubmatch(e.page)
		if m == nil || !section(read(t, "facts/"+m[1]), m[2]) {
			t.Errorf("%q: no such page and section: %q", e.expected, e.page)
		}
	}
}

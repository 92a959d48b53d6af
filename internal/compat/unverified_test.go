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

var (
	headings = regexp.MustCompile(`^#+ ([0-9]+(?:\.[0-9]+)?)\.? `)
	items    = regexp.MustCompile(`^([0-9]+)\. `)
	rows     = regexp.MustCompile(`\b[A-Z]+-?[0-9]+\b`)
)

// sections are what can be cited of a page: its sections, the items of their
// lists, rules and rows; and "", the page itself.
func sections(page string) map[string]bool {
	found := map[string]bool{"": true}
	section := ""
	for line := range strings.Lines(page) {
		if m := headings.FindStringSubmatch(line); m != nil {
			section = m[1]
			found[section] = true
		} else if m := items.FindStringSubmatch(line); m != nil {
			found[section+"."+m[1]] = true
		}
	}
	for _, row := range rows.FindAllString(page, -1) {
		found[row] = true
	}
	return found
}

// Every entry names a section that is there.
func TestUnverified_Sections(t *testing.T) {
	cited := regexp.MustCompile(`^([a-z-]+\.md) ([0-9]+(?:\.[0-9]+)?)$`)
	pages := map[string]map[string]bool{}
	for _, e := range unverified(t) {
		m := cited.FindStringSubmatch(e.page)
		if m != nil && pages[m[1]] == nil {
			pages[m[1]] = sections(read(t, "facts/"+m[1]))
		}
		if m == nil || !pages[m[1]][m[2]] {
			t.Errorf("%q: no such page and section: %q", e.expected, e.page)
		}
	}
}

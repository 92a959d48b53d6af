// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
)

//go:embed head.md
var head string

// notRun are places that the page has a column for, though nobody has run the
// cases there.
var notRun = []string{"Windows: none yet"}

// write makes the page. Each case must have passed on the simulated node, and
// failed nowhere.
func write(places []place) ([]byte, error) {
	var page bytes.Buffer
	page.WriteString(head)
	table(&page, "Cases", append(append([]string{"id", "what is shown"}, names(places)...), notRun...), func(row func(...string)) {
		for _, c := range hosttest.Cases() {
			cells := []string{strings.Join(c.IDs, ", "), c.Shows}
			for _, p := range places {
				cells = append(cells, p.word(c))
			}
			row(append(cells, make([]string, len(notRun))...)...)
		}
	})
	table(&page, "Shown by other tests", []string{"id", "what is shown", "test"}, func(row func(...string)) {
		for _, s := range hosttest.Elsewhere() {
			row(s.ID, s.Shows, "`"+s.Package+"` "+s.Test)
		}
	})
	table(&page, "Deliberately unlike upstream", []string{"id", "what", "where decided"}, func(row func(...string)) {
		for _, d := range hosttest.Differences() {
			row(d.ID, d.What, d.Decided)
		}
	})
	table(&page, "The proxy's, open", []string{"id", "why"}, func(row func(...string)) {
		for _, r := range hosttest.Open() {
			row(r.ID, r.Why)
		}
	})
	table(&page, "Not ours", []string{"id", "why"}, func(row func(...string)) {
		for _, r := range hosttest.NotOurs() {
			row(r.ID, r.Why)
		}
	})
	return page.Bytes(), failures(places)
}

func names(places []place) (all []string) {
	for _, p := range places {
		all = append(all, p.name)
	}
	return all
}

// test is the name of a case's test in a place, of whatever top test.
func (p place) test(c hosttest.Case) string {
	rewritten := "/" + strings.ReplaceAll(c.Name(), " ", "_")
	for name := range p.tests {
		if strings.HasSuffix(name, rewritten) && strings.Count(name, "/") == 1 {
			return name
		}
	}
	return ""
}

func (p place) word(c hosttest.Case) string {
	switch p.tests[p.test(c)] {
	case "pass":
		return "passed"
	case "skip":
		return "–"
	}
	return "?"
}

func failures(places []place) error {
	var errs []error
	for i, p := range places {
		for _, c := range hosttest.Cases() {
			if word := p.word(c); word == "?" || word == "–" && i == 0 {
				errs = append(errs, fmt.Errorf("%s: %s: has not passed (%q)", p.name, c.Name(), p.tests[p.test(c)]))
			}
		}
	}
	return errors.Join(errs...)
}

// table writes a table in the order of the ids.
func table(page *bytes.Buffer, title string, columns []string, fill func(row func(cells ...string))) {
	var rows [][]string
	fill(func(cells ...string) { rows = append(rows, cells) })
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return hosttest.CompareIDs(a[0], b[0]) })
	fmt.Fprintf(page, "\n## %s\n\n", title)
	line := func(cells []string) {
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(page, "| %s |\n", strings.Join(cells, " | "))
	}
	line(columns)
	fmt.Fprintf(page, "|%s\n", strings.Repeat(" --- |", len(columns)))
	for _, cells := range rows {
		line(cells)
	}
}

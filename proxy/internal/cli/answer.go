// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table is the answer of a verb: objects of one kind, as rows for people and as
// items for programs.
type table struct {
	kind   string
	items  []object
	header []string // nil: rows that explain themselves
	wide   int      // how many columns at the end only people with room see
	rows   [][]string
	tree   *branch // drawn below the rows; nil is none
}

// object is one item of an answer. Its name is that by which other verbs take it.
type object interface {
	kind() string
	name() string
}

func (t *table) add(item object, cells ...string) {
	t.items = append(t.items, item)
	t.rows = append(t.rows, cells)
}

// one is a table of one object, in a few words.
func one(item object, format string, args ...any) *table {
	t := &table{kind: item.kind()}
	t.add(item, fmt.Sprintf(format, args...))
	return t
}

// text aligns the columns, and draws.
func (t *table) text(wide, header bool) string {
	rows := t.rows
	if header && t.header != nil {
		rows = append([][]string{t.header}, rows...)
	}
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	for _, row := range rows {
		if !wide {
			row = row[:len(row)-t.wide]
		}
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], cell)
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	if t.tree != nil {
		t.tree.draw(&out, "", wide)
	}
	return out.String()
}

// cut makes a line fit.
func cut(line string, width int) string {
	const dots = "..."
	runes := []rune(line)
	if len(runes) <= width {
		return line
	}
	return string(runes[:width-len(dots)]) + dots
}

func pointer[T any](v T) *T { return &v }

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// How a table shows what there is not, and what could not be read.
const (
	none    = "-"
	unknown = "?"
)

// word is a text as one word of a table; with quotes where blanks need them.
func word(s string) string {
	if s == "" {
		return none
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table is an answer of rows under a header.
type table struct {
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// String aligns the columns.
func (t *table) String() string {
	rows := append([][]string{t.header}, t.rows...)
	widths := make([]int, len(t.header))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], cell)
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

// line is an answer of one line.
type line string

// String ends the line.
func (l line) String() string { return string(l) + "\n" }

func linef(format string, args ...any) line { return line(fmt.Sprintf(format, args...)) }

func yesNo(yes bool) line {
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

// cell is a fact of a list, or ? with a warning where it could not be read.
func cell(h *host, fact string, err error) string {
	if err != nil {
		h.warn(err)
		return unknown
	}
	return fact
}

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

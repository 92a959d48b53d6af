// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

const (
	width  = 100
	margin = "                " // under a step's name
)

func title(name, description string) string {
	return fmt.Sprintf("%s%s\n\n", heading(name), wrap(strings.Fields(description), width, ""))
}

func heading(name string) string {
	return fmt.Sprintf("\n==== %s %s\n", name, strings.Repeat("=", width-len(name)-6))
}

// stepReport is what is printed of a step.
func stepReport(number int, name, said, changes string, calls calls) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%2d. %-11s %s\n", number, name, wrap(strings.Fields(said), width-len(margin), margin))
	for line := range strings.Lines(changes) {
		if short, ok := shorten(strings.TrimSuffix(line, "\n")); ok {
			fmt.Fprintf(&out, "%s%s\n", margin, short)
		}
	}
	if len(calls) > 0 {
		fmt.Fprintf(&out, "%s%s\n", margin, wrap(calls.words(), width-len(margin), margin))
	}
	return out.String()
}

// details are parts of a change that nobody reads at a glance: the ids of tables
// and partitions, and how a file system is laid out.
var details = regexp.MustCompile(`, id [0-9a-f-]{36}| in units of \d+, serial [0-9a-f]{8}`)

// idTail is all of a volume's id but its beginning.
var idTail = regexp.MustCompile(`(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// shorten makes a change fit. That a medium's bytes changed follows from the
// rest.
func shorten(change string) (string, bool) {
	if strings.Contains(change, " media: ") {
		return "", false
	}
	change = details.ReplaceAllString(change, "")
	change = idTail.ReplaceAllString(change, "...")
	room := width - len(margin)
	if utf8.RuneCountInString(change) <= room {
		return change, true
	}
	parts := strings.Split(change, " -> ")
	for i, part := range parts {
		parts[i] = wrap(strings.Split(part, " "), room-len("  -> "), margin+"  ")
	}
	return strings.Join(parts, "\n"+margin+"  -> "), true
}

// calls are boundary calls by method.
type calls map[string]int

// countCalls leaves out what depends on which of WMI's workers is free: each
// connects when it is first used.
func countCalls(made *simhost.Calls) calls {
	counts := calls(made.ByMethod())
	delete(counts, "WMI.Enter")
	delete(counts, "WMI.Connect")
	return counts
}

func (c calls) total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}

// words are "13 calls:", "Device.Control 10,", "Devices.Open 3".
func (c calls) words() []string {
	methods := slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		return cmp.Or(c[b]-c[a], cmp.Compare(a, b))
	})
	words := []string{fmt.Sprintf("%d calls:", c.total())}
	if c.total() == 1 {
		words[0] = "1 call:"
	}
	for i, m := range methods {
		comma := ","
		if i == len(methods)-1 {
			comma = ""
		}
		words = append(words, fmt.Sprintf("%s %d%s", m, c[m], comma))
	}
	return words
}

// wrap sets words in lines of at most so many characters, all but the first
// behind indent.
func wrap(words []string, width int, indent string) string {
	var out strings.Builder
	column := 0
	for i, word := range words {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+length > width:
			out.WriteString("\n" + indent)
			column = 0
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += length
	}
	return out.String()
}

// summary are the calls of each step on each node.
type summary struct {
	nodes  []string
	counts [][]int
}

func (s *summary) add(node string, counts []int) {
	s.nodes = append(s.nodes, node)
	s.counts = append(s.counts, counts)
}

// String is the table of steps and nodes, in as many parts as its width needs.
func (s *summary) String() string {
	var out strings.Builder
	out.WriteString(heading("boundary calls"))
	for from := 0; from < len(s.nodes); {
		to := s.fitting(from)
		if from > 0 {
			out.WriteByte('\n')
		}
		s.part(&out, from, to)
		from = to
	}
	return out.String()
}

const stepWidth = 14 // of the steps' names in the table

// fitting is the end of the part of the table that begins with a node.
func (s *summary) fitting(from int) int {
	to, room := from, width-stepWidth
	for to < len(s.nodes) && (to == from || room >= len(s.nodes[to])+2) {
		room -= len(s.nodes[to]) + 2
		to++
	}
	return to
}

func (s *summary) part(out *strings.Builder, from, to int) {
	row := func(name string, cell func(node int) string) {
		fmt.Fprintf(out, "%-*s", stepWidth, name)
		for i := from; i < to; i++ {
			fmt.Fprintf(out, "  %*s", len(s.nodes[i]), cell(i))
		}
		out.WriteByte('\n')
	}
	row("", func(i int) string { return s.nodes[i] })
	for n, step := range steps {
		row(step.name, func(i int) string { return count(s.counts[i][n]) })
	}
	row("total", func(i int) string { return count(sum(s.counts[i])) })
}

func count(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}

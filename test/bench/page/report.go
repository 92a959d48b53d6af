// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// report is what benchmarks said.
type report struct {
	cpu     string
	results []result
}

// result is a line, BenchmarkPlace/disks/group/operation.
type result struct {
	place, group, operation string
	disks                   int
	values                  map[string]float64 // by unit
}

var benchmarkLine = regexp.MustCompile(`^Benchmark(\w+)/(\d+)/(\w+)/(\S+?)(?:-\d+)?\s+\d+\s+(.+)$`)

// read adds what a run of "go test -bench" said. A benchmark that failed, or
// none at all, is an error.
func (r *report) read(said string) error {
	before := len(r.results)
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if cpu, ok := strings.CutPrefix(line, "cpu: "); ok {
			r.cpu = cpu
		}
		if strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "FAIL") {
			return fmt.Errorf("a benchmark failed: %s", line)
		}
		m := benchmarkLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		values, err := readValues(strings.Fields(m[5]))
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		disks, _ := strconv.Atoi(m[2])
		r.results = append(r.results, result{
			place: m[1], disks: disks, group: m[3], operation: strings.ReplaceAll(m[4], "_", " "), values: values,
		})
	}
	if len(r.results) == before {
		return fmt.Errorf("no benchmark")
	}
	return nil
}

// readValues reads pairs of a value and its unit.
func readValues(fields []string) (map[string]float64, error) {
	values := map[string]float64{}
	for pair := range slices.Chunk(fields, 2) {
		value, err := strconv.ParseFloat(pair[0], 64)
		if err != nil || len(pair) < 2 {
			return nil, fmt.Errorf("no value and unit: %q", pair)
		}
		values[pair[1]] = value
	}
	return values, nil
}

// table is the results of a place and group: a row for each operation, the time
// with each number of disks.
func (r *report) table(place, group string) (string, error) {
	var sizes []int
	var operations []string
	of := map[string]map[int]result{}
	for _, got := range r.results {
		if got.place != place || got.group != group {
			continue
		}
		if of[got.operation] == nil {
			operations, of[got.operation] = append(operations, got.operation), map[int]result{}
		}
		of[got.operation][got.disks] = got
		sizes = append(sizes, got.disks)
	}
	if len(sizes) == 0 {
		return "", fmt.Errorf("no results of %s, %s", place, group)
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	var b strings.Builder
	fmt.Fprint(&b, "| operation | calls | of COM | KB | allocations |")
	for _, disks := range sizes {
		fmt.Fprintf(&b, " %s |", thousands(disks))
	}
	b.WriteString("\n|---|---|---|---|---|" + strings.Repeat("--:|", len(sizes)))
	for _, operation := range operations {
		b.WriteString("\n" + row(operation, sizes, of[operation]))
	}
	return b.String(), nil
}

func row(operation string, sizes []int, of map[int]result) string {
	cells := []string{operation}
	for _, c := range []struct {
		unit  string
		shown func(float64) string
	}{
		{"calls/op", count}, {"com/op", count}, {"B/op", func(v float64) string { return count(max(1, v/1000)) }}, {"allocs/op", count},
	} {
		cells = append(cells, span(sizes, of, c.unit, c.shown))
	}
	for _, disks := range sizes {
		cell := ""
		if got, ok := of[disks]; ok {
			cell = duration(got.values["ns/op"])
		}
		cells = append(cells, cell)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// span is a value with the fewest disks and, where it is another by more than a
// tenth, with the most.
func span(sizes []int, of map[int]result, unit string, shown func(float64) string) string {
	var values []float64
	for _, disks := range sizes {
		if got, ok := of[disks]; ok {
			values = append(values, got.values[unit])
		}
	}
	first, last := values[0], values[len(values)-1]
	if shown(first) == shown(last) || unit != "calls/op" && unit != "com/op" && last > first*0.9-1 && last < first*1.1+1 {
		return shown(first)
	}
	return shown(first) + " … " + shown(last)
}

func count(v float64) string { return thousands(int(v + 0.5)) }

func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// duration is a time with two digits or more.
func duration(ns float64) string {
	switch {
	case ns < 9950:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	case ns < 995_000:
		return fmt.Sprintf("%.0f µs", ns/1e3)
	case ns < 9_950_000:
		return fmt.Sprintf("%.1f ms", ns/1e6)
	case ns < 995_000_000:
		return fmt.Sprintf("%.0f ms", ns/1e6)
	default:
		return fmt.Sprintf("%.1f s", ns/1e9)
	}
}

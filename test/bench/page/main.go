// SPDX-License-Identifier: Apache-2.0

// Page writes docs/performance.md from what the benchmarks of test/bench said,
// to standard output:
//
//	page FILE...
package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/template"
)

//go:embed page.md.tmpl
var page string

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w io.Writer, files []string) error {
	r := &report{}
	for _, name := range files {
		said, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := r.read(string(said)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	t, err := template.New("page").Funcs(template.FuncMap{"table": r.table}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, struct {
		CPU, System, Go string
		Cores           int
	}{r.cpu, systemName(), runtime.Version(), runtime.NumCPU()})
}

// systemName is what the system calls itself.
func systemName() string {
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return runtime.GOOS
	}
	for line := range strings.Lines(string(release)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"`)
		}
	}
	return runtime.GOOS
}

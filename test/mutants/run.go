// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tested are the packages whose tests may catch a mutant.
var tested = []string{"./...", "./proxy/..."}

// runner runs the tests that can see a mutant.
type runner struct {
	dir   string                     // of overlays
	deps  map[string]map[string]bool // what a package and its tests import, by import path
	takes map[string]time.Duration   // its tests without a mutant
}

// newRunner runs the tests as they are: they must pass, and tell how long each
// package takes.
func newRunner(ctx context.Context) (*runner, error) {
	r := &runner{deps: map[string]map[string]bool{}, takes: map[string]time.Duration{}}
	lines, err := golist(ctx, `{{if .ForTest}}{{else}}{{.ImportPath}} {{join .Deps " "}}{{end}}`, append([]string{"-test"}, tested...)...)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		fields := strings.Fields(line)
		name, isTest := strings.CutSuffix(fields[0], ".test")
		if !isTest {
			continue
		}
		r.deps[name] = map[string]bool{}
		for _, dep := range fields[1:] {
			r.deps[name][dep] = true // "[name.test]" may follow: the package as its test sees it
		}
	}
	if r.dir, err = os.MkdirTemp("", "mutants"); err != nil {
		return nil, err
	}
	return r, r.measure(ctx)
}

func (r *runner) close() error { return os.RemoveAll(r.dir) }

// event is what go test -json says of a test or, without one, of a package.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func (r *runner) measure(ctx context.Context) error {
	failed := ""
	err := gotest(ctx, slices.Sorted(maps.Keys(r.deps)), nil, func(e event) {
		// A cached result has the times of its tests, but not its own.
		if e.Test != "" && !strings.Contains(e.Test, "/") {
			r.takes[e.Package] += time.Duration(e.Elapsed * float64(time.Second))
		}
		if e.Action == "fail" && failed == "" {
			failed = strings.TrimSpace(e.Package + " " + e.Test)
		}
	})
	if failed != "" {
		return fmt.Errorf("%s fails without a mutant", failed)
	}
	return err
}

// catch names the first test that a mutant fails; "" where none does.
func (r *runner) catch(ctx context.Context, m mutant) (by string, err error) {
	overlay, err := r.overlay(m)
	if err != nil {
		return "", err
	}
	for i, packages := range r.order(m) {
		if by, err := r.failing(ctx, packages, r.flags(m, overlay, packages, i == 0)); by != "" || err != nil {
			return by, err
		}
	}
	return "", nil
}

// failing names the first test that fails; those after it do not run.
func (r *runner) failing(ctx context.Context, packages, flags []string) (by string, err error) {
	if len(packages) == 0 {
		return "", nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err = gotest(ctx, packages, flags, func(e event) {
		if e.Action == "fail" && by == "" {
			by = strings.TrimSpace(strings.TrimPrefix(e.Package, module) + " " + e.Test)
			stop()
		}
	})
	if by != "" {
		return by, nil // err is of those that did not run
	}
	return "", err
}

const module = "github.com/kubernetes-csi/csi-proxy/"

// order is what to test: the mutant's own package and the one above it, whose
// hostapi it may be, and then all others that import it, the quickest first.
func (r *runner) order(m mutant) [2][]string {
	above := path.Dir(m.pkg.path)
	var order [2][]string
	for name, deps := range r.deps {
		switch {
		case name != m.pkg.path && !deps[m.pkg.path]:
		case name == m.pkg.path, name == above:
			order[0] = append(order[0], name)
		default:
			order[1] = append(order[1], name)
		}
	}
	slices.Sort(order[0])
	slices.SortFunc(order[1], func(a, b string) int {
		return cmp.Or(cmp.Compare(r.takes[a], r.takes[b]), cmp.Compare(a, b))
	})
	return order
}

// flags: what takes far longer than without the mutant hangs, and is caught; so
// is what takes all memory. The race detector has more than the limit mapped.
func (r *runner) flags(m mutant, overlay string, packages []string, near bool) []string {
	slowest := time.Duration(0)
	for _, name := range packages {
		slowest = max(slowest, r.takes[name])
	}
	limit := time.Minute + 4*slowest
	flags := []string{"-failfast", "-overlay=" + overlay}
	if m.race && near {
		limit *= 5
		flags = append(flags, "-race")
	} else {
		flags = append(flags, fmt.Sprintf("-exec=prlimit --data=%d", 4<<30))
	}
	return append(flags, "-timeout="+limit.String())
}

// overlay writes a mutant and the file that puts it in place of the original.
func (r *runner) overlay(m mutant) (string, error) {
	original, err := filepath.Abs(m.file.name)
	if err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: r.mutated(m)}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(r.dir, "overlay.json")
	return name, errors.Join(os.WriteFile(r.mutated(m), m.text, 0o600), os.WriteFile(name, replace, 0o600))
}

func (r *runner) mutated(m mutant) string { return filepath.Join(r.dir, filepath.Base(m.file.name)) }

func (r *runner) diff(ctx context.Context, m mutant) string {
	cmd := exec.CommandContext(ctx, "diff", "-u", "--label", m.file.name, "--label", m.what, m.file.name, r.mutated(m))
	out, _ := cmd.CombinedOutput() // it fails because they differ
	return string(out)
}

// gotest tests packages and hands over what happens. Tests that fail are no
// error.
func gotest(ctx context.Context, packages, flags []string, happens func(event)) error {
	args := append([]string{"test", "-json", "-vet=off"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that the tests end, too
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failed := false
	lines := bufio.NewReader(out)
	for decoder := json.NewDecoder(lines); decoder.More(); {
		var e event
		if err := decoder.Decode(&e); err != nil {
			return errors.Join(err, cmd.Wait())
		}
		failed = failed || e.Action == "fail"
		happens(e)
	}
	if err := cmd.Wait(); err != nil && !failed {
		return fmt.Errorf("go test: %w: %s", err, stderr)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

// Command conformance writes docs/conformance.md: which rule and which report is
// shown by which case of pkg/hosttest or other test, and where that has passed.
//
//	conformance [PLACE=FILE ...]
//
// It runs the cases on the simulated node itself, and the tests that the ledger
// names. A file is the output of "go test -json" of the same cases in another
// place. What has failed, or is missing, fails it. It runs in the top folder.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(places []string) error {
	tests, err := goTest("./pkg/hosttest", "^TestSimulated$")
	if err != nil {
		return err
	}
	all := []place{{"simulated node", tests}}
	for _, given := range places {
		name, file, _ := strings.Cut(given, "=")
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("%w: make test-wine writes it", err)
		}
		tests, err := read(bytes.NewReader(data))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, place{name, tests})
	}
	page, err := write(all)
	if err != nil {
		return err
	}
	if err := passElsewhere(hosttest.Elsewhere()); err != nil {
		return err
	}
	return os.WriteFile("docs/conformance.md", page, 0o644)
}

// place is where cases have run.
type place struct {
	name  string
	tests results
}

// results are "pass", "fail" or "skip" by the name of a test.
type results map[string]string

// goTest runs tests of a package.
func goTest(pkg, pattern string) (results, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(context.Background(), "go", "test", "-json", "-run", pattern, pkg)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go test -run '%s' %s: %w\n%s", pattern, pkg, err, out.Bytes())
	}
	return read(&out)
}

// read reads the output of "go test -json".
func read(from io.Reader) (results, error) {
	found := results{}
	for decoder := json.NewDecoder(from); ; {
		var event struct{ Action, Test string }
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		switch event.Action {
		case "pass", "fail", "skip":
			found[event.Test] = event.Action
		}
	}
}

// passElsewhere wants the tests of the ledger to pass.
func passElsewhere(tests []hosttest.Shown) error {
	names := map[string][]string{}
	for _, s := range tests {
		names[s.Package] = append(names[s.Package], s.Test)
	}
	var errs []error
	for pkg, tests := range names {
		var tops []string
		for _, test := range tests {
			top, _, _ := strings.Cut(test, "/")
			tops = append(tops, top)
		}
		got, err := goTest("./"+pkg, "^("+strings.Join(tops, "|")+")$")
		errs = append(errs, err)
		for _, test := range tests {
			if got[test] != "pass" && err == nil {
				errs = append(errs, fmt.Errorf("%s: %s did not pass: %q", pkg, test, got[test]))
			}
		}
	}
	return errors.Join(errs...)
}

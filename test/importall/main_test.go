// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The test binary is the program, too: it runs itself in a fresh process.
const asProgram = "IMPORTALL_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// start runs a copy of the program, in a fresh process, and returns what it
// prints.
func start(t *testing.T, program string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), asProgram+"=1")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
	return string(out)
}

// field-reports.md L01, LIB-8.
func TestImportAll(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := start(t, self)
	if !strings.Contains(out, "a simulated node: ") || !strings.Contains(out, "WMI answers") {
		t.Error("the simulated node's WMI does not answer")
	}
}

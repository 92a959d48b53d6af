// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestSimulated(t *testing.T) { Run(t, Simulated()) }

// ids are the ids that begin a row of the tables of a page.
func ids(t *testing.T, page, pattern string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/facts/" + page)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, match := range regexp.MustCompile(`(?m)^\| (`+pattern+`) \|`).FindAllStringSubmatch(string(text), -1) {
		found = append(found, match[1])
	}
	return found
}

// Every rule and every report has a case, or a reason for having none, and what
// has a reason exists.
func TestEveryID(t *testing.T) {
	rules, reports := ids(t, "behaviour.md", `[A-Z]+-\d+`), ids(t, "field-reports.md", `[LDVMFIS]\d+`)
	if len(rules) < 200 || len(reports) < 80 {
		t.Fatalf("found only %d rules and %d reports", len(rules), len(reports))
	}
	told := map[string]bool{}
	for _, c := range Cases() {
		for _, id := range c.IDs {
			told[id] = true
		}
	}
	for _, s := range Elsewhere() {
		told[s.ID] = true
	}
	for _, r := range append(Open(), NotOurs()...) {
		told[r.ID] = true
	}
	known := map[string]bool{}
	for _, id := range append(rules, reports...) {
		known[id] = true
		if !told[id] {
			t.Errorf("%s has neither a case nor a reason", id)
		}
	}
	for _, d := range Differences() {
		told[d.ID] = true
	}
	for id := range told {
		if !known[id] {
			t.Errorf("%s is told of, and no rule or report", id)
		}
	}
}

// The name of a case is that of its test, and there is one of each.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
		name := c.Name()
		if seen[name] || len(c.IDs) == 0 || c.Shows == "" || strings.ContainsAny(name, "/_#\t") {
			t.Errorf("%q", name)
		}
		seen[name] = true
	}
}

// What a harness lacks is skipped and named; what it claims must not be skipped.
func TestRun(t *testing.T) {
	if os.Getenv("HOSTTEST_CLAIMS") != "" {
		needs, skips := []Ability{Links}, func(h *Host) { h.Skip("on a whim") }
		simulated := Simulated()
		run(t, Harness{Name: "claiming", Can: needs, With: simulated.With}, []Case{{IDs: []string{"X-1"}, Shows: "a skip", Needs: needs, Test: skips}})
		run(t, Harness{Name: "modest", With: simulated.With}, []Case{{IDs: []string{"X-2"}, Shows: "a skip", Needs: needs, Test: skips}})
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestRun$", "-test.v")
	cmd.Env = append(os.Environ(), "HOSTTEST_CLAIMS=1")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"--- FAIL: TestRun/X-1", "skipped, though claiming claims", "--- SKIP: TestRun/X-2", "modest lacks symbolic links"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("not told: %s", want)
		}
	}
	if err == nil || t.Failed() {
		t.Errorf("%v\n%s", err, out)
	}
}

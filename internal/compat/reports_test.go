// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
)

// The rows of field-reports.md 1b and 1c, by what they concern, that must each
// have a test of their name.
var reports = map[string][]string{
	"identity": {"D01", "D02", "D04", "D06", "D07", "D09", "D10", "V17", "V20"},
	"waiting":  {"D05"},
	"format":   {"D21", "V13", "V14", "V15"},
	"resize":   {"V02", "V03", "V05"},
	"stats":    {"V19"},
}

// Who reads a field report finds the test that shows that it is not so here.
func TestReports(t *testing.T) {
	rows := sections(read(t, "facts/field-reports.md"))
	test := regexp.MustCompile(`(?m)^func Test\w+_([DV]\d\d)\w*\(`)
	shown := map[string]bool{}
	eachGoFile(t, func(path, source string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, m := range test.FindAllStringSubmatch(source, -1) {
			shown[m[1]] = true
			if !rows[m[1]] {
				t.Errorf("%s: field-reports.md has no row %s", path, m[1])
			}
		}
	})
	for _, c := range hosttest.Cases() { // their names begin with their ids
		for _, id := range c.IDs {
			shown[id] = true
		}
	}
	for about, ids := range reports {
		for _, id := range ids {
			if !rows[id] {
				t.Errorf("field-reports.md has no row %s", id)
			}
			if !shown[id] {
				t.Errorf("no test is named after %s, about %s", id, about)
			}
		}
	}
}

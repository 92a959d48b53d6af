// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^()\s#]*)(?:#([^()\s]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// A link to a file of the repository leads to one, and to a heading that it has.
func TestLinks(t *testing.T) {
	seen := 0
	for page, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to, anchor := m[1], m[2]
			if strings.Contains(to, "://") {
				continue
			}
			seen++
			target := page
			if to != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), to))
			}
			if _, err := os.Stat(filepath.Join(top, target)); err != nil {
				t.Errorf("%s: %s is not there", page, to)
			} else if anchor != "" && !hasHeading(read(t, filepath.Join(top, target)), anchor) {
				t.Errorf("%s: %s has no heading %s", page, target, anchor)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d links found", seen)
	}
}

// hasHeading tells whether a page has the heading of an anchor.
func hasHeading(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		if strings.ReplaceAll(strings.ToLower(m[1]), " ", "-") == anchor {
			return true
		}
	}
	return false
}

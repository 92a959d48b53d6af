// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"slices"
	"strings"
	"testing"
)

// The program that imports everything misses nothing.
func TestImportAll(t *testing.T) {
	imported := strings.Fields(string(goCommand(t, "linux", "list", "-f", `{{join .Imports "\n"}}`, "./test/importall")))
	for _, p := range strings.Fields(string(goCommand(t, "linux", "list", "./pkg/..."))) {
		if !slices.Contains(imported, p) {
			t.Errorf("test/importall does not import %s", p)
		}
	}
}

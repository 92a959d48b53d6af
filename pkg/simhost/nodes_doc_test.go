// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update", false, "write the tables of docs/nodes.md anew")

const nodesPage = "../../docs/nodes.md"

// nodeTable matches the heading of a node, what is said of it, and its table.
var nodeTable = regexp.MustCompile(`(?m)^## ([a-z0-9-]+)\n((?:[^|#\n].*\n|\n)*)((?:\|.*\n)+)`)

// docs/nodes.md has every shipped node, in order, something about it, and the
// table of its disks.
func TestNodesPage(t *testing.T) {
	file, err := os.ReadFile(nodesPage)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(file), "\r\n", "\n")
	var names []string
	written := nodeTable.ReplaceAllStringFunc(page, func(part string) string {
		found := nodeTable.FindStringSubmatch(part)
		names = append(names, found[1])
		spec, err := Named(found[1])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(found[2], "Source:") {
			t.Errorf("%s: nothing is said of where its strings come from", found[1])
		}
		return "## " + found[1] + "\n" + found[2] + diskTable(spec)
	})
	if !slices.Equal(names, Names()) {
		t.Errorf("the page has %q, want %q", names, Names())
	}
	switch {
	case *updateDocs:
		if err := os.WriteFile(nodesPage, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
	case written != page:
		t.Error("the tables of docs/nodes.md are old: run this test with -update")
	}
}

// diskTable are the disks of a node as rows of a table.
func diskTable(spec NodeSpec) string {
	var out strings.Builder
	out.WriteString("| disk | size | bus | serial number | page 83 | address | location |\n|---|---|---|---|---|---|---|\n")
	for i, d := range slices.Concat(spec.Disks, spec.Attachable) {
		name := d.Name
		if i < len(spec.Disks) {
			name += " (there from the start)"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s | %s |\n",
			name, d.Size, d.Bus, code(d.Serial), code(page83Of(d)), addressOf(d), code(d.Location))
	}
	return out.String()
}

// code is a text as it stands in a device, blanks included.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// page83Of is the first identifier of the disk itself.
func page83Of(d DiskSpec) string {
	for _, i := range d.Identifiers {
		if i.Association == "" {
			return i.Hex + i.Text
		}
	}
	return ""
}

// addressOf is port:path:target:LUN.
func addressOf(d DiskSpec) string {
	if a := d.Address; a != nil {
		return fmt.Sprintf("%d:%d:%d:%d", a.Port, a.Path, a.Target, a.LUN)
	}
	return ""
}

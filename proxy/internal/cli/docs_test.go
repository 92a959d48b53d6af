// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/golden"
)

// docs, from testdata.
const docs = "../../../../docs/"

// docs/cli and docs/json.md are what the commands say of themselves.
func TestDocs(t *testing.T) {
	written := pages()
	for name, page := range written {
		golden.Compare(t, docs+"cli/"+name, page)
	}
	golden.Compare(t, docs+"json.md", formatsPage())
	found, err := filepath.Glob(filepath.Join("testdata", docs, "cli", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if _, ok := written[filepath.Base(path)]; !ok {
			t.Errorf("%s is of no command", path)
		}
	}
}

// Each field says what it is.
func TestDocs_Fields(t *testing.T) {
	_, sections, _ := strings.Cut(formatsPage(), "\n## ")
	for line := range strings.Lines(sections) {
		if cells := strings.Split(line, "|"); len(cells) > 4 && !strings.HasPrefix(line, "| field") && !strings.HasPrefix(line, "|---") && strings.TrimSpace(cells[2]) != "" && strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%s", line)
		}
	}
}

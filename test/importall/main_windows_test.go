// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/test/wine"
)

// A container image without WMI, such as nanoserver, has no locator class
// (windows-api.md 14.2, field-reports.md L01).
func TestImportAll_WithoutWMI(t *testing.T) {
	if !wine.Running() {
		t.Skip("only Wine can withhold WMI from a program")
	}
	program := filepath.Join(t.TempDir(), "withoutwmi.exe")
	copySelf(t, program)
	wine.Withhold(t, filepath.Base(program), "wbemprox")
	// For a DLL that cannot be loaded, Wine's COM has "access denied".
	if out := start(t, program); !strings.Contains(out, "WMI: PermissionDenied: ") {
		t.Error("this host's WMI is not missing")
	}
}

func copySelf(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o700); err != nil {
		t.Fatal(err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package wine

import (
	"testing"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// Running reports whether this process runs under Wine.
func Running() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// Withhold keeps a DLL from a program, named without its folder, until the test
// ends.
func Withhold(tb testing.TB, program, dll string) {
	tb.Helper()
	settings := `Software\Wine\AppDefaults\` + program
	overrides, _, err := registry.CreateKey(registry.CURRENT_USER, settings+`\DllOverrides`, registry.SET_VALUE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for _, key := range []string{settings + `\DllOverrides`, settings} {
			if err := registry.DeleteKey(registry.CURRENT_USER, key); err != nil {
				tb.Error(err)
			}
		}
	})
	if err := overrides.SetStringValue(dll, ""); err != nil {
		tb.Error(err)
	}
	if err := overrides.Close(); err != nil {
		tb.Error(err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package wine

import "golang.org/x/sys/windows"

// Running reports whether this process runs under Wine.
func Running() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

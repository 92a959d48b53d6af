// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package wine

// Running reports whether this process runs under Wine.
func Running() bool { return false }

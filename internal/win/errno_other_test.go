// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package win

import "testing"

func TestErrno_HasTheTextsOfWindows(t *testing.T) {
	for e, want := range map[Errno]string{
		ERROR_ACCESS_DENIED: "Access is denied.",
		Errno(15999):        "winapi error #15999",
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

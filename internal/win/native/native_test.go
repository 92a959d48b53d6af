// SPDX-License-Identifier: Apache-2.0

package native

import "testing"

func TestHost_IsOne(t *testing.T) {
	if Host() != Host() {
		t.Error("two hosts in one process")
	}
}

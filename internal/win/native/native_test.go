// SPDX-License-Identifier: Apache-2.0

package native

import "testing"

func TestHost_IsOne(t *testing.T) {
	if first, second := Host(), Host(); first != second {
		t.Error("two hosts in one process")
	}
}

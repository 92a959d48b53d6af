// SPDX-License-Identifier: Apache-2.0

package abi_test

import (
	"testing"

	. "github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func TestParseGUID(t *testing.T) {
	const basicData = "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7"
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{basicData, true},
		{"{" + basicData + "}", true},
		{"{EBD0A0A2-B9E5-4433-87C0-68B6B72699C7}", true},
		{"", false},
		{"{" + basicData, false},
		{basicData + "}", false},
		{"{}", false},
		{basicData[:35], false},
		{basicData + "0", false},
		{"ebd0a0a2b9e5-4433-87c0-68b6b72699c7-", false},
		{"+bd0a0a2-b9e5-4433-87c0-68b6b72699c7", false},
		{"gbd0a0a2-b9e5-4433-87c0-68b6b72699c7", false},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := ParseGUID(c.text)
			if (err == nil) != c.ok {
				t.Fatalf("error %v, want ok %t", err, c.ok)
			}
			if c.ok && (got != PARTITION_BASIC_DATA_GUID || got.String() != basicData) {
				t.Errorf("got %s", got)
			}
			if !c.ok && !got.IsZero() {
				t.Errorf("%s beside an error", got)
			}
		})
	}
}

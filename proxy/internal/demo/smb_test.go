// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/golden"
)

func TestSMB_Output(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := SMB(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		if runtime.GOOS == "windows" {
			t.Skip("the error texts in the golden file are those of the simulated node; here the system's own stand in their place")
		}
		golden.Compare(t, "smb.golden", out.String())
	})
}

func TestSMB_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := SMB(ctx, &strings.Builder{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/golden"
)

func TestISCSI_Output(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := ISCSI(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		if strings.Contains(out.String(), sanSecret) {
			t.Error("it tells the secret")
		}
		golden.Compare(t, "iscsi.golden", out.String())
	})
}

func TestISCSI_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := ISCSI(ctx, &strings.Builder{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

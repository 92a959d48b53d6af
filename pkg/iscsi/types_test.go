// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"fmt"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
)

// LIB-10: the constants are untyped, so that they are of any integer type.
func TestAuthenticationType_LIB10(t *testing.T) {
	var (
		i int                      = iscsi.MUTUAL_CHAP
		u uint8                    = iscsi.ONE_WAY_CHAP
		a iscsi.AuthenticationType = iscsi.NONE
	)
	if i != 2 || u != 1 || a != 0 {
		t.Errorf("%d, %d, %d", i, u, a)
	}
}

func TestAuthTypeToString(t *testing.T) {
	for kind, want := range map[iscsi.AuthenticationType]string{iscsi.NONE: "NONE", iscsi.ONE_WAY_CHAP: "ONEWAYCHAP", iscsi.MUTUAL_CHAP: "MUTUALCHAP"} {
		if got, err := iscsi.AuthTypeToString(kind); got != want || err != nil || kind.String() != want {
			t.Errorf("%d: %q, %v, %s", uint32(kind), got, err, kind)
		}
	}
	got, err := iscsi.AuthTypeToString(3)
	wantError(t, err, errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
	if text := fmt.Sprint(iscsi.AuthenticationType(3)); got != "" || text != "AuthenticationType(3)" {
		t.Errorf("%q, %s", got, text)
	}
}

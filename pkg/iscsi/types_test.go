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

// What a hostile request holds reaches no query, and selects nothing.
func TestHostileNames(t *testing.T) {
	for _, bad := range []string{
		"x' OR '1'='1", `x" OR "1"="1`, `iqn.2020-01.a:b' OR NodeAddress <> '`, `iqn.2020-01.a:b"} WHERE AssocClass = Win32_Service`,
		`iqn.2020-01.a:\`, "iqn.2020-01.a:%", "iqn.2020-01.a:_[a-z]'", "iqn.2020-01.a:b\x00", "iqn.2020-01.a:b\n",
	} {
		refused(t, calling((*iscsi.ISCSI).DisconnectTarget, &iscsi.DisconnectTargetRequest{TargetPortal: first, IQN: bad}), "IQN")
		refused(t, calling((*iscsi.ISCSI).AddTargetPortal, &iscsi.AddTargetPortalRequest{TargetPortal: portal(bad, 0)}), "TargetPortal")
		refused(t, calling((*iscsi.ISCSI).GetTargetDisks, &iscsi.GetTargetDisksRequest{TargetPortal: portal("fd00::1%"+bad, 0), IQN: open}), "TargetPortal")
	}
}

// The characters of LIKE are none here.
func TestHostileNames_Underscore(t *testing.T) {
	node := newNode(t, registered(first))
	must(t, connect(t.Context(), node, first, open))
	err := disconnect(t.Context(), node, first, "iqn.2020-01.example.san:ope_")
	wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
	wantSessions(t, node, openSession)
}

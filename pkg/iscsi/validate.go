// SPDX-License-Identifier: Apache-2.0

package iscsi

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
)

// What a request says is checked before the host is asked anything. An error
// names the field, and never a secret.

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errdefs.ErrInvalidArgument, fmt.Errorf(format, args...))
}

func parsePortal(p *TargetPortal) (hostapi.Portal, error) {
	if p == nil {
		return hostapi.Portal{}, invalid("TargetPortal is nil")
	}
	portal, err := hostapi.ParsePortal(p.TargetAddress, p.TargetPort)
	if err != nil {
		return portal, fmt.Errorf("TargetPortal: %w", err)
	}
	return portal, nil
}

// address is a target and the portal through which it is meant.
type address struct {
	target hostapi.Target
	portal hostapi.Portal
}

// String reads "iqn… through 10.0.0.10:3260".
func (a address) String() string { return fmt.Sprintf("%s through %s", a.target, a.portal) }

func (a address) object() string { return "target " + string(a.target) }

func parseAddress(p *TargetPortal, iqn string) (address, error) {
	portal, err := parsePortal(p)
	if err != nil {
		return address{}, err
	}
	target, err := hostapi.ParseTarget(iqn)
	if err != nil {
		return address{}, fmt.Errorf("IQN: %w", err)
	}
	return address{target, portal}, nil
}

// credential is what a login says beside its address.
type credential struct {
	auth   string
	user   string
	secret hostapi.Secret
}

// parseCredential wants a secret with CHAP, and neither user nor secret without
// (behaviour.md ISCSI-9).
func parseCredential(req *ConnectTargetRequest) (credential, error) {
	auth, err := AuthTypeToString(req.AuthType)
	if err != nil {
		return credential{}, err
	}
	c := credential{auth: auth, user: req.ChapUsername, secret: hostapi.Secret(req.ChapSecret)}
	if req.AuthType == NONE {
		if req.ChapUsername != "" || req.ChapSecret != "" {
			return c, invalid("ChapUsername or ChapSecret is given, but AuthType is NONE")
		}
		return c, nil
	}
	if !isASCII(req.ChapUsername) {
		return c, invalid("ChapUsername has other than printable ASCII characters")
	}
	return c, checkSecret("ChapSecret", req.ChapSecret)
}

// The length of a CHAP secret in bytes without IPsec (windows-api.md 10.3).
const (
	minSecret = 12
	maxSecret = 16
)

func checkSecret(field, secret string) error {
	if n := len(secret); n < minSecret || n > maxSecret {
		return invalid("%s has %d bytes, not %d to %d", field, n, minSecret, maxSecret)
	}
	if !isASCII(secret) {
		return invalid("%s has other than printable ASCII characters", field)
	}
	return nil
}

// isASCII tells texts that are the same in every ANSI code page, in which
// Windows hands CHAP users and secrets over (windows-api.md 10.3).
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// SPDX-License-Identifier: Apache-2.0

package iscsi

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/secret"
)

// TargetPortal is where targets are reached.
type TargetPortal struct {
	// TargetAddress is an IPv4 or IPv6 address or a host name.
	TargetAddress string
	// TargetPort is at most 65535; 0 means 3260.
	TargetPort uint32
}

// String reads "10.0.0.10:3260" or "[fd00::10]:3260".
func (p TargetPortal) String() string {
	address := p.TargetAddress
	if strings.Contains(address, ":") && !strings.HasPrefix(address, "[") {
		address = "[" + address + "]"
	}
	return fmt.Sprintf("%s:%d", address, p.TargetPort)
}

// AuthenticationType says how initiator and target prove themselves.
type AuthenticationType uint32

// The types. They have no Go type, as upstream's.
const (
	// NONE proves nothing.
	NONE = 0
	// ONE_WAY_CHAP: the initiator proves itself.
	ONE_WAY_CHAP = 1
	// MUTUAL_CHAP: the target proves itself too, with the secret of
	// SetMutualChapSecret.
	MUTUAL_CHAP = 2
)

// AuthTypeToString is the type as Windows calls it: NONE, ONEWAYCHAP or
// MUTUALCHAP. Another is InvalidArgument.
func AuthTypeToString(authType AuthenticationType) (string, error) {
	switch authType {
	case NONE:
		return "NONE", nil
	case ONE_WAY_CHAP:
		return "ONEWAYCHAP", nil
	case MUTUAL_CHAP:
		return "MUTUALCHAP", nil
	}
	return "", invalid("invalid authentication type authType=%d (AuthType)", uint32(authType))
}

// String is the type as AuthTypeToString has it, or its number.
func (a AuthenticationType) String() string {
	text, err := AuthTypeToString(a)
	if err != nil {
		return fmt.Sprintf("AuthenticationType(%d)", uint32(a))
	}
	return text
}

// AddTargetPortalRequest asks for a portal to be registered.
type AddTargetPortalRequest struct {
	TargetPortal *TargetPortal
}

// AddTargetPortalResponse is empty.
type AddTargetPortalResponse struct{}

// DiscoverTargetPortalRequest asks for the targets of a registered portal.
type DiscoverTargetPortalRequest struct {
	TargetPortal *TargetPortal
}

// DiscoverTargetPortalResponse lists the names of targets.
type DiscoverTargetPortalResponse struct {
	IQNs []string
}

// ListTargetPortalsRequest asks for the registered portals.
type ListTargetPortalsRequest struct{}

// ListTargetPortalsResponse lists portals in no order.
type ListTargetPortalsResponse struct {
	TargetPortals []*TargetPortal
}

// RemoveTargetPortalRequest asks for a portal to be forgotten.
type RemoveTargetPortalRequest struct {
	TargetPortal *TargetPortal
}

// RemoveTargetPortalResponse is empty.
type RemoveTargetPortalResponse struct{}

// ConnectTargetRequest asks for a login. Formatted in any way, it shows neither
// user nor secret.
type ConnectTargetRequest struct {
	TargetPortal *TargetPortal
	// IQN is the target's iSCSI name: iqn., eui. or naa.
	IQN string
	// AuthType is NONE, ONE_WAY_CHAP or MUTUAL_CHAP.
	AuthType AuthenticationType
	// ChapUsername is the CHAP user; "" is the initiator's name. Not with NONE.
	ChapUsername string
	// ChapSecret is the target's secret, 12 to 16 bytes. Not with NONE.
	ChapSecret string
}

func (r ConnectTargetRequest) shown() any {
	type request ConnectTargetRequest
	r.ChapUsername, r.ChapSecret = secret.Mark(r.ChapUsername), secret.Mark(r.ChapSecret)
	return request(r)
}

// Format writes the request without user and secret, whatever the verb.
func (r ConnectTargetRequest) Format(f fmt.State, verb rune) { secret.Format(f, verb, r.shown()) }

// MarshalJSON is the request without user and secret.
func (r ConnectTargetRequest) MarshalJSON() ([]byte, error) { return json.Marshal(r.shown()) }

// MarshalLog is the request without user and secret, for structured logs.
func (r ConnectTargetRequest) MarshalLog() any { return r.shown() }

// ConnectTargetResponse is empty.
type ConnectTargetResponse struct{}

// DisconnectTargetRequest asks for the sessions of a target through a portal to
// be closed.
type DisconnectTargetRequest struct {
	TargetPortal *TargetPortal
	IQN          string
}

// DisconnectTargetResponse is empty.
type DisconnectTargetResponse struct{}

// GetTargetDisksRequest asks for the disks of a target that is connected through
// a portal.
type GetTargetDisksRequest struct {
	TargetPortal *TargetPortal
	IQN          string
}

// GetTargetDisksResponse lists disk numbers in decimal.
type GetTargetDisksResponse struct {
	DiskIDs []string
}

// SetMutualChapSecretRequest sets the initiator's own secret. Formatted in any
// way, it does not show it.
type SetMutualChapSecretRequest struct {
	// MutualChapSecret has 12 to 16 bytes. It must differ from the targets'.
	MutualChapSecret string
}

func (r SetMutualChapSecretRequest) shown() any {
	type request SetMutualChapSecretRequest
	r.MutualChapSecret = secret.Mark(r.MutualChapSecret)
	return request(r)
}

// Format writes the request without the secret, whatever the verb.
func (r SetMutualChapSecretRequest) Format(f fmt.State, verb rune) {
	secret.Format(f, verb, r.shown())
}

// MarshalJSON is the request without the secret.
func (r SetMutualChapSecretRequest) MarshalJSON() ([]byte, error) { return json.Marshal(r.shown()) }

// MarshalLog is the request without the secret, for structured logs.
func (r SetMutualChapSecretRequest) MarshalLog() any { return r.shown() }

// SetMutualChapSecretResponse is empty.
type SetMutualChapSecretResponse struct{}

// SPDX-License-Identifier: Apache-2.0

package smb

import (
	"encoding/json"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/secret"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
)

// NewSMBGlobalMappingRequest names a share, how to use it, and where to link to
// it. It formats without its user and password.
type NewSMBGlobalMappingRequest struct {
	// RemotePath is \\host\share or a directory below it, with slashes of
	// either kind. The share is what is mapped.
	RemotePath string
	// LocalPath becomes a link to RemotePath; "" makes none.
	LocalPath string
	// Username is user, DOMAIN\user or user@domain. "" is the account that this
	// process runs as: for SYSTEM the machine's, with gMSA or Kerberos the
	// service's (behaviour.md SMB-8).
	Username string
	Password string

	// Domain is the user's, for a Username without one.
	Domain string
	// Anonymous is the null session, which servers take for a guest.
	Anonymous bool
	// WithoutPrivacy gives up encryption, for servers that have none
	// (field-reports.md M11).
	WithoutPrivacy bool
	// RequireIntegrity requires signing.
	RequireIntegrity bool
	// ReuseUnverified uses a mapping that is there as upstream does, without a
	// look at the credential. It is for drivers that are alone on their node
	// and run as an account that cannot be verified.
	ReuseUnverified bool
}

// shown is a request whose secrets are gone, and that formats as any struct.
type shown NewSMBGlobalMappingRequest

func (r NewSMBGlobalMappingRequest) shown() shown {
	r.Username, r.Password, r.Domain = secret.Mark(r.Username), secret.Mark(r.Password), secret.Mark(r.Domain)
	return shown(r)
}

// String is the request without its credential.
func (r NewSMBGlobalMappingRequest) String() string { return fmt.Sprintf("%+v", r.shown()) }

// GoString is the same in Go's syntax.
func (r NewSMBGlobalMappingRequest) GoString() string { return fmt.Sprintf("%#v", r.shown()) }

// Format writes the request without its credential, whatever the verb.
func (r NewSMBGlobalMappingRequest) Format(f fmt.State, verb rune) { secret.Format(f, verb, r.shown()) }

// MarshalLog is the request without its credential.
func (r NewSMBGlobalMappingRequest) MarshalLog() any { return r.shown() }

// MarshalJSON writes the request without its credential: it is for logs, not
// for storing.
func (r NewSMBGlobalMappingRequest) MarshalJSON() ([]byte, error) { return json.Marshal(r.shown()) }

// NewSMBGlobalMappingResponse is empty.
type NewSMBGlobalMappingResponse struct{}

// RemoveSMBGlobalMappingRequest names a share, or a directory below it.
type RemoveSMBGlobalMappingRequest struct {
	RemotePath string
}

// RemoveSMBGlobalMappingResponse is empty.
type RemoveSMBGlobalMappingResponse struct{}

// ListMappingsRequest is empty.
type ListMappingsRequest struct{}

// ListMappingsResponse is the node's global mappings.
type ListMappingsResponse struct {
	Mappings []Mapping
}

// GetMappingRequest names a share, or a directory below it.
type GetMappingRequest struct {
	RemotePath string
}

// GetMappingResponse is the mapping of the share.
type GetMappingResponse struct {
	Mapping Mapping
}

// LinkedShareRequest names a link.
type LinkedShareRequest struct {
	LocalPath string
}

// LinkedShareResponse is where the link leads.
type LinkedShareResponse struct {
	// RemotePath is the directory, as the link has it.
	RemotePath string
	// Share is the share that it is on, \\host\share in lower case.
	Share string
}

// Mapping is a global mapping as it is.
type Mapping struct {
	// RemotePath is the share as Windows has it.
	RemotePath string
	// Share is the same as \\host\share in lower case, "" if it is no share.
	Share string
	// Drive is the mapping's drive, such as G:, "" for none. The group makes
	// and finds only mappings without.
	Drive  string
	Status Status
	// Privacy and Integrity say that encryption and signing are required.
	Privacy, Integrity bool
}

// Status is the state of a mapping.
type Status uint32

// The states. A Disconnected mapping may only be idle.
const (
	StatusOK Status = iota
	StatusPaused
	StatusDisconnected
	StatusNetworkError
	StatusConnecting
	StatusReconnecting
	StatusUnavailable
)

var statusNames = [...]string{"OK", "paused", "disconnected", "network error", "connecting", "reconnecting", "unavailable"}

// String is the state in words.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status %d", uint32(s))
}

func mappingOf(m hostapi.Mapping) Mapping {
	return Mapping{
		RemotePath: m.RemotePath, Share: m.Share.String(), Drive: m.LocalPath, Status: Status(m.Status),
		Privacy: m.Privacy, Integrity: m.Integrity,
	}
}

// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// DefaultPort is the port of iSCSI, which 0 stands for (behaviour.md ISCSI-1).
const DefaultPort = 3260

// Portal is where targets are reached, with its address in one spelling: two are
// equal if they are the same portal.
type Portal struct {
	Address string // IP address or host name, in lower case, without brackets
	Port    uint16
}

// String reads "10.0.0.10:3260" or "[fd00::10]:3260".
func (p Portal) String() string {
	if strings.Contains(p.Address, ":") {
		return fmt.Sprintf("[%s]:%d", p.Address, p.Port)
	}
	return fmt.Sprintf("%s:%d", p.Address, p.Port)
}

// ParsePortal reads an IPv4 or IPv6 address, in brackets or not, with a numeric
// zone or without, or a host name, and a port. Everything else is
// InvalidArgument.
func ParsePortal(address string, port uint32) (Portal, error) {
	if port > 65535 {
		return Portal{}, fmt.Errorf("%w: port %d is above 65535", errdefs.ErrInvalidArgument, port)
	}
	if port == 0 {
		port = DefaultPort
	}
	canonical, err := parseAddress(address)
	return Portal{Address: canonical, Port: uint16(port)}, err
}

func parseAddress(text string) (string, error) {
	if text == "" {
		return "", fmt.Errorf("%w: address is empty", errdefs.ErrInvalidArgument)
	}
	bare, bracketed := text, len(text) > 1 && text[0] == '[' && text[len(text)-1] == ']'
	if bracketed {
		bare = text[1 : len(text)-1]
	}
	ip, err := netip.ParseAddr(bare)
	switch {
	case err == nil && isPortalIP(ip) && (!bracketed || ip.Is6()):
		return ip.String(), nil
	case err != nil && isHostName(text):
		return strings.ToLower(strings.TrimSuffix(text, ".")), nil
	}
	return "", fmt.Errorf("%w: %q is neither the IP address nor the name of a host", errdefs.ErrInvalidArgument, text)
}

// isPortalIP refuses addresses that no portal can have, and zones that are no
// interface index of Windows.
func isPortalIP(ip netip.Addr) bool {
	digits := strings.Trim(ip.Zone(), "0123456789") == ""
	return digits && !ip.IsUnspecified() && !ip.IsMulticast()
}

var label = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)

// isHostName tells names of hosts. The last label is no number, or the name
// would be a mistaken IPv4 address.
func isHostName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if !label.MatchString(l) {
			return false
		}
	}
	last := labels[len(labels)-1]
	return len(s) <= 253 && strings.Trim(last, "0123456789") != ""
}

// Target is the iSCSI name of a target in lower case; names are the same in any
// case (RFC 3722).
type Target string

// maxName is the length of an iSCSI name in bytes (RFC 7143, 4.2.7.1).
const maxName = 223

// The three forms of a name (RFC 7143, 4.2.7; RFC 3980). Windows' own names may
// hold an underscore, which the standard does not have.
var nameForms = []*regexp.Regexp{
	regexp.MustCompile(`^iqn\.[0-9]{4}-(0[1-9]|1[0-2])\.[a-z0-9][a-z0-9._-]*(:[a-z0-9.:_-]*)?$`),
	regexp.MustCompile(`^eui\.[0-9a-f]{16}$`),
	regexp.MustCompile(`^naa\.([0-9a-f]{16}|[0-9a-f]{32})$`),
}

// ParseTarget reads the iSCSI name of a target: iqn., eui. or naa. Everything
// else is InvalidArgument.
func ParseTarget(text string) (Target, error) {
	if text == "" {
		return "", fmt.Errorf("%w: the name of the target is empty", errdefs.ErrInvalidArgument)
	}
	name := strings.ToLower(text)
	if len(name) <= maxName {
		for _, form := range nameForms {
			if form.MatchString(name) {
				return Target(name), nil
			}
		}
	}
	return "", fmt.Errorf("%w: %q is no iSCSI name (iqn.yyyy-mm.domain:name, eui. or naa.)", errdefs.ErrInvalidArgument, shortened(text))
}

// shortened is as much of a text as an error needs.
func shortened(s string) string {
	if len(s) <= maxName {
		return s
	}
	return s[:maxName] + "…"
}

// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
)

// mostCandidates is how many disks an error lists.
const mostCandidates = 16

// candidates lists disks for an error, each with that by which a matcher could
// tell it from the others.
func candidates(disks []Description) string {
	var all []string
	for i, d := range disks {
		if i == mostCandidates {
			all = append(all, fmt.Sprintf("and %d more", len(disks)-i))
			break
		}
		all = append(all, candidate(d))
	}
	return strings.Join(all, ", ")
}

func candidate(d Description) string {
	if d.Number == hostapi.NoNumber {
		return "a disk without number at " + d.Path
	}
	facts := []string{d.BusType.String()}
	if serial := d.Serial(); serial != "" {
		facts = append(facts, fmt.Sprintf("serial number %q", serial))
	}
	if id := abi.Page83(d.Identifiers); id != "" {
		facts = append(facts, fmt.Sprintf("page 83 %q", id))
	}
	if a := d.Address; a != nil {
		facts = append(facts, fmt.Sprintf("address %d:%d:%d:%d", a.Port, a.Path, a.Target, a.LUN))
	}
	return fmt.Sprintf("%s (%s)", subject(d.Number), strings.Join(facts, ", "))
}

// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// Case shows a rule, or a few that belong together.
type Case struct {
	// IDs are the rules of behaviour.md ("VOL-18") and the reports of
	// field-reports.md ("D21") that it shows.
	IDs []string
	// Shows says what it shows, in a few words without "/".
	Shows string
	// Needs lists what it needs of a host.
	Needs []Ability
	// Spec changes the description of the node, [Spec], where the host is
	// modelled.
	Spec func(*simhost.NodeSpec)
	// AtOnce says that calls are made at the same time, so that the sequence of
	// boundary calls is chance.
	AtOnce bool
	// Test makes the case. What it makes in h.Folder, it may leave there.
	Test func(h *Host)
}

// Name is the name of the case's test.
func (c Case) Name() string { return strings.Join(c.IDs, ",") + " " + c.Shows }

// Cases lists all cases.
func Cases() []Case {
	return slices.Concat(filesystemCases(), diskCases(), volumeCases(), smbCases(), iscsiCases(), systemCases(), libraryCases(), flowCases(), textCases())
}

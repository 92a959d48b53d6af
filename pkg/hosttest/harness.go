// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"slices"
	"strings"
	"testing"
)

// Ability is something that the hosts of a harness can do. Each has a directory
// in which files and directories can be made.
type Ability string

// What a host can do, or have done to it.
const (
	// InProcess: the groups are the library's own types, in this process.
	InProcess Ability = "the groups in process"
	// Links: symbolic links and junctions.
	Links Ability = "symbolic links"
	// Mounts: folders at which volumes are mounted.
	Mounts Ability = "mount folders"
	// Disks: blank disks are attached, grown and detached on request.
	Disks Ability = "disks to attach"
	// Model: a node of package simhost stands behind the host. Its description
	// is the case's, its state can be read, and its calls can be made to fail.
	Model Ability = "a modelled node"
	// Time passes at once where all wait, as under testing/synctest.
	Time Ability = "time that passes at once"
)

// Harness is a kind of host.
type Harness struct {
	// Name is where the cases run, for example "simulated node".
	Name string
	// Can lists what the hosts can do.
	Can []Ability
	// With makes a host for one case and calls test with it, once or more. It
	// checks what is left open afterwards.
	With func(t *testing.T, c Case, test func(h *Host))
}

// Run makes every case on a host of its own. A case that skips itself though the
// harness claims all that it needs has failed.
func Run(t *testing.T, harness Harness) { run(t, harness, Cases()) }

func run(t *testing.T, harness Harness, cases []Case) {
	for _, c := range cases {
		t.Run(c.Name(), func(t *testing.T) {
			if missing := harness.lacks(c); len(missing) > 0 {
				t.Skipf("%s lacks %s", harness.Name, strings.Join(missing, " and "))
			}
			harness.With(t, c, func(h *Host) {
				h.Cleanup(func() {
					if h.Skipped() {
						h.Errorf("skipped, though %s claims all that the case needs", harness.Name)
					}
				})
				c.Test(h)
			})
		})
	}
}

func (harness Harness) lacks(c Case) (missing []string) {
	for _, need := range c.Needs {
		if !slices.Contains(harness.Can, need) {
			missing = append(missing, string(need))
		}
	}
	return missing
}

// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"cmp"
	"strconv"
	"strings"
)

// Reason says of a rule or a report why no case shows it.
type Reason struct{ ID, Why string }

// Shown says of a rule or a report which test shows it, where no case can.
type Shown struct{ ID, Package, Test, Shows string }

// Difference is where we are deliberately unlike upstream.
type Difference struct {
	ID string
	// What upstream does, and what we do.
	What string
	// Decided is where it stands: a section of the design or of the facts.
	Decided string
}

// Open lists the rules that only a proxy can have: the wire, its versions, its
// working directories.
func Open() []Reason {
	return []Reason{}
}

// NotOurs lists the reports of what code of ours cannot have.
func NotOurs() []Reason {
	return []Reason{}
}

// Elsewhere lists what tests of other packages show.
func Elsewhere() []Shown {
	return []Shown{}
}

// Differences lists where the library is deliberately unlike upstream.
func Differences() []Difference {
	return []Difference{}
}

// CompareIDs orders ids by what they are about, then by number. Of a list, the
// first counts.
func CompareIDs(a, b string) int {
	about, number := splitID(a)
	aboutB, numberB := splitID(b)
	return cmp.Or(strings.Compare(about, aboutB), cmp.Compare(number, numberB))
}

func splitID(id string) (about string, number int) {
	id, _, _ = strings.Cut(id, ",")
	about = strings.TrimRight(id, "0123456789")
	number, _ = strconv.Atoi(id[len(about):])
	return about, number
}

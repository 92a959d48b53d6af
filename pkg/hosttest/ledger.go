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
	return []Reason{
		{"DISK-1", "disk ids are text only on the wire, up to v1beta2"},
		{"DISK-2", "a number of 64 bits comes only from that text"},
		{"DISK-15", "GetDiskNumberByName is of v1alpha1 alone"},
		{"DISK-18", "a map of identifiers is only on the wire, up to v1beta2"},
		{"VOL-3", "in which folders a client may mount, and which it may read, is decided by the proxy"},
		{"VOL-9", "disk ids are text only on the wire, up to v1beta2"},
	}
}

// NotOurs lists the reports of what code of ours cannot have.
func NotOurs() []Reason {
	return []Reason{
		{"DISK-13", "what PowerShell prints in numbers: no child process is run"},
		{"DISK-25", "what PowerShell hides: no child process is run"},
		{"DISK-27", "digits of what PowerShell prints: no child process is run"},
	}
}

// Elsewhere lists what tests of other packages show.
func Elsewhere() []Shown {
	return []Shown{}
}

// Differences lists where the library is deliberately unlike upstream.
func Differences() []Difference {
	return []Difference{
		{"DISK-4", "upstream leaves out a disk whose location it cannot cut; here none is left out, and unknown fields are empty", "architecture.md, Differences from upstream"},
		{"DISK-5", "upstream cuts the location's text; here the SCSI address is asked, target and LUN are told for buses that have them, and Bus is empty", "architecture.md, Differences from upstream"},
		{"DISK-8", "upstream adds to a table that has only partitions without volumes; here that is an error, and what is offline is brought online first", "architecture.md, Differences from upstream"},
		{"DISK-12", "upstream wraps no error where no partition shows up; here it says so", "behaviour.md DISK-12"},
		{"DISK-16", "upstream takes the first disk without an identifier for an empty name; here that is an error", "behaviour.md DISK-16"},
		{"DISK-20", "upstream passes blanks on as page 83; here they are none", "behaviour.md DISK-20"},
		{"DISK-21", "upstream: one disk that does not answer fails the list; here its fields are empty", "behaviour.md DISK-21"},
		{"DISK-22", "upstream passes NULs and other bytes on, and skips UTF-8; here they are cut, replaced and taken", "behaviour.md DISK-22"},
		{"DISK-23", "upstream believes lengths that a device tells; here they are checked", "behaviour.md DISK-23"},
		{"DISK-24", "upstream closes what did not open", "behaviour.md DISK-24"},
		{"SYS-1", "upstream 1.1 keeps blanks at the end; here they are cut", "behaviour.md SYS-1"},
		{"SYS-4", "upstream 1.1 takes a name for a pattern; here it is literal", "behaviour.md SYS-4"},
		{"SYS-6", "upstream's text ends in a formatting mistake; here it has Windows' reason", "behaviour.md SYS-6"},
		{"SYS-7", "upstream sees a state one look late, and calls a service late that died; here the new state counts", "behaviour.md SYS-7"},
		{"SYS-9", "upstream drops the cause; here the dependents are named", "behaviour.md SYS-9"},
		{"SYS-10", "upstream names the service that was to be stopped; here the one that failed", "behaviour.md SYS-10"},
		{"SYS-12", "upstream looks at running dependents alone; here at all that are not stopped", "behaviour.md SYS-12"},
		{"SYS-14", "upstream stops whatever service it is told to; here what keeps a node alive and safe is never stopped", "behaviour.md SYS-14"},
		{"VOL-3", "upstream reads no path before Windows does; here a path is parsed as Windows means it, and refused where it is none", "architecture.md, Differences from upstream"},
		{"VOL-4", "upstream: UnmountVolume of an unknown volume is an error; here it is OK where nothing is mounted, and an error where something is", "architecture.md, Differences from upstream"},
		{"VOL-5", "upstream 1.1 puts ids and paths into commands; here nothing is run", "behaviour.md VOL-5"},
		{"VOL-6", "upstream lists what is there at once, in any order; here late volumes are waited for, and only those of data partitions are listed, by offset; an offline disk is an error", "architecture.md, Differences from upstream"},
		{"VOL-7", "upstream: an unknown disk has no volumes; here it is an error", "behaviour.md VOL-7"},
		{"VOL-8", "upstream 1.1: a disk without volumes has one without a name; here none", "behaviour.md VOL-8"},
		{"VOL-11", "upstream: a dead mount point is not empty; here it is removed, and the volume mounted", "architecture.md, Differences from upstream"},
		{"VOL-14", "upstream: another spelling of an id is another volume; here the same", "behaviour.md VOL-14"},
		{"VOL-15", "upstream: the error is what the thread asked last; here what the call answered", "behaviour.md VOL-15"},
		{"VOL-16", "upstream drops what is not UTF-16; here it is an error", "behaviour.md VOL-16"},
		{"VOL-18", "upstream: a volume that is gone cannot be unmounted; here its mount point is removed", "architecture.md, Differences from upstream"},
		{"VOL-19", "upstream unmounts whatever is mounted at the path; here another volume stays, and is an error", "behaviour.md VOL-19"},
		{"VOL-20", "upstream: nothing to unmount is an error; here it is OK", "architecture.md, Differences from upstream"},
		{"VOL-21", "upstream: what Windows does not know is not formatted; here it is an error where a probe finds something, or cannot read", "architecture.md, The rules"},
		{"VOL-22", "upstream always passes Force; here only where a file system that Windows mounts is formatted again", "architecture.md, Differences from upstream"},
		{"VOL-26", "upstream: growth of less than 100 MiB does nothing; here from 1 MiB on it grows", "architecture.md, Differences from upstream"},
		{"VOL-33", "upstream: a missing path has the bare text of Windows; here it is ErrNotMounted, with the words that EBS searches for", "architecture.md, Differences from upstream"},
		{"VOL-34", "upstream: a plain folder is \"not a mounted folder\"; here it is ErrNotMounted, with those words and with those that EBS searches for", "architecture.md, Differences from upstream"},
		{"VOL-36", "upstream: a link to an ordinary folder has the volume that the folder is on; here none is mounted there", "behaviour.md VOL-36"},
		{"VOL-37", "upstream: a backslash behind a mount folder is an error; here both are the same", "behaviour.md VOL-37"},
		{"VOL-38", "upstream 1.1 follows a circle of links until the process dies; here 63 links are the end, as in Windows", "behaviour.md VOL-38"},
		{"VOL-42", "upstream gives up after 256 steps upwards; here the path is asked for once, and 63 links are the end", "behaviour.md VOL-42"},
		{"VOL-43", "upstream looks for the drive \".\" of a relative path; here it is refused, and so is a share", "behaviour.md VOL-43"},
		{"VOL-44", "upstream follows what is both a link and a mount folder; here what is either, each in its way", "behaviour.md VOL-44"},
		{"VOL-45", "upstream loses the path behind a link to a folder; here the link is followed", "behaviour.md VOL-45"},
		{"TXT-3", "upstream has not the word any more; here a path where something else stands is ResourceExists, and the same link again OK", "architecture.md, Differences from upstream"},
		{"TXT-4", "upstream has not the word any more; here what is not mapped is OK", "architecture.md, Differences from upstream"},
		{"TXT-6", "upstream has not the word any more; here unknown targets and portals are ObjectNotFound", "architecture.md, Differences from upstream"},
		{"TXT-8", "upstream has not the word any more; here nothing to unmount is OK", "architecture.md, Differences from upstream"},
	}
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

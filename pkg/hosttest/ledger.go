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
		{"ISCSI-16", "that SetMutualChapSecret is not in v1alpha1 is only on the wire; what it does has cases"},
		{"SMB-18", "an error field is only in responses on the wire, in v1alpha1 and v1beta1"},
		{"VOL-3", "in which folders a client may mount, and which it may read, is decided by the proxy"},
		{"VOL-9", "disk ids are text only on the wire, up to v1beta2"},
		{"GEN-1", "codes and messages on the wire; what kind an error is has cases (LIB-5)"},
		{"GEN-2", "unknown calls and services are answered by gRPC"},
		{"GEN-3", "requests are decoded by gRPC"},
		{"GEN-4", "requests are decoded by gRPC"},
		{"GEN-5", "responses are encoded by gRPC; in the library none is nil (LIB-6)"},
		{"GEN-6", "to recover from a panic is a server's; that no empty request is one has a case"},
		{"GEN-7", "a client's deadline comes through the proxy; that the library keeps to a context has a case"},
		{"GEN-8", "calls of several versions and connections come through the proxy; that changes of one object exclude each other has a case"},
		{"GEN-9", "versions of a group are only on the wire"},
		{"GEN-10", "older calls are only on the wire"},
		{"GEN-11", "version gates are only on the wire"},
		{"GEN-12", "names of versions are the published client's"},
		{"GEN-13", "pipes are the proxy's"},
		{"GEN-14", "the start of the servers is the proxy's"},
		{"GEN-15", "start and stop of the servers are the proxy's"},
		{"GEN-16", "who may open a pipe is the proxy's"},
		{"GEN-17", "connections that say nothing are met by a server"},
		{"GEN-18", "the authority of a connection is only on the wire"},
		{"GEN-19", "what is logged of a request is the proxy's; that the library tells no secret is shown by another test"},
		{"GEN-20", "the dummy group is upstream's test of its generator"},
		{"FS-7", "working directories are the proxy's"},
		{"FS-8", "working directories are the proxy's"},
		{"FS-9", "working directories are the proxy's; roots of drives, shares and volumes have a case"},
		{"FS-13", "working directories are the proxy's"},
		{"FS-14", "working directories are the proxy's"},
		{"FS-15", "a context is only on the wire, in v1alpha1 and v1beta1"},
		{"FS-16", "a field for errors is only on the wire, in v1alpha1 and v1beta1"},
		{"FS-35", "LinkPath is only on the wire, in v1alpha1 and v1beta1"},
		{"F03", "to which directories a client is confined is the proxy's policy; LIB-4: the library has none"},
	}
}

// NotOurs lists the reports of what code of ours cannot have.
func NotOurs() []Reason {
	return []Reason{
		{"DISK-13", "what PowerShell prints in numbers: no child process is run"},
		{"DISK-25", "what PowerShell hides: no child process is run"},
		{"DISK-27", "digits of what PowerShell prints: no child process is run"},
		{"F11", "how a container sees the host's paths is decided by containerd and the driver's manifest; the groups take those of the host"},
	}
}

// Elsewhere lists what tests of other packages show.
func Elsewhere() []Shown {
	return []Shown{
		{"GEN-19", "test/canary", "TestCalls", "no error, log or text of a request holds a secret"},
		{"ISCSI-9", "pkg/iscsi", "TestConnect_ISCSI9_HandsOver", "neither user nor secret is handed over that is not given"},
		{"ISCSI-14", "pkg/iscsi", "TestDisconnect_ISCSI14_EndedMeanwhile", "a session that ends while it is looked at is no error"},
		{"I06", "test/canary", "TestCalls", "no error, log or text of a request holds a secret"},
		{"LIB-1", "internal/compat", "TestAPI", "types and constructors are upstream's"},
		{"LIB-2", "internal/compat", "TestAPI", "methods are upstream's, and no more"},
		{"LIB-3", "internal/compat", "TestAPI", "spellings are upstream's"},
		{"LIB-5", "internal/compat", "TestResponses", "every method passes Windows' code on"},
		{"LIB-7", "internal/compat", "TestImports", "everything that a driver imports is there on every system"},
		{"LIB-8", "internal/compat", "TestImports", "no package has an init function, or sets the COM security of the process"},
		{"LIB-9", "pkg/smb", "TestLIB9_FilesystemAnswersNil", "a filesystem that answers nil, or fails, is no panic"},
		{"LIB-10", "internal/compat", "TestAPI", "constants have upstream's names, values and types"},
		{"LIB-11", "internal/win/wmi", "TestQuery_Text", "texts of queries are escaped as WQL has it"},
		{"L01", "test/importall", "TestImportAll", "a program that imports all groups, and makes each a thousand times, starts nothing"},
		{"L02", "internal/compat", "TestGoMod", "the library asks for three modules, and tests for two more"},
		{"L11", "internal/win/wmi", "TestClient_CallersThreadIsLeftAlone", "COM is entered on the library's own threads alone"},
		{"L13", "internal/compat", "TestImports", "nothing sets the COM security of the process"},
		{"L15", "internal/win/native", "TestHost_UnsupportedElsewhere", "off Windows everything compiles and is ErrUnsupported"},
		{"L16", "internal/compat", "TestAPI", "upstream's API is compared with"},
		{"L17", "internal/compat", "TestImports", "nothing can start a process"},
		{"L18", "internal/compat", "TestImports", "nothing can start a process"},
		{"L19", "internal/compat", "TestImports", "nothing can start a process"},
		{"L21", "internal/compat", "TestImports", "a driver gets packages of three modules"},
		{"VOL-5", "internal/compat", "TestImports", "nothing can start a process"},
		{"VOL-18", "pkg/volume", "TestUnmountVolume_FlushHangs", "while a flush hangs the volume stays mounted, later calls join it, and offline and Rmdir get through"},
		{"VOL-21", "pkg/volume", "TestFormatVolume_Content", "each signature that a probe knows is told from an empty volume"},
		{"VOL-22", "pkg/volume", "TestFormatVolume_Force", "Force is passed only where Windows mounts a file system"},
		{"VOL-26", "pkg/volume", "TestPlanGrowth_Rules", "whatever the sizes, growth never shrinks, is whole sectors, and misses less than 1 MiB"},
		{"VOL-27", "pkg/volume", "TestResizeVolume_Layouts", "what a partition can take on MBR and GPT, beside others, and with sectors of 4 KiB"},
		{"V07", "pkg/volume", "TestMountVolume_OverDangling", "a dead mount point makes room whatever Windows answers there"},
		{"V09", "pkg/volume", "TestDescribeVolume_V09StaleMounts", "paths that the mount manager keeps although they lead nowhere are told apart"},
		{"V13", "pkg/volume", "TestFormatVolume_V13Joined", "64 callers at once share one format, whoever leaves"},
	}
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
		{"ISCSI-2", "upstream's process ends without a portal; here that is an error", "behaviour.md ISCSI-2"},
		{"ISCSI-3", "upstream cuts ports to 16 bits and passes an empty address on; here both are refused", "architecture.md, Differences from upstream"},
		{"ISCSI-4", "upstream does nothing more for a portal that is registered; here it is asked for its targets again", "architecture.md, Differences from upstream"},
		{"ISCSI-5", "upstream has the bare text of Windows; here a portal that is not registered is NotFound, with the word ObjectNotFound", "architecture.md, Differences from upstream"},
		{"ISCSI-7", "as ISCSI-5", "architecture.md, Differences from upstream"},
		{"ISCSI-8", "as upstream, but as every check of a request InvalidArgument", "architecture.md, Differences from upstream"},
		{"ISCSI-9", "upstream passes user and secret on with NONE, and empty ones; here NONE has neither, and CHAP a secret of 12 to 16 bytes", "architecture.md, Differences from upstream"},
		{"ISCSI-10", "upstream looks at the target alone; here it is connected through the portal of the request, and through another only with multipath", "architecture.md, Differences from upstream"},
		{"ISCSI-13", "upstream closes the first session alone; here every one through the portal, but for disks in use", "architecture.md, Differences from upstream"},
		{"ISCSI-14", "upstream's process ends where a connected target has no session; here that is OK, and every session of several is closed", "behaviour.md ISCSI-14"},
		{"ISCSI-15", "upstream lists the disks that are there; here the first is waited for, and no id is empty", "architecture.md, Differences from upstream"},
		{"ISCSI-16", "upstream takes a secret of any length; here it has 12 to 16 bytes", "architecture.md, Differences from upstream"},
		{"ISCSI-17", "upstream has what WMI answers, which may be an empty list; here every method says that the service does not run", "architecture.md, Differences from upstream"},
		{"SMB-3", "upstream takes host\\share, device paths and characters that a share cannot have; here they are refused", "behaviour.md SMB-3"},
		{"SMB-5", "upstream looks at no credential where a share is mapped; here another one is verified in a logon session of its own, or refused", "field-reports.md M06"},
		{"SMB-7", "upstream takes an error of the question for not mapped, and maps over a stale mapping; here the error is told, and the stale mapping removed first", "behaviour.md SMB-7"},
		{"SMB-9", "upstream's library always requires encryption; here a request may give it up", "field-reports.md M11"},
		{"SMB-10", "upstream looks at the local path after it has mapped; here before", "behaviour.md SMB-10"},
		{"SMB-11", "upstream: a link that is there is an error; here the same link is OK, another AlreadyExists", "architecture.md, Differences from upstream"},
		{"SMB-13", "upstream puts \\\\?\\ before a share; here the link reads as a share", "behaviour.md SMB-13"},
		{"SMB-14", "upstream may make a relative link; here what is no share is refused", "behaviour.md SMB-3"},
		{"SMB-16", "upstream: what is not mapped cannot be removed; here that is OK", "architecture.md, Differences from upstream"},
		{"SYS-1", "upstream 1.1 keeps blanks at the end; here they are cut", "behaviour.md SYS-1"},
		{"SYS-4", "upstream 1.1 takes a name for a pattern; here it is literal", "behaviour.md SYS-4"},
		{"SYS-6", "upstream's text ends in a formatting mistake; here it has Windows' reason", "behaviour.md SYS-6"},
		{"SYS-7", "upstream sees a state one look late, and calls a service late that died; here the new state counts", "behaviour.md SYS-7"},
		{"SYS-9", "upstream drops the cause; here the dependents are named", "behaviour.md SYS-9"},
		{"SYS-10", "upstream names the service that was to be stopped; here the one that failed", "behaviour.md SYS-10"},
		{"SYS-12", "upstream looks at running dependents alone; here at all that are not stopped", "behaviour.md SYS-12"},
		{"SYS-14", "upstream stops whatever service it is told to; here what keeps a node alive and safe is never stopped", "behaviour.md SYS-14"},
		{"VOL-3", "upstream reads no path before Windows does; here a path is parsed as Windows means it, and refused where it is none", "architecture.md, Paths"},
		{"VOL-4", "upstream: UnmountVolume of an unknown volume is an error; here it is OK where nothing is mounted, and an error where something is", "architecture.md, Differences from upstream"},
		{"VOL-5", "upstream 1.1 puts ids and paths into commands; here nothing is run", "behaviour.md VOL-5"},
		{"VOL-6", "upstream lists what is there at once, in any order; here late volumes are waited for, and only those of data partitions are listed, by offset; an offline disk is an error", "architecture.md, Differences from upstream"},
		{"VOL-7", "upstream: an unknown disk has no volumes; here it is an error", "behaviour.md VOL-7"},
		{"VOL-8", "upstream 1.1: a disk without volumes has one without a name; here none", "behaviour.md VOL-8"},
		{"VOL-11", "upstream: a dead mount point is not empty; here it is removed, and the volume mounted", "architecture.md, Differences from upstream"},
		{"VOL-14", "upstream: another spelling of an id is another volume; here the same", "behaviour.md VOL-14"},
		{"VOL-15", "upstream: the error is what the thread asked last; here what the call answered", "behaviour.md VOL-15"},
		{"VOL-16", "upstream drops the error of a text that has no UTF-16 form; here it is one", "behaviour.md VOL-16"},
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
		{"FS-1", "upstream counts bytes, and holds all calls to 260; here ValidatePathWindows counts UTF-16 units, and the groups take 32,767", "architecture.md, Differences from upstream"},
		{"FS-2", "upstream refuses a backslash in front; here only ValidatePathWindows does, and the groups take \\dir, \\\\host\\share and \\\\?\\ paths", "architecture.md, Differences from upstream"},
		{"FS-3", "as FS-2", "architecture.md, Differences from upstream"},
		{"FS-4", "upstream refuses every slash; here only ValidatePathWindows does, and for the groups a slash is a backslash", "architecture.md, Differences from upstream"},
		{"FS-5", "upstream refuses a..b; here only ValidatePathWindows does, and the groups refuse the element .. alone", "architecture.md, Differences from upstream"},
		{"FS-9", "upstream removes a working directory itself; here no root of a drive, share or volume is removed or emptied", "behaviour.md FS-9"},
		{"FS-10", "upstream leaves <, > and control characters to Windows; here they are refused", "behaviour.md FS-10"},
		{"FS-11", "upstream takes names that Windows changes; here device names and dots and blanks at the end are refused, doubled backslashes and . elements dropped", "architecture.md, Paths"},
		{"FS-12", "upstream makes and removes through links; here Mkdir, Rmdir and RmdirContents refuse a link among the parents", "architecture.md, Differences from upstream"},
		{"FS-23", "upstream has the bare text of Windows; here the error names the file that is in the way", "behaviour.md FS-23"},
		{"FS-28", "upstream may reach into a mounted volume; here a mount folder at the path is unmounted, one below it stays mounted and is an error", "architecture.md, Differences from upstream"},
		{"FS-29", "upstream answers nil; here a response is never nil", "behaviour.md FS-29"},
		{"FS-32", "upstream: any target that exists is an error; here the same link again is OK", "architecture.md, Differences from upstream"},
		{"FS-34", "upstream makes a file link to a missing source; here that is NotFound, or a directory link where the request allows it", "architecture.md, Differences from upstream"},
		{"FS-38", "as upstream; here LinkState tells a dangling link from a directory", "architecture.md, Differences from upstream"},
		{"FS-40", "upstream does not look at the path of IsSymlink; here it is parsed as every path", "behaviour.md FS-40"},
		{"FS-41", "upstream looks a relative link up from its own directory, and follows one link; here from the link's, to the end", "behaviour.md FS-41"},
		{"FS-42", "upstream takes every Microsoft reparse point for a mount folder; here only mount points are", "behaviour.md FS-42"},
		{"FS-43", "upstream leaves a handle open; here all are closed", "behaviour.md FS-43"},
		{"FS-44", "upstream: a file's link is a mount folder, and a share's long form is wrong; here neither", "behaviour.md FS-44"},
		{"GEN-7", "upstream does not look at contexts; here every call ends with its own", "architecture.md, Contexts, locks and hangs"},
		{"GEN-8", "upstream locks nothing; here changes of one object exclude each other", "architecture.md, Contexts, locks and hangs"},
		{"LIB-5", "upstream drops the cause of two errors; here none is dropped", "architecture.md, Errors"},
		{"LIB-6", "upstream panics at a nil request; here it is InvalidArgument", "architecture.md, Errors"},
		{"LIB-7", "upstream builds on Windows alone; here everything builds everywhere", "architecture.md, The rules"},
		{"LIB-8", "upstream sets COM security when it is imported; here nothing happens then", "architecture.md, The rules"},
		{"LIB-9", "upstream uses a response without a look at the error; here not", "behaviour.md LIB-9"},
		{"LIB-11", "upstream doubles the quotation mark; here it is escaped as WQL has it", "behaviour.md LIB-11"},
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

// SPDX-License-Identifier: Apache-2.0

package filesystem

// PathExistsRequest names a path.
type PathExistsRequest struct {
	Path string
}

// PathExistsResponse says whether something is there.
type PathExistsResponse struct {
	Exists bool
}

// PathValidRequest names a path in any form.
type PathValidRequest struct {
	Path string
}

// PathValidResponse says whether Windows finds it.
type PathValidResponse struct {
	Valid bool
}

// MkdirRequest names the directory to make.
type MkdirRequest struct {
	Path string
}

// MkdirResponse is empty.
type MkdirResponse struct{}

// RmdirRequest names what to remove.
type RmdirRequest struct {
	Path string

	// Force removes a directory with all below it, and takes a missing path
	// for success.
	Force bool
}

// RmdirResponse is empty.
type RmdirResponse struct{}

// RmdirContentsRequest names the directory to empty.
type RmdirContentsRequest struct {
	Path string
}

// RmdirContentsResponse is empty.
type RmdirContentsResponse struct{}

// CreateSymlinkRequest names a link and where it leads.
type CreateSymlinkRequest struct {
	// SourcePath is where the link leads. A backslash at its end is kept in
	// the link (behaviour.md SMB-12).
	SourcePath string

	// TargetPath is the link.
	TargetPath string

	// AllowMissing makes a directory link where SourcePath is missing. The zero
	// value does not, because such a link serves nobody (field-reports.md F08).
	AllowMissing bool
}

// CreateSymlinkResponse is empty.
type CreateSymlinkResponse struct{}

// IsSymlinkRequest names a path.
type IsSymlinkRequest struct {
	Path string
}

// IsSymlinkResponse says whether a live link or mount folder is there.
type IsSymlinkResponse struct {
	IsSymlink bool
}

// LinkStateRequest names a path.
type LinkStateRequest struct {
	Path string
}

// LinkStateResponse is what stands at a path.
type LinkStateResponse struct {
	State LinkState
	Kind  LinkKind

	// Target is what the link says, as os.Readlink spells it: C:\dir,
	// \\host\share\, \\?\Volume{guid}\, or a relative path.
	Target string

	// FinalTarget is where the whole chain of links ends, or ended for a
	// dangling one.
	FinalTarget string
}

// LinkState says whether a link leads to something.
type LinkState int

// The states.
const (
	NotALink LinkState = iota
	LiveLink
	DanglingLink
)

// String is "not a link", "live" or "dangling".
func (s LinkState) String() string { return name(s, "not a link", "live", "dangling") }

// LinkKind is the kind of a link.
type LinkKind int

// The kinds. A MountPoint is a folder where a volume is mounted; a Junction
// leads to a directory.
const (
	NoLink LinkKind = iota
	Symlink
	Junction
	MountPoint
)

// String is "none", "symbolic link", "junction" or "mount point".
func (k LinkKind) String() string {
	return name(k, "none", "symbolic link", "junction", "mount point")
}

// name is the name of a small number, "unknown" beyond the list.
func name[N ~int](n N, names ...string) string {
	if n < 0 || int(n) >= len(names) {
		return "unknown"
	}
	return names[n]
}

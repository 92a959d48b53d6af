// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// attributesSettable are the attributes that FILE_BASIC_INFO can change:
// read-only, hidden, system, archive, temporary, offline, not indexed.
const attributesSettable = 0x3127

// rootID is the file reference of an NTFS root directory: record 5, sequence 5.
const rootID = 0x0005_0000_0000_0005

// firstRecord is the first record that NTFS gives to a user's file. Records
// are not used again here, so an id names one file for ever.
const firstRecord = 0x0001_0000_0000_0027

// tree is the namespace of one NTFS volume: names that keep their case and
// ignore it, file ids, attributes and reparse points. It knows nothing of
// paths, handles or other volumes. The node's lock guards it.
type tree struct {
	root   *entry
	nextID uint64
}

// entry is a file or directory. Its contents are a size.
type entry struct {
	name       string
	parent     *entry // nil: a root, or removed from the namespace
	children   map[foldedName]*entry
	id         uint64
	attributes uint32            // the settable ones
	times      abi.FileBasicInfo // without its attributes
	size       int64
	reparse    []byte // REPARSE_DATA_BUFFER, nil for none

	opens    int  // open handles of this model's user
	held     int  // handles that do not share deletion: pinned, or foreign (HoldOpen)
	deleters int  // open handles that may delete
	deleting bool // removed with its last handle
	removed  bool // no longer in the namespace
}

// created is the time stamp of every new entry, 2024-01-01 00:00 UTC as a
// FILETIME: a node behaves the same in every run.
const created = 133_485_408_000_000_000

func newTree() *tree {
	return &tree{root: newEntry("", rootID, true), nextID: firstRecord}
}

func newEntry(name string, id uint64, directory bool) *entry {
	times := abi.FileBasicInfo{CreationTime: created, LastAccessTime: created, LastWriteTime: created, ChangeTime: created}
	e := &entry{name: name, id: id, times: times}
	if directory {
		e.children = map[foldedName]*entry{}
	} else {
		e.attributes = abi.FILE_ATTRIBUTE_ARCHIVE
	}
	return e
}

func (e *entry) isDirectory() bool { return e.children != nil }
func (e *entry) isRoot() bool      { return e.parent == nil && !e.removed }

// child returns the entry called name, in any case, or nil.
func (e *entry) child(name string) *entry { return e.children[foldName(name)] }

// sortedNames are the keys of the children, in the order of an NTFS directory.
func (e *entry) sortedNames() []foldedName {
	keys := make([]foldedName, 0, len(e.children))
	for k := range e.children {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// path returns the names from the root to e.
func (e *entry) path() []string {
	var names []string
	for ; e.parent != nil; e = e.parent {
		names = append(names, e.name)
	}
	slices.Reverse(names)
	return names
}

// create adds a file or directory to a directory.
func (t *tree) create(parent *entry, name string, directory bool) (*entry, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	key := foldName(name)
	if parent.children[key] != nil {
		return nil, win.ERROR_ALREADY_EXISTS // STATUS_OBJECT_NAME_COLLISION
	}
	if parent.deleting || parent.removed {
		return nil, win.ERROR_ACCESS_DENIED // STATUS_DELETE_PENDING
	}
	// What is not UTF-8 is kept as Windows' units would say it.
	e := newEntry(abi.DecodeUTF16(abi.EncodeUTF16(name)), t.nextID, directory)
	e.parent = parent
	parent.children[key] = e
	t.nextID++
	return e, nil
}

// links is NumberOfLinks: 1, and 0 where the name is going or gone.
func (e *entry) links() uint32 {
	if e.deleting || e.removed {
		return 0
	}
	return 1
}

// checkRemovable tells whether e may be removed from the namespace.
func (e *entry) checkRemovable(ignoreReadOnly bool) error {
	switch {
	case e.isRoot(), e.attributes&abi.FILE_ATTRIBUTE_READONLY != 0 && !ignoreReadOnly:
		return win.ERROR_ACCESS_DENIED // STATUS_CANNOT_DELETE
	case len(e.children) > 0:
		return win.ERROR_DIR_NOT_EMPTY
	}
	return nil
}

// remove takes e out of its directory. Open handles keep it.
func (e *entry) remove() {
	if e.isRoot() || e.removed {
		return
	}
	delete(e.parent.children, foldName(e.name))
	e.parent, e.removed = nil, true
}

// allAttributes are the attributes as Windows reports them.
func (e *entry) allAttributes() uint32 {
	a := e.attributes
	if e.isDirectory() {
		a |= abi.FILE_ATTRIBUTE_DIRECTORY
	}
	if e.reparse != nil {
		a |= abi.FILE_ATTRIBUTE_REPARSE_POINT
	}
	if a == 0 {
		return abi.FILE_ATTRIBUTE_NORMAL
	}
	return a
}

// basic is the entry's FILE_BASIC_INFO.
func (e *entry) basic() abi.FileBasicInfo {
	info := e.times
	info.Attributes = e.allAttributes()
	return info
}

// setBasic changes attributes and times. Attributes of 0 change nothing,
// FILE_ATTRIBUTE_NORMAL clears; a time of 0 changes nothing, and neither do -1
// and -2, which say how a handle's own use counts.
func (e *entry) setBasic(info abi.FileBasicInfo) error {
	if info.Attributes&abi.FILE_ATTRIBUTE_DIRECTORY != 0 && !e.isDirectory() {
		return win.ERROR_INVALID_PARAMETER
	}
	times := e.times
	set := func(to *int64, t int64) bool {
		if t > 0 {
			*to = t
		}
		return t >= -2
	}
	if !set(&times.CreationTime, info.CreationTime) || !set(&times.LastAccessTime, info.LastAccessTime) ||
		!set(&times.LastWriteTime, info.LastWriteTime) || !set(&times.ChangeTime, info.ChangeTime) {
		return win.ERROR_INVALID_PARAMETER
	}
	e.times = times
	if info.Attributes != 0 {
		e.attributes = info.Attributes & attributesSettable
	}
	return nil
}

// tag is the reparse tag, 0 for none.
func (e *entry) tag() abi.ReparseTag { return reparseTag(e.reparse) }

// setReparse makes e a reparse point (FSCTL_SET_REPARSE_POINT,
// windows-api.md 8.1). A point of another kind must be deleted first.
func (e *entry) setReparse(data []byte) error {
	point, err := checkReparse(data)
	if err != nil {
		return err
	}
	switch tag := point.Tag; {
	case e.reparse != nil && e.tag() != tag:
		return win.ERROR_REPARSE_TAG_MISMATCH
	case tag == abi.IO_REPARSE_TAG_MOUNT_POINT && !e.isDirectory():
		return win.ERROR_DIRECTORY
	case len(e.children) > 0:
		return win.ERROR_DIR_NOT_EMPTY
	}
	e.reparse = slices.Clone(data)
	return nil
}

// deleteReparse makes e an ordinary file or directory again. data names the
// tag to delete and carries no data of its own.
func (e *entry) deleteReparse(data []byte) error {
	switch {
	case reparseTag(data) == 0:
		return win.ERROR_INVALID_REPARSE_DATA
	case e.reparse == nil:
		return win.ERROR_NOT_A_REPARSE_POINT
	case e.tag() != reparseTag(data):
		return win.ERROR_REPARSE_TAG_MISMATCH
	}
	e.reparse = nil
	return nil
}

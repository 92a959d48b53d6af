// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// file is an open file, directory or reparse point.
type file struct {
	node   *Node
	volume *volume
	tree   *tree
	entry  *entry
	access win.Access
	pinned bool
	closed bool

	posix  bool // remove the name with this handle, not with the last one
	cursor cursor
}

// check tells whether the handle still works and has the rights of a call.
func (f *file) check(rights win.Access) error {
	switch {
	case f.closed:
		return win.ERROR_INVALID_HANDLE
	case f.access&rights != rights:
		return win.ERROR_ACCESS_DENIED
	}
	return f.checkVolume()
}

// checkVolume tells whether the volume still answers, and with the file system
// of then.
func (f *file) checkVolume() error {
	switch {
	case !f.volume.online(time.Now()):
		return f.node.staleCode()
	case f.volume.tree != f.tree:
		return win.ERROR_FILE_INVALID // STATUS_VOLUME_DISMOUNTED: formatted since
	}
	return nil
}

// checkChange is check for calls that write.
func (f *file) checkChange(rights win.Access) error {
	if err := f.check(rights); err != nil {
		return err
	}
	if f.volume.readOnly() {
		return win.ERROR_WRITE_PROTECT
	}
	return nil
}

// count counts an open handle, or with -1 one that is closed.
func (f *file) count(n int) {
	f.entry.opens += n
	if f.access&win.Delete != 0 {
		f.entry.deleters += n
	}
	if f.pinned {
		f.entry.held += n
	}
}

func (f *file) Close() error {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if f.closed {
		return win.ERROR_INVALID_HANDLE
	}
	f.closed = true
	f.node.closed()
	f.count(-1)
	if f.entry.deleting && (f.posix || f.entry.opens == 0) && f.checkVolume() == nil {
		f.entry.remove()
		f.volume.used -= f.volume.allocation(f.entry.size)
	}
	return nil
}

func (f *file) Information(class uint32, buf []byte) (int, error) {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()

	var rights win.Access
	if class == abi.FileBasicInfoClass || class == abi.FileAttributeTagInfoClass {
		rights = win.FileReadAttributes
	}
	if err := f.check(rights); err != nil {
		return 0, err
	}
	info := f.information(class)
	switch {
	case info == nil:
		return 0, win.ERROR_INVALID_PARAMETER
	case len(buf) < len(info):
		return 0, win.ERROR_BAD_LENGTH // STATUS_INFO_LENGTH_MISMATCH
	}
	return copy(buf, info), nil
}

// information encodes an information class, nil for one that is not modelled.
func (f *file) information(class uint32) []byte {
	e := f.entry
	switch class {
	case abi.FileBasicInfoClass:
		return e.basic().Encode()
	case abi.FileStandardInfoClass:
		return abi.FileStandardInfo{
			AllocationSize: f.volume.allocation(e.size),
			EndOfFile:      e.size,
			Links:          e.links(),
			DeletePending:  e.deleting,
			Directory:      e.isDirectory(),
		}.Encode()
	case abi.FileAttributeTagInfoClass:
		return abi.FileAttributeTagInfo{Attributes: e.allAttributes(), ReparseTag: e.tag()}.Encode()
	case abi.FileIDInfoClass:
		id := abi.FileIDInfo{VolumeSerialNumber: f.volume.serial64()}
		binary.LittleEndian.PutUint64(id.FileID[:], e.id) // NTFS leaves the upper half 0
		return id.Encode()
	}
	return nil
}

// allocation is a size rounded up to whole allocation units.
func (v *volume) allocation(size int64) int64 {
	unit := max(1, int64(v.unitSize))
	return (size + unit - 1) / unit * unit
}

// serial64 is the serial number that NTFS keeps; programs mostly see its lower
// half.
func (v *volume) serial64() uint64 { return uint64(v.id.Data1)<<32 | uint64(v.fsSerial) }

func (f *file) SetInformation(class uint32, buf []byte) error {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	switch class {
	case abi.FileBasicInfoClass:
		return f.setBasic(buf)
	case abi.FileDispositionInfoClass:
		return f.setDisposition(buf)
	case abi.FileDispositionInfoExClass:
		return f.setDispositionEx(buf)
	}
	return win.ERROR_INVALID_PARAMETER
}

func (f *file) setBasic(buf []byte) error {
	if err := f.checkChange(win.FileWriteAttributes); err != nil {
		return err
	}
	info, err := abi.DecodeFileBasicInfo(buf)
	if err != nil {
		return win.ERROR_BAD_LENGTH
	}
	return f.entry.setBasic(info)
}

// setDisposition removes the name with the last handle.
func (f *file) setDisposition(buf []byte) error {
	if err := f.checkChange(win.Delete); err != nil {
		return err
	}
	remove, err := abi.DecodeFileDispositionInfo(buf)
	if err != nil {
		return win.ERROR_BAD_LENGTH
	}
	return f.dispose(remove, false, false)
}

// setDispositionEx with POSIX semantics removes the name when this handle is
// closed, whoever else has the file open.
func (f *file) setDispositionEx(buf []byte) error {
	const known = abi.FILE_DISPOSITION_FLAG_DELETE | abi.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS |
		abi.FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE
	if err := f.checkChange(win.Delete); err != nil {
		return err
	}
	flags, err := abi.DecodeFileDispositionInfoEx(buf)
	switch {
	case err != nil:
		return win.ERROR_BAD_LENGTH
	case !f.volume.reparses() || flags&^known != 0: // FAT does not know the class
		return win.ERROR_INVALID_PARAMETER
	}
	has := func(flag uint32) bool { return flags&flag != 0 }
	return f.dispose(has(abi.FILE_DISPOSITION_FLAG_DELETE),
		has(abi.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS),
		has(abi.FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE))
}

// dispose marks the entry for removal, or not. Removing the directory of a
// mounted folder tells the mount manager nothing (windows-api.md 7.4).
func (f *file) dispose(remove, posix, ignoreReadOnly bool) error {
	if remove {
		if err := f.entry.checkRemovable(ignoreReadOnly); err != nil {
			return err
		}
	}
	f.entry.deleting, f.posix = remove, posix
	return nil
}

// Control answers the reparse point codes (windows-api.md 8.1).
func (f *file) Control(code uint32, in, out []byte) (int, error) {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	switch code {
	case abi.FSCTL_GET_REPARSE_POINT:
		return f.getReparse(out)
	case abi.FSCTL_SET_REPARSE_POINT:
		return 0, f.changeReparse(f.entry.setReparse, in)
	case abi.FSCTL_DELETE_REPARSE_POINT:
		return 0, f.changeReparse(f.entry.deleteReparse, in)
	}
	if err := f.check(0); err != nil {
		return 0, err
	}
	return 0, win.ERROR_INVALID_FUNCTION
}

func (f *file) getReparse(out []byte) (int, error) {
	if err := f.check(0); err != nil {
		return 0, err
	}
	switch data := f.entry.reparse; {
	case !f.volume.reparses():
		return 0, win.ERROR_INVALID_FUNCTION
	case data == nil:
		return 0, win.ERROR_NOT_A_REPARSE_POINT
	case len(out) < reparseHeaderSize:
		return 0, win.ERROR_INSUFFICIENT_BUFFER
	case len(out) < len(data):
		return copy(out, data), win.ERROR_MORE_DATA
	default:
		return copy(out, data), nil
	}
}

// changeReparse applies a change, which FILE_WRITE_DATA or
// FILE_WRITE_ATTRIBUTES allows. The mount manager does not hear of it.
func (f *file) changeReparse(change func([]byte) error, data []byte) error {
	if err := f.checkChange(0); err != nil {
		return err
	}
	switch {
	case f.access&(win.FileWriteData|win.FileWriteAttributes) == 0:
		return win.ERROR_ACCESS_DENIED
	case !f.volume.reparses():
		return win.ERROR_INVALID_FUNCTION
	case f.entry.isRoot():
		return win.ERROR_ACCESS_DENIED
	}
	return change(data)
}

// cursor is how far a handle has listed its directory: names behind last are
// still to come, whatever was added or removed meanwhile.
type cursor struct {
	started bool
	dots    int // of . and .., how many are done
	last    foldedName
}

// List fills buf with FILE_ID_BOTH_DIR_INFO entries. An entry that alone does
// not fit is ERROR_MORE_DATA and stays the next one. A reparse point lists its
// own directory, which is empty, and never its target's.
func (f *file) List(buf []byte, restart bool) (int, error) {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if err := f.check(win.FileReadData); err != nil {
		return 0, err
	}
	if !f.entry.isDirectory() {
		return 0, win.ERROR_INVALID_PARAMETER
	}
	if restart {
		f.cursor = cursor{}
	}
	first := !f.cursor.started
	f.cursor.started = true

	pending := f.entry.listAfter(f.cursor)
	count, n := abi.EncodeDirEntries(buf, pending)
	for _, listed := range pending[:count] {
		f.cursor.pass(listed.Name)
	}
	switch {
	case count > 0:
		return n, nil
	case len(pending) > 0:
		return 0, win.ERROR_MORE_DATA
	case first:
		// STATUS_NO_SUCH_FILE: an empty root, which has no . and .. either [K].
		return 0, win.ERROR_FILE_NOT_FOUND
	}
	return 0, win.ERROR_NO_MORE_FILES
}

func (c *cursor) pass(name string) {
	if name == "." || name == ".." {
		c.dots++
		return
	}
	c.last = foldName(name)
}

// listAfter are the entries behind a cursor, in the order of an NTFS
// directory. A root has no . and .. of its own.
func (e *entry) listAfter(c cursor) []abi.DirEntry {
	var list []abi.DirEntry
	if !e.isRoot() {
		parent := e
		if e.parent != nil {
			parent = e.parent
		}
		list = append(list, e.dirEntry("."), parent.dirEntry(".."))[c.dots:]
	}
	for _, key := range e.sortedNames() {
		if key > c.last {
			list = append(list, e.children[key].dirEntry(e.children[key].name))
		}
	}
	return list
}

func (e *entry) dirEntry(name string) abi.DirEntry {
	return abi.DirEntry{
		Name:          name,
		Attributes:    e.allAttributes(),
		ReparseTag:    e.tag(),
		EndOfFile:     e.size,
		LastWriteTime: e.times.LastWriteTime,
		FileID:        e.id,
	}
}

// FinalPath is the path of the open object. The DOS form needs a drive letter
// or a mounted folder of its volume; else it is ERROR_PATH_NOT_FOUND
// (GetFinalPathNameByHandleW; that a folder serves is an assumption [K]).
func (f *file) FinalPath(flags uint32) (string, error) {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if err := f.check(0); err != nil {
		return "", err
	}
	if f.entry.removed {
		return "", win.ERROR_FILE_NOT_FOUND
	}
	if f.volume.remote != "" {
		return f.remotePath(flags)
	}
	root := f.volume.name()
	switch flags {
	case win.VolumeNameGUID:
	case win.VolumeNameDOS:
		dos, ok := f.node.dosRoot(f.volume)
		if !ok {
			return "", win.ERROR_PATH_NOT_FOUND
		}
		root = `\\?\` + dos
	default:
		return "", win.ERROR_INVALID_PARAMETER
	}
	return root + strings.Join(f.entry.path(), `\`), nil
}

// remotePath is FinalPath on a file server, whose volumes have no name here.
func (f *file) remotePath(flags uint32) (string, error) {
	switch flags {
	case win.VolumeNameDOS:
		return extendedPrefix + f.volume.remote + strings.Join(f.entry.path(), `\`), nil
	case win.VolumeNameGUID:
		return "", win.ERROR_PATH_NOT_FOUND
	}
	return "", win.ERROR_INVALID_PARAMETER
}

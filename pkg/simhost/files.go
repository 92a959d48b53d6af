// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"strings"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// files is the node's [win.Files]: the trees of its volumes.
type files struct{ node *Node }

// notBelowReparse is the answer to an open relative to the handle of a reparse
// point, which is no way into its target. The code is an assumption [K].
const notBelowReparse = win.ERROR_DIRECTORY

func (fs files) Open(directory win.File, name string, how win.OpenFile) (opened win.File, err error) {
	err = fs.node.patiently(func() error {
		opened, err = fs.node.open(directory, name, how)
		return err
	})
	return opened, err
}

func (n *Node) open(directory win.File, name string, how win.OpenFile) (win.File, error) {
	if err := checkOpen(how); err != nil {
		return nil, err
	}
	p, err := n.placeOf(directory, name)
	if err != nil {
		return nil, err
	}
	e, err := p.open(how)
	if err != nil {
		return nil, err
	}
	f := &file{node: n, volume: p.volume, tree: p.volume.tree, entry: e, access: generic(how.Access), pinned: pins(how)}
	f.count(1)
	n.opened()
	return f, nil
}

// pins: who opens a file for no more than its attributes has no part in sharing.
func pins(how win.OpenFile) bool {
	return how.Pinned && generic(how.Access)&(win.FileReadData|win.FileWriteData|win.FileAppendData|win.Delete) != 0
}

// checkOpen refuses what NtCreateFile refuses before it looks at a name.
func checkOpen(how win.OpenFile) error {
	const kinds = win.FileDirectoryFile | win.FileNonDirectoryFile
	switch {
	case how.Disposition != win.OpenExisting && how.Disposition != win.CreateNew,
		how.Options&^kinds != 0, how.Options&kinds == kinds:
		return win.ERROR_INVALID_PARAMETER
	}
	return nil
}

// generic replaces generic rights by those that files map them to.
func generic(a win.Access) win.Access {
	if a&win.GenericRead != 0 {
		a |= win.FileReadData | win.FileReadAttributes
	}
	if a&win.GenericWrite != 0 {
		a |= win.FileWriteData | win.FileAppendData | win.FileWriteAttributes
	}
	return a
}

// placeOf finds a whole path, or one element below an open directory.
func (n *Node) placeOf(directory win.File, name string) (place, error) {
	if directory == nil {
		return n.resolve(name, false)
	}
	d, ok := directory.(*file)
	if !ok || d.node != n {
		return place{}, win.ERROR_INVALID_HANDLE
	}
	if err := d.check(0); err != nil {
		return place{}, err
	}
	// NT takes a\b here too; the boundary promises one element.
	if err := checkName(name); err != nil {
		return place{}, err
	}
	switch {
	case d.entry.reparse != nil:
		return place{}, notBelowReparse
	case !d.entry.isDirectory():
		return place{}, win.ERROR_PATH_NOT_FOUND
	}
	p := place{volume: d.volume, entry: d.entry.child(name)}
	if p.entry == nil {
		p.parent, p.name = d.entry, name
	}
	return p, nil
}

// open opens or creates what stands at a place. The codes are those to which
// Windows maps the status of NtCreateFile.
func (p place) open(how win.OpenFile) (*entry, error) {
	if p.entry == nil {
		return p.create(how)
	}
	e := p.entry
	create := how.Disposition == win.CreateNew
	switch {
	case e.deleting: // STATUS_DELETE_PENDING
		return nil, win.ERROR_ACCESS_DENIED
	case create && e.isRoot(): // as CreateDirectory answers for a drive [K]
		return nil, win.ERROR_ACCESS_DENIED
	case create:
		return nil, win.ERROR_ALREADY_EXISTS
	case !e.isDirectory() && p.slash:
		return nil, win.ERROR_INVALID_NAME
	case !e.isDirectory() && how.Options&win.FileDirectoryFile != 0:
		return nil, win.ERROR_DIRECTORY
	case e.isDirectory() && how.Options&win.FileNonDirectoryFile != 0:
		return nil, win.ERROR_ACCESS_DENIED // STATUS_FILE_IS_A_DIRECTORY
	case e.held > 0 && how.Access&win.Delete != 0, e.deleters > 0 && pins(how):
		return nil, win.ERROR_SHARING_VIOLATION
	}
	return e, nil
}

// create adds what a place lacks.
func (p place) create(how win.OpenFile) (*entry, error) {
	directory := how.Options&win.FileDirectoryFile != 0
	switch {
	case how.Disposition != win.CreateNew:
		return nil, win.ERROR_FILE_NOT_FOUND
	case p.slash && !directory:
		return nil, win.ERROR_INVALID_NAME
	case p.volume.readOnly():
		return nil, win.ERROR_WRITE_PROTECT
	}
	return p.volume.tree.create(p.parent, p.name, directory)
}

// SymbolicLink creates a link as CreateSymbolicLinkW does (windows-api.md 8.1):
// an absolute target is kept as an NT path, everything else as it stands.
func (fs files) SymbolicLink(link, target string, flags uint32) error {
	// SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE
	const unprivileged = 0x2

	if target == "" || flags&^(win.SymbolicLinkFlagDirectory|unprivileged) != 0 {
		return win.ERROR_INVALID_PARAMETER
	}
	return fs.node.patiently(func() error { return fs.node.link(link, target, flags) })
}

func (n *Node) link(link, target string, flags uint32) error {
	p, err := n.resolve(link, false)
	if err != nil {
		return err
	}
	if !p.volume.reparses() {
		return win.ERROR_INVALID_FUNCTION
	}
	data, err := encodeSymlink(target)
	if err != nil {
		return err
	}
	how := win.OpenFile{Disposition: win.CreateNew}
	if flags&win.SymbolicLinkFlagDirectory != 0 {
		how.Options = win.FileDirectoryFile
	}
	e, err := p.open(how)
	if err != nil {
		return err
	}
	return e.setReparse(data)
}

// reparses reports whether the volume's file system has reparse points.
func (v *volume) reparses() bool {
	return strings.EqualFold(v.fs, "NTFS") || strings.EqualFold(v.fs, "ReFS")
}

// HoldOpen opens path as a foreign process would that does not share deletion
// (a virus scanner, a container): until release is called, opening it for
// deletion fails with ERROR_SHARING_VIOLATION. It fails as an open does.
func (n *Node) HoldOpen(path string) (release func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p, err := n.resolve(extended(path), false)
	if err != nil {
		return nil, err
	}
	if p.entry == nil {
		return nil, win.ERROR_FILE_NOT_FOUND
	}
	p.entry.held++
	return sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		p.entry.held--
	}), nil
}

// AddFile writes a file of size bytes into an existing directory, as a workload
// does: links on the way are followed, and the volume has less free space until
// the file is removed. It fails as a write does, with ERROR_DISK_FULL where the
// file does not fit.
func (n *Node) AddFile(path string, size int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	p, err := n.resolve(extended(path), true)
	switch {
	case err != nil:
		return err
	case p.entry != nil:
		return win.ERROR_ALREADY_EXISTS
	case size < 0:
		return win.ERROR_INVALID_PARAMETER
	case p.volume.allocation(size) > p.volume.fsSize-p.volume.used:
		return win.ERROR_DISK_FULL
	}
	e, err := p.create(win.OpenFile{Disposition: win.CreateNew})
	if err != nil {
		return err
	}
	e.size = size
	p.volume.used += p.volume.allocation(size)
	return nil
}

// extended gives a drive path its extended form; other forms stay.
func extended(path string) string {
	if len(path) >= 2 && path[1] == ':' {
		return `\\?\` + path
	}
	return path
}

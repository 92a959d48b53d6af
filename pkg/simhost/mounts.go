// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// mounts is the node's [win.Mounts]: its mount manager.
type mounts struct{ node *Node }

func (m mounts) Volumes() ([]string, error) {
	n := m.node
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for _, v := range n.sortedVolumes() {
		names = append(names, v.name())
	}
	return names, nil
}

// Paths answers from the mount manager's database and looks at no folder
// (windows-api.md 7.2).
func (m mounts) Paths(volume string) ([]string, error) {
	n := m.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := parseVolumeName(volume); !ok || !strings.HasSuffix(volume, `\`) {
		return nil, win.ERROR_INVALID_NAME
	}
	v, ok := n.volumeByName(volume)
	if !ok {
		return nil, win.ERROR_FILE_NOT_FOUND
	}
	return n.pathsOf(v), nil
}

// pathsOf are a volume's drive root and folders, in this order.
func (n *Node) pathsOf(v *volume) []string {
	var paths []string
	if letter, ok := n.letterOf(v); ok {
		paths = append(paths, string(letter)+`:\`)
	}
	var folders []string
	for _, p := range n.pointsOf[v.id] {
		folders = append(folders, p.text)
	}
	slices.Sort(folders)
	return append(paths, folders...)
}

func (n *Node) letterOf(v *volume) (byte, bool) {
	for letter := byte('A'); letter <= 'Z'; letter++ {
		if id, ok := n.letters[letter]; ok && id == v.id {
			return letter, true
		}
	}
	return 0, false
}

// dosRoot is the first of a volume's paths, C:\ or C:\folder\.
func (n *Node) dosRoot(v *volume) (string, bool) {
	paths := n.pathsOf(v)
	if len(paths) == 0 {
		return "", false
	}
	return paths[0], true
}

// VolumeAt looks at the mount point itself and never up from a deeper path
// (windows-api.md 7.3).
func (m mounts) VolumeAt(mountPoint string) (string, error) {
	n := m.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if !strings.HasSuffix(mountPoint, `\`) {
		return "", win.ERROR_INVALID_NAME
	}
	if v, root, ok := n.rootOf(mountPoint); root {
		if !ok {
			return "", win.ERROR_FILE_NOT_FOUND
		}
		return v.name(), nil
	}
	p, err := n.folder(mountPoint)
	if err != nil {
		return "", err
	}
	id, err := n.mountedAt(p.entry)
	if err != nil {
		return "", err
	}
	if _, ok := n.volumeByID(id); !ok && !n.switches.DeadVolumeNamed {
		return "", win.ERROR_FILE_NOT_FOUND
	}
	return volumeName(id), nil
}

// rootOf tells whether a path is a drive or volume root, and whose. A root is
// the device's, so it needs no file system.
func (n *Node) rootOf(path string) (v *volume, root, ok bool) {
	device := strings.TrimSuffix(strings.TrimPrefix(path, `\\?\`), `\`)
	if len(device) == 2 && device[1] == ':' {
		v, ok = n.volumeByLetter(device[0])
		return v, true, ok
	}
	if _, root = parseVolumeName(path); root {
		v, ok = n.volumeByName(path)
	}
	return v, root, ok
}

// folder opens a directory for the mount manager, without following a reparse
// point at its end.
func (n *Node) folder(path string) (place, error) {
	p, err := n.resolve(extended(path), false)
	switch {
	case err != nil:
		return place{}, err
	case p.entry == nil:
		return place{}, win.ERROR_FILE_NOT_FOUND
	case !p.entry.isDirectory():
		return place{}, win.ERROR_DIRECTORY
	}
	return p, nil
}

// folderText is how the database spells a folder: free of links, in its
// volume's DOS form if that has one.
func (n *Node) folderText(p place) string {
	root, ok := n.dosRoot(p.volume)
	if !ok {
		root = p.volume.name()
	}
	return root + strings.Join(p.entry.path(), `\`) + `\`
}

// mountedAt is the volume that a directory's reparse point names. Which code
// says that there is none is an assumption [K], hence the switch.
func (n *Node) mountedAt(e *entry) (abi.GUID, error) {
	plain, other := win.ERROR_NOT_A_REPARSE_POINT, win.ERROR_INVALID_PARAMETER
	if n.switches.PlainDirectoryInvalid {
		plain, other = other, plain
	}
	if e.reparse == nil {
		return abi.GUID{}, plain
	}
	point, err := abi.DecodeReparsePoint(e.reparse)
	id, ok := mountedVolume(point)
	if err != nil || !ok {
		return abi.GUID{}, other
	}
	return id, nil
}

// SetPoint mounts at an empty directory, or gives a volume its drive letter
// (windows-api.md 7.4).
func (m mounts) SetPoint(mountPoint, volume string) error {
	n := m.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if !strings.HasSuffix(mountPoint, `\`) {
		return win.ERROR_INVALID_NAME
	}
	if _, ok := parseVolumeName(volume); !ok || !strings.HasSuffix(volume, `\`) {
		return win.ERROR_INVALID_PARAMETER
	}
	v, ok := n.volumeByName(volume)
	if !ok {
		return win.ERROR_FILE_NOT_FOUND
	}
	if letter, ok := driveRoot(mountPoint); ok {
		return n.setLetter(letter, v)
	}
	return n.mount(mountPoint, v)
}

// driveRoot is the letter, in upper case, of a drive's root.
func driveRoot(path string) (byte, bool) {
	path = strings.TrimPrefix(path, `\\?\`)
	if len(path) != 3 || path[1:] != `:\` {
		return 0, false
	}
	letter := path[0] &^ ('a' - 'A')
	return letter, 'A' <= letter && letter <= 'Z'
}

// setLetter gives a letter to a volume that has none.
func (n *Node) setLetter(letter byte, v *volume) error {
	if _, taken := n.letters[letter]; taken {
		return win.ERROR_DIR_NOT_EMPTY
	}
	if _, has := n.letterOf(v); has {
		return win.ERROR_INVALID_PARAMETER
	}
	n.letters[letter] = v.id
	return nil
}

// mount writes the reparse point and the database entry.
func (n *Node) mount(path string, v *volume) error {
	p, err := n.folder(path)
	if err != nil {
		return err
	}
	switch {
	case p.entry.isRoot():
		return win.ERROR_INVALID_PARAMETER
	case !p.volume.reparses():
		return win.ERROR_INVALID_FUNCTION
	case p.entry.tag() == abi.IO_REPARSE_TAG_MOUNT_POINT: // alive or not
		return win.ERROR_DIR_NOT_EMPTY
	case p.volume.readOnly():
		return win.ERROR_WRITE_PROTECT
	}
	data, err := encodeMountPoint(v.id)
	if err != nil {
		return err
	}
	if err := p.entry.setReparse(data); err != nil {
		return err
	}
	n.addPoint(n.folderText(p), v.id)
	return nil
}

// addPoint tells the mount manager of a volume at a folder.
func (n *Node) addPoint(text string, volume abi.GUID) {
	n.removePoint(text)
	p := &mountPoint{text: text, volume: volume}
	n.points[foldPath(text)] = p
	n.pointsOf[volume] = append(n.pointsOf[volume], p)
}

// removePoint lets the mount manager forget a folder that it may know.
func (n *Node) removePoint(text string) {
	key := foldPath(text)
	if p, ok := n.points[key]; ok {
		delete(n.points, key)
		n.pointsOf[p.volume] = slices.DeleteFunc(n.pointsOf[p.volume], func(o *mountPoint) bool { return o == p })
	}
}

// DeletePoint needs no volume: it also removes a mount point whose volume is
// gone. It leaves the directory (windows-api.md 7.4).
func (m mounts) DeletePoint(mountPoint string) error {
	n := m.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if !strings.HasSuffix(mountPoint, `\`) {
		return win.ERROR_INVALID_NAME
	}
	if letter, ok := driveRoot(mountPoint); ok {
		return n.deleteLetter(letter)
	}
	p, err := n.folder(mountPoint)
	if err != nil {
		return err
	}
	if _, err := n.mountedAt(p.entry); err != nil {
		return n.nothingMounted(err)
	}
	if p.volume.readOnly() {
		return win.ERROR_WRITE_PROTECT
	}
	p.entry.reparse = nil
	n.removePoint(n.folderText(p))
	return nil
}

// nothingMounted is DeletePoint's answer where no volume is mounted. The page
// says that it does nothing there; whether it says so is an assumption
// (windows-api.md 7.4).
func (n *Node) nothingMounted(err error) error {
	if n.switches.DeletePointSilent {
		return nil
	}
	return err
}

func (n *Node) deleteLetter(letter byte) error {
	if _, ok := n.letters[letter]; !ok {
		return win.ERROR_FILE_NOT_FOUND
	}
	delete(n.letters, letter)
	return nil
}

// File system flags that GetVolumeInformationW reports (winnt.h).
const (
	flagsNTFS    = 0x03E7_06FF // as Windows Server 2022 reports them
	flagsReFS    = 0x0000_00CF // case, Unicode, ACLs, sparse files, reparse points
	flagsFAT     = 0x0000_0206 // case preserved, Unicode
	flagReadOnly = 0x0008_0000
)

// Information wants the root of a volume or a mounted folder, with its
// backslash (windows-api.md 7.6).
func (m mounts) Information(root string) (win.VolumeInformation, error) {
	n := m.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if !strings.HasSuffix(root, `\`) {
		return win.VolumeInformation{}, win.ERROR_INVALID_NAME
	}
	p, err := n.directory(root)
	if err != nil {
		return win.VolumeInformation{}, err
	}
	if !p.entry.isRoot() {
		return win.VolumeInformation{}, win.ERROR_DIR_NOT_ROOT
	}
	return p.volume.information(), nil
}

func (v *volume) information() win.VolumeInformation {
	flags := uint32(flagsFAT)
	switch {
	case strings.EqualFold(v.fs, "NTFS"):
		flags = flagsNTFS
	case strings.EqualFold(v.fs, "ReFS"):
		flags = flagsReFS
	}
	if v.readOnly() {
		flags |= flagReadOnly
	}
	return win.VolumeInformation{Label: v.label, SerialNumber: v.fsSerial, FileSystem: v.fs, Flags: flags}
}

// FreeSpace follows links and mount points. So a dangling one fails, but where
// a mount was removed it is the parent's volume that answers (windows-api.md
// 7.7).
func (m mounts) FreeSpace(directory string) (win.FreeSpace, error) {
	n := m.node
	n.mu.Lock()
	defer n.mu.Unlock()
	p, err := n.directory(directory)
	if err != nil {
		return win.FreeSpace{}, err
	}
	free := uint64(p.volume.fsSize - p.volume.used)
	return win.FreeSpace{Available: free, Total: uint64(p.volume.fsSize), Free: free}, nil
}

// directory is the directory to which a path leads in the end. That a missing
// one is ERROR_PATH_NOT_FOUND here is an assumption [K].
func (n *Node) directory(path string) (place, error) {
	p, err := n.resolve(extended(path), true)
	switch {
	case err != nil:
		return place{}, err
	case p.entry == nil:
		return place{}, win.ERROR_PATH_NOT_FOUND
	case !p.entry.isDirectory():
		return place{}, win.ERROR_DIRECTORY
	}
	return p, nil
}

// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"errors"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
)

func filesystemCases() []Case {
	return slices.Concat(pathCases(), directoryCases(), removalCases(), mountFolderCases(), linkCases(), hostileCases())
}

func (h *Host) pathExists(path string) (bool, error) {
	resp, err := h.Filesystem.PathExists(h.Context(), &filesystem.PathExistsRequest{Path: path})
	return resp.Exists, err
}

func (h *Host) exists(path string) bool {
	h.Helper()
	exists, err := h.pathExists(path)
	h.must(err)
	return exists
}

func (h *Host) mkdir(path string) error {
	_, err := h.Filesystem.Mkdir(h.Context(), &filesystem.MkdirRequest{Path: path})
	return err
}

func (h *Host) rmdir(path string, force bool) error {
	_, err := h.Filesystem.Rmdir(h.Context(), &filesystem.RmdirRequest{Path: path, Force: force})
	return err
}

func (h *Host) rmdirContents(path string) error {
	_, err := h.Filesystem.RmdirContents(h.Context(), &filesystem.RmdirContentsRequest{Path: path})
	return err
}

// link makes path a link to source.
func (h *Host) link(source, path string) error {
	_, err := h.Filesystem.CreateSymlink(h.Context(), &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: path})
	return err
}

// linkToMissing makes path a link to source, which may be missing.
func (h *Host) linkToMissing(source, path string) error {
	_, err := h.Filesystem.CreateSymlink(h.Context(), &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: path, AllowMissing: true})
	return err
}

func (h *Host) isSymlink(path string) (bool, error) {
	resp, err := h.Filesystem.IsSymlink(h.Context(), &filesystem.IsSymlinkRequest{Path: path})
	return resp.IsSymlink, err
}

// linkState needs InProcess.
func (h *Host) linkState(path string) (*filesystem.LinkStateResponse, error) {
	return h.Filesystem.(*filesystem.Filesystem).LinkState(h.Context(), &filesystem.LinkStateRequest{Path: path})
}

// pathMethod is a method of the filesystem group with a path to give it.
type pathMethod struct {
	name string
	call func(path string) (response any, err error)
}

func (h *Host) pathMethods() []pathMethod {
	ctx, g := h.Context(), h.Filesystem
	return []pathMethod{
		{"PathExists", func(p string) (any, error) { return g.PathExists(ctx, &filesystem.PathExistsRequest{Path: p}) }},
		{"IsSymlink", func(p string) (any, error) { return g.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: p}) }},
		{"Mkdir", func(p string) (any, error) { return g.Mkdir(ctx, &filesystem.MkdirRequest{Path: p}) }},
		{"Rmdir", func(p string) (any, error) { return g.Rmdir(ctx, &filesystem.RmdirRequest{Path: p}) }},
		{"Rmdir force", func(p string) (any, error) { return g.Rmdir(ctx, &filesystem.RmdirRequest{Path: p, Force: true}) }},
		{"RmdirContents", func(p string) (any, error) {
			return g.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: p})
		}},
		{"CreateSymlink from", func(p string) (any, error) {
			return g.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: h.Folder, TargetPath: p})
		}},
		{"CreateSymlink to", func(p string) (any, error) {
			return g.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: p, TargetPath: h.Folder + `\new`})
		}},
	}
}

// at is a path below the case's folder.
func (h *Host) at(name string) string { return h.Folder + `\` + name }

// directories makes directories below the case's folder.
func (h *Host) directories(names ...string) {
	h.Helper()
	for _, name := range names {
		h.must(h.mkdir(h.at(name)))
	}
}

// files makes files below the case's folder.
func (h *Host) files(names ...string) {
	h.Helper()
	for _, name := range names {
		h.must(h.World.WriteFile(h.at(name), 1))
	}
}

// wantThere and wantGone look for names below the case's folder.
func (h *Host) wantThere(names ...string) {
	h.Helper()
	for _, name := range names {
		if !h.exists(h.at(name)) {
			h.Errorf("%s is gone", name)
		}
	}
}

func (h *Host) wantGone(names ...string) {
	h.Helper()
	for _, name := range names {
		if h.exists(h.at(name)) {
			h.Errorf("%s is there", name)
		}
	}
}

// wantLink wants IsSymlink to say so of a path.
func (h *Host) wantLink(path string, want bool) {
	h.Helper()
	if got, err := h.isSymlink(path); got != want || err != nil {
		h.Errorf("is %s a link: got %v, %v", path, got, err)
	}
}

// wantError wants an error of a kind, with words in its text.
func (h *Host) wantError(err error, kind errdefs.Kind, words string) {
	h.Helper()
	h.wantKind(err, kind)
	if err != nil && !strings.Contains(err.Error(), words) {
		h.Errorf("no %q in %v", words, err)
	}
}

// The following need Model: they act on the node past the groups, as other
// programs do. They take extended paths.

// open opens what is at a path, a link itself.
func (h *Host) open(path string, access win.Access) (win.File, error) {
	return h.Node.Host().Files.Open(nil, path, win.OpenFile{Access: access | win.Synchronize, Disposition: win.OpenExisting})
}

// makeDirectory makes one directory, of any name.
func (h *Host) makeDirectory(path string) error {
	f, err := h.Node.Host().Files.Open(nil, path, win.OpenFile{Access: win.Synchronize, Disposition: win.CreateNew, Options: win.FileDirectoryFile})
	if err != nil {
		return err
	}
	return f.Close()
}

// makeReparsePoint makes a directory with a reparse point on it.
func (h *Host) makeReparsePoint(path string, point abi.ReparsePoint) error {
	b, err := point.Encode()
	if err != nil {
		return err
	}
	if err := h.makeDirectory(path); err != nil {
		return err
	}
	f, err := h.open(path, win.FileWriteAttributes)
	if err != nil {
		return err
	}
	_, err = f.Control(abi.FSCTL_SET_REPARSE_POINT, b, nil)
	return errors.Join(err, f.Close())
}

// makeJunction makes a junction to a path.
func (h *Host) makeJunction(path, target string) error {
	return h.makeReparsePoint(path, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: `\??\` + target, Print: target})
}

// makeLink makes a directory link with any text.
func (h *Host) makeLink(path, text string) error {
	return h.Node.Host().Files.SymbolicLink(path, text, win.SymbolicLinkFlagDirectory)
}

// makeMountFolder mounts a volume at a new directory.
func (h *Host) makeMountFolder(path, id string) error {
	if err := h.makeDirectory(path); err != nil {
		return err
	}
	return h.Node.Host().Mounts.SetPoint(path+`\`, id)
}

// makeReadOnly sets the attribute.
func (h *Host) makeReadOnly(path string) error {
	f, err := h.open(path, win.FileWriteAttributes)
	if err != nil {
		return err
	}
	err = f.SetInformation(abi.FileBasicInfoClass, abi.FileBasicInfo{Attributes: abi.FILE_ATTRIBUTE_READONLY}.Encode())
	return errors.Join(err, f.Close())
}

// mountPoints lists what the node's mount manager knows of.
func (h *Host) mountPoints() []string {
	var known []string
	for line := range strings.Lines(string(h.Node.Snapshot())) {
		if fact, ok := strings.CutPrefix(strings.TrimSpace(line), "mount manager "); ok {
			known = append(known, fact)
		}
	}
	return known
}

// extended is the form that the boundary takes.
func extended(path string) string { return `\\?\` + path }

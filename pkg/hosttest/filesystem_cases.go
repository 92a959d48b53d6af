// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"errors"
	"io/fs"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
)

func filesystemCases() []Case {
	return []Case{
		{IDs: []string{"FS-20"}, Shows: "a missing path does not exist, which is no error", Test: func(h *Host) {
			if !h.exists(h.Folder) {
				h.Error("its folder does not exist")
			}
			for _, path := range []string{h.Folder + `\none`, h.Folder + `\none\below`} {
				if h.exists(path) {
					h.Errorf("%s exists", path)
				}
			}
		}},
		{IDs: []string{"FS-22"}, Shows: "Mkdir makes all parents, twice", Test: func(h *Host) {
			path := h.Folder + `\a\b\c`
			for range 2 {
				h.must(h.mkdir(path))
			}
			if !h.exists(path) {
				h.Error("not made")
			}
		}},
		{IDs: []string{"FS-25"}, Shows: "Rmdir of what is missing is an error", Test: func(h *Host) {
			err := h.rmdir(h.Folder+`\none`, false)
			h.wantKind(err, errdefs.NotFound)
			if !errors.Is(err, fs.ErrNotExist) {
				h.Errorf("not fs.ErrNotExist: %v", err)
			}
		}},
	}
}

func (h *Host) exists(path string) bool {
	h.Helper()
	resp, err := h.Filesystem.PathExists(h.Context(), &filesystem.PathExistsRequest{Path: path})
	h.must(err)
	return resp.Exists
}

func (h *Host) mkdir(path string) error {
	_, err := h.Filesystem.Mkdir(h.Context(), &filesystem.MkdirRequest{Path: path})
	return err
}

func (h *Host) rmdir(path string, force bool) error {
	_, err := h.Filesystem.Rmdir(h.Context(), &filesystem.RmdirRequest{Path: path, Force: force})
	return err
}

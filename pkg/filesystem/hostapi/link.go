// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
)

func (h *host) IsDirectory(ctx context.Context, path winpath.Path) (bool, error) {
	return hostpath.Look(ctx, h.paths, "look at", path, func(f win.File) (bool, error) {
		info, err := hostpath.Attributes(f)
		return object{f, info}.isDirectory(), err
	})
}

func (h *host) Link(ctx context.Context, path winpath.Path) (Link, error) {
	return h.paths.Link(ctx, path)
}

func (h *host) LinkLike(ctx context.Context, path winpath.Path, directory bool) (Link, error) {
	how := win.OpenFile{Access: toLook, Disposition: win.OpenExisting, Options: win.FileNonDirectoryFile}
	if directory {
		how.Options = win.FileDirectoryFile
	}
	return hostpath.Ask(ctx, h.paths, "link", path, func() (Link, error) {
		f, err := h.Files.Open(nil, path.Extended(), how)
		if err != nil {
			return Link{}, err
		}
		link, err := hostpath.ReadLink(f, path)
		return link, hostpath.Closed(f, err)
	})
}

func (h *host) Follow(ctx context.Context, path winpath.Path, link Link) (End, error) {
	return h.paths.Follow(ctx, path, link)
}

func (h *host) CreateLink(ctx context.Context, path winpath.Path, target string, directory bool) error {
	var flags uint32
	if directory {
		flags = win.SymbolicLinkFlagDirectory
	}
	return h.do(ctx, "link creation", path, func() error {
		return h.Files.SymbolicLink(path.Extended(), target, flags)
	})
}

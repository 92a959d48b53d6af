// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

func (h *host) ParseLocal(ctx context.Context, path string) (winpath.Path, error) {
	local, err := h.paths.Parse(ctx, path)
	switch {
	case err != nil:
		return winpath.Path{}, err
	case local.IsUNC():
		return winpath.Path{}, errdefs.New(errdefs.InvalidArgument, "local path", path, "on a file server")
	case local.IsRoot():
		return winpath.Path{}, errdefs.New(errdefs.InvalidArgument, "local path", path, "the root of a drive or volume")
	}
	return local, nil
}

func (h *host) Link(ctx context.Context, path winpath.Path) (winpath.Path, error) {
	link, err := h.paths.Link(ctx, path)
	if err != nil {
		return winpath.Path{}, err
	}
	if link.Kind == hostpath.NoLink {
		return winpath.Path{}, errdefs.New(errdefs.FailedPrecondition, "link", path.String(), "no link is there")
	}
	return link.Target()
}

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
)

// asItIs is an object that a change is about as it is now, and the tree of it.
// Of some there is nothing to ask, and no tree.
func asItIs(ctx context.Context, h *host, about object) (object, *branch, error) {
	now, b, err := look(ctx, h, about)
	if err != nil || b == nil {
		return about, nil, err
	}
	return now, &branch{below: []*branch{b}}, nil
}

func look(ctx context.Context, h *host, about object) (object, *branch, error) {
	switch o := about.(type) {
	case diskObject:
		now, err := diskInFull(ctx, h, o.Number)
		return now, diskBranch(now), err
	case volumeObject:
		d, err := h.volume.DescribeVolume(ctx, o.ID)
		now := describedVolume(d)
		return now, volumeBranch(now), err
	case serviceObject:
		now, err := serviceNamed(ctx, h, o.Name)
		return now, leaf(now.Name, now.State, startWord(now)), err
	case pathObject:
		return lookAtPath(ctx, h, o.Path)
	case mappingObject:
		return lookAtMapping(ctx, h, o)
	}
	return about, nil, nil
}

func lookAtPath(ctx context.Context, h *host, path string) (object, *branch, error) {
	now, err := linkAt(ctx, h, path)
	switch {
	case errdefs.KindOf(err) == errdefs.NotFound:
		return pathObject{Path: path, Exists: pointer(false)}, leaf(path, "not there"), nil
	case now.Target == "":
		return pathObject{Path: path, Exists: pointer(true)}, leaf(path, "there"), err
	}
	now.Exists = pointer(true)
	return now, leaf(path, now.State+" "+now.LinkKind+" to "+now.Target), err
}

func lookAtMapping(ctx context.Context, h *host, about mappingObject) (object, *branch, error) {
	resp, err := h.smb.GetMapping(ctx, &smb.GetMappingRequest{RemotePath: about.Share})
	if errdefs.KindOf(err) == errdefs.NotFound {
		return about, leaf(about.Share, "not mapped"), nil
	}
	now := mapped(resp.Mapping)
	return now, leaf(now.Share, "mapped", now.Status), err
}

// standing is what is known of how far a change of an object is: a service's
// check point. The other objects tell nothing before they are done.
func (h *host) standing(about object) func(context.Context) string {
	service, ok := about.(serviceObject)
	if !ok || h.serviceStatus == nil {
		return nil
	}
	return func(ctx context.Context) string {
		status, err := h.serviceStatus(ctx, service.Name)
		if err != nil {
			return ""
		}
		text := system.ServiceStatus(status.State).String()
		if status.CheckPoint > 0 {
			text += fmt.Sprintf(", check point %d", status.CheckPoint)
		}
		return text
	}
}

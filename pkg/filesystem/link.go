// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"context"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
)

// IsSymlink says whether a symbolic link, junction or mount folder is at a path
// whose chain of links ends at something that is there. For a dangling one it is
// false without error (behaviour.md FS-38); [Filesystem.LinkState] tells it
// from a plain directory.
//
// Errors: as of LinkState.
func (f *Filesystem) IsSymlink(ctx context.Context, req *IsSymlinkRequest) (*IsSymlinkResponse, error) {
	const op = "filesystem.IsSymlink"
	resp := &IsSymlinkResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	state, err := f.linkState(ctx, op, req.Path)
	resp.IsSymlink = err == nil && state.State == LiveLink
	return resp, err
}

// LinkState says what link is at a path and whether it leads to something: it
// follows the chain of links to its end, relative ones from the directory of
// the link. A volume that is there counts as something, also without a file
// system.
//
// Errors: [errdefs.ErrInvalidArgument]; [errdefs.ErrNotFound] for a missing
// path; [errdefs.ErrLinkLoop] where the chain has no end, and
// [errdefs.ErrFailedPrecondition] where it leads to a device, both beside the
// kind and target of the link; Windows' own.
func (f *Filesystem) LinkState(ctx context.Context, req *LinkStateRequest) (*LinkStateResponse, error) {
	const op = "filesystem.LinkState"
	if req == nil {
		return &LinkStateResponse{}, errdefs.NilRequest(op)
	}
	return f.linkState(ctx, op, req.Path)
}

func (f *Filesystem) linkState(ctx context.Context, op, text string) (*LinkStateResponse, error) {
	resp := &LinkStateResponse{}
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()

	path, err := f.host.Parse(ctx, text)
	if err != nil {
		return resp, errdefs.Wrap(op, "Path", err)
	}
	return resp, failed(op, text, hostapi.PathError("lstat", text, f.followLink(ctx, path, resp)))
}

func (f *Filesystem) followLink(ctx context.Context, path winpath.Path, resp *LinkStateResponse) error {
	link, err := f.host.Link(ctx, path)
	if err != nil {
		return err
	}
	resp.Kind = kindOf(link)
	if resp.Kind == NoLink {
		return nil
	}
	resp.Target = link.Text()
	end, err := f.host.Follow(ctx, path, link)
	if err != nil {
		return err
	}
	resp.FinalTarget = end.Path.String()
	resp.State = DanglingLink
	if end.Exists {
		resp.State = LiveLink
	}
	return nil
}

func kindOf(link hostapi.Link) LinkKind {
	switch link.Kind {
	case hostapi.Symlink:
		return Symlink
	case hostapi.Junction:
		return Junction
	case hostapi.MountPoint:
		return MountPoint
	default:
		return NoLink
	}
}

// CreateSymlink makes TargetPath a symbolic link to SourcePath: a file link if
// that is a file, else a directory link. It is no error if TargetPath already
// is that link (behaviour.md FS-32). Windows follows links among the parents of
// both.
//
// Errors: [errdefs.ErrInvalidArgument]; [errdefs.ErrNotFound] for a missing
// source, unless AllowMissing is set, and for a missing directory of the link;
// [errdefs.ErrAlreadyExists] where TargetPath is anything else;
// [errdefs.ErrPermissionDenied] without the privilege; Windows' own.
func (f *Filesystem) CreateSymlink(ctx context.Context, req *CreateSymlinkRequest) (*CreateSymlinkResponse, error) {
	const op = "filesystem.CreateSymlink"
	resp := &CreateSymlinkResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.ChangeBudget)
	defer cancel()

	link, err := f.host.Parse(ctx, req.TargetPath)
	if err != nil {
		return resp, errdefs.Wrap(op, "TargetPath", err)
	}
	source, err := f.host.Parse(ctx, req.SourcePath)
	if err != nil {
		return resp, errdefs.Wrap(op, "SourcePath", err)
	}
	err = f.createLink(ctx, link, source, req)
	return resp, failed(op, req.TargetPath, hostapi.LinkError("symlink", req.SourcePath, req.TargetPath, err))
}

func (f *Filesystem) createLink(ctx context.Context, link, source winpath.Path, req *CreateSymlinkRequest) error {
	directory, err := f.host.IsDirectory(ctx, source)
	if hostapi.Missing(err) && req.AllowMissing {
		directory, err = true, nil
	}
	if err != nil {
		return err
	}
	if !directory && namesDirectory(req.SourcePath) {
		return errdefs.New(errdefs.FailedPrecondition, "", "", "the source is a file, though its path ends as a directory's")
	}
	unlock, err := f.host.Lock(ctx, link)
	if err != nil {
		return err
	}
	defer unlock()

	err = f.host.CreateLink(ctx, link, linkText(source, req.SourcePath), directory)
	if !isKind(err, errdefs.AlreadyExists) {
		return err
	}
	if existing, readErr := f.host.LinkLike(ctx, link, directory); readErr == nil && leadsTo(existing, source) {
		return nil
	}
	return err // something else is there
}

func leadsTo(link hostapi.Link, source winpath.Path) bool {
	target, err := link.Target()
	return err == nil && link.Kind == hostapi.Symlink && target.Key() == source.Key()
}

// maxTargetText is how long a link's target may be without \\?\ in front.
const maxTargetText = 247

// linkText is what the link says: the usual spelling of its target, with the
// backslash that its source ends in.
func linkText(source winpath.Path, text string) string {
	target := source.String()
	if len(target) > maxTargetText {
		target = source.Extended()
	}
	if namesDirectory(text) && !strings.HasSuffix(target, `\`) {
		target += `\`
	}
	return target
}

// namesDirectory reports whether a path ends in a separator, which only a
// directory's may.
func namesDirectory(text string) bool {
	return strings.HasSuffix(strings.ReplaceAll(text, "/", `\`), `\`)
}

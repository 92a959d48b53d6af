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

// Interface is the filesystem group as drivers use it. Its methods are
// upstream's and stay so; they are described at [Filesystem].
type Interface interface {
	// CreateSymlink makes a symbolic link.
	CreateSymlink(context.Context, *CreateSymlinkRequest) (*CreateSymlinkResponse, error)

	// IsSymlink says whether a live link or mount folder is at a path.
	IsSymlink(context.Context, *IsSymlinkRequest) (*IsSymlinkResponse, error)

	// Mkdir makes a directory and its missing parents.
	Mkdir(context.Context, *MkdirRequest) (*MkdirResponse, error)

	// PathExists says whether something is at a path.
	PathExists(context.Context, *PathExistsRequest) (*PathExistsResponse, error)

	// PathValid says whether Windows finds a path in any form.
	PathValid(context.Context, *PathValidRequest) (*PathValidResponse, error)

	// Rmdir removes a directory, file, link or mount folder.
	Rmdir(context.Context, *RmdirRequest) (*RmdirResponse, error)

	// RmdirContents empties a directory.
	RmdirContents(context.Context, *RmdirContentsRequest) (*RmdirContentsResponse, error)
}

// Filesystem is the filesystem group of one host. It is safe for concurrent
// use.
type Filesystem struct {
	host hostapi.HostAPI
}

var _ Interface = (*Filesystem)(nil)

// New makes the filesystem group of a host. It asks the host nothing and its
// error is always nil.
func New(hostAPI hostapi.HostAPI) (*Filesystem, error) {
	return &Filesystem{host: hostAPI}, nil
}

// PathExists says whether something is at a path: a file, a directory, or a
// link, wherever that leads. A missing parent is no error (behaviour.md FS-20).
//
// Errors: [errdefs.ErrInvalidArgument]; [errdefs.ErrUnavailable] for a file
// server that does not answer; Windows' own.
func (f *Filesystem) PathExists(ctx context.Context, req *PathExistsRequest) (*PathExistsResponse, error) {
	const op = "filesystem.PathExists"
	resp := &PathExistsResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()

	path, err := f.host.Parse(ctx, req.Path)
	if err != nil {
		return resp, errdefs.Wrap(op, "Path", err)
	}
	resp.Exists, err = f.host.Exists(ctx, path)
	return resp, failed(op, req.Path, hostapi.PathError("lstat", req.Path, err))
}

// PathValid says whether Windows finds a path, also X: for a drive. What is no
// path, or not there, is not valid, and no error (behaviour.md FS-45).
//
// Errors: [errdefs.ErrInvalidArgument] for a NUL; what else keeps Windows from
// telling, such as a file server that refuses the password.
func (f *Filesystem) PathValid(ctx context.Context, req *PathValidRequest) (*PathValidResponse, error) {
	const op = "filesystem.PathValid"
	resp := &PathValidResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	if strings.ContainsRune(req.Path, 0) {
		return resp, errdefs.New(errdefs.InvalidArgument, op, req.Path, "invalid path: invalid argument")
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()

	text := req.Path
	if len(text) == 2 && text[1] == ':' {
		text += `\`
	}
	path, err := f.host.Parse(ctx, text)
	if isKind(err, errdefs.InvalidArgument) {
		return resp, nil
	}
	if err == nil {
		resp.Valid, err = f.host.Exists(ctx, path)
	}
	return resp, failed(op, req.Path, hostapi.PathError("lstat", req.Path, err))
}

// Mkdir makes a directory and its missing parents. It is no error if the
// directory exists, or a link to a live one (behaviour.md FS-22).
//
// Errors: [errdefs.ErrInvalidArgument]; [errdefs.ErrFailedPrecondition] where a
// file or link is on the way, which it names, or a file at the end;
// [errdefs.ErrAlreadyExists] for a dangling link at the end; Windows' own.
func (f *Filesystem) Mkdir(ctx context.Context, req *MkdirRequest) (*MkdirResponse, error) {
	const op = "filesystem.Mkdir"
	resp := &MkdirResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.ChangeBudget)
	defer cancel()

	path, err := f.host.Parse(ctx, req.Path)
	if err != nil {
		return resp, errdefs.Wrap(op, "Path", err)
	}
	return resp, failed(op, req.Path, hostapi.PathError("mkdir", req.Path, f.mkdir(ctx, path)))
}

func (f *Filesystem) mkdir(ctx context.Context, path winpath.Path) error {
	found, err := f.host.Mkdir(ctx, path)
	if err != nil || found.Link.Kind == hostapi.NoLink {
		return err
	}
	end, err := f.host.Follow(ctx, path, found.Link)
	if err == nil && !end.Exists {
		return hostapi.ErrTaken
	}
	return err
}

// SPDX-License-Identifier: Apache-2.0

package smb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
)

// Interface is the smb group as drivers use it. Its methods are upstream's and
// stay so; they are described at [SMB].
type Interface interface {
	// NewSMBGlobalMapping maps a share, and links to it.
	NewSMBGlobalMapping(context.Context, *NewSMBGlobalMappingRequest) (*NewSMBGlobalMappingResponse, error)

	// RemoveSMBGlobalMapping removes the mapping of a share.
	RemoveSMBGlobalMapping(context.Context, *RemoveSMBGlobalMappingRequest) (*RemoveSMBGlobalMappingResponse, error)
}

// SMB is the smb group of one host. It is safe for concurrent use.
type SMB struct {
	host  hostapi.HostAPI
	files filesystem.Interface
}

var _ Interface = (*SMB)(nil)

// New makes the smb group of a host; fsClient makes the links. It asks the host
// nothing and its error is always nil.
func New(hostAPI hostapi.HostAPI, fsClient filesystem.Interface) (*SMB, error) {
	return &SMB{hostAPI, fsClient}, nil
}

// NewSMBGlobalMapping maps the share of RemotePath, if it is not mapped or its
// mapping does not work, and makes LocalPath a link to RemotePath. Nothing is
// done where both are so already; the package comment tells how credentials are
// judged. Nothing is mapped before the whole request has been checked. If the
// link cannot be made the mapping stays: it may serve others.
//
// Errors: [errdefs.ErrInvalidArgument]; [errdefs.ErrPermissionDenied] for a
// refused credential; [errdefs.ErrCredentialConflict] for a share or server in
// use with another; [errdefs.ErrFailedPrecondition] for a mapping with less
// protection than is asked for; [errdefs.ErrUnavailable] for a server that does
// not answer; [errdefs.ErrAlreadyExists], with the word ResourceExists, where
// LocalPath is something else; [errdefs.ErrNotFound] for a missing directory
// below the share; Windows' own.
func (s *SMB) NewSMBGlobalMapping(ctx context.Context, req *NewSMBGlobalMappingRequest) (*NewSMBGlobalMappingResponse, error) {
	const op = "smb.NewSMBGlobalMapping"
	resp := &NewSMBGlobalMappingResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.ChangeBudget)
	defer cancel()

	wanted, remote, err := understand(req)
	if err != nil {
		return resp, errdefs.Wrap(op, "", err)
	}
	if err := s.checkLocal(ctx, req.LocalPath); err != nil {
		return resp, errdefs.Wrap(op, "LocalPath", err)
	}
	if err := s.ensure(ctx, wanted); err != nil {
		return resp, failed(ctx, op, wanted.share.String(), err)
	}
	if req.LocalPath == "" {
		return resp, nil
	}
	return resp, s.link(ctx, op, remote, req.LocalPath)
}

// checkLocal refuses a path where no link can be, before anything is mapped
// (behaviour.md SMB-10).
func (s *SMB) checkLocal(ctx context.Context, path string) error {
	if path == "" {
		return nil
	}
	if s.files == nil {
		return errdefs.New(errdefs.InvalidArgument, "", path, "the group was made without a filesystem to link with")
	}
	_, err := s.host.ParseLocal(ctx, path)
	return err
}

// link makes the link. Its text ends in a backslash (behaviour.md SMB-12).
func (s *SMB) link(ctx context.Context, op string, remote winpath.Path, local string) error {
	source := strings.TrimSuffix(remote.String(), `\`) + `\`
	_, err := s.files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: local})
	if err != nil && errdefs.KindOf(err) == errdefs.AlreadyExists {
		// The word of TXT-3, which drivers look for.
		return errdefs.As(errdefs.AlreadyExists, op, local, fmt.Errorf("ResourceExists: it is no link to %s: %w", source, err))
	}
	return errdefs.Wrap(op, local, err)
}

// RemoveSMBGlobalMapping removes the mapping of the share of RemotePath for all
// its users, and closes what is open through it; links stay (behaviour.md
// SMB-15). A share that is not mapped is no error (architecture.md).
//
// Errors: [errdefs.ErrInvalidArgument]; Windows' own.
func (s *SMB) RemoveSMBGlobalMapping(ctx context.Context, req *RemoveSMBGlobalMappingRequest) (*RemoveSMBGlobalMappingResponse, error) {
	const op = "smb.RemoveSMBGlobalMapping"
	resp := &RemoveSMBGlobalMappingResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.ChangeBudget)
	defer cancel()

	share, _, err := winpath.ParseRemote(req.RemotePath)
	if err != nil {
		return resp, errdefs.Wrap(op, "RemotePath", err)
	}
	err = s.host.Join(ctx, "unmapping of "+share.String(), func(ctx context.Context) error { return s.remove(ctx, share) })
	return resp, failed(ctx, op, share.String(), err)
}

func (s *SMB) remove(ctx context.Context, share winpath.Share) error {
	unlock, err := s.host.Lock(ctx, share)
	if err != nil {
		return err
	}
	defer unlock()
	m, err := s.host.Mapping(ctx, share)
	switch {
	case isNotFound(err):
		s.host.Forget(share)
		return nil
	case err != nil:
		return err
	}
	return s.drop(ctx, m)
}

// drop removes a mapping and forgets whose it was, also where nobody can say
// whether it was removed: another may make the next one.
func (s *SMB) drop(ctx context.Context, m hostapi.Mapping) error {
	err := s.host.Unmap(ctx, m)
	if err == nil || !hostapi.NotMade(err) {
		s.host.Forget(m.Share)
	}
	return err
}

// ListMappings lists the node's global mappings, whoever made them. Where there
// are hundreds it takes minutes (field-reports.md M04): it is for people, and
// not for a path that is walked for each volume.
//
// Errors: Windows' own.
func (s *SMB) ListMappings(ctx context.Context, req *ListMappingsRequest) (*ListMappingsResponse, error) {
	const op = "smb.ListMappings"
	resp := &ListMappingsResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	list, err := s.host.Mappings(ctx)
	if err != nil {
		return resp, failed(ctx, op, "", err)
	}
	for _, m := range list {
		resp.Mappings = append(resp.Mappings, mappingOf(m))
	}
	return resp, nil
}

// GetMapping is the mapping of a share as it is, which it neither probes nor
// changes.
//
// Errors: [errdefs.ErrInvalidArgument]; [errdefs.ErrNotFound] where the share is
// not mapped; Windows' own.
func (s *SMB) GetMapping(ctx context.Context, req *GetMappingRequest) (*GetMappingResponse, error) {
	const op = "smb.GetMapping"
	resp := &GetMappingResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	share, _, err := winpath.ParseRemote(req.RemotePath)
	if err != nil {
		return resp, errdefs.Wrap(op, "RemotePath", err)
	}
	m, err := s.host.Mapping(ctx, share)
	if err != nil {
		return resp, failed(ctx, op, share.String(), err)
	}
	resp.Mapping = mappingOf(m)
	return resp, nil
}

// LinkedShare says which share a link leads to, so that a driver need not keep
// that anywhere else (field-reports.md M21). It asks no file server.
//
// Errors: [errdefs.ErrInvalidArgument]; [errdefs.ErrNotFound] where nothing is
// there; [errdefs.ErrFailedPrecondition] where no link to a share is; Windows'
// own.
func (s *SMB) LinkedShare(ctx context.Context, req *LinkedShareRequest) (*LinkedShareResponse, error) {
	const op = "smb.LinkedShare"
	resp := &LinkedShareResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()

	path, err := s.host.ParseLocal(ctx, req.LocalPath)
	if err != nil {
		return resp, errdefs.Wrap(op, "LocalPath", err)
	}
	target, err := s.host.Link(ctx, path)
	if err != nil {
		return resp, failed(ctx, op, req.LocalPath, err)
	}
	share, err := target.Share()
	if err != nil {
		return resp, errdefs.As(errdefs.FailedPrecondition, op, req.LocalPath, fmt.Errorf("it leads to no share: %w", err))
	}
	resp.RemotePath, resp.Share = target.String(), share.String()
	return resp, nil
}

// failed says which operation on what failed. Of a deadline that is not the
// caller's own it says what that means: a file server does not answer.
func failed(ctx context.Context, op, subject string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return errdefs.As(errdefs.Unavailable, op, subject, err)
	}
	return errdefs.Wrap(op, subject, err)
}

func isNotFound(err error) bool { return err != nil && errdefs.KindOf(err) == errdefs.NotFound }

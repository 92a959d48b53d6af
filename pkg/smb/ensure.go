// SPDX-License-Identifier: Apache-2.0

package smb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
)

// wish is a mapping as a request wants it.
type wish struct {
	share           winpath.Share
	credential      hostapi.Credential
	options         hostapi.Options
	reuseUnverified bool
}

// understand reads a request. Its errors name no user.
func understand(req *NewSMBGlobalMappingRequest) (wish, winpath.Path, error) {
	share, remote, err := winpath.ParseRemote(req.RemotePath)
	if err != nil {
		return wish{}, winpath.Path{}, err
	}
	c, err := credentialOf(req)
	if err != nil {
		return wish{}, winpath.Path{}, err
	}
	return wish{
		share: share, credential: c, reuseUnverified: req.ReuseUnverified,
		options: hostapi.Options{WithoutPrivacy: req.WithoutPrivacy, Integrity: req.RequireIntegrity},
	}, remote, nil
}

func credentialOf(req *NewSMBGlobalMappingRequest) (hostapi.Credential, error) {
	refuse := func(reason string) (hostapi.Credential, error) {
		return hostapi.Credential{}, errdefs.New(errdefs.InvalidArgument, "credential", "", "%s", reason)
	}
	switch {
	case !isText(req.Username) || !isText(req.Password) || !isText(req.Domain):
		return refuse("user, password or domain is not text")
	case req.Anonymous && req.Username+req.Password+req.Domain != "":
		return refuse("both anonymous and with a user, password or domain")
	case req.Username == "" && req.Password+req.Domain != "":
		return refuse("a password or domain without a user")
	case req.Domain != "" && strings.ContainsAny(req.Username, `\@`):
		return refuse("a domain beside a user who has one")
	case strings.Contains(req.Domain, `\`):
		return refuse("a domain with a backslash")
	case req.Domain != "":
		return hostapi.Credential{User: req.Domain + `\` + req.Username, Password: req.Password}, nil
	}
	return hostapi.Credential{Anonymous: req.Anonymous, User: req.Username, Password: req.Password}, nil
}

// isText reports whether Windows would read all of a string as it is.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// ensure makes a mapping that works and that the wish may use. Wishes that are
// the same join.
func (s *SMB) ensure(ctx context.Context, w wish) error {
	key := fmt.Sprintf("mapping of %s #%s %+v %t", w.share, s.host.Tag(w.credential), w.options, w.reuseUnverified)
	return s.host.Join(ctx, key, func(ctx context.Context) error { return s.mapShare(ctx, w) })
}

// mapShare maps a share. Where Windows sees another credential at the server
// (1219), it clears away what is stale there and tries again: also where nothing
// is, because another request may just have cleared it.
func (s *SMB) mapShare(ctx context.Context, w wish) error {
	const attempts = 3
	var err error
	for attempt := range attempts {
		if err = s.mapLocked(ctx, w); !hostapi.Conflicts(err) {
			return err
		}
		cleared, silent, clearErr := s.clear(ctx, w.share)
		if clearErr != nil {
			return errors.Join(conflict(w.share, err), clearErr)
		}
		if silent != nil {
			err = fmt.Errorf("%w; it cannot be told whether all of them work: %w", err, silent)
		}
		if !cleared && attempt > 0 {
			break
		}
	}
	return conflict(w.share, err)
}

// conflict explains a 1219 that is not ours to resolve.
func conflict(share winpath.Share, err error) error {
	return errdefs.As(errdefs.FailedPrecondition, "", "", fmt.Errorf(
		"%w: Windows knows one user and password for %s, and it is mapped with others; use another DNS name of the server, or unmap its other shares: %w",
		errdefs.ErrCredentialConflict, share.Server(), err))
}

// clear removes the mappings of a server that do not work, and reports whether
// there were any, and why nobody can say of others. It holds the lock of one
// share at a time.
func (s *SMB) clear(ctx context.Context, share winpath.Share) (cleared bool, silent, err error) {
	all, err := s.host.Mappings(ctx)
	if err != nil {
		return false, nil, err
	}
	for _, m := range all {
		// One with a drive is somebody's own.
		if m.Share.Server() != share.Server() || m.LocalPath != "" {
			continue
		}
		dropped, mute, err := s.dropStale(ctx, m)
		if err != nil {
			return cleared, silent, err
		}
		cleared, silent = cleared || dropped, errors.Join(silent, mute)
	}
	return cleared, silent, nil
}

// dropStale removes a mapping of which both Windows and its share say that it
// does not work, or whose user the server does not let in any more. That one look
// fails is no reason, nor that it is idle: the mapping is another's, and may be in
// use (field-reports.md M09). silent says why it cannot be told.
func (s *SMB) dropStale(ctx context.Context, m hostapi.Mapping) (dropped bool, silent, err error) {
	unlock, err := s.host.Lock(ctx, m.Share)
	if err != nil {
		return false, nil, err
	}
	defer unlock()
	broken := s.host.Probe(ctx, m.Share)
	if err := ctx.Err(); err != nil {
		return false, nil, err
	}
	switch {
	case broken == nil:
		return false, nil, nil
	case hostapi.Silent(broken):
		return false, broken, nil
	case hostapi.ShutOut(broken):
		return true, nil, s.drop(ctx, m)
	}
	now, err := s.host.Mapping(ctx, m.Share)
	switch {
	case isNotFound(err):
		return true, nil, nil
	case err != nil:
		return false, nil, err
	case now.Status == hostapi.OK, idle(now):
		return false, broken, nil
	}
	return true, nil, s.drop(ctx, now)
}

// idle reports whether a mapping may only wait to be used.
func idle(m hostapi.Mapping) bool {
	return m.Status == hostapi.Disconnected || m.Status == hostapi.Paused
}

func (s *SMB) mapLocked(ctx context.Context, w wish) error {
	unlock, err := s.host.Lock(ctx, w.share)
	if err != nil {
		return err
	}
	defer unlock()
	m, err := s.host.Mapping(ctx, w.share)
	switch {
	case isNotFound(err):
		return s.create(ctx, w)
	case err != nil:
		return err
	}
	known := s.host.Known(w.share, w.credential)
	broken := s.works(ctx, m)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case broken == nil, known == hostapi.SameCredential && hostapi.Denied(broken):
		// A user may have rights below the root of the share alone.
		return s.admit(ctx, m, w, known)
	case hostapi.Silent(broken):
		return broken
	}
	return s.replace(ctx, m, w, known, broken)
}

// create makes a mapping. Where nobody can say whether it was made, its
// credential has not been looked at: another may make the mapping meanwhile.
func (s *SMB) create(ctx context.Context, w wish) error {
	err := s.host.Map(ctx, w.share, w.credential, w.options)
	switch {
	case err == nil:
		s.host.Remember(w.share, w.credential, true)
	case hostapi.NotMade(err):
		s.host.Forget(w.share)
	default:
		s.host.Suspect(w.share, w.credential)
	}
	if errdefs.KindOf(err) == errdefs.Unsupported && !w.options.WithoutPrivacy {
		return fmt.Errorf("does the server have SMB encryption? WithoutPrivacy maps it without: %w", err)
	}
	return err
}

// works says why a mapping does not work (field-reports.md M02, M09).
func (s *SMB) works(ctx context.Context, m hostapi.Mapping) error {
	broken := s.host.Probe(ctx, m.Share)
	switch {
	case broken != nil:
		return broken
	case m.Status == hostapi.OK:
		return nil
	case idle(m): // and has connected when it was probed
		again, err := s.host.Mapping(ctx, m.Share)
		if err != nil {
			return err
		}
		m = again
	}
	if m.Status != hostapi.OK {
		return errdefs.New(errdefs.FailedPrecondition, "", "", "the mapping is %s", Status(m.Status))
	}
	return nil
}

// admit lets a wish use a mapping that works, if its credential may.
func (s *SMB) admit(ctx context.Context, m hostapi.Mapping, w wish, known hostapi.Familiarity) error {
	if err := protects(m, w.options); err != nil {
		return err
	}
	if known == hostapi.SameCredential || w.reuseUnverified {
		return nil
	}
	err := s.host.Verify(ctx, w.share, w.credential)
	switch {
	case err == nil:
		s.host.Remember(w.share, w.credential, false)
		return nil
	case !errors.Is(err, hostapi.ErrCannotTell):
		return err
	case known == hostapi.SameUser:
		return nil
	}
	return unproven(err)
}

// protects refuses a mapping with less protection than is wanted. Encryption
// includes signing.
func protects(m hostapi.Mapping, o hostapi.Options) error {
	switch {
	case !o.WithoutPrivacy && !m.Privacy:
		return errdefs.New(errdefs.FailedPrecondition, "", "", "the share is mapped without encryption: unmap it first, or allow that (WithoutPrivacy)")
	case o.Integrity && !m.Integrity && !m.Privacy:
		return errdefs.New(errdefs.FailedPrecondition, "", "", "the share is mapped without signing: unmap it first")
	}
	return nil
}

// replace makes a mapping anew that does not work. It stays where that would not
// help, or where it is for another to do; and one that Windows says works is not
// taken from its users for a credential that may be wrong.
func (s *SMB) replace(ctx context.Context, m hostapi.Mapping, w wish, known hostapi.Familiarity, broken error) error {
	if known != hostapi.SameCredential {
		err := s.host.Verify(ctx, w.share, w.credential)
		switch {
		case err == nil:
		case !errors.Is(err, hostapi.ErrCannotTell), hostapi.Silent(err):
			return err
		case known == hostapi.OtherUser, m.Status == hostapi.OK && !hostapi.ShutOut(broken):
			return unproven(errors.Join(broken, err))
		}
	}
	if err := s.drop(ctx, m); err != nil {
		return fmt.Errorf("removing the mapping that does not work: %w", err)
	}
	return s.create(ctx, w)
}

// unproven is the error of a credential that is not known to be as good as the
// mapping's.
func unproven(err error) error {
	return errdefs.As(errdefs.FailedPrecondition, "", "", fmt.Errorf("%w: %w", errdefs.ErrCredentialConflict, err))
}

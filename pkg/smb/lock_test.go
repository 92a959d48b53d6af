// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

// What is done with a share waits for what is being done with it, and for no
// other share: a mapping that is being removed is no mapping to use, and one that
// is being made is one to remove.
func TestOneShare_OneChange(t *testing.T) {
	for name, c := range map[string]struct {
		mapped      bool // before
		first, then func(*site) error
		waited      time.Duration
		want        bool // mapped in the end
	}{
		"mapped while it is unmapped": {
			true, func(s *site) error { return s.unmap(dataShare) }, func(s *site) error { return s.mapAs(dataShare, alice) }, time.Second, true,
		},
		"unmapped while it is mapped": {
			false, func(s *site) error { return s.mapAs(dataShare, alice) }, func(s *site) error { return s.unmap(dataShare) }, time.Second, false,
		},
		"another unmapped meanwhile": {
			false, func(s *site) error { return s.mapAs(dataShare, alice) }, func(s *site) error { return s.unmap(otherShare) }, 0, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSite(t, spec(), func(s *site) {
				if c.mapped {
					s.must(s.mapAs(dataShare, alice))
				}
				s.node.Latency("MSFT_SmbGlobalMapping.Create", time.Second)
				s.node.Latency("MSFT_SmbGlobalMapping.Remove", time.Second)
				done := make(chan error, 1)
				go func() { done <- c.first(s) }()
				synctest.Wait()
				s.node.Latency("MSFT_SmbGlobalMapping.Create", 0)
				s.node.Latency("MSFT_SmbGlobalMapping.Remove", 0)
				start := time.Now()
				s.must(c.then(s))
				if waited := time.Since(start); waited != c.waited {
					s.Errorf("waited %v, want %v", waited, c.waited)
				}
				s.must(<-done)
				if _, mapped := s.mappings()[dataShare]; mapped != c.want {
					s.Errorf("mapped: %t", mapped)
				}
			})
		})
	}
}

// A mapping that is being made anew is not cleared away as stale, for another
// share's sake; who does not want to wait until it can be told has changed nothing.
func TestOneShare_RenewedIsNotStale(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(otherShare, alice))
		s.must(s.node.SetSMBPassword("files", alice.User, "new"))
		s.must(s.node.DropSMBSessions("files"))
		verify := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Logons.Logon" {
				<-verify
			}
			return do()
		})
		renewed, mapped := make(chan error, 1), make(chan error, 1)
		go func() { renewed <- s.mapAs(otherShare, simhost.SMBCredential{User: alice.User, Password: "new"}) }()
		synctest.Wait()
		s.node.Calls().Reset()
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		s.wantKind(s.ask(ctx, request(dataShare, bob)), context.DeadlineExceeded)
		s.wantChanges(1, 0) // which was refused with 1219
		go func() { mapped <- s.mapAs(dataShare, bob) }()
		synctest.Wait()
		close(verify)
		s.must(<-renewed)
		s.wantKind(<-mapped, errdefs.ErrCredentialConflict)
	})
}

// Who does not want to wait any longer has changed nothing.
func TestOneShare_CallerLeaves(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *site) error{
		"map": func(ctx context.Context, s *site) error { return s.ask(ctx, request(dataShare, bob)) },
		"unmap": func(ctx context.Context, s *site) error {
			_, err := s.smb.RemoveSMBGlobalMapping(ctx, &smb.RemoveSMBGlobalMappingRequest{RemotePath: dataShare})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSite(t, spec(), func(s *site) {
				s.node.Latency("MSFT_SmbGlobalMapping.Create", time.Minute)
				mapped := make(chan error, 1)
				go func() { mapped <- s.mapAs(dataShare, alice) }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(s.Context(), time.Second)
				defer cancel()
				s.wantKind(ask(ctx, s), context.DeadlineExceeded)
				s.must(<-mapped)
				s.wantMapped(dataShare, alice)
			})
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// Requests with other credentials do not join: each gets its own answer.
func TestManyAtOnce_EachItsOwnAnswer(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.node.Latency("MSFT_SmbGlobalMapping.Create", time.Second)
		var callers sync.WaitGroup
		for range 8 {
			for c, want := range map[simhost.SMBCredential]error{alice: nil, bob: nil, wrong: errdefs.ErrPermissionDenied, stranger: errdefs.ErrPermissionDenied} {
				callers.Go(func() {
					if err := s.mapAs(dataShare, c); !errors.Is(err, want) || (err == nil) != (want == nil) {
						s.Errorf("%s: %v", c.User, err)
					}
				})
			}
		}
		callers.Wait()
	})
}

// A share that is not mapped yet, on a server that hangs: whoever comes back
// joins what has begun, however many shares, and other servers go on.
func TestM22_HungServerWhileMapping(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		release, err := s.node.HangSMBServer("files")
		s.must(err)
		for range 3 {
			for _, share := range []string{dataShare, otherShare, `\\files\alices`, `\\files\none`} {
				ctx, cancel := context.WithTimeout(s.Context(), time.Second)
				err := s.ask(ctx, request(share, alice))
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errdefs.ErrResourceExhausted) {
					s.Errorf("%s: %v", share, err)
				}
			}
			s.must(s.mapAs(`\\domain\share`, bob))
			s.must(s.unmap(`\\domain\share`))
		}
		s.node.Calls().Reset()
		release()
		synctest.Wait()
		s.must(s.mapAs(dataShare, alice))
		s.must(s.mapAs(otherShare, alice))
		if made, _ := s.changes(); made > 2 {
			s.Errorf("made %d", made)
		}
	})
}

// A share that does not answer stands in the way of another user (1219): the
// error says so, because nobody knows whether its mapping is stale.
func TestConflict_WithSilentShare(t *testing.T) {
	start := left(simhost.SMBMapping{RemotePath: otherShare, Credential: alice, Status: 2, Privacy: true})
	synctest.Test(t, func(t *testing.T) {
		n := start(t)
		defer n.Close()
		g, err := group(n)
		if err != nil {
			t.Fatal(err)
		}
		n.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Files.Open" && strings.HasPrefix(c.Subject, `\\?\UNC\files\second`) {
				return win.ERROR_SEM_TIMEOUT
			}
			return do()
		})
		before := n.Snapshot()
		_, err = g.NewSMBGlobalMapping(t.Context(), request(dataShare, bob))
		for _, want := range []error{errdefs.ErrCredentialConflict, win.ERROR_SESSION_CREDENTIAL_CONFLICT, win.ERROR_SEM_TIMEOUT} {
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		if after := n.Snapshot(); after != before {
			t.Errorf("changed:\n%s", simhost.Diff(before, after))
		}
	})
}

// A server that is down keeps its mappings: a new one would not come about
// either.
func TestServerDown_MappingStays(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		s.must(s.node.FailSMBServer("files", uint32(win.ERROR_BAD_NETPATH)))
		for _, c := range []simhost.SMBCredential{bob, alice, wrong} {
			if err := s.mapAs(dataShare, c); errdefs.KindOf(err) != errdefs.Unavailable || !errors.Is(err, win.ERROR_BAD_NETPATH) {
				s.Errorf("%s: %v", c.User, err)
			}
		}
		s.must(s.node.FailSMBServer("files", 0))
		if _, ok := s.mappings()[dataShare]; !ok {
			s.Error("the mapping is gone")
		}
		s.must(s.mapAs(dataShare, bob))
		s.wantMapped(dataShare, bob)
	})
}

// A caller that has left, or comes with a context that has ended, changes
// nothing by halves.
func TestContexts(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		ended, cancel := context.WithCancel(s.Context())
		cancel()
		s.wantKind(s.ask(ended, request(dataShare, bob)), context.Canceled)
		if n := s.node.Calls().Total(); n != 0 {
			s.Errorf("Windows was asked %d times", n)
		}
		s.node.Latency("MSFT_SmbGlobalMapping.Create", time.Minute)
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		s.wantKind(s.ask(ctx, request(dataShare, bob)), context.DeadlineExceeded)
		s.must(s.mapAs(dataShare, bob)) // joins, and does not begin another
		s.wantChanges(1, 0)
	})
}

// fleet is 20 shares on five servers.
func fleet() simhost.NodeSpec {
	sp := simhost.NodeSpec{Version: simhost.SpecVersion}
	for server := range 5 {
		built := simhost.SMBServerSpec{Name: fmt.Sprintf("srv%d", server), Users: []simhost.SMBUserSpec{{Name: "bob", Password: "secret"}}}
		for share := range 4 {
			built.Shares = append(built.Shares, simhost.SMBShareSpec{Name: fmt.Sprintf("s%d", share)})
		}
		sp.SMB = append(sp.SMB, built)
	}
	return sp
}

func fleetShares() []string {
	var shares []string
	for server := range 5 {
		for share := range 4 {
			shares = append(shares, fmt.Sprintf(`\\srv%d\s%d`, server, share))
		}
	}
	return shares
}

// A thousand requests on 20 shares by 32 goroutines, with boundary calls failing
// at random before and after their effect and mappings breaking, end with each
// mapping right.
func TestThousandRequests(t *testing.T) {
	inSite(t, fleet(), func(s *site) {
		shares := fleetShares()
		var mu sync.Mutex
		chance := rand.New(rand.NewPCG(1, 2))
		roll := func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return chance.IntN(n)
		}
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			failure := error(win.ERROR_NETNAME_DELETED)
			switch c.Method {
			case "WMI.Enter", "WMI.Connect", "Session.Query", "Session.Get", "Session.Start", "Rows.Next", "Call.Result":
				failure = win.WBEM_E_PROVIDER_FAILURE
			}
			switch roll(20) {
			case 0:
				return failure
			case 1:
				if err := do(); err != nil {
					return err
				}
				return failure
			}
			return do()
		})
		var workers sync.WaitGroup
		failures := make(chan error, 1000)
		work := make(chan int)
		for range 32 {
			workers.Go(func() {
				for range work {
					share := shares[roll(len(shares))]
					switch roll(10) {
					case 0:
						failures <- s.unmap(share)
					case 1:
						if err := s.mapAs(share, stranger); err == nil {
							s.Error("a stranger was let in")
						}
						failures <- nil
					case 2:
						_ = s.node.SetSMBStatus(share, uint32(2+roll(5))) // where it is mapped
						failures <- s.mapAs(share, bob)
					default:
						failures <- s.mapAs(share, bob)
					}
				}
			})
		}
		for i := range 1000 {
			work <- i
		}
		close(work)
		workers.Wait()
		close(failures)
		failed := 0
		for err := range failures {
			if err != nil {
				failed++
				if kind := errdefs.KindOf(err); kind != errdefs.Unavailable && kind != errdefs.FailedPrecondition {
					s.Errorf("%s: %v", kind, err)
				}
			}
		}
		if failed == 0 {
			s.Error("nothing has failed")
		}

		s.node.OnCall(nil)
		for _, share := range shares {
			s.must(s.mapAs(share, bob))
			s.wantMapped(share, bob)
		}
		if n := len(s.node.SMBMappings()); n != len(shares) {
			s.Errorf("%d mappings", n)
		}
	})
}

// After a reboot, a rotated password and a restarted driver every share works
// again, whatever mappings other software has left, and nobody had to help.
func TestRebootRotationRestart(t *testing.T) {
	inSite(t, fleet(), func(s *site) {
		shares := fleetShares()
		for i, share := range shares {
			if i%2 == 0 {
				s.must(s.node.AddSMBMapping(simhost.SMBMapping{RemotePath: share, Credential: bob, Persistent: true, Privacy: true}))
			} else {
				s.must(s.mapAs(share, bob))
			}
		}
		s.node.Reboot()
		for server := range 5 {
			s.must(s.node.SetSMBPassword(fmt.Sprintf("srv%d", server), "bob", "rotated"))
		}
		s.start()
		rotated := simhost.SMBCredential{User: "bob", Password: "rotated"}
		errs := make([]error, len(shares))
		var callers sync.WaitGroup
		for i, share := range shares {
			callers.Go(func() { errs[i] = s.mapAs(share, rotated) })
		}
		callers.Wait()
		// One request may have met the stale mapping of another; the next does not.
		for i, share := range shares {
			if errs[i] != nil {
				s.Errorf("%s: %v", share, errs[i])
			}
			s.wantMapped(share, rotated)
		}
	})
}

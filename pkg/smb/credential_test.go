// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

var (
	wrong    = simhost.SMBCredential{User: "bob", Password: "wrong"}
	stranger = simhost.SMBCredential{User: "mallory", Password: "secret"}
)

// M06: a second tenant with a wrong password, or one whom the server does not
// know or not let in, is refused while the first goes on.
func TestM06_SecondTenantIsVerified(t *testing.T) {
	for _, says86 := range []bool{false, true} {
		sp := spec()
		sp.Switches.SMBWrongPassword86 = says86
		inSite(t, sp, func(s *site) {
			s.must(s.mapAs(dataShare, alice))
			s.node.Calls().Reset()
			for _, c := range []simhost.SMBCredential{wrong, stranger, {User: alice.User, Password: "wrong"}, {User: "bob"}} {
				s.wantKind(s.mapAs(dataShare, c), errdefs.ErrPermissionDenied)
			}
			s.must(s.mapAs(dataShare, alice))
			s.must(s.mapAs(dataShare, bob)) // accepted, and remembered
			logons := s.node.Calls().ByMethod()["Logons.Logon"]
			s.must(s.mapAs(dataShare, bob))
			s.must(s.mapAs(dataShare, alice))
			if n := s.node.Calls().ByMethod()["Logons.Logon"]; n != logons {
				s.Errorf("%d more logons for what is known", n-logons)
			}
			s.wantChanges(0, 0)
			s.wantMapped(dataShare, alice)
		})
	}
}

// unverifiable are reasons why nobody can tell whether a credential is good.
func unverifiable() map[string]func(*site) {
	failing := func(method string, err error) func(*site) {
		return func(s *site) {
			s.node.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == method {
					return err
				}
				return do()
			})
		}
	}
	return map[string]func(*site){
		"the session is refused":  failing("Logons.Logon", win.ERROR_PRIVILEGE_NOT_HELD),
		"the session is denied":   failing("Logons.Logon", win.ERROR_ACCESS_DENIED),
		"Windows cannot":          failing("Logons.Logon", win.ERROR_PROC_NOT_FOUND),
		"the server is not there": failing("Logon.Open", win.ERROR_BAD_NETPATH),
		"the name is lost":        failing("Logon.Open", win.ERROR_NETNAME_DELETED),
		"1219 there too":          failing("Logon.Open", win.ERROR_SESSION_CREDENTIAL_CONFLICT),
	}
}

// Where nobody can tell, the same user goes on after the probe, with whatever
// password, and another is a conflict.
func TestCannotTell(t *testing.T) {
	for name, breaks := range unverifiable() {
		t.Run(name, func(t *testing.T) {
			inSite(t, spec(), func(s *site) {
				s.must(s.mapAs(dataShare, bob))
				breaks(s)
				s.must(s.mapAs(dataShare, simhost.SMBCredential{User: "BOB", Password: "rotated"}))
				err := s.mapAs(dataShare, alice)
				if !errors.Is(err, errdefs.ErrCredentialConflict) || errdefs.KindOf(err) != errdefs.FailedPrecondition {
					s.Errorf("another user: %v", err)
				}
				s.restart() // whose it was is not known now
				s.wantKind(s.mapAs(dataShare, bob), errdefs.ErrCredentialConflict)
				trusting := request(dataShare, bob)
				trusting.ReuseUnverified = true
				s.must(s.ask(s.Context(), trusting))
				s.wantKind(s.mapAs(dataShare, bob), errdefs.ErrCredentialConflict) // which proves nothing for others
				s.wantMapped(dataShare, bob)
			})
		})
	}
}

// The fact on which verification rests is not verified itself: if Windows serves
// every session through the mapping, any password would be accepted. So a user
// who cannot be is tried as well, and where that one is let in nobody can tell.
func TestMappingServesAllSessions(t *testing.T) {
	sp := spec()
	sp.Switches.SMBMappingServesAll = true
	inSite(t, sp, func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		s.must(s.mapAs(dataShare, bob))
		for _, c := range []simhost.SMBCredential{alice, stranger} {
			s.wantKind(s.mapAs(dataShare, c), errdefs.ErrCredentialConflict)
		}
		s.wantMapped(dataShare, bob)
	})
	// So with a server that takes everybody for a guest.
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(`\\open\share`, bob))
		s.wantKind(s.mapAs(`\\open\share`, stranger), errdefs.ErrCredentialConflict)
	})
}

// 1219 where it is not ours: explained, and nothing is touched.
func TestConflict_IsExplained(t *testing.T) {
	for name, leave := range map[string]func(*site){
		"a mapping that works": func(s *site) { s.must(s.mapAs(otherShare, bob)) },
		"somebody's drive": func(s *site) {
			s.must(s.node.AddSMBMapping(simhost.SMBMapping{LocalPath: "G:", RemotePath: otherShare, Credential: bob, Status: 6}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSite(t, spec(), func(s *site) {
				leave(s)
				before := s.node.Snapshot()
				err := s.mapAs(dataShare, alice)
				if !errors.Is(err, errdefs.ErrCredentialConflict) || !errors.Is(err, win.ERROR_SESSION_CREDENTIAL_CONFLICT) ||
					!strings.Contains(err.Error(), "another DNS name") {
					s.Errorf("got %v", err)
				}
				if after := s.node.Snapshot(); after != before {
					s.Errorf("changed:\n%s", simhost.Diff(before, after))
				}
			})
		})
	}
}

// field-reports.md M09: that one look at another's mapping fails takes it away
// only where Windows says, too, that it does not work.
func TestConflict_OneLookFails(t *testing.T) {
	for status, stays := range map[uint32]bool{0: true, 1: true, 2: true, 3: false, 6: false} {
		t.Run(smb.Status(status).String(), func(t *testing.T) {
			inSite(t, spec(), func(s *site) {
				s.must(s.mapAs(otherShare, bob))
				s.must(s.node.SetSMBStatus(otherShare, status))
				looks := 0
				s.node.OnCall(func(c simhost.Call, do func() error) error {
					if c.Method == "Files.Open" {
						if looks++; looks == 1 {
							return win.ERROR_NO_SYSTEM_RESOURCES
						}
					}
					return do()
				})
				err := s.mapAs(dataShare, alice)
				if _, ok := s.mappings()[otherShare]; ok != stays {
					s.Errorf("the other share is mapped: %t", ok)
				}
				if stays {
					s.wantKind(err, errdefs.ErrCredentialConflict)
				} else {
					s.must(err)
				}
			})
		})
	}
}

// A mapping of which nobody can tell whether it works stays, and so does the
// conflict with it: it is tried again once, and explained.
func TestConflict_CannotTell(t *testing.T) {
	for name, code := range map[string]win.Errno{
		"the server is silent": win.ERROR_BAD_NETPATH,
		"no look succeeds":     win.ERROR_NO_SYSTEM_RESOURCES,
	} {
		t.Run(name, func(t *testing.T) {
			inSite(t, spec(), func(s *site) {
				s.must(s.mapAs(otherShare, bob))
				s.node.OnCall(func(c simhost.Call, do func() error) error {
					if c.Method == "Files.Open" {
						return code
					}
					return do()
				})
				s.node.Calls().Reset()
				err := s.mapAs(dataShare, alice)
				s.wantKind(err, errdefs.ErrCredentialConflict)
				s.wantKind(err, code)
				s.wantChanges(2, 0)
				s.wantMapped(otherShare, bob)
			})
		})
	}
}

// Another's mapping that fails is looked at once more: where Windows cannot, it
// stays and the conflict says why; where it is gone, it is in nobody's way.
func TestConflict_SecondLook(t *testing.T) {
	for code, made := range map[win.HRESULT]int{win.WBEM_E_ACCESS_DENIED: 1, win.WBEM_E_NOT_FOUND: 3} {
		t.Run(code.Error(), func(t *testing.T) {
			inSite(t, spec(), func(s *site) {
				s.must(s.mapAs(otherShare, bob))
				s.node.OnCall(func(c simhost.Call, do func() error) error {
					switch {
					case c.Method == "Files.Open":
						return win.ERROR_NO_SYSTEM_RESOURCES
					case c.Method == "Session.Get" && strings.Contains(c.Subject, "second"):
						return code
					}
					return do()
				})
				s.node.Calls().Reset()
				err := s.mapAs(dataShare, alice)
				s.wantKind(err, errdefs.ErrCredentialConflict)
				if failed := errors.Is(err, code); failed != (made == 1) {
					s.Errorf("got %v", err)
				}
				s.wantChanges(made, 0)
				s.wantMapped(otherShare, bob)
			})
		})
	}
}

// Where a stale mapping cannot be removed, the conflict says so.
func TestConflict_CannotClear(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(otherShare, bob))
		s.must(s.node.SetSMBStatus(otherShare, uint32(smb.StatusNetworkError)))
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			switch {
			case c.Method == "Files.Open":
				return win.ERROR_NO_SYSTEM_RESOURCES
			case strings.HasPrefix(c.Subject, "MSFT_SmbGlobalMapping.Remove"):
				return win.WBEM_E_ACCESS_DENIED
			}
			return do()
		})
		err := s.mapAs(dataShare, alice)
		s.wantKind(err, errdefs.ErrCredentialConflict)
		s.wantKind(err, win.WBEM_E_ACCESS_DENIED)
	})
}

// A wrong password is let in by nothing that fails meanwhile, and takes no mapping
// away (field-reports.md M06, M09).
func TestWrongPassword_WhileWindowsFails(t *testing.T) {
	for name, c := range map[string]struct {
		fails func(simhost.Call) bool
		code  error
	}{
		"WMI finds nothing": {func(c simhost.Call) bool { return strings.HasPrefix(c.Method, "Session.") }, win.WBEM_E_NOT_FOUND},
		"no look at the share": {
			func(c simhost.Call) bool { return c.Method == "Files.Open" || c.Method == "Logon.Open" }, win.ERROR_UNEXP_NET_ERR,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSite(t, spec(), func(s *site) {
				s.must(s.node.AddSMBMapping(simhost.SMBMapping{RemotePath: dataShare, Credential: bob, Privacy: true}))
				before := s.node.Snapshot()
				s.node.OnCall(func(call simhost.Call, do func() error) error {
					if c.fails(call) {
						return c.code
					}
					return do()
				})
				s.wantKind(s.mapAs(dataShare, wrong), c.code)
				s.node.OnCall(nil)
				s.wantKind(s.mapAs(dataShare, wrong), errdefs.ErrPermissionDenied)
				if after := s.node.Snapshot(); after != before {
					s.Errorf("changed:\n%s", simhost.Diff(before, after))
				}
			})
		})
	}
}

// field-reports.md M06: a password that nobody has looked at, because the answer
// to its mapping was lost, does not open the mapping that another has made since.
func TestLostAnswer_ProvesNothing(t *testing.T) {
	for _, method := range []string{"Session.Start", "Call.Result"} {
		t.Run(method, func(t *testing.T) {
			inSite(t, spec(), func(s *site) {
				s.node.OnCall(func(c simhost.Call, do func() error) error {
					if c.Method == method && strings.HasPrefix(c.Subject, "MSFT_SmbGlobalMapping.Create") {
						return win.RPC_S_SERVER_UNAVAILABLE
					}
					return do()
				})
				if err := s.mapAs(dataShare, wrong); err == nil {
					t.Error("no error")
				}
				s.node.OnCall(nil)
				s.must(s.node.AddSMBMapping(simhost.SMBMapping{RemotePath: dataShare, Credential: bob, Privacy: true}))
				s.wantKind(s.mapAs(dataShare, wrong), errdefs.ErrPermissionDenied)
				s.must(s.mapAs(dataShare, bob))
				s.wantMapped(dataShare, bob)
			})
		})
	}
}

// field-reports.md M06: nor does a request that was refused before its mapping was
// begun, because another of the server hangs: where nobody can tell, its user is
// not the same.
func TestRefusedByHang_ProvesNothing(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		release, err := s.node.HangSMBServer("files")
		s.must(err)
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		s.wantKind(s.ask(ctx, request(otherShare, bob)), context.DeadlineExceeded)
		s.wantKind(s.mapAs(dataShare, stranger), errdefs.ErrResourceExhausted)
		release()
		synctest.Wait()
		s.must(s.node.AddSMBMapping(simhost.SMBMapping{RemotePath: dataShare, Credential: bob, Privacy: true}))
		unverifiable()["the session is refused"](s)
		s.wantKind(s.mapAs(dataShare, stranger), errdefs.ErrCredentialConflict)
	})
}

// field-reports.md M06: when the answer to the removal of a mapping is lost, what
// was good for it does not open the one that another has made since.
func TestLostRemoval_ProvesNothing(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			err := do()
			if err == nil && c.Method == "Session.Start" {
				return win.RPC_S_SERVER_UNAVAILABLE
			}
			return err
		})
		s.wantKind(s.unmap(dataShare), win.RPC_S_SERVER_UNAVAILABLE)
		s.node.OnCall(nil)
		s.must(s.node.AddSMBMapping(simhost.SMBMapping{RemotePath: dataShare, Credential: alice, Privacy: true}))
		s.must(s.node.SetSMBPassword("files", bob.User, "rotated"))
		s.wantKind(s.mapAs(dataShare, bob), errdefs.ErrPermissionDenied)
	})
}

// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"errors"
	"strings"
	"testing"

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

// A user may be good for a server and not for the share.
func TestM06_NotForTheShare(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(`\\files\alices`, alice))
		s.wantKind(s.mapAs(`\\files\alices`, bob), errdefs.ErrPermissionDenied)
		s.must(s.mapAs(`\\files\alices`, alice))
	})
}

// Whoever leaves the user out, or comes as nobody, does not ride on another's
// mapping either.
func TestM06_WithoutUser(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		s.wantKind(s.mapAs(dataShare, simhost.SMBCredential{}), errdefs.ErrCredentialConflict)
		s.wantKind(s.ask(s.Context(), &smb.NewSMBGlobalMappingRequest{RemotePath: dataShare, Anonymous: true}), errdefs.ErrPermissionDenied)
		s.wantMapped(dataShare, bob)
	})
}

// A password is rotated: the old session goes on, the new password is verified
// and takes over when the session ends; the old one is refused then.
func TestM09_PasswordIsRotated(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		s.must(s.node.SetSMBPassword("files", "bob", "rotated"))
		rotated := simhost.SMBCredential{User: "bob", Password: "rotated"}
		s.must(s.mapAs(dataShare, rotated))
		s.wantMapped(dataShare, bob) // a healthy mapping under a pod stays

		s.must(s.node.DropSMBSessions("files"))
		s.wantKind(s.mapAs(dataShare, bob), errdefs.ErrPermissionDenied)
		s.must(s.mapAs(dataShare, rotated))
		s.wantMapped(dataShare, rotated)
	})
}

// A driver that was restarted verifies what it does not remember.
func TestRestartedDriver(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		s.restart()
		s.node.Calls().Reset()
		s.wantKind(s.mapAs(dataShare, wrong), errdefs.ErrPermissionDenied)
		s.must(s.mapAs(dataShare, bob))
		s.must(s.mapAs(dataShare, alice))
		s.wantChanges(0, 0)
		s.wantMapped(dataShare, bob)
	})
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
				if !errors.Is(err, errdefs.ErrCredentialConflict) || kindOf(err) != errdefs.FailedPrecondition {
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

// M01: after a reboot the persistent mapping of other software stands in the
// way without its credential; nobody needs to clear it away by hand.
func TestM01_AfterReboot(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		for _, share := range []string{dataShare, otherShare} {
			s.must(s.node.AddSMBMapping(simhost.SMBMapping{RemotePath: share, Credential: bob, Persistent: true, Privacy: true}))
		}
		s.node.Reboot()
		s.start()
		s.wantKind(s.mapAs(dataShare, wrong), errdefs.ErrPermissionDenied)
		if len(s.mappings()) != 2 {
			s.Error("a wrong password has removed a mapping")
		}
		s.must(s.mapAs(dataShare, bob)) // the other share of the server is stale, too
		s.wantMapped(dataShare, bob)
		s.must(s.mapAs(otherShare, bob))
		s.wantMapped(otherShare, bob)
	})
}

// 1219 where it is ours: a stale mapping of another share of the server.
func TestConflict_StaleMappingIsCleared(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(otherShare, bob))
		s.must(s.node.RemoveSMBUser("files", "bob"))
		s.must(s.node.DropSMBSessions("files"))
		s.must(s.mapAs(dataShare, alice))
		s.wantMapped(dataShare, alice)
		if _, ok := s.mappings()[otherShare]; ok {
			s.Error("the stale mapping is still there")
		}
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

// A wrong password makes no mapping and leaves nothing that would let it in.
func TestWrongPasswordFirst(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		err := s.mapAs(dataShare, wrong)
		if !errors.Is(err, errdefs.ErrPermissionDenied) || !errors.Is(err, win.ERROR_LOGON_FAILURE) || len(s.mappings()) != 0 {
			s.Errorf("got %v, mapped %v", err, s.mappings())
		}
		s.must(s.node.AddSMBMapping(simhost.SMBMapping{RemotePath: dataShare, Credential: alice, Privacy: true}))
		s.wantKind(s.mapAs(dataShare, wrong), errdefs.ErrPermissionDenied)
	})
}

// What Windows answers to a new mapping keeps its code and has the right kind.
func TestMap_Errors(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		for remote, want := range map[string]struct {
			code win.Errno
			kind errdefs.Kind
		}{
			`\\nowhere\share`: {win.ERROR_BAD_NETPATH, errdefs.Unavailable}, // M14
			`\\files\none`:    {win.ERROR_BAD_NET_NAME, errdefs.Unavailable},
			`\\files\alices`:  {win.ERROR_ACCESS_DENIED, errdefs.PermissionDenied},
		} {
			if err := s.mapAs(remote, bob); !errors.Is(err, want.code) || kindOf(err) != want.kind {
				s.Errorf("%s: %v (%s)", remote, err, kindOf(err))
			}
		}
	})
}

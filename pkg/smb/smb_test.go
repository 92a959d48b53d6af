// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

// SMB-8, M15: what is no credential is refused.
func TestSMB8_NoCredential(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		for name, req := range map[string]smb.NewSMBGlobalMappingRequest{
			"anonymous user":        {Anonymous: true, Username: "u"},
			"anonymous password":    {Anonymous: true, Password: "p"},
			"password alone":        {Password: "p"},
			"domain alone":          {Domain: "D"},
			"two domains":           {Username: `D\u`, Domain: "E"},
			"two domains (UPN)":     {Username: `u@d`, Domain: "E"},
			"domain with backslash": {Username: "u", Domain: `D\E`},
			"NUL in password":       {Username: "u", Password: "a\x00b"},
			"user is not text":      {Username: "u\xff"},
		} {
			req.RemotePath = dataShare
			if err := s.ask(s.Context(), &req); !errors.Is(err, errdefs.ErrInvalidArgument) {
				s.Errorf("%s: %v", name, err)
			}
		}
		if n := s.node.Calls().Total(); n != 0 {
			s.Errorf("Windows was asked %d times", n)
		}
	})
}

// hostileTexts are what broke mappings when they went through a shell
// (field-reports.md M16, CVE-2023-3893).
func hostileTexts() []string {
	return []string{
		"a'b\"c$d;e`f&g|h\\i:j", `:`, `\`, `::`, `\:`, `:\`, ` lead and trail `, `$(calc)`, `$env:PATH`, "back`tick", `%COMSPEC%`, `" & calc & "`,
		strings.Repeat("x", 256), strings.Repeat("\u00e4", 256), "пароль", "密码", "\U0001F511", `x' OR '1'='1`, `user@realm`, "tab\tnewline\n",
	}
}

// SMB-8, M16, M17: every user and password arrives at the server as it is.
func TestM16_HostileCredentialsArriveUnchanged(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		for i, text := range hostileTexts() {
			for _, c := range []simhost.SMBCredential{{User: "plain", Password: text}, {User: text, Password: "plain"}, {User: text, Password: text}} {
				server := fmt.Sprintf("h%d-%d", i, len(s.mappings()))
				s.must(s.node.AddSMBServer(simhost.SMBServerSpec{
					Name: server, Users: []simhost.SMBUserSpec{{Name: c.User, Password: c.Password}}, Shares: []simhost.SMBShareSpec{{Name: "s"}},
				}))
				remote := `\\` + server + `\s`
				if err := s.mapAs(remote, c); err != nil {
					s.Errorf("%q: %v", c, err)
					continue
				}
				s.wantMapped(remote, c)
				s.restart() // so that it is verified
				if err := s.mapAs(remote, c); err != nil {
					s.Errorf("verifying %q: %v", c, err)
				}
				shown := s.node.ShownToSMBServer(server)
				if len(shown) < 2 || shown[0] != c || shown[1] != c {
					s.Errorf("%q arrived as %q", c, shown)
				}
			}
		}
	})
}

// LIB-11, V23: no name selects another mapping than its own.
func TestHostileSharesSelectNothingElse(t *testing.T) {
	sp := spec()
	for _, byQuery := range []bool{false, true} {
		sp.Switches.SMBMappingNotByPath = byQuery
		inSite(t, sp, func(s *site) {
			s.must(s.mapAs(dataShare, bob))
			for _, remote := range []string{`\\files\x' OR '1'`, `\\files\data' OR RemotePath LIKE '%`, `\\files\data'`, `\\fil'es\data`, `\\files\%`, `\\files\dat_`} {
				err := s.unmap(remote)
				if err != nil && !errors.Is(err, errdefs.ErrInvalidArgument) {
					s.Errorf("%s: %v", remote, err)
				}
				if _, err := s.smb.GetMapping(s.Context(), &smb.GetMappingRequest{RemotePath: remote}); err == nil {
					s.Errorf("%s is mapped", remote)
				}
			}
			s.wantMapped(dataShare, bob)
		})
	}
}

func TestSMB9_Integrity(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		loose := request(`\\plain\share`, bob)
		loose.WithoutPrivacy = true
		s.must(s.ask(s.Context(), loose))
		strict := *loose
		strict.RequireIntegrity = true
		s.wantKind(s.ask(s.Context(), &strict), errdefs.ErrFailedPrecondition)
		s.must(s.mapAs(dataShare, bob))
		strict.RemotePath = dataShare // encrypted, so it is signed
		s.must(s.ask(s.Context(), &strict))
	})
}

// SMB-10: without a filesystem no link can be asked for.
func TestSMB10_WithoutFilesystem(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		group, err := smb.New(s.node.SMB(), nil)
		s.must(err)
		req := request(dataShare, bob)
		s.must(second(group.NewSMBGlobalMapping(s.Context(), req)))
		req.LocalPath = local
		s.wantKind(second(group.NewSMBGlobalMapping(s.Context(), req)), errdefs.ErrInvalidArgument)
	})
}

func second[T any](_ T, err error) error { return err }

// A mapping that goes between the look and the removal is gone all the same.
func TestSMB16_GoneMeanwhile(t *testing.T) {
	for _, code := range []error{win.WBEM_E_NOT_FOUND, win.ERROR_NOT_CONNECTED} {
		inSite(t, spec(), func(s *site) {
			s.must(s.mapAs(dataShare, bob))
			s.node.OnCall(func(c simhost.Call, do func() error) error {
				if strings.HasPrefix(c.Subject, "MSFT_SmbGlobalMapping.Remove") {
					return code
				}
				return do()
			})
			s.must(s.unmap(dataShare))
		})
	}
}

// Where the provider does not find by path, one query by remote path does
// (architecture.md); of several mappings of a share the one without drive counts.
func TestMappingByQuery(t *testing.T) {
	sp := spec()
	sp.Switches.SMBMappingNotByPath = true
	inSite(t, sp, func(s *site) {
		s.must(s.node.AddSMBMapping(simhost.SMBMapping{LocalPath: "G:", RemotePath: dataShare, Credential: bob}))
		s.must(s.mapAs(dataShare, bob))
		s.node.Calls().Reset()
		s.must(s.mapAs(dataShare, bob))
		s.wantChanges(0, 0)
		for _, c := range s.node.Calls().Calls() {
			if c.Method == "Session.Query" && !strings.Contains(c.Subject, `WHERE RemotePath = '\\\\files\\data'`) {
				s.Errorf("query %s", c.Subject)
			}
		}
		s.must(s.unmap(dataShare))
		if len(s.node.SMBMappings()) != 1 || s.node.SMBMappings()[0].LocalPath != "G:" {
			s.Errorf("left %+v", s.node.SMBMappings())
		}
	})
}

// LIB-9, BUG 49: a filesystem that answers nil, or fails, is no panic.
func TestLIB9_FilesystemAnswersNil(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		broken := errors.New("broken")
		for _, err := range []error{nil, broken, fmt.Errorf("there: %w", errdefs.ErrAlreadyExists)} {
			group, newErr := smb.New(s.node.SMB(), nilFilesystem{err: err})
			s.must(newErr)
			req := request(dataShare, bob)
			req.LocalPath = local
			if got := second(group.NewSMBGlobalMapping(s.Context(), req)); !errors.Is(got, err) || (got == nil) != (err == nil) {
				s.Errorf("got %v, want %v", got, err)
			}
		}
	})
}

type nilFilesystem struct {
	filesystem.Interface
	err error
}

func (f nilFilesystem) CreateSymlink(context.Context, *filesystem.CreateSymlinkRequest) (*filesystem.CreateSymlinkResponse, error) {
	return nil, f.err
}

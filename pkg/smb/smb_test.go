// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

// SMB-1, SMB-2, SMB-4: whatever part of the share is named, and however it is
// spelled, its root is mapped, once.
func TestSMB1_SMB2_SMB4_OneShare(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		for _, remote := range []string{`\\files\data`, `//FILES/Data/`, `\\files\DATA\sub`, `//files//data/Sub/deep`} {
			s.must(s.mapAs(remote, bob))
		}
		s.wantMapped(dataShare, bob)
		s.wantChanges(1, 0)
	})
}

// SMB-1, SMB-3, SMB-14: refused before anything is asked, by map and unmap.
func TestSMB3_Refused(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		for _, remote := range []string{
			"", `files\data`, `\\files`, `\\?\C:\x`, `\\?\UNC\files\data`, `\\.\C:\x`, `\\files\IPC$`, `\\files:445\data`, `\\[::1]\data`,
			`\\files\data\..\second`, `\\files\da*ta`, "\\\\files\\da\x00ta",
		} {
			s.wantKind(s.mapAs(remote, bob), errdefs.ErrInvalidArgument)
			s.wantKind(s.unmap(remote), errdefs.ErrInvalidArgument)
			_, err := s.smb.GetMapping(s.Context(), &smb.GetMappingRequest{RemotePath: remote})
			s.wantKind(err, errdefs.ErrInvalidArgument)
		}
		if err := s.mapAs("", bob); !strings.Contains(err.Error(), "remote path is empty") {
			s.Errorf("text: %v", err)
		}
		if n := s.node.Calls().Total(); n != 0 {
			s.Errorf("Windows was asked %d times", n)
		}
	})
}

// SMB-5: a share that is mapped and answers is not mapped again. Unlike
// upstream, the credential of each request is looked at: see credential_test.go.
func TestSMB5_MappedAndReachable(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		s.node.Calls().Reset()
		s.must(s.mapAs(dataShare, bob))
		s.wantChanges(0, 0)
		// By key, never by enumerating (field-reports.md M04): one GetObject, one
		// open, and no query.
		got := s.node.Calls().ByMethod()
		if got["Session.Query"] != 0 || got["Session.Get"] != 1 || got["Files.Open"] != 1 || got["Logons.Logon"] != 0 {
			s.Errorf("calls %v", got)
		}
	})
}

// SMB-6, M02, M09: a mapping that is there and does not work is made anew, in
// whichever state it is.
func TestSMB6_NotReachable(t *testing.T) {
	for status := range uint32(7) {
		t.Run(smb.Status(status).String(), func(t *testing.T) {
			inSite(t, spec(), func(s *site) {
				s.must(s.mapAs(dataShare, bob))
				s.node.Calls().Reset()
				s.must(s.node.SetSMBStatus(dataShare, status))
				s.must(s.mapAs(dataShare, bob))
				s.wantMapped(dataShare, bob)
				if replaced, _ := s.changes(); replaced > 0 != (status == 1 || status > 2) {
					s.Errorf("replaced %d times", replaced)
				}
			})
		})
	}
}

func TestSMB6_FailureToRemove(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		s.must(s.node.SetSMBStatus(dataShare, 6))
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if hasPrefix(c.Subject, "MSFT_SmbGlobalMapping.Remove") {
				return win.WBEM_E_ACCESS_DENIED
			}
			return do()
		})
		s.wantKind(s.mapAs(dataShare, bob), win.WBEM_E_ACCESS_DENIED)
		if s.mappings()[dataShare].Status != 6 {
			s.Error("the mapping has changed")
		}
	})
}

// SMB-7, BUG 36: an error of the question is an error, and not "not mapped".
func TestSMB7_QueryError(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Session.Get" {
				return win.WBEM_E_PROVIDER_FAILURE
			}
			return do()
		})
		err := s.mapAs(dataShare, bob)
		if !errors.Is(err, win.WBEM_E_PROVIDER_FAILURE) || kindOf(err) != errdefs.Unavailable || len(s.mappings()) != 0 {
			s.Errorf("got %v, mapped %v", err, s.mappings())
		}
	})
}

// SMB-8, M12, M15, M17: kinds of credential, and forms of user names.
func TestSMB8_Credentials(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(`\\domain\share`, simhost.SMBCredential{}))
		if m := s.mappings()[`\\domain\share`]; !m.Own {
			s.Errorf("without a user: %+v", m)
		}
		s.must(s.ask(s.Context(), &smb.NewSMBGlobalMappingRequest{RemotePath: `\\open\share`, Anonymous: true}))
		s.wantMapped(`\\open\share`, simhost.SMBCredential{})
		s.must(s.ask(s.Context(), &smb.NewSMBGlobalMappingRequest{RemotePath: dataShare, Username: "alice", Domain: "CORP", Password: alice.Password}))
		s.wantMapped(dataShare, alice)
		s.must(s.mapAs(dataShare, simhost.SMBCredential{User: `corp\ALICE`, Password: alice.Password}))

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
			req.RemotePath = otherShare
			if err := s.ask(s.Context(), &req); !errors.Is(err, errdefs.ErrInvalidArgument) {
				s.Errorf("%s: %v", name, err)
			}
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

// SMB-9, M11: encryption is required unless the request gives it up; the error
// says why.
func TestSMB9_Privacy(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		if m := s.mappings()[dataShare]; !m.Privacy || m.Integrity {
			s.Errorf("by default: %+v", m)
		}
		err := s.mapAs(`\\plain\share`, bob)
		if err == nil || !strings.Contains(err.Error(), "WithoutPrivacy") {
			s.Errorf("a server without encryption: %v", err)
		}
		req := request(`\\plain\share`, bob)
		req.WithoutPrivacy, req.RequireIntegrity = true, true
		s.must(s.ask(s.Context(), req))
		if m := s.mappings()[`\\plain\share`]; m.Privacy || !m.Integrity {
			s.Errorf("with options: %+v", m)
		}
		// Nobody gets less than is asked for.
		s.wantKind(s.mapAs(`\\plain\share`, bob), errdefs.ErrFailedPrecondition)
		req.RequireIntegrity = false
		s.must(s.ask(s.Context(), req))
	})
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

// SMB-10, BUG 37: a bad local path is refused before anything is mapped.
func TestSMB10_LocalPathFirst(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		for _, path := range []string{`relative`, `C:`, `C:\`, `C:\a\..\b`, `C:\NUL.txt`, `C:\a:b`, `\\files\data\x`, `\\?\UNC\files\data\x`, `\\.\C:\x`, "C:\\a\x00"} {
			req := request(dataShare, bob)
			req.LocalPath = path
			s.wantKind(s.ask(s.Context(), req), errdefs.ErrInvalidArgument)
		}
		if len(s.mappings()) != 0 {
			s.Errorf("mapped %v", s.mappings())
		}
		files, err := smb.New(s.node.SMB(), nil)
		s.must(err)
		req := request(dataShare, bob)
		s.must(second(files.NewSMBGlobalMapping(s.Context(), req)))
		req.LocalPath = local
		s.wantKind(second(files.NewSMBGlobalMapping(s.Context(), req)), errdefs.ErrInvalidArgument)
	})
}

func second[T any](_ T, err error) error { return err }

// SMB-4, SMB-12, SMB-13 (BUG 38), M19: the link leads to the whole remote path,
// as \\host\share and never behind \\?\, in the case of the request, and its text
// ends in a backslash.
func TestSMB12_SMB13_Link(t *testing.T) {
	for _, tt := range []struct{ remote, want string }{
		{dataShare, `\\files\data\`},
		{`//FILES/data`, `\\FILES\data\`},
		{`\\files\data\Sub`, `\\files\data\Sub\`},
		{`\\files\data\Sub\deep\`, `\\files\data\Sub\deep\`},
	} {
		inSite(t, spec(), func(s *site) {
			req := request(tt.remote, bob)
			req.LocalPath = local
			s.must(s.ask(s.Context(), req))
			files, err := filesystem.New(s.node.Filesystem())
			s.must(err)
			link, err := files.LinkState(s.Context(), &filesystem.LinkStateRequest{Path: local})
			if err != nil || link.Target != tt.want || link.State != filesystem.LiveLink || link.Kind != filesystem.Symlink {
				s.Errorf("%s: %+v, %v, want %s", tt.remote, link, err, tt.want)
			}
			if !strings.Contains(string(s.node.Snapshot()), `directory link to \??\UNC`+tt.want[1:]) {
				s.Errorf("%s: no directory link", tt.remote)
			}
		})
	}
}

// M24: paths beyond MAX_PATH, on either side of the link. Programs in the
// container need a short link for that, or Windows' LongPathsEnabled.
func TestM24_LongPaths(t *testing.T) {
	below := strings.Repeat(`\`+strings.Repeat("d", 60), 5) // 305 units
	sp := spec()
	sp.SMB[0].Shares[0].Directories = []string{`Sub` + below}
	inSite(t, sp, func(s *site) {
		files, err := filesystem.New(s.node.Filesystem())
		s.must(err)
		parent := `C:\var\lib\kubelet\plugins\smb` + below
		s.must(second(files.Mkdir(s.Context(), &filesystem.MkdirRequest{Path: parent})))
		req := request(`\\files\data\Sub`, bob)
		req.LocalPath = parent + `\globalmount`
		for range 2 {
			s.must(s.ask(s.Context(), req))
		}
		for _, path := range []string{req.LocalPath, req.LocalPath + below, req.RemotePath + below} {
			if resp, err := files.PathExists(s.Context(), &filesystem.PathExistsRequest{Path: path}); err != nil || !resp.Exists {
				s.Errorf("%d units: exists %t, %v", len(path), resp.Exists, err)
			}
		}
		linked, err := s.smb.LinkedShare(s.Context(), &smb.LinkedShareRequest{LocalPath: req.LocalPath})
		if err != nil || linked.Share != dataShare {
			s.Errorf("got %+v, %v", linked, err)
		}
		s.must(second(files.Rmdir(s.Context(), &filesystem.RmdirRequest{Path: req.LocalPath, Force: true})))
		if resp, err := files.PathExists(s.Context(), &filesystem.PathExistsRequest{Path: req.RemotePath + below}); err != nil || !resp.Exists {
			s.Errorf("the share's content: exists %t, %v", resp.Exists, err)
		}
	})
}

// SMB-11 and architecture.md: the same target is done, another is AlreadyExists,
// with the word that drivers look for (TXT-3).
func TestSMB11_LinkExists(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		req := request(`\\files\data\Sub`, bob)
		req.LocalPath = local
		s.must(s.ask(s.Context(), req))
		again := *req
		again.RemotePath = `//FILES/Data/sub/`
		s.must(s.ask(s.Context(), &again))

		another := request(dataShare, bob)
		another.LocalPath = local
		err := s.ask(s.Context(), another)
		if !errors.Is(err, errdefs.ErrAlreadyExists) || !strings.Contains(err.Error(), "ResourceExists") {
			s.Errorf("another target: %v", err)
		}
		another.LocalPath = `C:\var`
		if err := s.ask(s.Context(), another); !errors.Is(err, errdefs.ErrAlreadyExists) || !strings.Contains(err.Error(), "ResourceExists") {
			s.Errorf("a directory: %v", err)
		}
	})
}

// M18: a link to nothing is not made.
func TestM18_MissingDirectory(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		req := request(`\\files\data\missing`, bob)
		req.LocalPath = local
		s.wantKind(s.ask(s.Context(), req), errdefs.ErrNotFound)
		req.RemotePath = `\\files\none`
		s.wantKind(s.ask(s.Context(), req), win.ERROR_BAD_NET_NAME)
		if strings.Contains(string(s.node.Snapshot()), local) {
			s.Error("something was made")
		}
	})
}

// SMB-15, SMB-16, TXT-4: the mapping of the root goes, links stay, and what is
// not mapped is no error.
func TestSMB15_SMB16_Remove(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		req := request(`\\files\data\Sub`, bob)
		req.LocalPath = local
		s.must(s.ask(s.Context(), req))
		s.must(s.mapAs(otherShare, bob))
		s.must(s.unmap(`//FILES/data/Sub/deep`))
		if m := s.mappings(); len(m) != 1 || m[otherShare].RemotePath == "" {
			s.Errorf("left %v", m)
		}
		if !strings.Contains(string(s.node.Snapshot()), `file `+local+`: directory link`) {
			s.Error("the link is gone")
		}
		s.must(s.unmap(dataShare))
		s.must(s.unmap(`\\nowhere\share`))
	})
}

// A mapping that goes between the look and the removal is gone all the same.
func TestSMB16_GoneMeanwhile(t *testing.T) {
	for _, code := range []error{win.WBEM_E_NOT_FOUND, win.ERROR_NOT_CONNECTED} {
		inSite(t, spec(), func(s *site) {
			s.must(s.mapAs(dataShare, bob))
			s.node.OnCall(func(c simhost.Call, do func() error) error {
				if hasPrefix(c.Subject, "MSFT_SmbGlobalMapping.Remove") {
					return code
				}
				return do()
			})
			s.must(s.unmap(dataShare))
		})
	}
}

// SMB-17: map, look, write and read through it, unmap, look.
func TestSMB17_Flow(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		got, err := s.smb.GetMapping(s.Context(), &smb.GetMappingRequest{RemotePath: dataShare})
		want := smb.Mapping{RemotePath: dataShare, Share: dataShare, Privacy: true}
		if err != nil || got.Mapping != want || got.Mapping.Status.String() != "OK" {
			s.Errorf("got %+v, %v", got, err)
		}
		s.must(s.node.AddFile(`\\?\UNC\files\data\file`, 5))
		if !strings.Contains(string(s.node.Snapshot()), `file \\files\data\file: 5 bytes`) {
			s.Error("not written")
		}
		s.must(s.unmap(dataShare))
		_, err = s.smb.GetMapping(s.Context(), &smb.GetMappingRequest{RemotePath: dataShare})
		s.wantKind(err, errdefs.ErrNotFound)
		if err := s.node.AddFile(`\\?\UNC\files\data\more`, 5); err == nil {
			s.Error("written without a mapping")
		}
	})
}

// FLOW-6: a driver's stage and unstage.
func TestFLOW6_StageUnstage(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		files, err := filesystem.New(s.node.Filesystem())
		s.must(err)
		const parent = `c:\var\lib\kubelet\plugins\driver\pv`
		before := s.node.Snapshot()
		for range 2 {
			s.must(second(files.Mkdir(s.Context(), &filesystem.MkdirRequest{Path: parent})))
			req := request(`//files/data/Sub`, bob)
			req.LocalPath = parent + `\globalmount`
			s.must(s.ask(s.Context(), req))
			linked, err := s.smb.LinkedShare(s.Context(), &smb.LinkedShareRequest{LocalPath: req.LocalPath})
			s.must(err)
			s.must(s.unmap(linked.RemotePath))
			s.must(second(files.Rmdir(s.Context(), &filesystem.RmdirRequest{Path: req.LocalPath, Force: true})))
		}
		s.must(second(files.Rmdir(s.Context(), &filesystem.RmdirRequest{Path: `C:\var\lib\kubelet\plugins\driver`, Force: true})))
		if after := s.node.Snapshot(); after != before {
			s.Errorf("left:\n%s", simhost.Diff(before, after))
		}
	})
}

// M21: from a link back to its share, without the server.
func TestM21_LinkedShare(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		req := request(`//FILES/data/Sub`, bob)
		req.LocalPath = local
		s.must(s.ask(s.Context(), req))
		release, err := s.node.HangSMBServer("files")
		s.must(err)
		got, err := s.smb.LinkedShare(s.Context(), &smb.LinkedShareRequest{LocalPath: `/var/lib/kubelet/plugins/smb/globalmount`})
		if err != nil || got.Share != dataShare || got.RemotePath != `\\FILES\data\Sub` {
			s.Errorf("got %+v, %v", got, err)
		}
		release()
		for path, want := range map[string]error{
			`C:\var`: errdefs.ErrFailedPrecondition, `C:\none`: errdefs.ErrNotFound, `relative`: errdefs.ErrInvalidArgument,
		} {
			_, err := s.smb.LinkedShare(s.Context(), &smb.LinkedShareRequest{LocalPath: path})
			s.wantKind(err, want)
		}
		s.must(s.node.Host().Files.SymbolicLink(`\\?\C:\tovar`, `C:\var`, win.SymbolicLinkFlagDirectory))
		_, err = s.smb.LinkedShare(s.Context(), &smb.LinkedShareRequest{LocalPath: `C:\tovar`})
		s.wantKind(err, errdefs.ErrFailedPrecondition)
	})
}

// M03: what leaks can be listed.
func TestM03_ListMappings(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		s.must(s.node.AddSMBMapping(simhost.SMBMapping{LocalPath: "G:", RemotePath: `\\Files\Second`, Credential: bob, Status: 2, Integrity: true}))
		got, err := s.smb.ListMappings(s.Context(), &smb.ListMappingsRequest{})
		want := []smb.Mapping{
			{RemotePath: dataShare, Share: dataShare, Privacy: true},
			{RemotePath: `\\Files\Second`, Share: otherShare, Drive: "G:", Status: smb.StatusDisconnected, Integrity: true},
		}
		if err != nil || !slices.Equal(got.Mappings, want) {
			s.Errorf("got %+v, %v", got, err)
		}
	})
}

// M04: what a request costs does not grow with the number of mappings.
func TestM04_ManyMappings(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.must(s.mapAs(dataShare, bob))
		for i := range 700 {
			s.must(s.node.AddSMBMapping(simhost.SMBMapping{RemotePath: fmt.Sprintf(`\\elsewhere\s%d`, i)}))
		}
		s.node.LatencyEach("MSFT_SmbGlobalMapping", 1e9)
		s.node.Calls().Reset()
		s.must(s.mapAs(dataShare, bob))
		s.must(s.mapAs(otherShare, bob))
		s.must(s.unmap(dataShare))
		if n := s.node.Calls().ByMethod()["Session.Query"]; n != 0 {
			s.Errorf("%d queries", n)
		}
	})
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

func TestNilRequests(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		s.wantKind(s.ask(s.Context(), nil), errdefs.ErrInvalidArgument)
		resp, err := s.smb.RemoveSMBGlobalMapping(s.Context(), nil)
		if resp == nil || !errors.Is(err, errdefs.ErrInvalidArgument) {
			s.Errorf("remove: %v, %v", resp, err)
		}
		s.wantKind(second(s.smb.ListMappings(s.Context(), nil)), errdefs.ErrInvalidArgument)
		s.wantKind(second(s.smb.GetMapping(s.Context(), nil)), errdefs.ErrInvalidArgument)
		s.wantKind(second(s.smb.LinkedShare(s.Context(), nil)), errdefs.ErrInvalidArgument)
		if n := s.node.Calls().Total(); n != 0 {
			s.Errorf("Windows was asked %d times", n)
		}
	})
}

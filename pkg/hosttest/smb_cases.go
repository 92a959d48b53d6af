// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

func smbCases() []Case {
	return slices.Concat(mappingCases(), shareLinkCases(), tenantCases(), silentServerCases())
}

func mappingCases() []Case {
	return []Case{
		{IDs: []string{"SMB-1", "SMB-2"}, Shows: "whatever part of a share is named, and however, its root is mapped, once", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			for _, remote := range []string{`\\files\data`, `//FILES/Data/`, `\\files\DATA\sub`, `//files//data/Sub/deep`} {
				h.must(h.mapAs(remote, bob))
			}
			h.wantMapped(dataShare, bob)
			h.wantMade(1)
		}},
		{IDs: []string{"SMB-1", "SMB-2", "SMB-3", "SMB-14"}, Shows: "what can be no share is refused before anything is asked", Needs: []Ability{Model, InProcess}, Spec: withServers, Test: func(h *Host) {
			h.wantNothingAsked()
			for _, remote := range []string{
				"", `files\data`, `\\files`, `\\?\C:\x`, `\\?\UNC\files\data`, `\\.\C:\x`, `\\files\IPC$`, `\\files:445\data`, `\\[::1]\data`,
				`\\files\data\..\second`, `\\files\da*ta`, "\\\\files\\da\x00ta",
			} {
				h.wantErrors(h.mapAs(remote, bob), errdefs.ErrInvalidArgument)
				h.wantErrors(h.unmap(remote), errdefs.ErrInvalidArgument)
				_, err := shares(h).GetMapping(h.Context(), &smb.GetMappingRequest{RemotePath: remote})
				h.wantErrors(err, errdefs.ErrInvalidArgument)
			}
			if err := h.mapAs("", bob); !strings.Contains(err.Error(), "remote path is empty") {
				h.Errorf("text: %v", err)
			}
		}},
		{IDs: []string{"SMB-5"}, Shows: "a share that is mapped and answers is not mapped again", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(dataShare, bob))
			h.Node.Calls().Reset()
			h.must(h.mapAs(dataShare, bob))
			h.wantMade(0)
			// By key, never by enumerating (field-reports.md M04): one GetObject, one
			// open, and no query.
			got := h.Node.Calls().ByMethod()
			if got["Session.Query"] != 0 || got["Session.Get"] != 1 || got["Files.Open"] != 1 || got["Logons.Logon"] != 0 {
				h.Errorf("calls %v", got)
			}
		}},
		{IDs: []string{"SMB-6"}, Shows: "a mapping that cannot be removed is an error, and stays", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(dataShare, bob))
			h.must(h.Node.SetSMBStatus(dataShare, 6))
			h.Node.OnCall(func(c simhost.Call, do func() error) error {
				if strings.HasPrefix(c.Subject, "MSFT_SmbGlobalMapping.Remove") {
					return win.WBEM_E_ACCESS_DENIED
				}
				return do()
			})
			h.wantErrors(h.mapAs(dataShare, bob), win.WBEM_E_ACCESS_DENIED)
			if h.mappings()[dataShare].Status != 6 {
				h.Error("the mapping has changed")
			}
		}},
		{IDs: []string{"SMB-7"}, Shows: "an error of the question is not \"not mapped\"", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.Node.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == "Session.Get" {
					return win.WBEM_E_PROVIDER_FAILURE
				}
				return do()
			})
			err := h.mapAs(dataShare, bob)
			if !errors.Is(err, win.WBEM_E_PROVIDER_FAILURE) || errdefs.KindOf(err) != errdefs.Unavailable || len(h.mappings()) != 0 {
				h.Errorf("got %v, mapped %v", err, h.mappings())
			}
		}},
		{IDs: []string{"SMB-9", "M11"}, Shows: "encryption is required unless the request gives it up, and the error says so", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(dataShare, bob))
			if m := h.mappings()[dataShare]; !m.Privacy || m.Integrity {
				h.Errorf("by default: %+v", m)
			}
			err := h.mapAs(`\\plain\share`, bob)
			if err == nil || !strings.Contains(err.Error(), "WithoutPrivacy") {
				h.Errorf("a server without encryption: %v", err)
			}
			req := request(`\\plain\share`, "", bob)
			req.WithoutPrivacy, req.RequireIntegrity = true, true
			h.must(h.ask(h.Context(), req))
			if m := h.mappings()[`\\plain\share`]; m.Privacy || !m.Integrity {
				h.Errorf("with options: %+v", m)
			}
			// Nobody gets less than is asked for.
			h.wantErrors(h.mapAs(`\\plain\share`, bob), errdefs.ErrFailedPrecondition)
			req.RequireIntegrity = false
			h.must(h.ask(h.Context(), req))
		}},
		{IDs: []string{"SMB-10"}, Shows: "a bad local path is refused before anything is mapped", Needs: []Ability{Model, InProcess}, Spec: withServers, Test: func(h *Host) {
			for _, path := range []string{`relative`, `C:`, `C:\`, `C:\a\..\b`, `C:\NUL.txt`, `C:\a:b`, `\\files\data\x`, `\\?\UNC\files\data\x`, `\\.\C:\x`, "C:\\a\x00"} {
				req := request(dataShare, "", bob)
				req.LocalPath = path
				h.wantErrors(h.ask(h.Context(), req), errdefs.ErrInvalidArgument)
			}
			if len(h.mappings()) != 0 {
				h.Errorf("mapped %v", h.mappings())
			}
		}},
		{IDs: []string{"SMB-15", "SMB-16"}, Shows: "unmapping removes the root, leaves links, and is OK for what is not mapped", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			req := request(`\\files\data\Sub`, "", bob)
			req.LocalPath = local
			h.must(h.ask(h.Context(), req))
			h.must(h.mapAs(otherShare, bob))
			h.must(h.unmap(`//FILES/data/Sub/deep`))
			if m := h.mappings(); len(m) != 1 || m[otherShare].RemotePath == "" {
				h.Errorf("left %v", m)
			}
			if !strings.Contains(string(h.Node.Snapshot()), `file `+local+`: directory link`) {
				h.Error("the link is gone")
			}
			h.must(h.unmap(dataShare))
			h.must(h.unmap(`\\nowhere\share`))
		}},
		{IDs: []string{"SMB-17"}, Shows: "map, look, write through it, unmap, look", Needs: []Ability{Model, InProcess}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(dataShare, bob))
			got, err := shares(h).GetMapping(h.Context(), &smb.GetMappingRequest{RemotePath: dataShare})
			want := smb.Mapping{RemotePath: dataShare, Share: dataShare, Privacy: true}
			if err != nil || got.Mapping != want || got.Mapping.Status.String() != "OK" {
				h.Errorf("got %+v, %v", got, err)
			}
			h.must(h.Node.AddFile(`\\?\UNC\files\data\file`, 5))
			if !strings.Contains(string(h.Node.Snapshot()), `file \\files\data\file: 5 bytes`) {
				h.Error("not written")
			}
			h.must(h.unmap(dataShare))
			_, err = shares(h).GetMapping(h.Context(), &smb.GetMappingRequest{RemotePath: dataShare})
			h.wantErrors(err, errdefs.ErrNotFound)
			if err := h.Node.AddFile(`\\?\UNC\files\data\more`, 5); err == nil {
				h.Error("written without a mapping")
			}
		}},
		{IDs: []string{"M03"}, Shows: "what has leaked can be listed", Needs: []Ability{Model, InProcess}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(dataShare, bob))
			h.must(h.Node.AddSMBMapping(simhost.SMBMapping{LocalPath: "G:", RemotePath: `\\Files\Second`, Credential: bob, Status: 2, Integrity: true}))
			got, err := shares(h).ListMappings(h.Context(), &smb.ListMappingsRequest{})
			want := []smb.Mapping{
				{RemotePath: dataShare, Share: dataShare, Privacy: true},
				{RemotePath: `\\Files\Second`, Share: otherShare, Drive: "G:", Status: smb.StatusDisconnected, Integrity: true},
			}
			if err != nil || !slices.Equal(got.Mappings, want) {
				h.Errorf("got %+v, %v", got, err)
			}
		}},
		{IDs: []string{"M04"}, Shows: "700 mappings make no request dearer", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(dataShare, bob))
			for i := range 700 {
				h.must(h.Node.AddSMBMapping(simhost.SMBMapping{RemotePath: fmt.Sprintf(`\\elsewhere\s%d`, i)}))
			}
			h.Node.LatencyEach("MSFT_SmbGlobalMapping", 1e9)
			h.Node.Calls().Reset()
			h.must(h.mapAs(dataShare, bob))
			h.must(h.mapAs(otherShare, bob))
			h.must(h.unmap(dataShare))
			if n := h.Node.Calls().ByMethod()["Session.Query"]; n != 0 {
				h.Errorf("%d queries", n)
			}
		}},
		{IDs: []string{"M14"}, Shows: "a server that no name leads to is told by its code", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			for remote, want := range map[string]struct {
				code win.Errno
				kind errdefs.Kind
			}{
				`\\nowhere\share`: {win.ERROR_BAD_NETPATH, errdefs.Unavailable}, // M14
				`\\files\none`:    {win.ERROR_BAD_NET_NAME, errdefs.Unavailable},
				`\\files\alices`:  {win.ERROR_ACCESS_DENIED, errdefs.PermissionDenied},
			} {
				if err := h.mapAs(remote, bob); !errors.Is(err, want.code) || errdefs.KindOf(err) != want.kind {
					h.Errorf("%s: %v (%s)", remote, err, errdefs.KindOf(err))
				}
			}
		}},
		{IDs: []string{"SMB-6", "M02"}, Shows: "a mapping in whatever state works again", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			for status := range uint32(7) {
				h.must(h.mapAs(dataShare, bob))
				h.must(h.Node.SetSMBStatus(dataShare, status))
				h.Node.Calls().Reset()
				h.must(h.mapAs(dataShare, bob))
				h.wantMapped(dataShare, bob)
				if made := h.made(); made > 0 != (status == 1 || status > 2) {
					h.Errorf("status %d: made %d times", status, made)
				}
			}
		}},
		{IDs: []string{"SMB-8", "M12"}, Shows: "without a user it is the account of the process, or the null session", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(`\\domain\share`, simhost.SMBCredential{}))
			if m := h.mappings()[`\\domain\share`]; !m.Own {
				h.Errorf("without a user: %+v", m)
			}
			h.must(h.ask(h.Context(), &smb.NewSMBGlobalMappingRequest{RemotePath: `\\open\share`, Anonymous: true}))
			h.wantMapped(`\\open\share`, simhost.SMBCredential{})
		}},
		{IDs: []string{"SMB-8", "M15"}, Shows: "a domain may stand in the user's name or beside it, not both", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.ask(h.Context(), &smb.NewSMBGlobalMappingRequest{RemotePath: dataShare, Username: "alice", Domain: "CORP", Password: alice.Password}))
			h.wantMapped(dataShare, alice)
			h.must(h.mapAs(dataShare, simhost.SMBCredential{User: `corp\ALICE`, Password: alice.Password}))
			for _, user := range []string{`D\u`, `u@d`} {
				err := h.ask(h.Context(), &smb.NewSMBGlobalMappingRequest{RemotePath: otherShare, Username: user, Domain: "E"})
				h.wantErrors(err, errdefs.ErrInvalidArgument)
			}
		}},
		{IDs: []string{"M16", "M17"}, Shows: "users and passwords arrive as they are", Needs: []Ability{Model}, Test: func(h *Host) {
			for i, text := range []string{
				"a'b\"c$d;e`f&g|h\\i:j", `\:`, ` lead and trail `, `$(calc)`, `%COMSPEC%`, `x' OR '1'='1`, strings.Repeat("x", 256), "пароль", "\U0001F511",
			} {
				tenant, server := simhost.SMBCredential{User: text, Password: text}, fmt.Sprintf("host%d", i)
				h.must(h.Node.AddSMBServer(simhost.SMBServerSpec{
					Name: server, Users: []simhost.SMBUserSpec{{Name: text, Password: text}}, Shares: []simhost.SMBShareSpec{{Name: "share"}},
				}))
				h.must(h.mapAs(`\\`+server+`\share`, tenant))
				if shown := h.Node.ShownToSMBServer(server); !slices.Equal(shown, []simhost.SMBCredential{tenant}) {
					h.Errorf("%q arrived as %q", text, shown)
				}
			}
		}},
		{IDs: []string{"M13"}, Shows: "a share that its server does not have is no link into another namespace", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			err := h.mapAs(`\\files\namespace\link`, bob)
			h.wantErrors(err, win.ERROR_BAD_NET_NAME)
			h.wantKind(err, errdefs.Unavailable)
		}},
		{IDs: []string{"M07", "M23"}, Shows: "replicas that start together make one mapping, with one logon", Needs: []Ability{Model}, Spec: withServers, AtOnce: true, Test: func(h *Host) {
			errs := make([]error, 32)
			var callers sync.WaitGroup
			for i := range errs {
				callers.Go(func() { errs[i] = h.mapAs(dataShare, bob) })
			}
			callers.Wait()
			h.must(errors.Join(errs...))
			h.wantMade(1)
			if shown := h.Node.ShownToSMBServer("files"); len(shown) != 1 {
				h.Errorf("shown %d times", len(shown))
			}
		}},
	}
}

func shareLinkCases() []Case {
	return []Case{
		{IDs: []string{"SMB-11"}, Shows: "the same link again is done, another target exists already", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			req := request(`\\files\data\Sub`, "", bob)
			req.LocalPath = local
			h.must(h.ask(h.Context(), req))
			again := *req
			again.RemotePath = `//FILES/Data/sub/`
			h.must(h.ask(h.Context(), &again))

			another := request(dataShare, "", bob)
			another.LocalPath = local
			err := h.ask(h.Context(), another)
			if !errors.Is(err, errdefs.ErrAlreadyExists) || !strings.Contains(err.Error(), "ResourceExists") {
				h.Errorf("another target: %v", err)
			}
			another.LocalPath = `C:\var`
			if err := h.ask(h.Context(), another); !errors.Is(err, errdefs.ErrAlreadyExists) || !strings.Contains(err.Error(), "ResourceExists") {
				h.Errorf("a directory: %v", err)
			}
		}},
		{IDs: []string{"M18"}, Shows: "a link to nothing is not made", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			req := request(`\\files\data\missing`, "", bob)
			req.LocalPath = local
			h.wantErrors(h.ask(h.Context(), req), errdefs.ErrNotFound)
			req.RemotePath = `\\files\none`
			h.wantErrors(h.ask(h.Context(), req), win.ERROR_BAD_NET_NAME)
			if strings.Contains(string(h.Node.Snapshot()), local) {
				h.Error("something was made")
			}
		}},
		{IDs: []string{"M21"}, Shows: "a link leads back to its share, without the server", Needs: []Ability{Model, InProcess}, Spec: withServers, Test: func(h *Host) {
			req := request(`//FILES/data/Sub`, "", bob)
			req.LocalPath = local
			h.must(h.ask(h.Context(), req))
			release, err := h.Node.HangSMBServer("files")
			h.must(err)
			got, err := shares(h).LinkedShare(h.Context(), &smb.LinkedShareRequest{LocalPath: strings.ReplaceAll(local[2:], `\`, "/")})
			if err != nil || got.Share != dataShare || got.RemotePath != `\\FILES\data\Sub` {
				h.Errorf("got %+v, %v", got, err)
			}
			release()
			for path, want := range map[string]error{
				`C:\var`: errdefs.ErrFailedPrecondition, `C:\none`: errdefs.ErrNotFound, `relative`: errdefs.ErrInvalidArgument,
			} {
				_, err := shares(h).LinkedShare(h.Context(), &smb.LinkedShareRequest{LocalPath: path})
				h.wantErrors(err, want)
			}
			h.must(h.Node.Host().Files.SymbolicLink(`\\?\C:\tovar`, `C:\var`, win.SymbolicLinkFlagDirectory))
			_, err = shares(h).LinkedShare(h.Context(), &smb.LinkedShareRequest{LocalPath: `C:\tovar`})
			h.wantErrors(err, errdefs.ErrFailedPrecondition)
		}},
		{IDs: []string{"SMB-4", "SMB-12", "SMB-13", "M19"}, Shows: "the directory link leads to the whole remote path as a share's, with a backslash behind it", Needs: []Ability{Model, InProcess}, Spec: withServers, Test: func(h *Host) {
			h.directories("smb")
			for i, is := range []struct{ remote, want string }{
				{dataShare, `\\files\data\`}, {`//FILES/data`, `\\FILES\data\`}, {`\\files\data\Sub\deep\`, `\\files\data\Sub\deep\`},
			} {
				local := h.at(fmt.Sprintf(`smb\mount%d`, i))
				h.must(h.ask(h.Context(), request(is.remote, local, bob)))
				link, err := h.linkState(local)
				if err != nil || link.Target != is.want || link.State != filesystem.LiveLink {
					h.Errorf("%s: %+v, %v, want %s", is.remote, link, err, is.want)
				}
				h.wantFacts("file " + local + `: directory link to \??\UNC` + is.want[1:])
			}
			h.wantMapped(dataShare, bob) // and the root alone
		}},
		{IDs: []string{"M24"}, Shows: "paths of more than 260 units on either side of the link", Needs: []Ability{Model}, Spec: func(s *simhost.NodeSpec) {
			withServers(s)
			s.SMB[0].Shares[0].Directories = []string{`Sub` + deep}
		}, Test: func(h *Host) {
			h.must(h.mkdir(h.Folder + deep))
			local := h.Folder + deep + `\mount`
			for range 2 {
				h.must(h.ask(h.Context(), request(`\\files\data\Sub`, local, bob)))
			}
			for _, path := range []string{local, local + deep, `\\files\data\Sub` + deep} {
				if !h.exists(path) {
					h.Errorf("%d units: not there", len(path))
				}
			}
		}},
	}
}

func tenantCases() []Case {
	return []Case{
		{IDs: []string{"M06"}, Shows: "who may use the server but not the share is refused", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(`\\files\alices`, alice))
			h.wantErrors(h.mapAs(`\\files\alices`, bob), errdefs.ErrPermissionDenied)
			h.must(h.mapAs(`\\files\alices`, alice))
		}},
		{IDs: []string{"M06"}, Shows: "who names no user does not ride on another's mapping", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(dataShare, bob))
			h.wantErrors(h.mapAs(dataShare, simhost.SMBCredential{}), errdefs.ErrCredentialConflict)
			h.wantErrors(h.ask(h.Context(), &smb.NewSMBGlobalMappingRequest{RemotePath: dataShare, Anonymous: true}), errdefs.ErrPermissionDenied)
			h.wantMapped(dataShare, bob)
		}},
		{IDs: []string{"M09"}, Shows: "a rotated password takes over when the old session ends", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(dataShare, bob))
			h.must(h.Node.SetSMBPassword("files", "bob", "rotated"))
			rotated := simhost.SMBCredential{User: "bob", Password: "rotated"}
			h.must(h.mapAs(dataShare, rotated))
			h.wantMapped(dataShare, bob) // a healthy mapping under a pod stays

			h.must(h.Node.DropSMBSessions("files"))
			h.wantErrors(h.mapAs(dataShare, bob), errdefs.ErrPermissionDenied)
			h.must(h.mapAs(dataShare, rotated))
			h.wantMapped(dataShare, rotated)
		}},
		{IDs: []string{"M06"}, Shows: "a restarted driver verifies what it does not remember", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(dataShare, bob))
			h.restart()
			h.Node.Calls().Reset()
			h.wantErrors(h.mapAs(dataShare, wrong), errdefs.ErrPermissionDenied)
			h.must(h.mapAs(dataShare, bob))
			h.must(h.mapAs(dataShare, alice))
			h.wantMade(0)
			h.wantMapped(dataShare, bob)
		}},
		{IDs: []string{"M01"}, Shows: "after a reboot the stale mappings of others are replaced without a human", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			for _, share := range []string{dataShare, otherShare} {
				h.must(h.Node.AddSMBMapping(simhost.SMBMapping{RemotePath: share, Credential: bob, Persistent: true, Privacy: true}))
			}
			h.Node.Reboot()
			h.restart()
			h.wantErrors(h.mapAs(dataShare, wrong), errdefs.ErrPermissionDenied)
			if len(h.mappings()) != 2 {
				h.Error("a wrong password has removed a mapping")
			}
			h.must(h.mapAs(dataShare, bob)) // the other share of the server is stale, too
			h.wantMapped(dataShare, bob)
			h.must(h.mapAs(otherShare, bob))
			h.wantMapped(otherShare, bob)
		}},
		{IDs: []string{"M01"}, Shows: "1219 where it is ours is cleared", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(otherShare, bob))
			h.must(h.Node.RemoveSMBUser("files", "bob"))
			h.must(h.Node.DropSMBSessions("files"))
			h.must(h.mapAs(dataShare, alice))
			h.wantMapped(dataShare, alice)
			if _, ok := h.mappings()[otherShare]; ok {
				h.Error("the stale mapping is still there")
			}
		}},
		{IDs: []string{"M18"}, Shows: "a wrong password makes no mapping", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			err := h.mapAs(dataShare, wrong)
			if !errors.Is(err, errdefs.ErrPermissionDenied) || !errors.Is(err, win.ERROR_LOGON_FAILURE) || len(h.mappings()) != 0 {
				h.Errorf("got %v, mapped %v", err, h.mappings())
			}
			h.must(h.Node.AddSMBMapping(simhost.SMBMapping{RemotePath: dataShare, Credential: alice, Privacy: true}))
			h.wantErrors(h.mapAs(dataShare, wrong), errdefs.ErrPermissionDenied)
		}},
		{IDs: []string{"M06"}, Shows: "a second tenant is verified, and a wrong password refused while the first goes on", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(dataShare, alice))
			h.Node.Calls().Reset()
			for _, tenant := range []simhost.SMBCredential{wrong, stranger, {User: alice.User, Password: "wrong"}} {
				h.wantErrors(h.mapAs(dataShare, tenant), errdefs.ErrPermissionDenied)
			}
			h.must(h.mapAs(dataShare, alice))
			h.must(h.mapAs(dataShare, bob))
			h.wantMade(0)
			h.wantMapped(dataShare, alice)
		}},
	}
}

func silentServerCases() []Case {
	return []Case{
		{IDs: []string{"M22"}, Shows: "a server that hangs is waited for for a while, then no more, and holds up no other", Needs: []Ability{Model, Time}, Spec: withServers, Test: func(h *Host) {
			h.must(h.mapAs(dataShare, bob))
			release, err := h.Node.HangSMBServer("files")
			h.must(err)
			before, began := h.Node.Snapshot(), time.Now()
			err = h.mapAs(dataShare, bob)
			h.wantErrors(err, context.DeadlineExceeded)
			h.wantKind(err, errdefs.Unavailable)
			if took := time.Since(began); took != 15*time.Second {
				h.Errorf("took %s", took)
			}
			began = time.Now()
			h.wantErrors(h.mapAs(dataShare, bob), errdefs.ErrResourceExhausted)
			h.must(h.mapAs(`\\domain\share`, bob))
			h.must(h.unmap(`\\domain\share`))
			if took := time.Since(began); took != 0 {
				h.Errorf("the others took %s", took)
			}
			h.wantUnchanged(before)
			release()
			<-time.After(time.Second)
			h.must(h.mapAs(dataShare, bob))
		}},
	}
}

// The shares of the cases, and their tenants.
const (
	dataShare  = `\\files\data`
	otherShare = `\\files\second`

	// local is where they are linked.
	local = folder + `\globalmount`
)

var (
	alice    = simhost.SMBCredential{User: `CORP\alice`, Password: "pa:ss"}
	bob      = simhost.SMBCredential{User: "bob", Password: "secret"}
	wrong    = simhost.SMBCredential{User: "bob", Password: "wrong"}
	stranger = simhost.SMBCredential{User: "mallory", Password: "secret"}
)

// deep is 305 units of directories.
var deep = strings.Repeat(`\`+strings.Repeat("d", 60), 5)

// withServers gives a node file servers: one with shares for two tenants, one
// that has no encryption, one for guests, one in the node's domain.
func withServers(s *simhost.NodeSpec) {
	tenants := []simhost.SMBUserSpec{{Name: alice.User, Password: alice.Password}, {Name: bob.User, Password: bob.Password}}
	share := []simhost.SMBShareSpec{{Name: "share"}}
	s.SMB = []simhost.SMBServerSpec{
		{Name: "files", Users: tenants, Shares: []simhost.SMBShareSpec{
			{Name: "data", Directories: []string{`Sub\deep`}}, {Name: "second"}, {Name: "o'brien"}, {Name: "alices", Users: []string{alice.User}},
		}},
		{Name: "plain", WithoutEncryption: true, Users: tenants, Shares: share},
		{Name: "open", Guest: true, Shares: share},
		{Name: "domain", KnowsNode: true, Users: tenants, Shares: share},
	}
}

// shares is the group with what it has beyond upstream's interface.
func shares(h *Host) *smb.SMB { return h.SMB.(*smb.SMB) }

// request is a request for a share, with a link to it but for "".
func request(remote, local string, tenant simhost.SMBCredential) *smb.NewSMBGlobalMappingRequest {
	return &smb.NewSMBGlobalMappingRequest{RemotePath: remote, LocalPath: local, Username: tenant.User, Password: tenant.Password}
}

func (h *Host) ask(ctx context.Context, req *smb.NewSMBGlobalMappingRequest) error {
	h.Helper()
	resp, err := h.SMB.NewSMBGlobalMapping(ctx, req)
	if resp == nil {
		h.Error("nil response")
	}
	return err
}

func (h *Host) mapAs(remote string, tenant simhost.SMBCredential) error {
	h.Helper()
	return h.ask(h.Context(), request(remote, "", tenant))
}

func (h *Host) unmap(remote string) error {
	_, err := h.SMB.RemoveSMBGlobalMapping(h.Context(), &smb.RemoveSMBGlobalMappingRequest{RemotePath: remote})
	return err
}

// restart makes the groups those of a new process of the driver.
func (h *Host) restart() { h.Groups = h.Restarted() }

// mappings are the node's mappings by share.
func (h *Host) mappings() map[string]simhost.SMBMapping {
	found := map[string]simhost.SMBMapping{}
	for _, m := range h.Node.SMBMappings() {
		found[m.RemotePath] = m
	}
	return found
}

// wantMapped wants a share to be mapped, and to work, as a tenant.
func (h *Host) wantMapped(remote string, tenant simhost.SMBCredential) {
	h.Helper()
	m, ok := h.mappings()[remote]
	if !ok || m.Status != 0 || m.Credential != tenant || m.Persistent {
		h.Errorf("%s: mapped %t: %+v", remote, ok, m)
	}
}

// made counts the mappings that were made.
func (h *Host) made() (n int) {
	for _, c := range h.Node.Calls().Calls() {
		if c.Method == "Session.Start" && strings.HasPrefix(c.Subject, "MSFT_SmbGlobalMapping.Create") {
			n++
		}
	}
	return n
}

func (h *Host) wantMade(want int) {
	h.Helper()
	if n := h.made(); n != want {
		h.Errorf("made %d mappings, want %d", n, want)
	}
}

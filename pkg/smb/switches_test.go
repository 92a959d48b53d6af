// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
)

// Whichever unverified fact is otherwise, a tenant's share is staged and
// unstaged, a stale mapping made anew, and no other tenant gets on with a wrong
// password.
func TestSwitches(t *testing.T) {
	for _, flipped := range simhost.AllSwitches() {
		if !strings.HasPrefix(flipped.Name, "SMB") && !strings.HasPrefix(flipped.Name, "Paths") && !strings.HasPrefix(flipped.Name, "Gone") {
			continue
		}
		t.Run(flipped.Name, func(t *testing.T) {
			sp := spec()
			sp.Switches = flipped.Switches
			inSite(t, sp, func(s *site) {
				req := request(`\\files\data\Sub`, bob)
				req.LocalPath = local
				s.must(s.ask(s.Context(), req))
				s.must(s.ask(s.Context(), req))
				for _, c := range []simhost.SMBCredential{stranger, {User: alice.User, Password: "wrong"}} {
					err := s.mapAs(dataShare, c)
					if !errors.Is(err, errdefs.ErrPermissionDenied) && !errors.Is(err, errdefs.ErrCredentialConflict) {
						s.Errorf("%s: %v", c.User, err)
					}
				}
				s.must(s.node.SetSMBStatus(dataShare, uint32(smb.StatusUnavailable)))
				s.must(s.ask(s.Context(), req))
				s.wantMapped(dataShare, bob)
				s.must(s.unmap(dataShare))
				if len(s.mappings()) != 0 {
					s.Errorf("left %v", s.mappings())
				}
			})
		})
	}
}

// A host that has no logon sessions at all cannot verify.
func TestHostWithoutLogons(t *testing.T) {
	inSite(t, spec(), func(s *site) {
		whole := s.node.Host()
		h := &win.Host{Devices: whole.Devices, Mounts: whole.Mounts, Files: whole.Files, System: whole.System, WMI: whole.WMI}
		defer wmi.On(h).Close()
		files, err := filesystem.New(s.node.Filesystem())
		s.must(err)
		bare, err := smb.New(smbapi.On(h), files)
		s.must(err)
		s.must(second(bare.NewSMBGlobalMapping(s.Context(), request(dataShare, bob))))
		s.wantKind(second(bare.NewSMBGlobalMapping(s.Context(), request(dataShare, alice))), errdefs.ErrCredentialConflict)
	})
}

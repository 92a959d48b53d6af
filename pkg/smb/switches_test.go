// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"errors"
	"maps"
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

// Where only a query finds a mapping, one that fails or tells nothing makes no
// second mapping.
func TestMappingByQuery_Fails(t *testing.T) {
	untold := func(property string) func(simhost.Call, func() error) error {
		return func(c simhost.Call, do func() error) error {
			err := do()
			if row, ok := c.Answer().(*win.Row); ok && c.Method == "Rows.Next" && *row != nil {
				*row = maps.Clone(*row)
				(*row)[property] = nil
			}
			return err
		}
	}
	for name, tt := range map[string]struct {
		hook func(simhost.Call, func() error) error
		want error
	}{
		"query": {func(c simhost.Call, do func() error) error {
			if c.Method == "Session.Query" {
				return win.WBEM_E_ACCESS_DENIED
			}
			return do()
		}, win.WBEM_E_ACCESS_DENIED},
		"no remote path": {untold("RemotePath"), wmi.ErrNull},
		"no status":      {untold("Status"), wmi.ErrNull},
	} {
		t.Run(name, func(t *testing.T) {
			sp := spec()
			sp.Switches.SMBMappingNotByPath = true
			inSite(t, sp, func(s *site) {
				s.must(s.mapAs(dataShare, bob))
				s.node.Calls().Reset()
				s.node.OnCall(tt.hook)
				s.wantKind(s.mapAs(dataShare, bob), tt.want)
				s.wantChanges(0, 0)
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

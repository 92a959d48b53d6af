// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

// The shares of the tests, and their users.
const (
	dataShare  = `\\files\data`
	otherShare = `\\files\second`
	local      = `C:\var\lib\kubelet\plugins\smb\globalmount`
)

var (
	alice = simhost.SMBCredential{User: `CORP\alice`, Password: "pa:ss"}
	bob   = simhost.SMBCredential{User: "bob", Password: "secret"}
)

func spec() simhost.NodeSpec {
	return simhost.NodeSpec{
		Version:     simhost.SpecVersion,
		Directories: []string{`C:\var\lib\kubelet\plugins\smb`},
		SMB: []simhost.SMBServerSpec{
			{
				Name:  "files",
				Users: []simhost.SMBUserSpec{{Name: alice.User, Password: alice.Password}, {Name: bob.User, Password: bob.Password}},
				Shares: []simhost.SMBShareSpec{
					{Name: "data", Directories: []string{`Sub\deep`}}, {Name: "second"}, {Name: "alices", Users: []string{alice.User}},
				},
			},
			{Name: "plain", WithoutEncryption: true, Users: []simhost.SMBUserSpec{{Name: bob.User, Password: bob.Password}}, Shares: []simhost.SMBShareSpec{{Name: "share"}}},
			{Name: "open", Guest: true, Shares: []simhost.SMBShareSpec{{Name: "share"}}},
			{Name: "domain", KnowsNode: true, Users: []simhost.SMBUserSpec{{Name: bob.User, Password: bob.Password}}, Shares: []simhost.SMBShareSpec{{Name: "share"}}},
		},
	}
}

// site is a node with a driver on it.
type site struct {
	*testing.T
	node *simhost.Node
	smb  *smb.SMB
}

// inSite runs a test in a bubble and checks what it leaves open.
func inSite(t *testing.T, spec simhost.NodeSpec, test func(*site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		node, err := simhost.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		s := &site{T: t, node: node}
		s.start()
		test(s)
		node.OnCall(nil)
		synctest.Wait()
		if err := blocking.On(node.Host()).Clean(); err != nil {
			t.Error(err)
		}
		node.Close()
		synctest.Wait()
		if n := node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
		if v := node.Violations(); len(v) > 0 {
			t.Errorf("boundary rules broken: %q", v)
		}
	})
}

// start makes the groups, as a driver's process does when it starts.
func (s *site) start() {
	s.Helper()
	files, err := filesystem.New(s.node.Filesystem())
	s.must(err)
	s.smb, err = smb.New(s.node.SMB(), files)
	s.must(err)
}

// restart ends the driver's process and begins another.
func (s *site) restart() {
	s.Helper()
	s.node.RestartDriver()
	s.start()
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// request is a request for a share as a user.
func request(remote string, c simhost.SMBCredential) *smb.NewSMBGlobalMappingRequest {
	return &smb.NewSMBGlobalMappingRequest{RemotePath: remote, Username: c.User, Password: c.Password}
}

func (s *site) ask(ctx context.Context, req *smb.NewSMBGlobalMappingRequest) error {
	s.Helper()
	resp, err := s.smb.NewSMBGlobalMapping(ctx, req)
	if resp == nil {
		s.Error("nil response")
	}
	return err
}

func (s *site) mapAs(remote string, c simhost.SMBCredential) error {
	s.Helper()
	return s.ask(s.Context(), request(remote, c))
}

func (s *site) unmap(remote string) error {
	s.Helper()
	resp, err := s.smb.RemoveSMBGlobalMapping(s.Context(), &smb.RemoveSMBGlobalMappingRequest{RemotePath: remote})
	if resp == nil {
		s.Error("nil response")
	}
	return err
}

func (s *site) wantKind(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("got %v, want %v", err, want)
	}
}

// mappings are the node's mappings by share.
func (s *site) mappings() map[string]simhost.SMBMapping {
	found := map[string]simhost.SMBMapping{}
	for _, m := range s.node.SMBMappings() {
		found[m.RemotePath] = m
	}
	return found
}

// wantMapped wants a share to be mapped, and to work, as a user.
func (s *site) wantMapped(remote string, c simhost.SMBCredential) {
	s.Helper()
	m, ok := s.mappings()[remote]
	if !ok || m.Status != 0 || m.Credential != c || m.Persistent {
		s.Errorf("%s: mapped %t: %+v", remote, ok, m)
	}
}

// changes counts the mappings made and removed.
func (s *site) changes() (made, removed int) {
	for _, c := range s.node.Calls().Calls() {
		if c.Method != "Session.Start" {
			continue
		}
		switch {
		case strings.HasPrefix(c.Subject, "MSFT_SmbGlobalMapping.Create"):
			made++
		case strings.HasPrefix(c.Subject, "MSFT_SmbGlobalMapping.Remove"):
			removed++
		}
	}
	return made, removed
}

// wantChanges wants that many mappings made and removed since reset.
func (s *site) wantChanges(made, removed int) {
	s.Helper()
	if m, r := s.changes(); m != made || r != removed {
		s.Errorf("made %d and removed %d mappings, want %d and %d", m, r, made, removed)
	}
}

// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

// smbModel says what random calls of a driver of shares must come to, with
// tenants who change their passwords, a server that comes and goes or falls
// silent, another program that maps, processes that end, and calls that fail.
type smbModel struct {
	hosttest.Driver
	node      *simhost.Node
	passwords map[string]string                         // as the server has them
	former    []simhost.SMBCredential                   // were right once
	admitted  map[string]map[simhost.SMBCredential]bool // by share: whom this process may know
	suspects  map[string]string                         // by share: who may have mapped it, with what password nobody knows
	paths     map[string]string                         // what is staged, by path: its share
	unsure    map[string]bool                           // paths whose last call has failed
	foreign   map[string]bool                           // shares that another program has mapped
	down      bool
	silence   *silence // while the server does not answer, else nil
}

const (
	smbServer = "files"

	// Of a server that nothing happens to.
	calmShare    = `\\calm\share`
	calmPassword = "calm"
)

var (
	modelShares = []string{`\\files\one`, `\\files\two`}
	modelPaths  = []string{`C:\mnt\a`, `C:\mnt\b`, `C:\mnt\c`}
	modelUsers  = []string{"alice", "bob"}
)

func newSMBModel(t *rapid.T) *smbModel {
	m := &smbModel{
		passwords: map[string]string{}, paths: map[string]string{}, unsure: map[string]bool{},
		foreign: map[string]bool{}, suspects: map[string]string{}, admitted: map[string]map[simhost.SMBCredential]bool{},
	}
	server := simhost.SMBServerSpec{Name: smbServer, Shares: []simhost.SMBShareSpec{{Name: "one"}, {Name: "two"}}}
	for _, user := range modelUsers {
		m.passwords[user] = "first of " + user
		server.Users = append(server.Users, simhost.SMBUserSpec{Name: user, Password: m.passwords[user]})
	}
	calm := simhost.SMBServerSpec{
		Name: "calm", Shares: []simhost.SMBShareSpec{{Name: "share"}}, Users: []simhost.SMBUserSpec{{Name: modelUsers[0], Password: calmPassword}},
	}
	node, err := simhost.New(simhost.NodeSpec{
		Version: simhost.SpecVersion, Name: "smb model", Directories: []string{`C:\mnt`}, SMB: []simhost.SMBServerSpec{server, calm},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.node = node
	m.restart(t)
	return m
}

// restart is a new process of the driver.
func (m *smbModel) restart(t *rapid.T) {
	m.node.RestartDriver()
	m.begin(t)
}

func (m *smbModel) begin(t *rapid.T) {
	groups, err := hosttest.GroupsOn(m.node.Host())
	if err != nil {
		t.Fatal(err)
	}
	m.Groups = groups
	clear(m.admitted)
	clear(m.suspects)
	if m.silence != nil {
		m.silence.endProcess()
	}
}

func (m *smbModel) reboot(t *rapid.T) {
	m.node.Reboot()
	m.begin(t)
	clear(m.foreign)
	if m.silence != nil {
		m.silence.orphans = nil
		synctest.Wait()
	}
}

// end ends what hangs, and the process.
func (m *smbModel) end() {
	if m.silence != nil {
		m.silence.end()
	}
	wmi.On(m.node.Host()).Close()
}

// drawTenant draws a right credential, one that was right, or one that never was.
func (m *smbModel) drawTenant(t *rapid.T) simhost.SMBCredential {
	user := rapid.SampledFrom(modelUsers).Draw(t, "user")
	right := simhost.SMBCredential{User: user, Password: m.passwords[user]}
	choices := []simhost.SMBCredential{right, right, {User: user, Password: "wrong"}, {User: "mallory", Password: right.Password}}
	return rapid.SampledFrom(append(choices, m.former...)).Draw(t, "tenant")
}

func (m *smbModel) right(c simhost.SMBCredential) bool { return c.Password == m.passwords[c.User] }

// mapping is a share's mapping.
func (m *smbModel) mapping(t *rapid.T, share string) *simhost.SMBMapping {
	var found *simhost.SMBMapping
	for _, is := range m.node.SMBMappings() {
		if is.RemotePath != share {
			continue
		}
		if found != nil {
			t.Fatalf("%s is mapped twice", share)
		}
		found = &is
	}
	return found
}

// works: the share answers through its mapping, which logs on again if it must.
func (m *smbModel) works(is *simhost.SMBMapping) bool {
	return is != nil && !m.down && (is.Status == 0 || is.Status == uint32(smb.StatusDisconnected) && m.right(is.Credential))
}

func otherShare(share string) string {
	return modelShares[1-slices.Index(modelShares, share)]
}

// claim is what a tenant asks for: a share, and a link to it at a path.
type claim struct {
	path, share string
	tenant      simhost.SMBCredential
}

// stage maps a share and links to it, for one that is there again or anew.
func (m *smbModel) stage(t *rapid.T) {
	asked := claim{path: rapid.SampledFrom(modelPaths).Draw(t, "path"), share: rapid.SampledFrom(modelShares).Draw(t, "share")}
	if staged := m.paths[asked.path]; staged != "" {
		asked.share = staged // a volume has one share
	}
	asked.tenant = m.drawTenant(t)
	call := func(ctx context.Context) error { return m.newMapping(ctx, asked) }
	switch {
	case m.silence != nil:
		m.stageInSilence(t, asked)
	case rapid.IntRange(0, 7).Draw(t, "falls silent") == 0:
		at := rapid.IntRange(1, 8).Draw(t, "silent at")
		m.stageWith(t, asked, m.mapping(t, asked.share), func() (bool, error) { return m.silencing(t, at, call) })
	default:
		f := drawFault(t)
		struck := m.stageWith(t, asked, m.mapping(t, asked.share), func() (bool, error) {
			return f.strike(m.node, func() error { return call(t.Context()) })
		})
		if struck && f.fatal {
			m.restart(t)
		}
	}
}

func (m *smbModel) newMapping(ctx context.Context, asked claim) error {
	_, err := m.SMB.NewSMBGlobalMapping(ctx, &smb.NewSMBGlobalMappingRequest{
		RemotePath: asked.share, LocalPath: asked.path, Username: asked.tenant.User, Password: asked.tenant.Password,
	})
	return err
}

// stageWith makes a call that stages, with the mapping that it finds. Where it is
// struck, only what always holds is looked at.
func (m *smbModel) stageWith(t *rapid.T, asked claim, before *simhost.SMBMapping, call func() (struck bool, err error)) (struck bool) {
	path, share, tenant := asked.path, asked.share, asked.tenant
	beside := m.mapping(t, otherShare(share))
	want := m.wantStage(share, tenant, before, beside)
	known := m.admitted[share][tenant]
	sameUser := m.sameUser(share, tenant)
	suspect := m.suspects[share] == tenant.User
	besideWorks := m.works(beside)
	mappedWorks := m.works(before)

	struck, err := call()
	after := m.mapping(t, share)
	if besideWorks {
		if is := m.mapping(t, otherShare(share)); is == nil || is.Credential != beside.Credential {
			t.Fatalf("%s, which worked, has become %+v", otherShare(share), is)
		}
	}
	switch {
	case err == nil:
		// Where nobody can tell, the same user goes on (docs/architecture.md SMB-5).
		if !m.right(tenant) && !(mappedWorks && (known || struck && (sameUser || suspect))) {
			t.Fatalf("%+v was let in to %s", tenant, share)
		}
		if after == nil || after.Status != 0 || after.Persistent {
			t.Fatalf("%s is mapped: %+v", share, after)
		}
		m.admit(share, tenant, before, after)
		m.paths[path] = share
		delete(m.unsure, path)
	case struck:
		if isNew(before, after) {
			m.suspects[share] = tenant.User
		}
		m.paths[path] = share
		m.unsure[path] = true
		m.admit(share, tenant, before, after)
	case !slices.Contains(want, errdefs.KindOf(err)):
		t.Fatalf("error of kind %v, want %v: %v", errdefs.KindOf(err), want, err)
	}
	if !struck {
		if err == nil && !slices.Contains(want, errdefs.None) {
			t.Fatalf("no error, want %v", want)
		}
		stays := mappedWorks || m.down || !m.right(tenant) && !sameUser
		if before != nil && stays && (after == nil || after.Credential != before.Credential) {
			t.Fatalf("%s was %+v and has become %+v", share, before, after)
		}
	}
	if after == nil {
		delete(m.admitted, share)
		delete(m.foreign, share)
	}
	return struck
}

// isNew reports whether a mapping has been made, or may have been.
func isNew(before, after *simhost.SMBMapping) bool {
	return before == nil || after == nil || before.Credential != after.Credential
}

// admit says that this process may know a tenant of a share, and of a mapping
// that was made anew no other.
func (m *smbModel) admit(share string, tenant simhost.SMBCredential, before, after *simhost.SMBMapping) {
	if !m.right(tenant) || after == nil {
		return
	}
	if m.admitted[share] == nil || isNew(before, after) {
		m.admitted[share] = map[simhost.SMBCredential]bool{}
	}
	m.admitted[share][tenant] = true
}

// sameUser reports whether this process knows a tenant of a share by another
// password.
func (m *smbModel) sameUser(share string, tenant simhost.SMBCredential) bool {
	for c := range m.admitted[share] {
		if c.User == tenant.User {
			return true
		}
	}
	return false
}

// wantStage are the kinds of error that a call may end in which nothing disturbs.
func (m *smbModel) wantStage(share string, tenant simhost.SMBCredential, before, beside *simhost.SMBMapping) []errdefs.Kind {
	conflict := !m.works(before) && beside != nil && beside.Credential != tenant
	switch {
	case m.down && before == nil && conflict: // 1219, before the server is asked
		return []errdefs.Kind{errdefs.FailedPrecondition}
	case m.down:
		return []errdefs.Kind{errdefs.Unavailable}
	case conflict && m.works(beside):
		if !m.right(tenant) {
			return []errdefs.Kind{errdefs.FailedPrecondition, errdefs.PermissionDenied}
		}
		return []errdefs.Kind{errdefs.FailedPrecondition}
	case m.right(tenant):
		return []errdefs.Kind{errdefs.None}
	case m.works(before) && m.admitted[share][tenant]:
		return []errdefs.Kind{errdefs.None, errdefs.PermissionDenied}
	}
	return []errdefs.Kind{errdefs.PermissionDenied}
}

// users are the paths that use a share.
func (m *smbModel) users(share string) (paths []string) {
	for _, path := range modelPaths {
		if m.paths[path] == share {
			paths = append(paths, path)
		}
	}
	return paths
}

// unstage takes a path away, and with the last one the mapping.
func (m *smbModel) unstage(t *rapid.T) {
	var staged []string
	for _, path := range modelPaths {
		if m.paths[path] != "" {
			staged = append(staged, path)
		}
	}
	if len(staged) == 0 {
		t.Skip("nothing is staged")
	}
	path := rapid.SampledFrom(staged).Draw(t, "path")
	share := m.paths[path]
	last := len(m.users(share)) == 1
	beside := m.mapping(t, otherShare(share))
	call := func(ctx context.Context) error {
		if last {
			return m.UnstageShare(ctx, share, path)
		}
		_, err := m.Filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: true})
		return err
	}
	f, made := fault{}, func() error { return m.unstageInSilence(t, share, last, call) }
	if m.silence == nil {
		f, made = drawFault(t), func() error { return call(t.Context()) }
	}

	struck, err := f.strike(m.node, made)
	if struck && f.fatal {
		m.restart(t)
	}
	if is := m.mapping(t, otherShare(share)); (is == nil) != (beside == nil) || is != nil && *is != *beside {
		t.Fatalf("%s was %+v and has become %+v", otherShare(share), beside, is)
	}
	switch {
	case err == nil:
		delete(m.paths, path)
		delete(m.unsure, path)
		if last {
			delete(m.foreign, share)
		}
	case m.silence != nil: // it has ended as it must, and done nothing
	case !struck:
		t.Fatal(err)
	default:
		m.unsure[path] = true
	}
	if m.mapping(t, share) == nil {
		delete(m.admitted, share)
	}
}

// mapElsewhere is another program that maps a share.
func (m *smbModel) mapElsewhere(t *rapid.T) {
	share := rapid.SampledFrom(modelShares).Draw(t, "share")
	user := rapid.SampledFrom(modelUsers).Draw(t, "user")
	credential := simhost.SMBCredential{User: user, Password: m.passwords[user]}
	if beside := m.mapping(t, otherShare(share)); m.down || m.silence != nil || m.mapping(t, share) != nil || beside != nil && beside.Credential != credential {
		t.Skip("it cannot")
	}
	want(t, m.node.AddSMBMapping(simhost.SMBMapping{RemotePath: share, Credential: credential, Privacy: true}), errdefs.None)
	m.foreign[share] = true
}

func (m *smbModel) changePassword(t *rapid.T) {
	user := rapid.SampledFrom(modelUsers).Draw(t, "user")
	was := simhost.SMBCredential{User: user, Password: m.passwords[user]}
	m.passwords[user] += "'"
	m.former = append(m.former, was)
	want(t, m.node.SetSMBPassword(smbServer, user, m.passwords[user]), errdefs.None)
}

func (m *smbModel) dropSessions(t *rapid.T) { want(t, m.node.DropSMBSessions(smbServer), errdefs.None) }

func (m *smbModel) toggleServer(t *rapid.T) {
	code := uint32(win.ERROR_BAD_NETPATH)
	if m.down = !m.down; !m.down {
		code = 0
	}
	want(t, m.node.FailSMBServer(smbServer, code), errdefs.None)
}

// check compares the node with the model.
func (m *smbModel) check(t *rapid.T) {
	for _, share := range modelShares {
		is := m.mapping(t, share)
		if is != nil && len(m.users(share)) == 0 && !m.foreign[share] {
			t.Fatalf("%s has no user left and is mapped: %+v", share, is)
		}
		if is != nil && !m.right(is.Credential) && !slices.Contains(m.former, is.Credential) {
			t.Fatalf("%s is mapped as nobody: %+v", share, is)
		}
	}
	for _, path := range modelPaths {
		if m.unsure[path] {
			continue
		}
		got, err := m.SMB.(*smb.SMB).LinkedShare(t.Context(), &smb.LinkedShareRequest{LocalPath: path})
		switch {
		case m.paths[path] == "":
			want(t, err, errdefs.NotFound)
		case err != nil || got.Share != m.paths[path]:
			t.Fatalf("%s leads to %q, %v, want %s", path, got.Share, err, m.paths[path])
		}
	}
	if n := m.node.OpenHandles(); n != m.silence.beingMade() {
		t.Fatalf("%d handles open, and %d mappings being made", n, m.silence.beingMade())
	}
	if v := m.node.Violations(); len(v) > 0 {
		t.Fatal(errors.New(v[0]))
	}
}

func TestModel_SMB(t *testing.T) {
	checkModel(t, 120, func(t *rapid.T) {
		m := newSMBModel(t)
		defer m.end()
		t.Repeat(map[string]func(*rapid.T){
			"stage": m.stage, "stageMore": m.stage, "unstage": m.unstage,
			"mapElsewhere": m.mapElsewhere, "changePassword": m.changePassword, "dropSessions": m.dropSessions,
			"toggleServer": m.toggleServer, "toggleSilence": m.toggleSilence, "look": m.look, "elsewhere": m.elsewhere,
			"restart": m.restart, "reboot": m.reboot,
			"": m.check,
		})
	})
}

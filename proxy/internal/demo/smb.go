// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

const smbIntro = `A share of a file server, used by two tenants of a simulated Windows node. Below each step stand
what changed on the node (+ new, - gone, ~ changed) and the step's calls at the boundary of Windows.
`

// SMB shows a share that two tenants use, through a rotated password and a
// reboot of the node.
func SMB(ctx context.Context, out io.Writer) error {
	if _, err := io.WriteString(out, smbIntro+"\n"); err != nil {
		return err
	}
	t, err := newTenancy()
	if err != nil {
		return err
	}
	defer func() { t.node.Close() }()
	for i, s := range smbSteps {
		before := t.node.Snapshot()
		t.node.Calls().Reset()
		said, err := s.run(t, ctx)
		if err != nil {
			return fmt.Errorf("step %s: %w", s.name, err)
		}
		report := stepReport(i+1, s.name, said, simhost.Diff(before, t.node.Snapshot()), countCalls(t.node.Calls()))
		if _, err := io.WriteString(out, report); err != nil {
			return err
		}
	}
	return nil
}

// tenancy is the node, and the driver that serves its tenants.
type tenancy struct {
	node  *simhost.Node
	files *filesystem.Filesystem
	smb   *smb.SMB
}

const (
	sharedData = `\\files\data`
	plugins    = `C:\var\lib\kubelet\plugins\demo`
)

func newTenancy() (*tenancy, error) {
	node, err := simhost.New(simhost.NodeSpec{
		Version: simhost.SpecVersion, Name: "smb", Directories: []string{plugins},
		SMB: []simhost.SMBServerSpec{{
			Name:   "files",
			Users:  []simhost.SMBUserSpec{{Name: `CORP\alice`, Password: "a:1"}, {Name: `CORP\bob`, Password: "b:1"}},
			Shares: []simhost.SMBShareSpec{{Name: "data", Directories: []string{"alice", "bob"}}},
		}},
	})
	if err != nil {
		return nil, err
	}
	t := &tenancy{node: node}
	return t, t.start()
}

// start makes the driver's groups.
func (t *tenancy) start() (err error) {
	if t.files, err = filesystem.New(t.node.Filesystem()); err != nil {
		return err
	}
	t.smb, err = smb.New(t.node.SMB(), t.files)
	return err
}

// stage maps a tenant's directory and links to it.
func (t *tenancy) stage(ctx context.Context, tenant, password string) error {
	_, err := t.smb.NewSMBGlobalMapping(ctx, &smb.NewSMBGlobalMappingRequest{
		RemotePath: sharedData + `\` + tenant, LocalPath: plugins + `\` + tenant,
		Username: tenant, Domain: "CORP", Password: password,
	})
	return err
}

var smbSteps = []struct {
	name string
	run  func(*tenancy, context.Context) (string, error)
}{
	{"alice", func(t *tenancy, ctx context.Context) (string, error) {
		return "alice's volume is staged: the share is mapped with her credential, her directory linked to", t.stage(ctx, "alice", "a:1")
	}},
	{"bob", func(t *tenancy, ctx context.Context) (string, error) {
		return "bob's is on the same share: his credential is tried in a logon session of its own, a made-up user is refused there, so the mapping is his too", t.stage(ctx, "bob", "b:1")
	}},
	{"again", func(t *tenancy, ctx context.Context) (string, error) {
		return "staged again, nothing is done", errors.Join(t.stage(ctx, "alice", "a:1"), t.stage(ctx, "bob", "b:1"))
	}},
	{"mallory", func(t *tenancy, ctx context.Context) (string, error) {
		return refusal("bob's user with another password is refused, and the mapping stays: ", t.stage(ctx, "bob", "guessed"))
	}},
	{"rotate", func(t *tenancy, ctx context.Context) (string, error) {
		if err := t.node.SetSMBPassword("files", `CORP\alice`, "a:2"); err != nil {
			return "", err
		}
		return "alice's password is rotated: the new one is verified, the session that runs goes on", t.stage(ctx, "alice", "a:2")
	}},
	{"drop", func(t *tenancy, ctx context.Context) (string, error) {
		if err := t.node.DropSMBSessions("files"); err != nil {
			return "", err
		}
		return "the server drops the session: the mapping is made anew with the password of now", t.stage(ctx, "alice", "a:2")
	}},
	{"reboot", func(t *tenancy, _ context.Context) (string, error) {
		t.node.Reboot()
		return "the node reboots: links stay, mappings do not, and the driver remembers nothing", t.start()
	}},
	{"stage", func(t *tenancy, ctx context.Context) (string, error) {
		return "both are staged again, and nobody had to help", errors.Join(t.stage(ctx, "alice", "a:2"), t.stage(ctx, "bob", "b:1"))
	}},
	{"look", func(t *tenancy, ctx context.Context) (string, error) {
		resp, err := t.smb.LinkedShare(ctx, &smb.LinkedShareRequest{LocalPath: plugins + `\bob`})
		return "bob's link leads to " + resp.RemotePath + " on " + resp.Share, err
	}},
	{"unstage", func(t *tenancy, ctx context.Context) (string, error) {
		for _, tenant := range []string{"alice", "bob"} {
			if _, err := t.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: plugins + `\` + tenant}); err != nil {
				return "", err
			}
		}
		_, err := t.smb.RemoveSMBGlobalMapping(ctx, &smb.RemoveSMBGlobalMappingRequest{RemotePath: sharedData})
		return "links and mapping are removed, and nothing behind them", err
	}},
}

// refusal is what is said of an error that must come.
func refusal(said string, err error) (string, error) {
	if !errors.Is(err, errdefs.ErrPermissionDenied) {
		return "", fmt.Errorf("not refused: %w", errors.Join(err, errdefs.ErrInternal))
	}
	return said + err.Error(), nil
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
)

const dataShare = `\\files\data`

func smbSpec() NodeSpec {
	return NodeSpec{Version: SpecVersion, SMB: []SMBServerSpec{
		{
			Name:  "Files",
			Users: []SMBUserSpec{{`CORP\alice`, "pa:ss"}, {"bob", "secret"}},
			Shares: []SMBShareSpec{
				{Name: "Data", Directories: []string{`sub\deep`}},
				{Name: "second"},
				{Name: "bobs", Users: []string{"bob"}},
			},
		},
		{Name: "nas", WithoutEncryption: true, Guest: true, Shares: []SMBShareSpec{{Name: "open"}}},
		{Name: "domain", KnowsNode: true, Shares: []SMBShareSpec{{Name: "share"}}},
	}}
}

// smbClient is a user of a node's SMB namespace.
type smbClient struct {
	*wmiClient
}

func newSMBClient(t *testing.T, spec NodeSpec) smbClient {
	t.Helper()
	c := newWMIClient(t, mustNode(t, spec))
	c.session.Close()
	c.connectTo(smbNamespace)
	return smbClient{c}
}

// create calls Create with a share, a credential and what else there is.
func (c smbClient) create(remote, credential string, in ...win.Param) error {
	in = append(in, wmi.String("RemotePath", remote))
	if credential != "" {
		in = append(in, wmi.String("Credential", credential))
	}
	out, err := c.call(smbMappingClass, "", "Create", in...)
	if err == nil && out["CreatedMapping"].(win.Row)["RemotePath"] != remote {
		c.t.Errorf("created %v", out["CreatedMapping"])
	}
	return err
}

func mappingPath(remote string) string {
	return smbMappingClass + `.LocalPath="",RemotePath="` + strings.ReplaceAll(remote, `\`, `\\`) + `"`
}

func (c smbClient) open(path string) error {
	f, err := c.node.Host().Files.Open(nil, path, win.OpenFile{Disposition: win.OpenExisting, Access: win.FileReadAttributes})
	if err != nil {
		return err
	}
	return f.Close()
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantSMBCode wants the Win32 code in an error object (windows-api.md 9.2).
func wantSMBCode(t *testing.T, err error, want win.Errno) {
	t.Helper()
	var p *win.ProviderError
	if !errors.As(err, &p) || p.Info["error_Code"] != int32(want) || p.Info["error_Type"] != "Windows System Error" || p.Code != win.WBEM_E_FAILED {
		t.Errorf("got %v, want %d in an error object", err, uint32(want))
	}
}

func TestSMB_Create(t *testing.T) {
	c := newSMBClient(t, smbSpec())
	wantCode(t, c.open(`\\?\UNC\files\data\`), win.ERROR_ACCESS_DENIED)
	if err := c.create(dataShare, `CORP\\alice:pa:ss`, wmi.Bool("RequirePrivacy", true)); err != nil {
		t.Fatal(err)
	}
	if err := c.open(`\\?\UNC\FILES\Data\Sub\deep`); err != nil {
		t.Errorf("mapped: %v", err)
	}
	wantCode(t, c.open(`\\?\UNC\files\data\missing`), win.ERROR_FILE_NOT_FOUND)
	row, err := c.session.Get(mappingPath(`\\FILES\DATA`))
	if err != nil || row["Status"] != int32(smbOK) || row["RequirePrivacy"] != true || row["LocalPath"] != "" {
		t.Errorf("got %v, %v", row, err)
	}
	if got, want := c.node.ShownToSMBServer("files"), []SMBCredential{{`CORP\alice`, "pa:ss"}}; !slices.Equal(got, want) {
		t.Errorf("shown %q", got)
	}
	for _, tt := range []struct {
		name, remote, credential string
		in                       []win.Param
		want                     win.Errno
	}{
		{"again", dataShare, `CORP\\alice:pa:ss`, nil, win.ERROR_ALREADY_ASSIGNED},
		{"another credential", `\\files\bobs`, `bob:secret`, nil, win.ERROR_SESSION_CREDENTIAL_CONFLICT},
		{"another password", dataShare, `CORP\\alice:other`, nil, win.ERROR_SESSION_CREDENTIAL_CONFLICT},
		{"not for this user", `\\files\bobs`, `CORP\\alice:pa:ss`, nil, win.ERROR_ACCESS_DENIED},
		{"unknown share", `\\files\none`, `CORP\\alice:pa:ss`, nil, win.ERROR_BAD_NET_NAME},
		{"unknown server", `\\none\x`, `u:p`, nil, win.ERROR_BAD_NETPATH},
		{"no encryption", `\\nas\open`, `u:p`, []win.Param{wmi.Bool("RequirePrivacy", true)}, win.ERROR_NOT_SUPPORTED},
		{"a directory", dataShare + `\sub`, `u:p`, nil, win.ERROR_INVALID_PARAMETER},
		{"a backslash behind", dataShare + `\`, `u:p`, nil, win.ERROR_INVALID_PARAMETER},
		{"an open escape", dataShare, `user\`, nil, win.ERROR_INVALID_PARAMETER},
		{"no colon", dataShare, `user`, nil, win.ERROR_INVALID_PARAMETER},
		{"the node itself", `\\nas\open`, ``, nil, win.ERROR_ACCESS_DENIED},
	} {
		err := c.create(tt.remote, tt.credential, tt.in...) // on the client's thread
		t.Run(tt.name, func(t *testing.T) { wantSMBCode(t, err, tt.want) })
	}
	for remote, credential := range map[string]string{`\\nas\open`: ":", `\\domain\share`: ""} {
		if err := c.create(remote, credential); err != nil {
			t.Errorf("%s: %v", remote, err)
		}
	}
}

func TestSMB_WrongPassword(t *testing.T) {
	for want, switches := range map[win.Errno]Switches{
		win.ERROR_LOGON_FAILURE:    {},
		win.ERROR_INVALID_PASSWORD: {SMBWrongPassword86: true},
	} {
		spec := smbSpec()
		spec.Switches = switches
		c := newSMBClient(t, spec)
		wantSMBCode(t, c.create(dataShare, `bob:wrong`), want)
		wantSMBCode(t, c.create(dataShare, `nobody:secret`), want)
	}
}

func TestSMB_Remove(t *testing.T) {
	c := newSMBClient(t, smbSpec())
	if err := c.create(dataShare, `bob:secret`); err != nil {
		t.Fatal(err)
	}
	remove := func() error {
		_, err := c.call(smbMappingClass, mappingPath(dataShare), "Remove", wmi.Bool("Force", true))
		return err
	}
	if err := remove(); err != nil || len(c.node.SMBMappings()) != 0 {
		t.Errorf("%v, left %v", err, c.node.SMBMappings())
	}
	if err := remove(); !errors.Is(err, win.WBEM_E_NOT_FOUND) {
		t.Errorf("again: %v", err)
	}
	if _, err := c.session.Get(mappingPath(dataShare)); !errors.Is(err, win.WBEM_E_NOT_FOUND) {
		t.Errorf("got %v", err)
	}
	wantCode(t, c.open(`\\?\UNC\files\data\`), win.ERROR_ACCESS_DENIED)
}

func TestSMB_MappingByQueryOnly(t *testing.T) {
	spec := smbSpec()
	spec.Switches.SMBMappingNotByPath = true
	c := newSMBClient(t, spec)
	if err := c.create(dataShare, `bob:secret`); err != nil {
		t.Fatal(err)
	}
	_, err := c.session.Get(mappingPath(dataShare))
	if !errors.Is(err, win.WBEM_E_PROVIDER_NOT_CAPABLE) {
		t.Errorf("got %v", err)
	}
	if row := c.row(`SELECT * FROM ` + smbMappingClass + ` WHERE RemotePath = '\\\\FILES\\data'`); row["RemotePath"] != dataShare {
		t.Errorf("got %v", row)
	}
}

// A session outlives the password with which it began, but not its own end.
func TestSMB_PasswordChanges(t *testing.T) {
	c := newSMBClient(t, smbSpec())
	noError(t, c.create(dataShare, `bob:secret`))
	noError(t, c.node.SetSMBPassword("files", "bob", "new"))
	if err := c.open(`\\?\UNC\files\data\`); err != nil {
		t.Errorf("in the session: %v", err)
	}
	noError(t, c.node.DropSMBSessions("files"))
	wantCode(t, c.open(`\\?\UNC\files\data\`), win.ERROR_LOGON_FAILURE)
	if got := c.node.SMBMappings()[0].Status; got != smbDisconnected {
		t.Errorf("state %d", got)
	}
	noError(t, c.node.SetSMBPassword("files", "bob", "secret"))
	if err := c.open(`\\?\UNC\files\data\`); err != nil || c.node.SMBMappings()[0].Status != smbOK {
		t.Errorf("%v, %v", err, c.node.SMBMappings())
	}
	noError(t, c.node.RemoveSMBUser("files", "bob"))
	noError(t, c.node.DropSMBSessions("files"))
	wantCode(t, c.open(`\\?\UNC\files\data\`), win.ERROR_LOGON_FAILURE)
}

func TestSMB_States(t *testing.T) {
	c := newSMBClient(t, smbSpec())
	noError(t, c.create(dataShare, `bob:secret`))
	for status, want := range map[uint32]error{
		smbOK: nil, smbPaused: nil, smbDisconnected: nil,
		smbNetworkError: win.ERROR_UNEXP_NET_ERR, smbConnecting: win.ERROR_NETNAME_DELETED,
		smbReconnecting: win.ERROR_NETNAME_DELETED, smbUnavailable: win.ERROR_NETNAME_DELETED,
	} {
		noError(t, c.node.SetSMBStatus(dataShare, status))
		if err := c.open(`\\?\UNC\files\data\`); !errors.Is(err, want) {
			t.Errorf("%s: %v", smbStatusNames[status], err)
		}
	}
	noError(t, c.node.SetSMBStatus(dataShare, smbOK))
	noError(t, c.node.FailSMBServer("files", 64))
	wantCode(t, c.open(`\\?\UNC\files\data\`), win.ERROR_NETNAME_DELETED)
	noError(t, c.node.FailSMBServer("files", 0))
	if got := c.node.SMBMappings()[0].Status; got != smbDisconnected {
		t.Errorf("after a failure: %d", got)
	}
}

// field-reports.md M01: what is persistent is there after a reboot, without its
// credential, and keeps every other credential away from its server.
func TestSMB_Reboot(t *testing.T) {
	node := mustNode(t, smbSpec())
	before := node.Host()
	noError(t, node.AddSMBMapping(SMBMapping{RemotePath: dataShare, Credential: SMBCredential{"bob", "secret"}, Persistent: true}))
	noError(t, node.AddSMBMapping(SMBMapping{RemotePath: `\\nas\open`, Credential: SMBCredential{"bob", "secret"}}))
	node.Reboot()
	if node.Host() == before {
		t.Error("the driver's process has not ended")
	}
	want := []SMBMapping{{RemotePath: dataShare, Credential: SMBCredential{"bob", "secret"}, Persistent: true, Status: smbDisconnected}}
	if diff := cmp.Diff(want, node.SMBMappings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c := smbClient{newWMIClient(t, node)}
	c.session.Close()
	c.connectTo(smbNamespace)
	wantCode(t, c.open(`\\?\UNC\files\data\`), win.ERROR_NO_SUCH_LOGON_SESSION)
	wantSMBCode(t, c.create(`\\files\second`, `bob:secret`), win.ERROR_SESSION_CREDENTIAL_CONFLICT)
	if s := string(node.Snapshot()); !strings.Contains(s, `smb mapping \\files\data: disconnected, persistent, its credential is lost`) {
		t.Errorf("snapshot:\n%s", s)
	}
}

// A silent server holds up who needs it, and nobody else.
func TestSMB_Silence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSMBClient(t, smbSpec())
		noError(t, c.create(dataShare, `bob:secret`))
		release, err := c.node.HangSMBServer("files")
		noError(t, err)
		opened := make(chan error, 1)
		go func() { opened <- c.open(`\\?\UNC\files\data\`) }()
		call, err := c.session.Start(smbMappingClass, "", "Create", []win.Param{
			wmi.String("RemotePath", `\\files\second`), wmi.String("Credential", "bob:secret"),
		})
		noError(t, err)
		if _, err := call.Result(time.Minute); !errors.Is(err, win.WBEM_S_TIMEDOUT) {
			t.Errorf("Create: %v", err)
		}
		if err := c.open(`\\?\C:\Windows`); err != nil {
			t.Error(err)
		}
		wantCode(t, c.open(`\\?\UNC\nowhere\x\`), win.ERROR_BAD_NETPATH)
		if len(opened) > 0 {
			t.Error("opened on a silent server")
		}
		release()
		release()
		if _, err := call.Result(time.Minute); err != nil {
			t.Errorf("Create: %v", err)
		}
		call.Close()
		if err := <-opened; err != nil {
			t.Error(err)
		}
		if n := len(c.node.SMBMappings()); n != 2 {
			t.Errorf("%d mappings", n)
		}
	})
}

func TestSMB_FilesOfAShare(t *testing.T) {
	c := newSMBClient(t, smbSpec())
	noError(t, c.create(dataShare, `bob:secret`))
	f, err := c.node.Host().Files.Open(nil, `\\?\UNC\files\data\sub`, win.OpenFile{Disposition: win.OpenExisting, Access: win.FileReadAttributes})
	noError(t, err)
	defer func() { noError(t, f.Close()) }()
	if got, err := f.FinalPath(win.VolumeNameDOS); got != `\\?\UNC\Files\Data\sub` || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	_, err = f.FinalPath(win.VolumeNameGUID)
	wantCode(t, err, win.ERROR_PATH_NOT_FOUND)
	noError(t, c.node.Host().Files.SymbolicLink(`\\?\C:\link`, `\\files\data\sub\`, win.SymbolicLinkFlagDirectory))
	if err := c.open(`\\?\C:\link\deep`); err != nil {
		t.Errorf("through a link: %v", err)
	}
	noError(t, c.node.AddFile(`C:\link\file`, 10))
	if s := string(c.node.Snapshot()); !strings.Contains(s, `file \\Files\Data\sub\file: 10 bytes`) {
		t.Errorf("snapshot:\n%s", s)
	}
}

func TestLogons(t *testing.T) {
	for _, all := range []bool{false, true} {
		spec := smbSpec()
		spec.Switches.SMBMappingServesAll = all
		c := newSMBClient(t, spec)
		noError(t, c.create(dataShare, `bob:secret`))
		for _, tt := range []struct {
			user, domain, password, path string
			want                         error
			mapped                       bool // a mapping may serve it
		}{
			{"alice", "CORP", "pa:ss", `\\?\UNC\files\data\`, nil, true},
			{`bob`, "", "secret", `\\?\UNC\files\bobs\`, nil, false},
			{"alice", "CORP", "pa:ss", `\\?\UNC\files\bobs\`, win.ERROR_ACCESS_DENIED, false},
			{"bob", "", "wrong", `\\?\UNC\files\data\`, win.ERROR_LOGON_FAILURE, true},
			{"bob", "", "secret", `\\?\UNC\files\none\`, win.ERROR_BAD_NET_NAME, false},
			{"bob", "", "secret", `\\?\UNC\files\data\none`, win.ERROR_FILE_NOT_FOUND, true},
			{"bob", "", "secret", `\\?\UNC\files\data\none\x`, win.ERROR_PATH_NOT_FOUND, true},
			{"bob", "", "secret", `\\?\UNC\nowhere\data\`, win.ERROR_BAD_NETPATH, false},
			{"bob", "", "secret", `\\?\UNC\files\data\a*`, win.ERROR_INVALID_NAME, true},
			{"bob", "", "secret", `C:\`, win.ERROR_PATH_NOT_FOUND, false},
		} {
			l, err := c.node.Host().Logons.Logon(tt.user, tt.domain, tt.password)
			noError(t, err)
			want := tt.want
			if all && tt.mapped && errors.Is(want, win.ERROR_LOGON_FAILURE) {
				want = nil
			}
			if err := l.Open(tt.path); !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%s at %s: got %v, want %v", tt.user, tt.path, err, want)
			}
			noError(t, l.Close())
			wantCode(t, l.Open(tt.path), win.ERROR_INVALID_HANDLE)
			wantCode(t, l.Close(), win.ERROR_INVALID_HANDLE)
		}
	}
}

func TestSMB_LatencyGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newSMBClient(t, smbSpec())
		c.node.LatencyEach(smbMappingClass, time.Second)
		for n := range 3 {
			began := time.Now()
			if _, err := c.query("SELECT * FROM " + smbMappingClass); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != time.Duration(n)*time.Second {
				t.Errorf("%d mappings: %s", n, took)
			}
			noError(t, c.create([]string{dataShare, `\\files\second`, `\\nas\open`}[n], `bob:secret`))
		}
	})
}

// Who describes what is not there learns so.
func TestSMB_UnknownServers(t *testing.T) {
	n := mustNode(t, smbSpec())
	_, hang := n.HangSMBServer("none")
	for name, err := range map[string]error{
		"hang": hang, "password": n.SetSMBPassword("none", "bob", "x"), "encryption": n.SetSMBEncryption("none", true),
		"no share":      n.AddSMBMapping(SMBMapping{RemotePath: `\\files`}),
		"no such state": n.AddSMBMapping(SMBMapping{RemotePath: dataShare, Status: smbUnavailable + 1}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if shown := n.ShownToSMBServer("none"); shown != nil {
		t.Errorf("shown %v", shown)
	}
	if mappings := n.SMBMappings(); len(mappings) != 0 {
		t.Errorf("mapped %v", mappings)
	}
}

// A server whose encryption is turned on can be mapped with it.
func TestSMB_Encryption(t *testing.T) {
	c := newSMBClient(t, smbSpec())
	wantSMBCode(t, c.create(`\\nas\open`, ":", wmi.Bool("RequirePrivacy", true)), win.ERROR_NOT_SUPPORTED)
	noError(t, c.node.SetSMBEncryption("NAS", true))
	noError(t, c.create(`\\nas\open`, ":", wmi.Bool("RequirePrivacy", true)))
}

func TestSMB_SpecIsChecked(t *testing.T) {
	for name, server := range map[string]SMBServerSpec{
		"no name":      {},
		"taken":        {Name: "FILES"},
		"bad share":    {Name: "x", Shares: []SMBShareSpec{{Name: `a\b`}}},
		"bad folder":   {Name: "x", Shares: []SMBShareSpec{{Name: "a", Directories: []string{`a\\b`}}}},
		"empty folder": {Name: "x", Shares: []SMBShareSpec{{Name: "a", Directories: []string{""}}}},
	} {
		spec := smbSpec()
		spec.SMB = append(spec.SMB, server)
		if _, err := New(spec); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

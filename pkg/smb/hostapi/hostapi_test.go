// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// windows-api.md 9.3: the forms of the Credential parameter.
func TestCredential_Text(t *testing.T) {
	for want, c := range map[string]Credential{
		`user:password`:           {User: "user", Password: "password"},
		`DOMAIN\\user:pa:ss\word`: {User: `DOMAIN\user`, Password: `pa:ss\word`},
		`us\:er:p`:                {User: "us:er", Password: "p"},
		`AZURE\\account:` + strings.Repeat("=", 88): {User: `AZURE\account`, Password: strings.Repeat("=", 88)},
		`user@dom:`: {User: "user@dom"},
		`:`:         {Anonymous: true},
	} {
		if got := c.text(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Whatever the user and the password are, they come apart where they were put
// together.
func TestCredential_TextIsUnambiguous(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.StringOf(rapid.RuneFrom([]rune{'a', ':', '\\', ' ', '\'', '"', '\u00e4', '\U0001F511'}))
		c := Credential{User: alphabet.Draw(t, "user"), Password: alphabet.Draw(t, "password")}
		var user strings.Builder
		rest := c.text()
		for rest[0] != ':' {
			rest = strings.TrimPrefix(rest, `\`)
			user.WriteByte(rest[0])
			rest = rest[1:]
		}
		if user.String() != c.User || rest[1:] != c.Password {
			t.Errorf("%q and %q became %q", c.User, c.Password, c.text())
		}
	})
}

func TestCredential_Names(t *testing.T) {
	for user, want := range map[string][2]string{
		"user": {"user", ""}, `D\user`: {"user", "D"}, `.\user`: {"user", "."}, "user@d": {"user@d", ""},
		`D\a\b`: {`a\b`, "D"}, `\user`: {`\user`, ""}, `D\`: {`D\`, ""}, `\`: {`\`, ""},
	} {
		if name, domain := (Credential{User: user}).names(); name != want[0] || domain != want[1] {
			t.Errorf("%s: %q, %q", user, name, domain)
		}
	}
}

// Whatever writes a credential writes its kind alone.
func TestCredential_IsNotWritten(t *testing.T) {
	for want, c := range map[string]Credential{
		"own account": {}, "anonymous": {Anonymous: true}, "user and password": {User: "canary", Password: "canary"},
	} {
		text, err := c.MarshalText()
		for _, got := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%q", c), string(text)} {
			if got != want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		}
	}
}

// A logon session that does not end as it should proves nothing.
func TestOpenAs_SessionDoesNotEnd(t *testing.T) {
	h := &host{Host: &win.Host{Logons: endless{}}}
	if err := h.openAs(`\\?\UNC\files\data\`, "bob", "", "secret"); !errors.Is(err, ErrCannotTell) || !errors.Is(err, win.ERROR_INVALID_HANDLE) {
		t.Errorf("got %v", err)
	}
}

// endless are logon sessions that open everything and do not end.
type endless struct{}

func (endless) Logon(string, string, string) (win.Logon, error) { return endless{}, nil }
func (endless) Open(string) error                               { return nil }
func (endless) Close() error                                    { return win.ERROR_INVALID_HANDLE }

func TestMemory(t *testing.T) {
	share, other := parsed(t, `\\files\data`), parsed(t, `\\files\second`)
	m := memoryOf(&win.Host{})
	alice, bob := Credential{User: "alice", Password: "a"}, Credential{User: "bob", Password: "b"}
	want := func(c Credential, on winpath.Share, want Familiarity) {
		t.Helper()
		if got := m.Known(on, c); got != want {
			t.Errorf("%v: got %d, want %d", c.User, got, want)
		}
	}
	want(alice, share, Unknown)
	m.Remember(share, alice, true)
	want(alice, share, SameCredential)
	want(Credential{User: "ALICE", Password: "a"}, share, SameCredential)
	want(Credential{User: "alice", Password: "A"}, share, SameUser)
	want(bob, share, OtherUser)
	want(Credential{}, share, OtherUser)
	want(Credential{Anonymous: true}, share, OtherUser)
	want(alice, other, Unknown)
	m.Remember(share, bob, false)
	want(alice, share, SameCredential)
	want(bob, share, SameCredential)
	m.Remember(share, Credential{User: "bob", Password: "new"}, false) // the old one is good no more
	want(bob, share, SameUser)
	m.Remember(share, bob, true)
	want(alice, share, OtherUser)
	m.Forget(share)
	want(bob, share, Unknown)

	for i := range 160 {
		m.Remember(share, Credential{User: fmt.Sprint("user", i)}, false)
	}
	if n := len(m.known[share]); n != 16 {
		t.Errorf("%d are remembered", n)
	}
	want(Credential{User: fmt.Sprint("user", 159)}, share, SameCredential)
}

// What is remembered does not depend on where a user ends and a password begins,
// and is worth nothing in another process.
func TestMemory_Hashes(t *testing.T) {
	m, again := memoryOf(&win.Host{}), memoryOf(&win.Host{})
	a, b := Credential{User: "ab", Password: "c"}, Credential{User: "a", Password: "bc"}
	if m.of(a) == m.of(b) || m.Tag(a) == m.Tag(b) {
		t.Error("parts run together")
	}
	if m.of(a) == again.of(a) || m.Tag(a) == again.Tag(a) {
		t.Error("two processes have one salt")
	}
	if same := a; m.Tag(a) != m.Tag(same) || m.of(a) != m.of(same) {
		t.Error("a hash changes")
	}
}

func parsed(t *testing.T, remote string) winpath.Share {
	t.Helper()
	share, _, err := winpath.ParseRemote(remote)
	if err != nil {
		t.Fatal(err)
	}
	return share
}

// windows-api.md 9.2: the code that matters is in the error object.
func TestWindowsCode(t *testing.T) {
	failed := func(info win.Row) error {
		return errdefs.Wrap("wmi.Call", "x", &win.ProviderError{Code: win.WBEM_E_FAILED, Info: info})
	}
	err := windowsCode(failed(win.Row{"error_Code": int32(1326), "error_Type": "Windows System Error"}))
	if !errors.Is(err, win.ERROR_LOGON_FAILURE) || !errors.Is(err, win.WBEM_E_FAILED) || errdefs.KindOf(err) != errdefs.PermissionDenied ||
		!errors.Is(err, errdefs.ErrPermissionDenied) || !NotMade(err) {
		t.Errorf("got %v", err)
	}
	for name, info := range map[string]win.Row{
		"no object":     nil,
		"another type":  {"error_Code": int32(5), "error_Type": "Something else"},
		"no code":       {"error_Type": "Windows System Error"},
		"code 0":        {"error_Code": int32(0), "error_Type": "Windows System Error"},
		"code as text":  {"error_Code": "5", "error_Type": "Windows System Error"},
		"type as a row": {"error_Code": int32(5), "error_Type": win.Row{}},
	} {
		before := failed(info)
		if after := windowsCode(before); !errors.Is(after, before) || NotMade(after) {
			t.Errorf("%s: %v", name, after)
		}
	}
	if windowsCode(nil) != nil {
		t.Error("nil became an error")
	}
}

// What a provider may leave NULL is none, and what it must not is an error.
func TestMapping_Row(t *testing.T) {
	full := wmi.Row{"LocalPath": nil, "RemotePath": `\\Files\Data`, "Status": int32(2), "RequirePrivacy": true, "RequireIntegrity": nil}
	m, err := mapping(full, "")
	if err != nil || m.Share != parsed(t, `\\files\data`) || m.Status != Disconnected || !m.Privacy || m.Integrity ||
		m.path != `MSFT_SmbGlobalMapping.LocalPath="",RemotePath="\\\\Files\\Data"` {
		t.Errorf("got %+v, %v", m, err)
	}
	odd := wmi.Row{"LocalPath": "G:", "RemotePath": `\\dfs\root\dir\..`, "Status": int32(0)}
	if m, err := mapping(odd, "path"); err != nil || m.Share != (winpath.Share{}) || m.path != "path" || m.LocalPath != "G:" {
		t.Errorf("got %+v, %v", m, err)
	}
	for name, row := range map[string]wmi.Row{
		"no remote path": {"Status": int32(0)},
		"no status":      {"RemotePath": `\\a\b`},
		"with a NUL":     {"RemotePath": "\\\\a\\b\x00", "Status": int32(0)},
		"status as text": {"RemotePath": `\\a\b`, "Status": "0"},
	} {
		if m, err := mapping(row, ""); err == nil || m != (Mapping{}) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

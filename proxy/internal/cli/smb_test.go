// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// The password comes from a file or standard input, whatever it looks like, and
// is nowhere to be seen.
func TestSMBMap_Password(t *testing.T) {
	const password = "ca$n\"a'r;y&|\\`:\u00e4 "
	file := filepath.Join(t.TempDir(), "password")
	for name, written := range map[string]string{"plain": password, "line": password + "\n", "Windows line": password + "\r\n"} {
		for _, from := range []string{file, "-"} {
			t.Run(name+" from "+filepath.Base(from), func(t *testing.T) {
				s := newSite(t)
				if err := s.node.SetSMBPassword("files", "bob", password); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(written), 0o600); err != nil {
					t.Fatal(err)
				}
				s.person = &written
				r := s.run("smb", "map", `\\files\data\pv1`, "--user", "bob", "--password-file", from, "--link", `C:\link`)
				if r.code != 0 || strings.Contains(r.out+r.err, "ca$n") {
					t.Errorf("got\n%s", r.transcript(nil))
				}
				if got, want := s.node.ShownToSMBServer("files"), []simhost.SMBCredential{{User: "bob", Password: password}}; !slices.Equal(got, want) {
					t.Errorf("shown %q", got)
				}
			})
		}
	}
}

func TestSMBMap_PasswordCannotBeRead(t *testing.T) {
	s := newSite(t)
	if r := s.run("smb", "map", `\\files\data`, "--user", "bob", "--password-file", filepath.Join(t.TempDir(), "none")); r.code != 3 {
		t.Errorf("missing file: %+v", r)
	}
	long := strings.Repeat("x", maxPassword+1)
	s.person = &long
	if r := s.run("smb", "map", `\\files\data`, "--user", "bob", "--password-file", "-"); r.code != 2 {
		t.Errorf("too long: %+v", r)
	}
	if r := s.run("smb", "map", `\\files\data`, "--user", "bob", "--password", "secret"); r.code != 2 || strings.Contains(r.err, `"secret"`) {
		t.Errorf("as a flag: %+v", r)
	}
}

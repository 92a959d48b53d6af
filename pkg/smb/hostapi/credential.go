// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"fmt"
	"io"
	"strings"
)

// Credential is as whom a share is used. The zero Credential is the host's own
// account as this process has it: a machine account, a managed service account
// or the user who runs the process.
type Credential struct {
	// Anonymous is the null session, with neither user nor password.
	Anonymous bool
	// User is user, DOMAIN\user or user@domain.
	User     string
	Password string
}

// Own reports whether c is the host's own account.
func (c Credential) Own() bool { return c == Credential{} }

// Format says which kind of credential it is and nothing of it, whatever the
// verb.
func (c Credential) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.kind()) }

// MarshalText is what Format writes.
func (c Credential) MarshalText() ([]byte, error) { return []byte(c.kind()), nil }

func (c Credential) kind() string {
	switch {
	case c.Anonymous:
		return "anonymous"
	case c.Own():
		return "own account"
	}
	return "user and password"
}

// text is the Credential parameter: user:password, with a backslash before each
// backslash and colon of the user, and the password as it is (windows-api.md
// 9.3). That a lone colon is the null session is an assumption [K].
func (c Credential) text() string {
	return strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(c.User) + ":" + c.Password
}

// names are the user and the domain as a logon wants them: DOMAIN\user apart,
// user@domain whole.
func (c Credential) names() (user, domain string) {
	if domain, user, ok := strings.Cut(c.User, `\`); ok && domain != "" && user != "" {
		return user, domain
	}
	return c.User, ""
}

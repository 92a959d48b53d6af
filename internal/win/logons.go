// SPDX-License-Identifier: Apache-2.0

package win

// Logons are logon sessions for the sake of other machines.
type Logons interface {
	// Logon starts a session that stays this process's own on this machine and
	// is a user to every other (LogonUserW with
	// LOGON32_LOGON_NEW_CREDENTIALS, windows-api.md 9). Nobody verifies the
	// password before it is used. An empty domain is none.
	Logon(user, domain, password string) (Logon, error)
}

// Logon is a logon session. It is safe for concurrent use.
type Logon interface {
	// Open opens what is at an extended path once, as the session's user, to
	// read its attributes, and closes it (ImpersonateLoggedOnUser,
	// CreateFileW, RevertToSelf). It does so on a thread that serves nothing
	// else afterwards, and ends the process if that thread cannot become
	// itself again.
	Open(path string) error
	Close() error
}

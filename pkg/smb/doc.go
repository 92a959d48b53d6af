// SPDX-License-Identifier: Apache-2.0

// Package smb is the smb group: shares of file servers, mapped for a whole
// Windows node and linked to for pods.
//
// # Mappings
//
// A global mapping belongs to a share, \\host\share, and has one credential;
// every process and container of the node uses the share with it
// (windows-api.md 9.1). So the group looks at the credential of each request:
// one that made the mapping, or was verified for it, uses it; any other is first
// tried in a logon session of its own. The server accepts it: the mapping is
// used, and the credential remembered. The server refuses it:
// [errdefs.ErrPermissionDenied], and the mapping stays. Nobody can tell: the
// same user goes on, another is [errdefs.ErrCredentialConflict]. What is
// remembered are salted hashes, in this process alone; after a restart each
// credential is verified once more.
//
// A mapping is used only after its share has answered. One that does not work is
// made anew; one whose server does not answer at all stays, and the request is
// [errdefs.ErrUnavailable].
//
// Windows knows one user and password for each name of a server (1219). Stale
// mappings that stand in the way are removed; for those that work the error
// says so, and another DNS name of the server is the way out.
//
// # Links
//
// A link to a share is a directory link to \\host\share\dir\, with the backslash
// at its end that containers need (behaviour.md SMB-12, field-reports.md M19).
// Paths below it may become longer than 260 characters, which programs bear
// only with LongPathsEnabled (M24). DFS links are not followed: map their
// targets (M13).
//
// # Errors, repetition, concurrency, time
//
// Every request may be repeated, also by many at once: same requests join, those
// of one share take turns, those of different shares do not wait for each other.
// A response is never nil. Everything blocks until Windows answers or its
// context ends, after 2 minutes at the latest; a file server is waited for for
// 15 seconds. A change that has begun goes on when its caller has left, and the
// next request joins it. Users and passwords are in no error, log or text of a
// request.
//
// # Rights
//
// An administrator, and SeCreateSymbolicLinkPrivilege for links.
package smb

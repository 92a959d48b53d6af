// SPDX-License-Identifier: Apache-2.0

// Package winpath parses Windows paths, once and on every OS.
//
// [Parse] is the one way in: what it returns is absolute, names no device and
// no stream, has no element that Windows would read in another way than it is
// written, and is never checked again. A [Path] is a value; its methods do no
// I/O, do not block and are safe for concurrent use.
//
// Strings are UTF-8 in which an unpaired surrogate, which NTFS allows, has the
// three bytes of its code point (WTF-8), as in the Go standard library. So
// different names of Windows stay different strings.
//
// Sources: docs/architecture.md, "Paths", field-reports.md F01, F10,
// CVE-2023-45283, CVE-2023-45284 and CVE-2026-3865.
package winpath

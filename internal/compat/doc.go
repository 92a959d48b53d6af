// SPDX-License-Identifier: Apache-2.0

// Package compat holds the proofs that a driver written for upstream's v2
// packages builds and runs with these: its tests use the groups as drivers do
// (consumers.md 1 and 2), compare them with upstream's declarations (v2-api.md),
// and judge errors as drivers judge them. It also proves what a driver gets with
// an import: nothing runs, and no child process ever will.
package compat

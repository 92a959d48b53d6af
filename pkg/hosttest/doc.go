// SPDX-License-Identifier: Apache-2.0

// Package hosttest is the conformance suite: what every kind of host must do
// that the six API groups run on, rule by rule of behaviour.md and report by
// report of field-reports.md.
//
// [Run] makes each [Case] on a host of its own. A [Harness] says what its hosts
// can do; a case that needs more is skipped and names what is missing. Where the
// cases have run, and what came of it, stands in docs/conformance.md.
//
// This package is experimental until v2.1.
package hosttest

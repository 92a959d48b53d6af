// SPDX-License-Identifier: Apache-2.0

// Package lab_test runs the library through the lab: the calls of
// internal/win/native under Wine, with a simulated node on the far side
// (internal/lab). run.sh starts it; elsewhere there is nothing to run.
package lab_test

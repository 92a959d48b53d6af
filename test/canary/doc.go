// SPDX-License-Identifier: Apache-2.0

// Package canary tests that no secret of any request of any group is ever told.
// It has only tests.
package canary

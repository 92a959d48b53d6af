// SPDX-License-Identifier: Apache-2.0

// Package faults tests, across the groups and on nodes with 64 of each object,
// that what hangs costs nobody else anything, and that callers of different
// objects do not wait for each other. What befalls a single call is the matter
// of internal/disturb.
package faults

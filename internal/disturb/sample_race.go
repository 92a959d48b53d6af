// SPDX-License-Identifier: Apache-2.0

//go:build race

package disturb

// sample is how many faults each boundary call gets by default: with the race
// detector each takes five times as long, and make faults takes all without.
const sample = 2

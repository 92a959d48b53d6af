// SPDX-License-Identifier: Apache-2.0

//go:build !race

package disturb

// sample is how many faults each boundary call gets by default.
const sample = 6

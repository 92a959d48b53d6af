// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package simhost

// osThread takes all threads for one.
func osThread() int { return 0 }

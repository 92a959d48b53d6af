// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !windows

package wmi

// threadID cannot tell threads apart here.
func threadID() int { return 1 }

// SPDX-License-Identifier: Apache-2.0

package simhost

import "golang.org/x/sys/unix"

// osThread is the id of the calling OS thread.
func osThread() int { return unix.Gettid() }

// SPDX-License-Identifier: Apache-2.0

package wmi

import "golang.org/x/sys/unix"

func threadID() int { return unix.Gettid() }

// SPDX-License-Identifier: Apache-2.0

package wmi

import "golang.org/x/sys/windows"

func threadID() int { return int(windows.GetCurrentThreadId()) }

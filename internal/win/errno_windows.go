// SPDX-License-Identifier: Apache-2.0

package win

import "syscall"

// Errno is a Win32 code. On Windows it is the standard library's type, which
// drivers compare with and mount-utils asserts.
type Errno = syscall.Errno

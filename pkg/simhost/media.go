// SPDX-License-Identifier: Apache-2.0

package simhost

// media are the bytes of a medium.
type media struct{}

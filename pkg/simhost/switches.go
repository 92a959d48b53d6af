// SPDX-License-Identifier: Apache-2.0

package simhost

// Switches put facts about Windows that nobody has verified into their other
// position. The zero value is the position that is expected.
type Switches struct{}

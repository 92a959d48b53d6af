// SPDX-License-Identifier: Apache-2.0

package simhost

// The owners of the file tree and of WMI replace these and remove this file.

type tree struct{}

func newTree() *tree { return &tree{} }

type wmiCache struct{}

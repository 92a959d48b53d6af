// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"slices"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Opening is a device or file that has been open: the rights that were asked
// for, and those that were needed for what was done with it.
type Opening struct {
	Path          string
	Asked, Needed win.Access
}

// Surplus is what was asked for and not needed. A device's generic rights are
// read and write; to look at a file is no surplus, for every open of one does.
func (o Opening) Surplus() win.Access {
	return o.Asked &^ o.Needed &^ (win.Synchronize | win.FileReadAttributes)
}

// ledger notes openings that have ended.
type ledger struct {
	mu    sync.Mutex
	ended []Opening
}

func (l *ledger) end(o Opening) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = append(l.ended, o)
}

func (l *ledger) list() []Opening {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.ended)
}

// neededFor is what a control code demands of a device's handle: the access bits
// in the code, but for two that have none (windows-api.md 0.2, 7.11 step 4).
func neededFor(code uint32) win.Access {
	switch code {
	case abi.FSCTL_EXTEND_VOLUME:
		return win.GenericRead | win.GenericWrite
	case abi.FSCTL_IS_VOLUME_DIRTY: // the file system sees no lesser handle
		return win.GenericRead
	}
	var needed win.Access
	if abi.RequiredAccess(code)&1 != 0 {
		needed |= win.GenericRead
	}
	if abi.RequiredAccess(code)&2 != 0 {
		needed |= win.GenericWrite
	}
	return needed
}

// neededToSet is what a change of an information class demands of a file's
// handle.
func neededToSet(class uint32) win.Access {
	if class == abi.FileBasicInfoClass {
		return win.FileWriteAttributes
	}
	return win.Delete
}

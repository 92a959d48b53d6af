// SPDX-License-Identifier: Apache-2.0

package native

import (
	"sync"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// handle owns a kernel or service handle. Close never waits: a call that is still running
// keeps the kernel handle, so that its number cannot come to mean another
// object, and the last such call closes it.
type handle struct {
	mu     sync.Mutex
	value  windows.Handle
	free   func(windows.Handle) error // nil: CloseHandle
	users  int
	closed bool
}

// use runs a call on the handle.
func (h *handle) use(call func(windows.Handle) error) error {
	if err := h.enter(); err != nil {
		return err
	}
	err := call(h.value)
	if closing := h.leave(); err == nil {
		err = closing
	}
	return err
}

func (h *handle) enter() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return win.ERROR_INVALID_HANDLE
	}
	h.users++
	return nil
}

func (h *handle) leave() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users--
	if h.closed && h.users == 0 {
		return h.giveBack()
	}
	return nil
}

func (h *handle) giveBack() error {
	if h.free != nil {
		return h.free(h.value)
	}
	return windows.CloseHandle(h.value)
}

// Close gives the handle back. Closing again does nothing.
func (h *handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	if h.users > 0 {
		return nil
	}
	return h.giveBack()
}

// Control sends a control code (DeviceIoControl). A synchronous handle: it
// blocks until the driver answers.
func (h *handle) Control(code uint32, in, out []byte) (int, error) {
	var n uint32
	err := h.use(func(value windows.Handle) error {
		return windows.DeviceIoControl(value, code, first(in), uint32(len(in)), first(out), uint32(len(out)), &n, nil)
	})
	return int(n), err
}

// first is a pointer to a buffer for a call that takes NULL for an empty one.
func first(buf []byte) *byte {
	if len(buf) == 0 {
		return nil
	}
	return &buf[0]
}

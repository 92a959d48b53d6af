// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"
)

func countThreads() (count int, err error) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, windows.CloseHandle(snapshot)) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID == windows.GetCurrentProcessId() {
			count++
		}
	}
	if errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		err = nil
	}
	return count, err
}

// countHandles tries them one by one: Wine does not count.
func countHandles() (int, error) {
	const most = 1 << 14 // handles are small multiples of 4
	count := 0
	for handle := windows.Handle(4); handle < most; handle += 4 {
		var flags uint32
		if getHandleInformation(handle, &flags) {
			count++
		}
	}
	return count, nil
}

func getHandleInformation(handle windows.Handle, flags *uint32) bool {
	ok, _, _ := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetHandleInformation").Call(uintptr(handle), uintptr(unsafe.Pointer(flags)))
	return ok != 0
}

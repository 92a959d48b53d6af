// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/lab"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
)

// hookedFunctions are what labhook.dll replaces, in its order.
var hookedFunctions = []struct{ module, name string }{
	{"ntdll.dll", "NtCreateFile"},
	{"ntdll.dll", "NtClose"},
	{"ntdll.dll", "NtQueryInformationFile"},
	{"ntdll.dll", "NtSetInformationFile"},
	{"ntdll.dll", "NtQueryDirectoryFile"},
	{"ntdll.dll", "NtFsControlFile"},
	{"kernel32.dll", "GetVolumeNameForVolumeMountPointW"},
	{"kernel32.dll", "SetVolumeMountPointW"},
	{"kernel32.dll", "DeleteVolumeMountPointW"},
	{"kernel32.dll", "GetVolumePathNamesForVolumeNameW"},
	{"kernel32.dll", "GetVolumeInformationW"},
	{"kernel32.dll", "GetDiskFreeSpaceExW"},
	{"kernel32.dll", "CreateSymbolicLinkW"},
	{"kernel32.dll", "GetFinalPathNameByHandleW"},
}

// code is how a function begins in this process's memory.
func code(t *testing.T, module, name string) []byte {
	t.Helper()
	proc := windows.NewLazySystemDLL(module).NewProc(name)
	if err := proc.Find(); err != nil {
		t.Fatal(err)
	}
	at := proc.Addr()
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), 16)
}

// codes are how all of them begin.
func codes(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, f := range hookedFunctions {
		all[f.name] = string(code(t, f.module, f.name))
	}
	return all
}

// otherwise lets a function begin with another byte until it is restored. Nobody
// may call the function meanwhile.
func otherwise(t *testing.T, module, name string) (restore func()) {
	t.Helper()
	first := code(t, module, name)[:1]
	write := func(b byte) {
		var before uint32
		at := uintptr(unsafe.Pointer(&first[0]))
		if err := windows.VirtualProtect(at, 1, windows.PAGE_EXECUTE_READWRITE, &before); err != nil {
			t.Fatal(err)
		}
		first[0] = b
		if err := windows.VirtualProtect(at, 1, before, &before); err != nil {
			t.Fatal(err)
		}
	}
	was := first[0]
	write(was ^ 0xFF)
	return func() { write(was) }
}

// Another Wine is refused, whichever function begins otherwise there, and nothing
// is patched. Wine's own files stay Wine's, and the hook can be put in later.
func TestHook_OtherWine(t *testing.T) {
	l := start(t, named(t, "aws-nitro"))
	for _, f := range hookedFunctions {
		switch f.name {
		case "NtCreateFile", "NtClose", "NtQueryInformationFile", "NtSetInformationFile", "NtFsControlFile":
			continue // other threads may be in it
		}
		t.Run(f.name, func(t *testing.T) {
			restore := otherwise(t, f.module, f.name)
			before := codes(t)
			err := l.Hook()
			after := codes(t)
			restore()
			if !errors.Is(err, lab.ErrOtherWine) || !strings.Contains(err.Error(), f.name) {
				t.Errorf("error %v, want %v that names the function", err, lab.ErrOtherWine)
			}
			if !maps.Equal(before, after) {
				t.Errorf("the functions begin with %q, before with %q", after, before)
			}
		})
	}
	own, err := native.Host().Mounts.Information(`C:\`)
	if err != nil || own.FileSystem == "" {
		t.Errorf("Wine's own drive: %+v, %v", own, err)
	}
	if err := l.Hook(); err != nil {
		t.Fatal(err)
	}
	if err := l.Hook(); !errors.Is(err, lab.ErrOtherWine) {
		t.Errorf("a second time: error %v, want %v", err, lab.ErrOtherWine)
	}
	root, err := near(l).Files.Open(nil, `\\?\C:\`, win.OpenFile{Access: win.FileReadAttributes, Disposition: win.OpenExisting})
	if err != nil || l.Files() != 1 {
		t.Fatalf("%d files of the node are open, %v", l.Files(), err)
	}
	if err := root.Close(); err != nil {
		t.Error(err)
	}
}

// When the lab ends, all functions begin as they did.
func TestHook_IsTakenOut(t *testing.T) {
	var before map[string]string
	t.Run("lab", func(t *testing.T) {
		l := start(t, named(t, "aws-nitro"))
		before = codes(t)
		if err := l.Hook(); err != nil {
			t.Fatal(err)
		}
		for name, code := range codes(t) {
			if code == before[name] {
				t.Errorf("%s is not patched", name)
			}
		}
	})
	if after := codes(t); !maps.Equal(before, after) {
		t.Errorf("the functions begin with %q, before with %q", after, before)
	}
}

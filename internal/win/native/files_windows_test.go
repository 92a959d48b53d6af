// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/test/wine"
)

var (
	directory = win.OpenFile{Access: win.FileReadData | win.FileReadAttributes, Disposition: win.OpenExisting, Options: win.FileDirectoryFile}
	newFolder = win.OpenFile{Access: win.FileReadAttributes | win.Delete, Disposition: win.CreateNew, Options: win.FileDirectoryFile}
	newFile   = win.OpenFile{Access: win.FileWriteData | win.Delete, Disposition: win.CreateNew, Options: win.FileNonDirectoryFile}
	anything  = win.OpenFile{Access: win.FileReadAttributes, Disposition: win.OpenExisting}
)

// folder is an empty directory in extended form.
func folder(t *testing.T) string {
	t.Helper()
	return `\\?\` + t.TempDir()
}

func mustOpen(t *testing.T, parent win.File, name string, how win.OpenFile) win.File {
	t.Helper()
	f, err := files{}.Open(parent, name, how)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
	})
	return f
}

func TestFiles_Open(t *testing.T) {
	top := folder(t)
	parent := mustOpen(t, nil, top, directory)
	mustOpen(t, parent, "dir", newFolder)
	mustOpen(t, parent, "file", newFile)

	for _, tt := range []struct {
		name   string
		parent win.File
		path   string
		how    win.OpenFile
		want   error
	}{
		{"directory below its parent", parent, "dir", directory, nil},
		{"file below its parent", parent, "file", anything, nil},
		{"case does not matter", parent, "DIR", directory, nil},
		{"whole path", nil, top + `\dir`, directory, nil},
		{"the parent itself", parent, "", directory, nil},
		{"create what exists", parent, "dir", newFolder, win.ERROR_ALREADY_EXISTS},
		{"missing", parent, "missing", anything, win.ERROR_FILE_NOT_FOUND},
		{"missing parent", nil, top + `\missing\x`, anything, win.ERROR_PATH_NOT_FOUND},
		{"file as directory", parent, "file", directory, win.ERROR_DIRECTORY},
		{"directory as file", parent, "dir", win.OpenFile{Access: win.FileReadAttributes, Disposition: win.OpenExisting, Options: win.FileNonDirectoryFile}, win.ERROR_ACCESS_DENIED},
		{"wildcard", parent, "a*", anything, win.ERROR_INVALID_NAME},
		{"NUL", parent, "a\x00b", anything, win.ERROR_INVALID_NAME},
		{"no extended path", nil, `C:\`, directory, win.ERROR_INVALID_NAME},
		{"longer than a UNICODE_STRING", parent, strings.Repeat("a", 0x8000), anything, win.ERROR_FILENAME_EXCED_RANGE},
		{"directory of another host", foreignFile{}, "dir", directory, win.ERROR_INVALID_HANDLE},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := files{}.Open(tt.parent, tt.path, tt.how)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err == nil && f.Close() != nil {
				t.Error("cannot be closed")
			}
		})
	}
}

func TestFiles_Pinned(t *testing.T) {
	top := folder(t)
	parent := mustOpen(t, nil, top, directory)
	made, err := files{}.Open(parent, "dir", newFolder)
	if err != nil {
		t.Fatal(err)
	}
	how := directory
	how.Pinned = true
	if _, err := (files{}).Open(parent, "dir", how); !errors.Is(err, win.ERROR_SHARING_VIOLATION) {
		t.Errorf("pinned while another may delete it: error %v, want 32", err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, parent, "dir", how)
	remover := win.OpenFile{Access: win.Delete, Disposition: win.OpenExisting}
	if _, err := (files{}).Open(parent, "dir", remover); !errors.Is(err, win.ERROR_SHARING_VIOLATION) {
		t.Errorf("opened to be deleted while it is pinned: error %v, want 32", err)
	}
	mustOpen(t, parent, "dir", directory)
}

type foreignFile struct{ win.File }

func TestFiles_LongPath(t *testing.T) {
	f, path := longPath(t)
	if info := attributes(t, f); info.Attributes&windows.FILE_ATTRIBUTE_DIRECTORY == 0 {
		t.Errorf("%s: attributes %#x have no directory bit", path, info.Attributes)
	}
}

func TestFile_FinalPath(t *testing.T) {
	path := folder(t)
	f := mustOpen(t, nil, strings.ToUpper(path), anything)
	if got, err := f.FinalPath(win.VolumeNameDOS); err != nil || !strings.EqualFold(got, path) {
		t.Errorf("got %q, %v; want %q", got, err, path)
	}
}

func TestFile_LongFinalPath(t *testing.T) {
	wine.Need(t, wine.LongFinalPaths)
	f, path := longPath(t)
	if got, err := f.FinalPath(win.VolumeNameDOS); err != nil || !strings.EqualFold(got, path) {
		t.Errorf("got %q, %v; want %q", got, err, path)
	}
}

// longPath opens a directory of more than 600 characters.
func longPath(t *testing.T) (win.File, string) {
	t.Helper()
	path := folder(t)
	for range 12 {
		path += `\` + strings.Repeat("d", 50)
		mustOpen(t, nil, path, newFolder)
	}
	return mustOpen(t, nil, path, anything), path
}

func attributes(t *testing.T, f win.File) abi.FileAttributeTagInfo {
	t.Helper()
	buf := make([]byte, 64) // more than the class has
	n, err := f.Information(abi.FileAttributeTagInfoClass, buf)
	if err != nil || n != abi.FileAttributeTagInfoSize {
		t.Fatalf("%d bytes, %v; want %d", n, err, abi.FileAttributeTagInfoSize)
	}
	info, err := abi.DecodeFileAttributeTagInfo(buf[:n])
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestFile_Information(t *testing.T) {
	f := mustOpen(t, nil, folder(t), anything)
	for _, tt := range []struct {
		name  string
		class uint32
		size  int
	}{
		{"basic", abi.FileBasicInfoClass, abi.FileBasicInfoSize},
		{"standard", abi.FileStandardInfoClass, abi.FileStandardInfoSize},
		{"attributes and tag", abi.FileAttributeTagInfoClass, abi.FileAttributeTagInfoSize},
		{"id", abi.FileIDInfoClass, abi.FileIDInfoSize},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if n, err := f.Information(tt.class, make([]byte, 64)); err != nil || n != tt.size {
				t.Errorf("%d bytes, %v; want %d", n, err, tt.size)
			}
			if n, err := f.Information(tt.class, make([]byte, tt.size-4)); n != 0 || !errors.Is(err, win.ERROR_BAD_LENGTH) {
				t.Errorf("short buffer: %d bytes, error %v; want 24", n, err)
			}
		})
	}
}

func TestFile_Delete(t *testing.T) {
	top := folder(t)
	parent := mustOpen(t, nil, top, directory)
	full := mustOpen(t, parent, "full", newFolder)
	mustOpen(t, nil, top+`\full\file`, newFile)

	remove := []byte{1}
	if err := full.SetInformation(abi.FileDispositionInfoClass, remove); !errors.Is(err, win.ERROR_DIR_NOT_EMPTY) {
		t.Errorf("full directory: error %v, want 145", err)
	}
	empty, err := files{}.Open(parent, "empty", newFolder)
	if err != nil {
		t.Fatal(err)
	}
	if err := empty.SetInformation(abi.FileDispositionInfoClass, remove); err != nil {
		t.Errorf("empty directory: %v", err)
	}
	if err := empty.Close(); err != nil {
		t.Error(err)
	}
	if _, err := (files{}).Open(parent, "empty", anything); !errors.Is(err, win.ERROR_FILE_NOT_FOUND) {
		t.Errorf("after removal: error %v, want 2", err)
	}
}

func TestFile_List(t *testing.T) {
	parent := mustOpen(t, nil, folder(t), directory)
	want := []string{".", ".."}
	for i := range 100 {
		name := fmt.Sprintf("entry %d 𝄞", i)
		want = append(want, name)
		mustOpen(t, parent, name, newFile)
	}
	slices.Sort(want)
	for range 2 { // the second time from the start again
		if got := names(t, parent); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// names lists a directory in many small steps.
func names(t *testing.T, f win.File) []string {
	t.Helper()
	var list []string
	buf := make([]byte, 1024)
	for restart := true; ; restart = false {
		n, err := f.List(buf, restart)
		if errors.Is(err, win.ERROR_NO_MORE_FILES) {
			slices.Sort(list)
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		entries, err := abi.DecodeDirEntries(buf[:n])
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			list = append(list, entry.Name)
		}
	}
}

func TestFile_PlainDirectoryIsNoReparsePoint(t *testing.T) {
	f := mustOpen(t, nil, folder(t), anything)
	if _, err := f.Control(abi.FSCTL_GET_REPARSE_POINT, nil, make([]byte, 16384)); !errors.Is(err, win.ERROR_NOT_A_REPARSE_POINT) {
		t.Errorf("error %v, want 4390", err)
	}
}

func TestFiles_SymbolicLinkIsNotFollowed(t *testing.T) {
	wine.Need(t, wine.ReparsePoints)
	top := folder(t)
	mustOpen(t, nil, top+`\target`, newFolder)
	if err := (files{}).SymbolicLink(top+`\link`, `target`, win.SymbolicLinkFlagDirectory); err != nil {
		t.Fatal(err)
	}
	link := mustOpen(t, nil, top+`\link`, anything)
	if info := attributes(t, link); info.ReparseTag != abi.IO_REPARSE_TAG_SYMLINK {
		t.Errorf("reparse tag %#x, want that of a symbolic link", info.ReparseTag)
	}
}

func TestFiles_SymbolicLinkNUL(t *testing.T) {
	if err := (files{}).SymbolicLink("a\x00", "b", 0); !errors.Is(err, win.ERROR_INVALID_NAME) {
		t.Errorf("link: error %v, want 123", err)
	}
	if err := (files{}).SymbolicLink("a", "b\x00", 0); !errors.Is(err, win.ERROR_INVALID_NAME) {
		t.Errorf("target: error %v, want 123", err)
	}
}

func TestHandle_Close(t *testing.T) {
	f := mustOpen(t, nil, folder(t), anything).(*file)
	err := f.use(func(windows.Handle) error {
		if err := f.Close(); err != nil {
			t.Errorf("close during a call: %v", err)
		}
		var info windows.ByHandleFileInformation
		return windows.GetFileInformationByHandle(f.value, &info) // the handle must still be ours
	})
	if err != nil {
		t.Errorf("call during which it was closed: %v", err)
	}
	if _, err := f.FinalPath(win.VolumeNameDOS); !errors.Is(err, win.ERROR_INVALID_HANDLE) {
		t.Errorf("call after that: error %v, want 6", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// Neither success nor failure leaves a kernel handle.
func TestHandles_NoneIsLeft(t *testing.T) {
	top := folder(t)
	if err := os.WriteFile(top+`\file`, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	once := func() {
		parent, err := files{}.Open(nil, top, directory)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"file", "missing"} {
			if f, err := (files{}).Open(parent, name, anything); err == nil {
				_, _ = f.FinalPath(win.VolumeNameDOS)
				_ = f.Close()
				_ = f.Close()
			}
		}
		_ = parent.Close()
		for _, path := range []string{`\\.\C:`, `\\.\PhysicalDrive99`} {
			if d, err := (devices{}).Open(path, win.NoAccess); err == nil {
				_ = d.Close()
			}
		}
		_, _ = mounts{}.Volumes()
		_, _ = Host().Devices.Interfaces(abi.GUID_DEVINTERFACE_DISK)
		_, _ = system{}.RegistryValue(`SOFTWARE\Microsoft\Windows NT\CurrentVersion`, "missing")
	}
	once()
	before := handleCount(t)
	const rounds = 200
	for range rounds {
		once()
	}
	if after := handleCount(t); after > before+rounds/2 {
		t.Errorf("%d handles before, %d after", before, after)
	}
}

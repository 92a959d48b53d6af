// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

const posixDelete = abi.FILE_DISPOSITION_FLAG_DELETE | abi.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS

// remove deletes a path by disposition.
func (b *bed) remove(path string, flags uint32) error {
	b.Helper()
	f, err := b.files.Open(nil, path, win.OpenFile{Access: win.Delete, Disposition: win.OpenExisting})
	if err != nil {
		return err
	}
	defer b.mustClose(f)
	return f.SetInformation(abi.FileDispositionInfoExClass, abi.EncodeFileDispositionInfoEx(flags))
}

// names lists a directory with a buffer of some size.
func (b *bed) names(path string, size int) ([]string, error) {
	b.Helper()
	f := b.mustOpen(path)
	defer b.mustClose(f)
	var names []string
	buf := make([]byte, size)
	for {
		n, err := f.List(buf, false)
		if errors.Is(err, win.ERROR_NO_MORE_FILES) {
			return names, nil
		}
		if err != nil {
			return names, err
		}
		entries, err := abi.DecodeDirEntries(buf[:n])
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name)
		}
	}
}

// The codes are those of NtCreateFile's status as Win32 numbers them.
func TestOpen_Codes(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	b.mkfile(`\\?\C:\file`)
	b.link(`\\?\C:\link`, `dir`)
	const (
		open, create = win.OpenExisting, win.CreateNew
		dir, file    = win.FileDirectoryFile, win.FileNonDirectoryFile
	)
	tests := []struct {
		name, path string
		d          win.Disposition
		options    uint32
		want       win.Errno
	}{
		{"directory", `\\?\C:\dir`, open, dir, 0},
		{"directory as file", `\\?\C:\dir`, open, file, win.ERROR_ACCESS_DENIED},
		{"file", `\\?\C:\file`, open, file, 0},
		{"file as directory", `\\?\C:\file`, open, dir, win.ERROR_DIRECTORY},
		{"link as directory", `\\?\C:\link`, open, dir, 0},
		{"exists", `\\?\C:\dir`, create, dir, win.ERROR_ALREADY_EXISTS},
		{"exists in another case", `\\?\C:\DIR`, create, dir, win.ERROR_ALREADY_EXISTS},
		{"exists as file", `\\?\C:\file`, create, dir, win.ERROR_ALREADY_EXISTS},
		{"exists as link", `\\?\C:\link`, create, dir, win.ERROR_ALREADY_EXISTS},
		{"root", `\\?\C:\`, create, dir, win.ERROR_ACCESS_DENIED},
		{"parent missing", `\\?\C:\none\x`, create, dir, win.ERROR_PATH_NOT_FOUND},
		{"parent is a file", `\\?\C:\file\x`, create, dir, win.ERROR_PATH_NOT_FOUND},
		{"new file with backslash", `\\?\C:\new\`, create, file, win.ERROR_INVALID_NAME},
		{"new directory with backslash", `\\?\C:\new\`, create, dir, 0},
		{"new behind a link", `\\?\C:\link\new`, create, dir, 0},
		{"unknown disposition", `\\?\C:\dir`, 3, 0, win.ERROR_INVALID_PARAMETER},
		{"both kinds", `\\?\C:\dir`, open, dir | file, win.ERROR_INVALID_PARAMETER},
		{"unknown option", `\\?\C:\dir`, open, 0x1000, win.ERROR_INVALID_PARAMETER},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := b.open(nil, tt.path, tt.d, tt.options)
			wantCode(t, err, tt.want)
			if err == nil {
				b.mustClose(f)
			}
		})
	}
}

func TestOpen_Relative(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`, `\\?\C:\dir\sub`)
	b.mkfile(`\\?\C:\dir\file`)
	b.link(`\\?\C:\dir\link`, `sub`)
	b.mount(`\\?\C:\dir\mnt\`, b.data)
	b.mkdir(b.data.name() + "inside")
	tests := []struct {
		name, dir, element string
		want               win.Errno
	}{
		{"directory", `\\?\C:\dir`, `SUB`, 0},
		{"link itself", `\\?\C:\dir`, `link`, 0},
		{"missing", `\\?\C:\dir`, `none`, win.ERROR_FILE_NOT_FOUND},
		{"two elements", `\\?\C:\dir`, `sub\x`, win.ERROR_INVALID_NAME},
		{"nothing", `\\?\C:\dir`, ``, win.ERROR_INVALID_NAME},
		{"dot dot", `\\?\C:\dir`, `..`, win.ERROR_INVALID_NAME},
		{"absolute", `\\?\C:\dir`, `\\?\C:\dir`, win.ERROR_INVALID_NAME},
		{"below a file", `\\?\C:\dir\file`, `x`, win.ERROR_PATH_NOT_FOUND},
		{"below a link", `\\?\C:\dir\link`, `x`, notBelowReparse},
		{"below a mount point", `\\?\C:\dir\mnt`, `inside`, notBelowReparse},
		{"below the mounted root", `\\?\C:\dir\mnt\inside`, `x`, win.ERROR_FILE_NOT_FOUND},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := b.mustOpen(tt.dir)
			defer b.mustClose(dir)
			f, err := b.open(dir, tt.element, win.OpenExisting, 0)
			wantCode(t, err, tt.want)
			if err == nil {
				b.mustClose(f)
			}
		})
	}
	t.Run("closed directory", func(t *testing.T) {
		dir := b.mustOpen(`\\?\C:\dir`)
		b.mustClose(dir)
		_, err := b.open(dir, "sub", win.OpenExisting, 0)
		wantCode(t, err, win.ERROR_INVALID_HANDLE)
		wantCode(t, dir.Close(), win.ERROR_INVALID_HANDLE)
	})
	t.Run("another node's directory", func(t *testing.T) {
		dir := newBed(t).mustOpen(`\\?\C:\`)
		defer b.mustClose(dir)
		_, err := b.open(dir, "dir", win.OpenExisting, 0)
		wantCode(t, err, win.ERROR_INVALID_HANDLE)
	})
}

// Each call wants the right that Windows wants, and no other.
func TestFile_Access(t *testing.T) {
	const all = win.FileReadData | win.FileReadAttributes | win.FileWriteAttributes | win.FileWriteData | win.Delete
	read := func(class uint32) func(win.File) error {
		return func(f win.File) error {
			_, err := f.Information(class, make([]byte, 64))
			return err
		}
	}
	list := func(f win.File) error {
		_, err := f.List(make([]byte, 1024), true)
		return err
	}
	keep := func(f win.File) error {
		return f.SetInformation(abi.FileDispositionInfoClass, abi.EncodeFileDispositionInfo(false))
	}
	touch := func(f win.File) error {
		return f.SetInformation(abi.FileBasicInfoClass, abi.FileBasicInfo{}.Encode())
	}
	reparse := func(f win.File) error {
		_, err := f.Control(abi.FSCTL_SET_REPARSE_POINT, junction(t, `\??\C:\`), nil)
		return err
	}
	tests := []struct {
		name string
		do   func(win.File) error
		need win.Access // 0: none
	}{
		{"basic", read(abi.FileBasicInfoClass), win.FileReadAttributes},
		{"tag", read(abi.FileAttributeTagInfoClass), win.FileReadAttributes},
		{"standard", read(abi.FileStandardInfoClass), 0},
		{"id", read(abi.FileIDInfoClass), 0},
		{"list", list, win.FileReadData},
		{"disposition", keep, win.Delete},
		{"set basic", touch, win.FileWriteAttributes},
	}
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	with := func(t *testing.T, access win.Access, do func(win.File) error, want win.Errno) {
		t.Helper()
		f, err := b.files.Open(nil, `\\?\C:\dir`, win.OpenFile{Access: access, Disposition: win.OpenExisting})
		if err != nil {
			t.Fatal(err)
		}
		defer b.mustClose(f)
		wantCode(t, do(f), want)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			with(t, tt.need, tt.do, 0)
			if tt.need != 0 {
				with(t, all&^tt.need, tt.do, win.ERROR_ACCESS_DENIED)
			}
		})
	}
	t.Run("set reparse point", func(t *testing.T) {
		with(t, win.FileReadData|win.FileReadAttributes|win.Delete, reparse, win.ERROR_ACCESS_DENIED)
		with(t, win.FileWriteAttributes, reparse, 0)
		with(t, win.GenericWrite, reparse, 0)
	})
}

func TestFile_Information(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	wantCode(t, b.AddFile(`C:\dir\file`, 5000), 0)
	b.mount(`\\?\C:\mnt\`, b.data)

	info := func(path string, class uint32, size int) []byte {
		t.Helper()
		f := b.mustOpen(path)
		defer b.mustClose(f)
		buf := make([]byte, size)
		n, err := f.Information(class, buf)
		if err != nil || n != size {
			t.Fatalf("class %d of %s: %d bytes, %v", class, path, n, err)
		}
		return buf
	}
	standard, err := abi.DecodeFileStandardInfo(info(`\\?\C:\dir\file`, abi.FileStandardInfoClass, abi.FileStandardInfoSize))
	if err != nil {
		t.Fatal(err)
	}
	want := abi.FileStandardInfo{AllocationSize: 8192, EndOfFile: 5000, Links: 1}
	if diff := cmp.Diff(want, standard); diff != "" {
		t.Errorf("standard (-want +got):\n%s", diff)
	}
	tag, err := abi.DecodeFileAttributeTagInfo(info(`\\?\C:\mnt`, abi.FileAttributeTagInfoClass, abi.FileAttributeTagInfoSize))
	if err != nil {
		t.Fatal(err)
	}
	wantTag := abi.FileAttributeTagInfo{Attributes: 0x410, ReparseTag: abi.IO_REPARSE_TAG_MOUNT_POINT}
	if diff := cmp.Diff(wantTag, tag); diff != "" {
		t.Errorf("tag (-want +got):\n%s", diff)
	}
	id, err := abi.DecodeFileIDInfo(info(`\\?\C:\dir`, abi.FileIDInfoClass, abi.FileIDInfoSize))
	if err != nil {
		t.Fatal(err)
	}
	if low := binary.LittleEndian.Uint64(id.FileID[:]); low != b.c.tree.root.child("dir").id || uint32(id.VolumeSerialNumber) != b.c.fsSerial {
		t.Errorf("id %+v", id)
	}
	roots := [2][]byte{info(`\\?\C:\`, abi.FileIDInfoClass, abi.FileIDInfoSize), info(b.data.name(), abi.FileIDInfoClass, abi.FileIDInfoSize)}
	if string(roots[0]) == string(roots[1]) {
		t.Errorf("two volumes with one id %x", roots[0])
	}

	f := b.mustOpen(`\\?\C:\dir`)
	defer b.mustClose(f)
	_, err = f.Information(abi.FileBasicInfoClass, make([]byte, abi.FileBasicInfoSize-1))
	wantCode(t, err, win.ERROR_BAD_LENGTH)
	_, err = f.Information(2, make([]byte, 1024))
	wantCode(t, err, win.ERROR_INVALID_PARAMETER)
	wantCode(t, f.SetInformation(abi.FileBasicInfoClass, nil), win.ERROR_BAD_LENGTH)
	wantCode(t, f.SetInformation(abi.FileDispositionInfoClass, nil), win.ERROR_BAD_LENGTH)
	wantCode(t, f.SetInformation(abi.FileDispositionInfoExClass, nil), win.ERROR_BAD_LENGTH)
	wantCode(t, f.SetInformation(abi.FileDispositionInfoExClass, abi.EncodeFileDispositionInfoEx(0x80)), win.ERROR_INVALID_PARAMETER)
	wantCode(t, f.SetInformation(2, nil), win.ERROR_INVALID_PARAMETER)
	_, err = f.Control(abi.FSCTL_EXTEND_VOLUME, nil, nil)
	wantCode(t, err, win.ERROR_INVALID_FUNCTION)
}

func TestRemove_Codes(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\full`, `\\?\C:\full\x`, `\\?\C:\empty`)
	b.mkfile(`\\?\C:\readonly`)
	b.c.tree.root.child("readonly").attributes |= abi.FILE_ATTRIBUTE_READONLY
	b.link(`\\?\C:\link`, `full`)

	wantCode(t, b.remove(`\\?\C:\`, posixDelete), win.ERROR_ACCESS_DENIED)
	wantCode(t, b.remove(b.data.name(), posixDelete), win.ERROR_ACCESS_DENIED)
	wantCode(t, b.remove(`\\?\C:\full`, posixDelete), win.ERROR_DIR_NOT_EMPTY)
	wantCode(t, b.remove(`\\?\C:\readonly`, posixDelete), win.ERROR_ACCESS_DENIED)
	wantCode(t, b.remove(`\\?\C:\readonly`, posixDelete|abi.FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE), 0)
	wantCode(t, b.remove(`\\?\C:\link`, posixDelete), 0) // only the link
	wantCode(t, b.remove(`\\?\C:\empty`, posixDelete), 0)
	if got, err := b.names(`\\?\C:\`, 4096); err != nil || !cmp.Equal(got, []string{"full"}) {
		t.Errorf("left %q, %v", got, err)
	}
}

// The old disposition keeps the name until the last handle is closed, and
// meanwhile nothing opens it or is made there; with POSIX semantics the name
// goes with the handle that asked.
func TestRemove_WithOpenHandles(t *testing.T) {
	dispose := map[bool]func(win.File) error{
		false: func(f win.File) error {
			return f.SetInformation(abi.FileDispositionInfoClass, abi.EncodeFileDispositionInfo(true))
		},
		true: func(f win.File) error {
			return f.SetInformation(abi.FileDispositionInfoExClass, abi.EncodeFileDispositionInfoEx(posixDelete))
		},
	}
	for posix, dispose := range dispose {
		t.Run(fmt.Sprintf("posix=%v", posix), func(t *testing.T) {
			b := newBed(t)
			b.mkdir(`\\?\C:\dir`)
			other, mine := b.mustOpen(`\\?\C:\dir`), b.mustOpen(`\\?\C:\dir`)
			wantCode(t, dispose(mine), 0)

			_, err := b.open(nil, `\\?\C:\dir`, win.OpenExisting, 0)
			wantCode(t, err, win.ERROR_ACCESS_DENIED)
			_, err = b.open(nil, `\\?\C:\dir`, win.CreateNew, win.FileDirectoryFile)
			wantCode(t, err, win.ERROR_ACCESS_DENIED)
			_, err = b.open(other, `x`, win.CreateNew, win.FileDirectoryFile)
			wantCode(t, err, win.ERROR_ACCESS_DENIED)

			b.mustClose(mine)
			_, err = b.final(`\\?\C:\dir`)
			if posix {
				wantCode(t, err, win.ERROR_FILE_NOT_FOUND)
				_, err = other.FinalPath(win.VolumeNameDOS)
				wantCode(t, err, win.ERROR_FILE_NOT_FOUND)
				_, err = b.open(other, `x`, win.CreateNew, win.FileDirectoryFile)
			}
			wantCode(t, err, win.ERROR_ACCESS_DENIED)

			b.mustClose(other)
			_, err = b.final(`\\?\C:\dir`)
			wantCode(t, err, win.ERROR_FILE_NOT_FOUND)
			b.mkdir(`\\?\C:\dir`)
		})
	}
}

func TestRemove_CanBeTakenBack(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	f := b.mustOpen(`\\?\C:\dir`)
	wantCode(t, f.SetInformation(abi.FileDispositionInfoClass, abi.EncodeFileDispositionInfo(true)), 0)
	wantCode(t, f.SetInformation(abi.FileDispositionInfoClass, abi.EncodeFileDispositionInfo(false)), 0)
	b.mustClose(f)
	_, err := b.final(`\\?\C:\dir`)
	wantCode(t, err, 0)
}

func TestHoldOpen(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	release, err := b.HoldOpen(`C:\dir`)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, b.remove(`\\?\C:\dir`, posixDelete), win.ERROR_SHARING_VIOLATION)
	_, err = b.final(`\\?\C:\dir`) // it shares all else
	wantCode(t, err, 0)
	release()
	release()
	wantCode(t, b.remove(`\\?\C:\dir`, posixDelete), 0)
	_, err = b.HoldOpen(`C:\dir`)
	wantCode(t, err, win.ERROR_FILE_NOT_FOUND)
}

// A pinned file is not shared for deletion, unless it is open for no more than
// its attributes; nor is one pinned that another may delete.
func TestOpen_Pinned(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	pin := func(access win.Access) (win.File, error) {
		return b.files.Open(nil, `\\?\C:\dir`, win.OpenFile{Access: access, Disposition: win.OpenExisting, Pinned: true})
	}
	looking, err := pin(win.FileReadAttributes)
	wantCode(t, err, 0)
	deleting := b.mustOpen(`\\?\C:\dir`)
	_, err = pin(win.FileReadData)
	wantCode(t, err, win.ERROR_SHARING_VIOLATION)
	b.mustClose(deleting)
	pinned, err := pin(win.FileReadData)
	wantCode(t, err, 0)
	wantCode(t, b.remove(`\\?\C:\dir`, posixDelete), win.ERROR_SHARING_VIOLATION)
	b.mustClose(pinned)
	wantCode(t, b.remove(`\\?\C:\dir`, posixDelete), 0)
	b.mustClose(looking)
}

func TestAddFile(t *testing.T) {
	b := newBed(t)
	b.mount(`\\?\C:\mnt\`, b.data)
	b.data.fsSize, b.data.used = 20<<10, 8<<10
	wantCode(t, b.AddFile(`C:\mnt\big`, 12<<10+1), win.ERROR_DISK_FULL)
	wantCode(t, b.AddFile(`C:\mnt\file`, -1), win.ERROR_INVALID_PARAMETER)
	wantCode(t, b.AddFile(`C:\none\file`, 1), win.ERROR_PATH_NOT_FOUND)
	wantCode(t, b.AddFile(`C:\mnt\file`, 4097), 0)
	wantCode(t, b.AddFile(`C:\mnt\file`, 4097), win.ERROR_ALREADY_EXISTS)
	if b.data.used != 16<<10 {
		t.Errorf("used %d", b.data.used)
	}
	wantCode(t, b.remove(b.data.name()+`file`, posixDelete), 0)
	if b.data.used != 8<<10 {
		t.Errorf("used %d after removal", b.data.used)
	}
}

func TestReparsePoint_Control(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\full`, `\\?\C:\full\x`, `\\?\C:\dir`)
	b.mkfile(`\\?\C:\file`)
	link := encode(t, abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_SYMLINK, Substitute: "x", Print: "x", Flags: abi.SymlinkFlagRelative})
	mount := junction(t, `\??\C:\full`)
	control := func(path string, code uint32, in, out []byte) (int, error) {
		t.Helper()
		f := b.mustOpen(path)
		defer b.mustClose(f)
		return f.Control(code, in, out)
	}
	set := func(path string, data []byte, want win.Errno) {
		t.Helper()
		_, err := control(path, abi.FSCTL_SET_REPARSE_POINT, data, nil)
		wantCode(t, err, want)
	}
	buf := make([]byte, abi.MaxReparsePointSize)

	_, err := control(`\\?\C:\dir`, abi.FSCTL_GET_REPARSE_POINT, nil, buf)
	wantCode(t, err, win.ERROR_NOT_A_REPARSE_POINT)
	_, err = control(`\\?\C:\dir`, abi.FSCTL_DELETE_REPARSE_POINT, link[:8], nil)
	wantCode(t, err, win.ERROR_NOT_A_REPARSE_POINT)
	set(`\\?\C:\dir`, mount[:10], win.ERROR_INVALID_REPARSE_DATA)
	set(`\\?\C:\full`, mount, win.ERROR_DIR_NOT_EMPTY)
	set(`\\?\C:\file`, mount, win.ERROR_DIRECTORY)
	set(`\\?\C:\file`, link, 0)
	set(`\\?\C:\`, mount, win.ERROR_ACCESS_DENIED)
	set(`\\?\C:\dir`, mount, 0)
	set(`\\?\C:\dir`, link, win.ERROR_REPARSE_TAG_MISMATCH)
	set(`\\?\C:\dir`, junction(t, `\??\C:\`), 0) // the same tag is replaced
	set(`\\?\C:\dir`, mount, 0)

	n, err := control(`\\?\C:\dir`, abi.FSCTL_GET_REPARSE_POINT, nil, buf)
	wantCode(t, err, 0)
	if string(buf[:n]) != string(mount) {
		t.Errorf("read %x, wrote %x", buf[:n], mount)
	}
	n, err = control(`\\?\C:\dir`, abi.FSCTL_GET_REPARSE_POINT, nil, buf[:10])
	wantCode(t, err, win.ERROR_MORE_DATA)
	if n != 10 {
		t.Errorf("%d bytes beside ERROR_MORE_DATA", n)
	}
	_, err = control(`\\?\C:\dir`, abi.FSCTL_GET_REPARSE_POINT, nil, buf[:7])
	wantCode(t, err, win.ERROR_INSUFFICIENT_BUFFER)

	_, err = control(`\\?\C:\dir`, abi.FSCTL_DELETE_REPARSE_POINT, nil, nil)
	wantCode(t, err, win.ERROR_INVALID_REPARSE_DATA)
	_, err = control(`\\?\C:\dir`, abi.FSCTL_DELETE_REPARSE_POINT, link[:8], nil)
	wantCode(t, err, win.ERROR_REPARSE_TAG_MISMATCH)
	_, err = control(`\\?\C:\dir`, abi.FSCTL_DELETE_REPARSE_POINT, mount[:8], nil)
	wantCode(t, err, 0)
	b.mkdir(`\\?\C:\dir\again`)
}

func TestReparsePoint_NotOnFAT(t *testing.T) {
	b := newBed(t)
	b.d.fs = "FAT32"
	b.mkdir(`\\?\D:\dir`)
	wantCode(t, b.files.SymbolicLink(`\\?\D:\link`, `dir`, 1), win.ERROR_INVALID_FUNCTION)
	wantCode(t, b.mounts.SetPoint(`D:\dir\`, b.data.name()), win.ERROR_INVALID_FUNCTION)
	wantCode(t, b.remove(`\\?\D:\dir`, posixDelete), win.ERROR_INVALID_PARAMETER)
	f := b.mustOpen(`\\?\D:\dir`)
	defer b.mustClose(f)
	_, err := f.Control(abi.FSCTL_SET_REPARSE_POINT, junction(t, `\??\C:\`), nil)
	wantCode(t, err, win.ERROR_INVALID_FUNCTION)
	_, err = f.Control(abi.FSCTL_GET_REPARSE_POINT, nil, nil)
	wantCode(t, err, win.ERROR_INVALID_FUNCTION)
}

func TestSymbolicLink(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	tests := []struct {
		name, link, target string
		flags              uint32
		want               win.Errno
	}{
		{"directory", `\\?\C:\l1`, `C:\dir`, win.SymbolicLinkFlagDirectory, 0},
		{"file", `\\?\C:\l2`, `C:\dir`, 0, 0},
		{"missing target", `\\?\C:\l3`, `C:\none`, win.SymbolicLinkFlagDirectory, 0},
		{"unprivileged", `\\?\C:\l4`, `dir`, 3, 0},
		{"to itself", `\\?\C:\l5`, `l5`, 0, 0},
		{"exists", `\\?\C:\dir`, `C:\x`, win.SymbolicLinkFlagDirectory, win.ERROR_ALREADY_EXISTS},
		{"exists as link", `\\?\C:\l3`, `C:\none`, win.SymbolicLinkFlagDirectory, win.ERROR_ALREADY_EXISTS},
		{"parent missing", `\\?\C:\none\l`, `C:\x`, 0, win.ERROR_PATH_NOT_FOUND},
		{"bad name", `\\?\C:\a*`, `C:\x`, 0, win.ERROR_INVALID_NAME},
		{"no target", `\\?\C:\l6`, ``, 0, win.ERROR_INVALID_PARAMETER},
		{"unknown flag", `\\?\C:\l6`, `x`, 4, win.ERROR_INVALID_PARAMETER},
		{"long target", `\\?\C:\l6`, strings.Repeat("x", 8200), 0, win.ERROR_FILENAME_EXCED_RANGE},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantCode(t, b.files.SymbolicLink(tt.link, tt.target, tt.flags), tt.want)
		})
	}
	if b.c.tree.root.child("l1").isDirectory() != true || b.c.tree.root.child("l2").isDirectory() || b.c.tree.root.child("l6") != nil {
		t.Errorf("links of the wrong kind, or one that failed was left")
	}
}

func TestList(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`, `\\?\C:\dir\b`, `\\?\C:\dir\_`, `\\?\C:\dir\A`, `\\?\C:\dir\c`+lone)
	b.link(`\\?\C:\dir\link`, `A`)
	want := []string{".", "..", "A", "b", "c" + lone, "link", "_"}
	for _, size := range []int{4096, 120, 250} { // all at once, one by one, two by two
		if got, err := b.names(`\\?\C:\dir`, size); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%d bytes: %q, %v, want %q", size, got, err, want)
		}
	}
	// A root has no dots, so an empty one has no first entry.
	_, err := b.names(`\\?\D:\`, 4096)
	wantCode(t, err, win.ERROR_FILE_NOT_FOUND)
	if got, err := b.names(`\\?\C:\`, 4096); err != nil || !cmp.Equal(got, []string{"dir"}) {
		t.Errorf("root: %q, %v", got, err)
	}
	_, err = b.names(`\\?\C:\dir`, 104)
	wantCode(t, err, win.ERROR_MORE_DATA)
	b.mkfile(`\\?\C:\file`)
	_, err = b.names(`\\?\C:\file`, 4096)
	wantCode(t, err, win.ERROR_INVALID_PARAMETER)
}

func TestList_Entries(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	wantCode(t, b.AddFile(`C:\dir\file`, 7), 0)
	b.mount(`\\?\C:\dir\mnt\`, b.data)
	dir := b.c.tree.root.child("dir")

	f := b.mustOpen(`\\?\C:\dir`)
	defer b.mustClose(f)
	buf := make([]byte, 4096)
	n, err := f.List(buf, true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := abi.DecodeDirEntries(buf[:n])
	if err != nil {
		t.Fatal(err)
	}
	want := []abi.DirEntry{
		{Name: ".", Attributes: 0x10, LastWriteTime: created, FileID: dir.id},
		{Name: "..", Attributes: 0x10, LastWriteTime: created, FileID: rootID},
		{Name: "file", Attributes: 0x20, EndOfFile: 7, LastWriteTime: created, FileID: dir.child("file").id},
		{Name: "mnt", Attributes: 0x410, ReparseTag: abi.IO_REPARSE_TAG_MOUNT_POINT, LastWriteTime: created, FileID: dir.child("mnt").id},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = f.List(buf, false)
	wantCode(t, err, win.ERROR_NO_MORE_FILES)
	again, err := f.List(buf, true)
	wantCode(t, err, 0)
	if again != n {
		t.Errorf("restarted: %d bytes, first %d", again, n)
	}
}

// Names that come and go while a directory is listed are listed or not, and no
// other is lost or listed twice: what a recursive removal rests on.
func TestList_WhileItChanges(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	for i := range 20 {
		b.mkdir(fmt.Sprintf(`\\?\C:\dir\%02d`, i))
	}
	f := b.mustOpen(`\\?\C:\dir`)
	defer b.mustClose(f)
	buf := make([]byte, 112)
	seen := map[string]int{}
	for restart := true; ; restart = false {
		n, err := f.List(buf, restart)
		if errors.Is(err, win.ERROR_NO_MORE_FILES) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		entries, err := abi.DecodeDirEntries(buf[:n])
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			seen[e.Name]++
			if e.Name[0] != '.' {
				wantCode(t, b.remove(`\\?\C:\dir\`+e.Name, posixDelete), 0)
			}
		}
	}
	if len(seen) != 22 {
		t.Errorf("%d names", len(seen))
	}
	for name, times := range seen {
		if times != 1 {
			t.Errorf("%s listed %d times", name, times)
		}
	}
}

// A mount point lists its own empty directory and never the volume.
func TestList_DoesNotTraverse(t *testing.T) {
	b := newBed(t)
	b.mkdir(b.data.name() + "inside")
	b.mount(`\\?\C:\mnt\`, b.data)
	if got, err := b.names(`\\?\C:\mnt`, 4096); err != nil || !cmp.Equal(got, []string{".", ".."}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFinalPath(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\Dir`, `\\?\C:\Dir\sub`, b.data.name()+"x")
	b.link(`\\?\C:\link`, `Dir`)
	tests := []struct{ path, dos, guid string }{
		{`\\?\C:\`, `\\?\C:\`, b.c.name()},
		{`\\?\c:\dir`, `\\?\C:\Dir`, b.c.name() + `Dir`},
		{`\\?\C:\LINK\SUB`, `\\?\C:\Dir\sub`, b.c.name() + `Dir\sub`},
		{`\\?\C:\link`, `\\?\C:\link`, b.c.name() + `link`},
	}
	for _, tt := range tests {
		f := b.mustOpen(tt.path)
		dos, err := f.FinalPath(win.VolumeNameDOS)
		wantCode(t, err, 0)
		guid, err := f.FinalPath(win.VolumeNameGUID)
		wantCode(t, err, 0)
		if dos != tt.dos || guid != tt.guid {
			t.Errorf("%s: %s and %s", tt.path, dos, guid)
		}
		_, err = f.FinalPath(2)
		wantCode(t, err, win.ERROR_INVALID_PARAMETER)
		b.mustClose(f)
	}

	f := b.mustOpen(b.data.name() + "x")
	defer b.mustClose(f)
	_, err := f.FinalPath(win.VolumeNameDOS)
	wantCode(t, err, win.ERROR_PATH_NOT_FOUND) // no letter, no folder
	b.mount(`\\?\C:\mnt\`, b.data)
	dos, err := f.FinalPath(win.VolumeNameDOS)
	wantCode(t, err, 0)
	if dos != `\\?\C:\mnt\x` {
		t.Errorf("behind its folder: %s", dos)
	}
}

// What a handle answers when its disk has gone, was formatted, or is read-only.
func TestFile_VolumeChanges(t *testing.T) {
	b := newBed(t)
	calls := map[string]func(win.File) error{
		"information": func(f win.File) error { _, err := f.Information(abi.FileIDInfoClass, make([]byte, 24)); return err },
		"list":        func(f win.File) error { _, err := f.List(make([]byte, 1024), true); return err },
		"final path":  func(f win.File) error { _, err := f.FinalPath(win.VolumeNameGUID); return err },
		"control":     func(f win.File) error { _, err := f.Control(1, nil, nil); return err },
		"disposition": func(f win.File) error {
			return f.SetInformation(abi.FileDispositionInfoClass, abi.EncodeFileDispositionInfo(true))
		},
		"open below": func(f win.File) error { _, err := b.open(f, "x", win.OpenExisting, 0); return err },
	}
	b.mkdir(`\\?\D:\dir`)
	f := b.mustOpen(`\\?\D:\dir`)
	b.d.present = false
	for position, want := range map[StaleHandle]win.Errno{
		StaleNoSuchDevice: win.ERROR_NO_SUCH_DEVICE,
		StaleNotConnected: win.ERROR_DEVICE_NOT_CONNECTED,
		StaleNotReady:     win.ERROR_NOT_READY,
	} {
		b.switches.StaleHandle = position
		for name, call := range calls {
			t.Run(name, func(t *testing.T) { wantCode(t, call(f), want) })
		}
	}
	b.d.present, b.d.tree = true, newTree()
	for name, call := range calls {
		t.Run("formatted "+name, func(t *testing.T) { wantCode(t, call(f), win.ERROR_FILE_INVALID) })
	}
	b.mustClose(f)
}

func TestFile_WriteProtected(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\D:\dir`, `\\?\C:\there`)
	b.link(`\\?\D:\link`, `dir`)
	b.mount(`\\?\D:\mnt\`, b.data)
	b.d.extents = []extent{{disk: &disk{present: true, volumesUp: true, readOnly: true}}}

	_, err := b.open(nil, `\\?\D:\new`, win.CreateNew, win.FileDirectoryFile)
	wantCode(t, err, win.ERROR_WRITE_PROTECT)
	wantCode(t, b.files.SymbolicLink(`\\?\D:\new`, `dir`, 0), win.ERROR_WRITE_PROTECT)
	wantCode(t, b.remove(`\\?\D:\dir`, posixDelete), win.ERROR_WRITE_PROTECT)
	wantCode(t, b.mounts.SetPoint(`D:\dir\`, b.c.name()), win.ERROR_WRITE_PROTECT)
	wantCode(t, b.mounts.DeletePoint(`D:\mnt\`), win.ERROR_WRITE_PROTECT)
	f := b.mustOpen(`\\?\D:\dir`)
	defer b.mustClose(f)
	_, err = f.Control(abi.FSCTL_SET_REPARSE_POINT, junction(t, `\??\C:\`), nil)
	wantCode(t, err, win.ERROR_WRITE_PROTECT)
	info, err := b.mounts.Information(`D:\`)
	if err != nil || info.Flags&0x0008_0000 == 0 {
		t.Errorf("flags %#x, %v", info.Flags, err)
	}
}

// 64 at once on the same names: one creates, each handle is counted, nothing
// is left.
func TestFiles_Concurrent(t *testing.T) {
	b := newBed(t)
	b.mkdir(`\\?\C:\dir`)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		made int
	)
	for i := range 64 {
		wg.Go(func() {
			name := fmt.Sprintf("n%d", i%4)
			f, err := b.open(nil, `\\?\C:\dir\`+name, win.CreateNew, win.FileDirectoryFile)
			if err == nil {
				mu.Lock()
				made++
				mu.Unlock()
				_, _ = f.FinalPath(win.VolumeNameDOS)
				b.mustClose(f)
			}
			_ = b.mounts.SetPoint(`C:\dir\`+name+`\`, b.data.name())
			_, _ = b.mounts.FreeSpace(`C:\dir\` + name)
			_, _ = b.names(`\\?\C:\dir`, 512)
			_ = b.mounts.DeletePoint(`C:\dir\` + name + `\`)
		})
	}
	wg.Wait()
	if made != 4 {
		t.Errorf("%d directories made, want 4", made)
	}
	for name := range 4 {
		_ = b.mounts.DeletePoint(fmt.Sprintf(`C:\dir\n%d\`, name))
		wantCode(t, b.remove(fmt.Sprintf(`\\?\C:\dir\n%d`, name), posixDelete), 0)
	}
	if len(b.points) != 0 {
		t.Errorf("mount manager keeps %d folders", len(b.points))
	}
}

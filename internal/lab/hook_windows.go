// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// hook answers what labhook.dll carries, each call on a goroutine of its own, so
// that the node may hold any of them.
type hook struct {
	node                          *win.Host
	server                        *server
	next, answer, install, remove *windows.Proc
	done                          chan struct{}

	mu    sync.Mutex
	files map[windows.Handle]*nodeFile
}

// nodeFile is the node's file behind a handle.
type nodeFile struct {
	win.File
	path   string
	asked  win.Access
	needed atomic.Uint32 // rights
}

// need notes what a call demands of the handle.
func (f *nodeFile) need(rights win.Access) { f.needed.Or(uint32(rights)) }

// ErrOtherWine says that the hook does not know this Wine.
var ErrOtherWine = errors.New("this is not Wine 10")

// Hook loads labhook.dll into this process: from now on the status of opens,
// files and mount points are the node's too, until the lab is closed. Where a
// function does not begin as in Wine 10 it is [ErrOtherWine], and nothing has
// changed.
func (l *Lab) Hook() error {
	dll, err := windows.LoadDLL(filepath.Join(l.dir, "labhook.dll"))
	if err != nil {
		return err
	}
	h := &hook{node: l.node, server: l.server, done: make(chan struct{}), files: map[windows.Handle]*nodeFile{}}
	for name, proc := range map[string]**windows.Proc{
		"lab_next": &h.next, "lab_answer": &h.answer, "lab_hook": &h.install, "lab_unhook": &h.remove,
	} {
		if *proc, err = dll.FindProc(name); err != nil {
			return err
		}
	}
	if function, _, _ := h.install.Call(); function != 0 {
		name := windows.BytePtrToString(*(**byte)(unsafe.Pointer(&function)))
		return fmt.Errorf("%w: %s begins otherwise", ErrOtherWine, name)
	}
	go h.run()
	l.hook = h
	return nil
}

// close takes the hook out. No call may be on its way to the node; but a thread
// may be in the hook on its way to ntdll, so the DLL stays loaded.
func (h *hook) close() error {
	_, _, _ = h.remove.Call()
	<-h.done
	if n := len(h.files); n != 0 {
		return fmt.Errorf("%d files are left open", n)
	}
	return nil
}

// Files is how many files and directories of the node this process has open.
func (l *Lab) Files() int {
	l.hook.mu.Lock()
	defer l.hook.mu.Unlock()
	return len(l.hook.files)
}

// The kinds of calls (labhook.c).
const (
	callOpen = iota
	callClose
	callQuery
	callSet
	callList
	callControl
	callVolumeAt
	callSetPoint
	callDeletePoint
	callPaths
	callInformation
	callFreeSpace
	callLink
	callFinalPath
)

// hookCall is struct call of labhook.c, in the DLL's memory. Pointers among the
// arguments are the caller's, who waits.
type hookCall struct {
	kind      uintptr
	arguments [7]uintptr
	result    uintptr
}

// at is an argument as a pointer.
func at[T any](c *hookCall, i int) *T { return *(**T)(unsafe.Pointer(&c.arguments[i])) }

// buffer is an argument as a buffer with its length in another.
func buffer(c *hookCall, i, length int) []byte {
	return unsafe.Slice(at[byte](c, i), c.arguments[length])
}

// text is an argument as a string with a NUL.
func text(c *hookCall, i int) string { return windows.UTF16PtrToString(at[uint16](c, i)) }

func (h *hook) run() {
	defer close(h.done)
	for {
		r, _, _ := h.next.Call()
		if r == 0 {
			return
		}
		go func() {
			c := *(**hookCall)(unsafe.Pointer(&r))
			c.result = h.ask(c)
			_, _, _ = h.answer.Call(r)
		}()
	}
}

// ask makes the node's call that a call stands for.
func (h *hook) ask(c *hookCall) uintptr {
	switch c.kind {
	case callOpen:
		return uintptr(h.open(c))
	case callClose, callQuery, callSet, callList, callControl:
		return uintptr(status(h.askFile(c)))
	case callFinalPath:
		return errno(h.finalPath(c))
	case callLink:
		return errno(h.node.Files.SymbolicLink(text(c, 0), text(c, 1), uint32(c.arguments[2])))
	default:
		return errno(h.askMounts(c))
	}
}

// how is struct how of labhook.c.
type how struct{ access, share, disposition, options, isFile uint32 }

func (h *hook) open(c *hookCall) ntstatus {
	root, how, handle := windows.Handle(c.arguments[0]), at[how](c, 3), at[windows.Handle](c, 4)
	name := abi.DecodeUTF16(unsafe.Slice(at[byte](c, 1), 2*c.arguments[2]))
	if device, ok := devicePath(name); ok && root == 0 {
		return h.openDevice(device, how, handle)
	}
	how.isFile = 1
	return h.openFile(root, name, how, handle)
}

// devicePath is the Win32 path of a device, if the name of NT is one's. The two
// prefixes of Win32 have become one.
func devicePath(name string) (path string, ok bool) {
	rest := strings.TrimPrefix(name, `\??\`)
	switch {
	case strings.HasPrefix(strings.ToUpper(rest), `GLOBALROOT\`):
		return `\\?\` + rest, true
	case strings.Contains(rest, `\`):
		return "", false
	case strings.ContainsAny(rest, "{#"):
		return `\\?\` + rest, true
	}
	return `\\.\` + rest, true
}

// openDevice opens the node's device and, if it has one, the driver's, through
// which the handle's requests go.
func (h *hook) openDevice(path string, how *how, handle *windows.Handle) ntstatus {
	access := desired(how.access)
	device, err := h.node.Devices.Open(path, access)
	if err != nil {
		return status(err)
	}
	runtime.LockOSThread() // by which the driver's message is known
	defer runtime.UnlockOSThread()
	taken := h.server.expect(path, access, device)
	if err = openAny(how, handle); err == nil {
		return statusSuccess
	}
	h.server.unexpect(taken)
	return status(errors.Join(err, device.Close()))
}

// openAny opens the driver's device for all handles.
func openAny(how *how, handle *windows.Handle) error {
	name, err := windows.NewNTUnicodeString(anyDeviceName)
	if err != nil {
		return err
	}
	var io windows.IO_STATUS_BLOCK
	object := windows.OBJECT_ATTRIBUTES{ObjectName: name}
	object.Length = uint32(unsafe.Sizeof(object))
	const synchronous = windows.FILE_SYNCHRONOUS_IO_NONALERT | windows.FILE_SYNCHRONOUS_IO_ALERT
	return windows.NtCreateFile(handle, how.access, &object, &io, nil, 0, how.share, windows.FILE_OPEN, how.options&synchronous, 0, 0)
}

// The boundary's Files.Open promises these; the node knows no others.
const (
	sharePinned   = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE
	optionsAlways = windows.FILE_OPEN_REPARSE_POINT | windows.FILE_OPEN_FOR_BACKUP_INTENT | windows.FILE_SYNCHRONOUS_IO_NONALERT
)

func (h *hook) openFile(root windows.Handle, name string, how *how, handle *windows.Handle) ntstatus {
	if how.share&^windows.FILE_SHARE_DELETE != sharePinned || how.options&optionsAlways != optionsAlways || how.access&windows.SYNCHRONIZE == 0 {
		return statusInvalidParameter
	}
	path := name
	var directory win.File // nil is no file; a nil *nodeFile would be one
	if parent := h.file(root); parent != nil {
		parent.need(win.FileTraverse)
		directory, path = parent.File, parent.path+`\`+name
	} else {
		name = `\\?\` + strings.TrimPrefix(name, `\??\`)
	}
	access := win.Access(how.access) &^ win.Synchronize
	file, err := h.node.Files.Open(directory, name, win.OpenFile{
		Access:      access,
		Disposition: win.Disposition(how.disposition),
		Options:     how.options &^ optionsAlways,
		Pinned:      how.share == sharePinned,
	})
	if err != nil {
		return status(err)
	}
	// Any handle will do to stand for the file.
	if *handle, err = windows.CreateEvent(nil, 0, 0, nil); err != nil {
		return status(errors.Join(err, file.Close()))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[*handle] = &nodeFile{File: file, path: path, asked: access}
	return statusSuccess
}

// file is the node's file behind a handle, nil for none.
func (h *hook) file(handle windows.Handle) *nodeFile {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.files[handle]
}

// Information classes of NtQueryInformationFile and NtSetInformationFile, and
// what the functions of Win32 call them (wdm.h, minwinbase.h).
var fileClasses = map[uint32]uint32{
	4:  abi.FileBasicInfoClass,
	5:  abi.FileStandardInfoClass,
	13: abi.FileDispositionInfoClass,
	35: abi.FileAttributeTagInfoClass,
	59: abi.FileIDInfoClass,
	64: abi.FileDispositionInfoExClass,
}

const classIDBothList = 37 // FileIdBothDirectoryInformation

func (h *hook) askFile(c *hookCall) (err error) {
	handle := windows.Handle(c.arguments[0])
	file := h.file(handle)
	switch c.kind {
	case callClose:
		h.mu.Lock()
		delete(h.files, handle)
		h.mu.Unlock()
		h.server.openings.end(Opening{file.path, file.asked, win.Access(file.needed.Load())})
		return file.Close()
	case callControl:
		if abi.RequiredAccess(uint32(c.arguments[1])) != 0 {
			file.need(win.FileWriteAttributes | win.FileWriteData) // either will do
		}
		n := at[int](c, 6)
		*n, err = file.Control(uint32(c.arguments[1]), buffer(c, 2, 3), buffer(c, 4, 5))
		return err
	case callList:
		if c.arguments[1] != classIDBothList {
			return win.ERROR_INVALID_PARAMETER
		}
		file.need(win.FileReadData)
		n := at[int](c, 5)
		*n, err = file.List(buffer(c, 2, 3), c.arguments[4] != 0)
		return err
	}
	class, ok := fileClasses[uint32(c.arguments[1])]
	if !ok {
		return win.ERROR_INVALID_PARAMETER
	}
	if c.kind == callSet {
		file.need(neededToSet(class))
		return file.SetInformation(class, buffer(c, 2, 3))
	}
	n := at[int](c, 4)
	*n, err = file.Information(class, buffer(c, 2, 3))
	return err
}

// errno is the Win32 code of an error of the node.
func errno(err error) uintptr {
	code := win.Errno(0)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code) && code != 0:
		return uintptr(code)
	}
	return uintptr(win.ERROR_GEN_FAILURE)
}

// give writes s and a NUL into a buffer of so many units.
func give(buffer *uint16, units uintptr, s string) error {
	if buffer == nil {
		return nil
	}
	text := windows.StringToUTF16(s)
	if uintptr(len(text)) > units {
		return win.ERROR_MORE_DATA
	}
	copy(unsafe.Slice(buffer, units), text)
	return nil
}

func (h *hook) askMounts(c *hookCall) error {
	mounts, subject := h.node.Mounts, text(c, 0)
	switch c.kind {
	case callSetPoint:
		return mounts.SetPoint(subject, text(c, 1))
	case callDeletePoint:
		return mounts.DeletePoint(subject)
	case callVolumeAt:
		name, err := mounts.VolumeAt(subject)
		if err != nil {
			return err
		}
		return give(at[uint16](c, 1), c.arguments[2], name)
	case callPaths:
		paths, err := mounts.Paths(subject)
		if err != nil {
			return err
		}
		return givePaths(at[uint16](c, 1), c.arguments[2], at[uint32](c, 3), paths)
	case callInformation:
		return information(c, mounts, subject)
	case callFreeSpace:
		space, err := mounts.FreeSpace(subject)
		if err != nil {
			return err
		}
		put(at[uint64](c, 1), space.Available)
		put(at[uint64](c, 2), space.Total)
		put(at[uint64](c, 3), space.Free)
		return nil
	}
	return win.ERROR_CALL_NOT_IMPLEMENTED
}

func information(c *hookCall, mounts win.Mounts, root string) error {
	info, err := mounts.Information(root)
	if err != nil {
		return err
	}
	put(at[uint32](c, 3), info.SerialNumber)
	put(at[uint32](c, 4), info.Flags)
	return errors.Join(give(at[uint16](c, 1), c.arguments[2], info.Label), give(at[uint16](c, 5), c.arguments[6], info.FileSystem))
}

// put gives a value to a caller who may not want it.
func put[T any](to *T, value T) {
	if to != nil {
		*to = value
	}
}

// givePaths writes a list of strings, and how many units it has.
func givePaths(list *uint16, units uintptr, used *uint32, paths []string) error {
	text := abi.EncodeUTF16(strings.Join(append(paths, ""), "\x00") + "\x00")
	*used = uint32(len(text) / 2)
	if uintptr(*used) > units {
		return win.ERROR_MORE_DATA
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(list)), 2*units), text)
	return nil
}

// finalPath says how many units it wrote, or with the NUL how many it needs.
func (h *hook) finalPath(c *hookCall) error {
	file := h.file(windows.Handle(c.arguments[0]))
	if file == nil {
		return win.ERROR_INVALID_HANDLE
	}
	path, err := file.FinalPath(uint32(c.arguments[3]))
	if err != nil {
		return err
	}
	used := at[uint32](c, 4)
	*used = uint32(len(windows.StringToUTF16(path)))
	if give(at[uint16](c, 1), c.arguments[2], path) == nil {
		*used--
	}
	return nil
}

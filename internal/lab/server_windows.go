// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// server answers the driver's requests from the node.
//
// One goroutine takes the messages in their order; openings and closings are
// done there, requests each on a goroutine of its own, so that the node may hold
// any of them.
type server struct {
	control control
	node    *win.Host
	done    chan struct{}
	work    sync.WaitGroup // openings and closings under way

	mu      sync.Mutex
	paths   map[uint32]string      // of devices
	files   map[uint64]*openFile   // by file number
	opening map[uint32][]*openFile // that the hook has opened, by thread
	failed  error

	openings ledger
}

// openFile is the node's device behind a file of the driver.
type openFile struct {
	path   string
	access win.Access
	ready  chan struct{} // closed when the device or the error is there
	device win.Device
	err    error
	needed atomic.Uint32 // rights
}

// need notes what a request demands of the handle.
func (f *openFile) need(rights win.Access) { f.needed.Or(uint32(rights)) }

func serve(c control, node *win.Host) *server {
	s := &server{
		control: c, node: node, done: make(chan struct{}),
		paths: map[uint32]string{}, files: map[uint64]*openFile{}, opening: map[uint32][]*openFile{},
	}
	go s.run()
	return s
}

func (s *server) run() {
	defer close(s.done)
	room := make([]byte, messageSize+1<<16)
	for {
		m, err := s.control.get(&room)
		if errors.Is(err, win.ERROR_OPERATION_ABORTED) {
			return
		}
		if err != nil {
			s.fail(err)
			return
		}
		s.take(m)
	}
}

// close ends the service of the driver, which then forgets what it has.
func (s *server) close() error {
	select {
	case <-s.done: // before
		return s.errors()
	default:
	}
	s.stop()
	err := windows.CloseHandle(s.control.handle)
	s.mu.Lock()
	files := s.files
	s.files = map[uint64]*openFile{}
	s.mu.Unlock()
	for _, f := range files {
		<-f.ready
		if f.device != nil {
			err = errors.Join(err, f.device.Close())
		}
	}
	return errors.Join(err, s.errors())
}

// stop cancels the wait for the next message, again where there was none just
// then.
func (s *server) stop() {
	for {
		if err := windows.CancelIoEx(s.control.handle, nil); err != nil && !errors.Is(err, win.ERROR_NOT_FOUND) {
			s.fail(err)
			return
		}
		select {
		case <-s.done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func (s *server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = errors.Join(s.failed, err)
}

func (s *server) errors() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// known says which of the node's devices a device of the driver is.
func (s *server) known(number uint32, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths[number] = path
}

func (s *server) take(m message) {
	switch m.kind {
	case kindCreate:
		s.open(m)
	case kindClose:
		s.shut(m.file)
	case kindCancelled: // the node is not told: its calls have no way to end
	default:
		m.data = append([]byte(nil), m.data...)
		go s.answer(m)
	}
}

// open takes the device that the hook has opened for this thread, or opens the
// one that the path names.
func (s *server) open(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiting := s.opening[m.thread]; m.device == anyDevice && len(waiting) > 0 {
		s.files[m.file], s.opening[m.thread] = waiting[0], waiting[1:]
		return
	}
	f := &openFile{path: s.paths[m.device], access: desired(m.access), ready: make(chan struct{})}
	s.files[m.file] = f
	s.work.Go(func() {
		defer close(f.ready)
		if m.device == anyDevice {
			return // a barrier
		}
		f.device, f.err = s.node.Devices.Open(f.path, f.access)
	})
}

// expect hands over a device that the hook has opened: the next file that this
// thread opens at the driver is its.
func (s *server) expect(path string, access win.Access, device win.Device) (thread uint32) {
	f := &openFile{path: path, access: access, device: device, ready: make(chan struct{})}
	close(f.ready)
	thread = windows.GetCurrentThreadId()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening[thread] = append(s.opening[thread], f)
	return thread
}

// unexpect takes back the last device of a thread, which opened nothing.
func (s *server) unexpect(thread uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening[thread] = s.opening[thread][:len(s.opening[thread])-1]
}

// desired is the mask that CreateFileW was given: it adds two rights.
func desired(mask uint32) win.Access {
	return win.Access(mask) &^ (win.Synchronize | win.FileReadAttributes)
}

func (s *server) shut(file uint64) {
	s.mu.Lock()
	f := s.files[file]
	delete(s.files, file)
	s.mu.Unlock()
	if f == nil {
		return
	}
	s.work.Go(func() {
		<-f.ready
		if f.device == nil {
			return
		}
		s.openings.end(Opening{f.path, f.access, win.Access(f.needed.Load())})
		if err := f.device.Close(); err != nil {
			s.fail(fmt.Errorf("close %s: %w", f.path, err))
		}
	})
}

func (s *server) answer(m message) {
	output, err := s.ask(m)
	code := status(err)
	if code.failed() {
		output = nil
	}
	if err := s.control.put(m.id, code, output); err != nil && !s.closing(err) {
		s.fail(fmt.Errorf("answer to request %d of kind %d: %w", m.id, m.kind, err))
	}
}

// closing reports whether an answer came too late for the lab.
func (s *server) closing(err error) bool {
	select {
	case <-s.done:
		return true
	default:
		return errors.Is(err, win.ERROR_OPERATION_ABORTED)
	}
}

// ask makes the node's call that a request stands for.
func (s *server) ask(m message) ([]byte, error) {
	s.mu.Lock()
	f := s.files[m.file]
	s.mu.Unlock()
	if f == nil {
		return nil, win.ERROR_INVALID_HANDLE
	}
	<-f.ready
	switch {
	case f.err != nil:
		return nil, f.err
	case m.kind == kindQueryVolume:
		return s.queryVolume(f.path, m.code)
	case f.device == nil: // the barrier
		return nil, nil
	}
	output := make([]byte, m.output)
	switch m.kind {
	case kindControl, kindFileSystem:
		if f.path == abi.MountPointManager && m.code != abi.IOCTL_MOUNTMGR_QUERY_POINTS {
			return passOn(m, output)
		}
		f.need(neededFor(m.code))
		n, err := f.device.Control(m.code, m.data, output)
		return output[:n], err
	case kindRead:
		f.need(win.GenericRead)
		n, err := f.device.ReadAt(output, int64(m.offset))
		return output[:n], err
	case kindFlush:
		f.need(win.GenericWrite)
		return nil, f.device.Flush()
	default: // the boundary writes nothing
		return nil, win.ERROR_INVALID_FUNCTION
	}
}

// passOn sends a control code to Wine's own mount manager, which Wine itself asks
// for what the node knows nothing of.
func passOn(m message, output []byte) ([]byte, error) {
	name, err := windows.UTF16PtrFromString(`\\?\GLOBALROOT\Device\MountPointManager`)
	if err != nil {
		return nil, err
	}
	handle, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = windows.CloseHandle(handle) }()
	var n uint32
	err = windows.DeviceIoControl(handle, m.code, first(m.data), uint32(len(m.data)), first(output), uint32(len(output)), &n, nil)
	return output[:n], err
}

// queryVolume is what Wine's GetVolumeInformationW and GetDiskFreeSpaceExW ask
// of the device whose root they are given.
func (s *server) queryVolume(path string, class uint32) ([]byte, error) {
	if !strings.HasPrefix(path, `\\?\Volume{`) || class == classDevice {
		return deviceInformation(), nil
	}
	switch class {
	case classVolume, classAttribute:
		info, err := s.node.Mounts.Information(path + `\`)
		return volumeInformation(class, info), err
	case classSize, classFullSize:
		space, err := s.node.Mounts.FreeSpace(path + `\`)
		return sizeInformation(class, space), err
	}
	return nil, win.ERROR_INVALID_FUNCTION
}

// settle waits until the node knows of all that has been opened and closed: a
// request that stands behind them is answered then.
func (s *server) settle() error {
	name, err := windows.UTF16PtrFromString(`\\?\GLOBALROOT` + anyDeviceName)
	if err != nil {
		return err
	}
	handle, err := windows.CreateFile(name, 0, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return err
	}
	var n uint32
	err = windows.DeviceIoControl(handle, codeCounts, nil, 0, nil, 0, &n, nil)
	s.work.Wait()
	return errors.Join(err, windows.CloseHandle(handle))
}

// Settle waits until the node knows of every device handle that has been closed.
func (l *Lab) Settle() error { return l.server.settle() }

// The device that has all the handles which the hook opens.
const (
	anyDevice     = 1
	anyDeviceName = `\Device\LabAny`
)

func deviceName(number uint32) string { return fmt.Sprintf(`\Device\Lab%d`, number) }

// linkName is the link of a device path in the namespace of NT:
// \DosDevices\PhysicalDrive1 for \\.\PhysicalDrive1.
func linkName(path string) string { return `\DosDevices\` + path[len(`\\.\`):] }

// ownTarget is where Wine's own link of a path leads, if it has one: it comes
// back at the end.
func ownTarget(path string) (string, error) {
	name, err := windows.UTF16PtrFromString(path[len(`\\.\`):])
	if err != nil {
		return "", err
	}
	target := make([]uint16, windows.MAX_PATH)
	_, err = windows.QueryDosDevice(name, &target[0], uint32(len(target)))
	if errors.Is(err, win.ERROR_FILE_NOT_FOUND) {
		return "", nil
	}
	return windows.UTF16ToString(target), err
}

// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// control is the driver's control device, opened for overlapped requests, so
// that one which waits holds up no other.
type control struct{ handle windows.Handle }

const controlPath = `\\.\LabControl`

func openControl() (control, error) {
	name, err := windows.UTF16PtrFromString(controlPath)
	if err != nil {
		return control{}, err
	}
	handle, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_OVERLAPPED, 0)
	if err != nil {
		return control{}, fmt.Errorf("open %s: %w", controlPath, err)
	}
	return control{handle}, nil
}

// call sends a code and waits for its end. Only a wait that never ends holds
// the buffers longer than the call, and there is none: closing ends all. Windows
// writes to them between the two calls, when a goroutine's stack may move: so
// they are pinned, and lie elsewhere.
func (c control) call(code uint32, in, out []byte) (int, error) {
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = windows.CloseHandle(event) }()
	var (
		overlapped = windows.Overlapped{HEvent: event}
		n          uint32
		pinned     runtime.Pinner
	)
	defer pinned.Unpin()
	pinned.Pin(&overlapped)
	for _, b := range [][]byte{in, out} {
		if len(b) > 0 {
			pinned.Pin(&b[0])
		}
	}
	err = windows.DeviceIoControl(c.handle, code, first(in), uint32(len(in)), first(out), uint32(len(out)), &n, &overlapped)
	if errors.Is(err, windows.ERROR_IO_PENDING) {
		err = windows.GetOverlappedResult(c.handle, &overlapped, &n, true)
	}
	return int(n), err
}

func first(b []byte) *byte {
	if len(b) == 0 {
		return nil
	}
	return &b[0]
}

// get waits for the next message, in *room, which grows where it is too small.
func (c control) get(room *[]byte) (message, error) {
	for {
		n, err := c.call(codeGet, nil, *room)
		switch {
		case errors.Is(err, win.ERROR_INSUFFICIENT_BUFFER):
			*room = make([]byte, 2*len(*room))
		case err != nil:
			return message{}, err
		default:
			return decodeMessage((*room)[:n])
		}
	}
}

// put answers a request. That it was cancelled meanwhile is no error.
func (c control) put(id uint64, s ntstatus, output []byte) error {
	_, err := c.call(codePut, encodeAnswer(id, s, output), nil)
	if errors.Is(err, win.ERROR_NOT_FOUND) {
		return nil
	}
	return err
}

func (c control) makeDevice(number uint32, name string) error {
	_, err := c.call(codeDevice, append(binary.LittleEndian.AppendUint32(nil, number), terminated(name)...), nil)
	return err
}

func (c control) removeDevice(number uint32) error {
	_, err := c.call(codeRemove, binary.LittleEndian.AppendUint32(nil, number), nil)
	return err
}

// link makes a name lead to target. before is where it leads else, if anywhere.
func (c control) link(name, target, before string) error {
	_, err := c.call(codeLink, append(append(terminated(name), terminated(target)...), terminated(before)...), nil)
	return err
}

func (c control) unlink(name string) error {
	_, err := c.call(codeUnlink, terminated(name), nil)
	return err
}

func (c control) counts() (Counts, error) {
	out := make([]byte, 16)
	n, err := c.call(codeCounts, nil, out)
	if err != nil {
		return Counts{}, err
	}
	return decodeCounts(out[:n])
}

// terminated is s in UTF-16 with a NUL.
func terminated(s string) []byte { return abi.EncodeUTF16(s + "\x00") }

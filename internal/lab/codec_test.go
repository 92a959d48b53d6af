// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		err    error
		want   ntstatus
		failed bool
	}{
		{nil, 0, false},
		{win.ERROR_FILE_NOT_FOUND, 0xC000_0034, true},
		{win.ERROR_MORE_DATA, 0x8000_0005, false},                   // carries data
		{win.ERROR_REPARSE_TAG_MISMATCH, 0x8007_112A, false},        // by its number
		{win.WBEM_E_NOT_FOUND, statusUnsuccessful, true},            // no Win32 code
		{errors.New("no code"), statusUnsuccessful, true},           //
		{win.Errno(0), statusUnsuccessful, true},                    // never success
		{errors.Join(win.ERROR_CRC), statuses[win.ERROR_CRC], true}, // wrapped
	} {
		if got := status(tt.err); got != tt.want || got.failed() != tt.failed {
			t.Errorf("%v: got %#x, failed %t; want %#x, %t", tt.err, uint32(got), got.failed(), uint32(tt.want), tt.failed)
		}
	}
}

// Two codes with one status could not be told apart behind the driver.
func TestStatus_Distinct(t *testing.T) {
	codes := map[ntstatus]win.Errno{}
	for code, s := range statuses {
		if other, taken := codes[s]; taken {
			t.Errorf("%#x stands for %d and %d", uint32(s), code, other)
		}
		codes[s] = code
	}
}

func TestMessage(t *testing.T) {
	le := binary.LittleEndian
	b := le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, 1), 2), 3)
	for i := uint32(4); i < 11; i++ {
		b = le.AppendUint32(b, i)
	}
	b = le.AppendUint32(b, 11)
	b = le.AppendUint32(b[:messageSize-8], 2) // input
	b = append(le.AppendUint32(b, 11), "hi"...)
	m, err := decodeMessage(b)
	if err != nil || m.id != 1 || m.file != 2 || m.offset != 3 || m.device != 4 || m.kind != 5 || m.code != 6 ||
		m.access != 7 || m.process != 8 || m.thread != 9 || m.input != 2 || m.output != 11 || string(m.data) != "hi" {
		t.Errorf("got %+v, %v", m, err)
	}
	for n := range b {
		if _, err := decodeMessage(b[:n]); err == nil {
			t.Errorf("%d of %d bytes are a message", n, len(b))
		}
	}
}

func TestAnswer(t *testing.T) {
	want := []byte{7, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0x80, 2, 0, 0, 0, 'o', 'k'}
	if got := encodeAnswer(7, 0x8000_0005, []byte("ok")); !bytes.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCodes(t *testing.T) {
	for i, code := range []uint32{codeGet, codePut, codeDevice, codeRemove, codeLink, codeUnlink, codeCounts} {
		if want := uint32(0x8000_0000 | (0x800+i)<<2); code != want {
			t.Errorf("code %d is %#x, want %#x", i, code, want)
		}
	}
}

func TestVolumeInformation(t *testing.T) {
	info := win.VolumeInformation{Label: "L", SerialNumber: 9, FileSystem: "NTFS", Flags: 3}
	for _, tt := range []struct {
		name      string
		got, want []byte
	}{
		{"volume", volumeInformation(classVolume, info), []byte{8: 9, 12: 2, 18: 'L', 19: 0}},
		{"attributes", volumeInformation(classAttribute, info), []byte{0: 3, 4: 255, 8: 8, 12: 'N', 14: 'T', 16: 'F', 18: 'S', 19: 0}},
		{"size", sizeInformation(classSize, win.FreeSpace{Available: 1, Total: 2, Free: 3}), []byte{0: 2, 8: 1, 16: 1, 20: 1, 23: 0}},
		{"full size", sizeInformation(classFullSize, win.FreeSpace{Available: 1, Total: 2, Free: 3}), []byte{0: 2, 8: 1, 16: 3, 24: 1, 28: 1, 31: 0}},
		{"device", deviceInformation(), []byte{7, 7: 0}},
	} {
		if !bytes.Equal(tt.got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

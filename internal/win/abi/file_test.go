// SPDX-License-Identifier: Apache-2.0

package abi_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func TestReparsePointsOfHostileFileSystems(t *testing.T) {
	const dataLength, substituteOffset, substituteLength, printOffset = 4, 8, 10, 12
	symlink := encodeReparse(t, ReparsePoint{Tag: IO_REPARSE_TAG_SYMLINK, Substitute: `\??\C:\dir`, Print: "dir"})
	mount := encodeReparse(t, ReparsePoint{Tag: IO_REPARSE_TAG_MOUNT_POINT, Substitute: `\??\C:\dir`, Print: "dir"})
	put := func(b []byte, offset int, value uint16) []byte {
		b = bytes.Clone(b)
		le.PutUint16(b[offset:], value)
		return b
	}
	for _, c := range []struct {
		name  string
		bytes []byte
	}{
		{"empty", nil},
		{"half a header", symlink[:7]},
		{"data beyond the end", put(symlink, dataLength, math.MaxUint16)},
		{"symlink without flags", put(symlink, dataLength, 11)},
		{"mount point without names", put(mount, dataLength, 7)},
		{"substitute beyond the data", put(symlink, substituteOffset, 1000)},
		{"substitute one unit beyond the data", put(symlink, substituteLength, 22)},
		{"substitute of an odd length", put(symlink, substituteLength, 19)},
		{"print beyond the data", put(mount, printOffset, math.MaxUint16)},
		{"name in bytes behind the data", put(append(bytes.Clone(mount), make([]byte, 100)...), substituteLength, 32)},
		{"foreign tag without GUID", []byte{1, 0, 0, 0, 0, 0, 0, 0, 1}},
		{"foreign tag, data beyond the end", append([]byte{1, 0, 0, 0, 2, 0, 0, 0}, make([]byte, 17)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := DecodeReparsePoint(c.bytes)
			wantError(t, err, ErrMalformed)
			if !cmp.Equal(got, ReparsePoint{}) {
				t.Errorf("half a reparse point beside an error: %+v", got)
			}
		})
	}
}

func encodeReparse(t *testing.T, p ReparsePoint) []byte {
	t.Helper()
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Tags are compared by equality: a tag that shares bits with a symbolic link is
// not one.
func TestReparseTagByEquality(t *testing.T) {
	b := encodeReparse(t, ReparsePoint{Tag: IO_REPARSE_TAG_SYMLINK, Substitute: `\??\C:\dir`})
	le.PutUint32(b, 0xA000_001C)
	got, err := DecodeReparsePoint(b)
	if err != nil || got.Substitute != "" || !bytes.Equal(got.Data, b[8:]) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReparsePointIsRelative(t *testing.T) {
	for _, c := range []struct {
		p    ReparsePoint
		want bool
	}{
		{ReparsePoint{Tag: IO_REPARSE_TAG_SYMLINK, Flags: SymlinkFlagRelative}, true},
		{ReparsePoint{Tag: IO_REPARSE_TAG_SYMLINK, Flags: 2}, false},
		{ReparsePoint{Tag: IO_REPARSE_TAG_MOUNT_POINT, Flags: SymlinkFlagRelative}, false},
	} {
		if got := c.p.IsRelative(); got != c.want {
			t.Errorf("%+v: got %t, want %t", c.p, got, c.want)
		}
	}
}

func TestReparsePointTooLong(t *testing.T) {
	name := strings.Repeat("x", MaxReparsePointSize/2)
	for _, tag := range []ReparseTag{IO_REPARSE_TAG_SYMLINK, IO_REPARSE_TAG_MOUNT_POINT} {
		_, err := ReparsePoint{Tag: tag, Substitute: name}.Encode()
		wantError(t, err, ErrMalformed)
	}
	_, err := ReparsePoint{Tag: IO_REPARSE_TAG_DEDUP, Data: make([]byte, MaxReparsePointSize-7)}.Encode()
	wantError(t, err, ErrMalformed)
	b, err := ReparsePoint{Tag: IO_REPARSE_TAG_DEDUP, Data: make([]byte, MaxReparsePointSize-8)}.Encode()
	if err != nil || len(b) != MaxReparsePointSize {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestNameSurrogate(t *testing.T) {
	for tag, want := range map[ReparseTag]bool{
		IO_REPARSE_TAG_SYMLINK: true, IO_REPARSE_TAG_MOUNT_POINT: true, IO_REPARSE_TAG_DEDUP: false,
		IO_REPARSE_TAG_AF_UNIX: false, IO_REPARSE_TAG_CLOUD: false,
	} {
		if got := tag.NameSurrogate(); got != want {
			t.Errorf("%#x: got %t, want %t", tag, got, want)
		}
	}
}

func TestDirEntriesOfHostileServers(t *testing.T) {
	const next, nameLength = 0, 60
	list := func() []byte { return encodeDirEntries([]DirEntry{{Name: "first"}, {Name: "second"}}) }
	for _, c := range []struct {
		name  string
		spoil func([]byte) []byte
	}{
		{"empty", func([]byte) []byte { return nil }},
		{"half an entry", func(b []byte) []byte { return b[:103] }},
		{"next within itself", func(b []byte) []byte { le.PutUint32(b[next:], 103); return b }},
		{"next beyond the end", func(b []byte) []byte { le.PutUint32(b[next:], 1000); return b }},
		{"next is 2^32-1", func(b []byte) []byte { le.PutUint32(b[next:], math.MaxUint32); return b }},
		{"next leads to the end", func(b []byte) []byte { le.PutUint32(b[next:], uint32(len(b))); return b }},
		{"name into the next entry", func(b []byte) []byte { le.PutUint32(b[nameLength:], 100); return b }},
		{"name of 2^32-2 bytes", func(b []byte) []byte { le.PutUint32(b[nameLength:], math.MaxUint32-1); return b }},
		{"name of an odd length", func(b []byte) []byte { le.PutUint32(b[nameLength:], 9); return b }},
		{"last name cut", func(b []byte) []byte { return b[:len(b)-1] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := DecodeDirEntries(c.spoil(list()))
			wantError(t, err, ErrMalformed)
			if got != nil {
				t.Errorf("half a list beside an error: %+v", got)
			}
		})
	}
}

func TestEncodeDirEntriesStopsAtTheEnd(t *testing.T) {
	list := []DirEntry{{Name: "."}, {Name: ".."}, {Name: "data"}}
	for _, c := range []struct {
		name       string
		size       int
		entries, n int
	}{
		{"nothing fits", 105, 0, 0},
		{"one, exactly", 106, 1, 106},
		{"one and a half", 112 + 107, 1, 106},
		{"two", 112 + 108, 2, 112 + 108},
		{"all", 1000, 3, 112 + 112 + 112},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bytes.Repeat([]byte{0xFF}, c.size)
			entries, n := EncodeDirEntries(b, list)
			if entries != c.entries || n != c.n {
				t.Fatalf("%d entries in %d bytes, want %d in %d", entries, n, c.entries, c.n)
			}
			if entries == 0 {
				return
			}
			got, err := DecodeDirEntries(b[:n])
			if diff := cmp.Diff(list[:entries], got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestReparseTagOnlyOfReparsePoints(t *testing.T) {
	got, err := DecodeDirEntries(encodeDirEntries([]DirEntry{{Name: "x", ReparseTag: IO_REPARSE_TAG_SYMLINK}}))
	if err != nil || got[0].ReparseTag != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUTF16(t *testing.T) {
	for _, c := range []struct {
		name  string
		units []uint16
		want  string
	}{
		{"empty", nil, ""},
		{"ASCII", []uint16{'a', 'b'}, "ab"},
		{"NUL stays", []uint16{'a', 0, 'b'}, "a\x00b"},
		{"pair", []uint16{0xD83D, 0xDCBE}, "\U0001F4BE"},
		{"high alone", []uint16{0xD800, 'a'}, "\xED\xA0\x80a"},
		{"low alone", []uint16{0xDFFF}, "\xED\xBF\xBF"},
		{"low before high", []uint16{0xDC00, 0xD800}, "\xED\xB0\x80\xED\xA0\x80"},
		{"high before a pair", []uint16{0xD800, 0xD83D, 0xDCBE}, "\xED\xA0\x80\U0001F4BE"},
		{"replacement character", []uint16{0xFFFD}, "\uFFFD"},
		{"largest below the surrogates", []uint16{0xD7FF, 0xE000}, "\uD7FF\uE000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b []byte
			for _, u := range c.units {
				b = le.AppendUint16(b, u)
			}
			if got := DecodeUTF16(b); got != c.want {
				t.Errorf("decoded %q, want %q", got, c.want)
			}
			if got := EncodeUTF16(c.want); !bytes.Equal(got, b) {
				t.Errorf("encoded %x, want %x", got, b)
			}
		})
	}
	if got := DecodeUTF16([]byte{'a', 0, 'b'}); got != "a" {
		t.Errorf("odd length: %q", got)
	}
	if got := EncodeUTF16("\xFF\xED\xA0"); !bytes.Equal(got, []byte{0xFD, 0xFF, 0xFD, 0xFF, 0xFD, 0xFF}) {
		t.Errorf("bytes that are not UTF-8: %x", got)
	}
}

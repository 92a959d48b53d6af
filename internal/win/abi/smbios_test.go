// SPDX-License-Identifier: Apache-2.0

package abi_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	. "github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// smbiosBytes is a RawSMBIOSData written by hand, byte by byte as
// windows-api.md 12 has it: SMBIOS 2.8 with a BIOS structure without strings, a
// system structure with three, and the end.
var smbiosBytes = []byte("\x00\x02\x08\x00\x34\x00\x00\x00" +
	"\x00\x06\x00\x00\xAA\xBB" + "\x00\x00" +
	"\x01\x1B\x00\x01\x01\x02\x00\x03" + "0123456789abcdef" + "\x06\x00\x00" + "A\x00BC\x00S 1 \x00" + "\x00" +
	"\x7F\x04\x00\x02" + "\x00\x00")

func TestSMBIOS(t *testing.T) {
	s, err := DecodeSMBIOS(smbiosBytes)
	if err != nil {
		t.Fatal(err)
	}
	if s.Major != 2 || s.Minor != 8 || s.Used20CallingMethod != 0 || s.Revision != 0 {
		t.Errorf("header %+v", s)
	}
	if got := s.Encode(); !bytes.Equal(got, smbiosBytes) {
		t.Errorf("encoded %q", got)
	}
	system, ok, err := s.Structure(SMBIOSTypeSystem)
	if !ok || err != nil {
		t.Fatalf("system: %v, %v", ok, err)
	}
	want := SMBIOSStructure{Type: 1, Handle: 0x100, Fields: smbiosBytes[8+8+4 : 8+8+27], Strings: []string{"A", "BC", "S 1 "}}
	if diff := cmp.Diff(want, system); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for offset, want := range map[int]string{4: "A", 5: "BC", 6: "", SMBIOSSerialNumber: "S 1 ", 8: "", -1: "", 3: "", 27: "", 1000: ""} {
		if got := system.Text(offset); got != want {
			t.Errorf("text at %d: %q, want %q", offset, got, want)
		}
	}
	if bios, ok, err := s.Structure(0); !ok || err != nil || len(bios.Strings) != 0 || string(bios.Fields) != "\xAA\xBB" {
		t.Errorf("BIOS: %+v, %v, %v", bios, ok, err)
	}
	if _, ok, err := s.Structure(4); ok || err != nil {
		t.Errorf("what is not there: %v, %v", ok, err)
	}
}

// What comes before the structure must be sound, what comes after need not.
func TestSMBIOSOfHostileFirmware(t *testing.T) {
	whole := func(length uint32, table string) []byte {
		return append(le.AppendUint32([]byte{0, 3, 0, 0}, length), table...)
	}
	table := func(table string) []byte { return whole(uint32(len(table)), table) }
	const (
		bios   = "\x00\x04\x00\x00\x00\x00"
		system = "\x01\x08\x00\x00\x00\x00\x00\x01S1\x00\x00"
		end    = "\x7F\x04\x00\x00\x00\x00"
	)
	for _, c := range []struct {
		name  string
		bytes []byte
		want  string
		ok    bool
		err   error
	}{
		{"sound", table(bios + system + end), "S1", true, nil},
		{"without end", table(bios + system), "S1", true, nil},
		{"end cut short", table(bios + system + end[:1]), "S1", true, nil},
		{"rubbish behind", table(bios + system + "\x02\x00\x00"), "S1", true, nil},
		{"says more than there is", whole(4096, bios+system), "S1", true, nil},
		{"says the largest", whole(0xFFFFFFFF, bios+system), "S1", true, nil},
		{"says less", whole(uint32(len(bios)), bios+system), "", false, nil},
		{"second system", table(bios + system + "\x01\x08\x00\x00\x00\x00\x00\x01S2\x00\x00"), "S1", true, nil},
		{"behind the end", table(bios + end + system), "", false, nil},
		{"nothing", table(""), "", false, nil},
		{"header alone", nil, "", false, ErrMalformed},
		{"half a header", []byte{0, 2, 8, 0, 0, 0, 0}, "", false, ErrMalformed},
		{"length 0", table("\x00\x00\x00\x00" + system), "", false, ErrMalformed},
		{"length 3", table("\x00\x03\x00\x00\x00\x00" + system), "", false, ErrMalformed},
		{"length beyond the table", table("\x00\xFF\x00\x00\x00\x00" + system), "", false, ErrMalformed},
		{"half a structure", table(bios + "\x01\x08"), "", false, ErrMalformed},
		{"strings without end", table(bios + "\x01\x08\x00\x00\x00\x00\x00\x01S1"), "", false, ErrMalformed},
		{"last string ends, not all", table(bios + "\x01\x08\x00\x00\x00\x00\x00\x01S1\x00"), "", false, ErrMalformed},
		{"no strings, one NUL", table(bios + "\x01\x08\x00\x00\x00\x00\x00\x01\x00"), "", true, nil},
		{"shorter than the serial", table("\x01\x07\x00\x00\x00\x00\x00S1\x00\x00"), "", true, nil},
		{"string 0", table("\x01\x08\x00\x00\x00\x00\x00\x00S1\x00\x00"), "", true, nil},
		{"string 255", table("\x01\x08\x00\x00\x00\x00\x00\xFFS1\x00\x00"), "", true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var found SMBIOSStructure
			var ok bool
			s, err := DecodeSMBIOS(c.bytes)
			if err == nil {
				found, ok, err = s.Structure(SMBIOSTypeSystem)
			}
			wantError(t, err, c.err)
			if got := found.Text(SMBIOSSerialNumber); ok != c.ok || got != c.want {
				t.Errorf("got %q, %v; want %q, %v", got, ok, c.want, c.ok)
			}
		})
	}
}

// A structure of every length and number of strings comes back.
func TestSMBIOSStructureEncode(t *testing.T) {
	for _, fields := range []int{0, 4, 251} {
		for _, texts := range []int{0, 1, 200} {
			want := SMBIOSStructure{Type: 11, Handle: 7, Fields: bytes.Repeat([]byte{1}, fields), Strings: slices.Repeat([]string{"x"}, texts)}
			got, ok, err := SMBIOS{Table: append(want.Encode(), 1)}.Structure(11)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); !ok || err != nil || diff != "" {
				t.Errorf("%d fields, %d strings: %v, %v\n%s", fields, texts, ok, err, diff)
			}
		}
	}
	long := SMBIOSStructure{Fields: make([]byte, 1000)}
	if b := long.Encode(); b[1] != 255 || len(b) != 257 {
		t.Errorf("length %d in %d bytes", b[1], len(b))
	}
}

// FuzzSMBIOS: whatever the firmware holds, a structure is within its bytes and
// comes back.
func FuzzSMBIOS(f *testing.F) {
	f.Add(smbiosBytes)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decode(t, b, DecodeSMBIOS)
		if err != nil {
			return
		}
		comesBack(t, s, plain(SMBIOS.Encode), DecodeSMBIOS)
		for kind := range 256 {
			found, ok, err := s.Structure(uint8(kind))
			if err != nil && !isDecoderError(err) {
				t.Fatalf("error of another kind: %v", err)
			}
			if !ok {
				continue
			}
			if size := len(found.Fields) + len(strings.Join(found.Strings, "")); size > len(b) {
				t.Fatalf("%d bytes in %d", size, len(b))
			}
			again, ok, err := SMBIOS{Table: found.Encode()}.Structure(uint8(kind))
			if diff := cmp.Diff(found, again, cmpopts.EquateEmpty()); uint8(kind) != SMBIOSTypeEndOfTable && (!ok || err != nil || diff != "") {
				t.Fatalf("%v, %v (-first +again):\n%s", ok, err, diff)
			}
			for offset := range 300 {
				_ = found.Text(offset)
			}
		}
	})
}

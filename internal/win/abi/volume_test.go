// SPDX-License-Identifier: Apache-2.0

package abi_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	. "github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func TestDiskExtentsThatDidNotFit(t *testing.T) {
	all := []DiskExtent{{Disk: 1, Offset: 2, Length: 3}, {Disk: 4, Offset: 5, Length: 6}}
	whole := EncodeDiskExtents(all)
	many := append([]byte(nil), whole...)
	le.PutUint32(many, math.MaxUint32)
	for _, c := range []struct {
		name  string
		bytes []byte
		want  []DiskExtent
		err   error
	}{
		{"all", whole, all, nil},
		{"ERROR_MORE_DATA with one", whole[:32], all[:1], &TruncatedError{Need: 56}},
		{"only the count", whole[:4], nil, &TruncatedError{Need: 56}},
		{"half an extent", whole[:55], all[:1], &TruncatedError{Need: 56}},
		{"count of 2^32-1", many, all, &TruncatedError{Need: 8 + 24*math.MaxUint32}},
		{"half a count", whole[:3], nil, ErrMalformed},
		{"none", EncodeDiskExtents(nil), nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := DecodeDiskExtents(c.bytes)
			wantError(t, err, c.err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMountPointsOfHostileManagers(t *testing.T) {
	const size, count, entry = 0, 4, 8
	points := func() []byte {
		b, err := EncodeMountPoints([]MountPoint{{SymbolicLink: `\DosDevices\C:`, UniqueID: []byte("id"), Device: `\Device\V1`}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		name  string
		spoil func([]byte) []byte
		err   error
	}{
		{"whole", func(b []byte) []byte { return b }, nil},
		{"bytes behind", func(b []byte) []byte { return append(b, 1) }, nil},
		{"empty", func([]byte) []byte { return nil }, ErrMalformed},
		{"only the header", func(b []byte) []byte { return b[:8] }, &TruncatedError{Need: uint64(len(points()))}},
		{"last byte cut", func(b []byte) []byte { return b[:len(b)-1] }, &TruncatedError{Need: uint64(len(points()))}},
		{"size smaller than the header", func(b []byte) []byte { le.PutUint32(b[size:], 7); return b }, ErrMalformed},
		{"size smaller than the entries", func(b []byte) []byte { le.PutUint32(b[size:], 31); return b }, ErrMalformed},
		{"size smaller than the names", func(b []byte) []byte { le.PutUint32(b[size:], 32); return b }, ErrMalformed},
		{"count of 2^32-1", func(b []byte) []byte { le.PutUint32(b[count:], math.MaxUint32); return b }, ErrMalformed},
		{"link beyond the end", func(b []byte) []byte { le.PutUint32(b[entry:], math.MaxUint32); return b }, ErrMalformed},
		{"id beyond the end", func(b []byte) []byte { le.PutUint16(b[entry+12:], math.MaxUint16); return b }, ErrMalformed},
		{"device one byte beyond the end", func(b []byte) []byte { le.PutUint16(b[entry+20:], 22); return b }, ErrMalformed},
		{"odd link", func(b []byte) []byte { le.PutUint16(b[entry+4:], 27); return b }, ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := DecodeMountPoints(c.spoil(points()))
			wantError(t, err, c.err)
			if c.err != nil && got != nil {
				t.Errorf("half a list beside an error: %+v", got)
			}
			if c.err == nil && len(got) != 1 {
				t.Errorf("%d mount points", len(got))
			}
		})
	}
}

// The links of one volume may point at one id and name, but a small reply must
// not unfold to a large list.
func TestMountPointsThatShareBytes(t *testing.T) {
	shared := func(entries int, length uint16) []byte {
		b := le.AppendUint32(nil, uint32(8+24*entries+int(length)))
		b = le.AppendUint32(b, uint32(entries))
		for range entries {
			for range 3 {
				b = le.AppendUint32(b, uint32(8+24*entries))
				b = le.AppendUint16(b, length)
				b = append(b, 0, 0)
			}
		}
		return append(b, bytes.Repeat([]byte("x\x00"), int(length)/2)...)
	}
	got, err := DecodeMountPoints(shared(2, 60))
	if err != nil || len(got) != 2 || got[1].Device != strings.Repeat("x", 30) {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = DecodeMountPoints(shared(1000, 60000))
	wantError(t, err, ErrMalformed)
}

func TestMountPointQuery(t *testing.T) {
	for _, want := range []MountPoint{
		{},
		{SymbolicLink: `\??\Volume{01020304-0000-0000-0000-000000000000}`},
		{UniqueID: []byte{1, 2, 3}, Device: `\Device\HarddiskVolume3`},
	} {
		b, err := want.EncodeQuery()
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeMountPointQuery(b)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if got, err := DecodeMountPointQuery(QueryEveryMountPoint()); err != nil || !cmp.Equal(got, MountPoint{}, cmpopts.EquateEmpty()) {
		t.Errorf("the query for all is %+v, %v", got, err)
	}
	_, err := MountPoint{Device: strings.Repeat("x", 32768)}.EncodeQuery()
	wantError(t, err, ErrMalformed)
	_, err = EncodeMountPoints([]MountPoint{{Device: strings.Repeat("x", 32768)}})
	wantError(t, err, ErrMalformed)
}

func TestUniqueID(t *testing.T) {
	gpt := "DMIO:ID:\x44\x33\x22\x11\x66\x55\x88\x77\x99\xaa\xbb\xcc\xdd\xee\xff\x01"
	mbr := "\xd4\xc3\xb2\xa1\x00\x00\x10\x00\x00\x00\x00\x00"
	for _, c := range []struct {
		name string
		id   string
		want UniqueID
		ok   bool
	}{
		{"GPT", gpt, UniqueID{Style: PartitionStyleGPT, Partition: GUID{0x11223344, 0x5566, 0x7788, [8]byte{0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF, 1}}}, true},
		{"MBR", mbr, UniqueID{Style: PartitionStyleMBR, Signature: 0xA1B2C3D4, Offset: 1048576}, true},
		{"none", "", UniqueID{}, false},
		{"GPT cut", gpt[:23], UniqueID{}, false},
		{"GPT and more", gpt + "x", UniqueID{}, false},
		{"MBR cut", mbr[:11], UniqueID{}, false},
		{"prefix alone, as long as MBR", "DMIO:ID:abcd", UniqueID{Style: PartitionStyleMBR, Signature: 0x4F494D44, Offset: 0x646362613A44493A}, true},
		{"removable", `_??_USBSTOR#Disk`, UniqueID{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := ParseUniqueID([]byte(c.id))
			if got != c.want || ok != c.ok {
				t.Errorf("got %+v, %t, want %+v, %t", got, ok, c.want, c.ok)
			}
			if ok && string(got.Encode()) != c.id {
				t.Errorf("encoded %q, want %q", got.Encode(), c.id)
			}
		})
	}
	if b := (UniqueID{Style: PartitionStyleRAW}).Encode(); b != nil {
		t.Errorf("RAW has the id %x", b)
	}
}

func TestVolumeDirty(t *testing.T) {
	for flags, want := range map[string]bool{
		"\x00\x00\x00\x00": false,
		"\x01\x00\x00\x00": true,  // VOLUME_IS_DIRTY
		"\x02\x00\x00\x00": false, // VOLUME_UPGRADE_SCHEDULED
		"\x05\x00\x00\x00": true,
	} {
		if got, err := DecodeVolumeDirty([]byte(flags)); err != nil || got != want {
			t.Errorf("%x: got %t, %v, want %t", flags, got, err, want)
		}
	}
	for _, dirty := range []bool{false, true} {
		if got, err := DecodeVolumeDirty(EncodeVolumeDirty(dirty)); err != nil || got != dirty {
			t.Errorf("%t: got %t, %v", dirty, got, err)
		}
	}
	if _, err := DecodeVolumeDirty([]byte{1, 0, 0}); err == nil {
		t.Error("three bytes are decoded")
	}
}

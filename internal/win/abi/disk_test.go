// SPDX-License-Identifier: Apache-2.0

package abi_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func TestLayoutOfHostileDisks(t *testing.T) {
	gpt := func() []byte {
		return Layout{
			Style:      PartitionStyleGPT,
			Partitions: []Partition{{Style: PartitionStyleGPT, Length: 1, Name: "one"}, {Style: PartitionStyleGPT, Length: 2}},
		}.Encode()
	}
	for _, c := range []struct {
		name  string
		spoil func([]byte) []byte
		err   error
	}{
		{"whole", func(b []byte) []byte { return b }, nil},
		{"more bytes than entries", func(b []byte) []byte { return append(b, 1, 2, 3) }, nil},
		{"empty", func([]byte) []byte { return nil }, ErrMalformed},
		{"half a header", func(b []byte) []byte { return b[:47] }, ErrMalformed},
		{"last entry cut", func(b []byte) []byte { return b[:len(b)-1] }, &TruncatedError{Need: 48 + 2*144}},
		{"only the header", func(b []byte) []byte { return b[:48] }, &TruncatedError{Need: 48 + 2*144}},
		{"count of 2^32-1", func(b []byte) []byte { le.PutUint32(b[4:], math.MaxUint32); return b }, &TruncatedError{Need: 48 + math.MaxUint32*144}},
		{"unknown style", func(b []byte) []byte { le.PutUint32(b, 3); return b }, ErrMalformed},
		{"unknown style of an entry", func(b []byte) []byte { le.PutUint32(b[48+144:], 9); return b }, ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := DecodeLayout(c.spoil(gpt()))
			wantError(t, err, c.err)
			if c.err != nil && !cmp.Equal(got, Layout{}) {
				t.Errorf("half a layout beside an error: %+v", got)
			}
			if c.err == nil && len(got.Partitions) != 2 {
				t.Errorf("%d partitions", len(got.Partitions))
			}
		})
	}
}

func TestEmptyLayouts(t *testing.T) {
	for _, style := range []PartitionStyle{PartitionStyleRAW, PartitionStyleMBR, PartitionStyleGPT} {
		got, err := DecodeLayout(Layout{Style: style}.Encode())
		if diff := cmp.Diff(Layout{Style: style}, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", style, err, diff)
		}
	}
}

func TestPartitionNameIsCut(t *testing.T) {
	long := "123456789012345678901234567890123456789"
	got, err := DecodeLayout(Layout{Partitions: []Partition{{Style: PartitionStyleGPT, Name: long, ID: GUID{Data1: 1}}}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Partitions[0]; p.Name != long[:36] || p.ID != (GUID{Data1: 1}) {
		t.Errorf("got %+v", p)
	}
}

func TestPartitionUnused(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Partition
		want bool
	}{
		{"empty MBR slot", Partition{Style: PartitionStyleMBR}, true},
		{"MBR type without length", Partition{Style: PartitionStyleMBR, MBRType: PARTITION_IFS}, false},
		{"MBR length without type", Partition{Style: PartitionStyleMBR, Length: 1}, false},
		{"empty GPT slot", Partition{Style: PartitionStyleGPT}, true},
		{"GPT type without length", Partition{Style: PartitionStyleGPT, Type: PARTITION_BASIC_DATA_GUID}, false},
		{"GPT length without type", Partition{Style: PartitionStyleGPT, Length: 1}, false},
		{"superfloppy", Partition{Style: PartitionStyleRAW, Length: 1}, false},
		{"RAW without length", Partition{Style: PartitionStyleRAW}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.p.Unused(); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package abi_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	. "github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

var le = binary.LittleEndian

// wantError checks the kind of a decoder's error: nil, ErrMalformed, or a
// TruncatedError that needs so many bytes.
func wantError(t *testing.T, got, want error) {
	t.Helper()
	var need, truncated *TruncatedError
	if errors.As(want, &need) {
		if !errors.As(got, &truncated) || truncated.Need != need.Need {
			t.Errorf("error %v, want a need of %d bytes", got, need.Need)
		}
		return
	}
	if !errors.Is(got, want) {
		t.Errorf("error %v, want %v", got, want)
	}
}

func TestRequiredAccess(t *testing.T) {
	for _, c := range []struct {
		name string
		code uint32
		want uint32
	}{
		{"any", IOCTL_STORAGE_QUERY_PROPERTY, 0},
		{"read", IOCTL_DISK_GET_LENGTH_INFO, 1},
		{"read and write", IOCTL_DISK_SET_DISK_ATTRIBUTES, 3},
		{"method neither", FSCTL_ALLOW_EXTENDED_DASD_IO, 0},
		{"volume", FSCTL_EXTEND_VOLUME, 0},
		{"mount manager", IOCTL_MOUNTMGR_QUERY_POINTS, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := RequiredAccess(c.code); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for want, got := range map[string]interface{ String() string }{
		"MBR":                 PartitionStyleMBR,
		"GPT":                 PartitionStyleGPT,
		"RAW":                 PartitionStyleRAW,
		"partition style 3":   PartitionStyle(3),
		"Unknown":             BusTypeUnknown,
		"iSCSI":               BusTypeISCSI,
		"File Backed Virtual": BusTypeFileBackedVirtual,
		"NVMe":                BusTypeNVMe,
		"UFS":                 BusTypeUFS,
		"bus type 20":         BusType(20),
		"bus type 4294967295": BusType(math.MaxUint32),
		"ASCII":               CodeSetASCII,
		"UTF-8":               CodeSetUTF8,
		"code set 4":          CodeSet(4),
		"T10 vendor id":       IdentifierVendorID,
		"SCSI name":           IdentifierSCSIName,
		"identifier type 9":   IdentifierType(9),
		"device":              AssociationDevice,
		"target":              AssociationTarget,
		"association 3":       Association(3),
	} {
		if got.String() != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// page83 builds a STORAGE_DEVICE_ID_DESCRIPTOR of raw entries and header
// fields of one's own.
func page83(size, count uint32, entries ...[]byte) []byte {
	b := le.AppendUint32(nil, 16)
	b = le.AppendUint32(b, size)
	b = le.AppendUint32(b, count)
	for _, e := range entries {
		b = append(b, e...)
	}
	if size == 0 {
		le.PutUint32(b[4:], uint32(len(b)))
	}
	return b
}

// designator builds a STORAGE_IDENTIFIER that names the device.
func designator(codeSet CodeSet, size, next uint16, value string) []byte {
	b := le.AppendUint32(nil, uint32(codeSet))
	b = le.AppendUint32(b, uint32(IdentifierVendorID))
	b = le.AppendUint16(b, size)
	b = le.AppendUint16(b, next)
	b = le.AppendUint32(b, uint32(AssociationDevice))
	return append(b, value...)
}

// DISK-23, BUG 21: no length or offset is trusted.
func TestDecodeIdentifiers_D09_HostileDevices(t *testing.T) {
	good := designator(CodeSetASCII, 4, 20, "good")
	last := designator(CodeSetASCII, 4, 0, "last")
	for _, c := range []struct {
		name  string
		bytes []byte
		want  []string
		err   error
	}{
		{"none", page83(0, 0), nil, nil},
		{"two", page83(0, 2, good, last), []string{"good", "last"}, nil},
		{"count ends it", page83(0, 1, good, last), []string{"good"}, nil},
		{"next of the last leads to the end", page83(0, 1, good), []string{"good"}, nil},
		{"empty", nil, nil, ErrMalformed},
		{"half a header", page83(0, 1)[:11], nil, ErrMalformed},
		{"size smaller than the header", page83(11, 1, last), nil, ErrMalformed},
		{"size ends it", page83(12+20, 2, good, last), []string{"good"}, ErrMalformed},
		{"size beyond the bytes", page83(4096, 2, good, last), []string{"good", "last"}, &TruncatedError{Need: 4096}},
		{"cut in the second", page83(12+40, 2, good, last)[:12+39], []string{"good"}, &TruncatedError{Need: 52}},
		{
			"D09: next 0, size 0xFFFF, count 2^32-1", page83(0, math.MaxUint32, designator(CodeSetBinary, 0xFFFF, 0, "x")),
			nil, ErrMalformed,
		},
		{"next 0 before the last", page83(0, math.MaxUint32, last), []string{"last"}, ErrMalformed},
		{"next within itself", page83(0, 2, designator(CodeSetASCII, 0, 15, "good"), last), nil, ErrMalformed},
		{"next beyond the end", page83(0, 2, designator(CodeSetASCII, 4, 21, "good")), nil, ErrMalformed},
		{"identifier into the next entry", page83(0, 2, designator(CodeSetASCII, 5, 20, "good"), last), nil, ErrMalformed},
		{"identifier beyond the end", page83(0, 2, good, designator(CodeSetASCII, 5, 0, "last")), []string{"good"}, ErrMalformed},
		{"cut fixed part", page83(0, 2, good, last[:15]), []string{"good"}, ErrMalformed},
		{"padding between", page83(0, 2, designator(CodeSetASCII, 3, 20, "abc\x00"), last), []string{"abc", "last"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := DecodeIdentifiers(c.bytes)
			wantError(t, err, c.err)
			var got []string
			for _, i := range list {
				got = append(got, string(i.Value))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestIdentifierTooLong(t *testing.T) {
	_, err := EncodeIdentifiers([]Identifier{{Value: make([]byte, math.MaxUint16)}})
	wantError(t, err, ErrMalformed)
}

func TestIdentifier_Text(t *testing.T) {
	for codeSet, want := range map[CodeSet]string{CodeSetBinary: "4142", CodeSetASCII: "AB", CodeSetUTF8: "AB", 0: "", 7: ""} {
		if got := (Identifier{CodeSet: codeSet, Value: []byte("AB")}).Text(); got != want {
			t.Errorf("code set %d: %q, want %q", codeSet, got, want)
		}
	}
}

func TestPage83(t *testing.T) {
	vhd, err := hex.DecodeString("4d53465420202020328d59b360875845ac645473be8267bf")
	if err != nil {
		t.Fatal(err)
	}
	id := func(codeSet CodeSet, association Association, value string) Identifier {
		return Identifier{CodeSet: codeSet, Association: association, Value: []byte(value)}
	}
	for _, c := range []struct {
		name string
		list []Identifier
		want string
	}{
		{"none", nil, ""},
		{"VHD, binary", []Identifier{id(CodeSetBinary, AssociationDevice, string(vhd))}, "4d53465420202020328d59b360875845ac645473be8267bf"},
		{"GCE, two blanks stay", []Identifier{id(CodeSetASCII, AssociationDevice, "Google  persistent-disk-0")}, "Google  persistent-disk-0"},
		{"the device's only", []Identifier{id(CodeSetASCII, AssociationPort, "port"), id(CodeSetASCII, AssociationTarget, "target"), id(CodeSetASCII, AssociationDevice, "disk")}, "disk"},
		{"the first", []Identifier{id(CodeSetBinary, AssociationDevice, "\x01"), id(CodeSetASCII, AssociationDevice, "second")}, "01"},
		{"unknown code set skipped", []Identifier{id(0, AssociationDevice, "x"), id(7, AssociationDevice, "y"), id(CodeSetUTF8, AssociationDevice, "zoë")}, "zoë"},
		{"trailing NULs", []Identifier{id(CodeSetASCII, AssociationDevice, "abc \x00\x00")}, "abc "},
		{"not UTF-8", []Identifier{id(CodeSetASCII, AssociationDevice, "a\xFFb")}, "a\uFFFDb"},
		{"blanks", []Identifier{id(CodeSetASCII, AssociationDevice, "    \x00")}, ""},
		{"empty", []Identifier{id(CodeSetASCII, AssociationDevice, "")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Page83(c.list); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// deviceDescriptor builds a STORAGE_DEVICE_DESCRIPTOR with a serial number at
// an offset.
func deviceDescriptor(size, serial uint32, raw string) []byte {
	b := make([]byte, 36)
	le.PutUint32(b[4:], size)
	le.PutUint32(b[24:], serial)
	le.PutUint32(b[28:], uint32(BusTypeNVMe))
	return append(b, raw...)
}

func TestDeviceDescriptorOfHostileDevices(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes []byte
		want  DeviceDescriptor
		err   error
	}{
		{"serial", deviceDescriptor(41, 36, "nvme\x00"), DeviceDescriptor{Serial: "nvme", BusType: BusTypeNVMe}, nil},
		{"serial without NUL ends with the size", deviceDescriptor(40, 36, "nvme!!!!"), DeviceDescriptor{Serial: "nvme", BusType: BusTypeNVMe}, nil},
		{"blanks stay", deviceDescriptor(40, 36, "  a "), DeviceDescriptor{Serial: "  a ", BusType: BusTypeNVMe}, nil},
		{"absent", deviceDescriptor(40, 0, "nvme"), DeviceDescriptor{BusType: BusTypeNVMe}, nil},
		{"offset -1", deviceDescriptor(40, math.MaxUint32, "nvme"), DeviceDescriptor{BusType: BusTypeNVMe}, nil},
		{"offset at the size", deviceDescriptor(40, 40, "nvme!!!!"), DeviceDescriptor{BusType: BusTypeNVMe}, nil},
		{"short", deviceDescriptor(36, 0, "")[:35], DeviceDescriptor{}, ErrMalformed},
		{"size too small", deviceDescriptor(35, 0, ""), DeviceDescriptor{}, ErrMalformed},
		{"size beyond the bytes", deviceDescriptor(1000, 36, "nv"), DeviceDescriptor{Serial: "nv", BusType: BusTypeNVMe}, &TruncatedError{Need: 1000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := DecodeDeviceDescriptor(c.bytes)
			wantError(t, err, c.err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNVMeIdentifyQueryComesBack(t *testing.T) {
	for _, c := range []struct {
		identify NVMeIdentify
		property PropertyID
	}{
		{NVMeIdentify{CNS: CNSNamespace, Namespace: 7}, PropertyDeviceProtocol},
		{NVMeIdentify{CNS: CNSController}, PropertyAdapterProtocol},
	} {
		query, err := DecodePropertyQuery(c.identify.Query().Encode())
		if err != nil {
			t.Fatal(err)
		}
		if query.Property != c.property || query.Type != QueryStandard {
			t.Errorf("query %d of type %d", query.Property, query.Type)
		}
		if got, err := DecodeNVMeIdentify(query.Parameters); err != nil || got != c.identify {
			t.Errorf("got %+v, %v, want %+v", got, err, c.identify)
		}
	}
}

func TestNVMeReplyOfHostileDrivers(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"empty":                  func([]byte) []byte { return nil },
		"short":                  func(b []byte) []byte { return b[:len(b)-1] },
		"only the header":        func(b []byte) []byte { return b[:48] },
		"version":                func(b []byte) []byte { le.PutUint32(b, 47); return b },
		"size":                   func(b []byte) []byte { le.PutUint32(b[4:], math.MaxUint32); return b },
		"protocol":               func(b []byte) []byte { le.PutUint32(b[8:], 1); return b },
		"data type":              func(b []byte) []byte { le.PutUint32(b[12:], 2); return b },
		"offset within itself":   func(b []byte) []byte { le.PutUint32(b[24:], 39); return b },
		"offset beyond the end":  func(b []byte) []byte { le.PutUint32(b[24:], 41); return b },
		"offset overflows":       func(b []byte) []byte { le.PutUint32(b[24:], math.MaxUint32); return b },
		"less data than a block": func(b []byte) []byte { le.PutUint32(b[28:], 4095); return b },
	} {
		t.Run(name, func(t *testing.T) {
			data, err := DecodeNVMeIdentifyReply(spoil(NVMeIdentify{}.Reply(nil)))
			wantError(t, err, ErrMalformed)
			if data != nil {
				t.Errorf("%d bytes beside an error", len(data))
			}
		})
	}
}

func TestIdentifyControllerPads(t *testing.T) {
	got, err := DecodeIdentifyController(IdentifyController{Serial: "short", Model: strings.Repeat("m", 50), VendorArea: []byte("/dev/sdf")}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	want := IdentifyController{
		Serial: "short               ", Model: strings.Repeat("m", 40), Firmware: "        ",
		VendorArea: append([]byte("/dev/sdf"), make([]byte, 1016)...),
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

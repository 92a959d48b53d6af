// SPDX-License-Identifier: Apache-2.0

package abi_test

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	. "github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Every target holds its decoder to the package's promises: it does not panic,
// write to its input or read behind it, an error is of the two kinds, one that
// asks for more bytes is content with them or asks for still more, and what it
// decodes comes back after encoding and decoding again. Hostile seeds are in
// testdata/fuzz, sound ones in golden.json.

// isDecoderError reports whether err is what a decoder may answer beside nil.
func isDecoderError(err error) bool {
	var truncated *TruncatedError
	if errors.As(err, &truncated) {
		return truncated.Need > truncated.Have
	}
	return errors.Is(err, ErrMalformed)
}

// decode runs a decoder on bytes that others follow.
func decode[T any](t *testing.T, b []byte, decode func([]byte) (T, error)) (T, error) {
	t.Helper()
	v, err := decode(followed(b, 0x00))
	input := followed(b, 0xEE)
	again, againErr := decode(input)
	if diff := cmp.Diff(v, again); diff != "" || (err == nil) != (againErr == nil) {
		t.Fatalf("decoder read behind its input: %v, %v\n%s", err, againErr, diff)
	}
	if !bytes.Equal(input, b) {
		t.Fatal("decoder wrote to its input")
	}
	if err != nil && !isDecoderError(err) {
		t.Fatalf("error of another kind: %v", err)
	}
	var truncated *TruncatedError
	if errors.As(err, &truncated) && truncated.Need < 1<<20 {
		checkNeed(t, b, truncated.Need, decode)
	}
	return v, err
}

// followed is a copy of bytes within longer ones.
func followed(b []byte, by byte) []byte {
	const room = 64
	return append(bytes.Clone(b), bytes.Repeat([]byte{by}, room)...)[:len(b)]
}

// checkNeed gives a decoder the bytes that it asked for.
func checkNeed[T any](t *testing.T, b []byte, need uint64, decode func([]byte) (T, error)) {
	t.Helper()
	_, err := decode(append(bytes.Clone(b), make([]byte, int(need)-len(b))...))
	var truncated *TruncatedError
	if errors.As(err, &truncated) && truncated.Need <= need {
		t.Fatalf("with %d bytes it asks for %d", need, truncated.Need)
	}
}

// comesBack checks that a decoded value survives its encoder. Parts that shared
// bytes may be too long for it.
func comesBack[T any](t *testing.T, v T, encode func(T) ([]byte, error), decode func([]byte) (T, error)) {
	t.Helper()
	b, err := encode(v)
	if err != nil {
		wantError(t, err, ErrMalformed)
		return
	}
	again, err := decode(b)
	if err != nil {
		t.Fatalf("encoded value does not decode: %v\n%+v", err, v)
	}
	if diff := cmp.Diff(v, again, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("(-first +again):\n%s", diff)
	}
}

func addGolden(f *testing.F, names ...string) {
	f.Helper()
	g := readGolden(f)
	for _, name := range names {
		f.Add(g.bytes(f, name))
	}
}

// FuzzIdentifiers: the identifiers found are no more and no longer than the
// bytes that hold them.
func FuzzIdentifiers(f *testing.F) {
	addGolden(f, "STORAGE_DEVICE_ID_DESCRIPTOR")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decode(t, b, DecodeIdentifiers)
		total := 0
		for _, i := range list {
			total += 16 + len(i.Value)
		}
		if total > len(b) {
			t.Fatalf("%d bytes of identifiers in %d", total, len(b))
		}
		if s := Page83(list); !utf8.ValidString(s) {
			t.Fatalf("page 83 is not UTF-8: %q", s)
		}
		if err == nil {
			comesBack(t, list, EncodeIdentifiers, DecodeIdentifiers)
		}
	})
}

// FuzzDeviceDescriptor: no string is longer than the bytes.
func FuzzDeviceDescriptor(f *testing.F) {
	addGolden(f, "STORAGE_DEVICE_DESCRIPTOR")
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := decode(t, b, DecodeDeviceDescriptor)
		for _, s := range []string{d.Vendor, d.Product, d.Revision, d.Serial} {
			if len(s) > len(b) {
				t.Fatalf("string of %d bytes in %d", len(s), len(b))
			}
		}
		if err == nil {
			comesBack(t, d, plain(DeviceDescriptor.Encode), DecodeDeviceDescriptor)
		}
	})
}

// FuzzLayout: a layout is whole or not there.
func FuzzLayout(f *testing.F) {
	addGolden(f, "DRIVE_LAYOUT_INFORMATION_EX GPT", "DRIVE_LAYOUT_INFORMATION_EX MBR")
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := decode(t, b, DecodeLayout)
		if err != nil {
			if !cmp.Equal(l, Layout{}) {
				t.Fatal("half a layout beside an error")
			}
			return
		}
		if count := le.Uint32(b[4:]); uint32(len(l.Partitions)) != count {
			t.Fatalf("%d partitions of %d", len(l.Partitions), count)
		}
		comesBack(t, l, plain(Layout.Encode), DecodeLayout)
	})
}

// FuzzDiskExtents: the count is that of the bytes, or the error says how many
// bytes there should be.
func FuzzDiskExtents(f *testing.F) {
	addGolden(f, "VOLUME_DISK_EXTENTS")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decode(t, b, DecodeDiskExtents)
		if len(b) >= 8 && DiskExtentsSize(len(list)) > len(b) {
			t.Fatalf("%d extents in %d bytes", len(list), len(b))
		}
		var truncated *TruncatedError
		switch {
		case errors.As(err, &truncated):
			if want := 8 + 24*uint64(le.Uint32(b)); truncated.Need != want {
				t.Fatalf("needs %d bytes, want %d", truncated.Need, want)
			}
		case err == nil:
			comesBack(t, list, plain(EncodeDiskExtents), DecodeDiskExtents)
		}
	})
}

// FuzzMountPoints: a list is whole or not there, and not out of proportion to
// the bytes.
func FuzzMountPoints(f *testing.F) {
	addGolden(f, "MOUNTMGR_MOUNT_POINTS")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decode(t, b, DecodeMountPoints)
		if err != nil {
			if list != nil {
				t.Fatal("half a list beside an error")
			}
			return
		}
		total := 0
		for _, p := range list {
			total += len(p.SymbolicLink) + len(p.UniqueID) + len(p.Device)
			if id, ok := ParseUniqueID(p.UniqueID); ok && !bytes.Equal(id.Encode(), p.UniqueID) {
				t.Fatalf("unique id %x became %x", p.UniqueID, id.Encode())
			}
		}
		if total > 32*len(b) {
			t.Fatalf("%d bytes unfold to %d", len(b), total)
		}
		comesBack(t, list, EncodeMountPoints, DecodeMountPoints)
	})
}

// FuzzMountPointQuery is the same for the input of the simulated node.
func FuzzMountPointQuery(f *testing.F) {
	addGolden(f, "MOUNTMGR_MOUNT_POINT")
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := decode(t, b, DecodeMountPointQuery); err == nil {
			comesBack(t, p, MountPoint.EncodeQuery, DecodeMountPointQuery)
		}
	})
}

// FuzzReparsePoint: only the two kinds of link have names, and only others have
// data.
func FuzzReparsePoint(f *testing.F) {
	addGolden(f, "REPARSE_DATA_BUFFER symlink", "REPARSE_DATA_BUFFER mount point", "REPARSE_DATA_BUFFER other", "REPARSE_GUID_DATA_BUFFER")
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(t, b, DecodeReparsePoint)
		if err != nil {
			return
		}
		link := p.Tag == IO_REPARSE_TAG_SYMLINK || p.Tag == IO_REPARSE_TAG_MOUNT_POINT
		if named := p.Substitute != "" || p.Print != ""; named && !link || p.Data != nil && link {
			t.Fatalf("names or data in the wrong kind of point: %+v", p)
		}
		comesBack(t, p, ReparsePoint.Encode, DecodeReparsePoint)
	})
}

// FuzzDirEntries: a list is whole or not there, and no longer than the bytes.
func FuzzDirEntries(f *testing.F) {
	addGolden(f, "FILE_ID_BOTH_DIR_INFO")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decode(t, b, DecodeDirEntries)
		if err != nil {
			if list != nil {
				t.Fatal("half a list beside an error")
			}
			return
		}
		total := 0
		for _, e := range list {
			total += 104 + len(EncodeUTF16(e.Name))
		}
		if total > len(b) {
			t.Fatalf("%d bytes of entries in %d", total, len(b))
		}
		comesBack(t, list, plain(encodeDirEntries), DecodeDirEntries)
	})
}

// FuzzNVMeIdentifyReply: the data is IdentifySize bytes or not there.
func FuzzNVMeIdentifyReply(f *testing.F) {
	f.Add(append(readGolden(f).bytes(f, "NVMe identify reply"), make([]byte, IdentifySize)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		data, err := decode(t, b, DecodeNVMeIdentifyReply)
		if err != nil {
			if data != nil {
				t.Fatal("data beside an error")
			}
			return
		}
		controller, err := DecodeIdentifyController(data)
		if err != nil {
			t.Fatal(err)
		}
		comesBack(t, controller, plain(IdentifyController.Encode), DecodeIdentifyController)
		namespace, err := DecodeIdentifyNamespace(data)
		if err != nil {
			t.Fatal(err)
		}
		comesBack(t, namespace, plain(IdentifyNamespace.Encode), DecodeIdentifyNamespace)
	})
}

// FuzzStructures runs every decoder over the same bytes.
func FuzzStructures(f *testing.F) {
	all := append(layouts(), of("NVMe identify query", DecodeNVMeIdentify, plain(encodeNVMeIdentify), NVMeIdentify{}))
	for _, l := range all {
		addGolden(f, l.name)
	}
	all = append(all, of("FSCTL_IS_VOLUME_DIRTY", DecodeVolumeDirty, plain(EncodeVolumeDirty), false))
	f.Add(EncodeVolumeDirty(true))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, l := range all {
			if v, err := decode(t, b, l.decode); err == nil {
				comesBack(t, v, l.encode, l.decode)
			}
		}
	})
}

func encodeNVMeIdentify(i NVMeIdentify) []byte { return i.Query().Parameters }

// FuzzUTF16: different units are different strings, and come back.
func FuzzUTF16(f *testing.F) {
	f.Add([]byte("a\x00\x3D\xD8\xBE\xDC"))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:len(b)/2*2]
		if got := EncodeUTF16(DecodeUTF16(b)); !bytes.Equal(got, b) {
			t.Fatalf("%x became %x", b, got)
		}
	})
}

// FuzzEncodeUTF16: valid UTF-8 comes back.
func FuzzEncodeUTF16(f *testing.F) {
	f.Add("C:\\zoë\U0001F4BE")
	f.Fuzz(func(t *testing.T, s string) {
		got := DecodeUTF16(EncodeUTF16(s))
		if utf8.ValidString(s) && got != s {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

// FuzzParseGUID: what parses is the GUID that its text names.
func FuzzParseGUID(f *testing.F) {
	f.Add("{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}")
	f.Fuzz(func(t *testing.T, s string) {
		g, err := ParseGUID(s)
		if err != nil {
			if !g.IsZero() {
				t.Fatal("a GUID beside an error")
			}
			return
		}
		if again, err := ParseGUID(g.String()); err != nil || again != g {
			t.Fatalf("%s became %s, %v", g, again, err)
		}
		var b [GUIDSize]byte
		g.Put(b[:])
		if again := DecodeGUID(b[:]); again != g {
			t.Fatalf("%s became %s", g, again)
		}
	})
}

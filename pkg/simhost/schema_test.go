// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// Windows Server builds of the tests (windows-api.md 15).
const (
	build2019 = 17763
	build2022 = 20348
)

func TestSchema_ParametersDifferByBuild(t *testing.T) {
	old := []string{
		"FileSystem", "FileSystemLabel", "AllocationUnitSize", "Full", "Force", "Compress", "ShortFileNameSupport",
		"SetIntegrityStreams", "UseLargeFRS", "DisableHeatGathering", "IsDAX", "RunAsJob",
	}
	renewed := slices.Insert(slices.Clone(old), 11, "NoTrim", "DevDrive", "SHA256Checksums")
	for _, tt := range []struct {
		build uint32
		want  []string
	}{{build2019, old}, {build2022, old}, {build23H2, renewed}, {build2025, renewed}} {
		volume, ok := schemaFor(tt.build).class(storageNamespace, "msft_volume")
		if !ok {
			t.Fatalf("build %d has no MSFT_Volume", tt.build)
		}
		format, _ := volume.method("format")
		var got []string
		for _, p := range format.parameters {
			if !p.out {
				got = append(got, p.name)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("build %d: in-parameters of Format (-want +got):\n%s", tt.build, diff)
		}
	}
}

func TestSchema_PropertiesDifferByBuild(t *testing.T) {
	for _, tt := range []struct {
		name                       string
		namespace, class, property string
		since                      uint32 // 0: on no build
	}{
		{"on every build", storageNamespace, "MSFT_Partition", "Offset", build2019},
		{"inherited", storageNamespace, "MSFT_Disk", "ObjectId", build2019},
		{"since 23H2", storageNamespace, "MSFT_PhysicalDisk", "FruId", build23H2},
		{"since 2025", smbNamespace, "MSFT_SmbGlobalMapping", "BlockNTLM", build2025},
		{"on a page only", storageNamespace, "MSFT_PhysicalDisk", "IsPowerProtected", 0},
		{"of PowerShell only", storageNamespace, "MSFT_Partition", "Type", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, build := range []uint32{build2019, build2022, build23H2, build2025} {
				c, ok := schemaFor(build).class(tt.namespace, tt.class)
				if !ok {
					t.Fatalf("build %d has no %s", build, tt.class)
				}
				want := tt.since != 0 && build >= tt.since
				if _, got := c.property(tt.property); got != want {
					t.Errorf("build %d: %s.%s exists: %v, want %v", build, tt.class, tt.property, got, want)
				}
			}
		})
	}
}

func TestSchema_LaterCreateParameters(t *testing.T) {
	for build, want := range map[uint32]bool{build23H2: false, build2025: true} {
		c, _ := schemaFor(build).class(smbNamespace, "MSFT_SmbGlobalMapping")
		create, _ := c.method("Create")
		if _, got := create.parameter("BlockNTLM"); got != want {
			t.Errorf("build %d: Create has BlockNTLM: %v, want %v", build, got, want)
		}
	}
}

func TestSchema_Lookup(t *testing.T) {
	s := schemaFor(build2022)
	for _, namespace := range []string{storageNamespace, strings.ToUpper(storageNamespace), "root/microsoft/windows/storage"} {
		if _, ok := s.class(namespace, "MSFT_DISK"); !ok || !s.hasNamespace(namespace) {
			t.Errorf("%s is not found", namespace)
		}
	}
	if _, ok := s.class(smbNamespace, "MSFT_Disk"); ok {
		t.Error("MSFT_Disk is in the namespace of SMB")
	}
	if s.hasNamespace(`root\cimv3`) {
		t.Error(`root\cimv3 is a namespace`)
	}
	setting, _ := s.class(storageNamespace, "MSFT_StorageSetting")
	if m, _ := setting.method("UpdateHostStorageCache"); !m.static {
		t.Error("UpdateHostStorageCache is not static")
	}
}

// The types of values (windows-api.md 14.7).
func TestCIMType_ToVariant(t *testing.T) {
	for _, tt := range []struct {
		base string
		in   any
		want any
	}{
		{"boolean", true, true},
		{"uint8", uint8(255), uint8(255)},
		{"uint16", uint16(53264), int32(53264)},
		{"uint32", uint32(7), int32(7)},
		{"uint32", uint32(0xFFFF_FFFE), int32(-2)},
		{"sint32", int32(-5), int32(-5)},
		{"uint64", uint64(1) << 63, "9223372036854775808"},
		{"char16", 'C', int16(67)},
		{"string", "x", "x"},
		{"reference", `\\S\n:C`, `\\S\n:C`},
		{"uint64", nil, nil},
	} {
		if got := (cimType{base: tt.base}).toVariant(tt.in); !cmp.Equal(got, tt.want) {
			t.Errorf("%s %v: got %T %v, want %T %v", tt.base, tt.in, got, got, tt.want, tt.want)
		}
	}
	got := cimType{base: "uint16", array: true}.toVariant([]uint16{2, 53264})
	if diff := cmp.Diff([]any{int32(2), int32(53264)}, got); diff != "" {
		t.Errorf("array (-want +got):\n%s", diff)
	}
}

func TestCIMType_FromVariant(t *testing.T) {
	for _, tt := range []struct {
		base string
		in   any
		want any // nil: type mismatch
	}{
		{"boolean", true, true},
		{"boolean", int32(-1), nil},
		{"uint8", uint8(3), uint8(3)},
		{"uint8", int32(3), uint8(3)},
		{"uint8", int32(256), nil},
		{"uint16", int32(2), uint16(2)},
		{"uint16", int32(-1), nil},
		{"uint16", uint16(2), nil},
		{"uint32", int32(-2), uint32(0xFFFF_FFFE)},
		{"uint32", int16(2), nil},
		{"uint32", uint32(2), nil},
		{"uint32", int(2), nil},
		{"uint64", "18446744073709551615", uint64(1<<64 - 1)},
		{"uint64", "-1", nil},
		{"uint64", "0x10", nil},
		{"uint64", uint64(5), nil},
		{"uint64", int32(5), nil},
		{"sint32", int32(-5), int32(-5)},
		{"datetime", "20260101000000.000000+000", "20260101000000.000000+000"},
		{"char16", int16(67), 'C'},
		{"char16", "C", nil},
		{"char16", int32(67), nil},
		{"string", "x", "x"},
		{"string", []byte("x"), nil},
		{"string", int32(1), nil},
		{"object", win.Row{}, win.Row{}},
		{"object", "text", nil},
	} {
		got, ok := (cimType{base: tt.base}).fromVariant(tt.in)
		if ok != (tt.want != nil) || ok && !cmp.Equal(got, tt.want) {
			t.Errorf("%s %T %v: got %T %v, %v, want %T %v", tt.base, tt.in, tt.in, got, got, ok, tt.want, tt.want)
		}
	}
	array := cimType{base: "string", array: true}
	if got, ok := array.fromVariant([]any{"a", "b"}); !ok || !cmp.Equal(got, []any{"a", "b"}) {
		t.Errorf("array: got %v, %v", got, ok)
	}
	if _, ok := array.fromVariant([]string{"a"}); ok {
		t.Error("a []string is no VARIANT")
	}
}

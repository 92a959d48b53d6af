// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func TestSystem_WindowsDirectory(t *testing.T) {
	got, err := system{}.WindowsDirectory()
	if want := os.Getenv("SystemRoot"); err != nil || !strings.EqualFold(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestSystem_BuildNumber(t *testing.T) {
	if build, err := (system{}).BuildNumber(); err != nil || build < 17763 {
		t.Errorf("build %d, %v; want Server 2019 or later", build, err)
	}
}

func TestSystem_RegistryValue(t *testing.T) {
	const version = `SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	value, err := system{}.RegistryValue(version, "ProductName")
	if err != nil || value.Type != registry.SZ || !strings.HasPrefix(abi.DecodeUTF16(value.Data), "Windows") {
		t.Errorf("product name: %+v, %v", value, err)
	}
	for _, tt := range []struct {
		name, key, value string
		want             error
	}{
		{"missing value", version, "No such value", win.ERROR_FILE_NOT_FOUND},
		{"missing key", `SOFTWARE\No such key`, "x", win.ERROR_FILE_NOT_FOUND},
		{"NUL in the key", "\x00", "x", win.ERROR_INVALID_NAME},
		{"NUL in the value", version, "\x00", win.ERROR_INVALID_NAME},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if value, err := (system{}).RegistryValue(tt.key, tt.value); !errors.Is(err, tt.want) || value.Data != nil {
				t.Errorf("got %+v, %v; want %v", value, err, tt.want)
			}
		})
	}
}

func TestSystem_LongRegistryValue(t *testing.T) {
	const path = `SOFTWARE\CSI Proxy test`
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, path, registry.ALL_ACCESS|registry.WOW64_64KEY)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(key.Close(), registry.DeleteKey(registry.LOCAL_MACHINE, path)); err != nil {
			t.Error(err)
		}
	})
	long := strings.Repeat("a", 3000)
	if err := key.SetStringsValue("list", []string{long, "b"}); err != nil {
		t.Fatal(err)
	}
	value, err := system{}.RegistryValue(path, "list")
	if got := abi.DecodeUTF16(value.Data); err != nil || value.Type != registry.MULTI_SZ || got != long+"\x00b\x00\x00" {
		t.Errorf("type %d, %d characters, %v", value.Type, len(got), err)
	}
}

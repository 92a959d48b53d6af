// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/test/wine"
)

const (
	systemDrive   = `C:\`
	unknownVolume = `\\?\Volume{99999999-9999-9999-9999-999999999999}\`
)

func systemVolume(t *testing.T) string {
	t.Helper()
	volume, err := mounts{}.VolumeAt(systemDrive)
	if err != nil {
		t.Fatal(err)
	}
	return volume
}

func TestMounts_VolumeAt(t *testing.T) {
	if volume := systemVolume(t); !regexp.MustCompile(`^\\\\\?\\Volume\{[0-9a-f-]{36}\}\\$`).MatchString(volume) {
		t.Errorf("not a volume name: %q", volume)
	}
	plain := t.TempDir() + `\`
	for _, tt := range []struct {
		name, path string
		want       error
	}{
		{"plain directory", plain, win.ERROR_NOT_A_REPARSE_POINT},
		{"missing directory", plain + `missing\`, wine.MissingMountPoint()},
		{"without the backslash", "C:", win.ERROR_INVALID_NAME},
		{"NUL", "C:\\\x00", win.ERROR_INVALID_NAME},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := (mounts{}).VolumeAt(tt.path); got != "" || !errors.Is(err, tt.want) {
				t.Errorf("got %q, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestMounts_Volumes(t *testing.T) {
	volumes, err := mounts{}.Volumes()
	if err != nil || !slices.Contains(volumes, systemVolume(t)) {
		t.Errorf("%q, %v lack the system volume %q", volumes, err, systemVolume(t))
	}
}

func TestMounts_Paths(t *testing.T) {
	paths, err := mounts{}.Paths(systemVolume(t))
	if err != nil || !slices.Contains(paths, systemDrive) {
		t.Errorf("%q, %v lack %s", paths, err, systemDrive)
	}
	for _, tt := range []struct {
		volume string
		want   error
	}{
		{unknownVolume, win.ERROR_FILE_NOT_FOUND},
		{`C:\x`, win.ERROR_INVALID_NAME},
		{"\x00", win.ERROR_INVALID_NAME},
	} {
		t.Run(tt.volume, func(t *testing.T) {
			if paths, err := (mounts{}).Paths(tt.volume); paths != nil || !errors.Is(err, tt.want) {
				t.Errorf("got %q, %v; want %v", paths, err, tt.want)
			}
		})
	}
}

func TestMounts_MountFolder(t *testing.T) {
	wine.Need(t, wine.MountFolders)
	point, volume := t.TempDir()+`\`, systemVolume(t)
	if err := (mounts{}).SetPoint(point, volume); err != nil {
		t.Fatal(err)
	}
	if got, err := (mounts{}).VolumeAt(point); err != nil || got != volume {
		t.Errorf("mounted: %q, %v; want %q", got, err, volume)
	}
	if err := (mounts{}).DeletePoint(point); err != nil {
		t.Error(err)
	}
	if _, err := (mounts{}).VolumeAt(point); !errors.Is(err, win.ERROR_NOT_A_REPARSE_POINT) {
		t.Errorf("unmounted: error %v, want 4390", err)
	}
}

// A call that fails does not pass for success, even where Windows leaves no
// code: Wine's DeleteVolumeMountPointW leaves none.
func TestMounts_FailureIsAnError(t *testing.T) {
	plain := t.TempDir() + `\`
	for _, tt := range []struct {
		name string
		call func() error
	}{
		{"mount nothing", func() error { return mounts{}.SetPoint(plain, unknownVolume) }},
		{"mount, NUL in the folder", func() error { return mounts{}.SetPoint("\x00", unknownVolume) }},
		{"mount, NUL in the volume", func() error { return mounts{}.SetPoint(plain, "\x00") }},
		{"unmount a missing folder", func() error { return mounts{}.DeletePoint(plain + `missing\`) }},
		{"unmount, NUL in the folder", func() error { return mounts{}.DeletePoint("\x00") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if code := win.Errno(0); !errors.As(tt.call(), &code) || code == 0 {
				t.Errorf("code %d, want another", code)
			}
		})
	}
}

func TestMounts_Information(t *testing.T) {
	for _, root := range []string{systemDrive, systemVolume(t)} {
		info, err := mounts{}.Information(root)
		if err != nil || !strings.EqualFold(info.FileSystem, "NTFS") {
			t.Errorf("%s: %+v, %v; want NTFS", root, info, err)
		}
	}
	if info, err := (mounts{}).Information(unknownVolume); err == nil || info != (win.VolumeInformation{}) {
		t.Errorf("unknown volume: %+v, %v; want an error alone", info, err)
	}
}

func TestMounts_FreeSpace(t *testing.T) {
	for _, path := range []string{systemDrive, systemVolume(t), t.TempDir()} {
		space, err := mounts{}.FreeSpace(path)
		if err != nil || space.Total == 0 || space.Available > space.Total || space.Free < space.Available {
			t.Errorf("%s: %+v, %v", path, space, err)
		}
	}
	if space, err := (mounts{}).FreeSpace(systemDrive + `no\such\folder`); !errors.Is(err, win.ERROR_PATH_NOT_FOUND) || space != (win.FreeSpace{}) {
		t.Errorf("missing folder: %+v, error %v; want 3", space, err)
	}
}

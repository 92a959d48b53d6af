// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// fakeFile is the one file of a host, whatever its name.
type fakeFile struct {
	win.Files // of these only some methods are needed
	win.File

	point    []byte // its reparse point
	final    string
	finalErr error
}

func (f *fakeFile) Open(win.File, string, win.OpenFile) (win.File, error) { return f, nil }

func (f *fakeFile) Control(_ uint32, _, out []byte) (int, error) { return copy(out, f.point), nil }

func (f *fakeFile) FinalPath(uint32) (string, error) { return f.final, f.finalErr }

func (f *fakeFile) Close() error { return nil }

func somePath(t *testing.T) winpath.Path {
	t.Helper()
	path, err := winpath.Parse(`C:\mnt\a`, 0)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A mount point leads to its volume; one whose target is no path leads nowhere,
// which is told.
func TestMounts_Targets(t *testing.T) {
	for name, c := range map[string]struct {
		substitute string
		mounted    bool
		folder     error
		found      error
	}{
		"volume":    {`\??\` + someVolume[4:], true, nil, nil},
		"a device":  {`\Device\HarddiskVolume3\`, false, errdefs.ErrNotMounted, errdefs.ErrFailedPrecondition},
		"to itself": {`\??\C:\mnt\a`, false, errdefs.ErrNotMounted, errdefs.ErrLinkLoop},
	} {
		t.Run(name, func(t *testing.T) {
			point, err := abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: c.substitute}.Encode()
			if err != nil {
				t.Fatal(err)
			}
			s := On(&win.Host{Files: &fakeFile{point: point}})
			at, err := s.FindMountPoint(t.Context(), somePath(t))
			if !errors.Is(err, c.found) || errors.Is(err, errdefs.ErrLinkLoop) != (c.found == errdefs.ErrLinkLoop) || at.Path != somePath(t) { //nolint:errorlint // itself
				t.Errorf("found %+v, %v", at, err)
			}
			if at.Mounted != c.mounted || c.mounted && at.Volume.String() != someVolume {
				t.Errorf("found %+v, %v", at, err)
			}
			id, err := s.MountFolder(t.Context(), somePath(t))
			if !errors.Is(err, c.folder) || c.mounted && id.String() != someVolume {
				t.Errorf("folder %v, %v", id, err)
			}
		})
	}
}

// The volume of a path is the one that Windows names, and else none.
func TestVolumeOfPath(t *testing.T) {
	for name, c := range map[string]struct {
		final string
		err   error
		want  error
	}{
		"below its root": {someVolume + `mnt\a`, nil, nil},
		"no name":        {"", win.ERROR_PATH_NOT_FOUND, win.ERROR_PATH_NOT_FOUND}, // as a file server's
		"a drive":        {`\\?\C:\mnt\a`, nil, errdefs.ErrInvalidArgument},
		"no path":        {`mnt\a`, nil, errdefs.ErrInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			s := On(&win.Host{Files: &fakeFile{final: c.final, finalErr: c.err}})
			id, err := s.VolumeOfPath(t.Context(), somePath(t))
			if !errors.Is(err, c.want) || (err == nil) != (id.String() == someVolume) {
				t.Errorf("got %v, %v", id, err)
			}
			if name == "no path" && !strings.Contains(err.Error(), c.final) {
				t.Errorf("%v does not say what Windows named", err)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	"github.com/kubernetes-csi/csi-proxy/v2/test/wine"
)

func isNotExist(err error) bool   { return os.IsNotExist(err) }
func isExist(err error) bool      { return os.IsExist(err) }
func isPermission(err error) bool { return os.IsPermission(err) }

// The judges on Windows itself.
func TestWindows_OSJudges(t *testing.T) {
	m, err := newMounter()
	must(t, err)
	missing := filepath.Join(t.TempDir(), "missing")
	checkMissing(t, m.Fs, missing)

	_, err = m.Fs.IsSymlink(t.Context(), &filesystem.IsSymlinkRequest{Path: missing})
	_, lstat := os.Lstat(missing)
	if got, want := errors.Unwrap(err), errors.Unwrap(lstat); got != want { //nolint:errorlint // the bare number is the point
		t.Errorf("IsSymlink of a missing path: %#v, upstream's os.Lstat has %#v", got, want)
	}
}

func TestWindows_OSJudges_Taken(t *testing.T) {
	wine.Need(t, wine.ReparsePoints)
	m, err := newMounter()
	must(t, err)
	checkTaken(t, m.Fs, t.TempDir())
}

func TestWindows_NotMounted(t *testing.T) {
	m, err := newMounter()
	must(t, err)
	directory := t.TempDir()
	for name, path := range map[string]string{"plain directory": directory, "missing path": filepath.Join(directory, "missing")} {
		_, err := m.Volume.GetVolumeIDFromTargetPath(t.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
		if err == nil || !notMounted.MatchString(err.Error()) || !errors.Is(err, errdefs.ErrNotMounted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

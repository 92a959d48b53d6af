// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// upstream has the methods that upstream's Interface has, and no more.
type upstream struct{ filesystem.Interface }

var _ filesystem.Interface = upstream{}

// calls are the group's methods on one path, for what holds for all of them.
func (s *site) calls() map[string]func(path string) (response any, err error) {
	ctx := s.Context()
	return map[string]func(string) (any, error){
		"PathExists": func(p string) (any, error) { return s.fs.PathExists(ctx, &filesystem.PathExistsRequest{Path: p}) },
		"Mkdir":      func(p string) (any, error) { return s.fs.Mkdir(ctx, &filesystem.MkdirRequest{Path: p}) },
		"Rmdir":      func(p string) (any, error) { return s.fs.Rmdir(ctx, &filesystem.RmdirRequest{Path: p}) },
		"Rmdir force": func(p string) (any, error) {
			return s.fs.Rmdir(ctx, &filesystem.RmdirRequest{Path: p, Force: true})
		},
		"RmdirContents": func(p string) (any, error) {
			return s.fs.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: p})
		},
		"CreateSymlink source": func(p string) (any, error) {
			return s.fs.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: p, TargetPath: kubelet + `\new`})
		},
		"CreateSymlink target": func(p string) (any, error) {
			return s.fs.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: kubelet, TargetPath: p})
		},
		"IsSymlink": func(p string) (any, error) { return s.fs.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: p}) },
		"LinkState": func(p string) (any, error) { return s.fs.LinkState(ctx, &filesystem.LinkStateRequest{Path: p}) },
	}
}

// Only a path without drive needs the system drive, which is asked for once.
func TestFLOW9_SystemDriveIsAskedOnce(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{kubelet, `\\?\C:\var`, `\var\lib`, `/var/lib/kubelet`} {
		s.wantPath(path, true)
	}
	if n := s.node.Calls().ByMethod()["System.WindowsDirectory"]; n != 1 {
		t.Errorf("asked %d times for the system drive", n)
	}
}

func TestFLOW9_SystemDriveIsAskedAgainAfterFailure(t *testing.T) {
	s := newSite(t)
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method == "System.WindowsDirectory" {
			return win.ERROR_GEN_FAILURE
		}
		return do()
	})
	_, err := s.fs.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: `\var\lib`})
	if !errors.Is(err, win.ERROR_GEN_FAILURE) {
		t.Fatal(err)
	}
	s.node.OnCall(nil)
	s.wantPath(`\var\lib`, true)
}

// consumers.md 2.3: drivers look at the number right below the outermost error.
func TestErrors_BareNumbers(t *testing.T) {
	s := newSite(t)
	for _, code := range []win.Errno{2, 3, 5, 80, 183, 53, 54, 59, 64, 65, 66, 67, 1219, 1326, 10064} {
		s.node.OnCall(func(simhost.Call, func() error) error { return code })
		for method, call := range s.calls() {
			_, err := call(`\\host\share\x`)
			var got error
			switch e := err.(type) { //nolint:errorlint // the outermost only, as drivers do
			case nil:
				continue // exists: false, or removed already
			case *fs.PathError:
				got = e.Err
			case *os.LinkError:
				got = e.Err
			}
			if got != error(code) { //nolint:errorlint // the bare number, as drivers compare it
				t.Errorf("%s, %d: got %#v", method, code, err)
			}
			if code == win.ERROR_FILE_NOT_FOUND && !isNotExist(err) || code == win.ERROR_ALREADY_EXISTS && !isExist(err) {
				t.Errorf("%s, %d: package os does not know it: %v", method, code, err)
			}
		}
	}
}

func TestErrors_OtherNumbersHaveAKind(t *testing.T) {
	s := newSite(t)
	s.node.OnCall(func(simhost.Call, func() error) error { return win.ERROR_SHARING_VIOLATION })
	for method, call := range s.calls() {
		_, err := call(`C:\x`)
		var own *errdefs.Error
		if !errors.As(err, &own) || errdefs.KindOf(err) != errdefs.Busy || !errors.Is(err, win.ERROR_SHARING_VIOLATION) {
			t.Errorf("%s: got %v", method, err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
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

func isNil(response any) bool {
	switch r := response.(type) {
	case *filesystem.PathExistsResponse:
		return r == nil
	case *filesystem.PathValidResponse:
		return r == nil
	case *filesystem.MkdirResponse:
		return r == nil
	case *filesystem.RmdirResponse:
		return r == nil
	case *filesystem.RmdirContentsResponse:
		return r == nil
	case *filesystem.CreateSymlinkResponse:
		return r == nil
	case *filesystem.IsSymlinkResponse:
		return r == nil
	case *filesystem.LinkStateResponse:
		return r == nil
	}
	return true
}

// LIB-6: an error with an empty response, and no panic.
func TestNilRequests(t *testing.T) {
	s := newSite(t)
	ctx := s.Context()
	check := func(method string, response any, err error) {
		if !errors.Is(err, errdefs.ErrInvalidArgument) || !strings.Contains(err.Error(), method) || isNil(response) {
			t.Errorf("%s: got %v, %v", method, response, err)
		}
	}
	exists, err := s.fs.PathExists(ctx, nil)
	check("PathExists", exists, err)
	valid, err := s.fs.PathValid(ctx, nil)
	check("PathValid", valid, err)
	mkdir, err := s.fs.Mkdir(ctx, nil)
	check("Mkdir", mkdir, err)
	rmdir, err := s.fs.Rmdir(ctx, nil)
	check("Rmdir", rmdir, err)
	contents, err := s.fs.RmdirContents(ctx, nil)
	check("RmdirContents", contents, err)
	link, err := s.fs.CreateSymlink(ctx, nil)
	check("CreateSymlink", link, err)
	isLink, err := s.fs.IsSymlink(ctx, nil)
	check("IsSymlink", isLink, err)
	state, err := s.fs.LinkState(ctx, nil)
	check("LinkState", state, err)
	if n := s.node.Calls().Total(); n != 0 {
		t.Errorf("%d boundary calls", n)
	}
}

// FS-17, FS-40, FS-43 (NUL), F01 and the CVE rows: what is no path is refused before Windows
// is asked, by every method.
func TestBadPaths(t *testing.T) {
	bad := []string{
		``, `pv1\foo`, `C:`, `C:foo`, `\\csi-plugin\..\..\..\system32`, kubelet + `\pods\pv1\..\..\..\system32`, kubelet + `\a/../b`,
		kubelet + `\csi-plugin\pv1:foo`, kubelet + `\pv1*foo`, kubelet + `\pv1?foo`, kubelet + `\csi|pv1`, kubelet + `\a<b`, kubelet + "\\a\x00b",
		kubelet + `\NUL`, kubelet + `\com1.txt`, kubelet + `\x.`, kubelet + `\x `, `\\.\PhysicalDrive0`, `\??\C:\x`, `\\?\GLOBALROOT\Device\x`,
		kubelet + `\` + strings.Repeat("a", 256), `C:\` + strings.Repeat(`a\`, 17000),
	}
	s := newSite(t)
	unchanged := s.unchanged()
	for method, call := range s.calls() {
		for _, path := range bad {
			s.node.Calls().Reset()
			response, err := call(path)
			if !errors.Is(err, errdefs.ErrInvalidArgument) || errdefs.KindOf(err) != errdefs.InvalidArgument {
				t.Errorf("%s(%.60q): %v", method, path, err)
			}
			if isNil(response) {
				t.Errorf("%s(%.60q): nil response", method, path)
			}
			for name := range s.node.Calls().ByMethod() {
				if name != "System.WindowsDirectory" {
					t.Errorf("%s(%.60q) called %s", method, path, name)
				}
			}
		}
	}
	unchanged()
}

// TXT-1: democratic-csi takes the text for false.
func TestTXT1_RelativePathText(t *testing.T) {
	s := newSite(t)
	_, err := s.isSymlink(`pv1\foo`)
	if err == nil || !strings.Contains(err.Error(), "not an absolute Windows path") {
		t.Errorf("IsSymlink: %v", err)
	}
	_, err = s.fs.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: `pv1\foo`})
	if err == nil || !strings.Contains(err.Error(), "not an absolute Windows path") {
		t.Errorf("PathExists: %v", err)
	}
}

// FLOW-9 and F01: every spelling names the same directory, and only one without
// a drive asks for the system drive, once.
func TestFLOW9_Spellings(t *testing.T) {
	s := newSite(t)
	s.must(s.mkdir(kubelet + `\a..b`))
	for _, path := range []string{
		kubelet + `\a..b`, `c:\VAR\lib\KUBELET\A..b`, `C:/var/lib/kubelet/a..b`, `\var\lib\kubelet\a..b`, `/var/lib/kubelet/a..b`,
		kubelet + `\a..b\`, kubelet + `\\.\a..b`, `\\?\C:\var\lib\kubelet\a..b`,
	} {
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

func TestFS20_PathExists(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\dir`)
	s.file(`C:\dir\file`)
	s.symlink(`C:\dir\dangling`, `C:\nowhere`)
	s.symlink(`C:\dir\loop`, `C:\dir\loop`)
	s.mount(`C:\dir\mount`, data)
	s.file(`C:\dir\mount\inside`)
	for path, want := range map[string]bool{
		`C:\dir`: true, `C:\dir\file`: true, `C:\dir\dangling`: true, `C:\dir\loop`: true, `C:\dir\mount`: true, `C:\dir\mount\inside`: true,
		`C:\`: true, data: true, data + `inside`: true, `D:\`: true,
		`C:\missing`: false, `C:\missing\x`: false, `C:\dir\file\x`: false, `C:\dir\dangling\x`: false, `Q:\`: false, `Q:\x`: false, dead: false,
	} {
		s.wantPath(path, want)
	}
}

// FS-21: another error is an error, in the form of package os.
func TestFS21_PathExistsError(t *testing.T) {
	s := newSite(t)
	for _, code := range []win.Errno{win.ERROR_ACCESS_DENIED, win.ERROR_GEN_FAILURE, win.ERROR_NOT_READY, win.ERROR_FILE_CORRUPT} {
		s.node.OnCall(func(simhost.Call, func() error) error { return code })
		resp, err := s.fs.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: `C:\x`})
		var path *fs.PathError
		if resp.Exists || !errors.As(err, &path) || path.Path != `C:\x` || !errors.Is(err, code) {
			t.Errorf("%d: got %v, %v", code, resp.Exists, err)
		}
	}
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

// M22: a file server that does not answer is not a missing path.
func TestPathExists_SilentServer(t *testing.T) {
	s := newSite(t)
	resp, err := s.fs.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: `\\host\share\x`})
	if resp.Exists || !errors.Is(err, win.ERROR_BAD_NETPATH) || errdefs.KindOf(err) != errdefs.Unavailable {
		t.Errorf("got %v, %v", resp.Exists, err)
	}
}

func TestFS45_PathValid(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\dir`)
	s.file(`C:\file`)
	for path, want := range map[string]bool{
		`C:\dir`: true, `C:\file`: true, `c:`: true, `C:\`: true, `Q:`: false, `C:\missing`: false, `C:\a<b`: false, `invalid-remote-path`: false, ``: false,
	} {
		resp, err := s.fs.PathValid(t.Context(), &filesystem.PathValidRequest{Path: path})
		if err != nil || resp.Valid != want {
			t.Errorf("%q: got %v, %v", path, resp.Valid, err)
		}
	}
	for path, want := range map[string]error{"C:\\a\x00": errdefs.ErrInvalidArgument, `\\host\share`: errdefs.ErrUnavailable} {
		resp, err := s.fs.PathValid(t.Context(), &filesystem.PathValidRequest{Path: path})
		if resp.Valid || err == nil || errdefs.KindOf(err) != errdefs.KindOf(want) {
			t.Errorf("%q: got %v, %v", path, resp.Valid, err)
		}
	}
	s.node.OnCall(func(simhost.Call, func() error) error { return win.ERROR_LOGON_FAILURE })
	resp, err := s.fs.PathValid(t.Context(), &filesystem.PathValidRequest{Path: `\\host\share`})
	if resp.Valid || !errors.Is(err, win.ERROR_LOGON_FAILURE) {
		t.Errorf("changed password: got %v, %v", resp.Valid, err)
	}
}

func TestFS22_Mkdir(t *testing.T) {
	s := newSite(t)
	for range 2 {
		for _, path := range []string{staging, `C:\`, `D:\x`, data + `a\b`, `\rooted\x`} {
			s.must(s.mkdir(path))
			s.wantPath(path, true)
		}
	}
	if !slices.Contains(s.files(), `C:\rooted\x: directory`) {
		t.Errorf("got %q", s.files())
	}
}

func TestFS23_MkdirOnAFile(t *testing.T) {
	s := newSite(t)
	s.file(`C:\file`)
	unchanged := s.unchanged()
	for _, path := range []string{`C:\file`, `C:\file\x`, `C:\file\x\y`} {
		err := s.mkdir(path)
		if errdefs.KindOf(err) != errdefs.FailedPrecondition || !strings.HasPrefix(err.Error(), "mkdir "+path+": ") || !strings.Contains(err.Error(), `"file"`) {
			t.Errorf("%s: %v", path, err)
		}
	}
	unchanged()
}

func TestMkdir_LinkAtTheEnd(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\dir`)
	s.file(`C:\file`)
	s.symlink(`C:\live`, `C:\dir`)
	s.junction(`C:\junction`, `C:\dir`)
	s.mount(`C:\mount`, data)
	s.symlink(`C:\dangling`, `C:\nowhere`)
	s.symlink(`C:\loop`, `C:\loop`)
	s.fileLink(`C:\filelink`, `C:\file`)
	unchanged := s.unchanged()
	for _, path := range []string{`C:\live`, `C:\junction`, `C:\mount`} {
		if err := s.mkdir(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := s.mkdir(`C:\dangling`); !isExist(err) {
		t.Errorf("dangling link: %v", err)
	}
	if err := s.mkdir(`C:\loop`); !errors.Is(err, errdefs.ErrLinkLoop) {
		t.Errorf("loop: %v", err)
	}
	if err := s.mkdir(`C:\filelink`); errdefs.KindOf(err) != errdefs.FailedPrecondition {
		t.Errorf("file link: %v", err)
	}
	unchanged()
}

// F04, FS-12: nothing is created or removed through a link, and the error names
// it.
func TestFS12_NothingThroughLinks(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\system\below`)
	s.symlink(kubelet+`\pods\symlink`, `C:\system`)
	s.symlink(kubelet+`\pods\relative`, `..\..\..\..\system`)
	s.junction(kubelet+`\pods\junction`, `C:\system`)
	s.mount(kubelet+`\pods\mount`, data)
	s.directory(data + `below`)
	unchanged := s.unchanged()
	for _, link := range []string{"symlink", "relative", "junction", "mount"} {
		link = kubelet + `\pods\` + link
		for name, err := range map[string]error{
			"Mkdir": s.mkdir(link + `\evil`), "Mkdir deeper": s.mkdir(link + `\below\evil`), "Rmdir": s.rmdir(link+`\below`, false),
			"Rmdir force": s.rmdir(link+`\below`, true), "RmdirContents": s.rmdirContents(link + `\below`),
		} {
			if errdefs.KindOf(err) != errdefs.FailedPrecondition || !strings.Contains(err.Error(), `"`+link+`"`) {
				t.Errorf("%s through %s: %v", name, link, err)
			}
		}
	}
	unchanged()
}

// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// FLOW-9, GCP: kubelet's own spelling everywhere.
func TestFLOW9_RootedPublish(t *testing.T) {
	s := newSite(t)
	rooted := func(path string) string { return strings.TrimPrefix(path, "C:") }
	s.must(s.mkdir(rooted(staging)))
	s.must(s.mkdir(rooted(kubelet + `\pods\uid`)))
	s.must(s.link(rooted(staging), rooted(kubelet+`\pods\uid\mount`)))
	if got, err := s.isSymlink(rooted(kubelet + `\pods\uid\mount`)); !got || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	s.must(s.rmdirContents(rooted(kubelet + `\pods\uid`)))
	s.must(s.rmdir(rooted(kubelet+`\pods\uid`), false))
	s.wantPath(kubelet+`\pods\uid`, false)
}

// The table of docs/architecture.md. A chain costs two calls a link and two for its end,
// of which the root of a volume needs one.
func TestBudgets(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\dir\sub`)
	s.file(`C:\t\file`)
	s.mount(`C:\t\mount`, data)
	s.symlink(`C:\t\link`, `C:\t\dir`)
	s.symlink(`C:\t\relative`, `dir`)
	s.symlink(`C:\t\dangling`, `C:\t\nowhere`)
	s.symlink(`C:\t\tomount`, `C:\t\mount`)
	s.symlink(`C:\t\tolink`, `C:\t\link`)
	s.junction(`C:\t\junction`, `C:\t\dir`)
	s.symlink(`C:\t\dir\up`, `..\file`)
	must := func(_ bool, err error) error { return err }
	tests := []struct {
		name string
		most int
		call func() error
	}{
		{"exists", 3, func() error { s.wantPath(`C:\t\dir`, true); return nil }},
		{"exists not", 3, func() error { s.wantPath(`C:\t\nowhere`, false); return nil }},
		{"is a directory a link", 3, func() error { return must(s.isSymlink(`C:\t\dir`)) }},
		{"is a file a link", 3, func() error { return must(s.isSymlink(`C:\t\file`)) }},
		{"is a directory of FAT a link", 3, func() error { return must(s.isSymlink(`F:\`)) }},
		{"is a link", 4, func() error { return must(s.isSymlink(`C:\t\link`)) }},
		{"is a relative link", 4, func() error { return must(s.isSymlink(`C:\t\relative`)) }},
		{"is a junction", 4, func() error { return must(s.isSymlink(`C:\t\junction`)) }},
		{"is a dangling link", 4, func() error { return must(s.isSymlink(`C:\t\dangling`)) }},
		{"is a mount folder", 4, func() error { return must(s.isSymlink(`C:\t\mount`)) }},
		{"is a link to a mount folder", 4 + 1, func() error { return must(s.isSymlink(`C:\t\tomount`)) }},
		{"is a relative link upwards", 4 + 1, func() error { return must(s.isSymlink(`C:\t\dir\up`)) }},
		{"is a link to a link", 4 + 2, func() error { return must(s.isSymlink(`C:\t\tolink`)) }},
		{"create a link", 7, func() error { return s.link(`C:\t\dir`, `C:\t\new`) }},
		{"create it again", 7, func() error { return s.link(`C:\t\dir`, `C:\t\new`) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.node.Calls().Reset()
			s.must(tt.call())
			if n := s.node.Calls().Total(); n == 0 || n > tt.most {
				t.Errorf("%d calls, at most %d: %v", n, tt.most, s.node.Calls().ByMethod())
			}
			if calls := s.node.Calls().ByMethod(); calls["WMI.Connect"] != 0 {
				t.Error("asked WMI")
			}
		})
	}
}

func TestCanceled(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\t\dir`)
	s.mount(`C:\t\mount`, data)
	unchanged := s.unchanged()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.node.Calls().Reset()
	for name, err := range s.each(ctx, `C:\t\dir`) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := s.node.Calls().Total(); n != 0 {
		t.Errorf("%d boundary calls", n)
	}
	unchanged()
}

// each calls every method once and returns its error.
func (s *site) each(ctx context.Context, path string) map[string]error {
	errs := map[string]error{}
	_, errs["PathExists"] = s.fs.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
	_, errs["PathValid"] = s.fs.PathValid(ctx, &filesystem.PathValidRequest{Path: path})
	_, errs["IsSymlink"] = s.fs.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: path})
	_, errs["LinkState"] = s.fs.LinkState(ctx, &filesystem.LinkStateRequest{Path: path})
	_, errs["Mkdir"] = s.fs.Mkdir(ctx, &filesystem.MkdirRequest{Path: path + `\new`})
	_, errs["CreateSymlink"] = s.fs.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: path, TargetPath: path + `\link`})
	_, errs["RmdirContents"] = s.fs.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: path})
	_, errs["Rmdir"] = s.fs.Rmdir(ctx, &filesystem.RmdirRequest{Path: path})
	_, errs["Rmdir force"] = s.fs.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: true})
	return errs
}

// Most drivers pass context.Background(): a host that hangs does not hang them.
func TestHangingHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		release := make(chan struct{})
		s.node.OnCall(func(_ simhost.Call, do func() error) error {
			<-release
			return do()
		})
		start := time.Now()
		for name, err := range s.each(context.Background(), `C:\t`) {
			if err == nil {
				t.Errorf("%s succeeded", name)
			}
		}
		if waited := time.Since(start); waited > 30*time.Minute {
			t.Errorf("waited %v", waited)
		}
		start = time.Now()
		resp, err := s.fs.PathExists(context.Background(), &filesystem.PathExistsRequest{Path: `C:\another`})
		if resp.Exists || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 30*time.Second {
			t.Errorf("got %v, %v after %v", resp.Exists, err, time.Since(start))
		}
		close(release)
		synctest.Wait()
		if n := s.node.OpenHandles(); n != 0 {
			t.Errorf("%d handles left open", n)
		}
	})
}

// One hanging server takes no more than its share of calls.
func TestHangingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.directory(`C:\t`)
		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if strings.Contains(c.Subject, "UNC") {
				<-release
			}
			return do()
		})
		for i := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := s.fs.PathExists(ctx, &filesystem.PathExistsRequest{Path: fmt.Sprintf(`\\host\share\%d`, i)})
			cancel()
			if err == nil {
				t.Error("no error")
			}
		}
		s.wantPath(`C:\t`, true)
		close(release)
		synctest.Wait()
	})
}

// Many at once, on the same paths and on paths below and above each other: no
// error but those of the rules, and nothing left.
func TestConcurrent(t *testing.T) {
	s := newSite(t)
	s.directory(`C:\source`)
	before := s.files()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			path := fmt.Sprintf(`C:\t\%d`, i%4)
			if err := s.mkdir(path + `\a\b`); err != nil && !isNotExist(err) && !errors.Is(err, win.ERROR_ACCESS_DENIED) {
				t.Errorf("Mkdir: %v", err)
			}
			if err := s.link(`C:\source`, path+`\link`); err != nil && !isNotExist(err) && !isExist(err) && !errors.Is(err, win.ERROR_ACCESS_DENIED) {
				t.Errorf("CreateSymlink: %v", err)
			}
			if _, err := s.isSymlink(path + `\link`); err != nil && !isNotExist(err) && !errors.Is(err, win.ERROR_ACCESS_DENIED) {
				t.Errorf("IsSymlink: %v", err)
			}
			if err := s.rmdir(path, true); err != nil && !errors.Is(err, win.ERROR_DIR_NOT_EMPTY) && !errors.Is(err, win.ERROR_ACCESS_DENIED) {
				t.Errorf("Rmdir: %v", err)
			}
		})
	}
	all.Wait()
	s.must(s.rmdir(`C:\t`, true))
	if got := s.files(); !slices.Equal(got, before) {
		t.Errorf("left %q", got)
	}
}

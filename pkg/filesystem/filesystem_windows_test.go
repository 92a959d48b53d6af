// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
)

// The group on the machine that runs the test, with package os as the witness.
// It makes no links, because Wine has none.
func TestThisMachine(t *testing.T) {
	fs, err := filesystem.New(hostapi.New())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "group")
	deep := dir + strings.Repeat(`\`+strings.Repeat("d", 100), 5)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	exists := func(path string) bool {
		t.Helper()
		resp, err := fs.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
		must(err)
		return resp.Exists
	}
	for range 2 {
		_, err = fs.Mkdir(ctx, &filesystem.MkdirRequest{Path: deep})
		must(err)
	}
	must(os.WriteFile(`\\?\`+deep+`\file`, []byte("x"), 0o400)) // read-only
	if !exists(deep) || !exists(deep+`\file`) || exists(dir+`\missing`) || exists(dir+`\missing\x`) {
		t.Error("PathExists contradicts package os")
	}
	state, err := fs.LinkState(ctx, &filesystem.LinkStateRequest{Path: deep})
	if err != nil || state.State != filesystem.NotALink {
		t.Errorf("LinkState: got %+v, %v", state, err)
	}
	_, err = fs.Mkdir(ctx, &filesystem.MkdirRequest{Path: deep + `\file\x`})
	if errdefs.KindOf(err) != errdefs.FailedPrecondition {
		t.Errorf("Mkdir below a file: %v", err)
	}
	_, err = fs.Rmdir(ctx, &filesystem.RmdirRequest{Path: dir})
	if !errors.Is(err, win.ERROR_DIR_NOT_EMPTY) {
		t.Errorf("Rmdir of a full directory: %v", err)
	}
	_, err = fs.Rmdir(ctx, &filesystem.RmdirRequest{Path: dir + `\missing`})
	if !os.IsNotExist(err) {
		t.Errorf("Rmdir of a missing directory: %v", err)
	}
	_, err = fs.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: dir})
	must(err)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("RmdirContents left %v, %v", left, err)
	}
	for range 2 {
		_, err = fs.Rmdir(ctx, &filesystem.RmdirRequest{Path: dir, Force: true})
		must(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("Rmdir left it: %v", err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func mustCreate(t *testing.T, tr *tree, parent *entry, name string, directory bool) *entry {
	t.Helper()
	e, err := tr.create(parent, name, directory)
	if err != nil {
		t.Fatalf("create %q: %v", name, err)
	}
	return e
}

// wantCode fails the test unless err is the native code, 0 for success.
func wantCode(t *testing.T, err error, want win.Errno) {
	t.Helper()
	if want == 0 && err != nil || want != 0 && !errors.Is(err, want) {
		t.Errorf("got %v, want code %d (%v)", err, uint32(want), want)
	}
}

func TestTree_NamesKeepTheirCase(t *testing.T) {
	tr := newTree()
	e := mustCreate(t, tr, tr.root, "Pods", true)
	if tr.root.child("pODS") != e || e.name != "Pods" {
		t.Errorf("child = %v, name %q", tr.root.child("pODS"), e.name)
	}
	_, err := tr.create(tr.root, "PODS", true)
	wantCode(t, err, win.ERROR_ALREADY_EXISTS)
}

func TestTree_KeepsUnpairedSurrogates(t *testing.T) {
	tr := newTree()
	e := mustCreate(t, tr, tr.root, "a"+lone, false)
	other := mustCreate(t, tr, tr.root, "a\uFFFD", false)
	if e == other || tr.root.child("a"+lone) != e || e.name != "a"+lone {
		t.Errorf("name %q", e.name)
	}
	// Bytes that no Windows name can be made of become U+FFFD, as in package syscall.
	_, err := tr.create(tr.root, "a\xff", false)
	wantCode(t, err, win.ERROR_ALREADY_EXISTS)
}

func TestTree_IDsNameOneFileForEver(t *testing.T) {
	tr := newTree()
	if tr.root.id != 0x0005_0000_0000_0005 {
		t.Errorf("root id %#x", tr.root.id)
	}
	first := mustCreate(t, tr, tr.root, "a", true)
	first.remove()
	second := mustCreate(t, tr, tr.root, "a", true)
	if first.id == second.id {
		t.Errorf("id %#x used twice", first.id)
	}
}

func TestEntry_CheckRemovable(t *testing.T) {
	tr := newTree()
	full := mustCreate(t, tr, tr.root, "full", true)
	readOnly := mustCreate(t, tr, full, "ro", false)
	readOnly.attributes |= abi.FILE_ATTRIBUTE_READONLY

	wantCode(t, tr.root.checkRemovable(true), win.ERROR_ACCESS_DENIED)
	wantCode(t, full.checkRemovable(false), win.ERROR_DIR_NOT_EMPTY)
	wantCode(t, readOnly.checkRemovable(false), win.ERROR_ACCESS_DENIED)
	wantCode(t, readOnly.checkRemovable(true), 0)
}

func TestEntry_Attributes(t *testing.T) {
	tr := newTree()
	dir := mustCreate(t, tr, tr.root, "d", true)
	file := mustCreate(t, tr, tr.root, "f", false)
	if dir.allAttributes() != abi.FILE_ATTRIBUTE_DIRECTORY || file.allAttributes() != abi.FILE_ATTRIBUTE_ARCHIVE {
		t.Errorf("attributes %#x and %#x", dir.allAttributes(), file.allAttributes())
	}
	wantCode(t, file.setBasic(abi.FileBasicInfo{Attributes: abi.FILE_ATTRIBUTE_DIRECTORY}), win.ERROR_INVALID_PARAMETER)
	wantCode(t, file.setBasic(abi.FileBasicInfo{CreationTime: -3}), win.ERROR_INVALID_PARAMETER)
	wantCode(t, file.setBasic(abi.FileBasicInfo{Attributes: abi.FILE_ATTRIBUTE_NORMAL, LastWriteTime: 7, CreationTime: -1}), 0)
	info := file.basic()
	if info.Attributes != abi.FILE_ATTRIBUTE_NORMAL || info.LastWriteTime != 7 || info.CreationTime != created {
		t.Errorf("after setting %+v", info)
	}
	wantCode(t, dir.setBasic(abi.FileBasicInfo{Attributes: abi.FILE_ATTRIBUTE_READONLY}), 0)
	if want := abi.FILE_ATTRIBUTE_READONLY | abi.FILE_ATTRIBUTE_DIRECTORY; dir.allAttributes() != want {
		t.Errorf("attributes %#x, want %#x", dir.allAttributes(), want)
	}
}

// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// The judges of drivers (consumers.md 2.2, 2.3). None of them looks through
// %w, and none knows a type of ours.

// notMounted is what the AWS EBS driver takes for "nothing is mounted there".
var notMounted = regexp.MustCompile(`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)

// corrupted are the codes of mount-utils' IsCorruptedMnt on Windows.
var corrupted = []win.Errno{53, 54, 59, 64, 65, 66, 67, 1219, 1326, 10064}

// isCorruptedMnt judges as mount-utils does on Windows, where win.Errno is
// syscall.Errno.
func isCorruptedMnt(err error) bool {
	var cause error
	switch e := err.(type) { //nolint:errorlint // as mount-utils does
	case *os.PathError:
		cause = e.Err
	case *os.LinkError:
		cause = e.Err
	case *os.SyscallError:
		cause = e.Err
	}
	code, ok := cause.(win.Errno) //nolint:errorlint // as mount-utils does
	return ok && slices.Contains(corrupted, code)
}

// upstreamRaw are the calls whose errors upstream returns as package os made
// them, and that drivers give to these judges. source is for CreateSymlink.
func upstreamRaw(t *testing.T, client filesystem.Interface, path, source string) map[string]error {
	t.Helper()
	ctx, errs := t.Context(), map[string]error{}
	_, errs["PathExists"] = client.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
	_, errs["IsSymlink"] = client.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: path})
	_, errs["Mkdir"] = client.Mkdir(ctx, &filesystem.MkdirRequest{Path: path})
	_, errs["Rmdir"] = client.Rmdir(ctx, &filesystem.RmdirRequest{Path: path})
	_, errs["Rmdir force"] = client.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: true})
	_, errs["CreateSymlink"] = client.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: path})
	return errs
}

// failing makes a node answer every question about files with a code.
func failing(node *simhost.Node, code win.Errno) {
	node.OnCall(func(c simhost.Call, do func() error) error {
		switch c.Method {
		case "Files.Open", "Files.SymbolicLink":
			return code
		}
		return do()
	})
}

// Each of the codes survives every call; no other code reads as one of them.
func TestIsCorruptedMnt(t *testing.T) {
	node := newNode(t, "aws-nitro")
	client := newMounterOn(t, node).Fs
	for _, code := range append(slices.Clone(corrupted), win.ERROR_ACCESS_DENIED, win.ERROR_NOT_READY, win.ERROR_CRC) {
		failing(node, code)
		for method, err := range upstreamRaw(t, client, podPath, staging) {
			if got, want := isCorruptedMnt(err), slices.Contains(corrupted, code); got != want || !errors.Is(err, code) {
				t.Errorf("%s on code %d: corrupted %t, %#v", method, code, got, err)
			}
		}
	}
}

// The codes that package os judges: missing, taken and refused.
func TestOSJudges(t *testing.T) {
	for _, c := range []struct {
		code                      win.Errno
		missing, taken, forbidden bool
	}{
		{code: win.ERROR_FILE_NOT_FOUND, missing: true},
		{code: win.ERROR_PATH_NOT_FOUND, missing: true},
		{code: win.ERROR_BAD_NETPATH, missing: true}, // Go says so; KindOf does not
		{code: win.ERROR_FILE_EXISTS, taken: true},
		{code: win.ERROR_ALREADY_EXISTS, taken: true},
		{code: win.ERROR_ACCESS_DENIED, forbidden: true},
		{code: win.ERROR_NETNAME_DELETED},
		{code: win.ERROR_NOT_READY},
	} {
		node := newNode(t, "aws-nitro")
		client := newMounterOn(t, node).Fs
		failing(node, c.code)
		for method, err := range upstreamRaw(t, client, podPath, staging) {
			switch {
			case err == nil && method == "PathExists" && c.code != win.ERROR_BAD_NETPATH && c.missing:
				continue // the answer is no
			case err == nil && method == "Rmdir force" && c.missing:
				continue // nothing to remove
			}
			if isNotExist(err) != c.missing || isExist(err) != c.taken || isPermission(err) != c.forbidden {
				t.Errorf("%s on code %d: missing %t, taken %t, forbidden %t: %#v", method, c.code, isNotExist(err), isExist(err), isPermission(err), err)
			}
			if errors.Is(err, fs.ErrNotExist) != c.missing {
				t.Errorf("%s on code %d: errors.Is says otherwise than os.IsNotExist: %#v", method, c.code, err)
			}
		}
	}
}

// What is really missing or taken on a node.
func TestOSJudges_States(t *testing.T) {
	client := newMounterOn(t, newNode(t, "aws-nitro")).Fs
	checkMissing(t, client, kubelet+`\missing`)
	checkTaken(t, client, kubelet+`\plugins`)
}

func checkMissing(t *testing.T, client filesystem.Interface, missing string) {
	t.Helper()
	ctx := t.Context()
	if found, err := client.PathExists(ctx, &filesystem.PathExistsRequest{Path: missing}); err != nil || found.Exists {
		t.Errorf("PathExists of a missing path: %t, %v", found.Exists, err)
	}
	_, isSymlink := client.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: missing})
	_, rmdir := client.Rmdir(ctx, &filesystem.RmdirRequest{Path: missing})
	_, noSource := client.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: missing, TargetPath: missing + "2"})
	for method, err := range map[string]error{"IsSymlink": isSymlink, "Rmdir": rmdir, "CreateSymlink": noSource} {
		if !isNotExist(err) {
			t.Errorf("%s of a missing path: %#v", method, err)
		}
	}
	if _, err := client.Rmdir(ctx, &filesystem.RmdirRequest{Path: missing, Force: true}); err != nil {
		t.Errorf("Rmdir with Force of a missing path: %v", err)
	}
}

func checkTaken(t *testing.T, client filesystem.Interface, directory string) {
	t.Helper()
	_, err := client.CreateSymlink(t.Context(), &filesystem.CreateSymlinkRequest{SourcePath: directory, TargetPath: directory})
	if !isExist(err) {
		t.Errorf("CreateSymlink over a directory: %#v", err)
	}
}

// EBS stages onto a directory that it has just made: "nothing is mounted there"
// must read so, and no other failure may.
func TestNotMounted(t *testing.T) {
	node, ctx := newNode(t, "aws-nitro"), t.Context()
	m := newMounterOn(t, node)
	number := attach(t, node, "data")
	at := func(path string) error {
		_, err := m.Volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
		return err
	}
	must(t, m.mkdir(ctx, staging))
	must(t, m.formatAndMount(ctx, number, staging))
	must(t, m.mkdir(ctx, kubelet+`\plain`))
	must(t, at(staging))
	must(t, node.DetachDisk("data"))

	for name, path := range map[string]string{
		"plain directory": kubelet + `\plain`,
		"missing path":    kubelet + `\missing`,
		"missing parent":  kubelet + `\missing\below`,
		"dangling mount":  staging,
	} {
		if err := at(path); err == nil || !notMounted.MatchString(err.Error()) || !errors.Is(err, errdefs.ErrNotMounted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, code := range []win.Errno{win.ERROR_ACCESS_DENIED, win.ERROR_NOT_READY, win.ERROR_GEN_FAILURE, win.ERROR_BAD_NETPATH} {
		failing(node, code)
		if err := at(kubelet + `\plain`); err == nil || notMounted.MatchString(err.Error()) || errors.Is(err, errdefs.ErrNotMounted) {
			t.Errorf("code %d reads as not mounted: %v", code, err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// newExample is the filesystem group of a node. On Windows it is
// filesystem.New(hostapi.New()).
func newExample() *filesystem.Filesystem {
	spec, err := simhost.Named("aws-nitro")
	if err != nil {
		log.Fatal(err)
	}
	node, err := simhost.New(spec)
	if err != nil {
		log.Fatal(err)
	}
	files, err := filesystem.New(node.Filesystem())
	if err != nil {
		log.Fatal(err)
	}
	return files
}

// A staged volume is published by a link, and its link removed again.
func ExampleFilesystem_CreateSymlink() {
	ctx, files := context.Background(), newExample()
	const staged, published = `C:\var\lib\kubelet\plugins\pv1`, `C:\var\lib\kubelet\pods\pod1`

	_, err := files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: staged, TargetPath: published})
	fmt.Println(errors.Is(err, errdefs.ErrNotFound)) // nothing is staged
	_, err = files.Mkdir(ctx, &filesystem.MkdirRequest{Path: staged})
	fmt.Println(err)
	_, err = files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: staged, TargetPath: published})
	fmt.Println(err)

	_, err = files.Rmdir(ctx, &filesystem.RmdirRequest{Path: staged})
	fmt.Println(err)
	state, err := files.LinkState(ctx, &filesystem.LinkStateRequest{Path: published})
	fmt.Println(state.Kind, state.State, state.Target, err)
	_, err = files.Rmdir(ctx, &filesystem.RmdirRequest{Path: published})
	fmt.Println(err)
	// Output:
	// true
	// <nil>
	// <nil>
	// <nil>
	// symbolic link dangling C:\var\lib\kubelet\plugins\pv1 <nil>
	// <nil>
}

// Paths are checked before Windows is asked.
func ExampleFilesystem_Mkdir() {
	ctx, files := context.Background(), newExample()
	for _, path := range []string{`/var/lib/kubelet/pods/a..b`, `C:\var\lib\kubelet\..\..\Windows`, `C:\var\lib\NUL.txt`} {
		_, err := files.Mkdir(ctx, &filesystem.MkdirRequest{Path: path})
		fmt.Println(errors.Is(err, errdefs.ErrInvalidArgument))
	}
	// Output:
	// false
	// true
	// true
}

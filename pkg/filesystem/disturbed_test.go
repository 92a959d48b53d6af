// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"context"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// Each change, with every boundary call failing, hanging, left behind, twice
// and 64 at once.
func TestDisturbed(t *testing.T) {
	scenarios := map[string]struct {
		prepare func(s *site)
		change  func(ctx context.Context, fs *filesystem.Filesystem) error
	}{
		"Mkdir": {
			prepare: func(*site) {},
			change: func(ctx context.Context, fs *filesystem.Filesystem) error {
				_, err := fs.Mkdir(ctx, &filesystem.MkdirRequest{Path: `\var\lib\kubelet\pods\a\b`})
				return err
			},
		},
		"CreateSymlink": {
			prepare: func(s *site) { s.mount(`C:\t\staging`, data) },
			change: func(ctx context.Context, fs *filesystem.Filesystem) error {
				_, err := fs.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: `C:\t\staging`, TargetPath: `C:\t\target`})
				return err
			},
		},
		"Rmdir of a tree": {
			prepare: func(s *site) {
				s.directory(`C:\t\a`)
				s.file(`C:\t\a\file`)
				s.readOnly(`C:\t\a\file`)
				s.symlink(`C:\t\a\link`, `C:\Windows`)
				s.mount(`C:\t\a\dead`, data)
				s.must(s.node.DetachDisk("data"))
			},
			change: rmdirForce(`C:\t`),
		},
		"Rmdir of a link": {
			prepare: func(s *site) { s.directory(`C:\t`); s.symlink(`C:\t\link`, `C:\Windows`) },
			change:  rmdirForce(`C:\t\link`),
		},
		"Rmdir of a mount folder": {
			prepare: func(s *site) { s.mount(`C:\t\mount`, data); s.file(data + `precious`) },
			change:  rmdirForce(`C:\t\mount`),
		},
		"Rmdir of a dead mount folder": {
			prepare: func(s *site) { s.mount(`C:\t\mount`, data); s.must(s.node.DetachDisk("data")) },
			change:  rmdirForce(`C:\t\mount`),
		},
		"RmdirContents": {
			prepare: func(s *site) {
				s.directory(`C:\t\a`)
				s.junction(`C:\t\junction`, `C:\Windows`)
			},
			change: func(ctx context.Context, fs *filesystem.Filesystem) error {
				_, err := fs.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: `C:\t`})
				return err
			},
		},
	}
	for name, sc := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disturb.Run(t, disturb.Scenario{
				Node: func(t *testing.T) *simhost.Node {
					t.Helper()
					s := &site{T: t, node: newNode(t, simhost.Switches{})}
					sc.prepare(s)
					return s.node
				},
				Change: func(ctx context.Context, n *simhost.Node) error {
					fs, err := filesystem.New(n.Filesystem())
					if err != nil {
						return err
					}
					return sc.change(ctx, fs)
				},
			})
		})
	}
}

func rmdirForce(path string) func(context.Context, *filesystem.Filesystem) error {
	return func(ctx context.Context, fs *filesystem.Filesystem) error {
		_, err := fs.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: true})
		return err
	}
}

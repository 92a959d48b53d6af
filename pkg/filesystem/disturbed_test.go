// SPDX-License-Identifier: Apache-2.0

package filesystem_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/disturb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

type scenario = disturb.Scenario[*filesystem.Filesystem]

// The calls of the group, each disturbed in every way.
func TestDisturbed(t *testing.T) {
	staged := prepared(func(s *site) {
		s.mount(`C:\t\staging`, data)
		s.symlink(`C:\t\link`, `C:\t\staging`)
	})
	mounted := prepared(func(s *site) { s.mount(`C:\t\staging`, data) })
	removal := func(path string) *filesystem.RmdirRequest { return &filesystem.RmdirRequest{Path: path, Force: true} }
	disturb.Group[*filesystem.Filesystem]{
		Name: "filesystem", New: func(n *simhost.Node) (*filesystem.Filesystem, error) { return filesystem.New(n.Filesystem()) },
		Node: staged,
		Questions: []scenario{
			{Method: "PathExists", When: "through a link", Request: &filesystem.PathExistsRequest{Path: `C:\t\link`}},
			{Method: "PathExists", When: "of what is missing", Request: &filesystem.PathExistsRequest{Path: `C:\t\missing`}},
			{Method: "PathValid", Request: &filesystem.PathValidRequest{Path: `C:\t\link`}},
			{Method: "IsSymlink", When: "of a link", Request: &filesystem.IsSymlinkRequest{Path: `C:\t\link`}},
			{Method: "IsSymlink", When: "of a mount folder", Request: &filesystem.IsSymlinkRequest{Path: `C:\t\staging`}},
			{Method: "LinkState", Request: &filesystem.LinkStateRequest{Path: `C:\t\link`}},
		},
		Changes: []scenario{
			{Method: "Mkdir", Request: &filesystem.MkdirRequest{Path: `\var\lib\kubelet\pods\a\b`}},
			// The backslash says that the source is a directory, whatever it looks like.
			{Method: "CreateSymlink", Request: &filesystem.CreateSymlinkRequest{SourcePath: `C:\t\staging\`, TargetPath: `C:\t\target`}},
			{Method: "Rmdir", When: "of a tree", Request: removal(`C:\t`), Node: prepared(func(s *site) {
				s.directory(`C:\t\a`)
				s.file(`C:\t\a\file`)
				s.readOnly(`C:\t\a\file`)
				s.symlink(`C:\t\a\link`, `C:\Windows`)
				s.mount(`C:\t\a\dead`, data)
				s.must(s.node.DetachDisk("data"))
			})},
			{Method: "Rmdir", When: "of a link", Request: removal(`C:\t\link`)},
			{Method: "Rmdir", When: "of a mount folder", Request: removal(`C:\t\mount`), Node: prepared(func(s *site) {
				s.mount(`C:\t\mount`, data)
				s.file(data + `precious`)
			})},
			{Method: "Rmdir", When: "of a dead mount folder", Request: removal(`C:\t\mount`), Node: prepared(func(s *site) {
				s.mount(`C:\t\mount`, data)
				s.must(s.node.DetachDisk("data"))
			})},
			{Method: "RmdirContents", Request: &filesystem.RmdirContentsRequest{Path: `C:\t`}, Node: prepared(func(s *site) {
				s.directory(`C:\t\a`)
				s.junction(`C:\t\junction`, `C:\Windows`)
			})},
		},
		Refusals: []scenario{
			{Method: "Rmdir", When: "with a mount below", Request: removal(`C:\t`), Node: mounted, Refused: errdefs.ErrMountedBelow},
			{Method: "RmdirContents", When: "with a mount below", Request: &filesystem.RmdirContentsRequest{Path: `C:\t`}, Node: mounted, Refused: errdefs.ErrMountedBelow},
			{Method: "Mkdir", When: "through a link", Request: &filesystem.MkdirRequest{Path: `C:\t\link\dir`}, Refused: errdefs.ErrFailedPrecondition},
			{Method: "Rmdir", When: "through a link", Request: removal(`C:\t\link\dir`), Refused: errdefs.ErrFailedPrecondition, Node: prepared(func(s *site) {
				s.directory(`C:\t\real\dir`)
				s.symlink(`C:\t\link`, `C:\t\real`)
			})},
			{Method: "CreateSymlink", When: "over another link", Request: &filesystem.CreateSymlinkRequest{SourcePath: `C:\Windows`, TargetPath: `C:\t\link`}, Refused: errdefs.ErrAlreadyExists},
		},
	}.Run(t)
}

func prepared(prepare func(*site)) func(*testing.T) *simhost.Node {
	return func(t *testing.T) *simhost.Node {
		t.Helper()
		s := &site{T: t, node: newNode(t, simhost.Switches{})}
		prepare(s)
		return s.node
	}
}

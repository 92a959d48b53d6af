// SPDX-License-Identifier: Apache-2.0

package smb_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

// A share is mapped and linked to, and whoever comes with a wrong password is
// refused. On Windows node.SMB() is hostapi.New() of this group, and
// node.Filesystem() that of filesystem.
func Example() {
	node, err := simhost.New(simhost.NodeSpec{
		Version: simhost.SpecVersion,
		SMB: []simhost.SMBServerSpec{{
			Name:   "files.example.com",
			Users:  []simhost.SMBUserSpec{{Name: `CORP\alice`, Password: "secret"}},
			Shares: []simhost.SMBShareSpec{{Name: "data", Directories: []string{"pv1"}}},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer node.Close()
	files, err := filesystem.New(node.Filesystem())
	if err != nil {
		fmt.Println(err)
		return
	}
	group, err := smb.New(node.SMB(), files)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	req := &smb.NewSMBGlobalMappingRequest{
		RemotePath: "//files.example.com/data/pv1", LocalPath: `C:\pv1`,
		Username: "alice", Domain: "CORP", Password: "secret",
	}
	_, err = group.NewSMBGlobalMapping(ctx, req)
	fmt.Printf("%+v: %v\n", req, err)

	link, err := group.LinkedShare(ctx, &smb.LinkedShareRequest{LocalPath: `C:\pv1`})
	fmt.Println(link.RemotePath, link.Share, err)

	req.Password = "wrong"
	_, err = group.NewSMBGlobalMapping(ctx, req)
	fmt.Println(errors.Is(err, errdefs.ErrPermissionDenied))

	// Output:
	// {RemotePath://files.example.com/data/pv1 LocalPath:C:\pv1 Username:*** Password:*** Domain:*** Anonymous:false WithoutPrivacy:false RequireIntegrity:false ReuseUnverified:false}: <nil>
	// \\files.example.com\data\pv1 \\files.example.com\data <nil>
	// true
}

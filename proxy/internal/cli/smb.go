// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

// smbGroup is what the verbs use of the smb group.
type smbGroup interface {
	smb.Interface
	ListMappings(context.Context, *smb.ListMappingsRequest) (*smb.ListMappingsResponse, error)
	GetMapping(context.Context, *smb.GetMappingRequest) (*smb.GetMappingResponse, error)
	LinkedShare(context.Context, *smb.LinkedShareRequest) (*smb.LinkedShareResponse, error)
}

func smbVerbs() []verb {
	return []verb{
		mapVerb(),
		{
			use:     "unmap REMOTE",
			aliases: []string{"delete", "rm"},
			short:   `Remove the mapping of a share, \\host\share`,
			long:    "What is open through it is closed, links to it stay. A share that is not\nmapped is no error.",
			example: `unmap \\files\data --yes`,
			change: func(ctx context.Context, h *host, args []string) (*table, error) {
				_, err := h.smb.RemoveSMBGlobalMapping(ctx, &smb.RemoveSMBGlobalMappingRequest{RemotePath: args[0]})
				return one(mappingObject{Share: args[0]}, "%s is not mapped", args[0]), err
			},
		},
		{
			use:     "list",
			aliases: []string{"get", "ls"},
			short:   "List the shares that are mapped for the whole machine",
			long:    "Where there are hundreds this takes minutes.",
			example: "list --host sim:aws-nitro",
			read: func(ctx context.Context, h *host, _ []string) (*table, error) {
				resp, err := h.smb.ListMappings(ctx, &smb.ListMappingsRequest{})
				if err != nil {
					return nil, err
				}
				return mappingTable(resp.Mappings...), nil
			},
		},
		{
			use:     "of PATH",
			short:   "Share that a link leads to",
			example: `of C:\var\lib\kubelet\plugins\smb\globalmount`,
			read: func(ctx context.Context, h *host, args []string) (*table, error) {
				o, err := linkedShare(ctx, h, args[0])
				return one(o, "%s", o.Share), err
			},
		},
		{
			use:     "show REMOTE|PATH",
			aliases: []string{"describe"},
			short:   "Show the mapping of a share, or of the share that a link leads to",
			example: `show C:\var\lib\kubelet\plugins\smb\globalmount`,
			read:    showMapping,
		},
	}
}

func showMapping(ctx context.Context, h *host, args []string) (*table, error) {
	remote := args[0]
	if !strings.HasPrefix(strings.ReplaceAll(remote, "/", `\`), `\\`) {
		link, err := linkedShare(ctx, h, remote)
		if err != nil {
			return nil, err
		}
		remote = link.Share
	}
	resp, err := h.smb.GetMapping(ctx, &smb.GetMappingRequest{RemotePath: remote})
	if err != nil {
		return nil, err
	}
	return mappingTable(resp.Mapping), nil
}

// linkedShare is the directory of a share that a link leads to.
func linkedShare(ctx context.Context, h *host, path string) (mappingObject, error) {
	resp, err := h.smb.LinkedShare(ctx, &smb.LinkedShareRequest{LocalPath: path})
	return mappingObject{Share: resp.RemotePath, Link: path}, err
}

func mappingTable(mappings ...smb.Mapping) *table {
	t := &table{kind: kindMapping, header: []string{"SHARE", "DRIVE", "STATE", "ENCRYPTED", "SIGNED"}}
	for _, m := range mappings {
		o := mapped(m)
		t.add(o, word(o.Share), word(o.Drive), word(o.Status), yesNo(*o.Encrypted), yesNo(*o.Signed))
	}
	return t
}

func mapped(m smb.Mapping) mappingObject {
	signed := m.Privacy || m.Integrity
	return mappingObject{Share: m.RemotePath, Drive: m.Drive, Status: m.Status.String(), Encrypted: &m.Privacy, Signed: &signed}
}

func mapVerb() verb {
	var (
		req          smb.NewSMBGlobalMappingRequest
		passwordFile string
	)
	return verb{
		use:     "map REMOTE",
		aliases: []string{"create"},
		short:   `Map a share, \\host\share or a directory below it, for the whole machine`,
		long: `The password is read from a file, or with "-" from standard input, and never
taken as an argument; one line break at its end is dropped. Without a user it is
the account that csi-proxy runs as. A mapping that is there is used if it works
and the server lets the user in; one that does not work is made anew.`,
		example: `map \\files\data\pv1 --user CORP\alice --password-file - --link C:\mnt <password`,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&req.LocalPath, "link", "", "make this path a link to REMOTE")
			f.StringVar(&req.Username, "user", "", `user, DOMAIN\user or user@domain`)
			f.StringVar(&req.Domain, "domain", "", "domain of a user without one")
			f.StringVar(&passwordFile, "password-file", "", `file with the password; "-" is standard input`)
			f.BoolVar(&req.Anonymous, "anonymous", false, "come as nobody")
			f.BoolVar(&req.WithoutPrivacy, "without-privacy", false, "do without encryption, for servers that have none")
			f.BoolVar(&req.RequireIntegrity, "require-integrity", false, "require signing")
			f.BoolVar(&req.ReuseUnverified, "reuse-unverified", false, "use a mapping that is there whoever made it")
		},
		change: func(ctx context.Context, h *host, args []string) (*table, error) {
			asked := req
			asked.RemotePath = args[0]
			var err error
			if asked.Password, err = h.password("--password-file", passwordFile); err != nil {
				return nil, err
			}
			_, err = h.smb.NewSMBGlobalMapping(ctx, &asked)
			return one(mappingObject{Share: args[0], Link: asked.LocalPath}, "%s is mapped", args[0]), err
		},
	}
}

// maxPassword is more than Windows takes.
const maxPassword = 4096

// password reads a password, or an iSCSI secret, from a file that a flag names, or
// from standard input.
func (h *host) password(flag, file string) (string, error) {
	var text string
	var err error
	switch file {
	case "":
		return "", nil
	case "-":
		text, err = readPassword(h.in)
	default:
		text, err = readPasswordFile(file)
	}
	return text, errdefs.Wrap(flag, "", err)
}

func readPasswordFile(name string) (text string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	text, err = readPassword(file)
	return text, errors.Join(err, file.Close())
}

func readPassword(in io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxPassword+1))
	if err == nil && len(data) > maxPassword {
		err = fmt.Errorf("%w: no password is that long", errdefs.ErrInvalidArgument)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), err
}

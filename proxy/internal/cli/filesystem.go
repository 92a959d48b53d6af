// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
)

// filesystemGroup is what the verbs use of the filesystem group.
type filesystemGroup interface {
	filesystem.Interface
	LinkState(context.Context, *filesystem.LinkStateRequest) (*filesystem.LinkStateResponse, error)
}

func filesystemVerbs() []verb {
	return []verb{
		{
			use:     "exists PATH",
			short:   "Tell whether something is at a path",
			long:    "A link counts, wherever it leads.",
			example: `exists C:\Windows --host sim:aws-nitro`,
			read: func(ctx context.Context, h *host, args []string) (*table, error) {
				resp, err := h.filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: args[0]})
				return one(pathObject{Path: args[0], Exists: &resp.Exists}, "%s", yesNo(resp.Exists)), err
			},
		},
		{
			use:     "valid PATH",
			short:   "Tell whether Windows finds a path, in any form",
			example: `valid C: --host sim:aws-nitro`,
			read: func(ctx context.Context, h *host, args []string) (*table, error) {
				resp, err := h.filesystem.PathValid(ctx, &filesystem.PathValidRequest{Path: args[0]})
				return one(pathObject{Path: args[0], Valid: &resp.Valid}, "%s", yesNo(resp.Valid)), err
			},
		},
		{
			use:     "mkdir PATH",
			aliases: []string{"create"},
			short:   "Make a directory and its missing parents",
			example: `mkdir C:\mnt\pv1 --host sim:aws-nitro`,
			change: func(ctx context.Context, h *host, args []string) (*table, error) {
				_, err := h.filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: args[0]})
				return one(pathObject{Path: args[0], Exists: pointer(true)}, "%s is a directory", args[0]), err
			},
		},
		rmdirVerb(),
		{
			use:     "rmdir-contents PATH",
			short:   "Remove all below a directory",
			long:    "Links are removed themselves; where a volume is mounted below, nothing is.",
			example: `rmdir-contents C:\var\lib\kubelet --host sim:aws-nitro`,
			change: func(ctx context.Context, h *host, args []string) (*table, error) {
				_, err := h.filesystem.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: args[0]})
				return one(pathObject{Path: args[0], Exists: pointer(true)}, "%s is empty", args[0]), err
			},
		},
		linkVerb(),
		{
			use:     "is-link PATH",
			short:   "Tell whether a live link or mount folder is at a path",
			long:    "A link that leads nowhere is a no; link-state tells it apart.",
			example: `is-link C:\Windows --host sim:aws-nitro`,
			read: func(ctx context.Context, h *host, args []string) (*table, error) {
				resp, err := h.filesystem.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: args[0]})
				return one(pathObject{Path: args[0], Link: &resp.IsSymlink}, "%s", yesNo(resp.IsSymlink)), err
			},
		},
		{
			use:     "link-state PATH",
			short:   "Tell what link is at a path, where it leads, and whether that is there",
			example: `link-state C:\Windows --host sim:aws-nitro`,
			read:    linkState,
		},
	}
}

func linkState(ctx context.Context, h *host, args []string) (*table, error) {
	o, err := linkAt(ctx, h, args[0])
	if err != nil {
		return nil, err
	}
	t := &table{kind: kindPath, header: []string{"PATH", "STATE", "KIND", "TARGET", "ENDS AT"}, wide: 1}
	t.add(o, word(o.Path), word(o.State), word(o.LinkKind), word(o.Target), word(o.Final))
	return t, nil
}

func linkAt(ctx context.Context, h *host, path string) (pathObject, error) {
	resp, err := h.filesystem.LinkState(ctx, &filesystem.LinkStateRequest{Path: path})
	return pathObject{Path: path, State: resp.State.String(), LinkKind: resp.Kind.String(), Target: resp.Target, Final: resp.FinalTarget}, err
}

func rmdirVerb() verb {
	var force bool
	return verb{
		use:     "rmdir PATH",
		aliases: []string{"delete", "rm"},
		short:   "Remove an empty directory, a file or a link",
		example: `rmdir C:\var\lib\kubelet --force --host sim:aws-nitro`,
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&force, "force", false, "remove all below it too, and take a missing path for success")
		},
		change: func(ctx context.Context, h *host, args []string) (*table, error) {
			_, err := h.filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: args[0], Force: force})
			return one(pathObject{Path: args[0], Exists: pointer(false)}, "%s is removed", args[0]), err
		},
	}
}

func linkVerb() verb {
	var allowMissing bool
	return verb{
		use:     "link SOURCE TARGET",
		aliases: []string{"ln"},
		short:   "Make TARGET a link that leads to SOURCE",
		example: `link C:\Windows C:\link --host sim:aws-nitro`,
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&allowMissing, "allow-missing", false, "make a directory link where SOURCE is missing")
		},
		change: func(ctx context.Context, h *host, args []string) (*table, error) {
			_, err := h.filesystem.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{
				SourcePath: args[0], TargetPath: args[1], AllowMissing: allowMissing,
			})
			return one(pathObject{Path: args[1], Exists: pointer(true), Target: args[0]}, "%s leads to %s", args[1], args[0]), err
		},
	}
}

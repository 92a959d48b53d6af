// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
)

func filesystemVerbs() []verb {
	return []verb{
		{
			use:     "exists PATH",
			short:   "Tell whether something is at a path",
			long:    "A link counts, wherever it leads.",
			example: `exists C:\Windows --host sim:aws-nitro`,
			read: func(ctx context.Context, h *host, args []string) (*table, error) {
				resp, err := h.filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: args[0]})
				return one(kindPath, pathObject{Path: args[0], Exists: &resp.Exists}, yesNo(resp.Exists)), err
			},
		},
		{
			use:   "valid PATH",
			short: "Tell whether Windows finds a path, in any form",
			read: func(ctx context.Context, h *host, args []string) (*table, error) {
				resp, err := h.filesystem.PathValid(ctx, &filesystem.PathValidRequest{Path: args[0]})
				return one(kindPath, pathObject{Path: args[0], Valid: &resp.Valid}, yesNo(resp.Valid)), err
			},
		},
		{
			use:   "mkdir PATH",
			short: "Make a directory and its missing parents",
			change: func(ctx context.Context, h *host, args []string) (string, error) {
				_, err := h.filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: args[0]})
				return done("%s is a directory", args[0]), err
			},
		},
		rmdirVerb(),
		{
			use:   "rmdir-contents PATH",
			short: "Remove all below a directory",
			long:  "Links are removed themselves; where a volume is mounted below, nothing is.",
			change: func(ctx context.Context, h *host, args []string) (string, error) {
				_, err := h.filesystem.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: args[0]})
				return done("%s is empty", args[0]), err
			},
		},
		linkVerb(),
		{
			use:   "is-link PATH",
			short: "Tell whether a live link or mount folder is at a path",
			read: func(ctx context.Context, h *host, args []string) (*table, error) {
				resp, err := h.filesystem.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: args[0]})
				return one(kindPath, pathObject{Path: args[0], Link: &resp.IsSymlink}, yesNo(resp.IsSymlink)), err
			},
		},
	}
}

func rmdirVerb() verb {
	var force bool
	return verb{
		use:   "rmdir PATH",
		short: "Remove an empty directory, a file or a link",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&force, "force", false, "remove all below it too, and take a missing path for success")
		},
		change: func(ctx context.Context, h *host, args []string) (string, error) {
			_, err := h.filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: args[0], Force: force})
			return done("%s is removed", args[0]), err
		},
	}
}

func linkVerb() verb {
	var allowMissing bool
	return verb{
		use:     "link SOURCE TARGET",
		short:   "Make TARGET a link that leads to SOURCE",
		example: `link C:\Windows C:\link --host sim:aws-nitro`,
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&allowMissing, "allow-missing", false, "make a directory link where SOURCE is missing")
		},
		change: func(ctx context.Context, h *host, args []string) (string, error) {
			_, err := h.filesystem.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{
				SourcePath: args[0], TargetPath: args[1], AllowMissing: allowMissing,
			})
			return done("%s leads to %s", args[1], args[0]), err
		},
	}
}

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

// completers list what an argument of a usage line may be, by its name there.
// before are the arguments before it. What cannot be asked is left out.
var completers = map[string]func(ctx context.Context, h *host, before []string) []string{
	"DISK":   completeDisks,
	"VOLUME": completeVolumes,
	"PORTAL": completePortals,
	"IQN":    completeTargets,
	"REMOTE": completeShares,

	"REMOTE|PATH": completeShares,
}

// patience is how long a shell waits for what completes a line.
const patience = 2 * time.Second

// fixedWords are what other arguments and flags may be.
var fixedWords = map[string][]string{
	"RULE":       ruleNames(),
	"FILESYSTEM": {"NTFS", "ReFS", "FAT32", "exFAT"},
}

// completeArguments completes the arguments of a usage line.
func (a *app) completeArguments(line string) cobra.CompletionFunc {
	names := strings.Fields(line)
	return func(cmd *cobra.Command, before []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if name, many := repeated(line); many {
			return a.completeNamed(cmd, name, before)
		}
		if len(before) >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completeNamed(cmd, names[len(before)], before)
	}
}

// completeNamed completes an argument of that name; paths of this machine the
// shell knows.
func (a *app) completeNamed(cmd *cobra.Command, name string, before []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch {
	case name == "PATH" && a.host == "local":
		return nil, cobra.ShellCompDirectiveDefault
	case completers[name] != nil:
		return a.askForCompletion(cmd, before, completers[name]), cobra.ShellCompDirectiveNoFileComp
	}
	return fixedWords[name], cobra.ShellCompDirectiveNoFileComp
}

func (a *app) askForCompletion(cmd *cobra.Command, before []string, complete func(context.Context, *host, []string) []string) []string {
	h, err := a.open(a.host)
	if err != nil {
		return nil
	}
	h.warn = func(error) {}
	ctx, cancel := context.WithTimeout(cmd.Context(), patience)
	defer cancel()
	return complete(ctx, h, before)
}

// completeFlag completes a flag's values.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	registerCompletion(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completeFlagAs completes a flag's values as the arguments of that name.
func (a *app) completeFlagAs(cmd *cobra.Command, flag, name string) {
	registerCompletion(cmd, flag, func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.completeNamed(cmd, name, nil)
	})
}

func registerCompletion(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // there is no such flag
	}
}

func completeDisks(ctx context.Context, h *host, _ []string) []string {
	resp, _ := h.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	var numbers []string
	for _, n := range slices.Sorted(maps.Keys(resp.DiskIDs)) {
		numbers = append(numbers, strconv.FormatUint(uint64(n), 10))
	}
	return numbers
}

func completeVolumes(ctx context.Context, h *host, _ []string) []string {
	ids, _ := allVolumes(ctx, h)
	return ids
}

func completePortals(ctx context.Context, h *host, _ []string) []string {
	resp, _ := h.iscsi.ListTargetPortals(ctx, &iscsi.ListTargetPortalsRequest{})
	var portals []string
	for _, p := range resp.TargetPortals {
		portals = append(portals, p.String())
	}
	return portals
}

func completeTargets(ctx context.Context, h *host, before []string) []string {
	p, err := parsePortal(before[0])
	if err != nil {
		return nil
	}
	resp, _ := h.iscsi.DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{TargetPortal: p})
	return resp.IQNs
}

func completeShares(ctx context.Context, h *host, _ []string) []string {
	resp, _ := h.smb.ListMappings(ctx, &smb.ListMappingsRequest{})
	var shares []string
	for _, m := range resp.Mappings {
		shares = append(shares, m.RemotePath)
	}
	return shares
}

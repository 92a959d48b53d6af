// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/demo"
)

// scenarios are what the demo can show. Only that of disks is one of the shipped
// nodes.
var scenarios = map[string]func(ctx context.Context, out io.Writer, nodes []string) error{
	"disk":  func(ctx context.Context, out io.Writer, nodes []string) error { return demo.Run(ctx, out, nodes...) },
	"iscsi": func(ctx context.Context, out io.Writer, _ []string) error { return demo.ISCSI(ctx, out) },
	"smb":   func(ctx context.Context, out io.Writer, _ []string) error { return demo.SMB(ctx, out) },
}

func scenarioNames() []string { return slices.Sorted(maps.Keys(scenarios)) }

func (a *app) demoCommand() *cobra.Command {
	var (
		nodes    []string
		scenario string
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Walk a disk of each simulated node from attach to detach",
		Long: `Walk a disk of each simulated node from attach to detach.

Each step prints what changed on the node and the calls it took at the boundary
of Windows; a table of all steps ends it. Nothing outside the program is touched.

Other scenarios show other groups: smb a share that two tenants use, iscsi a disk
that is staged and recovered after a reboot.`,
		Example: "  csi-proxy demo --node vsphere-pvscsi\n  csi-proxy demo --scenario smb",
		Args:    arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			show, ok := scenarios[scenario]
			if !ok {
				return usage(cmd, fmt.Sprintf("no scenario %q; there are %s", scenario, strings.Join(scenarioNames(), ", ")))
			}
			for _, node := range nodes {
				if !slices.Contains(nodeNames(), node) {
					return usage(cmd, fmt.Sprintf("no node %q; there are %s", node, strings.Join(nodeNames(), ", ")))
				}
			}
			ctx, cancel := a.context(cmd)
			defer cancel()
			return show(ctx, a.Out, nodes)
		},
	}
	cmd.Flags().StringVar(&scenario, "scenario", "disk", "what to show: "+strings.Join(scenarioNames(), ", "))
	cmd.Flags().StringSliceVar(&nodes, "node", nil, "walk only this node; may be given several times")
	completeFlag(cmd, "scenario", scenarioNames()...)
	completeFlag(cmd, "node", nodeNames()...)
	return cmd
}

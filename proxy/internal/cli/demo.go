// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var nodes []string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Walk a disk of each simulated node from attach to detach",
		Long: `Walk a disk of each simulated node from attach to detach.

Each step prints what changed on the node and the calls it took at the boundary
of Windows; a table of all steps ends it. Nothing outside the program is touched.`,
		Example: "  csi-proxy demo --node vsphere-pvscsi",
		Args:    arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, node := range nodes {
				if !slices.Contains(nodeNames(), node) {
					return usage(cmd, fmt.Sprintf("no node %q; there are %s", node, strings.Join(nodeNames(), ", ")))
				}
			}
			ctx, cancel := a.context(cmd)
			defer cancel()
			return demo.Run(ctx, a.Out, nodes...)
		},
	}
	cmd.Flags().StringSliceVar(&nodes, "node", nil, "walk only this node; may be given several times")
	return cmd
}

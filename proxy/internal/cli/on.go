// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// RunOn is Run where --host local, the default, is a simulated node that lives
// longer than one command.
func RunOn(ctx context.Context, node *simhost.Node, args []string, streams Streams) int {
	open := func(name string) (*host, error) {
		if name == "local" {
			return hostOf(node)
		}
		return openHost(name)
	}
	return newApp(streams, open).run(ctx, args)
}

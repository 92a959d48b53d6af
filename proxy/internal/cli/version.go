// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of csi-proxy",
		Args:  arguments(""),
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(a.Out, version())
			return err
		},
	}
}

// version is what the build says of itself.
func version() string {
	number := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		number = info.Main.Version
	}
	return fmt.Sprintf("csi-proxy %s %s/%s %s\n", number, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// SPDX-License-Identifier: Apache-2.0

// Command csi-proxy asks and changes a Windows node's storage as CSI drivers do.
// See csi-proxy help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	return cli.Run(ctx, os.Args[1:], cli.Streams{
		In:       os.Stdin,
		Out:      os.Stdout,
		Err:      os.Stderr,
		Terminal: isTerminal(os.Stdin),
		Watched:  isTerminal(os.Stdout) && isTerminal(os.Stderr),
	})
}

// isTerminal reports whether a person may sit at a file. NUL passes too, which
// does no harm: it answers no question, and nobody minds what is written to it.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// SPDX-License-Identifier: Apache-2.0

// Package cli is the csi-proxy command. Each verb stands for one method of a
// group and talks to the group's Interface only; which host is behind it is one
// decision (openHost). Data goes to standard output, everything else to standard
// error, and the exit code is that of the error's kind.
package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Streams is where a command reads and writes.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Terminal says that a person may answer questions on In.
	Terminal bool
}

// Run runs a command line, without the program's name, and returns the exit
// code.
func Run(ctx context.Context, args []string, streams Streams) int {
	a := &app{Streams: streams, open: openHost}
	return a.run(ctx, args)
}

// app is one run of the command.
type app struct {
	Streams
	open    func(name string) (*host, error)
	host    string
	timeout time.Duration
	yes     bool
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand() //nolint:contextcheck // cobra hands the context to each command
	root.SetArgs(args)
	return a.report(root.ExecuteContext(ctx))
}

const rootHelp = `csi-proxy asks and changes a Windows node's disks, volumes, paths, shares and services,
as CSI drivers do, and needs no Windows to show how:

  csi-proxy demo                          one disk of each known platform, from attach to detach
  csi-proxy disk list --host sim:NAME     ask a simulated node

Hosts:
  local      this machine (default). What changes something is asked about
             first, unless --yes is given.
  sim:NAME   a simulated node that comes with csi-proxy:
%s
  sim:FILE   a simulated node described in a JSON file.
A simulated node lives for one command. It starts with all its disks attached,
new volumes arrive at once, and what the command changed is listed on standard
error.

Answers: verbs that only ask take -o table, wide, json, yaml or name. The documents
of json and yaml are versioned and stable; tables are for people.
Changes: verbs that change something take --dry-run, which only tells what.
Shells: csi-proxy completion SHELL prints what completes verbs, flags and hosts.

Exit codes:
%s`

// nodeHelp lists the simulated nodes, a few a line.
func nodeHelp() string {
	const indent, most = "             ", 78
	var lines []string
	line := indent + nodeNames()[0]
	for _, name := range nodeNames()[1:] {
		if len(line)+len(", ")+len(name) >= most {
			lines, line = append(lines, line+","), indent+name
			continue
		}
		line += ", " + name
	}
	return strings.Join(append(lines, line), "\n")
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:                   "csi-proxy",
		Short:                 "Storage of a Windows node, for CSI drivers",
		Long:                  fmt.Sprintf(rootHelp, nodeHelp(), exitHelp()),
		Args:                  cobra.ArbitraryArgs,
		RunE:                  runGroup,
		DisableFlagsInUseLine: true,

		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, err.Error()) })

	flags := root.PersistentFlags()
	flags.StringVar(&a.host, "host", "local", "host to work on: local, sim:NAME or sim:FILE")
	flags.DurationVar(&a.timeout, "timeout", 0, "give up after this time; 0 leaves it to each operation")
	flags.BoolVarP(&a.yes, "yes", "y", false, "change the local host without asking")
	if err := root.RegisterFlagCompletionFunc("host", cobra.FixedCompletions(hostNames(), cobra.ShellCompDirectiveNoSpace)); err != nil {
		panic(err) // the flag stands four lines above
	}

	root.AddCommand(
		a.group("disk", "Disks: what is attached, online, offline, partitioned", diskVerbs()),
		a.group("volume", "Volumes: format, mount, measure, grow", volumeVerbs()),
		a.group("filesystem", "Paths: directories and links", filesystemVerbs(), "fs"),
		a.group("smb", "Shares of file servers: map, unmap, list", smbVerbs()),
		a.iscsiCommand(),
		a.group("system", "The machine's serial number, and services: start and stop", systemVerbs()),
		a.treeCommand(),
		a.demoCommand(),
		a.versionCommand(),
	)
	return root
}

// runGroup stands in for a missing verb.
func runGroup(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	message := fmt.Sprintf("unknown command %q", args[0])
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		message += fmt.Sprintf(", did you mean %s?", strings.Join(near, " or "))
	}
	return usage(cmd, message)
}

// context is what a command runs under.
func (a *app) context(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	if a.timeout > 0 {
		return context.WithTimeout(cmd.Context(), a.timeout)
	}
	return context.WithCancel(cmd.Context())
}

// SPDX-License-Identifier: Apache-2.0

// Package cli is the csi-proxy command. Each verb stands for one method of a
// group and talks to the groups only; which host is behind them is one decision
// (openHost). Data goes to standard output, everything else to standard error, and
// the exit code is that of the error's kind.
//
// A verb's way: runVerb opens the host, a change is asked about (askBefore, begin)
// and shown while it lasts (footLine), its answer is a table, and output writes
// that in the wanted format.
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
	// Watched says that a person may see both Out and Err as they are written.
	Watched bool
}

// Run runs a command line, without the program's name, and returns the exit
// code.
func Run(ctx context.Context, args []string, streams Streams) int {
	return newApp(streams, openHost).run(ctx, args)
}

// app is one run of the command.
type app struct {
	Streams
	foot    *foot // Err
	open    func(name string) (*host, error)
	host    string
	timeout time.Duration
	yes     bool
}

func newApp(streams Streams, open func(name string) (*host, error)) *app {
	return &app{Streams: streams, foot: &foot{out: streams.Err}, open: open}
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

The group comes before the verb: where kubectl has get disks, this is disk get.

Answers: each verb takes -o table, wide, json, yaml or name. The documents of json
and yaml are versioned and stable; tables are for people.
Changes: verbs that change something take --dry-run, which only tells what, and
--yes. A change that is interrupted, or takes too long, may still go on: how things
are then is told on standard error.
Waiting: on a terminal a line tells what takes longer than a second.
Shells: csi-proxy completion SHELL prints what completes verbs, flags, hosts, disk
numbers, volume ids, portals, targets and shares.

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
	registerCompletion(root, "host", cobra.FixedCompletions(hostNames(), cobra.ShellCompDirectiveNoSpace))

	root.AddCommand(
		a.group("disk", "Disks: what is attached, online, offline, partitioned", diskVerbs(), "disks"),
		a.group("volume", "Volumes: format, mount, measure, grow", volumeVerbs(), "volumes", "vol"),
		a.group("filesystem", "Paths: directories and links", filesystemVerbs(), "fs"),
		a.group("smb", "Shares of file servers: map, unmap, list", smbVerbs(), "share", "shares"),
		a.iscsiCommand(),
		a.group("system", "The machine's serial number, and services: start and stop", systemVerbs(), "service", "services"),
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
	if near := meant(cmd, args); len(near) > 0 {
		message += fmt.Sprintf(", did you mean %s?", strings.Join(near, " or "))
	}
	return usage(cmd, message)
}

// meant are the commands that a command line may stand for: kubectl has the verb
// first, csi-proxy the group.
func meant(cmd *cobra.Command, args []string) []string {
	if len(args) > 1 {
		if found := withNounFirst(cmd, args[0], args[1]); len(found) > 0 {
			return found
		}
	}
	cmd.SuggestionsMinimumDistance = 2
	return cmd.SuggestionsFor(args[0])
}

func withNounFirst(cmd *cobra.Command, verb, noun string) (found []string) {
	for _, group := range cmd.Commands() {
		if !group.HasSubCommands() {
			continue
		}
		if called(group, noun) {
			for _, v := range group.Commands() {
				if called(v, verb) {
					found = append(found, group.CommandPath()+" "+verb)
				}
			}
		}
		found = append(found, withNounFirst(group, verb, noun)...)
	}
	return found
}

func called(cmd *cobra.Command, name string) bool { return cmd.Name() == name || cmd.HasAlias(name) }

// context is what a command runs under.
func (a *app) context(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	if a.timeout > 0 {
		return context.WithTimeout(cmd.Context(), a.timeout)
	}
	return context.WithCancel(cmd.Context())
}

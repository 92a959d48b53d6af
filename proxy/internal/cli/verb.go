// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verb is one thing to ask of a host, or to change on it.
type verb struct {
	use     string // the verb and its arguments, all needed: "mount VOLUME PATH"
	short   string
	long    string // what short does not say
	example string // without the program's name
	flags   func(*pflag.FlagSet)

	// One of these. What change says is of one line.
	read   func(ctx context.Context, h *host, args []string) (*table, error)
	change func(ctx context.Context, h *host, args []string) (string, error)
	// harmless: the change takes away nothing that is anybody's.
	harmless bool
	// complete lists what an argument may be, by its place.
	complete func(place int) []string
}

// group is the command over the verbs of a group.
func (a *app) group(name, short string, verbs []verb, aliases ...string) *cobra.Command {
	group := &cobra.Command{Use: name, Short: short, Aliases: aliases, Args: cobra.ArbitraryArgs, RunE: runGroup, DisableFlagsInUseLine: true}
	for _, v := range verbs {
		group.AddCommand(a.command(name, v))
	}
	return group
}

func (a *app) command(group string, v verb) *cobra.Command {
	_, names, _ := strings.Cut(v.use, " ")
	var how doing
	cmd := &cobra.Command{
		Use:   v.use,
		Short: v.short,
		Long:  strings.TrimSpace(v.short + ".\n\n" + v.long),
		Args:  arguments(names),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.runVerb(cmd, v, args, how) },

		ValidArgsFunction: v.completion,
	}
	if v.example != "" {
		cmd.Example = "  " + strings.Join(strings.Fields("csi-proxy "+group), " ") + " " + v.example
	}
	if v.flags != nil {
		v.flags(cmd.Flags())
	}
	switch {
	case v.read != nil:
		how.output.flags(cmd.Flags())
		completeFormats(cmd)
	case !v.harmless:
		cmd.Flags().BoolVar(&how.dryRun, "dry-run", false, "only tell what would be changed, and not whether it would succeed")
	}
	return cmd
}

// doing is what the flags say of how a verb is run.
type doing struct {
	output output
	dryRun bool
}

func (v verb) completion(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if v.complete == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return v.complete(len(args)), cobra.ShellCompDirectiveNoFileComp
}

// arguments wants one argument for each of the names in a usage line.
func arguments(names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(strings.Fields(names)) {
			return nil
		}
		wanted := names
		if wanted == "" {
			wanted = "no argument"
		}
		return usage(cmd, fmt.Sprintf("%s takes %s, %d given", cmd.CommandPath(), wanted, len(args)))
	}
}

// runVerb opens the host, runs the verb and writes its answer.
func (a *app) runVerb(cmd *cobra.Command, v verb, args []string, how doing) error {
	ctx, cancel := a.context(cmd)
	defer cancel()
	h, err := a.open(a.host)
	if err != nil {
		return err
	}
	h.warn, h.in = a.warn, a.In
	switch {
	case how.dryRun:
		h = askBefore(h, a.plan(h))
	case h.sim == nil:
		h = askBefore(h, a.confirm)
	}
	if v.read != nil {
		return a.answer(ctx, h, v, args, how.output)
	}
	said, err := v.change(ctx, h, args)
	if h.sim != nil {
		a.showChanges(h.sim.changes())
	}
	switch {
	case errors.Is(err, errPlanned):
		return nil
	case err != nil:
		return err
	}
	_, err = io.WriteString(a.Out, said)
	return err
}

func (a *app) answer(ctx context.Context, h *host, v verb, args []string, as output) error {
	t, err := v.read(ctx, h, args)
	if err != nil {
		return err
	}
	return as.write(a.Out, t)
}

// warn tells of an error that does not end the command.
func (a *app) warn(err error) { a.note(fmt.Sprintf("warning: %v\n", err)) }

func (a *app) showChanges(changes string) {
	if changes != "" {
		a.note("changed on the simulated node:\n" + indent(changes))
	}
}

// note writes to standard error, behind which there is nowhere to tell that it
// cannot be written to.
func (a *app) note(text string) { _, _ = io.WriteString(a.Err, text) }

func indent(lines string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n  ") + "\n"
}

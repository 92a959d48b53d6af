// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verb is one thing to ask of a host, or to change on it.
type verb struct {
	use     string // the verb and its arguments: "mount VOLUME PATH", "list [DISK...]"
	aliases []string
	short   string
	long    string // what short does not say
	example string // without the program's name and the group's
	flags   func(*pflag.FlagSet)
	values  map[string]string // the arguments as which flags are completed

	// One of these. What a change answers for people is one line.
	read, change func(ctx context.Context, h *host, args []string) (*table, error)
	// standing says in a few words how far a reading verb is that waits.
	standing func(ctx context.Context, h *host) string
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
	how := doing{of: strings.TrimSpace(group + " " + v.name())}
	cmd := &cobra.Command{
		Use:     v.use,
		Aliases: v.aliases,
		Short:   v.short,
		Long:    strings.TrimSpace(v.short + ".\n\n" + v.long),
		Example: "  csi-proxy " + strings.TrimSpace(group+" "+v.example),
		Args:    arguments(names),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.runVerb(cmd, v, args, how) },

		ValidArgsFunction: a.completeArguments(names),
	}
	if v.flags != nil {
		v.flags(cmd.Flags())
	}
	how.output.flags(cmd.Flags())
	completeFlag(cmd, "output", formats...)
	for flag, name := range v.values {
		a.completeFlagAs(cmd, flag, name)
	}
	if v.change != nil {
		cmd.Flags().BoolVar(&how.dryRun, "dry-run", false, "only tell what would be changed, and not whether it would succeed")
	}
	return cmd
}

// name is the verb without its arguments.
func (v verb) name() string {
	name, _, _ := strings.Cut(v.use, " ")
	return name
}

// doing is how a verb is run.
type doing struct {
	of     string // the command without the program's name
	output output
	dryRun bool
}

// arguments wants one argument for each of the names in a usage line, or any
// number: "[DISK...]".
func arguments(names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if _, many := repeated(names); many || len(args) == len(strings.Fields(names)) {
			return nil
		}
		wanted := names
		if wanted == "" {
			wanted = "no argument"
		}
		return usage(cmd, fmt.Sprintf("%s takes %s, %d given", cmd.CommandPath(), wanted, len(args)))
	}
}

// repeated is the name of an argument of which there may be any number.
func repeated(names string) (name string, many bool) {
	name, many = strings.CutSuffix(names, "...]")
	return strings.TrimPrefix(name, "["), many
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
func (a *app) note(text string) { _, _ = io.WriteString(a.foot, text) }

func indent(lines string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n  ") + "\n"
}

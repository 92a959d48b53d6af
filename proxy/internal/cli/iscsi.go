// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
)

// portalSpellings says how portals are named on the command line.
const portalSpellings = `PORTAL is the address or name of a host, with a port or without, which is 3260:
10.0.0.10, san.example:3261, [fd00::10]:3260.`

// secretSource says where secrets come from.
const secretSource = `The secret, of 12 to 16 bytes, is read from a file, or with "-" from standard
input, and never taken as an argument; one line break at its end is dropped.`

func (a *app) iscsiCommand() *cobra.Command {
	group := a.group("iscsi", "iSCSI: target portals, logins and their disks", iscsiVerbs())
	portals := a.group("portal", "Target portals: add, list, remove, discover", nil, "portals")
	for _, v := range portalVerbs() {
		portals.AddCommand(a.command("iscsi portal", v))
	}
	group.AddCommand(portals)
	return group
}

func portalVerbs() []verb {
	return []verb{
		{
			use:     "add PORTAL",
			aliases: []string{"create"},
			short:   "Register a target portal and ask it for its targets",
			long:    "A portal that is registered is asked again.\n" + portalSpellings,
			example: "add 10.0.0.10 --yes",
			change: onPortal(func(ctx context.Context, h *host, p *iscsi.TargetPortal, _ []string) (*table, error) {
				_, err := h.iscsi.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: p})
				return one(portal(p), "%s is registered", p), err
			}),
		},
		{
			use:     "list",
			aliases: []string{"get", "ls"},
			short:   "List the registered target portals",
			example: "list -o yaml",
			read: func(ctx context.Context, h *host, _ []string) (*table, error) {
				resp, err := h.iscsi.ListTargetPortals(ctx, &iscsi.ListTargetPortalsRequest{})
				if err != nil {
					return nil, err
				}
				t := &table{kind: kindPortal, header: []string{"ADDRESS", "PORT"}}
				for _, p := range resp.TargetPortals {
					t.add(portal(p), word(p.TargetAddress), strconv.FormatUint(uint64(p.TargetPort), 10))
				}
				return t, nil
			},
		},
		{
			use:     "remove PORTAL",
			aliases: []string{"delete", "rm"},
			short:   "Forget a target portal",
			long:    "Its sessions stay. A portal that is not registered is an error.\n" + portalSpellings,
			example: "remove 10.0.0.10 --yes",
			change: onPortal(func(ctx context.Context, h *host, p *iscsi.TargetPortal, _ []string) (*table, error) {
				_, err := h.iscsi.RemoveTargetPortal(ctx, &iscsi.RemoveTargetPortalRequest{TargetPortal: p})
				return one(portal(p), "%s is not registered", p), err
			}),
		},
		{
			use:     "discover PORTAL",
			short:   "List the targets that a registered portal offered when it was last asked",
			long:    portalSpellings,
			example: "discover 10.0.0.10",
			read: onPortal(func(ctx context.Context, h *host, p *iscsi.TargetPortal, _ []string) (*table, error) {
				resp, err := h.iscsi.DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{TargetPortal: p})
				t := &table{kind: kindTarget}
				for _, iqn := range resp.IQNs {
					t.add(targetObject{IQN: iqn}, iqn)
				}
				return t, err
			}),
		},
	}
}

func iscsiVerbs() []verb {
	return []verb{
		connectVerb(),
		{
			use:     "disconnect PORTAL IQN",
			aliases: []string{"logout"},
			short:   "Log out of a target",
			example: "disconnect 10.0.0.10 iqn.2020-01.example.san:data --yes",
			long:    "Unmount its volumes and take its disks offline first. A target that is not\nconnected through the portal is no error.\n" + portalSpellings,
			change: onPortal(func(ctx context.Context, h *host, p *iscsi.TargetPortal, args []string) (*table, error) {
				_, err := h.iscsi.DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{TargetPortal: p, IQN: args[0]})
				return one(targetObject{IQN: args[0]}, "%s is not connected through %s", args[0], p), err
			}),
		},
		{
			use:     "disks PORTAL IQN",
			short:   "List the numbers of the disks of a connected target",
			example: "disks 10.0.0.10 iqn.2020-01.example.san:data",
			long:    "It waits for the first disk. A target that is not connected has none.\n" + portalSpellings,
			read: onPortal(func(ctx context.Context, h *host, p *iscsi.TargetPortal, args []string) (*table, error) {
				resp, err := h.iscsi.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: p, IQN: args[0]})
				if err != nil {
					return nil, err
				}
				return diskNumbers(resp.DiskIDs)
			}),
		},
		mutualVerb(),
	}
}

func connectVerb() verb {
	var (
		user, secretFile string
		mutual           bool
	)
	return verb{
		use:     "connect PORTAL IQN",
		aliases: []string{"login"},
		short:   "Log in to a target that a registered portal offers",
		long: `Without --secret-file it is a login without CHAP. A target that is connected
through the portal stays so, whatever the secret. The session ends with the next
restart.
` + secretSource + "\n" + portalSpellings,
		example: "connect 10.0.0.10 iqn.2020-01.example.san:data --user node1 --secret-file - <secret",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&user, "user", "", "CHAP user; without one it is the initiator's name")
			f.StringVar(&secretFile, "secret-file", "", `file with the target's CHAP secret; "-" is standard input`)
			f.BoolVar(&mutual, "mutual", false, "let the target prove itself too, with the secret of mutual-chap")
		},
		change: onPortal(func(ctx context.Context, h *host, p *iscsi.TargetPortal, args []string) (*table, error) {
			req := &iscsi.ConnectTargetRequest{TargetPortal: p, IQN: args[0], AuthType: authType(secretFile, mutual), ChapUsername: user}
			var err error
			if req.ChapSecret, err = h.password("--secret-file", secretFile); err != nil {
				return nil, err
			}
			_, err = h.iscsi.ConnectTarget(ctx, req)
			return one(targetObject{IQN: args[0]}, "%s is connected through %s", args[0], p), err
		}),
	}
}

func authType(secretFile string, mutual bool) iscsi.AuthenticationType {
	switch {
	case mutual:
		return iscsi.MUTUAL_CHAP
	case secretFile != "":
		return iscsi.ONE_WAY_CHAP
	}
	return iscsi.NONE
}

func mutualVerb() verb {
	var secretFile string
	return verb{
		use:     "mutual-chap",
		short:   "Set the secret with which targets prove themselves to this machine",
		long:    "It is one for all targets.\n" + secretSource,
		example: "mutual-chap --secret-file - <secret",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&secretFile, "secret-file", "", `file with the secret; "-" is standard input`)
		},
		change: func(ctx context.Context, h *host, _ []string) (*table, error) {
			secret, err := h.password("--secret-file", secretFile)
			if err != nil {
				return nil, err
			}
			_, err = h.iscsi.SetMutualChapSecret(ctx, &iscsi.SetMutualChapSecretRequest{MutualChapSecret: secret})
			return one(machineObject{}, "the secret is set"), err
		},
	}
}

// onPortal reads a portal before the other arguments.
func onPortal(run func(ctx context.Context, h *host, p *iscsi.TargetPortal, args []string) (*table, error)) func(context.Context, *host, []string) (*table, error) {
	return func(ctx context.Context, h *host, args []string) (*table, error) {
		p, err := parsePortal(args[0])
		if err != nil {
			return nil, err
		}
		return run(ctx, h, p, args[1:])
	}
}

func portal(p *iscsi.TargetPortal) portalObject {
	return portalObject{p.TargetAddress, p.TargetPort, p.String()}
}

// parsePortal reads an address with or without a port. What the address is, the
// group judges.
func parsePortal(text string) (*iscsi.TargetPortal, error) {
	const defaultPort = 3260
	whole := &iscsi.TargetPortal{TargetAddress: text, TargetPort: defaultPort}
	colon := strings.LastIndexByte(text, ':')
	if _, err := netip.ParseAddr(text); err == nil || colon < 0 || strings.HasSuffix(text, "]") {
		return whole, nil
	}
	port, err := strconv.ParseUint(text[colon+1:], 10, 32)
	if err != nil {
		return nil, &usageError{message: fmt.Sprintf("no port %q in %q", text[colon+1:], text)}
	}
	return &iscsi.TargetPortal{TargetAddress: text[:colon], TargetPort: uint32(port)}, nil
}

// diskNumbers are disks of which only the numbers are told.
func diskNumbers(ids []string) (*table, error) {
	t := &table{kind: kindDisk}
	for _, id := range ids {
		number, err := diskNumber(id)
		if err != nil {
			return nil, err
		}
		t.add(diskObject{Number: number}, id)
	}
	return t, nil
}

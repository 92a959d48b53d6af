// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
)

// rules are the matchers that disk find and disk wait take, by name.
var rules = map[string]func(value string) (disk.Matcher, error){
	"serial":      always(disk.MatchSerial),
	"page83":      always(disk.MatchPage83),
	"eui64":       always(disk.MatchEUI64),
	"nguid":       always(disk.MatchNGUID),
	"ebs":         always(disk.MatchEBS),
	"ec2-device":  always(disk.MatchXenDevice),
	"google":      always(disk.MatchGooglePage83),
	"google-nvme": always(disk.MatchGoogleNVMe),
	"azure-lun":   numbered(disk.MatchLUN),
	"azure-nvme":  numbered(disk.MatchAzureNVMe),
	"virtio":      always(disk.MatchVirtIO),
}

func ruleNames() []string { return slices.Sorted(maps.Keys(rules)) }

// always is a rule that takes any text.
func always(rule func(string) disk.Matcher) func(string) (disk.Matcher, error) {
	return func(value string) (disk.Matcher, error) { return rule(value), nil }
}

// numbered is a rule that takes a logical unit number.
func numbered(rule func(uint8) disk.Matcher) func(string) (disk.Matcher, error) {
	return func(value string) (disk.Matcher, error) {
		n, err := strconv.ParseUint(value, 10, 8)
		if err != nil {
			return disk.Matcher{}, &usageError{message: fmt.Sprintf("%q is no logical unit number", value)}
		}
		return rule(uint8(n)), nil
	}
}

// ruleSpellings says which disks can be looked for.
var ruleSpellings = "RULE is a platform's: " + strings.Join(ruleNames(), ", ") + "."

func findVerb() verb {
	return verb{
		use:     "find RULE VALUE",
		short:   "Tell which disk it is that matches",
		long:    "Several disks that match are an error; none of them is picked.\n\n" + ruleSpellings,
		example: "find azure-lun 1 --host sim:azure-scsi",
		read:    lookFor(diskGroup.FindDisk),
	}
}

func waitVerb() verb {
	return verb{
		use:   "wait RULE VALUE",
		short: "Wait until a disk is there, and tell which it is",
		long: `It rescans, and looks again when Windows tells of an arrival, for --timeout or
2 minutes. Several disks that match are an error; none of them is picked.

` + ruleSpellings,
		example: "wait ebs vol-0123456789abcdef0 --timeout 30s -o name --host sim:aws-nitro",
		read:    lookFor(diskGroup.WaitForDisk),
		standing: func(ctx context.Context, h *host) string {
			resp, err := h.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
			if err != nil {
				return ""
			}
			return fmt.Sprintf("disks there: %d", len(resp.DiskIDs))
		},
	}
}

// lookFor is a verb whose arguments are a rule and its value.
func lookFor(look func(diskGroup, context.Context, disk.Matcher) (disk.Description, error)) func(context.Context, *host, []string) (*table, error) {
	return func(ctx context.Context, h *host, args []string) (*table, error) {
		rule, ok := rules[args[0]]
		if !ok {
			return nil, &usageError{message: fmt.Sprintf("no rule %q; there are %s", args[0], strings.Join(ruleNames(), ", "))}
		}
		matcher, err := rule(args[1])
		if err != nil {
			return nil, err
		}
		found, err := look(h.disk, ctx, matcher)
		if err != nil {
			return nil, err
		}
		o := described(found)
		t := &table{kind: kindDisk, header: []string{"DISK", "STATE", "SIZE", "SERIAL", "PAGE 83"}}
		t.add(o, o.name(), word(o.State), size(o.SizeBytes).String(), word(o.Serial), word(o.Page83))
		return t, nil
	}
}

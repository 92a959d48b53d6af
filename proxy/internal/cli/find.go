// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
)

// rule is a matcher that disk find and disk wait take.
type rule struct {
	name, value string // value is what it looks for, in words
	matcher     func(value string) (disk.Matcher, error)
}

var rules = []rule{
	{"azure-lun", "logical unit number of an Azure data disk", numbered(disk.MatchLUN)},
	{"azure-nvme", "logical unit number of an Azure data disk that is NVMe", numbered(disk.MatchAzureNVMe)},
	{"ebs", "id of an Amazon EBS volume", always(disk.MatchEBS)},
	{"ec2-device", "device name on EC2 before Nitro: xvdf", always(disk.MatchXenDevice)},
	{"eui64", "EUI-64 of an NVMe namespace", always(disk.MatchEUI64)},
	{"google", "device name of a Google disk", always(disk.MatchGooglePage83)},
	{"google-nvme", "device name of a Google disk that is NVMe", always(disk.MatchGoogleNVMe)},
	{"nguid", "NGUID of an NVMe namespace", always(disk.MatchNGUID)},
	{"page83", "identifier of page 83; on vSphere the disk's UUID", always(disk.MatchPage83)},
	{"serial", "serial number", always(disk.MatchSerial)},
	{"virtio", "id of a volume on virtio", always(disk.MatchVirtIO)},
}

func ruleNames() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// ruleHelp says what can be looked for.
func ruleHelp() string {
	help := fmt.Sprintf("%-11s  VALUE\n", "RULE")
	for _, r := range rules {
		help += fmt.Sprintf("%-11s  %s\n", r.name, r.value)
	}
	return help
}

// matcherOf is the matcher that two arguments name.
func matcherOf(name, value string) (disk.Matcher, error) {
	for _, r := range rules {
		if r.name == name {
			return r.matcher(value)
		}
	}
	return disk.Matcher{}, &usageError{message: fmt.Sprintf("no rule %q; there are %s", name, strings.Join(ruleNames(), ", "))}
}

// always is a rule that takes any text.
func always(match func(string) disk.Matcher) func(string) (disk.Matcher, error) {
	return func(value string) (disk.Matcher, error) { return match(value), nil }
}

// numbered is a rule that takes a logical unit number.
func numbered(match func(uint8) disk.Matcher) func(string) (disk.Matcher, error) {
	return func(value string) (disk.Matcher, error) {
		n, err := strconv.ParseUint(value, 10, 8)
		if err != nil {
			return disk.Matcher{}, &usageError{message: fmt.Sprintf("%q is no logical unit number", value)}
		}
		return match(uint8(n)), nil
	}
}

func findVerb() verb {
	return verb{
		use:     "find RULE VALUE",
		short:   "Tell which disk it is that matches",
		long:    "Several disks that match are an error; none of them is picked.\n\n" + ruleHelp(),
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

` + ruleHelp(),
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
		matcher, err := matcherOf(args[0], args[1])
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

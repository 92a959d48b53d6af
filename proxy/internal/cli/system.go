// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
)

func systemVerbs() []verb {
	return []verb{
		{
			use:     "bios",
			short:   "Serial number of the machine, as its firmware gives it",
			example: "bios --host sim:vsphere-pvscsi",
			read: func(ctx context.Context, h *host, _ []string) (*table, error) {
				resp, err := h.system.GetBIOSSerialNumber(ctx, &system.GetBIOSSerialNumberRequest{})
				return one(kindMachine, machineObject{resp.SerialNumber}, resp.SerialNumber), err
			},
		},
		{
			use:     "service NAME",
			short:   "State and start type of a service",
			long:    "NAME is its key name, in any case.",
			example: "service MSiSCSI --host sim:aws-nitro",
			read:    showService,
		},
		{
			use:   "start NAME",
			short: "Start a service and wait until it runs",
			change: func(ctx context.Context, h *host, args []string) (string, error) {
				_, err := h.system.StartService(ctx, &system.StartServiceRequest{Name: args[0]})
				return done("%s is running", args[0]), err
			},
		},
		stopVerb(),
	}
}

func showService(ctx context.Context, h *host, args []string) (*table, error) {
	resp, err := h.system.GetService(ctx, &system.GetServiceRequest{Name: args[0]})
	if err != nil {
		return nil, err
	}
	start := resp.StartType.String()
	if resp.DelayedStart {
		start += " (delayed)"
	}
	t := &table{kind: kindService, header: []string{"SERVICE", "STATE", "START", "DISPLAY NAME"}}
	t.add(serviceObject{args[0], resp.DisplayName, resp.Status.String(), resp.StartType.String(), resp.DelayedStart}, word(args[0]), word(resp.Status.String()), word(start), word(resp.DisplayName))
	return t, nil
}

func stopVerb() verb {
	var force bool
	return verb{
		use:   "stop NAME",
		short: "Stop a service and wait until it has",
		long:  "What Windows or the node needs is never stopped, and no driver is.",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&force, "force", false, "stop the services that depend on it first")
		},
		change: func(ctx context.Context, h *host, args []string) (string, error) {
			_, err := h.system.StopService(ctx, &system.StopServiceRequest{Name: args[0], Force: force})
			return done("%s is stopped", args[0]), err
		},
	}
}

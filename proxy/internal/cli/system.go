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
				return one(machineObject{Serial: resp.SerialNumber}, "%s", resp.SerialNumber), err
			},
		},
		{
			use:     "service NAME",
			aliases: []string{"get", "describe"},
			short:   "State and start type of a service",
			long:    "NAME is its key name, in any case.",
			example: "service MSiSCSI --host sim:aws-nitro",
			read:    showService,
		},
		{
			use:     "start NAME",
			short:   "Start a service and wait until it runs",
			example: "start MSiSCSI --host sim:aws-nitro",
			change: func(ctx context.Context, h *host, args []string) (*table, error) {
				_, err := h.system.StartService(ctx, &system.StartServiceRequest{Name: args[0]})
				return one(serviceObject{Name: args[0], State: system.SERVICE_STATUS_RUNNING.String()}, "%s is running", args[0]), err
			},
		},
		stopVerb(),
	}
}

func showService(ctx context.Context, h *host, args []string) (*table, error) {
	o, err := serviceNamed(ctx, h, args[0])
	if err != nil {
		return nil, err
	}
	t := &table{kind: kindService, header: []string{"SERVICE", "STATE", "START", "DISPLAY NAME"}}
	t.add(o, word(o.Name), word(o.State), word(startWord(o)), word(o.DisplayName))
	return t, nil
}

func serviceNamed(ctx context.Context, h *host, name string) (serviceObject, error) {
	resp, err := h.system.GetService(ctx, &system.GetServiceRequest{Name: name})
	return serviceObject{name, resp.DisplayName, resp.Status.String(), resp.StartType.String(), &resp.DelayedStart}, err
}

func startWord(o serviceObject) string {
	if o.Delayed != nil && *o.Delayed {
		return o.Start + " (delayed)"
	}
	return o.Start
}

func stopVerb() verb {
	var force bool
	return verb{
		use:     "stop NAME",
		short:   "Stop a service and wait until it has",
		long:    "What Windows or the node needs is never stopped, and no driver is.",
		example: "stop MSiSCSI --host sim:san-iscsi",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&force, "force", false, "stop the services that depend on it first")
		},
		change: func(ctx context.Context, h *host, args []string) (*table, error) {
			_, err := h.system.StopService(ctx, &system.StopServiceRequest{Name: args[0], Force: force})
			return one(serviceObject{Name: args[0], State: system.SERVICE_STATUS_STOPPED.String()}, "%s is stopped", args[0]), err
		},
	}
}

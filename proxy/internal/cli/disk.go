// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

func diskVerbs() []verb {
	return []verb{
		{
			use:   "list",
			short: "List disks with state, size, identifiers and location",
			long:  "What could not be read is shown as ?, and the reason on standard error.",
			read:  listDisks,
		},
		describeVerb(),
		{
			use:   "ids",
			short: "List the identifiers of every disk",
			long:  "They are as the device gives them, in quotes where they hold blanks.",
			read:  listDiskIDs,
		},
		{
			use:   "locations",
			short: "List the location of every disk",
			read:  listDiskLocations,
		},
		{
			use:     "stats DISK",
			short:   "Size of a disk in bytes",
			example: "stats 1",
			read:    diskStats,
		},
		{
			use:   "state DISK",
			short: "Tell whether a disk is online or offline",
			read:  diskState,
		},
		{
			use:    "online DISK",
			short:  "Bring a disk online",
			long:   "An offline disk also becomes writable.",
			change: setDiskState(true),
		},
		{
			use:    "offline DISK",
			short:  "Take a disk offline",
			long:   "Its volumes go away with what was not flushed; unmount them first.",
			change: setDiskState(false),
		},
		partitionVerb(),
		{
			use:      "rescan",
			short:    "Look for new and grown disks",
			harmless: true,
			change: func(ctx context.Context, h *host, _ []string) (string, error) {
				_, err := h.disk.Rescan(ctx, &disk.RescanRequest{})
				return done("rescanned"), err
			},
		},
		waitVerb(),
	}
}

func partitionVerb() verb {
	var overwrite bool
	return verb{
		use:     "partition DISK",
		short:   "Make one data partition over an empty disk",
		long:    "A disk that has partitions stays as it is. The disk is brought online and made\nwritable. Nothing is done to a disk that holds anything, or that Windows needs.",
		example: "partition 1 --host sim:aws-nitro",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&overwrite, "overwrite", false, "lose what Windows does not recognise on the disk")
		},
		change: func(ctx context.Context, h *host, args []string) (string, error) {
			number, err := diskNumber(args[0])
			if err != nil {
				return "", err
			}
			_, err = h.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number, Overwrite: overwrite})
			return done("disk %d is partitioned", number), err
		},
	}
}

// diskNumber reads the N of \\.\PhysicalDriveN.
func diskNumber(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, &usageError{message: fmt.Sprintf("%q is no disk number; csi-proxy disk list shows them", text)}
	}
	return uint32(n), nil
}

func listDisks(ctx context.Context, h *host, _ []string) (*table, error) {
	disks, err := h.disk.ListDisks(ctx)
	if err != nil {
		return nil, err
	}
	places, err := h.disk.ListDiskLocations(ctx, &disk.ListDiskLocationsRequest{})
	if err != nil {
		return nil, err
	}
	t := &table{
		kind:   kindDisk,
		header: []string{"DISK", "STATE", "SIZE", "ADAPTER", "TARGET", "LUN", "SERIAL", "PAGE 83", "READ-ONLY", "BUS", "VENDOR", "PRODUCT"},
		wide:   4,
	}
	for _, d := range disks {
		if d.Err != nil {
			h.warn(errdefs.Wrap("disk.ListDisks", fmt.Sprintf("disk %d", d.Number), d.Err))
		}
		if _, numbered := places.DiskLocations[d.Number]; !numbered {
			continue
		}
		o := described(d)
		place(&o, places.DiskLocations[d.Number])
		readOnly, bytes := unknown, unknown
		if o.ReadOnly != nil {
			readOnly = yesNo(*o.ReadOnly)
		}
		if d.Size > 0 {
			bytes = size(d.Size).String()
		}
		t.add(o, o.name(), cmp.Or(o.State, unknown), bytes, word(o.Adapter), word(o.Target), word(o.LUN), word(o.Serial), word(o.Page83),
			readOnly, word(o.Bus), word(o.Vendor), word(o.Product))
	}
	return t, nil
}

func place(o *diskObject, at *disk.DiskLocation) {
	o.Adapter, o.Target, o.LUN = at.Adapter, at.Target, at.LUNID
}

func listDiskIDs(ctx context.Context, h *host, _ []string) (*table, error) {
	resp, err := h.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	if err != nil {
		return nil, err
	}
	t := &table{kind: kindDisk, header: []string{"DISK", "SERIAL", "PAGE 83"}}
	for _, number := range slices.Sorted(maps.Keys(resp.DiskIDs)) {
		id := resp.DiskIDs[number]
		o := diskObject{Number: number, Serial: id.SerialNumber, Page83: id.Page83}
		t.add(o, o.name(), word(id.SerialNumber), word(id.Page83))
	}
	return t, nil
}

func listDiskLocations(ctx context.Context, h *host, _ []string) (*table, error) {
	resp, err := h.disk.ListDiskLocations(ctx, &disk.ListDiskLocationsRequest{})
	if err != nil {
		return nil, err
	}
	t := &table{kind: kindDisk, header: []string{"DISK", "ADAPTER", "BUS", "TARGET", "LUN"}}
	for _, number := range slices.Sorted(maps.Keys(resp.DiskLocations)) {
		l := resp.DiskLocations[number]
		o := diskObject{Number: number}
		place(&o, l)
		t.add(o, o.name(), word(l.Adapter), word(l.Bus), word(l.Target), word(l.LUNID))
	}
	return t, nil
}

func diskStats(ctx context.Context, h *host, args []string) (*table, error) {
	number, err := diskNumber(args[0])
	if err != nil {
		return nil, err
	}
	resp, err := h.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: number})
	if err != nil {
		return nil, err
	}
	t := &table{kind: kindDisk, header: []string{"DISK", "TOTAL"}}
	o := diskObject{Number: number, SizeBytes: resp.TotalBytes}
	t.add(o, o.name(), size(resp.TotalBytes).exact())
	return t, nil
}

func diskState(ctx context.Context, h *host, args []string) (*table, error) {
	number, err := diskNumber(args[0])
	if err != nil {
		return nil, err
	}
	resp, err := h.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: number})
	state := stateName(resp.IsOnline)
	return one(kindDisk, diskObject{Number: number, State: state}, state), err
}

func setDiskState(online bool) func(context.Context, *host, []string) (string, error) {
	return func(ctx context.Context, h *host, args []string) (string, error) {
		number, err := diskNumber(args[0])
		if err != nil {
			return "", err
		}
		_, err = h.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
		return done("disk %d is %s", number, stateName(online)), err
	}
}

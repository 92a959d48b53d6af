// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
)

func diskVerbs() []verb {
	return []verb{
		{
			use:   "list",
			short: "List disks with state, size, identifiers and location",
			long:  "What could not be read is shown as ?, and the reason on standard error.",
			run:   listDisks,
		},
		{
			use:   "ids",
			short: "List the identifiers of every disk",
			long:  "They are as the device gives them, in quotes where they hold blanks.",
			run:   listDiskIDs,
		},
		{
			use:   "locations",
			short: "List the location of every disk",
			run:   listDiskLocations,
		},
		{
			use:     "stats DISK",
			short:   "Size of a disk in bytes",
			example: "stats 1",
			run:     diskStats,
		},
		{
			use:   "state DISK",
			short: "Tell whether a disk is online or offline",
			run:   diskState,
		},
		{
			use:   "online DISK",
			short: "Bring a disk online",
			long:  "An offline disk also becomes writable.",
			run:   setDiskState(true),
		},
		{
			use:   "offline DISK",
			short: "Take a disk offline",
			long:  "Its volumes go away with what was not flushed; unmount them first.",
			run:   setDiskState(false),
		},
		partitionVerb(),
		{
			use:   "rescan",
			short: "Look for new and grown disks",
			run: func(ctx context.Context, h *host, _ []string) (fmt.Stringer, error) {
				_, err := h.disk.Rescan(ctx, &disk.RescanRequest{})
				return line("rescanned"), err
			},
		},
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
		run: func(ctx context.Context, h *host, args []string) (fmt.Stringer, error) {
			number, err := diskNumber(args[0])
			if err != nil {
				return nil, err
			}
			_, err = h.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number, Overwrite: overwrite})
			return linef("disk %d is partitioned", number), err
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

func listDisks(ctx context.Context, h *host, _ []string) (fmt.Stringer, error) {
	ids, err := h.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	if err != nil {
		return nil, err
	}
	places, err := h.disk.ListDiskLocations(ctx, &disk.ListDiskLocationsRequest{})
	if err != nil {
		return nil, err
	}
	t := &table{header: []string{"DISK", "STATE", "SIZE", "ADAPTER", "TARGET", "LUN", "SERIAL", "PAGE 83"}}
	for _, number := range slices.Sorted(maps.Keys(ids.DiskIDs)) {
		id, place := ids.DiskIDs[number], places.DiskLocations[number]
		if place == nil { // gone between the two lists
			place = &disk.DiskLocation{}
		}
		t.add(strconv.FormatUint(uint64(number), 10), stateCell(ctx, h, number), sizeCell(ctx, h, number),
			word(place.Adapter), word(place.Target), word(place.LUNID), word(id.SerialNumber), word(id.Page83))
	}
	return t, nil
}

func stateCell(ctx context.Context, h *host, number uint32) string {
	resp, err := h.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: number})
	return cell(h, stateName(resp.IsOnline), err)
}

func sizeCell(ctx context.Context, h *host, number uint32) string {
	resp, err := h.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: number})
	return cell(h, size(resp.TotalBytes).String(), err)
}

func listDiskIDs(ctx context.Context, h *host, _ []string) (fmt.Stringer, error) {
	resp, err := h.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	if err != nil {
		return nil, err
	}
	t := &table{header: []string{"DISK", "SERIAL", "PAGE 83"}}
	for _, number := range slices.Sorted(maps.Keys(resp.DiskIDs)) {
		id := resp.DiskIDs[number]
		t.add(strconv.FormatUint(uint64(number), 10), word(id.SerialNumber), word(id.Page83))
	}
	return t, nil
}

func listDiskLocations(ctx context.Context, h *host, _ []string) (fmt.Stringer, error) {
	resp, err := h.disk.ListDiskLocations(ctx, &disk.ListDiskLocationsRequest{})
	if err != nil {
		return nil, err
	}
	t := &table{header: []string{"DISK", "ADAPTER", "BUS", "TARGET", "LUN"}}
	for _, number := range slices.Sorted(maps.Keys(resp.DiskLocations)) {
		l := resp.DiskLocations[number]
		t.add(strconv.FormatUint(uint64(number), 10), word(l.Adapter), word(l.Bus), word(l.Target), word(l.LUNID))
	}
	return t, nil
}

func diskStats(ctx context.Context, h *host, args []string) (fmt.Stringer, error) {
	number, err := diskNumber(args[0])
	if err != nil {
		return nil, err
	}
	resp, err := h.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: number})
	if err != nil {
		return nil, err
	}
	t := &table{header: []string{"DISK", "TOTAL"}}
	t.add(strconv.FormatUint(uint64(number), 10), size(resp.TotalBytes).exact())
	return t, nil
}

func diskState(ctx context.Context, h *host, args []string) (fmt.Stringer, error) {
	number, err := diskNumber(args[0])
	if err != nil {
		return nil, err
	}
	resp, err := h.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: number})
	return line(stateName(resp.IsOnline)), err
}

func setDiskState(online bool) func(context.Context, *host, []string) (fmt.Stringer, error) {
	return func(ctx context.Context, h *host, args []string) (fmt.Stringer, error) {
		number, err := diskNumber(args[0])
		if err != nil {
			return nil, err
		}
		_, err = h.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
		return linef("disk %d is %s", number, stateName(online)), err
	}
}

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// diskGroup is what the verbs use of the disk group.
type diskGroup interface {
	disk.Interface
	ListDisks(context.Context) ([]disk.Description, error)
	DescribeDisk(ctx context.Context, number uint32) (disk.Details, error)
	FindDisk(context.Context, disk.Matcher) (disk.Description, error)
	WaitForDisk(context.Context, disk.Matcher) (disk.Description, error)
	GetReadOnly(context.Context, *disk.GetReadOnlyRequest) (*disk.GetReadOnlyResponse, error)
	SetReadOnly(context.Context, *disk.SetReadOnlyRequest) (*disk.SetReadOnlyResponse, error)
	EnsureOnlineWritable(context.Context, *disk.EnsureOnlineWritableRequest) (*disk.EnsureOnlineWritableResponse, error)
	SANPolicy(context.Context) (disk.SANPolicy, error)
}

func diskVerbs() []verb {
	return []verb{
		{
			use:     "list [DISK...]",
			aliases: []string{"get", "ls"},
			short:   "List disks with state, size, identifiers and location",
			long:    "It lists those that are named, or all. What could not be read is shown as ?, and\nthe reason on standard error.",
			example: "list -o wide --host sim:azure-scsi",
			read:    listDisks,
		},
		describeVerb(),
		{
			use:     "ids",
			short:   "List the identifiers of every disk",
			long:    "They are as the device gives them, in quotes where they hold blanks.",
			example: "ids --host sim:san-fibre",
			read:    listDiskIDs,
		},
		{
			use:     "locations",
			short:   "List the location of every disk",
			example: "locations --host sim:azure-scsi",
			read:    listDiskLocations,
		},
		{
			use:     "stats DISK",
			short:   "Size of a disk in bytes",
			example: "stats 1 --host sim:aws-nitro",
			read:    onDisk(diskStats),
		},
		{
			use:     "state DISK",
			short:   "Tell whether a disk is online or offline",
			example: "state 1 --host sim:vsphere-pvscsi",
			read:    onDisk(diskState),
		},
		{
			use:     "online DISK",
			short:   "Bring a disk online",
			long:    "An offline disk also becomes writable.",
			example: "online 1 --host sim:vsphere-pvscsi",
			change:  setDiskState(true),
		},
		{
			use:     "offline DISK",
			short:   "Take a disk offline",
			long:    "Its volumes go away with what was not flushed; unmount them first.",
			example: "offline 1 --host sim:aws-nitro",
			change:  setDiskState(false),
		},
		{
			use:     "is-read-only DISK",
			short:   "Tell whether a disk is read-only",
			example: "is-read-only 1 --host sim:vsphere-pvscsi",
			read:    onDisk(isReadOnly),
		},
		{
			use:     "read-only DISK",
			short:   "Make a disk read-only",
			long:    "It stays online or offline as it is.",
			example: "read-only 1 --host sim:aws-nitro",
			change:  setReadOnly(true),
		},
		{
			use:     "writable DISK",
			short:   "Make a disk writable",
			long:    "It stays online or offline as it is; ready makes it usable.",
			example: "writable 1 --host sim:vsphere-pvscsi",
			change:  setReadOnly(false),
		},
		{
			use:     "ready DISK",
			short:   "Bring a disk online and make it writable, whatever it is",
			long:    "Disks on buses that machines can share often arrive offline and read-only; see\nsan-policy.",
			example: "ready 1 --host sim:vsphere-pvscsi",
			change:  onDisk(makeReady),
		},
		partitionVerb(),
		{
			use:     "rescan",
			short:   "Look for new and grown disks, and list the identifiers of all",
			example: "rescan --host sim:aws-nitro",
			change:  rescan,
		},
		findVerb(),
		waitVerb(),
		{
			use:     "san-policy",
			short:   "Tell which disks stay offline when they arrive for the first time",
			long:    "offline shared keeps those offline that are on buses which machines can share,\noffline internal the others.",
			example: "san-policy --host sim:vsphere-pvscsi",
			read:    sanPolicy,
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
		change: onDisk(func(ctx context.Context, h *host, number uint32) (*table, error) {
			_, err := h.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number, Overwrite: overwrite})
			return one(diskObject{Number: number}, "disk %d is partitioned", number), err
		}),
	}
}

// onDisk is a verb whose argument is a disk number.
func onDisk(run func(ctx context.Context, h *host, number uint32) (*table, error)) func(context.Context, *host, []string) (*table, error) {
	return func(ctx context.Context, h *host, args []string) (*table, error) {
		number, err := diskNumber(args[0])
		if err != nil {
			return nil, err
		}
		return run(ctx, h, number)
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

func listDisks(ctx context.Context, h *host, args []string) (*table, error) {
	disks, err := listed(ctx, h, args)
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

// listed are the disks of those numbers, or all.
func listed(ctx context.Context, h *host, numbers []string) ([]disk.Description, error) {
	all, err := h.disk.ListDisks(ctx)
	if err != nil || len(numbers) == 0 {
		return all, err
	}
	var named []disk.Description
	for _, text := range numbers {
		number, err := diskNumber(text)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(all, func(d disk.Description) bool { return d.Number == number })
		if at < 0 {
			return nil, errdefs.New(errdefs.NotFound, "disk.ListDisks", fmt.Sprintf("disk %d", number), "there is no such disk")
		}
		named = append(named, all[at])
	}
	return named, nil
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

func diskStats(ctx context.Context, h *host, number uint32) (*table, error) {
	resp, err := h.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: number})
	if err != nil {
		return nil, err
	}
	t := &table{kind: kindDisk, header: []string{"DISK", "TOTAL"}}
	o := diskObject{Number: number, SizeBytes: resp.TotalBytes}
	t.add(o, o.name(), size(resp.TotalBytes).exact())
	return t, nil
}

func diskState(ctx context.Context, h *host, number uint32) (*table, error) {
	resp, err := h.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: number})
	state := stateName(resp.IsOnline)
	return one(diskObject{Number: number, State: state}, "%s", state), err
}

func setDiskState(online bool) func(context.Context, *host, []string) (*table, error) {
	return onDisk(func(ctx context.Context, h *host, number uint32) (*table, error) {
		_, err := h.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
		state := stateName(online)
		return one(diskObject{Number: number, State: state}, "disk %d is %s", number, state), err
	})
}

func isReadOnly(ctx context.Context, h *host, number uint32) (*table, error) {
	resp, err := h.disk.GetReadOnly(ctx, &disk.GetReadOnlyRequest{DiskNumber: number})
	return one(diskObject{Number: number, ReadOnly: &resp.IsReadOnly}, "%s", yesNo(resp.IsReadOnly)), err
}

func setReadOnly(readOnly bool) func(context.Context, *host, []string) (*table, error) {
	return onDisk(func(ctx context.Context, h *host, number uint32) (*table, error) {
		_, err := h.disk.SetReadOnly(ctx, &disk.SetReadOnlyRequest{DiskNumber: number, IsReadOnly: readOnly})
		return one(diskObject{Number: number, ReadOnly: &readOnly}, "disk %d is %s", number, accessName(readOnly)), err
	})
}

func makeReady(ctx context.Context, h *host, number uint32) (*table, error) {
	resp, err := h.disk.EnsureOnlineWritable(ctx, &disk.EnsureOnlineWritableRequest{DiskNumber: number})
	var was []string
	if resp.WasOffline {
		was = append(was, stateName(false))
	}
	if resp.WasReadOnly {
		was = append(was, accessName(true))
	}
	before := ""
	if len(was) > 0 {
		before = ", and was " + strings.Join(was, " and ")
	}
	o := diskObject{Number: number, State: stateName(true), ReadOnly: pointer(false)}
	return one(o, "disk %d is online and writable%s", number, before), err
}

func rescan(ctx context.Context, h *host, _ []string) (*table, error) {
	if _, err := h.disk.Rescan(ctx, &disk.RescanRequest{}); err != nil {
		return nil, err
	}
	return listDiskIDs(ctx, h, nil)
}

func sanPolicy(ctx context.Context, h *host, _ []string) (*table, error) {
	policy, err := h.disk.SANPolicy(ctx)
	return one(machineObject{SANPolicy: policy.String()}, "%s", policy), err
}

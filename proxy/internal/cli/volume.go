// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// volumeGroup is what the verbs use of the volume group.
type volumeGroup interface {
	volume.Interface
	DescribeVolume(ctx context.Context, volumeID string) (volume.Description, error)
	Resolve(ctx context.Context, path string) (volume.Location, error)
}

// spellings says how volumes are named on the command line.
const spellings = `VOLUME is a volume id, \\?\Volume{GUID}\ (in quotes for PowerShell and sh), or a
drive such as C:\, or a mount folder.`

func volumeVerbs() []verb {
	return []verb{
		listVolumesVerb(),
		{
			use:     "formatted VOLUME",
			short:   "Tell whether Windows has mounted a file system on a volume",
			long:    "A volume that holds anything else is an error, not a no.\n" + spellings,
			example: `formatted C:\ --host sim:aws-nitro`,
			read: onVolume(func(ctx context.Context, h *host, id string) (*table, error) {
				resp, err := h.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
				return one(volumeObject{ID: id, Formatted: &resp.Formatted}, "%s", yesNo(resp.Formatted)), err
			}),
		},
		formatVerb(),
		{
			use:     "mount VOLUME PATH",
			short:   "Mount a volume at an empty directory",
			long:    spellings,
			example: `mount '\\?\Volume{0b1e…}\' C:\mnt --yes`,
			change: onVolumeAt(func(ctx context.Context, h *host, id, path string) (*table, error) {
				_, err := h.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
				return one(volumeObject{ID: id, Mounts: []mountObject{{Path: path}}}, "%s is mounted at %s", id, path), err
			}),
		},
		{
			use:     "unmount VOLUME PATH",
			short:   "Flush a volume and unmount it from a directory",
			long:    "The empty directory stays.\n" + spellings,
			example: `unmount C:\mnt C:\mnt --yes`,
			change: onVolumeAt(func(ctx context.Context, h *host, id, path string) (*table, error) {
				_, err := h.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path})
				return one(volumeObject{ID: id}, "%s is unmounted from %s", id, path), err
			}),
		},
		resizeVerb(),
		describeVolumeVerb(),
		resolveVerb(),
		{
			use:     "stats VOLUME",
			short:   "Size and use of a volume",
			long:    spellings,
			example: `stats C:\ --host sim:aws-nitro`,
			read:    onVolume(volumeStats),
		},
		{
			use:     "flush VOLUME",
			short:   "Write what Windows holds back of a volume to its disk",
			long:    spellings,
			example: `flush C:\ --host sim:aws-nitro`,
			change: onVolume(func(ctx context.Context, h *host, id string) (*table, error) {
				_, err := h.volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: id})
				return one(volumeObject{ID: id}, "%s is flushed", id), err
			}),
		},
		{
			use:     "disk VOLUME",
			short:   "Number of the disk that a volume lies on",
			long:    spellings,
			example: `disk C:\ --host sim:aws-nitro`,
			read: onVolume(func(ctx context.Context, h *host, id string) (*table, error) {
				resp, err := h.volume.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
				o := diskObject{Number: resp.DiskNumber}
				return one(o, "%s", o.name()), err
			}),
		},
		{
			use:     "of PATH",
			short:   "Volume that is mounted at a path, links followed",
			example: `of C:\mnt`,
			read: func(ctx context.Context, h *host, args []string) (*table, error) {
				id, err := mountedAt(ctx, h, args[0])
				return one(volumeObject{ID: id}, "%s", id), err
			},
		},
		{
			use:     "closest PATH",
			short:   "Volume that holds what is at a path",
			example: `closest C:\Windows --host sim:aws-nitro`,
			read: func(ctx context.Context, h *host, args []string) (*table, error) {
				id, err := holding(ctx, h, args[0])
				return one(volumeObject{ID: id}, "%s", id), err
			},
		},
	}
}

func formatVerb() verb {
	var (
		req  volume.FormatVolumeRequest
		unit size
	)
	return verb{
		use:     "format VOLUME",
		short:   "Format a volume, with NTFS unless another file system is wanted",
		long:    "A file system that Windows has mounted on it is lost.\n" + spellings,
		example: `format D:\ --fs ReFS --label data --dry-run --host sim:azure-scsi`,
		values:  map[string]string{"fs": "FILESYSTEM"},
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&req.FileSystem, "fs", "", "file system: NTFS, ReFS, FAT32 or exFAT")
			f.StringVar(&req.Label, "label", "", "label of the volume")
			f.Var(&unit, "unit", "allocation unit, in bytes or as 64KiB; 0 leaves it to Windows")
			f.BoolVar(&req.Full, "full", false, "write all of the volume, which takes long")
			f.BoolVar(&req.Compress, "compress", false, "compress all files, on NTFS")
			f.BoolVar(&req.Overwrite, "overwrite", false, "lose what Windows does not recognise, too")
		},
		change: onVolume(func(ctx context.Context, h *host, id string) (*table, error) {
			asked := req
			asked.VolumeID, asked.AllocationUnitSize = id, uint32(min(unit, math.MaxUint32))
			_, err := h.volume.FormatVolume(ctx, &asked)
			return one(volumeObject{ID: id, Formatted: pointer(true)}, "%s is formatted", id), err
		}),
	}
}

func resizeVerb() verb {
	var wanted size
	return verb{
		use:     "resize VOLUME",
		aliases: []string{"expand", "grow"},
		short:   "Make a volume as large as its disk allows, or as wanted",
		long:    "It never shrinks.\n" + spellings,
		example: `resize C:\mnt --size 20GiB`,
		flags: func(f *pflag.FlagSet) {
			f.Var(&wanted, "size", "wanted size, in bytes or as 20GiB; 0 is the largest")
		},
		change: onVolume(func(ctx context.Context, h *host, id string) (*table, error) {
			resp, err := h.volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: id, SizeBytes: int64(wanted)})
			return resized(id, resp), err
		}),
	}
}

func resized(id string, resp *volume.ResizeVolumeResponse) *table {
	o := volumeObject{ID: id, Resized: &resizeObject{resp.Grew, resp.OldSizeBytes, resp.NewSizeBytes, resp.LargestSizeBytes}}
	if !resp.Grew {
		return one(o, "%s is as large as wanted: %s, of at most %s", id, size(resp.NewSizeBytes), size(resp.LargestSizeBytes))
	}
	return one(o, "%s has grown from %s to %s, of at most %s", id, size(resp.OldSizeBytes), size(resp.NewSizeBytes), size(resp.LargestSizeBytes))
}

// onVolume is a verb whose argument names a volume.
func onVolume(run func(ctx context.Context, h *host, id string) (*table, error)) func(context.Context, *host, []string) (*table, error) {
	return func(ctx context.Context, h *host, args []string) (*table, error) {
		id, err := volumeNamed(ctx, h, args[0])
		if err != nil {
			return nil, err
		}
		return run(ctx, h, id)
	}
}

// onVolumeAt is a verb whose arguments name a volume and a path.
func onVolumeAt(run func(ctx context.Context, h *host, id, path string) (*table, error)) func(context.Context, *host, []string) (*table, error) {
	return func(ctx context.Context, h *host, args []string) (*table, error) {
		id, err := volumeNamed(ctx, h, args[0])
		if err != nil {
			return nil, err
		}
		return run(ctx, h, id, args[1])
	}
}

// volumeNamed is the id of the volume that an argument names.
func volumeNamed(ctx context.Context, h *host, name string) (string, error) {
	switch {
	case strings.HasPrefix(strings.ToLower(name), `\\?\volume{`):
		return name, nil
	case isDrive(name):
		return holding(ctx, h, name[:2]+`\`)
	default:
		return mountedAt(ctx, h, name)
	}
}

// isDrive knows C:, C:\ and C:/.
func isDrive(name string) bool {
	letter, rest, ok := strings.Cut(name, ":")
	return ok && len(letter) == 1 && (rest == "" || rest == `\` || rest == "/")
}

func mountedAt(ctx context.Context, h *host, path string) (string, error) {
	resp, err := h.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return resp.VolumeID, err
}

func holding(ctx context.Context, h *host, path string) (string, error) {
	resp, err := h.volume.GetClosestVolumeIDFromTargetPath(ctx, &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
	return resp.VolumeID, err
}

func volumeStats(ctx context.Context, h *host, id string) (*table, error) {
	resp, err := h.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: id})
	if err != nil {
		return nil, err
	}
	t := &table{kind: kindVolume, header: []string{"VOLUME", "TOTAL", "USED", "FREE", "AVAILABLE"}, wide: 1}
	o := volumeObject{ID: id, SizeBytes: resp.TotalBytes, UsedBytes: resp.UsedBytes, AvailableBytes: resp.AvailableBytes}
	t.add(o, id, size(resp.TotalBytes).exact(), size(resp.UsedBytes).exact(), size(resp.TotalBytes-resp.UsedBytes).exact(), size(resp.AvailableBytes).exact())
	return t, nil
}

// allDisks is what volume list looks at, unless it is told a disk.
const allDisks = "all"

func listVolumesVerb() verb {
	var (
		diskFlag  string
		partition uint32
	)
	return verb{
		use:     "list [VOLUME...]",
		aliases: []string{"get", "ls"},
		short:   "List volumes with disk, drive, use and state",
		long:    "It lists those that are named, those of a disk, or all. It waits for volumes that\nWindows has not made yet. Offline disks have none. What could not be read is shown\nas ?, and the reason on standard error. A volume that holds what Windows does not\nmount is foreign or damaged.\n" + spellings,
		example: "list --disk 0 --host sim:azure-scsi",
		values:  map[string]string{"disk": "DISK"},
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&diskFlag, "disk", allDisks, "number of the only disk to look at")
			f.Uint32Var(&partition, "partition", 0, "number of the only partition of that disk to look at; 0 is all")
		},
		read: func(ctx context.Context, h *host, args []string) (*table, error) {
			ids, err := listedVolumes(ctx, h, args, diskFlag, partition)
			if err != nil {
				return nil, err
			}
			return volumeTable(ctx, h, ids), nil
		},
	}
}

// volumesNamed are the ids of the volumes that arguments name.
func volumesNamed(ctx context.Context, h *host, names []string) ([]string, error) {
	var ids []string
	for _, name := range names {
		id, err := volumeNamed(ctx, h, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func listedVolumes(ctx context.Context, h *host, names []string, on string, partition uint32) ([]string, error) {
	switch {
	case len(names) > 0 && on != allDisks:
		return nil, &usageError{message: "--disk is for a list without names"}
	case len(names) > 0:
		return volumesNamed(ctx, h, names)
	case on == allDisks:
		return allVolumes(ctx, h)
	}
	number, err := diskNumber(on)
	if err != nil {
		return nil, err
	}
	return volumesOn(ctx, h, number, partition)
}

func volumesOn(ctx context.Context, h *host, number, partition uint32) ([]string, error) {
	resp, err := h.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: partition})
	return resp.VolumeIDs, err
}

// allVolumes are the volumes of all disks, and then those that only have a drive.
func allVolumes(ctx context.Context, h *host) ([]string, error) {
	disks, err := h.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, number := range slices.Sorted(maps.Keys(disks.DiskIDs)) {
		found, err := volumesOn(ctx, h, number, 0)
		if err != nil && !errors.Is(err, errdefs.ErrDiskOffline) {
			h.warn(err)
		}
		ids = append(ids, found...)
	}
	for _, id := range drives(ctx, h) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func volumeTable(ctx context.Context, h *host, ids []string) *table {
	t := &table{
		kind:   kindVolume,
		header: []string{"VOLUME", "DISK", "DRIVE", "SIZE", "USED", "FORMATTED", "FILE SYSTEM", "LABEL", "MOUNTED AT"},
		wide:   3,
	}
	for _, id := range ids {
		d, err := h.volume.DescribeVolume(ctx, id)
		if err != nil {
			h.warn(err)
			t.add(volumeObject{ID: id}, id, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown)
			continue
		}
		if d.Err != nil {
			h.warn(errdefs.Wrap("volume.DescribeVolume", id, d.Err))
		}
		o := describedVolume(d)
		total, used := spaceCells(o)
		t.add(o, id, diskCell(o), drivesCell(o), total, used, formattedCell(o), word(o.FileSystem), word(o.Label), foldersCell(o))
	}
	return t
}

func diskCell(o volumeObject) string {
	if o.Disk == nil {
		return unknown
	}
	return strconv.FormatUint(uint64(*o.Disk), 10)
}

// drivesCell and foldersCell are where a volume is mounted.
func drivesCell(o volumeObject) string { return mountsCell(o, isDrive) }

func foldersCell(o volumeObject) string {
	return mountsCell(o, func(path string) bool { return !isDrive(path) })
}

func mountsCell(o volumeObject, shown func(string) bool) string {
	var paths []string
	for _, m := range o.Mounts {
		if shown(m.Path) && !m.Stale {
			paths = append(paths, m.Path)
		}
	}
	return cmp.Or(strings.Join(paths, " "), none)
}

// spaceCells are the size and use of a volume, as far as it has a file system.
func spaceCells(o volumeObject) (total, used string) {
	switch {
	case o.Formatted == nil:
		return unknown, unknown
	case o.SizeBytes == 0:
		return none, none
	}
	return size(o.SizeBytes).String(), size(o.UsedBytes).String()
}

// formattedCell names what keeps a volume from being called unformatted.
func formattedCell(o volumeObject) string {
	switch {
	case o.Formatted == nil, o.Content == contentUnknown:
		return unknown
	case o.Content == contentForeign, o.Content == contentDamaged:
		return o.Content
	}
	return yesNo(*o.Formatted)
}

// drives are the volumes of the drives C:\ to Z:\.
func drives(ctx context.Context, h *host) []string {
	var found []string
	for letter := 'C'; letter <= 'Z'; letter++ {
		id, err := holding(ctx, h, string(letter)+`:\`)
		switch errdefs.KindOf(err) {
		case errdefs.None:
			found = append(found, id)
		case errdefs.NotFound:
		default:
			h.warn(err)
		}
	}
	return found
}

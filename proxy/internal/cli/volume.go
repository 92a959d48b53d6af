// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// spellings says how volumes are named on the command line.
const spellings = `VOLUME is a volume id, \\?\Volume{GUID}\ (in quotes for PowerShell and sh), or a
drive such as C:\, or a mount folder.`

func volumeVerbs() []verb {
	return []verb{
		listVolumesVerb(),
		{
			use:   "formatted VOLUME",
			short: "Tell whether Windows has mounted a file system on a volume",
			long:  "A volume that holds anything else is an error, not a no.\n" + spellings,
			run: onVolume(func(ctx context.Context, h *host, id string) (fmt.Stringer, error) {
				resp, err := h.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
				return yesNo(resp.Formatted), err
			}),
		},
		formatVerb(),
		{
			use:     "mount VOLUME PATH",
			short:   "Mount a volume at an empty directory",
			long:    spellings,
			example: `mount '\\?\Volume{0b1e…}\' C:\mnt`,
			run: onVolumeAt(func(ctx context.Context, h *host, id, path string) (fmt.Stringer, error) {
				_, err := h.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
				return linef("%s is mounted at %s", id, path), err
			}),
		},
		{
			use:   "unmount VOLUME PATH",
			short: "Flush a volume and unmount it from a directory",
			long:  "The empty directory stays.\n" + spellings,
			run: onVolumeAt(func(ctx context.Context, h *host, id, path string) (fmt.Stringer, error) {
				_, err := h.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path})
				return linef("%s is unmounted from %s", id, path), err
			}),
		},
		resizeVerb(),
		{
			use:     "stats VOLUME",
			short:   "Size and use of a volume",
			long:    spellings,
			example: `stats C:\ --host sim:aws-nitro`,
			run:     onVolume(volumeStats),
		},
		{
			use:   "flush VOLUME",
			short: "Write what Windows holds back of a volume to its disk",
			long:  spellings,
			run: onVolume(func(ctx context.Context, h *host, id string) (fmt.Stringer, error) {
				_, err := h.volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: id})
				return linef("%s is flushed", id), err
			}),
		},
		{
			use:     "disk VOLUME",
			short:   "Number of the disk that a volume lies on",
			long:    spellings,
			example: `disk C:\ --host sim:aws-nitro`,
			run: onVolume(func(ctx context.Context, h *host, id string) (fmt.Stringer, error) {
				number, err := diskOf(ctx, h, id)
				return line(number), err
			}),
		},
		{
			use:   "of PATH",
			short: "Volume that is mounted at a path, links followed",
			run: func(ctx context.Context, h *host, args []string) (fmt.Stringer, error) {
				id, err := mountedAt(ctx, h, args[0])
				return line(id), err
			},
		},
		{
			use:     "closest PATH",
			short:   "Volume that holds what is at a path",
			example: `closest C:\Windows --host sim:aws-nitro`,
			run: func(ctx context.Context, h *host, args []string) (fmt.Stringer, error) {
				id, err := holding(ctx, h, args[0])
				return line(id), err
			},
		},
	}
}

func formatVerb() verb {
	var overwrite bool
	return verb{
		use:   "format VOLUME",
		short: "Format a volume with NTFS",
		long:  "A file system that Windows has mounted on it is lost.\n" + spellings,
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&overwrite, "overwrite", false, "lose what Windows does not recognise, too")
		},
		run: onVolume(func(ctx context.Context, h *host, id string) (fmt.Stringer, error) {
			_, err := h.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id, Overwrite: overwrite})
			return linef("%s is formatted", id), err
		}),
	}
}

func resizeVerb() verb {
	var wanted size
	return verb{
		use:     "resize VOLUME",
		short:   "Make a volume as large as its disk allows, or as wanted",
		long:    "It never shrinks.\n" + spellings,
		example: `resize C:\mnt --size 20GiB`,
		flags: func(f *pflag.FlagSet) {
			f.Var(&wanted, "size", "wanted size, in bytes or as 20GiB; 0 is the largest")
		},
		run: onVolume(func(ctx context.Context, h *host, id string) (fmt.Stringer, error) {
			_, err := h.volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: id, SizeBytes: int64(wanted)})
			return linef("%s is as large as wanted", id), err
		}),
	}
}

// onVolume is a verb whose argument names a volume.
func onVolume(run func(ctx context.Context, h *host, id string) (fmt.Stringer, error)) func(context.Context, *host, []string) (fmt.Stringer, error) {
	return func(ctx context.Context, h *host, args []string) (fmt.Stringer, error) {
		id, err := volumeNamed(ctx, h, args[0])
		if err != nil {
			return nil, err
		}
		return run(ctx, h, id)
	}
}

// onVolumeAt is a verb whose arguments name a volume and a path.
func onVolumeAt(run func(ctx context.Context, h *host, id, path string) (fmt.Stringer, error)) func(context.Context, *host, []string) (fmt.Stringer, error) {
	return func(ctx context.Context, h *host, args []string) (fmt.Stringer, error) {
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

func diskOf(ctx context.Context, h *host, id string) (string, error) {
	resp, err := h.volume.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
	return strconv.FormatUint(uint64(resp.DiskNumber), 10), err
}

func volumeStats(ctx context.Context, h *host, id string) (fmt.Stringer, error) {
	resp, err := h.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: id})
	if err != nil {
		return nil, err
	}
	t := &table{header: []string{"VOLUME", "TOTAL", "USED", "FREE"}}
	t.add(id, size(resp.TotalBytes).exact(), size(resp.UsedBytes).exact(), size(resp.TotalBytes-resp.UsedBytes).exact())
	return t, nil
}

func listVolumesVerb() verb {
	const allDisks = "all"
	var (
		diskFlag  string
		partition uint32
	)
	return verb{
		use:     "list",
		short:   "List volumes with disk, drive, use and state",
		long:    "It waits for volumes that Windows has not made yet. Offline disks have none. What\ncould not be read is shown as ?, and the reason on standard error. A volume that\nholds what Windows does not mount is foreign or damaged.",
		example: "list --disk 0 --host sim:azure-scsi",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&diskFlag, "disk", allDisks, "number of the only disk to look at")
			f.Uint32Var(&partition, "partition", 0, "number of the only partition of that disk to look at; 0 is all")
		},
		run: func(ctx context.Context, h *host, _ []string) (fmt.Stringer, error) {
			if diskFlag == allDisks {
				return listAllVolumes(ctx, h)
			}
			number, err := diskNumber(diskFlag)
			if err != nil {
				return nil, err
			}
			ids, err := volumesOn(ctx, h, number, partition)
			if err != nil {
				return nil, err
			}
			return volumeTable(ctx, h, ids, drives(ctx, h)), nil
		},
	}
}

func volumesOn(ctx context.Context, h *host, number, partition uint32) ([]string, error) {
	resp, err := h.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: partition})
	return resp.VolumeIDs, err
}

// listAllVolumes lists the volumes of all disks, and then those that only have a
// drive.
func listAllVolumes(ctx context.Context, h *host) (fmt.Stringer, error) {
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
	letters := drives(ctx, h)
	for _, id := range slices.Sorted(maps.Keys(letters)) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return volumeTable(ctx, h, ids, letters), nil
}

func volumeTable(ctx context.Context, h *host, ids []string, drives map[string]string) *table {
	t := &table{header: []string{"VOLUME", "DISK", "DRIVE", "SIZE", "USED", "FORMATTED"}}
	for _, id := range ids {
		number, err := diskOf(ctx, h, id)
		total, used := spaceCells(ctx, h, id)
		t.add(id, cell(h, number, err), word(drives[id]), total, used, formattedCell(ctx, h, id))
	}
	return t
}

// spaceCells are the size and use of a volume, as far as it has a file system.
func spaceCells(ctx context.Context, h *host, id string) (total, used string) {
	resp, err := h.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: id})
	if err != nil {
		return cell(h, "", err), unknown
	}
	if resp.TotalBytes == 0 {
		return none, none
	}
	return size(resp.TotalBytes).String(), size(resp.UsedBytes).String()
}

// formattedCell names what keeps a volume from being called unformatted.
func formattedCell(ctx context.Context, h *host, id string) string {
	resp, err := h.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
	switch {
	case errors.Is(err, errdefs.ErrForeignContent):
		return "foreign"
	case errors.Is(err, errdefs.ErrDamaged):
		return "damaged"
	}
	return cell(h, string(yesNo(resp.Formatted)), err)
}

// drives are the drives C:\ to Z:\ by their volumes' ids.
func drives(ctx context.Context, h *host) map[string]string {
	found := map[string]string{}
	for letter := 'C'; letter <= 'Z'; letter++ {
		root := string(letter) + `:\`
		id, err := holding(ctx, h, root)
		switch errdefs.KindOf(err) {
		case errdefs.None:
			found[id] = strings.TrimSpace(found[id] + " " + root)
		case errdefs.NotFound:
		default:
			h.warn(err)
		}
	}
	return found
}

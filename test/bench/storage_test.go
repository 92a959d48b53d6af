// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

var diskOperations = []operation{
	{name: "ListDisks", lists: true, run: func(s *site) error { return second(s.disk.ListDisks(s.Context())) }},
	{name: "ListDiskIDs", lists: true, run: func(s *site) error {
		return second(s.disk.ListDiskIDs(s.Context(), &disk.ListDiskIDsRequest{}))
	}},
	{name: "ListDiskLocations", lists: true, run: func(s *site) error {
		return second(s.disk.ListDiskLocations(s.Context(), &disk.ListDiskLocationsRequest{}))
	}},
	{name: "FindDisk", lists: true, run: func(s *site) error { return second(s.disk.FindDisk(s.Context(), lastDisk(s))) }},
	{name: "WaitForDisk", lists: true, run: func(s *site) error { return second(s.disk.WaitForDisk(s.Context(), lastDisk(s))) }},
	{name: "DescribeDisk", run: func(s *site) error { return second(s.disk.DescribeDisk(s.Context(), s.number)) }},
	{name: "GetDiskStats", run: func(s *site) error {
		return second(s.disk.GetDiskStats(s.Context(), &disk.GetDiskStatsRequest{DiskNumber: s.number}))
	}},
	{name: "GetDiskState", run: func(s *site) error {
		return second(s.disk.GetDiskState(s.Context(), &disk.GetDiskStateRequest{DiskNumber: s.number}))
	}},
	{name: "GetReadOnly", run: func(s *site) error {
		return second(s.disk.GetReadOnly(s.Context(), &disk.GetReadOnlyRequest{DiskNumber: s.number}))
	}},
	{name: "SANPolicy", run: func(s *site) error { return second(s.disk.SANPolicy(s.Context())) }},
	{name: "SetDiskState, offline", before: online, run: offline},
	{name: "SetDiskState, online", before: offline, run: online},
	{name: "SetDiskState, as it is", run: online},
	{name: "SetReadOnly", before: writable, run: func(s *site) error {
		return second(s.disk.SetReadOnly(s.Context(), &disk.SetReadOnlyRequest{DiskNumber: s.number, IsReadOnly: true}))
	}},
	{name: "EnsureOnlineWritable", before: offline, run: writable},
	{name: "EnsureOnlineWritable, as it is", run: writable},
	{name: "PartitionDisk", before: attachBlank, run: partitionSpare},
	{name: "PartitionDisk, as it is", run: func(s *site) error {
		return second(s.disk.PartitionDisk(s.Context(), &disk.PartitionDiskRequest{DiskNumber: s.number}))
	}},
	{name: "Rescan", run: func(s *site) error { return second(s.disk.Rescan(s.Context(), &disk.RescanRequest{})) }},
}

func lastDisk(s *site) disk.Matcher { return disk.MatchSerial(s.serial()) }

func online(s *site) error {
	return second(s.disk.SetDiskState(s.Context(), &disk.SetDiskStateRequest{DiskNumber: s.number, IsOnline: true}))
}

func offline(s *site) error {
	return second(s.disk.SetDiskState(s.Context(), &disk.SetDiskStateRequest{DiskNumber: s.number}))
}

func writable(s *site) error {
	return second(s.disk.EnsureOnlineWritable(s.Context(), &disk.EnsureOnlineWritableRequest{DiskNumber: s.number}))
}

var volumeOperations = []operation{
	{name: "GetVolumeStats", run: func(s *site) error { return stats(s, s.id) }},
	{name: "GetVolumeIDFromTargetPath", run: func(s *site) error { return second(volumeAt(s, s.path)) }},
	{name: "GetClosestVolumeIDFromTargetPath", run: func(s *site) error {
		return second(s.volume.GetClosestVolumeIDFromTargetPath(s.Context(), &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: s.path + data}))
	}},
	{name: "Resolve", run: func(s *site) error { return second(s.volume.Resolve(s.Context(), s.path)) }},
	{name: "GetDiskNumberFromVolumeID", run: func(s *site) error {
		return second(s.volume.GetDiskNumberFromVolumeID(s.Context(), &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: s.id}))
	}},
	{name: "DescribeVolume", run: func(s *site) error { return second(s.volume.DescribeVolume(s.Context(), s.id)) }},
	{name: "ListVolumesOnDisk", table: true, run: func(s *site) error {
		return second(s.volume.ListVolumesOnDisk(s.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: s.number}))
	}},
	{name: "IsVolumeFormatted", run: func(s *site) error { return isFormatted(s, s.id) }},
	{name: "IsVolumeFormatted, RAW", before: attachRaw, run: func(s *site) error { return isFormatted(s, s.spare.id) }},
	{name: "FormatVolume", before: partitionBlank, run: formatSpare},
	{name: "MountVolume", before: unmount, run: mount},
	{name: "MountVolume, as it is", before: mount, run: mount},
	{name: "UnmountVolume", before: mount, run: unmount},
	{name: "UnmountVolume, as it is", before: unmount, run: unmount},
	{name: "WriteVolumeCache", run: func(s *site) error {
		return second(s.volume.WriteVolumeCache(s.Context(), &volume.WriteVolumeCacheRequest{VolumeID: s.id}))
	}},
	{name: "ResizeVolume", before: attachGrown, run: func(s *site) error { return resize(s, s.spare.id) }},
	{name: "ResizeVolume, as it is", run: func(s *site) error { return resize(s, s.id) }},
}

func stats(s *site, id string) error {
	return second(s.volume.GetVolumeStats(s.Context(), &volume.GetVolumeStatsRequest{VolumeID: id}))
}

func volumeAt(s *site, path string) (string, error) {
	found, err := s.volume.GetVolumeIDFromTargetPath(s.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return found.VolumeID, err
}

func isFormatted(s *site, id string) error {
	return second(s.volume.IsVolumeFormatted(s.Context(), &volume.IsVolumeFormattedRequest{VolumeID: id}))
}

func resize(s *site, id string) error {
	return second(s.volume.ResizeVolume(s.Context(), &volume.ResizeVolumeRequest{VolumeID: id}))
}

func mount(s *site) error { return mountAt(s, s.id, s.path) }

func unmount(s *site) error { return unmountAt(s, s.id, s.path) }

func mountAt(s *site, id, path string) error {
	return second(s.volume.MountVolume(s.Context(), &volume.MountVolumeRequest{VolumeID: id, TargetPath: path}))
}

func unmountAt(s *site, id, path string) error {
	return second(s.volume.UnmountVolume(s.Context(), &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path}))
}

// fleet is what a driver does for all volumes of a node.
var fleet = []operation{
	{name: "stats of every volume", lists: true, run: func(s *site) error {
		return s.each(func(_ uint32, path, _ string) error {
			id, err := volumeAt(s, path)
			if err != nil {
				return err
			}
			return stats(s, id)
		})
	}},
	{name: "drain of every volume", lists: true, before: fill, run: func(s *site) error {
		return s.each(func(number uint32, path, id string) error {
			if err := unmountAt(s, id, path); err != nil {
				return err
			}
			return second(s.disk.SetDiskState(s.Context(), &disk.SetDiskStateRequest{DiskNumber: number}))
		})
	}},
}

// fill undoes a drain.
func fill(s *site) error {
	return s.each(func(number uint32, path, id string) error {
		if err := second(s.disk.SetDiskState(s.Context(), &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true})); err != nil {
			return err
		}
		return mountAt(s, id, path)
	})
}

// each does something for each disk with its volume.
func (s *site) each(do func(number uint32, path, id string) error) error {
	for i := 1; i <= s.disks; i++ {
		if err := do(uint32(i), mountPath(i), volumeID(i)); err != nil {
			return err
		}
	}
	return nil
}

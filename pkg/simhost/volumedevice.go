// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// volumeDriver answers for a volume and its file system.
type volumeDriver struct {
	node    *Node
	volume  *volume
	arrival int // of its disk at which the handle was opened
}

func (vd volumeDriver) gone() error {
	switch {
	case !vd.volume.present || vd.volume.extents[0].disk.arrivals != vd.arrival:
		return vd.node.staleCode()
	case !vd.volume.online(time.Now()):
		return win.ERROR_NOT_READY // its disk is offline
	}
	return nil
}

func (vd volumeDriver) control(code uint32, in []byte, room int) ([]byte, error) {
	n, v := vd.node, vd.volume
	switch code {
	case abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS:
		return v.diskExtents(room)
	case abi.IOCTL_STORAGE_GET_DEVICE_NUMBER:
		return n.volumeNumber(v)
	case abi.IOCTL_DISK_GET_LENGTH_INFO:
		return abi.EncodeLength(v.length()), nil
	case abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX:
		return v.extents[0].disk.geometry().Encode(), nil
	case abi.IOCTL_DISK_IS_WRITABLE:
		if v.readOnly() {
			return nil, win.ERROR_WRITE_PROTECT
		}
		return nil, nil
	case abi.IOCTL_VOLUME_IS_CLUSTERED:
		return nil, n.clustered(v)
	case abi.IOCTL_VOLUME_GET_GPT_ATTRIBUTES:
		if _, p := v.partitionOf(); p != nil && v.extents[0].disk.style == abi.PartitionStyleGPT {
			return abi.EncodeLength(int64(p.attributes)), nil // both are one 64-bit number
		}
	case abi.FSCTL_GET_NTFS_VOLUME_DATA:
		if v.fs == "NTFS" && v.state == 0 {
			return v.ntfsData().Encode(), nil
		}
		return nil, v.notNTFS()
	case abi.FSCTL_IS_VOLUME_DIRTY:
		if v.fs == "" || v.state != 0 {
			return nil, v.notNTFS()
		}
		return abi.EncodeVolumeDirty(v.dirty), nil
	case abi.FSCTL_EXTEND_VOLUME:
		sectors, err := abi.DecodeExtendVolume(in)
		if err != nil {
			return nil, win.ERROR_INVALID_PARAMETER
		}
		return nil, n.extendVolume(v, sectors)
	}
	return nil, win.ERROR_INVALID_FUNCTION
}

// diskExtents answers as many extents as there is room for (windows-api.md
// 7.5).
func (v *volume) diskExtents(room int) ([]byte, error) {
	if room < abi.DiskExtentsSize(1) {
		return nil, win.ERROR_INVALID_PARAMETER
	}
	extents := make([]abi.DiskExtent, len(v.extents))
	for i, e := range v.extents {
		extents[i] = abi.DiskExtent{Disk: e.disk.number, Offset: e.offset, Length: e.length}
	}
	b := abi.EncodeDiskExtents(extents)
	if len(b) <= room {
		return b, nil
	}
	fit := (room - abi.DiskExtentsSize(0)) / (abi.DiskExtentsSize(1) - abi.DiskExtentsSize(0))
	return b[:abi.DiskExtentsSize(fit)], win.ERROR_MORE_DATA
}

// volumeNumber answers for simple volumes only (windows-api.md 1.2).
func (n *Node) volumeNumber(v *volume) ([]byte, error) {
	d, p := v.partitionOf()
	if p == nil || len(v.extents) != 1 || n.switches.VolumeNumberRefused {
		return nil, win.ERROR_INVALID_FUNCTION
	}
	return abi.DeviceNumber{DeviceType: abi.FILE_DEVICE_DISK, Number: d.number, Partition: p.number}.Encode(), nil
}

// clustered answers nil for a volume of a cluster's disk.
func (n *Node) clustered(v *volume) error {
	for _, e := range v.extents {
		if e.disk.clustered {
			return nil
		}
	}
	if n.switches.ClusteredCodeUnknown {
		return win.ERROR_INVALID_FUNCTION
	}
	return win.ERROR_GEN_FAILURE
}

// notNTFS is what NTFS' control codes answer where NTFS is not mounted.
func (v *volume) notNTFS() error {
	switch {
	case v.state != 0:
		return v.state
	case v.fs == "":
		return win.ERROR_UNRECOGNIZED_VOLUME
	default:
		return win.ERROR_INVALID_FUNCTION
	}
}

// ntfsData describes what NTFS uses of its volume: all that it covers but the
// backup boot sector.
func (v *volume) ntfsData() abi.NTFSVolumeData {
	sector := int64(v.extents[0].disk.sectorSize)
	sectors := v.fsSize/sector - 1
	clusters := sectors * sector / int64(v.unitSize)
	return abi.NTFSVolumeData{
		SerialNumber: v.serial64(), Sectors: sectors, TotalClusters: clusters,
		FreeClusters:   max(0, clusters-v.used/int64(v.unitSize)),
		BytesPerSector: uint32(sector), BytesPerCluster: v.unitSize,
	}
}

func (vd volumeDriver) sector() int64 { return int64(vd.volume.extents[0].disk.sectorSize) }

// readAt reads the volume's device, whether a file system is mounted or not.
func (vd volumeDriver) readAt(p []byte, offset int64) (int, error) {
	for _, e := range vd.volume.extents {
		if offset < e.length {
			return e.disk.readWithin(p, offset, e.offset, e.length)
		}
		offset -= e.length
	}
	return 0, win.ERROR_HANDLE_EOF
}

// flush writes the volume's cache (windows-api.md 7.8).
func (vd volumeDriver) flush() error {
	if vd.volume.readOnly() {
		return win.ERROR_WRITE_PROTECT
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// diskDriver answers for a whole disk.
type diskDriver struct {
	node    *Node
	disk    *disk
	arrival int // of the disk at which the handle was opened
}

// The volume's and the disk's geometry for old programs (windows-api.md 4).
const (
	tracksPerCylinder = 255
	sectorsPerTrack   = 63
)

func (dd diskDriver) gone() error {
	if dd.disk.present && dd.disk.arrivals == dd.arrival {
		return nil
	}
	return dd.node.staleCode()
}

// staleCode is what a handle answers whose disk has gone.
func (n *Node) staleCode() error {
	switch n.switches.StaleHandle {
	case StaleNotConnected:
		return win.ERROR_DEVICE_NOT_CONNECTED
	case StaleNotReady:
		return win.ERROR_NOT_READY
	default:
		return win.ERROR_NO_SUCH_DEVICE
	}
}

func (dd diskDriver) control(code uint32, in []byte, room int) ([]byte, error) {
	n, d := dd.node, dd.disk
	switch code {
	case abi.IOCTL_STORAGE_GET_DEVICE_NUMBER:
		return d.deviceNumber(n.switches).Encode(), nil
	case abi.IOCTL_STORAGE_GET_DEVICE_NUMBER_EX:
		return d.deviceNumberEx(n.switches).Encode(), nil
	case abi.IOCTL_STORAGE_QUERY_PROPERTY:
		return d.queryProperty(in, room)
	case abi.IOCTL_SCSI_GET_ADDRESS:
		if d.scsi == nil || d.bus == abi.BusTypeNVMe && n.switches.NVMeWithoutAddress {
			return nil, win.ERROR_INVALID_FUNCTION
		}
		return d.scsi.Encode(), nil
	case abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX:
		return d.geometry().Encode(), nil
	case abi.IOCTL_DISK_GET_LENGTH_INFO:
		return abi.EncodeLength(d.knownSize), nil
	case abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX:
		return n.layout(d)
	case abi.IOCTL_DISK_GET_DISK_ATTRIBUTES:
		return abi.EncodeDiskAttributes(d.attributes()), nil
	case abi.IOCTL_DISK_SET_DISK_ATTRIBUTES:
		return nil, n.setAttributesFrom(d, in)
	case abi.IOCTL_DISK_IS_WRITABLE:
		if d.readOnly {
			return nil, win.ERROR_WRITE_PROTECT
		}
		return nil, nil
	case abi.IOCTL_DISK_UPDATE_PROPERTIES:
		n.refresh(d)
		return nil, nil
	case abi.IOCTL_DISK_UPDATE_DRIVE_SIZE:
		d.knownSize = d.size
		return d.geometry().Encode()[:abi.DiskGeometrySize], nil
	case abi.IOCTL_DISK_GROW_PARTITION:
		return nil, n.growPartitionFrom(d, in)
	}
	return nil, win.ERROR_INVALID_FUNCTION
}

func (d *disk) deviceNumber(s Switches) abi.DeviceNumber {
	number := abi.DeviceNumber{DeviceType: abi.FILE_DEVICE_DISK, Number: d.number}
	if s.WholeDiskNumber {
		number.Partition = abi.NoNumber
	}
	return number
}

func (d *disk) deviceNumberEx(s Switches) abi.DeviceNumberEx {
	number := d.deviceNumber(s)
	ex := abi.DeviceNumberEx{
		DeviceType: number.DeviceType, Number: number.Number, Partition: number.Partition,
		GUID: d.uniqueGUID, Flags: abi.DeviceGUIDRandomNoID,
	}
	if len(d.identifiers) > 0 {
		ex.Flags = abi.DeviceGUIDFromPage83
	}
	return ex
}

func (d *disk) geometry() abi.DiskGeometry {
	return abi.DiskGeometry{
		Cylinders: d.knownSize / (tracksPerCylinder * sectorsPerTrack * int64(d.sectorSize)), MediaType: abi.MediaTypeFixed,
		TracksPerCylinder: tracksPerCylinder, SectorsPerTrack: sectorsPerTrack,
		BytesPerSector: d.sectorSize, DiskSize: d.knownSize,
	}
}

// queryProperty answers a descriptor, cut to the room that there is
// (windows-api.md 2.1).
func (d *disk) queryProperty(in []byte, room int) ([]byte, error) {
	query, err := abi.DecodePropertyQuery(in)
	if err != nil || query.Type > abi.QueryExists {
		return nil, win.ERROR_INVALID_PARAMETER
	}
	descriptor, err := d.descriptor(query)
	if err != nil || query.Type == abi.QueryExists {
		return nil, err
	}
	return descriptor[:min(len(descriptor), room)], nil
}

func (d *disk) descriptor(query abi.PropertyQuery) ([]byte, error) {
	switch query.Property {
	case abi.PropertyDevice:
		return abi.DeviceDescriptor{
			Vendor: d.vendor, Product: d.product, Revision: d.revision, Serial: d.serial, BusType: d.bus,
		}.Encode(), nil
	case abi.PropertyAdapter:
		return abi.AdapterDescriptor{BusType: d.bus}.Encode(), nil
	case abi.PropertyDeviceID:
		if len(d.identifiers) == 0 {
			return nil, win.ERROR_INVALID_FUNCTION
		}
		b, err := abi.EncodeIdentifiers(d.identifiers)
		if err != nil {
			return nil, win.ERROR_IO_DEVICE // cannot be: checked when the disk was made
		}
		return b, nil
	case abi.PropertyAccessAlignment:
		return abi.AlignmentDescriptor{LogicalSector: d.sectorSize, PhysicalSector: d.physicalSectorSize}.Encode(), nil
	case abi.PropertyAdapterProtocol, abi.PropertyDeviceProtocol:
		return d.identifyNVMe(query)
	}
	return nil, win.ERROR_NOT_SUPPORTED
}

// identifyNVMe answers NVMe Identify (windows-api.md 2.4).
func (d *disk) identifyNVMe(query abi.PropertyQuery) ([]byte, error) {
	if d.nvme == nil {
		return nil, win.ERROR_INVALID_FUNCTION
	}
	if query.Type == abi.QueryExists {
		return nil, nil
	}
	identify, err := abi.DecodeNVMeIdentify(query.Parameters)
	if err != nil || (identify.CNS == abi.CNSController) != (query.Property == abi.PropertyAdapterProtocol) {
		return nil, win.ERROR_INVALID_PARAMETER
	}
	if identify.CNS == abi.CNSController {
		return identify.Reply(d.nvme.controller.Encode()), nil
	}
	if identify.Namespace != 0 && identify.Namespace != d.nvme.namespace {
		return nil, win.ERROR_INVALID_PARAMETER
	}
	ids := d.nvme.ids
	ids.Blocks = uint64(d.size) / uint64(d.sectorSize)
	return identify.Reply(ids.Encode()), nil
}

// layout encodes the disk's partition table as Windows sees it.
func (n *Node) layout(d *disk) ([]byte, error) {
	if d.layoutError != 0 {
		return nil, d.layoutError
	}
	n.settle(d)
	l := abi.Layout{Style: d.style}
	switch d.style {
	case abi.PartitionStyleGPT:
		l.DiskID, l.MaxPartitions = d.id, gptEntries
		l.StartingUsableOffset, l.UsableLength = firstUsable(int64(d.sectorSize)), d.usableLength
	case abi.PartitionStyleMBR:
		l.Signature = d.signature
	case abi.PartitionStyleRAW:
		if n.switches.BlankDisk != BlankDiskRAW {
			l.Style = abi.PartitionStyleMBR
		}
	}
	for _, p := range d.partitions {
		l.Partitions = append(l.Partitions, p.entry(d))
	}
	if d.style == abi.PartitionStyleMBR || d.style == abi.PartitionStyleRAW && n.switches.BlankDisk == BlankDiskMBRWithFour {
		for len(l.Partitions) < 4 && !d.superfloppy() {
			l.Partitions = append(l.Partitions, abi.Partition{Style: abi.PartitionStyleMBR})
		}
	}
	return l.Encode(), nil
}

// entry is the partition as an entry of the layout.
func (p *partition) entry(d *disk) abi.Partition {
	e := abi.Partition{
		Style: d.style, Offset: p.offset, Length: p.length, Number: p.number,
		ID: p.id, Type: p.gptType, Attributes: p.attributes, Name: p.name,
	}
	if d.style == abi.PartitionStyleMBR {
		e.MBRType, e.Active, e.Recognized = p.mbrType, p.active, p.recognised()
		e.HiddenSectors = uint32(p.offset / int64(d.sectorSize))
	}
	return e
}

// setAttributesFrom carries out IOCTL_DISK_SET_DISK_ATTRIBUTES.
func (n *Node) setAttributesFrom(d *disk, in []byte) error {
	set, err := abi.DecodeSetDiskAttributes(in)
	if err != nil {
		return win.ERROR_INVALID_PARAMETER
	}
	version := uint32(abi.SetDiskAttributesSize)
	if n.switches.AttributesVersion16 {
		version = abi.DiskAttributesSize
	}
	if set.Version != version {
		return win.ERROR_INVALID_PARAMETER
	}
	return n.setAttributes(d, set.Attributes, set.Mask, set.Persist)
}

// growPartitionFrom carries out IOCTL_DISK_GROW_PARTITION.
func (n *Node) growPartitionFrom(d *disk, in []byte) error {
	grow, err := abi.DecodeGrowPartition(in)
	switch {
	case err != nil:
		return win.ERROR_BAD_LENGTH
	case n.switches.GrowPartitionRefused:
		return win.ERROR_INVALID_PARAMETER
	}
	return n.growPartition(d, grow.Partition, grow.BytesToGrow)
}

func (dd diskDriver) sector() int64 { return int64(dd.disk.sectorSize) }

// readAt reads up to the end that Windows knows.
func (dd diskDriver) readAt(p []byte, offset int64) (int, error) {
	return dd.disk.readWithin(p, offset, 0, dd.disk.knownSize)
}

// readWithin reads from a stretch of the disk; short at its end, and not at all
// behind it.
func (d *disk) readWithin(p []byte, offset, start, length int64) (int, error) {
	if offset >= length {
		return 0, win.ERROR_HANDLE_EOF
	}
	p = p[:min(int64(len(p)), length-offset)]
	if err := d.media.readAt(p, start+offset); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (dd diskDriver) flush() error { return nil }

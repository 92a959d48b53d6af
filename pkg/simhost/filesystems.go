// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

const (
	typicalUnit   = 4096
	freshNTFSUsed = 14 * mib // what the metadata of a new, small NTFS takes
)

// addVolume makes the volume of a partition and tells the mount manager.
func (n *Node) addVolume(d *disk, p *partition) *volume {
	v := &volume{id: n.newGUID(), extents: []extent{{d, p.offset, p.length}}, present: d.present, named: true}
	p.volume = v
	n.nameDevice(v)
	n.volumes[v.id] = v
	return v
}

// nameDevice gives a volume the next \Device\HarddiskVolumeN.
func (n *Node) nameDevice(v *volume) {
	n.devices++
	v.device = n.devices
}

// recognise mounts the NTFS that a new partition happens to uncover.
func (v *volume) recognise() {
	e := v.extents[0]
	sector := int64(e.disk.sectorSize)
	boot := make([]byte, sector)
	if e.disk.media.readAt(boot, e.offset) != nil || !bytes.HasPrefix(boot[3:], []byte("NTFS    ")) || boot[510] != 0x55 || boot[511] != 0xAA {
		return
	}
	sectors := int64(binary.LittleEndian.Uint64(boot[40:]))
	if sectors <= 0 || sectors >= e.length/sector {
		return
	}
	v.fs, v.fsSize, v.unitSize, v.used = "NTFS", (sectors+1)*sector, typicalUnit, freshNTFSUsed
	v.fsSerial = binary.LittleEndian.Uint32(boot[72:])
	v.tree = newTree()
}

// formatting says what format makes.
type formatting struct {
	fs    string
	label string
	unit  uint32 // 0: 4096
	force bool
}

// format makes an empty file system, quickly: only its own structures are
// written (windows-api.md 7.10).
func (n *Node) format(v *volume, f formatting) error {
	name, ok := canonicalFS(f.fs)
	unit := f.unit
	if unit == 0 {
		unit = typicalUnit
	}
	switch {
	case !ok:
		return win.ReturnFileSystem
	case unit&(unit-1) != 0 || unit < 512 || unit > 2*mib:
		return win.ReturnClusterSize
	case v.readOnly():
		return win.ReturnVolumeReadOnly
	case v.vital:
		return win.ReturnCriticalPartition
	case v.fs != "" && !f.force:
		return win.ReturnInUse
	}
	v.fs, v.label, v.unitSize, v.state, v.dirty = name, f.label, unit, 0, false
	v.fsSize, v.used = v.length(), min(freshNTFSUsed, v.length()/2)
	v.fsSerial = n.newGUID().Data1
	v.tree = newTree()
	v.erase()
	v.writeBootSectors()
	return nil
}

// canonicalFS is Windows' spelling of a file system that it can format.
func canonicalFS(name string) (string, bool) {
	for _, known := range []string{"NTFS", "ReFS", "exFAT", "FAT32", "FAT"} {
		if strings.EqualFold(known, name) {
			return known, true
		}
	}
	return "", false
}

// erase clears what a quick format overwrites: the boot area and the last
// sector.
func (v *volume) erase() {
	first, last := v.extents[0], v.extents[len(v.extents)-1]
	sector := int64(last.disk.sectorSize)
	first.disk.media.zero(first.offset, min(16*sector, first.length))
	last.disk.media.zero(last.offset+last.length-sector, sector)
}

// writeBootSectors writes the boot sector and, for NTFS, its backup in the last
// sector that the file system covers.
func (v *volume) writeBootSectors() {
	e := v.extents[0]
	sector := int64(e.disk.sectorSize)
	sectors := v.fsSize / sector
	var boot []byte
	switch v.fs {
	case "NTFS":
		boot = ntfsBootSector(sectors-1, sector, int64(v.unitSize), uint64(v.fsSerial))
		v.writeAt(boot, v.fsSize-sector)
	case "ReFS":
		boot = refsBootSector(sectors, sector)
	case "exFAT":
		boot = exfatBootSector(sectors, sector)
	default:
		boot = fat32BootSector(sectors, sector)
	}
	v.writeAt(boot, 0)
}

// writeAt writes within one extent of the volume's device.
func (v *volume) writeAt(p []byte, offset int64) {
	for _, e := range v.extents {
		if offset < e.length {
			e.disk.media.writeAt(p, e.offset+offset)
			return
		}
		offset -= e.length
	}
}

// extendVolume lets the file system grow to a number of sectors of its volume
// (FSCTL_EXTEND_VOLUME, windows-api.md 7.11).
func (n *Node) extendVolume(v *volume, sectors int64) error {
	size := sectors * int64(v.extents[0].disk.sectorSize)
	switch {
	case v.readOnly():
		return win.ERROR_WRITE_PROTECT
	case v.fs != "NTFS" && v.fs != "ReFS":
		return win.ERROR_INVALID_FUNCTION
	case size > v.length() || size < v.fsSize+int64(v.unitSize):
		return win.ERROR_INVALID_PARAMETER
	}
	v.fsSize = size
	v.writeBootSectors()
	return nil
}

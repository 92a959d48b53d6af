// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// All changes of the storage model go through these functions, whichever
// interface asks for them. They need n.mu. Those that only WMI can ask for
// return a win.ReturnValue, the others a win.Errno.

const (
	mib           = 1 << 20
	typicalUnit   = 4096
	freshNTFSUsed = 14 * mib // what the metadata of a new, small NTFS takes
)

// critical reports whether Windows itself lives on the disk.
func (d *disk) critical() bool { return d.boot || d.system || d.pagefile || d.clustered }

// writable says why a disk refuses changes, if it does.
func (d *disk) writable() error {
	switch {
	case !d.present:
		return win.ERROR_DEVICE_NOT_CONNECTED
	case d.offline:
		return win.ERROR_NOT_READY
	case d.readOnly:
		return win.ERROR_WRITE_PROTECT
	}
	return nil
}

// changeable is writable with the codes of WMI.
func (d *disk) changeable() error {
	switch {
	case !d.present || d.offline:
		return win.ReturnDiskOffline
	case d.readOnly:
		return win.ReturnDiskReadOnly
	}
	return nil
}

// initialise writes an empty partition table onto a disk that has none, and
// with GPT the reserved partition that Windows makes itself (windows-api.md
// 5.3 step 5).
func (n *Node) initialise(d *disk, style abi.PartitionStyle) error {
	if err := d.changeable(); err != nil {
		return err
	}
	switch {
	case d.style != abi.PartitionStyleRAW:
		return win.ReturnAlreadyInitialized
	case style == abi.PartitionStyleGPT && d.knownSize < 2*msrEnd(d, n.switches):
		return win.ReturnTooSmallForGPT
	}
	d.style = style
	if style == abi.PartitionStyleMBR {
		d.signature = n.newGUID().Data1
	} else {
		d.id = n.newGUID()
		n.reserve(d)
	}
	d.writeTable()
	return nil
}

// msrEnd is where the reserved partition ends: at 16 MiB since Windows 10,
// after 32 or 128 MiB before (windows-api.md 5.3 step 5).
func msrEnd(d *disk, s Switches) int64 {
	first := firstUsable(int64(d.sectorSize))
	switch {
	case !s.LargeMSR:
		return 16 * mib
	case d.knownSize < 16<<30:
		return first + 32*mib
	default:
		return first + 128*mib
	}
}

// reserve plans the reserved partition of a new GPT disk.
func (n *Node) reserve(d *disk) {
	switch n.switches.MSR {
	case MSRNever:
	case MSRLate:
		d.msrDue = time.Now().Add(n.arrival)
	default:
		n.addReserved(d)
	}
}

// settle carries out what Windows does on its own after a while.
func (n *Node) settle(d *disk) {
	if !d.msrDue.IsZero() && !time.Now().Before(d.msrDue) {
		n.addReserved(d)
		d.writeTable()
	}
}

// addReserved makes the reserved partition.
func (n *Node) addReserved(d *disk) {
	d.msrDue = time.Time{}
	number := d.freeNumber()
	if n.switches.MSR == MSRNumberedLast {
		number = gptEntries
	}
	first := firstUsable(int64(d.sectorSize))
	d.insert(&partition{
		number: number, offset: first, length: msrEnd(d, n.switches) - first,
		gptType: abi.PARTITION_MSFT_RESERVED_GUID, id: n.newGUID(), name: "Microsoft reserved partition",
	})
}

// insert adds a partition in the order of offsets.
func (d *disk) insert(p *partition) {
	at, _ := slices.BinarySearchFunc(d.partitions, p.offset, func(q *partition, offset int64) int {
		return int(min(max(q.offset-offset, -1), 1))
	})
	d.partitions = slices.Insert(d.partitions, at, p)
}

// freeNumber is the lowest partition number that is not taken.
func (d *disk) freeNumber() uint32 {
	number := uint32(1)
	for slices.ContainsFunc(d.partitions, func(p *partition) bool { return p.number == number }) {
		number++
	}
	return number
}

// gap is unpartitioned space.
type gap struct{ offset, length int64 }

// gaps are the aligned stretches of unpartitioned space, by offset.
func (d *disk) gaps(align int64) []gap {
	start, end := int64(mib), d.knownSize
	if d.style == abi.PartitionStyleGPT {
		start, end = firstUsable(int64(d.sectorSize)), lastUsable(d.knownSize, int64(d.sectorSize))
	}
	var gaps []gap
	add := func(from, to int64) {
		from = (from + align - 1) / align * align
		if to = to / align * align; from < to {
			gaps = append(gaps, gap{from, to - from})
		}
	}
	for _, p := range d.partitions {
		add(start, p.offset)
		start = max(start, p.offset+p.length)
	}
	add(start, end)
	return gaps
}

// largestGap is the longest stretch of unpartitioned space.
func (d *disk) largestGap(align int64) gap {
	var largest gap
	for _, g := range d.gaps(align) {
		if g.length > largest.length {
			largest = g
		}
	}
	return largest
}

// newPartition says what createPartition makes.
type newPartition struct {
	offset     int64 // 0: where it fits
	size       int64 // 0: as large as it gets
	alignment  int64 // 0: 1 MiB
	gptType    abi.GUID
	mbrType    uint8
	attributes uint64
}

// createPartition makes a partition, and the volume of one that holds data. The
// volume arrives later.
func (n *Node) createPartition(d *disk, want newPartition) (*partition, error) {
	if err := d.changeable(); err != nil {
		return nil, err
	}
	if d.style == abi.PartitionStyleRAW {
		return nil, win.ReturnNotInitialized
	}
	if !d.msrDue.IsZero() { // Windows reserves its space before it gives any away
		n.addReserved(d)
	}
	place, err := d.place(want)
	if err != nil {
		return nil, err
	}
	p := &partition{number: d.freeNumber(), offset: place.offset, length: place.length, attributes: want.attributes, id: n.newGUID()}
	if d.style == abi.PartitionStyleGPT {
		if p.gptType = want.gptType; p.gptType.IsZero() {
			p.gptType = abi.PARTITION_BASIC_DATA_GUID
		}
		p.name = "Basic data partition"
	} else if p.mbrType = want.mbrType; p.mbrType == 0 {
		p.mbrType = abi.PARTITION_IFS
	}
	d.insert(p)
	d.writeTable()
	if p.holdsData(d.style) {
		v := n.addVolume(d, p)
		v.arrives = time.Now().Add(n.arrival)
		v.recognise()
	}
	return p, nil
}

// place finds the space for a partition.
func (d *disk) place(want newPartition) (gap, error) {
	align := want.alignment
	if align == 0 {
		align = mib
	}
	if want.offset == 0 && want.size == 0 {
		if g := d.largestGap(align); g.length > 0 {
			return g, nil
		}
		return gap{}, win.ReturnNoSpace
	}
	for _, g := range d.gaps(int64(d.sectorSize)) {
		from := max(want.offset, (g.offset+align-1)/align*align)
		if want.offset != 0 {
			from = want.offset
		}
		size := want.size
		if size == 0 {
			size = (g.offset + g.length - from) / align * align
		}
		if from >= g.offset && size > 0 && from+size <= g.offset+g.length {
			return gap{from, size}, nil
		}
	}
	return gap{}, win.ReturnNoSpace
}

// holdsData reports whether Windows gives the partition a volume that has a
// name (windows-api.md 5.1).
func (p *partition) holdsData(style abi.PartitionStyle) bool {
	if style == abi.PartitionStyleGPT {
		return p.gptType == abi.PARTITION_BASIC_DATA_GUID
	}
	return p.recognised() || p.offset == 0 // a superfloppy
}

// recognised reports whether the MBR type is one whose file systems Windows
// mounts: FAT12, FAT16, FAT32, NTFS and exFAT (RecognizedPartition).
func (p *partition) recognised() bool {
	switch p.mbrType {
	case 0x01, 0x04, 0x06, abi.PARTITION_XINT13, abi.PARTITION_FAT32, abi.PARTITION_FAT32_XINT13, abi.PARTITION_IFS:
		return true
	}
	return false
}

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
	v.fs, v.label, v.unitSize, v.state = name, f.label, unit, 0
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

// growPartition moves the end of a partition (IOCTL_DISK_GROW_PARTITION,
// windows-api.md 7.11).
func (n *Node) growPartition(d *disk, number uint32, by int64) error {
	if err := d.writable(); err != nil {
		return err
	}
	at := slices.IndexFunc(d.partitions, func(p *partition) bool { return p.number == number })
	if at < 0 || by <= 0 || by%int64(d.sectorSize) != 0 {
		return win.ERROR_INVALID_PARAMETER
	}
	p := d.partitions[at]
	if p.offset+p.length+by > d.growthEnd(at) {
		return win.ERROR_INVALID_PARAMETER
	}
	p.length += by
	if v := p.volume; v != nil {
		for i := range v.extents {
			if e := &v.extents[i]; e.disk == d && e.offset == p.offset {
				e.length = p.length
			}
		}
	}
	d.writeTable()
	return nil
}

// growthEnd is the offset up to which a partition can grow.
func (d *disk) growthEnd(at int) int64 {
	switch {
	case at+1 < len(d.partitions):
		return d.partitions[at+1].offset
	case d.style == abi.PartitionStyleGPT:
		return lastUsable(d.knownSize, int64(d.sectorSize))
	default:
		return d.knownSize
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

// attributes are the disk's attribute bits.
func (d *disk) attributes() uint64 {
	var bits uint64
	if d.offline {
		bits |= abi.DISK_ATTRIBUTE_OFFLINE
	}
	if d.readOnly {
		bits |= abi.DISK_ATTRIBUTE_READ_ONLY
	}
	return bits
}

// setAttributes changes the bits in mask. Going offline dismounts the disk's
// volumes at once; coming online shows in them after refresh only.
func (n *Node) setAttributes(d *disk, bits, mask uint64, persist bool) error {
	if mask&^(abi.DISK_ATTRIBUTE_OFFLINE|abi.DISK_ATTRIBUTE_READ_ONLY) != 0 || bits&^mask != 0 {
		return win.ERROR_INVALID_PARAMETER
	}
	if bits != 0 && d.critical() {
		return win.ERROR_ACCESS_DENIED
	}
	if mask&abi.DISK_ATTRIBUTE_OFFLINE != 0 {
		d.offline, d.offlineReason = bits&abi.DISK_ATTRIBUTE_OFFLINE != 0, 0
		if d.offline {
			d.dismount()
		}
	}
	if mask&abi.DISK_ATTRIBUTE_READ_ONLY != 0 {
		d.readOnly = bits&abi.DISK_ATTRIBUTE_READ_ONLY != 0
	}
	if persist {
		d.persistent = &attributes{d.offline, d.readOnly}
	}
	return nil
}

// offlineByPolicy is a value of MSFT_Disk.OfflineReason.
const offlineByPolicy = 1

// refresh makes Windows look at the disk again (IOCTL_DISK_UPDATE_PROPERTIES).
func (n *Node) refresh(d *disk) {
	d.knownSize = d.size
	if d.style == abi.PartitionStyleGPT && n.switches.UsableLengthRenewed {
		d.usableLength = lastUsable(d.knownSize, int64(d.sectorSize)) - firstUsable(int64(d.sectorSize))
	}
	if !d.offline && !d.volumesUp {
		n.bringUp(d, n.arrival)
	}
}

// bringUp lets the disk's volumes arrive after a while.
func (n *Node) bringUp(d *disk, after time.Duration) {
	d.volumesUp = true
	for _, p := range d.partitions {
		if p.volume != nil {
			p.volume.arrives = time.Now().Add(after)
		}
	}
}

// attach gives a disk the lowest free number, and the state that it was left
// in persistently or else that the SAN policy wants (windows-api.md 4).
func (n *Node) attach(d *disk) {
	d.number = 0
	for n.disks[d.number] != nil {
		d.number++
	}
	n.disks[d.number] = d
	d.arrivals++
	d.present, d.knownSize = true, d.size
	switch {
	case d.persistent != nil:
		d.offline, d.readOnly = d.persistent.offline, d.persistent.readOnly
	case n.sanPolicy.offline(d.bus):
		d.offline, d.readOnly, d.offlineReason = true, true, offlineByPolicy
	}
	for _, p := range d.partitions {
		if v := p.volume; v != nil {
			v.present = true
		}
	}
	if !d.offline {
		n.bringUp(d, n.arrival)
	}
}

// detach takes a disk away, as the cloud does: nothing is flushed or closed.
// The mount manager's folders stay behind.
func (n *Node) detach(d *disk) {
	delete(n.disks, d.number)
	d.present = false
	d.dismount()
	for _, p := range d.partitions {
		if v := p.volume; v != nil {
			v.present = false
		}
	}
}

// dismount takes the disk's volumes away. Open files stay stale when the file
// system is mounted again.
func (d *disk) dismount() {
	d.volumesUp = false
	for _, p := range d.partitions {
		if v := p.volume; v != nil && v.tree != nil {
			again := *v.tree
			v.tree = &again
		}
	}
}

// clean removes a disk's table and partitions and clears the first and the last
// MiB (MSFT_Disk.Clear).
func (n *Node) clean(d *disk) error {
	if err := d.writable(); err != nil {
		return err
	}
	if d.critical() {
		return win.ERROR_ACCESS_DENIED
	}
	for _, p := range d.partitions {
		if p.volume != nil {
			p.volume.present = false
			delete(n.volumes, p.volume.id)
		}
	}
	d.eraseBackup()
	d.media.zero(0, mib)
	d.media.zero(d.knownSize-mib, mib)
	d.style, d.partitions, d.id, d.signature, d.usableLength, d.msrDue = abi.PartitionStyleRAW, nil, abi.GUID{}, 0, 0, time.Time{}
	return nil
}

// newGUID makes the next GUID of the node, of random form but always the same.
func (n *Node) newGUID() abi.GUID {
	n.generated++
	x := n.generated * 0x9E37_79B9_7F4A_7C15
	mix := func() uint64 {
		x ^= x >> 30
		x *= 0xBF58_476D_1CE4_E5B9
		x ^= x >> 27
		x *= 0x94D0_49BB_1331_11EB
		return x ^ x>>31
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], mix())
	binary.LittleEndian.PutUint64(b[8:], mix())
	b[7] = b[7]&0x0F | 0x40
	b[8] = b[8]&0x3F | 0x80
	return abi.DecodeGUID(b[:])
}

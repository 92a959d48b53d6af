// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// All changes of the storage model go through these functions, whichever
// interface asks for them. They need n.mu. Those that only WMI can ask for
// return a win.ReturnValue, the others a win.Errno. Here are those of partition
// tables; filesystems.go and state.go have the others.

const mib = 1 << 20

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

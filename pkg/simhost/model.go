// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Node is a simulated Windows node. It is safe for concurrent use: one lock
// guards the whole model, and no method holds it while it waits.
type Node struct {
	host  *win.Host // with around in front of every call
	calls Calls

	mu       sync.Mutex
	onCall   func(Call, func() error) error
	switches Switches
	build    uint32
	windows  string // the Windows directory, for example C:\Windows
	bios     BIOSSpec
	registry map[registryKey]win.RegistryValue

	disks   map[uint32]*disk // attached disks by number
	volumes map[abi.GUID]*volume
	letters map[byte]abi.GUID      // drive letters, upper case
	points  map[string]*mountPoint // the mount manager's folders, by foldPath of text

	pointsOf map[abi.GUID][]*mountPoint // the same, by volume

	services map[string]*service // by foldService of name

	known     []*disk       // every described disk, attached or not, in order
	generated uint64        // GUIDs so far
	devices   uint32        // \Device\HarddiskVolumeN so far
	handles   int           // open handles of all kinds
	arrival   time.Duration // how long a new volume takes to arrive
	sanPolicy SANPolicy
	onArrival []func() // called when a disk arrives

	smb   smbNetwork // see smb.go
	iscsi iscsiNode  // see iscsi.go

	wmi wmiService // see wmi.go
}

// mountPoint is one folder entry of the mount manager's database. It may be
// stale: its volume or its folder can be gone (windows-api.md 7.2).
type mountPoint struct {
	text   string   // canonical folder path with trailing backslash
	volume abi.GUID // what the database says
}

// disk is one disk, attached or not.
type disk struct {
	name          string // by which the node description attaches it
	number        uint32
	interfacePath string
	pathDisks     []string // interface paths of those that MPIO has hidden below it
	present       bool
	remote        bool // a LUN of an iSCSI target: a login attaches it
	arrivals      int  // so far

	bus                       abi.BusType
	vendor, product, revision string
	serial                    string
	identifiers               []abi.Identifier
	uniqueGUID                abi.GUID         // of STORAGE_DEVICE_NUMBER_EX
	scsi                      *abi.SCSIAddress // nil: IOCTL_SCSI_GET_ADDRESS is not answered
	nvme                      *nvmeIdentity
	location                  string // MSFT_Disk.Location

	size       int64 // what the medium holds
	knownSize  int64 // what Windows believes until UPDATE_PROPERTIES
	sectorSize uint32
	// physicalSectorSize is what the medium writes at once.
	physicalSectorSize uint32

	offline, readOnly bool
	offlineReason     uint16      // MSFT_Disk.OfflineReason
	persistent        *attributes // the last state that was asked to persist
	volumesUp         bool        // the volume manager has seen the disk online
	boot, system      bool        // Windows runs from it, starts from it
	pagefile          bool
	clustered         bool

	style        abi.PartitionStyle
	id           abi.GUID     // GPT disk id
	signature    uint32       // MBR
	usableLength int64        // GPT: as the last layout read or write left it
	backupHeader int64        // GPT: sector of the backup header on the medium
	partitions   []*partition // by offset
	msrDue       time.Time    // when Windows makes its reserved partition; zero: done
	layoutError  win.Errno    // what reading the layout answers instead, 0: nothing

	media *media
}

// attributes are a disk's state that may outlive the node's restart.
type attributes struct{ offline, readOnly bool }

// nvmeIdentity is what NVMe Identify answers (windows-api.md 2.4).
type nvmeIdentity struct {
	controller abi.IdentifyController
	namespace  uint32
	ids        abi.IdentifyNamespace // its size is the disk's
}

// partition is one entry of a disk's layout.
type partition struct {
	number     uint32
	offset     int64
	length     int64
	gptType    abi.GUID
	mbrType    uint8
	active     bool
	id         abi.GUID // GPT PartitionId; MBR: the extended layout's id
	name       string
	attributes uint64
	volume     *volume // nil: none (MSR, EFI, recovery) or not arrived
}

// extent is a stretch of a disk that belongs to a volume.
type extent struct {
	disk   *disk
	offset int64
	length int64
}

// volume is one volume of the mount manager.
type volume struct {
	id      abi.GUID
	device  uint32 // N of \Device\HarddiskVolumeN
	extents []extent
	present bool // its disks are attached
	named   bool // has a name: a partition of data, not EFI or recovery
	vital   bool // Windows runs from it, boots from it or pages to it

	fs       string // "NTFS", "ReFS", "FAT32" …; "" is RAW
	label    string
	fsSerial uint32
	fsSize   int64 // bytes that the file system covers
	used     int64
	unitSize uint32    // allocation unit
	state    win.Errno // what GetVolumeInformation answers instead, 0: nothing
	dirty    bool      // to be checked by Windows
	arrives  time.Time // zero: has arrived

	tree *tree // files of a mounted file system; nil on RAW

	remote string // of a share on a file server: UNC\host\share\
}

// volumeName is the name with which a volume's root begins.
func volumeName(id abi.GUID) string { return `\\?\Volume{` + id.String() + `}\` }

// name is the volume's name, \\?\Volume{guid}\.
func (v *volume) name() string { return volumeName(v.id) }

// online reports whether the volume's device answers at all.
func (v *volume) online(now time.Time) bool {
	if !v.present || now.Before(v.arrives) {
		return false
	}
	for _, e := range v.extents {
		if !e.disk.present || !e.disk.volumesUp {
			return false
		}
	}
	return true
}

// readOnly reports whether one of the volume's disks refuses writes.
func (v *volume) readOnly() bool {
	return slices.ContainsFunc(v.extents, func(e extent) bool { return e.disk.readOnly })
}

// length is the size of the volume's device in bytes, which a file system may
// not fill.
func (v *volume) length() int64 {
	var n int64
	for _, e := range v.extents {
		n += e.length
	}
	return n
}

// parseVolumeName reads \\?\Volume{guid} or \\.\Volume{guid}, with or without
// trailing backslash, in any case.
func parseVolumeName(name string) (abi.GUID, bool) {
	const prefix = `\\?\Volume`
	name = strings.TrimSuffix(name, `\`)
	if strings.HasPrefix(name, `\\.\`) {
		name = `\\?\` + name[4:]
	}
	if len(name) != len(prefix)+38 || !strings.EqualFold(name[:len(prefix)], prefix) || name[len(prefix)] != '{' {
		return abi.GUID{}, false
	}
	id, err := abi.ParseGUID(name[len(prefix):])
	return id, err == nil
}

// The lookups below, as all methods with a lower-case name, need n.mu.

// volumeByName finds a volume whose device answers, by \\?\Volume{guid}\.
func (n *Node) volumeByName(name string) (*volume, bool) {
	id, ok := parseVolumeName(name)
	if !ok {
		return nil, false
	}
	return n.volumeByID(id)
}

// volumeByID finds a volume whose device answers.
func (n *Node) volumeByID(id abi.GUID) (*volume, bool) {
	v, ok := n.volumes[id]
	if !ok || !v.online(time.Now()) {
		return nil, false
	}
	return v, true
}

// volumeByLetter finds the volume of a drive letter.
func (n *Node) volumeByLetter(letter byte) (*volume, bool) {
	id, ok := n.letters[upper(letter)]
	if !ok {
		return nil, false
	}
	return n.volumeByID(id)
}

// diskByNumber finds an attached disk.
func (n *Node) diskByNumber(number uint32) (*disk, bool) {
	d, ok := n.disks[number]
	return d, ok
}

// diskByPath finds an attached disk by its interface path.
func (n *Node) diskByPath(path string) (*disk, bool) {
	for _, d := range n.disks {
		if strings.EqualFold(d.interfacePath, path) {
			return d, true
		}
	}
	return nil, false
}

// sortedDisks are the attached disks by number.
func (n *Node) sortedDisks() []*disk {
	disks := make([]*disk, 0, len(n.disks))
	for _, d := range n.disks {
		disks = append(disks, d)
	}
	slices.SortFunc(disks, func(a, b *disk) int { return int(int64(a.number) - int64(b.number)) })
	return disks
}

// sortedVolumes are the volumes whose device answers, by name.
func (n *Node) sortedVolumes() []*volume {
	now := time.Now()
	var volumes []*volume
	for _, v := range n.volumes {
		if v.online(now) {
			volumes = append(volumes, v)
		}
	}
	slices.SortFunc(volumes, func(a, b *volume) int { return compareGUIDs(a.id, b.id) })
	return volumes
}

// partitionOf is the first partition that a volume lies on, or nil.
func (v *volume) partitionOf() (*disk, *partition) {
	for _, e := range v.extents {
		for _, p := range e.disk.partitions {
			if p.volume == v {
				return e.disk, p
			}
		}
	}
	return nil, nil
}

// foldPath is the key under which the mount manager's folders are kept: upper
// case, one trailing backslash.
func foldPath(path string) string {
	return strings.ToUpper(strings.TrimSuffix(path, `\`)) + `\`
}

// opened and closed count handles of every kind.
func (n *Node) opened() { n.handles++ }

func (n *Node) closed() {
	n.handles--
	if n.handles < 0 {
		panic(fmt.Sprintf("simhost: %d handles", n.handles))
	}
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

// compareGUIDs orders GUIDs as their texts.
func compareGUIDs(a, b abi.GUID) int {
	return cmp.Or(cmp.Compare(a.Data1, b.Data1), cmp.Compare(a.Data2, b.Data2), cmp.Compare(a.Data3, b.Data3), bytes.Compare(a.Data4[:], b.Data4[:]))
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// defaultBuild is Windows Server 2022.
const defaultBuild = 20348

// build makes the model that a description describes.
func build(spec NodeSpec) (*Node, error) {
	if spec.Version != SpecVersion {
		return nil, fmt.Errorf("version %d, not %d", spec.Version, SpecVersion)
	}
	if err := spec.Switches.check(); err != nil {
		return nil, err
	}
	switch spec.SANPolicy {
	case "", OnlineAll, OfflineShared, OfflineAll, OfflineInternal:
	default:
		return nil, fmt.Errorf("unknown SAN policy %q", spec.SANPolicy)
	}
	n := &Node{
		switches: spec.Switches,
		build:    or(spec.Build, defaultBuild),
		windows:  or(spec.WindowsDirectory, `C:\Windows`),
		bios:     defaultBIOS,
		registry: map[registryKey]win.RegistryValue{},
		disks:    map[uint32]*disk{},
		volumes:  map[abi.GUID]*volume{},
		letters:  map[byte]abi.GUID{},
		points:   map[string]*mountPoint{},
		pointsOf: map[abi.GUID][]*mountPoint{},
	}
	if spec.BIOS != nil {
		n.bios = *spec.BIOS
	}
	if err := errors.Join(n.bios.check(), n.installServices(spec.Services)); err != nil {
		return nil, err
	}
	if len(spec.Disks) == 0 {
		spec.Disks = []DiskSpec{BootDisk()}
	}
	for _, d := range spec.Disks {
		built, err := n.addDisk(d)
		if err != nil {
			return nil, err
		}
		n.attach(built)
	}
	for _, d := range spec.Attachable {
		if _, err := n.addDisk(d); err != nil {
			return nil, err
		}
	}
	if err := n.install(spec); err != nil {
		return nil, err
	}
	for _, s := range spec.SMB {
		if err := n.addSMBServer(s); err != nil {
			return nil, err
		}
	}
	if err := n.buildISCSI(spec.ISCSI); err != nil {
		return nil, err
	}
	n.arrival, n.sanPolicy = time.Duration(spec.Arrival), spec.SANPolicy
	return n, nil
}

// or is v, or instead where v is the zero value.
func or[T comparable](v, instead T) T {
	var zero T
	if v == zero {
		return instead
	}
	return v
}

// BootDisk is a disk that Windows can run from: EFI, reserved and C:.
func BootDisk() DiskSpec {
	return DiskSpec{
		Name: "boot", Size: 64 * GiB, Bus: "sas", Vendor: "Msft    ", Product: "Virtual Disk    ", Revision: "1.0 ",
		Address: &AddressSpec{}, Style: "gpt",
		Partitions: []PartitionSpec{
			{Type: "efi", Size: 100 * MiB, Volume: &VolumeSpec{FileSystem: "FAT32"}},
			{Type: "msr", Size: 16 * MiB},
			{Type: "basic", Volume: &VolumeSpec{FileSystem: "NTFS", Letter: "C", Used: 20 * GiB}},
		},
	}
}

// install puts Windows onto the node: its directory, page files, the registry
// values that name them, and what follows for disks and volumes.
func (n *Node) install(spec NodeSpec) error {
	boot, err := n.diskOfPath(n.windows)
	if err != nil {
		return fmt.Errorf("windowsDirectory: %w", err)
	}
	boot.boot = true
	files := spec.PageFiles
	if files == nil {
		files = []string{`C:\pagefile.sys`}
	}
	var existing []string
	for _, file := range files {
		d, err := n.diskOfPath(file)
		if err != nil {
			return fmt.Errorf("pageFiles: %w", err)
		}
		d.pagefile = true
		existing = append(existing, `\??\`+file)
	}
	n.setRegistry(`SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management`, "ExistingPageFiles", regMultiSZ, existing...)
	device := n.startPartition(boot)
	n.setRegistry(`SYSTEM\Setup`, "SystemPartition", regSZ, fmt.Sprintf(`\Device\HarddiskVolume%d`, device))
	for _, path := range append([]string{n.windows + `\System32`}, spec.Directories...) {
		if err := n.makeDirectories(path); err != nil {
			return fmt.Errorf("directory %q: %w", path, err)
		}
	}
	return nil
}

// diskOfPath finds the disk of a path that Windows cannot do without.
func (n *Node) diskOfPath(path string) (*disk, error) {
	v, err := n.volumeOfPath(path)
	if err != nil {
		return nil, err
	}
	v.vital = true
	return v.extents[0].disk, nil
}

// volumeOfPath finds the volume of a path with a drive letter.
func (n *Node) volumeOfPath(path string) (*volume, error) {
	if len(path) < 3 || path[1] != ':' || path[2] != '\\' {
		return nil, fmt.Errorf(`%q is not of the form X:\path`, path)
	}
	v, ok := n.volumeByLetter(path[0])
	if !ok || v.fs == "" {
		return nil, fmt.Errorf("%q: no formatted volume has this letter", path)
	}
	return v, nil
}

// startPartition finds the partition from which the machine starts and returns
// the number of its volume's device: the first EFI partition, or the active one
// or else the first of the boot disk.
func (n *Node) startPartition(boot *disk) uint32 {
	start := boot.partitions[0]
	owner := boot
	for _, d := range n.sortedDisks() {
		for _, p := range d.partitions {
			if p.volume != nil && (p.gptType == abi.PARTITION_SYSTEM_GUID || p.active) {
				start, owner = p, d
			}
		}
	}
	owner.system = true
	if start.volume == nil {
		return 0
	}
	start.volume.vital = true
	return start.volume.device
}

// makeDirectories makes a directory and its parents.
func (n *Node) makeDirectories(path string) error {
	v, err := n.volumeOfPath(path)
	if err != nil {
		return err
	}
	e := v.tree.root
	for _, name := range strings.Split(path[3:], `\`) {
		next := e.child(name)
		if next == nil {
			var err error
			if next, err = v.tree.create(e, name, true); err != nil {
				return err
			}
		}
		e = next
	}
	return nil
}

// addDisk makes a disk that can be attached.
func (n *Node) addDisk(spec DiskSpec) (*disk, error) {
	d, err := n.buildDisk(spec)
	if err != nil {
		return nil, fmt.Errorf("disk %q: %w", spec.Name, err)
	}
	n.known = append(n.known, d)
	return d, nil
}

// buses are the names of bus types in descriptions.
var buses = map[string]abi.BusType{
	"scsi": abi.BusTypeSCSI, "ata": abi.BusTypeATA, "fibre": abi.BusTypeFibre, "usb": abi.BusTypeUSB,
	"raid": abi.BusTypeRAID, "iscsi": abi.BusTypeISCSI, "sas": abi.BusTypeSAS, "sata": abi.BusTypeSATA,
	"virtual": abi.BusTypeVirtual, "file": abi.BusTypeFileBackedVirtual, "spaces": abi.BusTypeSpaces,
	"nvme": abi.BusTypeNVMe,
}

func (n *Node) buildDisk(spec DiskSpec) (*disk, error) {
	bus, ok := buses[spec.Bus]
	switch {
	case spec.Name == "":
		return nil, errors.New("has no name")
	case n.diskNamed(spec.Name) != nil:
		return nil, errors.New("name is taken")
	case !ok:
		return nil, fmt.Errorf("unknown bus %q", spec.Bus)
	}
	d := &disk{
		name: spec.Name, bus: bus,
		vendor: spec.Vendor, product: spec.Product, revision: spec.Revision, serial: spec.Serial,
		location: spec.Location, size: int64(spec.Size), knownSize: int64(spec.Size),
		sectorSize: or(spec.SectorSize, 512), physicalSectorSize: or(spec.PhysicalSectorSize, 4096),
		clustered: spec.Clustered, pathDisks: spec.PathDisks,
		layoutError: win.Errno(spec.LayoutError), style: abi.PartitionStyleRAW, media: newMedia(),
		uniqueGUID: n.newGUID(),
	}
	if d.sectorSize != 512 && d.sectorSize != 4096 {
		return nil, fmt.Errorf("sector size %d", d.sectorSize)
	}
	if d.physicalSectorSize < d.sectorSize || d.physicalSectorSize%d.sectorSize != 0 {
		return nil, fmt.Errorf("physical sector size %d", d.physicalSectorSize)
	}
	if d.size < 4*mib || d.size%int64(d.sectorSize) != 0 {
		return nil, fmt.Errorf("size %d", d.size)
	}
	if spec.Offline || spec.ReadOnly {
		d.persistent, d.offlineReason = &attributes{spec.Offline, spec.ReadOnly}, spec.OfflineReason
	}
	if a := spec.Address; a != nil {
		d.scsi = &abi.SCSIAddress{Port: a.Port, Path: a.Path, Target: a.Target, LUN: a.LUN}
	}
	if d.interfacePath = spec.InterfacePath; d.interfacePath == "" {
		d.interfacePath = d.makeInterfacePath()
	}
	for _, u := range spec.Unreadable {
		d.media.unreadable = append(d.media.unreadable, u.unreadable())
	}
	if err := d.identify(spec); err != nil {
		return nil, err
	}
	if err := n.buildLayout(d, spec); err != nil {
		return nil, err
	}
	return d, d.writeMedia(spec.Media, 0, d.size)
}

func (r RangeSpec) unreadable() unreadable {
	return unreadable{int64(r.Offset), int64(r.Length), or(win.Errno(r.Code), win.ERROR_CRC)}
}

// makeInterfacePath makes a path of the form that windows-api.md 1.1 shows.
func (d *disk) makeInterfacePath() string {
	word := func(s string) string {
		return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), " ", "_")
	}
	h := fnv.New32a()
	h.Write([]byte(d.name))
	var a abi.SCSIAddress
	if d.scsi != nil {
		a = *d.scsi
	}
	return fmt.Sprintf(`\\?\scsi#disk&ven_%s&prod_%s#5&%x&0&%02x%02x%02x#{%s}`,
		word(d.vendor), word(d.product), h.Sum32(), a.Path, a.Target, a.LUN, abi.GUID_DEVINTERFACE_DISK)
}

// The names of page 83's numbers in descriptions.
var (
	codeSets     = map[string]abi.CodeSet{"binary": abi.CodeSetBinary, "ascii": abi.CodeSetASCII, "utf8": abi.CodeSetUTF8}
	associations = map[string]abi.Association{"": abi.AssociationDevice, "device": abi.AssociationDevice, "port": abi.AssociationPort, "target": abi.AssociationTarget}
	idTypes      = map[string]abi.IdentifierType{
		"vendor": abi.IdentifierVendorSpecific, "t10": abi.IdentifierVendorID, "eui64": abi.IdentifierEUI64,
		"naa": abi.IdentifierNAA, "port": abi.IdentifierPortRelative, "targetGroup": abi.IdentifierTargetPortGroup,
		"lunGroup": abi.IdentifierLogicalUnitGroup, "md5": abi.IdentifierMD5, "name": abi.IdentifierSCSIName,
	}
)

// identify sets page 83 and what NVMe Identify answers.
func (d *disk) identify(spec DiskSpec) error {
	for _, i := range spec.Identifiers {
		codeSet, ok := codeSets[i.CodeSet]
		kind, ok2 := idTypes[i.Type]
		association, ok3 := associations[i.Association]
		if !ok || !ok2 || !ok3 {
			return fmt.Errorf("identifier of code set %q, type %q, association %q", i.CodeSet, i.Type, i.Association)
		}
		value, err := i.bytes()
		if err != nil {
			return fmt.Errorf("identifier: %w", err)
		}
		d.identifiers = append(d.identifiers, abi.Identifier{CodeSet: codeSet, Type: kind, Association: association, Value: value})
	}
	if _, err := abi.EncodeIdentifiers(d.identifiers); err != nil {
		return err
	}
	if spec.NVMe == nil {
		return nil
	}
	identity, err := spec.NVMe.identity()
	d.nvme = identity
	return err
}

func (s NVMeSpec) identity() (*nvmeIdentity, error) {
	eui, err := hex.DecodeString(s.EUI64)
	nguid, err2 := hex.DecodeString(s.NGUID)
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("nvme: %w", err)
	}
	if len(eui) != 0 && len(eui) != 8 || len(nguid) != 0 && len(nguid) != 16 {
		return nil, errors.New("nvme: eui64 has 16 digits, nguid 32")
	}
	i := &nvmeIdentity{
		controller: abi.IdentifyController{
			Vendor: s.Vendor, Serial: s.Serial, Model: s.Model, Firmware: s.Firmware, VendorArea: []byte(s.ControllerArea),
		},
		namespace: s.Namespace,
		ids:       abi.IdentifyNamespace{VendorArea: []byte(s.NamespaceArea)},
	}
	copy(i.ids.EUI64[:], eui)
	copy(i.ids.NGUID[:], nguid)
	return i, nil
}

// buildLayout makes the partitions, their volumes and the table.
func (n *Node) buildLayout(d *disk, spec DiskSpec) error {
	styles := map[string]abi.PartitionStyle{
		"": abi.PartitionStyleRAW, "raw": abi.PartitionStyleRAW, "gpt": abi.PartitionStyleGPT,
		"mbr": abi.PartitionStyleMBR, "superfloppy": abi.PartitionStyleMBR,
	}
	style, ok := styles[spec.Style]
	switch {
	case !ok:
		return fmt.Errorf("unknown style %q", spec.Style)
	case style == abi.PartitionStyleRAW && len(spec.Partitions) > 0:
		return errors.New("a raw disk has no partitions")
	case spec.Style == "superfloppy" && len(spec.Partitions) != 1:
		return errors.New("a superfloppy has one partition")
	}
	d.style, d.signature = style, spec.Signature
	if style == abi.PartitionStyleMBR && d.signature == 0 {
		d.signature = n.newGUID().Data1
	}
	var err error
	if d.id, err = n.guid(spec.ID); err != nil {
		return err
	}
	for i, p := range spec.Partitions {
		if spec.Style == "superfloppy" {
			err = n.buildPartition(d, p, gap{0, d.size})
		} else {
			err = n.buildPartition(d, p, d.nextPlace(p))
		}
		if err != nil {
			return fmt.Errorf("partition %d: %w", i+1, err)
		}
	}
	d.writeTable()
	return nil
}

// nextPlace is where a described partition goes.
func (d *disk) nextPlace(spec PartitionSpec) gap {
	at := gap{int64(spec.Offset), int64(spec.Size)}
	sector := int64(d.sectorSize)
	if at.offset == 0 {
		at.offset = mib
		if len(d.partitions) > 0 {
			last := d.partitions[len(d.partitions)-1]
			at.offset = (last.offset + last.length + mib - 1) / mib * mib
		} else if spec.Type == "msr" {
			at.offset = firstUsable(sector)
		}
	}
	end := d.size
	if d.style == abi.PartitionStyleGPT {
		end = lastUsable(d.size, sector)
	}
	if at.length == 0 {
		at.length = end/mib*mib - at.offset
		if spec.Type == "msr" {
			at.length = 16*mib - at.offset
		}
	}
	return at
}

func (n *Node) buildPartition(d *disk, spec PartitionSpec, at gap) error {
	p := &partition{number: or(spec.Number, d.freeNumber()), offset: at.offset, length: at.length, attributes: spec.Attributes, active: spec.Active}
	switch {
	case p.length <= 0 || p.offset%int64(d.sectorSize) != 0 || p.length%int64(d.sectorSize) != 0 || p.offset+p.length > d.size:
		return fmt.Errorf("%d bytes at %d of %d", p.length, p.offset, d.size)
	case slices.ContainsFunc(d.partitions, func(q *partition) bool {
		return q.number == p.number || p.offset < q.offset+q.length && q.offset < p.offset+p.length
	}):
		return errors.New("overlaps another or has its number")
	}
	var err error
	if p.id, err = n.guid(spec.ID); err != nil {
		return err
	}
	if err := p.setType(d.style, spec.Type); err != nil {
		return err
	}
	d.insert(p)
	if err := n.buildVolume(d, p, spec); err != nil {
		return err
	}
	return d.writeMedia(spec.Media, p.offset, p.length)
}

// gptTypes are the names of partition types in descriptions.
var gptTypes = map[string]abi.GUID{
	"": abi.PARTITION_BASIC_DATA_GUID, "basic": abi.PARTITION_BASIC_DATA_GUID, "msr": abi.PARTITION_MSFT_RESERVED_GUID,
	"efi": abi.PARTITION_SYSTEM_GUID, "recovery": abi.PARTITION_MSFT_RECOVERY_GUID,
	"linux": {Data1: 0x0FC63DAF, Data2: 0x8483, Data3: 0x4772, Data4: [8]byte{0x8E, 0x79, 0x3D, 0x69, 0xD8, 0x47, 0x7D, 0xE4}},
}

func (p *partition) setType(style abi.PartitionStyle, name string) error {
	if style == abi.PartitionStyleMBR {
		kind, err := strconv.ParseUint(or(name, "0x07"), 0, 8)
		if name == "basic" {
			kind, err = uint64(abi.PARTITION_IFS), nil
		}
		p.mbrType, p.id = uint8(kind), abi.GUID{}
		return err
	}
	kind, ok := gptTypes[name]
	if !ok {
		var err error
		if kind, err = abi.ParseGUID(name); err != nil {
			return err
		}
	}
	p.gptType = kind
	return nil
}

// buildVolume makes the volume of a partition. That of a partition that holds
// no data is a device without a name (windows-api.md 5.1).
func (n *Node) buildVolume(d *disk, p *partition, spec PartitionSpec) error {
	s := spec.Volume
	if spec.WithoutVolume || s == nil && !p.holdsData(d.style) {
		return nil
	}
	if s == nil {
		s = &VolumeSpec{}
	}
	v := &volume{extents: []extent{{d, p.offset, p.length}}, label: s.Label, state: win.Errno(s.State), dirty: s.Dirty}
	var err error
	if v.id, err = n.guid(s.ID); err != nil {
		return err
	}
	p.volume = v
	n.nameDevice(v)
	if v.named = p.holdsData(d.style); v.named {
		n.volumes[v.id] = v
	}
	if s.FileSystem != "" {
		if err := n.buildFileSystem(v, *s); err != nil {
			return err
		}
	}
	return n.giveLetter(v, s.Letter)
}

func (n *Node) buildFileSystem(v *volume, s VolumeSpec) error {
	fs, ok := canonicalFS(s.FileSystem)
	if !ok {
		return fmt.Errorf("unknown file system %q", s.FileSystem)
	}
	v.fs, v.unitSize = fs, or(s.Unit, typicalUnit)
	v.fsSize = or(int64(s.Covers), v.length())
	if v.fsSize > v.length() {
		return fmt.Errorf("file system covers %d bytes of %d", v.fsSize, v.length())
	}
	v.used = or(int64(s.Used), min(freshNTFSUsed, v.length()/2))
	v.fsSerial = n.newGUID().Data1
	v.tree = newTree()
	v.writeBootSectors()
	return nil
}

// giveLetter assigns a drive letter; "" is none.
func (n *Node) giveLetter(v *volume, letter string) error {
	if letter == "" {
		return nil
	}
	c := letter[0]
	if _, taken := n.letters[c]; len(letter) != 1 || c < 'A' || c > 'Z' || taken || !v.named {
		return fmt.Errorf("drive letter %q", letter)
	}
	n.letters[c] = v.id
	return nil
}

// guid reads a GUID, or makes one of "".
func (n *Node) guid(text string) (abi.GUID, error) {
	if text == "" {
		return n.newGUID(), nil
	}
	return abi.ParseGUID(text)
}

// writeMedia writes foreign signatures into a stretch of the disk.
func (d *disk) writeMedia(kinds []Media, offset, length int64) error {
	for _, kind := range kinds {
		chunks, err := kind.chunks(length, d.sectorSize)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			if c.offset < 0 || c.offset+int64(len(c.data)) > length {
				return fmt.Errorf("media %q does not fit", kind)
			}
			d.media.writeAt(c.data, offset+c.offset)
		}
	}
	return nil
}

// Registry value types.
const (
	regSZ      = 1
	regMultiSZ = 7
)

// setRegistry stores text as the registry does: NUL-terminated UTF-16, a list
// with one more NUL at its end.
func (n *Node) setRegistry(key, name string, kind uint32, texts ...string) {
	var data []byte
	for _, text := range texts {
		data = append(data, abi.EncodeUTF16(text+"\x00")...)
	}
	if kind == regMultiSZ {
		data = binary.LittleEndian.AppendUint16(data, 0)
	}
	n.registry[newRegistryKey(key, name)] = win.RegistryValue{Type: kind, Data: data}
}

// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// storageNamespace is where the storage provider's classes are.
const storageNamespace = `root\Microsoft\Windows\Storage`

// storageCache is the storage provider's view of the node. It is read when the
// node starts, by UpdateHostStorageCache, for one disk by MSFT_Disk.Refresh and
// by the provider's own changes; what happens to the node otherwise does not
// show in it (docs/architecture.md, rule 4).
type storageCache struct {
	disks   []*cachedDisk
	volumes []*cachedVolume
}

// cachedDisk is one disk with its partitions as they were when it was read.
type cachedDisk struct {
	path       string // its device interface, by which methods find it again
	row        cimObject
	partitions []*cachedPartition
}

type cachedPartition struct {
	volume string // its name; "" for none
	row    cimObject
}

type cachedVolume struct {
	name string
	row  cimObject
}

// cache is the provider's view, read now if the provider has just started.
func (n *Node) storage() *storageCache {
	if n.wmi.storage == nil {
		n.readStorage()
	}
	return n.wmi.storage
}

// readStorage lets the provider read the whole node.
func (n *Node) readStorage() {
	c := &storageCache{}
	for _, d := range n.sortedDisks() {
		n.settle(d)
		c.disks = append(c.disks, n.readDisk(d))
	}
	for _, v := range n.sortedVolumes() {
		if v.named {
			c.volumes = append(c.volumes, n.readVolume(v))
		}
	}
	n.wmi.storage = c
}

// rereadDisk renews what the provider knows about one disk and its volumes.
func (n *Node) rereadDisk(d *disk) {
	n.settle(d)
	c := n.storage()
	fresh := n.readDisk(d)
	at := slices.IndexFunc(c.disks, func(o *cachedDisk) bool { return strings.EqualFold(o.path, d.interfacePath) })
	if at < 0 {
		at = len(c.disks)
		c.disks = append(c.disks, fresh)
	}
	for _, p := range slices.Concat(c.disks[at].partitions, fresh.partitions) {
		if p.volume != "" {
			n.rereadVolume(p.volume)
		}
	}
	c.disks[at] = fresh
}

// rereadVolume renews what the provider knows about one volume, which may have
// come or gone.
func (n *Node) rereadVolume(name string) {
	c := n.storage()
	c.volumes = slices.DeleteFunc(c.volumes, func(o *cachedVolume) bool { return o.name == name })
	if v, ok := n.volumeByName(name); ok && v.named {
		c.volumes = append(c.volumes, n.readVolume(v))
	}
}

func (n *Node) readDisk(d *disk) *cachedDisk {
	c := &cachedDisk{path: d.interfacePath, row: n.diskObject(d)}
	for _, p := range d.partitions {
		cached := &cachedPartition{row: n.partitionObject(d, p)}
		if n.answers(p.volume) {
			cached.volume = p.volume.name()
		}
		c.partitions = append(c.partitions, cached)
	}
	return c
}

// answers reports whether a partition's volume has arrived and has a name.
func (n *Node) answers(v *volume) bool { return v != nil && v.named && v.online(time.Now()) }

func (n *Node) readVolume(v *volume) *cachedVolume {
	return &cachedVolume{name: v.name(), row: n.volumeObject(v)}
}

// stale reports whether a disk has changed since it was read.
func (n *Node) stale(c *cachedDisk, d *disk) bool {
	return !reflect.DeepEqual(c, n.readDisk(d))
}

// addStorageClasses adds what the storage provider answers for.
func addStorageClasses(classes map[string]wmiClass) {
	classes["MSFT_Disk"] = wmiClass{instances: (*Node).diskObjects, methods: diskMethods()}
	classes["MSFT_Partition"] = wmiClass{instances: (*Node).partitionObjects, methods: partitionMethods()}
	classes["MSFT_Volume"] = wmiClass{instances: (*Node).volumeObjects, methods: volumeMethods()}
	classes["MSFT_StorageSetting"] = wmiClass{instances: noInstances, methods: settingMethods()}
	classes["MSFT_PhysicalDisk"] = wmiClass{instances: (*Node).physicalDiskObjects}
	classes["MSFT_DiskToPartition"] = associate("Disk", "Partition", (*Node).diskToPartition)
	classes["MSFT_PartitionToVolume"] = associate("Partition", "Volume", (*Node).partitionToVolume)
}

func noInstances(*Node) []cimObject { return nil }

func (n *Node) diskObjects() []cimObject {
	var objects []cimObject
	for _, c := range n.storage().disks {
		objects = append(objects, c.row)
	}
	return objects
}

func (n *Node) partitionObjects() []cimObject {
	var objects []cimObject
	for _, c := range n.storage().disks {
		for _, p := range c.partitions {
			objects = append(objects, p.row)
		}
	}
	return objects
}

func (n *Node) volumeObjects() []cimObject {
	var objects []cimObject
	for _, c := range n.storage().volumes {
		objects = append(objects, c.row)
	}
	return objects
}

func (n *Node) physicalDiskObjects() []cimObject {
	var objects []cimObject
	for _, c := range n.storage().disks {
		objects = append(objects, physicalDiskObject(c.row))
	}
	return objects
}

func (n *Node) diskToPartition() [][2]cimObject {
	var pairs [][2]cimObject
	for _, c := range n.storage().disks {
		for _, p := range c.partitions {
			pairs = append(pairs, [2]cimObject{c.row, p.row})
		}
	}
	return pairs
}

func (n *Node) partitionToVolume() [][2]cimObject {
	var pairs [][2]cimObject
	for _, c := range n.storage().disks {
		for _, p := range c.partitions {
			if v := n.storage().volume(p.volume); v != nil {
				pairs = append(pairs, [2]cimObject{p.row, v.row})
			}
		}
	}
	return pairs
}

func (c *storageCache) volume(name string) *cachedVolume {
	i := slices.IndexFunc(c.volumes, func(v *cachedVolume) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	return c.volumes[i]
}

// storageClass is a class of the provider's namespace that the schema has.
func (n *Node) storageClass(name string) *cimClass {
	c, ok := n.schema().class(storageNamespace, name)
	if !ok {
		panic("simhost: no class " + name)
	}
	return c
}

// storagePath is the __PATH of an object.
func (n *Node) storagePath(class string, o cimObject) string {
	path, _ := n.storageClass(class).row(o)[sysPath].(string)
	return path
}

// embed is an object as an out parameter holds it.
func (n *Node) embed(class string, o cimObject) win.Row { return n.storageClass(class).embedded(o) }

// wmiObjectID is a key as the provider writes it: a path of its own, quotes and
// backslashes included (windows-api.md 1.1).
func wmiObjectID(class, kind, name string) string {
	return `{1}\\` + wmiServer + `\root/Microsoft/Windows/Storage/Providers_v2\` + class +
		`.ObjectId="{5a3b0f1c-7d2e-4c61-9f48-2b6d1e0c9a77}:` + kind + ":" + name + `"`
}

// Values of MSFT_Disk.OperationalStatus and MSFT_Volume.OperationalStatus.
const (
	statusOK      uint16 = 2
	statusOnline  uint16 = 53264
	statusOffline uint16 = 53267
)

func (n *Node) diskObject(d *disk) cimObject {
	format, unique := d.uniqueID()
	o := cimObject{
		"ObjectId": wmiObjectID("WSP_Disk", "DI", d.interfacePath),
		"UniqueId": unique, "UniqueIdFormat": format,
		"Path": d.interfacePath, "Number": d.number, "BusType": uint16(d.bus),
		"FriendlyName": strings.TrimSpace(strings.TrimSpace(d.vendor) + " " + strings.TrimSpace(d.product)),
		"Manufacturer": textOrNull(d.vendor), "Model": textOrNull(d.product), "FirmwareVersion": textOrNull(d.revision),
		"SerialNumber": textOrNull(d.serial), "Location": textOrNull(d.location),
		"Size": uint64(d.knownSize), "AllocatedSize": uint64(d.allocated()), "LargestFreeExtent": uint64(d.freeExtent()),
		"LogicalSectorSize": d.sectorSize, "PhysicalSectorSize": d.physicalSectorSize,
		"NumberOfPartitions": uint32(len(d.partitions)), "PartitionStyle": wmiStyle(d.style),
		"IsOffline": d.offline, "IsReadOnly": d.readOnly, "OperationalStatus": []uint16{statusOnline},
		"BootFromDisk": d.boot, "IsBoot": d.boot, "IsSystem": d.system, "IsClustered": d.clustered,
		"IsHighlyAvailable": false, "IsScaleOut": false, "HealthStatus": uint16(0), "ProvisioningType": uint16(2),
	}
	if d.offline {
		o["OperationalStatus"] = []uint16{statusOffline}
	}
	if d.offline && d.offlineReason != 0 {
		o["OfflineReason"] = d.offlineReason
	}
	switch d.style {
	case abi.PartitionStyleGPT:
		o["Guid"] = braced(d.id)
	case abi.PartitionStyleMBR:
		o["Signature"] = d.signature
	case abi.PartitionStyleRAW:
	}
	return o
}

// wmiStyle is MSFT_Disk.PartitionStyle, whose numbers are not those of the
// layout (windows-api.md 5.1).
func wmiStyle(style abi.PartitionStyle) uint16 {
	switch style {
	case abi.PartitionStyleMBR:
		return 1
	case abi.PartitionStyleGPT:
		return 2
	default:
		return 0
	}
}

func braced(id abi.GUID) string { return "{" + id.String() + "}" }

// textOrNull is a string, NULL where it is empty.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (d *disk) allocated() int64 {
	var sum int64
	for _, p := range d.partitions {
		sum += p.length
	}
	return sum
}

func (d *disk) freeExtent() int64 {
	if d.style == abi.PartitionStyleRAW {
		return 0
	}
	return d.largestGap(mib).length
}

// uniqueID picks the page 83 identifier of the disk as its page says: SCSI name
// string, FCPH name, EUI64, vendor id, vendor specific (windows-api.md 2.3).
func (d *disk) uniqueID() (format uint16, id string) {
	for _, kind := range []abi.IdentifierType{
		abi.IdentifierSCSIName, abi.IdentifierNAA, abi.IdentifierEUI64, abi.IdentifierVendorID, abi.IdentifierVendorSpecific,
	} {
		for _, i := range d.identifiers {
			if i.Type == kind && i.Association == abi.AssociationDevice {
				return uint16(kind), uniqueText(i)
			}
		}
	}
	return 0, strings.ToUpper(strings.TrimPrefix(d.interfacePath, `\\?\`)) + ":" + wmiServer
}

// uniqueText is an identifier as MSFT_Disk.UniqueId shows it.
func uniqueText(i abi.Identifier) string {
	switch {
	case i.CodeSet != abi.CodeSetBinary:
		return i.Text()
	case i.Type == abi.IdentifierEUI64:
		return "eui." + strings.ToUpper(i.Text())
	}
	return strings.ToUpper(i.Text())
}

func (n *Node) partitionObject(d *disk, p *partition) cimObject {
	// The provider names a partition by its offset, low byte first.
	offset := make([]byte, 6)
	for i := range offset {
		offset[i] = byte(p.offset >> (8 * i))
	}
	name := "{00000000-0000-0000-0000-" + hex.EncodeToString(offset) + "}"
	_, unique := d.uniqueID()
	o := cimObject{
		"ObjectId": wmiObjectID("WSP_Partition", "PR", name+d.interfacePath),
		"UniqueId": name + unique, "DiskId": d.interfacePath, "DiskNumber": d.number,
		"PartitionNumber": p.number, "Offset": uint64(p.offset), "Size": uint64(p.length),
		"AccessPaths": n.accessPaths(p.volume), "DriveLetter": n.driveLetter(p.volume),
		"IsActive": p.active, "IsBoot": false, "IsSystem": d.system && p.gptType == abi.PARTITION_SYSTEM_GUID,
		"IsOffline": d.offline, "IsDAX": false, "OperationalStatus": uint16(1), "TransitionState": uint16(1),
		"IsReadOnly": false, "IsHidden": false, "IsShadowCopy": false, "NoDefaultDriveLetter": false,
	}
	if d.offline {
		o["OperationalStatus"] = uint16(4)
	}
	if p.volume != nil {
		o["IsBoot"] = d.boot && p.volume.vital
	}
	if d.style == abi.PartitionStyleGPT {
		o["GptType"], o["Guid"] = braced(p.gptType), braced(p.id)
		o["IsReadOnly"] = p.attributes&abi.GPT_BASIC_DATA_ATTRIBUTE_READ_ONLY != 0
		o["IsHidden"] = p.attributes&abi.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN != 0
		o["IsShadowCopy"] = p.attributes&abi.GPT_BASIC_DATA_ATTRIBUTE_SHADOW_COPY != 0
		o["NoDefaultDriveLetter"] = p.attributes&abi.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER != 0
	} else {
		o["MbrType"] = uint16(p.mbrType)
	}
	return o
}

// accessPaths are the drive root, the folders and the name of a volume that
// answers.
func (n *Node) accessPaths(v *volume) []string {
	if !n.answers(v) {
		return []string{}
	}
	return append(n.pathsOf(v), v.name())
}

// driveLetter is MSFT_Volume.DriveLetter, 0 for none.
func (n *Node) driveLetter(v *volume) rune {
	if v == nil {
		return 0
	}
	letter, _ := n.letterOf(v)
	return rune(letter)
}

func (n *Node) volumeObject(v *volume) cimObject {
	o := cimObject{
		"ObjectId": wmiObjectID("WSP_Volume", "VO", v.name()), "UniqueId": v.name(), "Path": v.name(),
		"DriveLetter": n.driveLetter(v), "DriveType": uint32(3), "HealthStatus": uint16(0), "OperationalStatus": []uint16{statusOK},
		"DedupMode": uint32(4),
		// RAW, damaged and locked volumes look alike (windows-api.md 7.6).
		"FileSystem": "", "FileSystemLabel": "", "FileSystemType": uint16(0),
		"AllocationUnitSize": uint32(0), "Size": uint64(0), "SizeRemaining": uint64(0),
	}
	if v.fs != "" && v.state == 0 {
		o["FileSystem"], o["FileSystemLabel"], o["FileSystemType"] = v.fs, v.label, fileSystemTypes[v.fs]
		o["AllocationUnitSize"] = v.unitSize
		o["Size"], o["SizeRemaining"] = uint64(v.fsSize), uint64(v.fsSize-v.used)
	}
	return o
}

// fileSystemTypes is MSFT_Volume.FileSystemType; exFAT has no number of its
// own there.
var fileSystemTypes = map[string]uint16{"FAT": 4, "FAT32": 6, "NTFS": 14, "ReFS": 15, "CSVFS": 32768}

// physicalDiskObject is the MSFT_PhysicalDisk of a disk.
func physicalDiskObject(disk cimObject) cimObject {
	o := cimObject{
		"ObjectId": strings.ReplaceAll(disk["ObjectId"].(string), "WSP_Disk", "WSP_PhysicalDisk"),
		"DeviceId": decimal(uint64(disk["Number"].(uint32))),
		"CanPool":  false, "MediaType": uint16(0), "Usage": uint16(1), "OperationalStatus": []uint16{statusOK},
		"LogicalSectorSize":  uint64(disk["LogicalSectorSize"].(uint32)),
		"PhysicalSectorSize": uint64(disk["PhysicalSectorSize"].(uint32)),
		"PhysicalLocation":   disk["Location"],
	}
	for _, same := range []string{
		"UniqueId", "UniqueIdFormat", "FriendlyName", "Manufacturer", "Model", "SerialNumber",
		"FirmwareVersion", "BusType", "Size", "AllocatedSize", "HealthStatus",
	} {
		o[same] = disk[same]
	}
	return o
}

func decimal(u uint64) string { return strconv.FormatUint(u, 10) }

// returnValue is a failure of the model as a storage method reports it.
func returnValue(err error) win.ReturnValue {
	switch code := err.(type) { //nolint:errorlint // the model returns bare codes
	case nil:
		return 0
	case win.ReturnValue:
		return code
	case win.Errno:
		if known, ok := returnOf[code]; ok {
			return known
		}
		return win.ReturnFailed
	}
	panic(fmt.Sprintf("simhost: %v", err))
}

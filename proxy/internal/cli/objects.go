// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"strconv"
)

// The objects of the documents that -o json and -o yaml write. docs/json.md is
// generated from their fields, whose doc tags it shows. A field is left out where
// the verb does not ask for it, where Windows does not tell it and where it could
// not be read.

// Kinds of objects.
const (
	kindDisk    = "Disk"
	kindVolume  = "Volume"
	kindPath    = "Path"
	kindMapping = "Mapping"
	kindPortal  = "Portal"
	kindTarget  = "Target"
	kindService = "Service"
	kindMachine = "Machine"
	kindPlan    = "Plan"
)

type diskObject struct {
	Number        uint32            `json:"number" doc:"N of \\\\.\\PhysicalDriveN"`
	State         string            `json:"state,omitempty" doc:"online or offline"`
	ReadOnly      *bool             `json:"readOnly,omitempty" doc:"whether nothing can be written to it"`
	OfflineReason string            `json:"offlineReason,omitempty" doc:"why it is offline, in Windows' words; none if by hand"`
	SizeBytes     int64             `json:"sizeBytes,omitempty" doc:"size of the disk"`
	SectorBytes   uint32            `json:"sectorBytes,omitempty" doc:"size of a logical sector"`
	PhysicalBytes uint32            `json:"physicalSectorBytes,omitempty" doc:"what the medium writes at once"`
	Bus           string            `json:"bus,omitempty" doc:"kind of its bus"`
	Vendor        string            `json:"vendor,omitempty" doc:"vendor, without blanks around it"`
	Product       string            `json:"product,omitempty" doc:"product, without blanks around it"`
	Revision      string            `json:"revision,omitempty" doc:"revision, without blanks around it"`
	Serial        string            `json:"serial,omitempty" doc:"serial number with its blanks"`
	Page83        string            `json:"page83,omitempty" doc:"first identifier of page 83 that names the device"`
	Adapter       string            `json:"adapter,omitempty" doc:"number of the storage port"`
	Target        string            `json:"target,omitempty" doc:"SCSI target, on buses that have one"`
	LUN           string            `json:"lun,omitempty" doc:"SCSI logical unit, on buses that have one"`
	Address       string            `json:"address,omitempty" doc:"SCSI address port:path:target:unit, on any bus"`
	Identifiers   []identifier      `json:"identifiers,omitempty" doc:"all identifiers of page 83"`
	EUI64         string            `json:"eui64,omitempty" doc:"of an NVMe namespace, in hexadecimal digits"`
	NGUID         string            `json:"nguid,omitempty" doc:"of an NVMe namespace, in hexadecimal digits"`
	Style         string            `json:"style,omitempty" doc:"partition table: GPT, MBR or RAW"`
	NeededBy      string            `json:"neededByWindows,omitempty" doc:"why changes of the whole disk are refused"`
	Partitions    []partitionObject `json:"partitions,omitempty" doc:"its partitions, by offset"`
	Problems      []string          `json:"problems,omitempty" doc:"what is wrong, in words for people"`
}

func (diskObject) kind() string { return kindDisk }

func (d diskObject) name() string { return strconv.FormatUint(uint64(d.Number), 10) }

type identifier struct {
	Type        string `json:"type" doc:"in words: NAA, EUI-64, T10 vendor id ..."`
	Association string `json:"association" doc:"what it names: device, port or target"`
	Text        string `json:"text" doc:"binary ones in hexadecimal digits"`
}

type partitionObject struct {
	Number      uint32        `json:"number" doc:"number on its disk"`
	Type        string        `json:"type" doc:"what it is for, or its type"`
	OffsetBytes int64         `json:"offsetBytes" doc:"where it begins"`
	SizeBytes   int64         `json:"sizeBytes" doc:"its size"`
	Volume      *volumeObject `json:"volume,omitempty" doc:"the volume that begins in it"`
}

type volumeObject struct {
	ID             string        `json:"id" doc:"\\\\?\\Volume{GUID}\\"`
	Disk           *uint32       `json:"disk,omitempty" doc:"number of the disk that it lies on"`
	Partition      *uint32       `json:"partition,omitempty" doc:"number of the partition that it begins in"`
	Formatted      *bool         `json:"formatted,omitempty" doc:"whether Windows has mounted a file system"`
	FileSystem     string        `json:"fileSystem,omitempty" doc:"NTFS, ReFS, FAT32 ..."`
	Content        string        `json:"content,omitempty" doc:"of one that is not formatted: empty, foreign, damaged or unknown"`
	Label          string        `json:"label,omitempty" doc:"its label"`
	Serial         string        `json:"serial,omitempty" doc:"serial number of the file system, in hexadecimal digits"`
	ReadOnly       *bool         `json:"readOnly,omitempty" doc:"whether nothing can be written to it"`
	Dirty          *bool         `json:"dirty,omitempty" doc:"whether Windows wants to check it"`
	SizeBytes      int64         `json:"sizeBytes,omitempty" doc:"size of the file system"`
	UsedBytes      int64         `json:"usedBytes,omitempty" doc:"used space"`
	AvailableBytes int64         `json:"availableBytes,omitempty" doc:"what the caller may still write, within its quota"`
	Mounts         []mountObject `json:"mounts,omitempty" doc:"drives and folders that the mount manager has for it"`
	Resized        *resizeObject `json:"resized,omitempty" doc:"what became of it"`
	Problems       []string      `json:"problems,omitempty" doc:"what is wrong, in words for people"`
}

func (volumeObject) kind() string { return kindVolume }

func (v volumeObject) name() string { return v.ID }

type resizeObject struct {
	Grew         bool  `json:"grew" doc:"whether it is larger than before"`
	OldBytes     int64 `json:"oldBytes" doc:"size of its partition before"`
	NewBytes     int64 `json:"newBytes" doc:"size of its partition now"`
	LargestBytes int64 `json:"largestBytes" doc:"what the disk allows"`
}

type mountObject struct {
	Path  string `json:"path" doc:"drive root or folder"`
	Stale bool   `json:"stale" doc:"whether the volume is not mounted there any more"`
}

type pathObject struct {
	Path     string `json:"path" doc:"as it was given"`
	Exists   *bool  `json:"exists,omitempty" doc:"whether something is there"`
	Valid    *bool  `json:"valid,omitempty" doc:"whether Windows finds it"`
	Link     *bool  `json:"link,omitempty" doc:"whether a live link or mount folder is there"`
	State    string `json:"linkState,omitempty" doc:"not a link, live or dangling"`
	LinkKind string `json:"linkKind,omitempty" doc:"none, symbolic link, junction or mount point"`
	Target   string `json:"target,omitempty" doc:"what the link says"`
	Final    string `json:"finalTarget,omitempty" doc:"where the whole chain of links ends, or ended"`
}

func (pathObject) kind() string { return kindPath }

func (p pathObject) name() string { return p.Path }

type mappingObject struct {
	Share     string `json:"share" doc:"\\\\host\\share"`
	Drive     string `json:"drive,omitempty" doc:"drive that stands for it"`
	Status    string `json:"status,omitempty" doc:"in Windows' words"`
	Encrypted *bool  `json:"encrypted,omitempty" doc:"whether it requires encryption"`
	Signed    *bool  `json:"signed,omitempty" doc:"whether it requires signing"`
	Link      string `json:"link,omitempty" doc:"path that leads to it"`
}

func (mappingObject) kind() string { return kindMapping }

func (m mappingObject) name() string { return m.Share }

type portalObject struct {
	Address string `json:"address" doc:"address or name of a host"`
	Port    uint32 `json:"port" doc:"TCP port"`
	text    string
}

func (portalObject) kind() string { return kindPortal }

func (p portalObject) name() string { return p.text }

type targetObject struct {
	IQN   string   `json:"iqn" doc:"name of the target"`
	Disks []string `json:"disks,omitempty" doc:"numbers of its disks"`
}

func (targetObject) kind() string { return kindTarget }

func (t targetObject) name() string { return t.IQN }

type serviceObject struct {
	Name        string `json:"name" doc:"key name, as it was given"`
	DisplayName string `json:"displayName,omitempty" doc:"name for people"`
	State       string `json:"state,omitempty" doc:"Running, Stopped ..."`
	Start       string `json:"start,omitempty" doc:"Automatic, Manual, Disabled ..."`
	Delayed     *bool  `json:"delayed,omitempty" doc:"whether an automatic start is a late one"`
}

func (serviceObject) kind() string { return kindService }

func (s serviceObject) name() string { return s.Name }

type machineObject struct {
	Serial    string `json:"serial,omitempty" doc:"serial number, as the firmware gives it"`
	SANPolicy string `json:"sanPolicy,omitempty" doc:"which new disks stay offline: online all, offline shared, offline all or offline internal"`
}

func (machineObject) kind() string { return kindMachine }

func (m machineObject) name() string { return cmp.Or(m.Serial, "machine") }

// planObject is a change that --dry-run tells of.
type planObject struct {
	Change string `json:"change" doc:"what would be done, in words"`
	Kind   string `json:"kind" doc:"kind of the object that it is done to"`
	Object object `json:"object" doc:"that object, as it is now"`
}

func (planObject) kind() string { return kindPlan }

func (p planObject) name() string { return p.Object.name() }

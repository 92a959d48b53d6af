// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SpecVersion is the version of node descriptions that this package reads.
const SpecVersion = 1

// NodeSpec describes a node. Its zero value, with a version and a boot disk,
// is a plain Windows Server 2022.
type NodeSpec struct {
	// Version must be SpecVersion.
	Version int `json:"version"`
	// Name and Description are for people.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Build is the build of Windows; 0 means 20348.
	Build uint32 `json:"build,omitempty"`
	// WindowsDirectory is on the boot volume; "" means C:\Windows.
	WindowsDirectory string `json:"windowsDirectory,omitempty"`
	// PageFiles are the existing page files; nil means C:\pagefile.sys.
	PageFiles []string `json:"pageFiles,omitempty"`
	// SANPolicy says which new disks arrive offline; "" means none.
	SANPolicy SANPolicy `json:"sanPolicy,omitempty"`
	// Arrival is how long a new volume takes to arrive.
	Arrival Duration `json:"arrival,omitempty"`
	// BIOS is what the firmware says; nil means a virtual machine of Hyper-V.
	BIOS *BIOSSpec `json:"bios,omitempty"`
	// Services are the services beside, or instead of, those that every node
	// has: DcomLaunch, RpcEptMapper, RpcSs, SamSs, EventLog, Winmgmt,
	// LanmanWorkstation, WinDefend, MSiSCSI, disk, containerd and kubelet.
	Services []ServiceSpec `json:"services,omitempty"`
	// Switches put unverified facts into their other position.
	Switches Switches `json:"switches,omitzero"`
	// Disks are attached from the start, as disk 0, 1, …; their state is as
	// described, whatever the SAN policy.
	Disks []DiskSpec `json:"disks"`
	// Attachable are disks that AttachDisk can attach.
	Attachable []DiskSpec `json:"attachable,omitempty"`
	// SMB are the file servers that the node can reach.
	SMB []SMBServerSpec `json:"smb,omitempty"`
	// ISCSI is the iSCSI network around the node; nil is none.
	ISCSI *ISCSISpec `json:"iscsi,omitempty"`
	// Directories exist from the start, for example C:\var\lib\kubelet.
	Directories []string `json:"directories,omitempty"`
}

// DiskSpec describes a disk.
type DiskSpec struct {
	// Name is by what the node's methods know the disk. It must be unique.
	Name string `json:"name"`
	// Size is the medium's size.
	Size Size `json:"size"`
	// SectorSize is 512 or 4096; 0 means 512.
	SectorSize uint32 `json:"sectorSize,omitempty"`
	// PhysicalSectorSize is a multiple of SectorSize; 0 means 4096.
	PhysicalSectorSize uint32 `json:"physicalSectorSize,omitempty"`

	// Bus is one of scsi, ata, fibre, usb, raid, iscsi, sas, sata, virtual,
	// file, spaces, nvme.
	Bus string `json:"bus"`
	// Vendor, Product, Revision and Serial are the device descriptor's strings,
	// blanks included.
	Vendor   string `json:"vendor,omitempty"`
	Product  string `json:"product,omitempty"`
	Revision string `json:"revision,omitempty"`
	Serial   string `json:"serial,omitempty"`
	// Identifiers are page 83; without any the disk does not answer it.
	Identifiers []IdentifierSpec `json:"identifiers,omitempty"`
	// Address is the SCSI address; nil means that the disk has none.
	Address *AddressSpec `json:"address,omitempty"`
	// NVMe is what NVMe Identify answers; nil means that it is not answered.
	NVMe *NVMeSpec `json:"nvme,omitempty"`
	// Location is MSFT_Disk.Location; "" is NULL.
	Location string `json:"location,omitempty"`
	// InterfacePath is the device interface path; "" makes one from vendor,
	// product and address.
	InterfacePath string `json:"interfacePath,omitempty"`
	// PathDisks are the interface paths of the disks that MPIO has made into
	// this one: they have no number (windows-api.md 1.2).
	PathDisks []string `json:"pathDisks,omitempty"`

	Offline  bool `json:"offline,omitempty"`
	ReadOnly bool `json:"readOnly,omitempty"`
	// OfflineReason is MSFT_Disk.OfflineReason of an offline disk: 4 is a
	// collision of disk ids; 0 is NULL.
	OfflineReason uint16 `json:"offlineReason,omitempty"`
	// Clustered makes the disk a cluster's: Windows refuses to change it.
	Clustered bool `json:"clustered,omitempty"`

	// Style is raw, gpt, mbr or superfloppy (one file system, no table); ""
	// means raw.
	Style string `json:"style,omitempty"`
	// ID is the GPT disk id; "" makes one.
	ID string `json:"id,omitempty"`
	// Signature is the MBR signature; 0 makes one.
	Signature uint32 `json:"signature,omitempty"`
	// Partitions are in the order of their numbers.
	Partitions []PartitionSpec `json:"partitions,omitempty"`
	// Media is written over the whole disk.
	Media []Media `json:"media,omitempty"`
	// Unreadable are ranges of the medium that fail to read.
	Unreadable []RangeSpec `json:"unreadable,omitempty"`
	// LayoutError is what reading the layout answers instead; 0 is none.
	LayoutError uint32 `json:"layoutError,omitempty"`
}

// IdentifierSpec is one page 83 identifier (windows-api.md 2.3).
type IdentifierSpec struct {
	CodeSet     string `json:"codeSet"`               // binary, ascii, utf8
	Type        string `json:"type"`                  // vendor, t10, eui64, naa, port, targetGroup, lunGroup, md5, name
	Association string `json:"association,omitempty"` // device (also ""), port, target
	Text        string `json:"text,omitempty"`        // the bytes as text
	Hex         string `json:"hex,omitempty"`         // or in hexadecimal
}

// AddressSpec is a SCSI address (windows-api.md 3.1).
type AddressSpec struct {
	Port   uint8 `json:"port"`
	Path   uint8 `json:"path"`
	Target uint8 `json:"target"`
	LUN    uint8 `json:"lun"`
}

// NVMeSpec is what NVMe Identify answers (windows-api.md 2.4).
type NVMeSpec struct {
	Vendor    uint16 `json:"vendor,omitempty"` // PCI vendor id
	Serial    string `json:"serial"`
	Model     string `json:"model"`
	Firmware  string `json:"firmware,omitempty"`
	Namespace uint32 `json:"namespace"`
	EUI64     string `json:"eui64,omitempty"` // 16 hexadecimal digits
	NGUID     string `json:"nguid,omitempty"` // 32 hexadecimal digits
	// ControllerArea is text from byte 3072 of Identify Controller on, where
	// EBS keeps the device name.
	ControllerArea string `json:"controllerArea,omitempty"`
	// NamespaceArea is text from byte 384 of Identify Namespace on, where
	// Google keeps the device name.
	NamespaceArea string `json:"namespaceArea,omitempty"`
}

// PartitionSpec describes a partition.
type PartitionSpec struct {
	// Type is basic, msr, efi, recovery, a GPT type GUID, or on MBR a number
	// such as 0x07; "" means basic.
	Type string `json:"type,omitempty"`
	// Offset 0 means after the one before, aligned to 1 MiB; an MSR begins
	// where Windows puts it.
	Offset Size `json:"offset,omitempty"`
	// Size 0 means up to the next aligned end of the disk.
	Size       Size   `json:"size,omitempty"`
	Number     uint32 `json:"number,omitempty"` // 0: the lowest free
	ID         string `json:"id,omitempty"`     // GPT PartitionId; "" makes one
	Attributes uint64 `json:"attributes,omitempty"`
	Active     bool   `json:"active,omitempty"` // MBR: the machine starts from it
	// Volume describes the volume of a partition that holds data; nil means RAW.
	Volume *VolumeSpec `json:"volume,omitempty"`
	// Media is written over the partition.
	Media []Media `json:"media,omitempty"`
	// WithoutVolume withholds the volume that Windows would give it.
	WithoutVolume bool `json:"withoutVolume,omitempty"`
}

// VolumeSpec describes a volume.
type VolumeSpec struct {
	ID         string `json:"id,omitempty"`         // GUID; "" makes one
	FileSystem string `json:"fileSystem,omitempty"` // "" is RAW
	Label      string `json:"label,omitempty"`
	Unit       uint32 `json:"unit,omitempty"` // allocation unit; 0 means 4096
	Used       Size   `json:"used,omitempty"` // 0 means as after a format
	// Covers is how much of the partition the file system fills; 0 means all.
	Covers Size   `json:"covers,omitempty"`
	Letter string `json:"letter,omitempty"` // drive letter
	// State is the code that GetVolumeInformation answers instead: 5, 21,
	// 1392 …; 0 is none.
	State uint32 `json:"state,omitempty"`
	// Dirty: Windows wants to check the file system.
	Dirty bool `json:"dirty,omitempty"`
}

// RangeSpec is a range of a medium that answers a code.
type RangeSpec struct {
	Offset Size   `json:"offset"`
	Length Size   `json:"length"`
	Code   uint32 `json:"code,omitempty"` // 0 means ERROR_CRC
}

// Size is a number of bytes. In JSON it is a number, or text with a unit:
// "512MiB", "10GiB".
type Size int64

// Units of Size.
const (
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
)

var sizeUnits = []struct {
	name string
	size Size
}{{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", 1 << 10}}

// UnmarshalJSON reads a number or a text with a unit.
func (s *Size) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		text = string(b)
	}
	unit := Size(1)
	for _, u := range sizeUnits {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = number, u.size
		}
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 || number > int64(1<<62/unit) {
		return fmt.Errorf("not a size: %s", b)
	}
	*s = Size(number) * unit
	return nil
}

// String writes the size in its largest whole unit.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && s%u.size == 0 {
			return fmt.Sprintf("%d%s", s/u.size, u.name)
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalJSON writes the size as String does.
func (s Size) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// Duration is a time.Duration that JSON writes as text, "200ms".
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	parsed, err := time.ParseDuration(string(b))
	*d = Duration(parsed)
	return err
}

// MarshalText writes what time.Duration.String writes.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Parse reads a node description in JSON. An unknown field, another version and
// anything after the description are errors; what the description says is only
// checked by New.
func Parse(data []byte) (NodeSpec, error) {
	var spec NodeSpec
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&spec); err != nil {
		return NodeSpec{}, fmt.Errorf("node description: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return NodeSpec{}, errors.New("node description: more data after it")
	}
	if spec.Version != SpecVersion {
		return NodeSpec{}, fmt.Errorf("node description: version %d, not %d", spec.Version, SpecVersion)
	}
	return spec, nil
}

// Load reads a node description from a JSON file.
func Load(path string) (NodeSpec, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return NodeSpec{}, err
	}
	return Parse(data)
}

//go:embed nodes/*.json
var nodes embed.FS

// Names lists the shipped nodes in alphabetical order.
func Names() []string {
	files, err := nodes.ReadDir("nodes")
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".json"))
	}
	slices.Sort(names)
	return names
}

// Named is the description of a shipped node. The caller may change it before
// it gives it to New.
func Named(name string) (NodeSpec, error) {
	data, err := nodes.ReadFile("nodes/" + name + ".json")
	if err != nil {
		return NodeSpec{}, fmt.Errorf("no shipped node %q: there are %s", name, strings.Join(Names(), ", "))
	}
	return Parse(data)
}

// bytes are the identifier's.
func (i IdentifierSpec) bytes() ([]byte, error) {
	if i.Hex == "" {
		return []byte(i.Text), nil
	}
	if i.Text != "" {
		return nil, errors.New("identifier with text and hex")
	}
	return hex.DecodeString(i.Hex)
}

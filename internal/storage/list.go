// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// NoNumber is the number of a disk that did not tell it.
const NoNumber = abi.NoNumber

// DiskDescription is what one disk tells of itself.
type DiskDescription struct {
	Number  uint32 // NoNumber where it could not be read: Err says why
	Path    string // its device interface path
	BusType abi.BusType

	// Vendor, Product, Revision and SerialNumber are with their blanks.
	Vendor, Product, Revision, SerialNumber string

	Identifiers []abi.Identifier // page 83, all of them
	Address     *abi.SCSIAddress // nil where the disk has none
	NVMe        *abi.IdentifyNamespace

	Size       int64  // in bytes
	SectorSize uint32 // logical, in bytes
	State      DiskState

	// Err says what could not be read. What the disk's kind does not have is
	// no error.
	Err error

	identified, stated bool
}

// Identified reports whether the disk told all by which it can be found. Where
// it did not, it may be the one that is looked for.
func (disk DiskDescription) Identified() bool { return disk.identified }

// Page83 is the identifier of page 0x83 by which upstream knows the disk; "" if
// there is none or it is blank.
func (disk DiskDescription) Page83() string { return abi.Page83(disk.Identifiers) }

// StateKnown reports whether the disk told its State. The zero State is not to be
// taken for an online disk's where it did not.
func (disk DiskDescription) StateKnown() bool { return disk.stated }

// Serial is the serial number without the blanks around it.
func (disk DiskDescription) Serial() string { return strings.TrimSpace(disk.SerialNumber) }

// describeBudget is how long one disk may hold up a list.
const describeBudget = 5 * time.Second

// ListDisks describes every present disk, by number. It costs one boundary call
// and at most eight a disk. A disk that fails or hangs holds up no other: its
// Err says so, and what it told before is there (field-reports.md D10). Disks
// without a number come last.
func (s *Storage) ListDisks(ctx context.Context) ([]DiskDescription, error) {
	paths, err := ask(ctx, s, "list", "disks", func() ([]string, error) {
		return s.host.Devices.Interfaces(abi.GUID_DEVINTERFACE_DISK)
	})
	if err != nil {
		return nil, err
	}
	disks := each(paths, func(path string) DiskDescription { return s.describe(ctx, path) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	disks = slices.DeleteFunc(disks, DiskDescription.absent)
	slices.SortFunc(disks, func(a, b DiskDescription) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Path, b.Path))
	})
	return disks, nil
}

// absent tells paths that stand for no disk: of one that has gone since it was
// listed, or of a path disk, which MPIO hides and which has no number of its own
// (windows-api.md 1.2). A disk that is not ready is there.
func (disk DiskDescription) absent() bool {
	if disk.Number != NoNumber {
		return false
	}
	return disk.Err == nil || isGone(disk.Err) && !errors.Is(disk.Err, win.ERROR_NOT_READY)
}

// describe asks one disk for all that it tells of itself. What it has told
// before the budget or ctx ended counts.
func (s *Storage) describe(ctx context.Context, path string) DiskDescription {
	ctx, cancel := context.WithTimeout(ctx, describeBudget)
	defer cancel()
	var told atomic.Pointer[DiskDescription]
	told.Store(&DiskDescription{Number: NoNumber, Path: path})
	_, err := ask(ctx, s, "description", path, func() (struct{}, error) {
		return struct{}{}, s.describeInto(&told)
	})
	disk := *told.Load()
	disk.Err = errors.Join(disk.Err, err)
	return disk
}

// describeInto fails where not even the disk's number can be read.
func (s *Storage) describeInto(told *atomic.Pointer[DiskDescription]) (err error) {
	disk := *told.Load()
	d, err := s.host.Devices.Open(disk.Path, win.NoAccess)
	if err != nil {
		return err
	}
	defer closing(d, &err)
	n, err := deviceNumber(d)
	if err != nil || n.Number == NoNumber {
		return err
	}
	disk.Number = n.Number
	disk.tell(d, func(sofar DiskDescription) { told.Store(&sofar) })
	return nil
}

// tell reads all that the device behind a handle tells of itself, who it is
// first. After each reply, as the next may hang, it hands over what there is.
func (disk *DiskDescription) tell(d win.Device, sofar func(DiskDescription)) {
	read := func(one func(*DiskDescription, win.Device) error) {
		sofar(*disk)
		disk.Err = errors.Join(disk.Err, one(disk, d))
	}
	read((*DiskDescription).readDescriptor)
	read((*DiskDescription).readIdentifiers)
	read((*DiskDescription).readAddress)
	read((*DiskDescription).readNVMe)
	disk.identified = disk.Err == nil
	read((*DiskDescription).readSize)
	read((*DiskDescription).readState)
	sofar(*disk)
}

func (disk *DiskDescription) readDescriptor(d win.Device) error {
	reply, err := property(d, abi.PropertyQuery{Property: abi.PropertyDevice}, propertySize)
	about, err := decoded(reply, err, abi.DecodeDeviceDescriptor)
	disk.BusType = about.BusType
	disk.Vendor, disk.Product = abi.Text(about.Vendor), abi.Text(about.Product)
	disk.Revision, disk.SerialNumber = abi.Text(about.Revision), abi.Text(about.Serial)
	return err
}

func (disk *DiskDescription) readIdentifiers(d win.Device) (err error) {
	disk.Identifiers, err = page83(d)
	return err
}

func (disk *DiskDescription) readAddress(d win.Device) error {
	reply, err := control(d, abi.IOCTL_SCSI_GET_ADDRESS, nil, abi.SCSIAddressSize)
	if unsupported(err) {
		return nil
	}
	address, err := decoded(reply, err, abi.DecodeSCSIAddress)
	if err == nil {
		disk.Address = &address
	}
	return err
}

func (disk *DiskDescription) readNVMe(d win.Device) error {
	if disk.BusType != abi.BusTypeNVMe {
		return nil
	}
	data, err := nvmeIdentify(d, abi.CNSNamespace)
	if unsupported(err) {
		return nil
	}
	namespace, err := decoded(data, err, abi.DecodeIdentifyNamespace)
	if err == nil {
		disk.NVMe = &namespace
	}
	return err
}

// nvmeIdentify is the data of an NVMe Identify command.
func nvmeIdentify(d win.Device, about abi.CNS) ([]byte, error) {
	reply, err := property(d, abi.NVMeIdentify{CNS: about}.Query(), abi.NVMeIdentifyReplySize)
	return decoded(reply, err, abi.DecodeNVMeIdentifyReply)
}

func (disk *DiskDescription) readSize(d win.Device) error {
	g, err := geometry(d)
	if unsupported(err) {
		return nil
	}
	disk.Size, disk.SectorSize = g.DiskSize, g.BytesPerSector
	return err
}

func (disk *DiskDescription) readState(d win.Device) (err error) {
	disk.State, err = diskState(d)
	if disk.stated = err == nil; unsupported(err) {
		return nil
	}
	return err
}

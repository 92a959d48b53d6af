// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// DiskDescription is what one disk tells of itself.
type DiskDescription struct {
	Number  uint32
	Path    string // its device interface path
	BusType abi.BusType

	SerialNumber string           // with its blanks
	Identifiers  []abi.Identifier // page 83, all of them
	Address      *abi.SCSIAddress // nil where the disk has none
	NVMe         *abi.IdentifyNamespace

	// Err says what could not be read. What the disk's kind does not have is
	// no error.
	Err error
}

// ListDisks describes every present disk, by number. It costs one boundary call
// and at most eight a disk.
func (s *Storage) ListDisks(ctx context.Context) ([]DiskDescription, error) {
	paths, err := ask(ctx, s, "list", "disks", func() ([]string, error) {
		return s.host.Devices.Interfaces(abi.GUID_DEVINTERFACE_DISK)
	})
	if err != nil {
		return nil, err
	}
	disks := make([]DiskDescription, 0, len(paths))
	for _, path := range paths {
		disk, err := s.describe(ctx, path)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil || disk.Number == abi.NoNumber:
			continue // gone since it was listed, or a path that MPIO hides
		}
		disks = append(disks, disk)
	}
	slices.SortFunc(disks, func(a, b DiskDescription) int { return cmp.Compare(a.Number, b.Number) })
	return disks, nil
}

// describe fails where not even the disk's number can be read.
func (s *Storage) describe(ctx context.Context, path string) (DiskDescription, error) {
	return ask(ctx, s, "description", path, func() (disk DiskDescription, err error) {
		d, err := s.host.Devices.Open(path, win.NoAccess)
		if err != nil {
			return disk, err
		}
		defer closing(d, &err)
		n, err := deviceNumber(d)
		if err != nil {
			return disk, err
		}
		disk = DiskDescription{Number: n.Number, Path: path}
		disk.Err = errors.Join(disk.readDescriptor(d), disk.readIdentifiers(d), disk.readAddress(d), disk.readNVMe(d))
		return disk, nil
	})
}

func (disk *DiskDescription) readDescriptor(d win.Device) error {
	reply, err := property(d, abi.PropertyQuery{Property: abi.PropertyDevice}, propertySize)
	about, err := decoded(reply, err, abi.DecodeDeviceDescriptor)
	disk.BusType, disk.SerialNumber = about.BusType, abi.Text(about.Serial)
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
	reply, err := property(d, abi.NVMeIdentify{CNS: abi.CNSNamespace}.Query(), abi.NVMeIdentifyReplySize)
	if unsupported(err) {
		return nil
	}
	data, err := decoded(reply, err, abi.DecodeNVMeIdentifyReply)
	namespace, err := decoded(data, err, abi.DecodeIdentifyNamespace)
	if err == nil {
		disk.NVMe = &namespace
	}
	return err
}

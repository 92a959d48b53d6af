// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Room for a property's reply; descriptors are far smaller.
const propertySize = 4096

// DiskIdentity proves which disk a number names. Two are equal if they are of
// one disk, at one time attached as one number.
type DiskIdentity struct {
	Number uint32

	device   abi.GUID // of this attachment
	serial   string
	identity string // the page 83 identifiers
}

// String names the disk by its number and, if it has one, its serial number.
func (id DiskIdentity) String() string {
	if serial := strings.TrimSpace(id.serial); serial != "" {
		return fmt.Sprintf("%s (serial number %q)", diskName(id.Number), serial)
	}
	return diskName(id.Number)
}

// DiskState are a disk's attributes. The zero value is online and writable.
type DiskState struct {
	Offline  bool
	ReadOnly bool
}

func stateOf(attributes uint64) DiskState {
	return DiskState{
		Offline:  attributes&abi.DISK_ATTRIBUTE_OFFLINE != 0,
		ReadOnly: attributes&abi.DISK_ATTRIBUTE_READ_ONLY != 0,
	}
}

func (d DiskState) attributes() uint64 {
	var attributes uint64
	if d.Offline {
		attributes |= abi.DISK_ATTRIBUTE_OFFLINE
	}
	if d.ReadOnly {
		attributes |= abi.DISK_ATTRIBUTE_READ_ONLY
	}
	return attributes
}

// DiskInspection is what one handle told of a disk.
type DiskInspection struct {
	Identity DiskIdentity
	State    DiskState
	Layout   Layout
}

// openDisk opens \\.\PhysicalDriveN.
func (s *Storage) openDisk(number uint32, access win.Access) (win.Device, error) {
	return s.host.Devices.Open(drivePath(number), access)
}

func drivePath(number uint32) string { return fmt.Sprintf(`\\.\PhysicalDrive%d`, number) }

// onDisk runs a question on a handle that needs no access to the medium.
func onDisk[T any](ctx context.Context, s *Storage, question string, number uint32, run func(win.Device) (T, error)) (T, error) {
	return ask(ctx, s, question, diskName(number), func() (value T, err error) {
		d, err := s.openDisk(number, win.NoAccess)
		if err != nil {
			return value, err
		}
		defer closing(d, &err)
		return run(d)
	})
}

// closing closes what was opened; its error counts where there is no other.
func closing(c interface{ Close() error }, err *error) {
	if closeErr := c.Close(); *err == nil {
		*err = closeErr
	}
}

// DiskSize is the size of a disk in bytes (windows-api.md 4).
func (s *Storage) DiskSize(ctx context.Context, number uint32) (int64, error) {
	return onDisk(ctx, s, "size", number, diskSize)
}

func diskSize(d win.Device) (int64, error) {
	g, err := geometry(d)
	return g.DiskSize, err
}

func geometry(d win.Device) (abi.DiskGeometry, error) {
	reply, err := control(d, abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, nil, 256)
	return decoded(reply, err, abi.DecodeDiskGeometry)
}

// DiskState says whether a disk is offline or read-only.
func (s *Storage) DiskState(ctx context.Context, number uint32) (DiskState, error) {
	return onDisk(ctx, s, "state", number, diskState)
}

func diskState(d win.Device) (DiskState, error) {
	reply, err := control(d, abi.IOCTL_DISK_GET_DISK_ATTRIBUTES, nil, abi.DiskAttributesSize)
	attributes, err := decoded(reply, err, abi.DecodeDiskAttributes)
	return stateOf(attributes), err
}

// SetDiskState changes those of a disk's attributes that are to be others than
// now, over restarts, lets the volume manager notice, and reads them back
// (windows-api.md 4). Where none is to be, the volume manager may not have noticed
// yet what a call did that was cut off. What somebody else has changed since stays.
// It runs to its end once begun.
func (s *Storage) SetDiskState(ctx context.Context, number uint32, now, want DiskState) error {
	access, changed := win.NoAccess, now.attributes()^want.attributes()
	if changed != 0 {
		access = win.GenericRead | win.GenericWrite
	}
	return finish(ctx, s, "attributes", diskName(number), func() (err error) {
		d, err := s.openDisk(number, access)
		if err != nil {
			return err
		}
		defer closing(d, &err)
		return setAttributes(d, want.attributes(), changed)
	})
}

// BringOnline makes the disk of that identity online and writable, as
// SetDiskState does.
func (s *Storage) BringOnline(ctx context.Context, id DiskIdentity) error {
	return finish(ctx, s, "attributes", diskName(id.Number), func() (err error) {
		d, err := s.openDisk(id.Number, win.GenericRead|win.GenericWrite)
		if err != nil {
			return err
		}
		defer closing(d, &err)
		if err := checkIdentity(d, id); err != nil {
			return err
		}
		return setAttributes(d, 0, abi.DISK_ATTRIBUTE_OFFLINE|abi.DISK_ATTRIBUTE_READ_ONLY)
	})
}

// setAttributes sets the attributes of a mask and wants to read them so.
func setAttributes(d win.Device, attributes, mask uint64) error {
	if mask != 0 {
		if err := sendAttributes(d, attributes, mask); err != nil {
			return err
		}
	}
	if _, err := control(d, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0); err != nil {
		return err
	}
	got, err := diskState(d)
	if err != nil {
		return err
	}
	differ := (got.attributes() ^ attributes) & mask
	stay := differ &^ attributes
	switch {
	case stay&abi.DISK_ATTRIBUTE_OFFLINE != 0:
		return fmt.Errorf("%w: it stays so although Windows accepted the change", errdefs.ErrDiskOffline)
	case stay&abi.DISK_ATTRIBUTE_READ_ONLY != 0:
		return fmt.Errorf("%w: it stays so although Windows accepted the change", errdefs.ErrReadOnly)
	case differ != 0:
		return fmt.Errorf("%w: attributes read back as %+v, not %+v", errdefs.ErrUnavailable, got, stateOf(attributes))
	}
	return nil
}

// sendAttributes tries the version that working programs use, then the one that
// the documentation gives (windows-api.md 16.7).
func sendAttributes(d win.Device, attributes, mask uint64) error {
	set := abi.SetDiskAttributes{
		Version:    abi.SetDiskAttributesSize,
		Persist:    true,
		Attributes: attributes & mask,
		Mask:       mask,
	}
	_, err := control(d, abi.IOCTL_DISK_SET_DISK_ATTRIBUTES, set.Encode(), 0)
	if errors.Is(err, win.ERROR_INVALID_PARAMETER) {
		set.Version = abi.DiskAttributesSize
		_, err = control(d, abi.IOCTL_DISK_SET_DISK_ATTRIBUTES, set.Encode(), 0)
	}
	return err
}

// InspectDisk reads a disk's identity, state and layout through one handle.
func (s *Storage) InspectDisk(ctx context.Context, number uint32) (DiskInspection, error) {
	return onDisk(ctx, s, "inspection", number, func(d win.Device) (found DiskInspection, err error) {
		if found.Identity, err = identify(d, number); err != nil {
			return found, err
		}
		if found.State, err = diskState(d); err != nil {
			return found, err
		}
		found.Layout, err = layout(d)
		return found, err
	})
}

// identify reads who the disk behind a handle is. A disk that cannot be told
// from another is refused.
func identify(d win.Device, number uint32) (DiskIdentity, error) {
	id := DiskIdentity{Number: number}
	var err error
	if id.device, err = deviceGUID(d, number); err != nil {
		return id, err
	}
	reply, err := property(d, abi.PropertyQuery{Property: abi.PropertyDevice}, propertySize)
	about, err := decoded(reply, err, abi.DecodeDeviceDescriptor)
	if err != nil {
		return id, err
	}
	id.serial = about.Serial
	identifiers, err := page83(d)
	if err != nil {
		return id, err
	}
	for _, one := range identifiers {
		id.identity += fmt.Sprintf("%d %d %d %s\n", one.CodeSet, one.Type, one.Association, hex.EncodeToString(one.Value))
	}
	if id.device.IsZero() && strings.TrimSpace(id.serial) == "" && id.identity == "" {
		return id, fmt.Errorf("%w: the disk tells neither serial number nor page 83 identifier nor device id, so it cannot be told from another", errdefs.ErrUnknownContent)
	}
	return id, nil
}

// deviceGUID is the id of the device behind a handle, after its number was
// checked; zero where the driver has none (windows-api.md 1.2).
func deviceGUID(d win.Device, number uint32) (abi.GUID, error) {
	reply, err := control(d, abi.IOCTL_STORAGE_GET_DEVICE_NUMBER_EX, nil, abi.DeviceNumberExSize)
	if unsupported(err) {
		return abi.GUID{}, checkNumber(d, number)
	}
	n, err := decoded(reply, err, abi.DecodeDeviceNumberEx)
	if err != nil {
		return abi.GUID{}, err
	}
	return n.GUID, sameNumber(n.DeviceType, n.Number, number)
}

func checkNumber(d win.Device, number uint32) error {
	n, err := deviceNumber(d)
	if err != nil {
		return err
	}
	return sameNumber(n.DeviceType, n.Number, number)
}

func deviceNumber(d win.Device) (abi.DeviceNumber, error) {
	reply, err := control(d, abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, abi.DeviceNumberSize)
	return decoded(reply, err, abi.DecodeDeviceNumber)
}

func sameNumber(deviceType, got, want uint32) error {
	if deviceType != abi.FILE_DEVICE_DISK || got != want {
		return fmt.Errorf("%w: the device says that it is number %d of device type %d, not disk %d", errdefs.ErrOtherDisk, got, deviceType, want)
	}
	return nil
}

// page83 are the identifiers of a disk; none where it has no page 0x83
// (windows-api.md 2.3).
func page83(d win.Device) ([]abi.Identifier, error) {
	reply, err := property(d, abi.PropertyQuery{Property: abi.PropertyDeviceID}, propertySize)
	if unsupported(err) {
		return nil, nil
	}
	return decoded(reply, err, abi.DecodeIdentifiers)
}

// checkIdentity fails with ErrOtherDisk unless the handle is of that disk.
func checkIdentity(d win.Device, want DiskIdentity) error {
	got, err := identify(d, want.Number)
	if err == nil && got != want {
		err = fmt.Errorf("%w: the number moved to %s", errdefs.ErrOtherDisk, got)
	}
	return err
}

// ProbeDisk reads the head and the tail of the disk of that identity and tells
// what it found. Bytes that cannot be read are ErrUnknownContent.
func (s *Storage) ProbeDisk(ctx context.Context, id DiskIdentity) (Content, error) {
	return ask(ctx, s, "probe", diskName(id.Number), func() (found Content, err error) {
		d, err := s.openDisk(id.Number, win.GenericRead)
		if err != nil {
			return found, err
		}
		defer closing(d, &err)
		if err := checkIdentity(d, id); err != nil {
			return found, err
		}
		g, err := geometry(d)
		if err != nil {
			return found, err
		}
		return probeDevice(d, int64(g.BytesPerSector))
	})
}

// probeDevice probes a device that is open for reading. Its length is read
// through the same handle.
func probeDevice(d win.Device, sector int64) (Content, error) {
	reply, err := control(d, abi.IOCTL_DISK_GET_LENGTH_INFO, nil, abi.LengthSize)
	length, err := decoded(reply, err, abi.DecodeLength)
	if err != nil {
		return Content{}, fmt.Errorf("%w: length: %w", errdefs.ErrUnknownContent, err)
	}
	if sector <= 0 || length <= 0 || length%sector != 0 {
		return Content{}, fmt.Errorf("%w: length %d, sector size %d", errdefs.ErrUnknownContent, length, sector)
	}
	return probe(d, length, sector)
}

// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/binary"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Information classes of IRP_MJ_QUERY_VOLUME_INFORMATION (wdm.h).
const (
	classVolume    = 1 // FileFsVolumeInformation
	classSize      = 3 // FileFsSizeInformation
	classDevice    = 4 // FileFsDeviceInformation
	classAttribute = 5 // FileFsAttributeInformation
	classFullSize  = 7 // FileFsFullSizeInformation
)

// device information is the same for all devices of the lab.
func deviceInformation() []byte {
	const disk = 7 // FILE_DEVICE_DISK
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, disk), 0)
}

// volumeInformation encodes what GetVolumeInformationW shall report: the label
// and serial number, or the file system and its flags.
func volumeInformation(class uint32, info win.VolumeInformation) []byte {
	le := binary.LittleEndian
	if class == classVolume {
		label := abi.EncodeUTF16(info.Label)
		b := make([]byte, 18) // the creation time stays zero
		le.PutUint32(b[8:], info.SerialNumber)
		le.PutUint32(b[12:], uint32(len(label)))
		return append(b, label...)
	}
	const longestElement = 255
	name := abi.EncodeUTF16(info.FileSystem)
	b := le.AppendUint32(nil, info.Flags)
	b = le.AppendUint32(b, longestElement)
	b = le.AppendUint32(b, uint32(len(name)))
	return append(b, name...)
}

// sizeInformation encodes what GetDiskFreeSpaceExW shall report, in units of a
// byte.
func sizeInformation(class uint32, space win.FreeSpace) []byte {
	le := binary.LittleEndian
	b := le.AppendUint64(nil, space.Total)
	b = le.AppendUint64(b, space.Available)
	if class == classFullSize {
		b = le.AppendUint64(b, space.Free)
	}
	b = le.AppendUint32(b, 1)    // sectors in a unit
	return le.AppendUint32(b, 1) // bytes in a sector
}

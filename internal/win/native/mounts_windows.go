// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

type mounts struct{}

var _ win.Mounts = mounts{}

// volumeName holds \\?\Volume{guid}\ (windows-api.md 7.1: at least 50 units).
type volumeName [windows.MAX_PATH]uint16

func (n *volumeName) String() string { return windows.UTF16ToString(n[:]) }

func (mounts) Volumes() ([]string, error) {
	var name volumeName
	search, err := windows.FindFirstVolume(&name[0], uint32(len(name)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = windows.FindVolumeClose(search) }()

	volumes := []string{name.String()}
	for {
		err := windows.FindNextVolume(search, &name[0], uint32(len(name)))
		if errors.Is(err, win.ERROR_NO_MORE_FILES) {
			return volumes, nil
		}
		if err != nil {
			return nil, err
		}
		volumes = append(volumes, name.String())
	}
}

func (mounts) Paths(volume string) ([]string, error) {
	name, err := wide(volume)
	if err != nil {
		return nil, err
	}
	list, err := grow(windows.MAX_PATH, func(buf []uint16) (int, error) {
		var n uint32
		err := windows.GetVolumePathNamesForVolumeName(&name[0], &buf[0], uint32(len(buf)), &n)
		return int(n), err
	})
	return split(list), err
}

func (mounts) VolumeAt(mountPoint string) (string, error) {
	point, err := wide(mountPoint)
	if err != nil {
		return "", err
	}
	var name volumeName
	if err := windows.GetVolumeNameForVolumeMountPoint(&point[0], &name[0], uint32(len(name))); err != nil {
		return "", err
	}
	return name.String(), nil
}

func (mounts) SetPoint(mountPoint, volume string) error {
	point, err := wide(mountPoint)
	if err != nil {
		return err
	}
	name, err := wide(volume)
	if err != nil {
		return err
	}
	return windows.SetVolumeMountPoint(&point[0], &name[0])
}

func (mounts) DeletePoint(mountPoint string) error {
	point, err := wide(mountPoint)
	if err != nil {
		return err
	}
	return windows.DeleteVolumeMountPoint(&point[0])
}

func (mounts) Information(root string) (win.VolumeInformation, error) {
	name, err := wide(root)
	if err != nil {
		return win.VolumeInformation{}, err
	}
	var (
		label, fileSystem [windows.MAX_PATH + 1]uint16
		info              win.VolumeInformation
	)
	err = windows.GetVolumeInformation(&name[0], &label[0], uint32(len(label)),
		&info.SerialNumber, nil, &info.Flags, &fileSystem[0], uint32(len(fileSystem)))
	if err != nil {
		return win.VolumeInformation{}, err
	}
	info.Label = windows.UTF16ToString(label[:])
	info.FileSystem = windows.UTF16ToString(fileSystem[:])
	return info, nil
}

func (mounts) FreeSpace(directory string) (win.FreeSpace, error) {
	name, err := wide(directory)
	if err != nil {
		return win.FreeSpace{}, err
	}
	var space win.FreeSpace
	if err := windows.GetDiskFreeSpaceEx(&name[0], &space.Available, &space.Total, &space.Free); err != nil {
		return win.FreeSpace{}, err
	}
	return space, nil
}

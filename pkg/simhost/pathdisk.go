// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// pathDiskDriver answers for one path to a disk, which MPIO has hidden below
// the disk that it makes of all paths. It is listed and opens as any other, and
// has no number of its own (windows-api.md 1.2).
type pathDiskDriver struct{ diskDriver }

func (p pathDiskDriver) control(code uint32, in []byte, room int) ([]byte, error) {
	switch code {
	case abi.IOCTL_STORAGE_GET_DEVICE_NUMBER:
		return abi.DeviceNumber{DeviceType: abi.FILE_DEVICE_DISK, Number: abi.NoNumber, Partition: abi.NoNumber}.Encode(), nil
	case abi.IOCTL_STORAGE_QUERY_PROPERTY:
		return p.disk.queryProperty(in, room)
	}
	return nil, win.ERROR_INVALID_FUNCTION
}

// diskOfPathDisk finds an attached disk by the interface path of one of its
// path disks.
func (n *Node) diskOfPathDisk(path string) (*disk, bool) {
	for _, d := range n.disks {
		if slices.ContainsFunc(d.pathDisks, func(own string) bool { return strings.EqualFold(own, path) }) {
			return d, true
		}
	}
	return nil, false
}

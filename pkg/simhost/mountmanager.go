// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// mountManager answers for \\.\MountPointManager: which volume has which name,
// drive letter and device. Mount folders are not in its answer.
type mountManager struct{ node *Node }

func (mm mountManager) gone() error { return nil }

// The mount manager has no medium.
func (mm mountManager) sector() int64 { return 0 }

func (mm mountManager) readAt([]byte, int64) (int, error) { return 0, win.ERROR_INVALID_FUNCTION }

func (mm mountManager) flush() error { return win.ERROR_INVALID_FUNCTION }

func (mm mountManager) control(code uint32, in []byte, room int) ([]byte, error) {
	if code != abi.IOCTL_MOUNTMGR_QUERY_POINTS {
		return nil, win.ERROR_INVALID_FUNCTION
	}
	query, err := abi.DecodeMountPointQuery(in)
	if err != nil {
		return nil, win.ERROR_INVALID_PARAMETER
	}
	points := mm.points(query)
	if len(points) == 0 && (query.SymbolicLink != "" || query.Device != "" || len(query.UniqueID) > 0) {
		return nil, win.ERROR_FILE_NOT_FOUND
	}
	b, err := abi.EncodeMountPoints(points)
	if err != nil {
		return nil, win.ERROR_IO_DEVICE // cannot be: the names are short
	}
	const header = 8
	switch {
	case len(b) <= room:
		return b, nil
	case room < header:
		return nil, win.ERROR_INVALID_PARAMETER
	default:
		return b[:header], win.ERROR_MORE_DATA
	}
}

// points are the entries that a query selects.
func (mm mountManager) points(query abi.MountPoint) []abi.MountPoint {
	var points []abi.MountPoint
	for _, v := range mm.node.sortedVolumes() {
		id := mm.node.uniqueID(v)
		device := fmt.Sprintf(`\Device\HarddiskVolume%d`, v.device)
		for _, link := range mm.node.links(v) {
			p := abi.MountPoint{SymbolicLink: link, UniqueID: id, Device: device}
			if selects(query, p) {
				points = append(points, p)
			}
		}
	}
	return points
}

// links are a volume's symbolic links.
func (n *Node) links(v *volume) []string {
	links := []string{`\??\Volume{` + v.id.String() + `}`}
	if letter, ok := n.letterOf(v); ok {
		links = append(links, `\DosDevices\`+string(rune(letter))+`:`)
	}
	return links
}

// selects reports whether an entry agrees in all parts that a query gives.
func selects(query, p abi.MountPoint) bool {
	return (query.SymbolicLink == "" || strings.EqualFold(query.SymbolicLink, p.SymbolicLink)) &&
		(len(query.UniqueID) == 0 || bytes.Equal(query.UniqueID, p.UniqueID)) &&
		(query.Device == "" || strings.EqualFold(query.Device, p.Device))
}

// uniqueID is by what the mount manager knows a volume again.
func (n *Node) uniqueID(v *volume) []byte {
	d, p := v.partitionOf()
	if p == nil || n.switches.MountManagerID == MountManagerOpaque {
		h := fnv.New128a()
		h.Write([]byte(v.name()))
		return h.Sum(nil)
	}
	id := abi.UniqueID{Style: d.style, Partition: p.id}
	if d.style == abi.PartitionStyleMBR {
		id.Signature, id.Offset = d.signature, p.offset
	}
	return id.Encode()
}

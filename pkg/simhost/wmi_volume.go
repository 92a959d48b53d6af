// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// ReturnValues of MSFT_Partition and MSFT_Volume that only the model names.
const (
	returnUnknownFS       win.ReturnValue = 42009
	returnDataOnly        win.ReturnValue = 42011
	returnFormatClustered win.ReturnValue = 40018 // as printed on Format's page
)

func partitionMethods() map[string]wmiMethod {
	return map[string]wmiMethod{
		"Resize":           onPartition((*Node).wmiResize),
		"GetSupportedSize": onPartition((*Node).wmiSupportedSize),
		"Online":           onPartition((*Node).wmiPartitionOnline),
	}
}

// partitionMethod is a method on the partition d.partitions[at].
type partitionMethod func(n *Node, d *disk, at int, in cimObject) (cimObject, win.ReturnValue)

// onPartition finds the partition that a row stands for: the one at the row's
// offset on whatever disk now has the row's device interface.
func onPartition(do partitionMethod) wmiMethod {
	return func(n *Node, self, in cimObject) (cimObject, win.ReturnValue, error) {
		d, ok := n.diskByPath(self["DiskId"].(string))
		if !ok || n.refusesStale(d) {
			return nil, win.ReturnCacheOutOfDate, nil
		}
		offset := int64(self["Offset"].(uint64))
		at := slices.IndexFunc(d.partitions, func(p *partition) bool { return p.offset == offset })
		if at < 0 {
			return nil, win.ReturnCacheOutOfDate, nil
		}
		out, code := do(n, d, at, in)
		return out, code, nil
	}
}

// wmiResize is MSFT_Partition.Resize: the partition grows, and the file system
// with it. The size that it has is as unsupported as one that does not fit
// (windows-api.md 7.11). The model does not shrink.
func (n *Node) wmiResize(d *disk, at int, in cimObject) (cimObject, win.ReturnValue) {
	p := d.partitions[at]
	size, given := in["Size"].(uint64)
	if !given {
		return nil, win.ReturnInvalidParameter
	}
	if code := resizable(p); code != 0 {
		return nil, code
	}
	grown := int64(min(size, 1<<62)) / int64(d.sectorSize) * int64(d.sectorSize)
	if grown <= p.length || grown > d.growthEnd(at)-p.offset {
		return nil, win.ReturnSizeNotSupported
	}
	if err := n.growPartition(d, p.number, grown-p.length); err != nil {
		return nil, returnValue(err)
	}
	err := n.extendOver(p.volume)
	n.rereadDisk(d)
	return nil, returnValue(err)
}

// resizable is the code with which a partition refuses to be resized whatever
// the size.
func resizable(p *partition) win.ReturnValue {
	switch v := p.volume; {
	case v == nil:
		return win.ReturnNotSupported
	case v.state != 0, v.fs != "" && v.fs != "NTFS" && v.fs != "ReFS":
		return returnUnknownFS
	}
	return 0
}

// extendOver lets a file system cover its volume; RAW has nothing to extend,
// and less than an allocation unit is left alone.
func (n *Node) extendOver(v *volume) error {
	if v.fs == "" || v.length() < v.fsSize+int64(v.unitSize) {
		return nil
	}
	return n.extendVolume(v, v.length()/int64(v.extents[0].disk.sectorSize))
}

// wmiSupportedSize is MSFT_Partition.GetSupportedSize. It asks the defragmenter
// and fails where that does not run (field-reports.md V03).
func (n *Node) wmiSupportedSize(d *disk, at int, _ cimObject) (cimObject, win.ReturnValue) {
	p := d.partitions[at]
	if n.wmi.noDefragmenter {
		return nil, win.ReturnFailed
	}
	if code := resizable(p); code != 0 {
		return nil, code
	}
	least := p.length
	if p.volume.fs != "" {
		least = p.volume.used
	}
	return cimObject{"SizeMin": uint64(least), "SizeMax": uint64(d.growthEnd(at) - p.offset)}, 0
}

// SetDefragmenter starts or stops the service defragsvc, without which
// MSFT_Partition.GetSupportedSize fails (field-reports.md V03).
func (n *Node) SetDefragmenter(running bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wmi.noDefragmenter = !running
}

// wmiPartitionOnline is MSFT_Partition.Online. In the model a partition is
// online with its disk.
func (n *Node) wmiPartitionOnline(d *disk, at int, _ cimObject) (cimObject, win.ReturnValue) {
	switch {
	case !d.partitions[at].holdsData(d.style):
		return nil, returnDataOnly
	case d.offline:
		return nil, win.ReturnFailed
	}
	return nil, 0
}

func volumeMethods() map[string]wmiMethod {
	return map[string]wmiMethod{
		"Format": onVolume((*Node).wmiFormat),
		"Flush":  onVolume((*Node).wmiFlush),
	}
}

// onVolume finds the volume that a row stands for, by its name.
func onVolume(do func(n *Node, v *volume, in cimObject) (cimObject, win.ReturnValue)) wmiMethod {
	return func(n *Node, self, in cimObject) (cimObject, win.ReturnValue, error) {
		v, ok := n.volumeByName(self["Path"].(string))
		if !ok {
			return nil, win.ReturnCacheOutOfDate, nil
		}
		out, code := do(n, v, in)
		return out, code, nil
	}
}

// wmiFormat is MSFT_Volume.Format; without a file system it makes NTFS. Only
// the volume's own row shows it.
func (n *Node) wmiFormat(v *volume, in cimObject) (cimObject, win.ReturnValue) {
	f := formatting{fs: "NTFS", force: in["Force"] == true}
	if fs, ok := in["FileSystem"].(string); ok {
		f.fs = fs
	}
	f.label, _ = in["FileSystemLabel"].(string)
	unit, given := in["AllocationUnitSize"].(uint32)
	f.unit = unit
	switch {
	case v.clustered():
		return nil, returnFormatClustered
	case given && unit == 0, given && strings.EqualFold(f.fs, "ReFS") && unit != 4096 && unit != 65536:
		return nil, win.ReturnClusterSize
	}
	if err := n.format(v, f); err != nil {
		return nil, returnValue(err)
	}
	n.rereadVolume(v.name())
	return cimObject{"FormattedVolume": n.embed("MSFT_Volume", n.volumeObject(v))}, 0
}

// clustered reports whether a cluster manages a disk of the volume.
func (v *volume) clustered() bool {
	return slices.ContainsFunc(v.extents, func(e extent) bool { return e.disk.clustered })
}

// wmiFlush is MSFT_Volume.Flush. The model keeps no unwritten data.
func (n *Node) wmiFlush(*volume, cimObject) (cimObject, win.ReturnValue) { return nil, 0 }

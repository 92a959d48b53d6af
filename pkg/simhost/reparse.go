// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// reparseHeaderSize is the part of a REPARSE_DATA_BUFFER that every tag has
// (windows-api.md 8.1).
const reparseHeaderSize = 8

// reparseTag is the tag of a reparse buffer, 0 for none.
func reparseTag(data []byte) abi.ReparseTag {
	if len(data) < reparseHeaderSize {
		return 0
	}
	return abi.ReparseTag(binary.LittleEndian.Uint32(data))
}

// checkReparse reads a buffer that is to be stored, as strictly as NTFS does:
// exactly as long as it says, with a target where the tag needs one, and a
// mount point only in the layout that Windows itself writes.
func checkReparse(data []byte) (abi.ReparsePoint, error) {
	point, err := abi.DecodeReparsePoint(data)
	switch {
	case err != nil, len(data) > abi.MaxReparsePointSize, len(data) != reparseSize(data),
		leads(point.Tag) && point.Substitute == "",
		point.Tag == abi.IO_REPARSE_TAG_MOUNT_POINT && !canonical(point, data):
		return point, win.ERROR_INVALID_REPARSE_DATA
	case point.Tag <= 1: // reserved
		return point, win.ERROR_REPARSE_TAG_INVALID
	}
	return point, nil
}

// reparseSize is how long a buffer says that it is. Tags that are not
// Microsoft's have a GUID behind the common header.
func reparseSize(data []byte) int {
	size := reparseHeaderSize + int(binary.LittleEndian.Uint16(data[4:]))
	if reparseTag(data)&0x8000_0000 == 0 {
		size += abi.GUIDSize
	}
	return size
}

func canonical(point abi.ReparsePoint, data []byte) bool {
	again, err := point.Encode()
	return err == nil && bytes.Equal(again, data)
}

// leads reports whether points of a tag lead elsewhere by name.
func leads(tag abi.ReparseTag) bool {
	return tag == abi.IO_REPARSE_TAG_MOUNT_POINT || tag == abi.IO_REPARSE_TAG_SYMLINK
}

// mountedVolume is the volume that a mounted folder's point names. Junctions
// and links have none.
func mountedVolume(point abi.ReparsePoint) (abi.GUID, bool) {
	name, ok := strings.CutPrefix(point.Substitute, ntPrefix)
	if point.Tag != abi.IO_REPARSE_TAG_MOUNT_POINT || !ok || !strings.HasSuffix(name, `\`) {
		return abi.GUID{}, false
	}
	return parseVolumeName(extendedPrefix + name)
}

// encodeMountPoint is what SetVolumeMountPointW writes: the volume's NT name,
// and no print name.
func encodeMountPoint(volume abi.GUID) ([]byte, error) {
	name := strings.TrimPrefix(volumeName(volume), extendedPrefix)
	return abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_MOUNT_POINT, Substitute: ntPrefix + name}.Encode()
}

// encodeSymlink is what CreateSymbolicLinkW writes for a target.
func encodeSymlink(target string) ([]byte, error) {
	point := abi.ReparsePoint{Tag: abi.IO_REPARSE_TAG_SYMLINK, Print: target}
	var relative bool
	if point.Substitute, relative = linkTarget(target); relative {
		point.Flags = abi.SymlinkFlagRelative
	}
	data, err := point.Encode()
	if err != nil {
		return nil, win.ERROR_FILENAME_EXCED_RANGE
	}
	return data, nil
}

// linkTarget gives the substitute name of a link's target text, as
// CreateSymbolicLinkW sorts targets: an extended or device path stands for
// itself, a UNC or drive path becomes an NT path, and all else is relative,
// also a path from the root of the link's own volume.
func linkTarget(target string) (substitute string, relative bool) {
	switch {
	case strings.HasPrefix(target, extendedPrefix), strings.HasPrefix(target, `\\.\`), strings.HasPrefix(target, ntPrefix):
		return ntPrefix + target[4:], false
	case strings.HasPrefix(target, `\\`):
		return ntPrefix + `UNC\` + fullPath(target[2:]), false
	case len(target) >= 3 && target[1] == ':' && (target[2] == '\\' || target[2] == '/'):
		return ntPrefix + target[:2] + `\` + fullPath(target[3:]), false
	}
	return target, true
}

// fullPath does to the part of a path behind its root what GetFullPathName
// does: slashes turned, dots resolved, trailing dots and spaces dropped.
func fullPath(path string) string {
	path = strings.ReplaceAll(path, "/", `\`)
	var names []string
	for name := range strings.SplitSeq(strings.TrimRight(path, ". "), `\`) {
		switch name {
		case "", ".":
		case "..":
			names = names[:max(0, len(names)-1)]
		default:
			names = append(names, name)
		}
	}
	full := strings.Join(names, `\`)
	if full != "" && strings.HasSuffix(path, `\`) {
		full += `\`
	}
	return full
}

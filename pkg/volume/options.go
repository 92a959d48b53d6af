// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf16"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// supported are the file systems that FormatVolume makes, the default first, and
// what each takes (windows-api.md 7.10; Microsoft's "Default cluster size for
// NTFS, FAT, and exFAT").
var supported = []struct {
	name                      string
	smallestUnit, largestUnit uint32
	label                     int // characters, in UTF-16
}{
	{"NTFS", 512, 2 << 20, 32},
	{"ReFS", 4 << 10, 64 << 10, 32},
	{"FAT32", 512, 64 << 10, 11},
	{"exFAT", 512, 32 << 20, 11},
}

// formatOf checks what a request wants a volume to be formatted with.
func formatOf(req *FormatVolumeRequest) (hostapi.Format, error) {
	wanted := req.FileSystem
	if wanted == "" {
		wanted = supported[0].name
	}
	var names []string
	for _, fs := range supported {
		names = append(names, fs.name)
		if !strings.EqualFold(fs.name, wanted) {
			continue
		}
		format := hostapi.Format{FileSystem: fs.name, Label: req.Label, Unit: req.AllocationUnitSize, Full: req.Full, Compress: req.Compress}
		switch unit := format.Unit; {
		case len(utf16.Encode([]rune(format.Label))) > fs.label:
			return format, fmt.Errorf("%w: Label: %s takes at most %d characters", errdefs.ErrInvalidArgument, fs.name, fs.label)
		case unit != 0 && (bits.OnesCount32(unit) != 1 || unit < fs.smallestUnit || unit > fs.largestUnit),
			fs.name == "ReFS" && unit != 0 && unit != fs.smallestUnit && unit != fs.largestUnit:
			return format, fmt.Errorf("%w: AllocationUnitSize: %d bytes is none of %s", errdefs.ErrInvalidArgument, unit, fs.name)
		case format.Compress && (fs.name != "NTFS" || unit > 4096):
			return format, fmt.Errorf("%w: Compress: only NTFS compresses, in allocation units of at most 4096 bytes", errdefs.ErrInvalidArgument)
		}
		return format, nil
	}
	return hostapi.Format{}, fmt.Errorf("%w: FileSystem: %q is none of %s", errdefs.ErrInvalidArgument, req.FileSystem, strings.Join(names, ", "))
}

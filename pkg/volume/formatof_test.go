// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// field-reports.md V15: each file system takes its smallest and largest unit and
// its longest label, and no more (windows-api.md 7.10).
func TestFormatOf_Limits(t *testing.T) {
	const kib = 1 << 10
	for _, fs := range []struct {
		name              string
		smallest, largest uint32
		label             int
	}{
		{"NTFS", 512, 2048 * kib, 32},
		{"ReFS", 4 * kib, 64 * kib, 32},
		{"FAT32", 512, 64 * kib, 11},
		{"exFAT", 512, 32768 * kib, 11},
	} {
		for _, tt := range []struct {
			unit  uint32
			label int
			ok    bool
		}{
			{0, 0, true},
			{fs.smallest, fs.label, true},
			{fs.largest, fs.label, true},
			{fs.smallest / 2, 0, false},
			{fs.largest * 2, 0, false},
			{fs.smallest + 1, 0, false},
			{fs.largest - 1, 0, false},
			{0, fs.label + 1, false},
		} {
			t.Run(fmt.Sprintf("%s unit %d label %d", fs.name, tt.unit, tt.label), func(t *testing.T) {
				req := &FormatVolumeRequest{FileSystem: fs.name, AllocationUnitSize: tt.unit, Label: strings.Repeat("x", tt.label)}
				got, err := formatOf(req)
				if !tt.ok {
					if !errors.Is(err, errdefs.ErrInvalidArgument) {
						t.Errorf("got %v", err)
					}
					return
				}
				if err != nil || got.FileSystem != fs.name || got.Unit != tt.unit || got.Label != req.Label {
					t.Errorf("got %+v, %v", got, err)
				}
			})
		}
	}
}

// Only NTFS compresses, in units of at most 4 KiB.
func TestFormatOf_Compress(t *testing.T) {
	for _, tt := range []struct {
		fileSystem string
		unit       uint32
		ok         bool
	}{{"", 0, true}, {"NTFS", 4096, true}, {"NTFS", 8192, false}, {"ReFS", 4096, false}, {"exFAT", 0, false}} {
		_, err := formatOf(&FormatVolumeRequest{FileSystem: tt.fileSystem, AllocationUnitSize: tt.unit, Compress: true})
		if tt.ok != (err == nil) || err != nil && !errors.Is(err, errdefs.ErrInvalidArgument) {
			t.Errorf("%q in units of %d: %v", tt.fileSystem, tt.unit, err)
		}
	}
}

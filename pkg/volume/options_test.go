// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// field-reports.md V15: SQL Server wants units of 64 KiB.
func TestFormatVolume_V15Options(t *testing.T) {
	for name, test := range map[string]struct {
		req  volume.FormatVolumeRequest
		want hostapi.Format
		sees string // what the node has then
	}{
		"upstream's": {volume.FormatVolumeRequest{}, hostapi.Format{FileSystem: "NTFS"}, `NTFS "", `},
		"SQL Server": {
			volume.FormatVolumeRequest{Label: "SQL", AllocationUnitSize: 64 << 10},
			hostapi.Format{FileSystem: "NTFS", Label: "SQL", Unit: 64 << 10},
			`NTFS "SQL", `,
		},
		"ReFS in any case": {
			volume.FormatVolumeRequest{FileSystem: "REFS", AllocationUnitSize: 4096},
			hostapi.Format{FileSystem: "ReFS", Unit: 4096},
			`ReFS "", `,
		},
		"FAT32":      {volume.FormatVolumeRequest{FileSystem: "fat32", Label: "ELEVENCHARS"}, hostapi.Format{FileSystem: "FAT32", Label: "ELEVENCHARS"}, `FAT32 "ELEVENCHARS", `},
		"exFAT":      {volume.FormatVolumeRequest{FileSystem: "exFAT"}, hostapi.Format{FileSystem: "exFAT"}, `exFAT "", `},
		"full":       {volume.FormatVolumeRequest{Full: true}, hostapi.Format{FileSystem: "NTFS", Full: true}, `NTFS "", `},
		"compressed": {volume.FormatVolumeRequest{Compress: true}, hostapi.Format{FileSystem: "NTFS", Compress: true}, `NTFS "", `},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				host := &recorder{HostAPI: s.node.Volume()}
				s.vol, _ = volume.New(host)
				test.req.VolumeID = rawID
				_, err := s.vol.FormatVolume(t.Context(), &test.req)
				s.must(err)
				if diff := cmp.Diff([]hostapi.Format{test.want}, host.formats); diff != "" {
					t.Error(diff)
				}
				if got := s.fileSystemOf(rawID); !strings.HasPrefix(got, test.sees) {
					t.Errorf("got %s, want %s", got, test.sees)
				}
				if unit := test.req.AllocationUnitSize; unit == 64<<10 && !strings.Contains(s.fileSystemOf(rawID), "units of 65536") {
					t.Errorf("got %s", s.fileSystemOf(rawID))
				}
			})
		})
	}
}

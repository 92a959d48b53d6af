// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
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

// field-reports.md V14: the error names what Windows can format with.
func TestFormatVolume_V14Refused(t *testing.T) {
	for name, test := range map[string]struct {
		req  volume.FormatVolumeRequest
		says string
	}{
		"ext4":                     {volume.FormatVolumeRequest{FileSystem: "ext4"}, `FileSystem: "ext4" is none of NTFS, ReFS, FAT32, exFAT`},
		"FAT":                      {volume.FormatVolumeRequest{FileSystem: "FAT"}, "FileSystem"},
		"blank":                    {volume.FormatVolumeRequest{FileSystem: " "}, "FileSystem"},
		"unit no power of 2":       {volume.FormatVolumeRequest{AllocationUnitSize: 5000}, "AllocationUnitSize"},
		"unit too small":           {volume.FormatVolumeRequest{AllocationUnitSize: 256}, "AllocationUnitSize"},
		"unit too large":           {volume.FormatVolumeRequest{AllocationUnitSize: 4 << 20}, "AllocationUnitSize"},
		"unit of ReFS":             {volume.FormatVolumeRequest{FileSystem: "ReFS", AllocationUnitSize: 8192}, "AllocationUnitSize"},
		"label too long":           {volume.FormatVolumeRequest{Label: strings.Repeat("x", 33)}, "Label"},
		"label too long for FAT32": {volume.FormatVolumeRequest{FileSystem: "FAT32", Label: "twelve chars"}, "Label"},
		"ReFS compressed":          {volume.FormatVolumeRequest{FileSystem: "ReFS", Compress: true}, "Compress"},
		"large units compressed":   {volume.FormatVolumeRequest{AllocationUnitSize: 8192, Compress: true}, "Compress"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.unchanged(func() {
					test.req.VolumeID = rawID
					_, err := s.vol.FormatVolume(t.Context(), &test.req)
					s.fails(err, errdefs.ErrInvalidArgument)
					if err != nil && !strings.Contains(err.Error(), test.says) {
						t.Errorf("got %v, want %s", err, test.says)
					}
				})
			})
		})
	}
}

// field-reports.md V02: no silent no-op, and no size that was not reached.
func TestResizeVolume_V02Result(t *testing.T) {
	const before, largest, around = simhost.GiB - 17*simhost.MiB, 2*simhost.GiB - 17*simhost.MiB, simhost.MiB
	for name, test := range map[string]struct {
		size simhost.Size
		want volume.ResizeVolumeResponse
		err  error
	}{
		"all":      {0, volume.ResizeVolumeResponse{OldSizeBytes: int64(before), NewSizeBytes: int64(largest), LargestSizeBytes: int64(largest), Grew: true}, nil},
		"64 MiB":   {before + 64*around, volume.ResizeVolumeResponse{OldSizeBytes: int64(before), NewSizeBytes: int64(before + 64*around), LargestSizeBytes: int64(largest), Grew: true}, nil},
		"nothing":  {before, volume.ResizeVolumeResponse{OldSizeBytes: int64(before), NewSizeBytes: int64(before), LargestSizeBytes: int64(largest)}, nil},
		"too much": {3 * simhost.GiB, volume.ResizeVolumeResponse{OldSizeBytes: int64(before), NewSizeBytes: int64(before), LargestSizeBytes: int64(largest)}, errdefs.ErrOutOfRange},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				s.must(s.node.GrowDisk("data", 2*simhost.GiB))
				got, err := s.vol.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeID: dataID, SizeBytes: int64(test.size)})
				if test.err != nil {
					s.fails(err, test.err)
				} else {
					s.must(err)
				}
				if diff := cmp.Diff(&test.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// quota is a host on which the caller may use less than there is.
type quota struct{ win.Mounts }

func (quota) FreeSpace(string) (win.FreeSpace, error) {
	return win.FreeSpace{Total: 1000, Free: 600, Available: 250}, nil
}

// field-reports.md V19: what is available to the caller is not what is free.
func TestGetVolumeStats_V19Quota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.over(quota{s.node.Host().Mounts})
		got, err := s.stats(dataID)
		s.must(err)
		if want := (volume.GetVolumeStatsResponse{TotalBytes: 1000, UsedBytes: 400, AvailableBytes: 250}); *got != want {
			t.Errorf("got %+v, want %+v", *got, want)
		}
	})
}

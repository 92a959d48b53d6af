// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// contents says for everything that a medium can hold why PartitionDisk leaves
// it alone (docs/architecture.md, rule 2, field-reports.md D21).
var contents = map[simhost.Media]error{
	simhost.MediaExt4:    errdefs.ErrForeignContent,
	simhost.MediaXFS:     errdefs.ErrForeignContent,
	simhost.MediaBtrfs:   errdefs.ErrForeignContent,
	simhost.MediaLUKS:    errdefs.ErrForeignContent,
	simhost.MediaLVM:     errdefs.ErrForeignContent,
	simhost.MediaSwap:    errdefs.ErrForeignContent,
	simhost.MediaZFS:     errdefs.ErrForeignContent,
	simhost.MediaBcache:  errdefs.ErrForeignContent,
	simhost.MediaVMFS:    errdefs.ErrForeignContent,
	simhost.MediaMD:      errdefs.ErrForeignContent,
	simhost.MediaMDAtEnd: errdefs.ErrForeignContent,

	simhost.MediaNTFS:      errdefs.ErrDamaged,
	simhost.MediaTornNTFS:  errdefs.ErrDamaged,
	simhost.MediaReFS:      errdefs.ErrDamaged,
	simhost.MediaExFAT:     errdefs.ErrDamaged,
	simhost.MediaFAT32:     errdefs.ErrDamaged,
	simhost.MediaBitLocker: errdefs.ErrDamaged,
	simhost.MediaLDM:       errdefs.ErrDamaged,
	simhost.MediaSpaces:    errdefs.ErrDamaged,
	simhost.MediaGPT:       errdefs.ErrDamaged,
	simhost.MediaGPTBackup: errdefs.ErrDamaged,
	simhost.MediaMBR:       errdefs.ErrDamaged,
}

// blankDisks are the ways in which Windows may report a blank disk.
var blankDisks = []simhost.BlankDisk{simhost.BlankDiskRAW, simhost.BlankDiskMBR, simhost.BlankDiskMBRWithFour}

func TestPartitionDisk_D21_LeavesContentAlone(t *testing.T) {
	for _, media := range simhost.AllMedia() {
		for _, sector := range []uint32{512, 4096} {
			for _, position := range blankDisks {
				t.Run(fmt.Sprintf("%s, sectors of %d, BlankDisk=%d", media, sector, position), func(t *testing.T) {
					node := nodeOf(t, simhost.NodeSpec{
						Switches: simhost.Switches{BlankDisk: position},
						Disks: []simhost.DiskSpec{simhost.BootDisk(), blankWith(func(d *simhost.DiskSpec) {
							d.SectorSize, d.Media = sector, []simhost.Media{media}
						})},
					})
					before := node.Snapshot()
					err := partition(t.Context(), node, 1)
					if contents[media] == nil {
						t.Fatalf("what is right for %s?", media)
					}
					wantError(t, err, contents[media], errdefs.FailedPrecondition)
					wantUnchanged(t, node, before)
				})
			}
		}
	}
}

// What lies in an empty partition table's disk counts as well.
func TestPartitionDisk_LeavesContentOfInitializedDiskAlone(t *testing.T) {
	for _, style := range []string{"gpt", "mbr"} {
		for _, media := range []simhost.Media{simhost.MediaMDAtEnd, simhost.MediaZFS, simhost.MediaBtrfs} {
			t.Run(style+" with "+string(media), func(t *testing.T) {
				node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) {
					d.Style, d.Media = style, []simhost.Media{media}
				}))
				before := node.Snapshot()
				wantError(t, partition(t.Context(), node, 1), errdefs.ErrForeignContent, errdefs.FailedPrecondition)
				wantUnchanged(t, node, before)
			})
		}
	}
}

func TestPartitionDisk_LeavesUnknownAlone(t *testing.T) {
	end := 10 * simhost.GiB
	for name, c := range map[string]struct {
		disk func(*simhost.DiskSpec)
		code error
		want error
		kind errdefs.Kind
	}{
		"first sector": {
			func(d *simhost.DiskSpec) { d.Unreadable = []simhost.RangeSpec{{Length: 512}} },
			win.ERROR_CRC, errdefs.ErrUnknownContent, errdefs.FailedPrecondition,
		},
		"a sector of the head": {
			func(d *simhost.DiskSpec) {
				d.Unreadable = []simhost.RangeSpec{{Offset: 2*simhost.MiB - 512, Length: 512}}
			},
			win.ERROR_CRC, errdefs.ErrUnknownContent, errdefs.FailedPrecondition,
		},
		"last sector": {
			func(d *simhost.DiskSpec) {
				d.Unreadable = []simhost.RangeSpec{{Offset: end - 512, Length: 512, Code: 1117}}
			},
			win.ERROR_IO_DEVICE, errdefs.ErrUnknownContent, errdefs.FailedPrecondition,
		},
		"layout": {
			func(d *simhost.DiskSpec) { d.LayoutError = 1117 },
			win.ERROR_IO_DEVICE, errdefs.ErrUnavailable, errdefs.Unavailable,
		},
	} {
		for _, overwrite := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, overwrite %v", name, overwrite), func(t *testing.T) {
				node := nodeWith(t, blankWith(c.disk))
				before := node.Snapshot()
				_, err := group(node).PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1, Overwrite: overwrite})
				wantError(t, err, c.want, c.kind)
				if !errors.Is(err, c.code) {
					t.Errorf("%v lost its cause %v", err, c.code)
				}
				wantUnchanged(t, node, before)
			})
		}
	}
}

// Windows may not read a disk that is offline: then the error says what helps.
func TestPartitionDisk_OfflineDiskThatCannotBeRead(t *testing.T) {
	node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Offline = true }))
	before := node.Snapshot()
	failing(node, func(c simhost.Call) bool {
		return c.Method == "Device.ReadAt" && len(facts(node, "disk data state: attached as 1, offline")) > 0
	}, win.ERROR_NOT_READY)
	wantError(t, partition(t.Context(), node, 1), errdefs.ErrUnknownContent, errdefs.FailedPrecondition)
	wantUnchanged(t, node, before)

	if _, err := group(node).EnsureOnlineWritable(t.Context(), &disk.EnsureOnlineWritableRequest{DiskNumber: 1}); err != nil {
		t.Fatal(err)
	}
	if err := partition(t.Context(), node, 1); err != nil {
		t.Fatal(err)
	}
	wantTable(t, node, "data", "GPT", "reserved", "basic data")
}

// unreadable sectors that no probe needs stop nothing.
func TestPartitionDisk_UnreadableMiddle(t *testing.T) {
	node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) {
		d.Unreadable = []simhost.RangeSpec{{Offset: simhost.GiB, Length: simhost.MiB}}
	}))
	if err := partition(t.Context(), node, 1); err != nil {
		t.Error(err)
	}
}

func TestPartitionDisk_Empty(t *testing.T) {
	gpt := []string{"GPT", "reserved", "basic data"}
	for name, c := range map[string]struct {
		disk func(*simhost.DiskSpec)
		want []string
	}{
		"zeroed":              {func(*simhost.DiskSpec) {}, gpt},
		"4 KiB sectors":       {func(d *simhost.DiskSpec) { d.SectorSize = 4096 }, gpt},
		"offline, read-only":  {func(d *simhost.DiskSpec) { d.Offline, d.ReadOnly = true, true }, gpt},
		"read-only":           {func(d *simhost.DiskSpec) { d.ReadOnly = true }, gpt},
		"MSR alone":           {func(d *simhost.DiskSpec) { d.Style, d.Partitions = "gpt", []simhost.PartitionSpec{{Type: "msr"}} }, gpt},
		"GPT alone":           {func(d *simhost.DiskSpec) { d.Style = "gpt" }, []string{"GPT", "basic data"}},
		"MBR alone":           {func(d *simhost.DiskSpec) { d.Style = "mbr" }, []string{"MBR", "type 0x07"}},
		"offline MBR alone":   {func(d *simhost.DiskSpec) { d.Style, d.Offline, d.ReadOnly = "mbr", true, true }, []string{"MBR", "type 0x07"}},
		"more than 2 TiB":     {func(d *simhost.DiskSpec) { d.Size = 3 * simhost.TiB }, gpt},
		"offline MSR, no ids": {func(d *simhost.DiskSpec) { d.Style, d.Offline, d.Serial = "gpt", true, "" }, []string{"GPT", "basic data"}},
	} {
		for _, position := range blankDisks {
			t.Run(fmt.Sprintf("%s, BlankDisk=%d", name, position), func(t *testing.T) {
				node := nodeOf(t, simhost.NodeSpec{
					Switches: simhost.Switches{BlankDisk: position},
					Disks:    []simhost.DiskSpec{simhost.BootDisk(), blankWith(c.disk)},
				})
				if err := partition(t.Context(), node, 1); err != nil {
					t.Fatal(err)
				}
				wantTable(t, node, "data", c.want...)
				if got := facts(node, "disk data state:"); got[0] != "disk data state: attached as 1, online" {
					t.Errorf("got %q", got)
				}
				before := node.Snapshot()
				if err := partition(t.Context(), node, 1); err != nil {
					t.Errorf("again: %v", err)
				}
				wantUnchanged(t, node, before)
			})
		}
	}
}

// The data partition reaches up to the end of a disk that MBR cannot address.
func TestPartitionDisk_MoreThan2TiB(t *testing.T) {
	node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Size = 3 * simhost.TiB }))
	if err := partition(t.Context(), node, 1); err != nil {
		t.Fatal(err)
	}
	if got := facts(node, "disk data partition 2: basic data, 3145711MiB at 16MiB"); len(got) != 1 {
		t.Errorf("got %q", facts(node, "disk data partition"))
	}
}

// A disk whose table has entries is left unchanged, also offline, and that is no
// error if Windows gives one of them a volume (docs/architecture.md, "Differences from upstream").
func TestPartitionDisk_WithEntries(t *testing.T) {
	ntfs := &simhost.VolumeSpec{FileSystem: "NTFS"}
	for name, c := range map[string]struct {
		style      string
		partitions []simhost.PartitionSpec
		volumes    bool
	}{
		"GPT with NTFS":                {"gpt", []simhost.PartitionSpec{{Type: "msr"}, {Volume: ntfs}}, true},
		"GPT with RAW data":            {"gpt", []simhost.PartitionSpec{{Type: "msr"}, {}}, true},
		"GPT with ext4 in basic data":  {"gpt", []simhost.PartitionSpec{{Type: "msr"}, {Media: []simhost.Media{simhost.MediaExt4}}}, true},
		"GPT with recovery and data":   {"gpt", []simhost.PartitionSpec{{Type: "recovery", Size: simhost.GiB}, {Volume: ntfs}}, true},
		"MBR with NTFS":                {"mbr", []simhost.PartitionSpec{{Type: "0x07", Volume: ntfs}}, true},
		"MBR with Linux and FAT32":     {"mbr", []simhost.PartitionSpec{{Type: "0x83", Size: simhost.GiB}, {Type: "0x0c"}}, true},
		"superfloppy":                  {"superfloppy", []simhost.PartitionSpec{{Volume: ntfs}}, true},
		"GPT with EFI alone":           {"gpt", []simhost.PartitionSpec{{Type: "efi"}}, false},
		"GPT with recovery alone":      {"gpt", []simhost.PartitionSpec{{Type: "msr"}, {Type: "recovery"}}, false},
		"GPT with Linux data alone":    {"gpt", []simhost.PartitionSpec{{Type: linuxData, Media: []simhost.Media{simhost.MediaExt4}}}, false},
		"GPT with hidden data alone":   {"gpt", []simhost.PartitionSpec{{Attributes: abi.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN}}, false},
		"MBR with Linux alone":         {"mbr", []simhost.PartitionSpec{{Type: "0x83", Media: []simhost.Media{simhost.MediaExt4}}}, false},
		"MBR with LDM alone":           {"mbr", []simhost.PartitionSpec{{Type: "0x42"}}, false},
		"MBR with recovery alone":      {"mbr", []simhost.PartitionSpec{{Type: "0x27"}}, false},
		"MBR with protective GPT only": {"mbr", []simhost.PartitionSpec{{Type: "0xee"}}, false},
	} {
		for _, offline := range []bool{false, true} {
			for _, overwrite := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, offline %v, overwrite %v", name, offline, overwrite), func(t *testing.T) {
					node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) {
						d.Style, d.Partitions, d.Offline, d.ReadOnly = c.style, c.partitions, offline, offline
					}))
					before := node.Snapshot()
					_, err := group(node).PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1, Overwrite: overwrite})
					if c.volumes && err != nil {
						t.Error(err)
					}
					if !c.volumes {
						wantError(t, err, errdefs.ErrFailedPrecondition, errdefs.FailedPrecondition)
					}
					wantUnchanged(t, node, before)
				})
			}
		}
	}
}

// Overwrite loses the content of the disk that it is asked for, and of no other.
func TestPartitionDisk_Overwrite(t *testing.T) {
	for _, media := range simhost.AllMedia() {
		t.Run(string(media), func(t *testing.T) {
			other := blankWith(func(d *simhost.DiskSpec) {
				d.Name, d.Serial, d.Media = "other", "data-2", []simhost.Media{media}
				d.Address = &simhost.AddressSpec{Port: 2}
			})
			node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Media = []simhost.Media{media} }), other)
			before := facts(node, "disk other")
			if _, err := group(node).PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1, Overwrite: true}); err != nil {
				t.Fatal(err)
			}
			wantTable(t, node, "data", "GPT", "reserved", "basic data")
			if after := facts(node, "disk other"); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("the other disk: %q", after)
			}
		})
	}
}

// Who may overwrite does not join a call that may not, and is refused.
func TestPartitionDisk_OverwriteJoinsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Media = simhost.AllMedia()[:1] }))
		held, release := make(chan struct{}, 8), make(chan struct{})
		node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Device.ReadAt" {
				held <- struct{}{}
				<-release
			}
			return do()
		})
		refused, overwritten := make(chan error, 1), make(chan error, 1)
		go func() { refused <- diskWide["PartitionDisk"](t.Context(), group(node), 1) }()
		<-held
		go func() { overwritten <- diskWide["PartitionDisk with Overwrite"](t.Context(), group(node), 1) }()
		synctest.Wait()
		close(release)
		wantError(t, <-refused, errdefs.ErrForeignContent, errdefs.FailedPrecondition)
		if err := <-overwritten; err != nil {
			t.Error(err)
		}
		wantTable(t, node, "data", "GPT", "reserved", "basic data")
	})
}

func TestPartitionDisk_UnknownDisk(t *testing.T) {
	node := nodeWith(t)
	wantError(t, partition(t.Context(), node, 7), errdefs.ErrNotFound, errdefs.NotFound)
}

// A disk of which nothing tells it from another is left alone.
func TestPartitionDisk_WithoutIdentity(t *testing.T) {
	node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Serial = "  " }))
	before := node.Snapshot()
	failing(node, isControl(abi.IOCTL_STORAGE_GET_DEVICE_NUMBER_EX), win.ERROR_INVALID_FUNCTION)
	wantError(t, partition(t.Context(), node, 1), errdefs.ErrUnknownContent, errdefs.FailedPrecondition)
	wantUnchanged(t, node, before)
}

// Server 2012 and Wine do not know GET_DEVICE_NUMBER_EX; the serial number does.
func TestPartitionDisk_WithoutDeviceGUID(t *testing.T) {
	node := nodeWith(t, blank())
	failing(node, isControl(abi.IOCTL_STORAGE_GET_DEVICE_NUMBER_EX), win.ERROR_NOT_SUPPORTED)
	if err := partition(t.Context(), node, 1); err != nil {
		t.Fatal(err)
	}
	wantTable(t, node, "data", "GPT", "reserved", "basic data")
}

// offlineHost tells of an offline disk what Windows may tell of one: nothing.
type offlineHost struct {
	hostapi.HostAPI
	hideTable, hideContent bool
}

func (h offlineHost) InspectDisk(ctx context.Context, number uint32) (hostapi.DiskInspection, error) {
	disk, err := h.HostAPI.InspectDisk(ctx, number)
	if disk.State.Offline && h.hideTable {
		disk.Layout.Partitions = nil
	}
	return disk, err
}

func (h offlineHost) ProbeDisk(ctx context.Context, id hostapi.DiskIdentity) (hostapi.Content, error) {
	if state, err := h.DiskState(ctx, id.Number); err != nil || state.Offline && h.hideContent {
		return hostapi.Content{}, err
	}
	return h.HostAPI.ProbeDisk(ctx, id)
}

// Whether an offline disk tells its table and content is not documented: what it
// told offline is not enough to initialise it.
func TestPartitionDisk_LooksAgainOnceOnline(t *testing.T) {
	t.Run("content", func(t *testing.T) {
		node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Offline, d.Media = true, []simhost.Media{simhost.MediaLUKS} }))
		d, _ := disk.New(offlineHost{HostAPI: node.Disk(), hideContent: true})
		_, err := d.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1})
		wantError(t, err, errdefs.ErrForeignContent, errdefs.FailedPrecondition)
		wantTable(t, node, "data", "none")
	})
	t.Run("table", func(t *testing.T) {
		node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) {
			d.Offline, d.Style, d.Partitions = true, "gpt", []simhost.PartitionSpec{{Volume: &simhost.VolumeSpec{FileSystem: "NTFS"}}}
		}))
		before := table(t, node, "data")
		d, _ := disk.New(offlineHost{HostAPI: node.Disk(), hideTable: true})
		if _, err := d.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1}); err != nil {
			t.Error(err)
		}
		wantTable(t, node, "data", before...)
	})
}

// A probe that hangs holds no lock once its caller has left (docs/architecture.md).
func TestPartitionDisk_AbandonedProbeHoldsNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, release := nodeWith(t, blank()), make(chan struct{})
		node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Device.ReadAt" {
				<-release
			}
			return do()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		wantError(t, partition(ctx, node, 1), context.DeadlineExceeded, errdefs.DeadlineExceeded)

		start := time.Now()
		if err := diskWide["SetDiskState offline"](t.Context(), group(node), 1); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("going offline took %v", took)
		}
		wantError(t, partition(t.Context(), node, 1), errdefs.ErrResourceExhausted, errdefs.ResourceExhausted)
		close(release)
		synctest.Wait()
		if err := partition(t.Context(), node, 1); err != nil {
			t.Errorf("once it does not hang: %v", err)
		}
	})
}

// otherStyle is a host whose storage provider knows disks by another style.
type otherStyle struct {
	hostapi.HostAPI
	style hostapi.ProviderStyle
}

func (h otherStyle) ProviderStyle(context.Context, hostapi.DiskIdentity) (hostapi.ProviderStyle, error) {
	return h.style, nil
}

// A table that reads as MBR must be none or MBR to the storage provider as well.
func TestPartitionDisk_StylesThatDisagree(t *testing.T) {
	for _, style := range []hostapi.ProviderStyle{hostapi.ProviderGPT, 3} {
		node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) { d.Style = "mbr" }))
		before := node.Snapshot()
		d, _ := disk.New(otherStyle{node.Disk(), style})
		_, err := d.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 1})
		wantError(t, err, errdefs.ErrUnknownContent, errdefs.FailedPrecondition)
		wantUnchanged(t, node, before)
	}
}

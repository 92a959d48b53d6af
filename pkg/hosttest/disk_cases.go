// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

func diskCases() []Case {
	return slices.Concat(diskListCases(), diskIDCases(), diskFindCases(), diskStateCases(), partitionCases(), contentCases())
}

func diskListCases() []Case {
	return []Case{
		{IDs: []string{"DISK-3"}, Shows: "an unknown disk is not found, by any method", Needs: []Ability{Disks}, Test: func(h *Host) {
			const number = 4096
			_, stats := h.Disk.GetDiskStats(h.Context(), &disk.GetDiskStatsRequest{DiskNumber: number})
			_, state := h.Disk.GetDiskState(h.Context(), &disk.GetDiskStateRequest{DiskNumber: number})
			for _, err := range []error{stats, state, h.setOnline(number, true), h.partition(number)} {
				h.wantKind(err, errdefs.NotFound)
				h.wantText(err, "4096")
			}
		}},
		{
			IDs: []string{"DISK-4", "DISK-7", "D04"}, Shows: "no disk is left out, whatever its location", Needs: []Ability{Model},
			Spec: withDisks(
				simhost.DiskSpec{Name: "spaces", Size: simhost.GiB, Bus: "spaces", Serial: "s"},
				simhost.DiskSpec{Name: "vhd", Size: simhost.GiB, Bus: "file", Serial: "v", Location: `C:\sandbox.vhdx`, Address: &simhost.AddressSpec{Port: 4, Target: 2, LUN: 3}},
				simhost.DiskSpec{Name: "ide", Size: simhost.GiB, Bus: "ata", Serial: "i", Location: "PCI Slot 0 : Adapter 0 : Channel 0 : Device 0", Address: &simhost.AddressSpec{Path: 1}},
			),
			Test: func(h *Host) {
				h.wantLocations(map[uint32]disk.DiskLocation{1: {}, 2: {Adapter: "4"}, 3: {Adapter: "0"}}, 0)
			},
		},
		{
			IDs: []string{"DISK-5", "D02"}, Shows: "target and LUN are told for the buses that have them alone", Needs: []Ability{Model},
			Spec: withDisks(onBuses("scsi", "fibre", "raid", "iscsi", "sas", "ata", "usb", "sata", "virtual", "file", "spaces", "nvme")...),
			Test: func(h *Host) {
				want := map[uint32]disk.DiskLocation{}
				for number := range uint32(12) {
					want[number+1] = disk.DiskLocation{Adapter: "3"}
					if number < 5 {
						want[number+1] = disk.DiskLocation{Adapter: "3", Target: "4", LUNID: "5"}
					}
				}
				h.wantLocations(want, 0)
			},
		},
		{IDs: []string{"DISK-5"}, Shows: "both forms of Azure's location", Needs: []Ability{Model}, Spec: shipped("azure-scsi"), Test: func(h *Host) {
			for name, want := range map[string]disk.DiskLocation{
				"data-lun1": {Adapter: "1", Target: "0", LUNID: "1"},
				"data-lun5": {Adapter: "3", Target: "0", LUNID: "5"},
			} {
				h.attachNamed(name)
				number, _ := h.Node.DiskNumber(name)
				if got := h.locations()[number]; got != want {
					h.Errorf("%s: %+v, want %+v", name, got, want)
				}
			}
		}},
		{IDs: []string{"DISK-6"}, Shows: "disks are listed by their numbers, which have holes", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.Node.DetachDisk("other"))
			if got := slices.Sorted(maps.Keys(h.locations())); !slices.Equal(got, []uint32{0, dataDisk, rawDisk, blankDisk}) {
				h.Errorf("got %v", got)
			}
		}},
		{IDs: []string{"DISK-14"}, Shows: "a rescan can be repeated", Needs: []Ability{Model}, Test: func(h *Host) {
			before := h.Node.Snapshot()
			for range 2 {
				_, err := h.Disk.Rescan(h.Context(), &disk.RescanRequest{})
				h.must(err)
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"DISK-26"}, Shows: "the size is the disk's, in bytes", Needs: []Ability{Disks}, Test: func(h *Host) {
			stats, err := h.Disk.GetDiskStats(h.Context(), &disk.GetDiskStatsRequest{DiskNumber: h.attachDisk()})
			h.must(err)
			if stats.TotalBytes != size {
				h.Errorf("got %d bytes", stats.TotalBytes)
			}
		}},
	}
}

// onBuses are disks at one address on different buses.
func onBuses(buses ...string) (disks []simhost.DiskSpec) {
	for _, bus := range buses {
		disks = append(disks, simhost.DiskSpec{
			Name: bus, Size: simhost.GiB, Bus: bus, Serial: bus, Address: &simhost.AddressSpec{Port: 3, Path: 1, Target: 4, LUN: 5},
		})
	}
	return disks
}

func diskIDCases() []Case {
	blanks := strings.Repeat(" ", 20)
	text := func(text string) []simhost.IdentifierSpec {
		return []simhost.IdentifierSpec{{CodeSet: "ascii", Type: "t10", Text: text}}
	}
	var cases []Case
	for _, is := range []struct {
		ids         []string
		shows       string
		serial      string
		identifiers []simhost.IdentifierSpec
		want        disk.DiskIDs
	}{
		{[]string{"DISK-17"}, "page 83 is the first binary or ASCII identifier of the device", "s", []simhost.IdentifierSpec{
			{CodeSet: "binary", Type: "port", Association: "port", Hex: "01"},
			{CodeSet: "binary", Type: "naa", Association: "target", Hex: "02"},
			{CodeSet: "binary", Type: "naa", Hex: "600224"},
			{CodeSet: "ascii", Type: "t10", Text: "second"},
		}, disk.DiskIDs{Page83: "600224", SerialNumber: "s"}},
		{[]string{"DISK-19"}, "the ids of a disk of Google", blanks, text("Google  persistent-disk-0"), disk.DiskIDs{Page83: "Google  persistent-disk-0", SerialNumber: blanks}},
		{[]string{"DISK-19"}, "the ids of a VHD", "", []simhost.IdentifierSpec{
			{CodeSet: "binary", Type: "vendor", Hex: "4D53465420202020328D59B360875845AC645473BE8267BF"},
		}, disk.DiskIDs{Page83: "4d53465420202020328d59b360875845ac645473be8267bf"}},
		{[]string{"DISK-19"}, "the ids of an NVMe disk", "10CC_9636_B6E3_CE3B_0000_0000_0000_0000.", nil, disk.DiskIDs{SerialNumber: "10CC_9636_B6E3_CE3B_0000_0000_0000_0000."}},
		{[]string{"DISK-20"}, "a page 83 of blanks is none", "s", text(blanks), disk.DiskIDs{SerialNumber: "s"}},
		{[]string{"DISK-22"}, "trailing NULs are cut, blanks are not", "s", text("Google  a \x00\x00"), disk.DiskIDs{Page83: "Google  a ", SerialNumber: "s"}},
		{[]string{"DISK-22"}, "an identifier in UTF-8 counts", "s", []simhost.IdentifierSpec{
			{CodeSet: "utf8", Type: "name", Text: "iqn.2004-04.ö"},
		}, disk.DiskIDs{Page83: "iqn.2004-04.ö", SerialNumber: "s"}},
		{[]string{"DISK-22"}, "what is no UTF-8 becomes so", "a\xffb", text("x\xe4y"), disk.DiskIDs{Page83: "x\uFFFDy", SerialNumber: "a\uFFFDb"}},
	} {
		cases = append(cases, Case{
			IDs: is.ids, Shows: is.shows, Needs: []Ability{Model},
			Spec: withDisks(simhost.DiskSpec{
				Name: "one", Size: simhost.GiB, Bus: "sas", Serial: is.serial, Identifiers: is.identifiers, Address: &simhost.AddressSpec{},
			}),
			Test: func(h *Host) {
				if got := h.diskIDs()[1]; got != is.want || !utf8.ValidString(got.Page83+got.SerialNumber) {
					h.Errorf("got %q, want %q", got, is.want)
				}
			},
		})
	}
	return append(cases,
		Case{IDs: []string{"DISK-20"}, Shows: "a serial number that is not NVMe's comes with a page 83", Needs: []Ability{Model}, Spec: shipped("vsphere-pvscsi"), Test: func(h *Host) {
			h.attachNamed(h.Node.Disks()...)
			for number, id := range h.diskIDs() {
				if id.SerialNumber != "" && id.Page83 == "" {
					h.Errorf("disk %d: %+v", number, id)
				}
			}
		}},
		Case{IDs: []string{"DISK-21", "D10"}, Shows: "one disk that cannot be asked spoils no list", Needs: []Ability{Model}, Test: func(h *Host) {
			whole, sick := h.diskIDs(), h.pathOf(otherDisk)
			for _, refuses := range []uint32{abi.IOCTL_STORAGE_QUERY_PROPERTY, abi.IOCTL_SCSI_GET_ADDRESS} {
				h.answers(win.ERROR_INVALID_FUNCTION, func(c simhost.Call) bool { return c.Subject == sick && c.Code == refuses })
				got := h.diskIDs()
				if len(got) != len(whole) {
					h.Errorf("%#x: %d disks of %d", refuses, len(got), len(whole))
				}
				if delete(got, otherDisk); !maps.Equal(got, without(whole, otherDisk)) {
					h.Errorf("%#x: %v", refuses, got)
				}
			}
		}},
		Case{IDs: []string{"DISK-23", "D09"}, Shows: "an identifier that lies about its length is not believed", Needs: []Ability{Model}, Spec: withDisks(simhost.DiskSpec{
			Name: "one", Size: simhost.GiB, Bus: "sas", Serial: "s", Address: &simhost.AddressSpec{}, Identifiers: text("id"),
		}), Test: func(h *Host) {
			h.Node.OnCall(func(c simhost.Call, do func() error) error {
				err := do()
				if page, ok := c.Answer().(*[]byte); ok && len(*page) > 28 && bytes.HasPrefix((*page)[28:], []byte("id")) {
					binary.LittleEndian.PutUint16((*page)[20:], 0xffff) // IdentifierSize of the first
				}
				return err
			})
			if got, want := h.diskIDs()[1], (disk.DiskIDs{SerialNumber: "s"}); got != want {
				h.Errorf("got %+v, want %+v", got, want)
			}
		}},
		Case{IDs: []string{"DISK-24", "D11", "D12"}, Shows: "no handle is left open, and none is closed that did not open", Needs: []Ability{Model}, Test: func(h *Host) {
			path := h.pathOf(otherDisk)
			h.answers(win.ERROR_SHARING_VIOLATION, func(c simhost.Call) bool { return c.Method == "Devices.Open" && c.Subject == path })
			for range 5 {
				h.diskIDs() // the harness counts handles in the end
			}
		}},
	)
}

func diskFindCases() []Case {
	return []Case{
		{IDs: []string{"DISK-16"}, Shows: "nothing to look for is an error, and no disk", Needs: []Ability{InProcess, Model}, Test: func(h *Host) {
			for _, matcher := range []disk.Matcher{{}, disk.MatchSerial("  "), disk.MatchPage83(""), disk.MatchEBS("-"), disk.MatchGooglePage83("")} {
				_, err := h.Disk.(*disk.Disk).FindDisk(h.Context(), matcher)
				h.wantKind(err, errdefs.InvalidArgument)
			}
		}},
		{IDs: []string{"D01"}, Shows: "where two disks match, none is taken and both are named", Needs: []Ability{InProcess, Model}, Spec: withDisks(
			twin("first", 1), twin("second", 2),
		), Test: func(h *Host) {
			_, err := h.Disk.(*disk.Disk).FindDisk(h.Context(), disk.MatchSerial("twin"))
			h.wantKind(err, errdefs.FailedPrecondition)
			for _, number := range []uint32{1, 2} {
				h.wantText(err, fmt.Sprintf("disk %d", number))
			}
		}},
		{IDs: []string{"D01"}, Shows: "what Windows needs is never changed as a disk", Needs: []Ability{InProcess, Model}, Spec: func(s *simhost.NodeSpec) {
			s.Disks[dataDisk].Clustered = true
		}, Test: func(h *Host) {
			before := h.Node.Snapshot()
			for _, number := range []uint32{0, dataDisk} { // Windows' own, a cluster's
				_, ensure := h.Disk.(*disk.Disk).EnsureOnlineWritable(h.Context(), &disk.EnsureOnlineWritableRequest{DiskNumber: number})
				_, readOnly := h.Disk.(*disk.Disk).SetReadOnly(h.Context(), &disk.SetReadOnlyRequest{DiskNumber: number, IsReadOnly: true})
				for _, err := range []error{h.partition(number), h.setOnline(number, true), h.setOnline(number, false), ensure, readOnly} {
					h.wantErrors(err, errdefs.ErrCriticalDisk)
				}
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"D02"}, Shows: "Azure's NVMe disks are told by what they are, in whatever order they come", Needs: []Ability{InProcess, Model}, Spec: shipped("azure-nvme"), Test: func(h *Host) {
			h.attachNamed("local", "data-lun5", "data", "data-lun1")
			for _, is := range []struct {
				name string
				lun  uint8
			}{{"data", 0}, {"data-lun1", 1}, {"data-lun5", 5}} {
				h.wantFound(disk.MatchAzureNVMe(is.lun), is.name)
			}
		}},
		{IDs: []string{"D05"}, Shows: "a disk that arrives while it is waited for is found", Needs: []Ability{InProcess, Model, Time}, Spec: shipped("aws-nitro"), AtOnce: true, Test: func(h *Host) {
			go func() {
				<-time.After(10 * time.Second)
				h.attachNamed("data")
			}()
			got, err := h.Disk.(*disk.Disk).WaitForDisk(h.Context(), disk.MatchEBS("vol-0123456789abcdef0"))
			want, _ := h.Node.DiskNumber("data")
			if err != nil || got.Number != want {
				h.Errorf("disk %d, %v, want %d", got.Number, err, want)
			}
		}},
		{IDs: []string{"D06"}, Shows: "EBS volumes are told by the serial number, with and without the dash", Needs: []Ability{InProcess, Model}, Spec: shipped("aws-nitro"), Test: func(h *Host) {
			h.attachNamed("data", "data2")
			h.wantFound(disk.MatchEBS("vol-0123456789abcdef1"), "data2")
			h.wantFound(disk.MatchEBS("vol0123456789abcdef1"), "data2")
		}},
		{IDs: []string{"D07"}, Shows: "the device name of a Hyperdisk is told without asking a cloud", Needs: []Ability{InProcess, Model}, Spec: shipped("gce-nvme"), Test: func(h *Host) {
			h.attachNamed("data")
			found, err := h.Disk.(*disk.Disk).FindDisk(h.Context(), disk.MatchNGUID("2fd04a91-c7b8-e635-0000-000000000000"))
			h.must(err)
			if says := string(found.NVMe.VendorArea); !strings.HasPrefix(says, `{"device_name":"pvc-6a0e4b1d-93c2-4f57-8d1e-0b7a5c2f9e84"`) {
				h.Errorf("vendor area %.80q", says)
			}
		}},
	}
}

// twin is one of two disks that say the same of themselves.
func twin(name string, lun uint8) simhost.DiskSpec {
	return simhost.DiskSpec{Name: name, Size: simhost.GiB, Bus: "sas", Serial: "twin", Address: &simhost.AddressSpec{Port: 1, LUN: lun}}
}

func diskStateCases() []Case {
	return []Case{
		{IDs: []string{"DISK-28"}, Shows: "a disk in the wanted state is not touched", Needs: []Ability{Model}, Test: func(h *Host) {
			for _, online := range []bool{true, false} {
				h.must(h.setOnline(dataDisk, online))
				h.answers(win.ERROR_ACCESS_DENIED, control(abi.IOCTL_DISK_SET_DISK_ATTRIBUTES))
				h.must(h.setOnline(dataDisk, online))
				h.Node.OnCall(nil)
			}
		}},
		{IDs: []string{"DISK-29"}, Shows: "a disk's state is what it was set to", Needs: []Ability{Disks}, Test: func(h *Host) {
			number := h.attachDisk()
			for _, online := range []bool{false, true, false} {
				h.must(h.setOnline(number, online))
				h.wantOnline(number, online)
			}
		}},
		{IDs: []string{"D13", "D14"}, Shows: "a disk that arrives offline and read-only is made usable in one call", Needs: []Ability{InProcess, Model}, Spec: offlineReadOnly, Test: func(h *Host) {
			for _, was := range []bool{true, false} {
				got, err := h.Disk.(*disk.Disk).EnsureOnlineWritable(h.Context(), &disk.EnsureOnlineWritableRequest{DiskNumber: blankDisk})
				h.must(err)
				if got.WasOffline != was || got.WasReadOnly != was {
					h.Errorf("got %+v, want %t", got, was)
				}
			}
			h.wantFacts("disk blank state: attached as 4, online")
		}},
		{IDs: []string{"D14"}, Shows: "going online clears read-only, which can be read and set", Needs: []Ability{InProcess, Model}, Spec: offlineReadOnly, Test: func(h *Host) {
			disks := h.Disk.(*disk.Disk)
			wantReadOnly := func(want bool) {
				h.Helper()
				got, err := disks.GetReadOnly(h.Context(), &disk.GetReadOnlyRequest{DiskNumber: blankDisk})
				if err != nil || got.IsReadOnly != want {
					h.Errorf("read-only %t, %v, want %t", got.IsReadOnly, err, want)
				}
			}
			wantReadOnly(true)
			h.must(h.setOnline(blankDisk, true))
			wantReadOnly(false)
			for range 2 {
				_, err := disks.SetReadOnly(h.Context(), &disk.SetReadOnlyRequest{DiskNumber: blankDisk, IsReadOnly: true})
				h.must(err)
				wantReadOnly(true)
			}
		}},
		{IDs: []string{"D15"}, Shows: "a disk that Windows calls read-only (41002) is told as such", Needs: []Ability{Model}, Test: func(h *Host) {
			h.Node.ReturnNext("MSFT_Disk.Initialize", 41002, false)
			err := h.partition(blankDisk)
			h.wantKind(err, errdefs.FailedPrecondition)
			h.wantErrors(err, win.ReturnDiskReadOnly)
		}},
		{IDs: []string{"D17"}, Shows: "an offline disk has no volumes to tell, and no empty id either", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.setOnline(dataDisk, false))
			volumes, err := h.volumesOf(dataDisk, 0)
			h.wantErrors(err, errdefs.ErrDiskOffline)
			if len(volumes) > 0 {
				h.Errorf("volumes %q", volumes)
			}
		}},
		{IDs: []string{"D18"}, Shows: "a disk is let go of after several pods have used it", Needs: []Ability{Disks, Mounts, Links}, Test: func(h *Host) {
			number, staging, driver := h.attachDisk(), h.at("staging"), Driver{h.Groups}
			_, err := driver.Stage(h.Context(), number, true, staging)
			h.must(err)
			h.must(h.World.WriteFile(staging+`\mark`, 4096))
			h.directories("pods")
			for _, pod := range []string{"one", "two"} {
				h.must(driver.Publish(h.Context(), staging, h.at(`pods\`+pod)))
			}
			h.must(driver.Unpublish(h.Context(), h.at(`pods\one`)))
			h.must(driver.Unpublish(h.Context(), h.at("pods"))) // kubelet's, with the other still in it
			for range 2 {
				h.must(driver.Unstage(h.Context(), staging))
			}
			h.must(h.World.DetachDisk(number))
		}},
		{IDs: []string{"D19"}, Shows: "nothing is done once the caller of a stage has left", Needs: []Ability{Model}, Test: func(h *Host) {
			ctx, leave := context.WithCancel(h.Context())
			leave()
			before := h.Node.Snapshot()
			_, err := Driver{h.Groups}.Stage(ctx, blankDisk, true, h.at("staging"))
			h.wantKind(err, errdefs.Canceled)
			h.wantUnchanged(before)
		}},
	}
}

func offlineReadOnly(s *simhost.NodeSpec) {
	s.Disks[blankDisk].Offline, s.Disks[blankDisk].ReadOnly = true, true
}

func partitionCases() []Case {
	return []Case{
		{IDs: []string{"DISK-8", "DISK-30"}, Shows: "a RAW disk becomes GPT with one data partition, once", Needs: []Ability{Model}, Test: func(h *Host) {
			for range 2 {
				h.must(h.partition(blankDisk))
				h.wantTable("GPT", "reserved", "basic data")
			}
			if volumes, err := h.volumesOf(blankDisk, 0); err != nil || len(volumes) != 1 {
				h.Errorf("volumes %q, %v", volumes, err)
			}
		}},
		{IDs: []string{"DISK-8"}, Shows: "an empty MBR disk stays MBR", Needs: []Ability{Model}, Spec: func(s *simhost.NodeSpec) { s.Disks[blankDisk].Style = "mbr" }, Test: func(h *Host) {
			h.must(h.partition(blankDisk))
			h.wantTable("MBR", "type 0x07")
		}},
		{IDs: []string{"DISK-8"}, Shows: "a disk with a partition is left as it is, by whatever table", Needs: []Ability{Model}, Spec: withDisks(
			partitioned("gpt", "", "NTFS"), partitioned("mbr", "0x07", "NTFS"), partitioned("superfloppy", "", "NTFS"),
		), Test: func(h *Host) {
			before := h.Node.Snapshot()
			for number := range uint32(3) {
				h.must(h.partition(number + 1))
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"DISK-9", "D22"}, Shows: "a disk of which Windows mounts nothing is an error, and gets nothing", Needs: []Ability{Model}, Spec: withDisks(
			partitioned("gpt", "efi", ""), partitioned("gpt", "recovery", ""), partitioned("mbr", "0x83", ""),
		), Test: func(h *Host) {
			before := h.Node.Snapshot()
			for number := range uint32(3) {
				h.wantKind(h.partition(number+1), errdefs.FailedPrecondition)
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"DISK-10"}, Shows: "an offline disk with a partition is no change", Needs: []Ability{Model}, Test: func(h *Host) {
			h.must(h.setOnline(dataDisk, false))
			before := h.Node.Snapshot()
			h.must(h.partition(dataDisk))
			h.wantUnchanged(before)
		}},
		{IDs: []string{"DISK-11", "D25"}, Shows: "42002 is no error where the partition is there", Needs: []Ability{Model}, Test: func(h *Host) {
			h.Node.ReturnNext("MSFT_Disk.CreatePartition", 42002, true)
			h.must(h.partition(blankDisk))
			h.wantTable("GPT", "reserved", "basic data")
		}},
		{IDs: []string{"DISK-12"}, Shows: "42002 without a partition is an error that says something", Needs: []Ability{Model}, Test: func(h *Host) {
			h.Node.ReturnNext("MSFT_Disk.CreatePartition", 42002, false)
			err := h.partition(blankDisk)
			if err == nil || strings.Contains(err.Error(), "%!") {
				h.Errorf("got %v", err)
			}
			h.must(h.partition(blankDisk))
			h.wantTable("GPT", "reserved", "basic data")
		}},
		{IDs: []string{"D25"}, Shows: "callers at once make one partition", Needs: []Ability{Model}, AtOnce: true, Test: func(h *Host) {
			errs := make([]error, 16)
			var callers sync.WaitGroup
			for i := range errs {
				callers.Go(func() { errs[i] = h.partition(blankDisk) })
			}
			callers.Wait()
			h.must(errors.Join(errs...))
			h.wantTable("GPT", "reserved", "basic data")
		}},
	}
}

// partitioned is a disk with one partition, which a file system fills.
func partitioned(style, kind, fileSystem string) simhost.DiskSpec {
	partition := simhost.PartitionSpec{Type: kind, Size: 100 * simhost.MiB}
	if style == "superfloppy" {
		partition.Size = 0
	}
	if fileSystem != "" {
		partition.Volume = &simhost.VolumeSpec{FileSystem: fileSystem}
	}
	name := style + kind
	return simhost.DiskSpec{
		Name: name, Size: simhost.GiB, Bus: "sas", Serial: name, Style: style, Partitions: []simhost.PartitionSpec{partition},
		Address: &simhost.AddressSpec{Port: 1},
	}
}

// contentCases are D21: one for each content that is not Windows' to lose.
func contentCases() []Case {
	var cases []Case
	for _, media := range simhost.AllMedia() {
		cases = append(cases, Case{
			IDs: []string{"D21"}, Shows: "a disk that holds " + string(media) + " is not initialised", Needs: []Ability{Model},
			Spec: func(s *simhost.NodeSpec) { s.Disks[blankDisk].Media = []simhost.Media{media} },
			Test: func(h *Host) {
				before := h.Node.Snapshot()
				err := h.partition(blankDisk)
				h.wantKind(err, errdefs.FailedPrecondition)
				if !errors.Is(err, errdefs.ErrForeignContent) && !errors.Is(err, errdefs.ErrDamaged) {
					h.Error(err)
				}
				h.wantUnchanged(before)
			},
		})
	}
	return append(cases, Case{
		IDs: []string{"D21"}, Shows: "a disk that cannot be read is not initialised", Needs: []Ability{Model},
		Spec: func(s *simhost.NodeSpec) {
			s.Disks[blankDisk].Unreadable = []simhost.RangeSpec{{Length: 4096}}
		},
		Test: func(h *Host) {
			before := h.Node.Snapshot()
			h.wantErrors(h.partition(blankDisk), errdefs.ErrUnknownContent)
			h.wantUnchanged(before)
		},
	})
}

// withDisks makes a node of Windows' disk and these, from disk 1 on.
func withDisks(disks ...simhost.DiskSpec) func(*simhost.NodeSpec) {
	return func(s *simhost.NodeSpec) { s.Disks = append(s.Disks[:1], disks...) }
}

func (h *Host) setOnline(number uint32, online bool) error {
	_, err := h.Disk.SetDiskState(h.Context(), &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
	return err
}

func (h *Host) partition(number uint32) error {
	_, err := h.Disk.PartitionDisk(h.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
	return err
}

func (h *Host) locations() map[uint32]disk.DiskLocation {
	h.Helper()
	resp, err := h.Disk.ListDiskLocations(h.Context(), &disk.ListDiskLocationsRequest{})
	h.must(err)
	return values(resp.DiskLocations)
}

func (h *Host) diskIDs() map[uint32]disk.DiskIDs {
	h.Helper()
	resp, err := h.Disk.ListDiskIDs(h.Context(), &disk.ListDiskIDsRequest{})
	h.must(err)
	return values(resp.DiskIDs)
}

func values[T any](of map[uint32]*T) map[uint32]T {
	all := map[uint32]T{}
	for number, value := range of {
		all[number] = *value
	}
	return all
}

func without[T any](all map[uint32]T, number uint32) map[uint32]T {
	rest := maps.Clone(all)
	delete(rest, number)
	return rest
}

// wantLocations wants the locations of the disks but one.
func (h *Host) wantLocations(want map[uint32]disk.DiskLocation, but uint32) {
	h.Helper()
	if got := without(h.locations(), but); !maps.Equal(got, want) {
		h.Errorf("got %+v, want %+v", got, want)
	}
}

// attachNamed attaches described disks that are not.
func (h *Host) attachNamed(names ...string) {
	h.Helper()
	for _, name := range names {
		if _, attached := h.Node.DiskNumber(name); attached {
			continue
		}
		if _, err := h.Node.AttachDisk(name); err != nil {
			h.Error(err)
		}
	}
}

// wantFound wants a disk to be the one that a rule finds.
func (h *Host) wantFound(matcher disk.Matcher, name string) {
	h.Helper()
	found, err := h.Disk.(*disk.Disk).FindDisk(h.Context(), matcher)
	if want, _ := h.Node.DiskNumber(name); err != nil || found.Number != want {
		h.Errorf("%s is disk %d, %v, want %d", matcher, found.Number, err, want)
	}
}

// pathOf is the interface path of a disk.
func (h *Host) pathOf(number uint32) string {
	h.Helper()
	disks, err := h.Disk.(*disk.Disk).ListDisks(h.Context())
	h.must(err)
	for _, d := range disks {
		if d.Number == number {
			return d.Path
		}
	}
	h.Fatalf("no disk %d", number)
	return ""
}

// wantOnline wants a disk to be online, or offline.
func (h *Host) wantOnline(number uint32, want bool) {
	h.Helper()
	state, err := h.Disk.GetDiskState(h.Context(), &disk.GetDiskStateRequest{DiskNumber: number})
	if err != nil || state.IsOnline != want {
		h.Errorf("disk %d is online: %t, %v; want %t", number, state.IsOnline, err, want)
	}
}

// wantFacts wants lines of the node's snapshot.
func (h *Host) wantFacts(lines ...string) {
	h.Helper()
	for _, line := range lines {
		if !strings.Contains(string(h.Node.Snapshot()), line+"\n") {
			h.Errorf("not so: %s\n%s", line, h.Node.Snapshot())
		}
	}
}

// wantTable wants the blank disk to have that partition table: its style, then
// the types of its partitions.
func (h *Host) wantTable(want ...string) {
	h.Helper()
	var got []string
	for line := range strings.Lines(string(h.Node.Snapshot())) {
		about, fact, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if about == "disk blank table" || strings.HasPrefix(about, "disk blank partition ") {
			word, _, _ := strings.Cut(fact, ",")
			got = append(got, word)
		}
	}
	if !slices.Equal(got, want) {
		h.Errorf("the blank disk has %q, want %q", got, want)
	}
}

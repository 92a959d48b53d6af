// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// upstreamLocation is what upstream makes of MSFT_Disk.Location, nil where it
// leaves the disk out (behaviour.md DISK-4, DISK-5).
func upstreamLocation(location string) *disk.DiskLocation {
	parts := strings.Split(location, ":")
	if len(parts) < 5 {
		return nil
	}
	var place disk.DiskLocation
	found := false
	for _, part := range parts {
		words := strings.Fields(part)
		if len(words) != 2 {
			continue
		}
		found = true
		switch words[0] {
		case "Adapter":
			place.Adapter = words[1]
		case "Bus":
			place.Bus = words[1]
		case "Target":
			place.Target = words[1]
		case "LUN":
			place.LUNID = words[1]
		}
	}
	if !found {
		return nil
	}
	return &place
}

func TestUpstreamLocation(t *testing.T) {
	for location, want := range map[string]*disk.DiskLocation{
		"PCI Slot 3 : Adapter 0 : Port 0 : Target 1 : LUN 0":                                         {Adapter: "0", Target: "1", LUNID: "0"},
		"Integrated : Bus 0 : Device 63667 : Function 30747 : Adapter 1 : Port 0 : Target 0 : LUN 1": {Adapter: "1", Bus: "0", Target: "0", LUNID: "1"},
		"Integrated : Bus 12606208 : Device 0 : Function 0 : Adapter 0":                              {Adapter: "0", Bus: "12606208"},
		"PCI Slot 0 : Adapter 0 : Channel 0 : Device 0":                                              nil,
		`C:\ProgramData\containerd\sandbox.vhdx`:                                                     nil,
		"PCIROOT(0)#PCI(0100)#ATA(C01T03L00)":                                                        nil,
		"":                                                                                           nil,
	} {
		if diff := cmp.Diff(want, upstreamLocation(location)); diff != "" {
			t.Errorf("%s: %s", location, diff)
		}
	}
}

// added are the disks that upstream leaves out of its list, and what is told of
// them here (architecture.md, DISK-4): they have no location, a file's path, or
// one in another form.
var added = map[string]disk.DiskLocation{
	"hyperv-vhd/os":      {Adapter: "0", Target: "0", LUNID: "0"},
	"hyperv-vhd/data":    {Adapter: "2"}, // a file has no LUN
	"hyperv-vhd/vhd2":    {Adapter: "2"},
	"hyperv-vhd/scsi-4k": {Adapter: "1", Target: "0", LUNID: "4"},

	"metal-sata/ide":   {Adapter: "1"},
	"metal-sata/data2": {Adapter: "0"},

	"san-fibre/boot": {Adapter: "2", Target: "0", LUNID: "0"},
	"san-fibre/data": {Adapter: "5", Target: "0", LUNID: "3"},
	"san-fibre/sas":  {Adapter: "3", Target: "3", LUNID: "0"},
	"san-fibre/scsi": {Adapter: "6", Target: "1", LUNID: "1"},

	"san-iscsi/data":           {Adapter: "4", Target: "0", LUNID: "0"},
	"san-iscsi/data2":          {Adapter: "4", Target: "0", LUNID: "1"},
	"san-iscsi/windows-target": {Adapter: "4", Target: "1", LUNID: "0"},

	"storage-spaces/data":  {}, // no address at all
	"storage-spaces/data2": {},
}

// changed are the disks of which something else is told than upstream does.
var changed = map[string]disk.DiskLocation{
	"metal-sata/usb": {}, // it answers no SCSI address, so that the port is not known
}

// ListDiskLocations tells of every disk of every shipped node what upstream
// would, but for the PCI bus, which is never told, and for the decided
// differences above.
func TestListDiskLocations_AsUpstream(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range simhost.Names() {
		spec := shipped(t, name)
		node := allAttached(t, name)
		resp, err := group(node).ListDiskLocations(t.Context(), &disk.ListDiskLocationsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		disks := append(spec.Disks, spec.Attachable...)
		if len(resp.DiskLocations) != len(disks) {
			t.Errorf("%s: %d disks of %d", name, len(resp.DiskLocations), len(disks))
		}
		for _, d := range disks {
			subject := name + "/" + d.Name
			number, _ := node.DiskNumber(d.Name)
			want := upstreamLocation(d.Location)
			if here, ok := added[subject]; ok && want == nil {
				want, seen[subject] = &here, true
			}
			if here, ok := changed[subject]; ok {
				want, seen[subject] = &here, true
			}
			if want == nil {
				t.Errorf("%s: upstream leaves out the disk at %q; here is %+v", subject, d.Location, *resp.DiskLocations[number])
				continue
			}
			want.Bus = ""
			if diff := cmp.Diff(want, resp.DiskLocations[number]); diff != "" {
				t.Errorf("%s at %q: %s", subject, d.Location, diff)
			}
		}
	}
	if len(seen) != len(added)+len(changed) {
		t.Errorf("%d differences of %d were met", len(seen), len(added)+len(changed))
	}
}

// D04: no disk is left out because of the form of its location, and ListDisks
// has the address of all that have one, in numbers.
func TestListDiskLocations_D04_NoneLeftOut(t *testing.T) {
	for _, name := range simhost.Names() {
		node := allAttached(t, name)
		resp, err := group(node).ListDiskLocations(t.Context(), &disk.ListDiskLocationsRequest{})
		if err != nil || len(resp.DiskLocations) != len(node.Disks()) {
			t.Errorf("%s: %d disks of %d, %v", name, len(resp.DiskLocations), len(node.Disks()), err)
		}
		disks, err := group(node).ListDisks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		described := map[uint32]*simhost.AddressSpec{}
		for _, d := range append(shipped(t, name).Disks, shipped(t, name).Attachable...) {
			number, _ := node.DiskNumber(d.Name)
			described[number] = d.Address
		}
		for _, d := range disks {
			want := described[d.Number]
			if d.Err != nil || (d.Address == nil) != (want == nil) {
				t.Errorf("%s disk %d: address %v, %v", name, d.Number, d.Address, d.Err)
			}
			if want != nil && *d.Address != (disk.Address{Port: want.Port, Path: want.Path, Target: want.Target, LUN: want.LUN}) {
				t.Errorf("%s disk %d: address %+v, want %+v", name, d.Number, *d.Address, *want)
			}
		}
	}
}

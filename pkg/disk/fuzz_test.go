// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// FuzzMatchAzureNVMe: whatever a device path and the vendor's area say, a disk
// is at most one LUN; that of its address, or the one that the area names.
func FuzzMatchAzureNVMe(f *testing.F) {
	f.Add(`\\?\scsi#disk&ven_nvme#6&ca10229&0&000001#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}`, []byte{}, true, byte(1))
	f.Add(`\\?\scsi#disk#6&1&0&0000ff#{x}`, []byte("type=data,lun=7\x00"), false, byte(0))
	f.Add(`##`, []byte("type=os"), true, byte(0))
	f.Add(`nothing`, []byte{}, true, byte(3))
	f.Add(`#&+00001#`, []byte("type=data,lun=-1"), false, byte(255))
	f.Fuzz(func(t *testing.T, path string, area []byte, addressed bool, lun byte) {
		d := Description{Path: path, BusType: abi.BusTypeNVMe, Product: "MSFT NVMe Accelerator v1.0"}
		d.NVMe = &abi.IdentifyNamespace{VendorArea: area}
		if addressed {
			d.Address = &Address{LUN: lun}
		}
		var matches []int
		for n := range 256 {
			if MatchAzureNVMe(uint8(n)).matches(d) {
				matches = append(matches, n)
			}
		}
		switch named := bytes.HasPrefix(area, []byte("type=")); {
		case len(matches) == 0:
		case len(matches) > 1:
			t.Errorf("it is the LUNs %v", matches)
		case named && !bytes.HasPrefix(area, []byte("type=data,lun=")):
			t.Errorf("%q is LUN %d", area, matches[0])
		case !named && addressed && matches[0] != int(lun)-1:
			t.Errorf("address %d is LUN %d", lun, matches[0])
		}
	})
}

// FuzzMatchXenDevice: a name is one target or refused, with /dev/ before it or
// not; and two names of one target differ only in how EC2 spells the device.
func FuzzMatchXenDevice(f *testing.F) {
	f.Add("xvdb", "/dev/sdb")
	f.Add("sda1", "xvda")
	f.Add("xvdba", "xvdcz")
	f.Add("xvdaa", "sdba")
	f.Add(" /dev//dev/xvdz", "xvd\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		name := strings.TrimSpace(a)
		if bare, full := xenTargets(name), xenTargets("/dev/"+name); name == strings.TrimPrefix(name, "/dev/") && !bytes.Equal(bare, full) {
			t.Errorf("%q is the targets %d, with /dev/ %d", name, bare, full)
		}
		ofA, ofB := xenTargets(a), xenTargets(b)
		if len(ofA) > 1 || len(ofA) == 0 != MatchXenDevice(a).empty() {
			t.Errorf("%q is the targets %d", a, ofA)
		}
		if len(ofA) == 1 && bytes.Equal(ofA, ofB) && letters(a) != letters(b) {
			t.Errorf("%q and %q are both target %d", a, b, ofA)
		}
	})
}

// xenTargets are the targets that a device's name matches.
func xenTargets(device string) []byte {
	var list []byte
	m := MatchXenDevice(device)
	for target := range 256 {
		d := Description{Vendor: "AWS", Product: "PVDISK", Address: &Address{Target: byte(target)}}
		if !m.empty() && m.matches(d) {
			list = append(list, byte(target))
		}
	}
	return list
}

// letters are what is left of a device's name without what it begins with.
func letters(device string) string {
	name := strings.TrimPrefix(strings.TrimSpace(device), "/dev/")
	return strings.TrimPrefix(strings.TrimPrefix(name, "xvd"), "sd")
}

// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// The rules of platforms whose key to a disk is no identifier of the disk
// itself, or only a part of one.

// MatchLUN matches an Azure data disk on SCSI by its logical unit number. The
// number alone names no disk: only virtual disks of Hyper-V count, and adapter
// 0, which carries the machine's own disks, does not (field-reports.md D01).
func MatchLUN(lun uint8) Matcher {
	return matching("LUN", fmt.Sprint(lun), func(d Description) bool {
		virtual := strings.TrimSpace(d.Vendor) == "Msft" && strings.TrimSpace(d.Product) == "Virtual Disk"
		return virtual && hasLUNs(d.BusType) && d.Address != nil && d.Address.Port != 0 && d.Address.LUN == lun
	})
}

// MatchAzureNVMe matches an Azure data disk on NVMe by its logical unit number.
// All remote disks are namespaces of one controller: the OS disk is 1, LUN n is
// n + 2, which Windows shows less one as the SCSI LUN, in the address and at the
// end of the device path (windows-api.md 2.4, 2.5). Where the namespace says
// itself which LUN it is, that holds. A disk whose address and path disagree
// matches nothing (field-reports.md D02).
func MatchAzureNVMe(lun uint8) Matcher {
	return matching("Azure NVMe LUN", fmt.Sprint(lun), func(d Description) bool {
		got, ok := azureLUN(d)
		return ok && got == int(lun)
	})
}

func azureLUN(d Description) (lun int, ok bool) {
	const firstData = 1 // the OS disk is SCSI LUN 0
	if d.BusType != abi.BusTypeNVMe || !strings.HasPrefix(d.Product, "MSFT NVMe Accele") {
		return 0, false
	}
	if says := vendorArea(d); bytes.HasPrefix(says, []byte("type=")) {
		text, isData := strings.CutPrefix(string(says), "type=data,lun=")
		lun, err := strconv.Atoi(text)
		return lun, isData && err == nil
	}
	unit, ok := pathUnit(d.Path)
	if d.Address != nil {
		if ok && unit != d.Address.LUN {
			return 0, false
		}
		unit, ok = d.Address.LUN, true
	}
	return int(unit) - firstData, ok
}

// pathUnit is the SCSI LUN at the end of a device instance: bus, target and LUN
// in two hexadecimal digits each, as in 6&ca10229&0&000001.
func pathUnit(path string) (unit byte, ok bool) {
	parts := strings.Split(path, "#")
	if len(parts) < 2 {
		return 0, false
	}
	instance := parts[len(parts)-2]
	digits := instance[strings.LastIndexByte(instance, '&')+1:]
	if len(digits) != 6 {
		return 0, false
	}
	address, err := strconv.ParseUint(digits, 16, 24)
	return byte(address), err == nil
}

// MatchGoogleNVMe matches a Google persistent disk or Hyperdisk on NVMe by its
// device name. It stands in the vendor's part of Identify Namespace, as JSON;
// page 83 does not have it (windows-api.md 2.5, field-reports.md D07).
func MatchGoogleNVMe(deviceName string) Matcher {
	want := strings.TrimSpace(deviceName)
	return matching("Google device name", want, func(d Description) bool {
		var says struct {
			DeviceName string `json:"device_name"`
		}
		google := strings.HasPrefix(d.Product, "nvme_card")
		return google && json.Unmarshal(vendorArea(d), &says) == nil && says.DeviceName == want
	})
}

// vendorArea is the vendor's part of Identify Namespace as far as it is used.
func vendorArea(d Description) []byte {
	if d.NVMe == nil {
		return nil
	}
	return bytes.TrimRight(d.NVMe.VendorArea, "\x00")
}

// MatchXenDevice matches an Amazon EC2 volume before Nitro by the name of its
// block device, with or without /dev/: sda1, xvdb to xvdz, xvdba to xvdcz. The
// driver makes of it the SCSI target, as columns of a sheet are counted: sda1 is
// 0, xvdb 1, xvdz 25, xvdba 52, xvdca 78 (the tables and the script of Amazon's
// guide, "Map non-NVMe disks on Amazon EC2 Windows instance to volumes"). EC2
// has no others: any other name is refused as no value to look for.
func MatchXenDevice(device string) Matcher {
	want := device
	target, ok := xenTarget(device)
	if !ok {
		want = ""
	}
	return matching("EC2 device", want, func(d Description) bool {
		xen := strings.TrimSpace(d.Vendor) == "AWS" && strings.TrimSpace(d.Product) == "PVDISK"
		return xen && d.Address != nil && d.Address.Target == target
	})
}

func xenTarget(device string) (target byte, ok bool) {
	const letters = 'z' - 'a' + 1
	name := strings.TrimPrefix(strings.TrimSpace(device), "/dev/")
	xvd, isXvd := strings.CutPrefix(name, "xvd")
	sd, isSd := strings.CutPrefix(name, "sd")
	switch {
	case name == "sda1":
		return 0, true
	case isXvd && len(xvd) == 1 && isLetter(xvd[0], 'b', 'z'):
		return xvd[0] - 'a', true
	case isXvd && len(xvd) == 2 && isLetter(xvd[0], 'b', 'c') && isLetter(xvd[1], 'a', 'z'):
		return letters*(xvd[0]-'a'+1) + xvd[1] - 'a', true
	case isSd && len(sd) == 1 && isLetter(sd[0], 'b', 'z'):
		return sd[0] - 'a', true
	}
	return 0, false
}

func isLetter(c, first, last byte) bool { return first <= c && c <= last }

// MatchVirtIO matches a virtio block device by the id of its volume. Its serial
// number has room for the first 20 characters of an id.
func MatchVirtIO(id string) Matcher {
	const room = 20
	want := strings.TrimSpace(id)
	want = want[:min(len(want), room)]
	return matching("virtio serial number", want, func(d Description) bool {
		return strings.TrimSpace(d.Product) == "VirtIO" && d.Serial() == want
	})
}

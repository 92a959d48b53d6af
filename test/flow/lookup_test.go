// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// FLOW-7: the right disk, and no other, by what each driver compares. EBS makes
// its clients anew for every look, here hundreds of times: they cost nothing.
func TestFlow7_Lookup(t *testing.T) {
	byIDs := func(matches func(id *disk.DiskIDs) bool) func(*site) []uint32 {
		return func(s *site) (found []uint32) {
			resp, err := s.Disk.ListDiskIDs(s.Context(), &disk.ListDiskIDsRequest{})
			s.must(err)
			for number, id := range resp.DiskIDs {
				if matches(id) {
					found = append(found, number)
				}
			}
			return found
		}
	}
	byLUN := func(lun string) func(*site) []uint32 {
		return func(s *site) (found []uint32) {
			_, err := s.Disk.Rescan(s.Context(), &disk.RescanRequest{})
			s.must(err)
			resp, err := s.Disk.ListDiskLocations(s.Context(), &disk.ListDiskLocationsRequest{})
			s.must(err)
			for number, place := range resp.DiskLocations {
				if strings.EqualFold(place.LUNID, lun) {
					found = append(found, number)
				}
			}
			return found
		}
	}
	ebs := func(volume string) func(*site) []uint32 {
		return byIDs(func(id *disk.DiskIDs) bool {
			return strings.Contains(id.SerialNumber, strings.ReplaceAll(volume, "-", ""))
		})
	}
	google := func(device string) func(*site) []uint32 {
		return byIDs(func(id *disk.DiskIDs) bool {
			words := strings.Fields(id.Page83)
			return len(words) > 0 && words[len(words)-1] == device
		})
	}
	page83 := func(want string) func(*site) []uint32 {
		return byIDs(func(id *disk.DiskIDs) bool { return id.Page83 == want })
	}
	serial := func(want string) func(*site) []uint32 {
		return byIDs(func(id *disk.DiskIDs) bool { return id.SerialNumber == want })
	}
	for _, tt := range []struct {
		name, node, disk string
		lookUp           func(*site) []uint32
	}{
		{"Azure", "azure-scsi", "data-lun5", byLUN("5")},
		{"GCP", "gce-scsi", "data", google("pvc-3f1c9a52-7b64-4d0e-8a37-5c2e9d10b6f4")},
		{"GCP NVMe by EUI", "gce-nvme", "data", page83("eui.2FD04A91C7B8E6350000000000000000")},
		{"GCP NVMe by serial number", "gce-nvme-2019", "data", serial("2FD0_4A91_C7B8_E635_0000_0000_0000_0000.")},
		{"vSphere", "vsphere-pvscsi", "data", page83("6000c2957a5d0e1b2c3d4e5f60718293")},
		{"EBS", "aws-nitro", "data2", ebs("vol-0123456789abcdef1")},
	} {
		run(t, tt.name, tt.node, simhost.Switches{}, func(s *site) {
			for _, d := range s.spec.Attachable {
				if d.Name != tt.disk {
					_, err := s.node.AttachDisk(d.Name)
					s.must(err)
				}
			}
			if found := tt.lookUp(s); len(found) != 0 {
				s.Fatalf("found %v before it was attached", found)
			}
			want, err := s.node.AttachDisk(tt.disk)
			s.must(err)
			for range 300 {
				s.restart()
				if found := tt.lookUp(s); len(found) != 1 || found[0] != want {
					s.Fatalf("found %v, want %d", found, want)
				}
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func flowCases() []Case {
	return slices.Concat(stageCases(), publishCases(), lookupCases(), networkFlowCases())
}

// size is that of the disks that the flows attach.
const size = int64(2 * simhost.GiB)

func stageCases() []Case {
	disks := []Ability{Disks, Mounts}
	return []Case{
		{IDs: []string{"FLOW-1"}, Shows: "a call without a deadline ends by itself", Needs: []Ability{Model, Time}, Test: func(h *Host) {
			release := make(chan struct{})
			defer close(release)
			h.Node.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == "Mounts.FreeSpace" {
					<-release
				}
				return do()
			})
			begin := time.Now()
			_, err := h.Volume.GetVolumeStats(context.Background(), &volume.GetVolumeStatsRequest{VolumeID: dataID})
			h.wantKind(err, errdefs.DeadlineExceeded)
			if took := time.Since(begin); took != 30*time.Second {
				h.Errorf("after %v", took)
			}
		}},
		{IDs: []string{"FLOW-2", "FLOW-3", "DISK-10"}, Shows: "a disk is staged, unstaged and staged again with its data, each step twice", Needs: disks, Test: func(h *Host) {
			number, staging, driver := h.attachDisk(), h.Folder+`\staging`, Driver{h.Groups}
			var first string
			for round := range 2 {
				for range 2 {
					id, err := driver.Stage(h.Context(), number, true, staging)
					h.must(err)
					if first == "" {
						first = id
						h.must(h.World.WriteFile(staging+`\mark`, 4096))
					}
					if id != first || !h.exists(staging+`\mark`) {
						h.Errorf("round %d: volume %s, was %s; its data is there: %t", round, id, first, h.exists(staging+`\mark`))
					}
				}
				for range 2 {
					h.must(driver.Unstage(h.Context(), staging))
				}
				if h.exists(staging) {
					h.Error("the folder is still there")
				}
				h.wantOnline(number, false)
			}
		}},
		{IDs: []string{"FLOW-2"}, Shows: "Azure's driver never brings the disk online", Needs: disks, Test: func(h *Host) {
			id, err := Driver{h.Groups}.Stage(h.Context(), h.attachDisk(), false, h.Folder+`\staging`)
			h.must(err)
			h.wantMounted(h.Folder+`\staging`, id)
		}},
		{IDs: []string{"FLOW-2"}, Shows: "EBS' driver reads from the words that nothing is mounted", Needs: []Ability{Mounts}, Test: func(h *Host) {
			notMounted := regexp.MustCompile(`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)
			for range 2 { // the folder is missing, then plain
				_, err := h.Volume.GetVolumeIDFromTargetPath(h.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: h.Folder + `\staging`})
				if err == nil || !notMounted.MatchString(err.Error()) {
					h.Errorf("it takes it for a failure: %v", err)
				}
				h.must(h.mkdir(h.Folder + `\staging`))
			}
		}},
		{IDs: []string{"FLOW-8"}, Shows: "a local volume is wiped while it is mounted", Needs: disks, Test: func(h *Host) {
			discovery, driver := h.Folder+`\disks\vol1`, Driver{h.Groups}
			id, err := driver.Stage(h.Context(), h.attachDisk(), true, discovery)
			h.must(err)
			if is, err := driver.IsMount(h.Context(), discovery); err != nil || !is {
				h.Fatalf("not discovered: %t, %v", is, err)
			}
			h.must(h.World.WriteFile(discovery+`\mark`, 4096))
			_, err = h.Volume.FormatVolume(h.Context(), &volume.FormatVolumeRequest{VolumeID: id})
			h.must(err)
			if h.exists(discovery + `\mark`) {
				h.Error("the data is still there")
			}
			h.wantMounted(discovery, id)
		}},
		{IDs: []string{"FLOW-9", "FLOW-10"}, Shows: "a volume grows to all of the disk, by every spelling of its path", Needs: disks, Test: func(h *Host) {
			number, driver := h.attachDisk(), Driver{h.Groups}
			staging := h.Folder + `\staging`
			_, err := driver.Stage(h.Context(), number, true, staging)
			h.must(err)
			before, err := driver.Expand(h.Context(), staging)
			h.must(err)
			h.must(h.World.GrowDisk(number, 2*size))
			for _, spelling := range []string{staging, strings.ToLower(staging[:1]) + staging[1:], staging[2:], strings.ReplaceAll(staging, `\`, `/`)} {
				after, err := driver.Expand(h.Context(), spelling)
				h.must(err)
				if short := 2*size - after; after <= before || short < 0 || short > int64(40*simhost.MiB) {
					h.Errorf("%s: %d bytes, were %d", spelling, after, before)
				}
			}
		}},
	}
}

func publishCases() []Case {
	return []Case{
		{IDs: []string{"FLOW-4", "FLOW-5"}, Shows: "the pod's path is a link to the mount folder, and goes without the data", Needs: []Ability{Disks, Mounts, Links}, Test: func(h *Host) {
			staging, target, driver := h.Folder+`\staging`, h.Folder+`\pod\mount`, Driver{h.Groups}
			id, err := driver.Stage(h.Context(), h.attachDisk(), true, staging)
			h.must(err)
			h.must(h.World.WriteFile(staging+`\mark`, 4096))
			h.must(h.mkdir(target)) // by kubelet
			wantMount := func(path string, want bool) {
				h.Helper()
				if is, err := driver.IsMount(h.Context(), path); err != nil || is != want {
					h.Errorf("%s: mount %t, %v", path, is, err)
				}
			}
			wantMount(staging, true)
			wantMount(target, false)
			for range 2 {
				h.must(driver.Publish(h.Context(), staging, target))
				wantMount(target, true)
			}
			h.wantMounted(target, id)
			if !h.exists(target + `\mark`) {
				h.Error("the link does not lead to the data")
			}
			for range 2 {
				h.must(driver.Unpublish(h.Context(), target))
			}
			if _, err := driver.IsMount(h.Context(), target); !errors.Is(err, fs.ErrNotExist) {
				h.Errorf("afterwards: %v", err)
			}
			if !h.exists(staging + `\mark`) {
				h.Error("the data went with the link")
			}
		}},
	}
}

// lookupCases are FLOW-7: the disk on the shipped node of a platform, by what its
// driver compares.
func lookupCases() []Case {
	byID := func(matches func(id *disk.DiskIDs) bool) func(*Host) []uint32 {
		return func(h *Host) (found []uint32) {
			resp, err := h.Disk.ListDiskIDs(h.Context(), &disk.ListDiskIDsRequest{})
			h.must(err)
			for number, id := range resp.DiskIDs {
				if matches(id) {
					found = append(found, number)
				}
			}
			return found
		}
	}
	lastWord := func(text string) string {
		words := strings.Fields(text)
		return strings.Join(words[max(0, len(words)-1):], "")
	}
	var cases []Case
	for _, is := range []struct {
		driver, node, disk string
		lookUp             func(*Host) []uint32
	}{
		{"Azure", "azure-scsi", "data-lun5", func(h *Host) (found []uint32) {
			_, err := h.Disk.Rescan(h.Context(), &disk.RescanRequest{})
			h.must(err)
			resp, err := h.Disk.ListDiskLocations(h.Context(), &disk.ListDiskLocationsRequest{})
			h.must(err)
			for number, place := range resp.DiskLocations {
				if strings.EqualFold(place.LUNID, "5") {
					found = append(found, number)
				}
			}
			return found
		}},
		{"GCP", "gce-scsi", "data", byID(func(id *disk.DiskIDs) bool { return lastWord(id.Page83) == "pvc-3f1c9a52-7b64-4d0e-8a37-5c2e9d10b6f4" })},
		{"GCP, NVMe", "gce-nvme", "data", byID(func(id *disk.DiskIDs) bool { return id.Page83 == "eui.2FD04A91C7B8E6350000000000000000" })},
		{"vSphere", "vsphere-pvscsi", "data", byID(func(id *disk.DiskIDs) bool { return id.Page83 == "6000c2957a5d0e1b2c3d4e5f60718293" })},
		{"EBS", "aws-nitro", "data2", byID(func(id *disk.DiskIDs) bool {
			return strings.Contains(id.SerialNumber, strings.ReplaceAll("vol-0123456789abcdef1", "-", ""))
		})},
	} {
		cases = append(cases, Case{
			IDs: []string{"FLOW-7"}, Shows: is.driver + " finds its disk and no other", Needs: []Ability{Model},
			Spec: shipped(is.node),
			Test: func(h *Host) {
				for _, name := range h.Node.Disks() {
					if _, attached := h.Node.DiskNumber(name); !attached && name != is.disk {
						_, err := h.Node.AttachDisk(name)
						h.must(err)
					}
				}
				if found := is.lookUp(h); len(found) > 0 {
					h.Fatalf("found %v before it was attached", found)
				}
				want, err := h.Node.AttachDisk(is.disk)
				h.must(err)
				if found := is.lookUp(h); !slices.Equal(found, []uint32{want}) {
					h.Errorf("found %v, want %d", found, want)
				}
			},
		})
	}
	return cases
}

func networkFlowCases() []Case {
	cases := []Case{
		{IDs: []string{"FLOW-6"}, Shows: "a folder of a share is staged and unstaged, each twice", Needs: []Ability{Model}, Spec: withServers, Test: func(h *Host) {
			const remote = dataShare + `\Sub`
			driver, parent := Driver{h.Groups}, h.at("smb")
			for range 2 {
				h.must(driver.StageShare(h.Context(), remote, parent, parent+`\globalmount`, alice.User, alice.Password))
			}
			h.must(h.World.WriteFile(parent+`\globalmount\made`, 1))
			if !h.exists(remote + `\made`) {
				h.Error("the link does not lead to the share's folder")
			}
			for range 2 {
				h.must(driver.UnstageShare(h.Context(), remote, parent+`\globalmount`))
			}
			if h.exists(parent+`\globalmount`) || len(h.Node.SMBMappings()) > 0 {
				h.Errorf("left: %+v", h.Node.SMBMappings())
			}
		}},
		{IDs: []string{"FLOW-11"}, Shows: "an iSCSI disk is staged and unstaged", Needs: []Ability{Model}, Spec: withTargets, Test: stageTarget},
	}
	for _, sw := range append(simhost.AllSwitches(), simhost.Switch{Name: "arriving late"}) {
		if sw.Name != "arriving late" && !strings.HasPrefix(sw.Name, "ISCSI") {
			continue
		}
		cases = append(cases, Case{IDs: []string{"FLOW-11"}, Shows: "an iSCSI disk that comes late and offline, " + sw.Name, Needs: []Ability{Model, Time}, Spec: func(spec *simhost.NodeSpec) {
			arriving(3 * time.Second)(spec)
			spec.Switches, spec.SANPolicy, spec.Arrival = sw.Switches, simhost.OfflineShared, simhost.Duration(2*time.Second)
		}, Test: stageTarget})
	}
	return cases
}

// stageTarget is FLOW-11, and again: the data is still there.
func stageTarget(h *Host) {
	driver, path := Driver{h.Groups}, h.at("iscsi")
	var first string
	for round := range 2 {
		for range 2 {
			id, err := driver.StageTarget(h.Context(), firstPortal, openTarget, path)
			h.must(err)
			if first == "" {
				first = id
				h.must(h.World.WriteFile(path+`\mark`, 4096))
			}
			if id != first || !h.exists(path+`\mark`) {
				h.Errorf("round %d: volume %s, was %s; its data is there: %t", round, id, first, h.exists(path+`\mark`))
			}
		}
		h.wantMounted(path, first)
		h.must(driver.UnstageTarget(h.Context(), firstPortal, openTarget, first, path))
		h.wantGone("iscsi")
		h.wantSessions()
	}
}

// attachDisk attaches a blank disk of that size.
func (h *Host) attachDisk() uint32 {
	h.Helper()
	number, err := h.World.AttachDisk(size)
	h.must(err)
	return number
}

// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

const (
	staging = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\driver\volume1\globalmount`
	podPath = `C:\var\lib\kubelet\pods\pod1\volumes\kubernetes.io~csi\pvc1`
	target  = podPath + `\mount`
)

// onEachNode runs a flow on each shipped node.
func onEachNode(t *testing.T, flow func(*site)) {
	t.Helper()
	for _, name := range simhost.Names() {
		run(t, name, name, simhost.Switches{}, flow)
	}
}

// onEachNodeAndSwitch also runs it with each switch of one node in its other
// positions.
func onEachNodeAndSwitch(t *testing.T, flow func(*site)) {
	t.Helper()
	onEachNode(t, flow)
	for _, sw := range simhost.AllSwitches() {
		run(t, "vsphere-pvscsi "+sw.Name, "vsphere-pvscsi", sw.Switches, flow)
	}
}

func run(t *testing.T, test, name string, switches simhost.Switches, flow func(*site)) {
	t.Helper()
	t.Run(test, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { flow(newSite(t, name, switches)) })
	})
}

// FLOW-2, FLOW-3, DISK-10: staged, unstaged and staged again, the disk starts
// the second time offline, partitioned and formatted, and keeps its data. Each
// step may be repeated.
func TestFlow2And3_Stage(t *testing.T) {
	onEachNodeAndSwitch(t, func(s *site) {
		number := s.attach()
		var first string
		for round := range 2 {
			for range 2 {
				id, err := s.Stage(s.Context(), number, true, staging)
				s.must(err)
				if first == "" {
					first = id
				}
				if id != first {
					s.Errorf("round %d: volume %s, was %s", round, id, first)
				}
			}
			if round == 0 {
				s.write(staging)
			} else if !s.exists(staging + `\mark`) {
				s.Errorf("round %d: the data is gone", round)
			}
			for range 2 {
				s.must(s.Unstage(s.Context(), staging))
			}
			if s.exists(staging) {
				s.Errorf("round %d: the folder is still there", round)
			}
			state, err := s.Disk.GetDiskState(s.Context(), &disk.GetDiskStateRequest{DiskNumber: number})
			s.must(err)
			if state.IsOnline {
				s.Errorf("round %d: the disk is online", round)
			}
			s.restart()
		}
	})
}

// FLOW-2 as Azure's driver does it: it never brings the disk online, but
// PartitionDisk does that with an empty one.
func TestFlow2_WithoutOnline(t *testing.T) {
	onEachNode(t, func(s *site) {
		id, err := s.Stage(s.Context(), s.attach(), false, staging)
		s.must(err)
		at, err := s.Volume.GetVolumeIDFromTargetPath(s.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
		s.must(err)
		if at.VolumeID != id {
			s.Errorf("mounted %s, want %s", at.VolumeID, id)
		}
	})
}

// FLOW-2: EBS makes the staging folder and asks what is mounted there; only the
// right words tell it that nothing is (consumers.md 2.2).
func TestFlow2_EBSLooksFirst(t *testing.T) {
	notMounted := regexp.MustCompile(`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)
	onEachNode(t, func(s *site) {
		for range 2 { // the folder is missing, then plain
			_, err := s.Volume.GetVolumeIDFromTargetPath(s.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
			if err == nil || !notMounted.MatchString(err.Error()) {
				s.Errorf("EBS takes it for a failure: %v", err)
			}
			s.mkdir(staging)
		}
	})
}

// FLOW-3 for what a crash leaves: the mount gone and the disk online, and the
// other way round.
func TestFlow3_CutOff(t *testing.T) {
	onEachNode(t, func(s *site) {
		number := s.attach()
		id, err := s.Stage(s.Context(), number, true, staging)
		s.must(err)
		_, err = s.Disk.SetDiskState(s.Context(), &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: false})
		s.must(err)
		_, err = s.Volume.UnmountVolume(s.Context(), &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: staging})
		s.must(err)
		got, err := s.Stage(s.Context(), number, true, staging)
		s.must(err)
		if got != id {
			s.Errorf("volume %s, was %s", got, id)
		}
		_, err = s.Volume.UnmountVolume(s.Context(), &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: staging})
		s.must(err)
		_, err = s.Stage(s.Context(), number, true, staging)
		s.must(err)
		s.must(s.Unstage(s.Context(), staging))
	})
}

// FLOW-4, FLOW-5: the pod's path is a link to the mount folder.
func TestFlow4And5_Publish(t *testing.T) {
	onEachNode(t, func(s *site) {
		id, err := s.Stage(s.Context(), s.attach(), true, staging)
		s.must(err)
		s.write(staging)
		wantMount := func(path string, want bool) {
			s.Helper()
			if got, err := s.IsMount(s.Context(), path); err != nil || got != want {
				s.Errorf("%s: mount %v, %v; want %v", path, got, err, want)
			}
		}
		wantMount(staging, true)
		s.mkdir(target) // by kubelet
		wantMount(target, false)
		for range 2 {
			s.must(s.Publish(s.Context(), staging, target))
			wantMount(target, true)
		}
		if !s.exists(target + `\mark`) {
			s.Error("the link does not lead to the data")
		}
		at, err := s.Volume.GetVolumeIDFromTargetPath(s.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: target})
		s.must(err)
		if at.VolumeID != id {
			s.Errorf("the link leads to %s, want %s", at.VolumeID, id)
		}
		for range 2 {
			s.must(s.Unpublish(s.Context(), target))
		}
		if _, err := s.IsMount(s.Context(), target); !errors.Is(err, os.ErrNotExist) {
			s.Errorf("after unpublish: %v", err)
		}
		if !s.exists(staging + `\mark`) {
			s.Error("the data went with the link")
		}
		s.must(s.Unstage(s.Context(), staging))
	})
}

// FLOW-4 with FLOW-3 before its turn: kubelet removes a pod's folder, and what
// the link led to stays.
func TestFlow4_PodFolderRemoved(t *testing.T) {
	onEachNode(t, func(s *site) {
		_, err := s.Stage(s.Context(), s.attach(), true, staging)
		s.must(err)
		s.write(staging)
		s.mkdir(podPath)
		s.must(s.Publish(s.Context(), staging, target))
		s.must(s.Unpublish(s.Context(), podPath))
		if !s.exists(staging + `\mark`) {
			s.Error("the data went with the pod's folder")
		}
		s.must(s.Unstage(s.Context(), staging))
	})
}

// FLOW-8: a local volume is mounted outside of kubelet's directory and cleaned
// by formatting it while it is mounted.
func TestFlow8_LocalVolume(t *testing.T) {
	const discovery = `C:\mnt\disks\vol1`
	onEachNode(t, func(s *site) {
		_, err := s.Stage(s.Context(), s.attach(), true, discovery)
		s.must(err)
		if is, err := s.IsMount(s.Context(), discovery); err != nil || !is {
			s.Fatalf("not discovered: %v, %v", is, err)
		}
		s.write(discovery)
		at, err := s.Volume.GetVolumeIDFromTargetPath(s.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: discovery})
		s.must(err)
		stats, err := s.Volume.GetVolumeStats(s.Context(), &volume.GetVolumeStatsRequest{VolumeID: at.VolumeID})
		s.must(err)
		if stats.TotalBytes == 0 {
			s.Error("no capacity")
		}
		_, err = s.Volume.FormatVolume(s.Context(), &volume.FormatVolumeRequest{VolumeID: at.VolumeID})
		s.must(err)
		if s.exists(discovery + `\mark`) {
			s.Error("the data is still there")
		}
		again, err := s.Volume.GetVolumeIDFromTargetPath(s.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: discovery})
		s.must(err)
		if again.VolumeID != at.VolumeID {
			s.Errorf("volume %s, was %s", again.VolumeID, at.VolumeID)
		}
	})
}

// FLOW-10, FLOW-9: with kubelet's own spelling of the path, by staging folder
// and by pod path, with and without anything to gain.
func TestFlow10_Expand(t *testing.T) {
	onEachNodeAndSwitch(t, func(s *site) {
		_, err := s.Stage(s.Context(), s.attach(), true, staging)
		s.must(err)
		s.mkdir(podPath)
		s.must(s.Publish(s.Context(), staging, target))
		before, err := s.Expand(s.Context(), staging)
		s.must(err)
		larger := s.size() + 20*simhost.GiB
		s.must(s.node.GrowDisk("data", larger))
		for _, path := range []string{staging[2:], target[2:], staging, `c:` + target[2:]} {
			after, err := s.Expand(s.Context(), path)
			s.must(err)
			if short := int64(larger) - after; after <= before || short < 0 || short > int64(200*simhost.MiB) {
				s.Errorf("%s: %s, was %s", path, simhost.Size(after), simhost.Size(before))
			}
		}
	})
}

// field-reports.md V07, V11, D18: the cloud takes the disk away while it is
// mounted. Everything can be undone, and the disk staged again when it comes
// back, also under another number.
func TestSurpriseRemoval(t *testing.T) {
	onEachNode(t, func(s *site) {
		number := s.attach()
		id, err := s.Stage(s.Context(), number, true, staging)
		s.must(err)
		s.write(staging)
		s.mkdir(podPath)
		s.must(s.Publish(s.Context(), staging, target))
		s.must(s.node.DetachDisk("data"))

		s.must(s.Unpublish(s.Context(), target))
		_, err = s.Volume.GetVolumeIDFromTargetPath(s.Context(), &volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
		if !errors.Is(err, errdefs.ErrNotMounted) {
			s.Errorf("what was mounted is: %v", err)
		}
		_, err = s.Volume.UnmountVolume(s.Context(), &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: staging})
		s.must(err)

		number = s.attach()
		got, err := s.Stage(s.Context(), number, true, staging)
		s.must(err)
		if got != id || !s.exists(staging+`\mark`) {
			s.Errorf("volume %s, was %s; its data is there: %v", got, id, s.exists(staging+`\mark`))
		}
	})
}

// The same, but nobody unmounts before the next stage (field-reports.md V07):
// staging repairs itself.
func TestSurpriseRemoval_StagedOver(t *testing.T) {
	onEachNodeAndSwitch(t, func(s *site) {
		id, err := s.Stage(s.Context(), s.attach(), true, staging)
		s.must(err)
		s.write(staging)
		s.must(s.node.DetachDisk("data"))
		s.restart()
		got, err := s.Stage(s.Context(), s.attach(), true, staging)
		s.must(err)
		if got != id || !s.exists(staging+`\mark`) {
			s.Errorf("volume %s, was %s; its data is there: %v", got, id, s.exists(staging+`\mark`))
		}
		s.must(s.Unstage(s.Context(), staging))
	})
}

// A disk group and a volume group that know nothing of each other exclude each
// other on one disk, and not on two.
func TestGroupsExcludeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "azure-scsi", simhost.Switches{})
		id, err := s.Stage(t.Context(), s.attach(), true, staging)
		s.must(err)
		other, err := s.node.AttachDisk("data-lun1")
		s.must(err)
		number, err := s.Volume.GetDiskNumberFromVolumeID(t.Context(), &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
		s.must(err)

		release := make(chan struct{})
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Method == "Session.Start" && strings.HasPrefix(c.Subject, "MSFT_Volume.Format") {
				<-release
			}
			return do()
		})
		begin := func(change func() error) <-chan error {
			done := make(chan error, 1)
			go func() { done <- change() }()
			synctest.Wait()
			return done
		}
		format := begin(func() error {
			_, err := newDriver(t, s.node).Volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeID: id})
			return err
		})
		partition := func(number uint32) <-chan error {
			return begin(func() error {
				_, err := newDriver(t, s.node).Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
				return err
			})
		}
		same, another := partition(number.DiskNumber), partition(other)
		s.must(<-another)
		select {
		case err := <-same:
			t.Errorf("partitioned while a volume of the disk was formatted: %v", err)
		case <-time.After(10 * time.Second):
		}
		close(release)
		s.must(<-format)
		s.must(<-same)
	})
}

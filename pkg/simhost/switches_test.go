// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Every field is a switch with another position, and every other position is
// listed once.
func TestAllSwitches(t *testing.T) {
	all := AllSwitches()
	seen := map[Switches]string{{}: "none"}
	moved := map[string]bool{}
	for _, s := range all {
		if other, ok := seen[s.Switches]; ok {
			t.Errorf("%s is the same as %s", s.Name, other)
		}
		seen[s.Switches] = s.Name
		v := reflect.ValueOf(s.Switches)
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				moved[v.Type().Field(i).Name] = true
			}
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Switches]()) {
		if !moved[f.Name] {
			t.Errorf("%s is in no other position", f.Name)
		}
	}
}

func TestSwitch_BlankDisk(t *testing.T) {
	tests := []struct {
		position BlankDisk
		style    abi.PartitionStyle
		entries  int
	}{
		{BlankDiskRAW, abi.PartitionStyleRAW, 0},
		{BlankDiskMBR, abi.PartitionStyleMBR, 0},
		{BlankDiskMBRWithFour, abi.PartitionStyleMBR, 4},
	}
	for _, tt := range tests {
		l := newLab(t, Switches{BlankDisk: tt.position}, plain("data"))
		got := layoutOf(t, l.drive(1, win.NoAccess))
		if got.Style != tt.style || len(got.Partitions) != tt.entries || got.Signature != 0 {
			t.Errorf("position %d: %+v", tt.position, got)
		}
		for _, p := range got.Partitions {
			if !p.Unused() {
				t.Errorf("position %d: entry %+v", tt.position, p)
			}
		}
	}
}

func TestSwitch_MSR(t *testing.T) {
	tests := []struct {
		position       MSR
		atOnce, later  []uint32 // numbers of the partitions
		data           uint32   // number of the data partition made then
		dataPartition  int64    // its offset
		largeMSR, late bool
	}{
		{position: MSRFirst, atOnce: []uint32{1}, later: []uint32{1}, data: 2, dataPartition: 16 << 20},
		{position: MSRLate, atOnce: nil, later: []uint32{1}, data: 2, dataPartition: 16 << 20},
		{position: MSRNever, atOnce: nil, later: nil, data: 1, dataPartition: 1 << 20},
		{position: MSRNumberedLast, atOnce: []uint32{128}, later: []uint32{128}, data: 1, dataPartition: 16 << 20},
		{position: MSRFirst, atOnce: []uint32{1}, later: []uint32{1}, data: 2, dataPartition: 33 << 20, largeMSR: true},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, Switches{MSR: tt.position, LargeMSR: tt.largeMSR}, plain("data"))
			l.arrival = time.Second
			d := l.drive(1, win.NoAccess)
			l.must(l.with("data", func(d *disk) error { return l.initialise(d, abi.PartitionStyleGPT) }))
			if got := numbers(layoutOf(t, d)); !reflect.DeepEqual(got, tt.atOnce) {
				t.Errorf("position %d: partitions %v at once, want %v", tt.position, got, tt.atOnce)
			}
			time.Sleep(time.Second)
			if got := numbers(layoutOf(t, d)); !reflect.DeepEqual(got, tt.later) {
				t.Errorf("position %d: partitions %v later, want %v", tt.position, got, tt.later)
			}
			var made *partition
			l.must(l.with("data", func(d *disk) (err error) {
				made, err = l.createPartition(d, newPartition{})
				return err
			}))
			if made.number != tt.data || made.offset != tt.dataPartition {
				t.Errorf("position %d: data partition %d at %d, want %d at %d", tt.position, made.number, made.offset, tt.data, tt.dataPartition)
			}
		})
	}
}

func numbers(l abi.Layout) []uint32 {
	var list []uint32
	for _, p := range l.Partitions {
		list = append(list, p.Number)
	}
	return list
}

// The other switches of devices, one after the other: what the expected
// position answers is in the tests of what they switch.
func TestSwitch_Devices(t *testing.T) {
	nvme := plain("nvme")
	nvme.Bus = "nvme"
	tests := []struct {
		name     string
		switches Switches
		do       func(l lab) error
		want     win.Errno // 0 for none
	}{
		{"attributes, version 40", Switches{AttributesVersion16: true}, setVersion(40), win.ERROR_INVALID_PARAMETER},
		{"attributes, version 16", Switches{AttributesVersion16: true}, setVersion(16), 0},
		{"grow", Switches{GrowPartitionRefused: true}, func(l lab) error {
			l.must(l.GrowDisk("data", 2*GiB))
			d := l.drive(1, readWrite)
			ask(l.T, d, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0)
			_, err := d.Control(abi.IOCTL_DISK_GROW_PARTITION, abi.GrowPartition{Partition: 2, BytesToGrow: 1 << 20}.Encode(), nil)
			return err
		}, win.ERROR_INVALID_PARAMETER},
		{"gone, not connected", Switches{StaleHandle: StaleNotConnected}, staleDisk, win.ERROR_DEVICE_NOT_CONNECTED},
		{"gone, not ready", Switches{StaleHandle: StaleNotReady}, staleDisk, win.ERROR_NOT_READY},
		{"NVMe address", Switches{NVMeWithoutAddress: true}, func(l lab) error {
			_, err := l.drive(2, win.NoAccess).Control(abi.IOCTL_SCSI_GET_ADDRESS, nil, make([]byte, 64))
			return err
		}, win.ERROR_INVALID_FUNCTION},
		{"SCSI address", Switches{NVMeWithoutAddress: true}, func(l lab) error {
			_, err := l.drive(1, win.NoAccess).Control(abi.IOCTL_SCSI_GET_ADDRESS, nil, make([]byte, 64))
			return err
		}, 0},
		{"volume of an offline disk", Switches{OfflineVolumeNotReady: true}, func(l lab) error {
			set(l.T, l.drive(1, readWrite), 1, 1)
			_, err := l.Host().Devices.Open(`\\?\Volume{`+l.only("data").id.String()+`}`, win.NoAccess)
			return err
		}, win.ERROR_NOT_READY},
		{"number of a volume", Switches{VolumeNumberRefused: true}, func(l lab) error {
			_, err := l.openVolume(l.only("data"), win.NoAccess).Control(abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, make([]byte, 64))
			return err
		}, win.ERROR_INVALID_FUNCTION},
		{"clustered", Switches{ClusteredCodeUnknown: true}, func(l lab) error {
			_, err := l.openVolume(l.only("data"), win.NoAccess).Control(abi.IOCTL_VOLUME_IS_CLUSTERED, nil, nil)
			return err
		}, win.ERROR_INVALID_FUNCTION},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, tt.switches, data("data"), nvme)
			err := tt.do(l)
			if tt.want == 0 {
				l.must(err)
				return
			}
			wantCode(t, err, tt.want)
		})
	}
}

func setVersion(version uint32) func(l lab) error {
	return func(l lab) error {
		_, err := l.drive(1, readWrite).Control(abi.IOCTL_DISK_SET_DISK_ATTRIBUTES, abi.SetDiskAttributes{Version: version}.Encode(), nil)
		return err
	}
}

func staleDisk(l lab) error {
	d := l.drive(1, win.NoAccess)
	l.must(l.DetachDisk("data"))
	_, err := d.Control(abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, nil, make([]byte, 64))
	return err
}

func TestSwitch_Answers(t *testing.T) {
	t.Run("whole disk's partition number", func(t *testing.T) {
		l := newLab(t, Switches{WholeDiskNumber: true}, data("data"))
		got := decode(t, l.drive(1, win.NoAccess), abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, abi.DecodeDeviceNumber)
		if got.Number != 1 || got.Partition != abi.NoNumber {
			t.Errorf("%+v", got)
		}
	})
	t.Run("usable length", func(t *testing.T) {
		l := newLab(t, Switches{UsableLengthRenewed: true}, data("data"))
		l.must(l.GrowDisk("data", 2*GiB))
		d := l.drive(1, win.NoAccess)
		ask(t, d, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0)
		if got := layoutOf(t, d).UsableLength; got != 2<<30-67*512 {
			t.Errorf("usable length %d", got)
		}
	})
	t.Run("mount manager's ids", func(t *testing.T) {
		l := newLab(t, Switches{MountManagerID: MountManagerOpaque}, data("data"))
		for _, p := range decode(t, l.open(abi.MountPointManager, win.NoAccess), abi.IOCTL_MOUNTMGR_QUERY_POINTS, abi.QueryEveryMountPoint(), abi.DecodeMountPoints) {
			if _, known := abi.ParseUniqueID(p.UniqueID); known || len(p.UniqueID) == 0 {
				t.Errorf("%+v", p)
			}
		}
	})
}

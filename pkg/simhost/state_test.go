// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func TestSetAttributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Switches{}, data("data"))
		l.arrival = time.Second
		d, v := l.drive(1, readWrite), l.only("data")
		stale := l.openVolume(v, win.GenericRead)

		set(t, d, abi.DISK_ATTRIBUTE_OFFLINE, abi.DISK_ATTRIBUTE_OFFLINE)
		if got := attributesOf(t, d); got != abi.DISK_ATTRIBUTE_OFFLINE {
			t.Errorf("attributes %#x", got)
		}
		if names := l.volumeNames(); len(names) != 1 {
			t.Errorf("volumes beside an offline disk: %v", names)
		}
		_, err := l.Host().Devices.Open(`\\?\Volume{`+v.id.String()+`}`, win.NoAccess)
		wantCode(t, err, win.ERROR_FILE_NOT_FOUND)
		_, err = stale.Control(abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, make([]byte, 64))
		wantCode(t, err, win.ERROR_NOT_READY)
		if got := layoutOf(t, d); len(got.Partitions) != 2 {
			t.Errorf("layout of an offline disk: %+v", got)
		}
		if got := read(t, d, 512, 512); string(got[:8]) != "EFI PART" {
			t.Errorf("an offline disk reads %q", got[:8])
		}

		// Volumes come back after Windows has looked at the disk, and later.
		set(t, d, 0, abi.DISK_ATTRIBUTE_OFFLINE)
		time.Sleep(time.Minute)
		if names := l.volumeNames(); len(names) != 1 {
			t.Errorf("volumes before UPDATE_PROPERTIES: %v", names)
		}
		ask(t, d, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0)
		if names := l.volumeNames(); len(names) != 1 {
			t.Errorf("volumes at once: %v", names)
		}
		time.Sleep(time.Second)
		if names := l.volumeNames(); len(names) != 2 {
			t.Errorf("volumes at last: %v", names)
		}

		set(t, d, abi.DISK_ATTRIBUTE_READ_ONLY, abi.DISK_ATTRIBUTE_READ_ONLY)
		_, err = d.Control(abi.IOCTL_DISK_IS_WRITABLE, nil, nil)
		wantCode(t, err, win.ERROR_WRITE_PROTECT)
		_, err = d.Control(abi.IOCTL_DISK_GROW_PARTITION, abi.GrowPartition{Partition: 2, BytesToGrow: 512}.Encode(), nil)
		wantCode(t, err, win.ERROR_WRITE_PROTECT)
	})
}

func TestDisk_Writable(t *testing.T) {
	for want, d := range map[win.Errno]disk{
		win.ERROR_DEVICE_NOT_CONNECTED: {offline: true},
		win.ERROR_NOT_READY:            {present: true, offline: true, readOnly: true},
		win.ERROR_WRITE_PROTECT:        {present: true, readOnly: true},
	} {
		wantCode(t, d.writable(), want)
	}
	if err := (&disk{present: true}).writable(); err != nil {
		t.Error(err)
	}
}

func TestSetAttributes_Refused(t *testing.T) {
	clustered := data("clustered")
	clustered.Clustered = true
	l := newLab(t, Switches{}, clustered, data("data"))
	offline := abi.SetDiskAttributes{Version: 40, Attributes: abi.DISK_ATTRIBUTE_OFFLINE, Mask: abi.DISK_ATTRIBUTE_OFFLINE}
	tests := []struct {
		name   string
		number uint32
		set    abi.SetDiskAttributes
		want   win.Errno
	}{
		{"boot disk", 0, offline, win.ERROR_ACCESS_DENIED},
		{"clustered disk", 1, offline, win.ERROR_ACCESS_DENIED},
		{"version of the page", 2, abi.SetDiskAttributes{Version: 16}, win.ERROR_INVALID_PARAMETER},
		{"unknown bit", 2, abi.SetDiskAttributes{Version: 40, Mask: 4}, win.ERROR_INVALID_PARAMETER},
		{"bit outside the mask", 2, abi.SetDiskAttributes{Version: 40, Attributes: 1}, win.ERROR_INVALID_PARAMETER},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := l.drive(tt.number, readWrite).Control(abi.IOCTL_DISK_SET_DISK_ATTRIBUTES, tt.set.Encode(), nil)
			wantCode(t, err, tt.want)
		})
	}
	_, err := l.openVolume(l.only("clustered"), win.NoAccess).Control(abi.IOCTL_VOLUME_IS_CLUSTERED, nil, nil)
	l.must(err)
}

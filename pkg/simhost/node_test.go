// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func TestNamed(t *testing.T) {
	want := []string{
		"aws-nitro", "aws-xen", "azure-nvme", "azure-scsi", "gce-nvme", "gce-nvme-2019", "gce-scsi", "hyperv-vhd",
		"kvm-virtio", "metal-nvme", "metal-sata", "san-fibre", "san-iscsi", "storage-spaces", "vsphere-pvscsi",
	}
	if diff := cmp.Diff(want, Names()); diff != "" {
		t.Fatal(diff)
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			spec, err := Named(name)
			if err != nil {
				t.Fatal(err)
			}
			if spec.Name != name || spec.Description == "" || spec.Build < 17763 {
				t.Errorf("name %q, description %q, build %d", spec.Name, spec.Description, spec.Build)
			}
			n, err := New(spec)
			if err != nil {
				t.Fatal(err)
			}
			host := n.Host()
			if build, err := host.System.BuildNumber(); err != nil || build != spec.Build {
				t.Errorf("build %d, %v", build, err)
			}
			if info, err := host.Mounts.Information(`C:\`); err != nil || info.FileSystem != "NTFS" {
				t.Errorf("C: is %+v, %v", info, err)
			}
			dir, err := host.Files.Open(nil, `\\?\C:\var\lib\kubelet\pods`, win.OpenFile{Access: win.Synchronize, Disposition: win.OpenExisting, Options: win.FileDirectoryFile})
			if err != nil {
				t.Fatalf("kubelet's directory: %v", err)
			}
			_ = dir.Close()
			if _, ok := n.DiskNumber("data"); ok {
				t.Error("disk data is attached from the start")
			}
			if _, err := n.AttachDisk("data"); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := Named("bare-metal-toaster"); err == nil {
		t.Error("a node that is not shipped has a description")
	}
}

// Each platform's disks carry the identity that its driver looks for
// (windows-api.md 2.5).
func TestNamed_Identity(t *testing.T) {
	tests := []struct {
		node, disk      string
		serial          string
		page83          string
		address         abi.SCSIAddress
		bus             abi.BusType
		offlineReadOnly bool
	}{
		{"aws-nitro", "data", "vol0123456789abcdef0_00000001.", "", abi.SCSIAddress{Port: 1}, abi.BusTypeNVMe, false},
		{"aws-nitro", "root", "vol0a1b2c3d4e5f60718_00000001.", "", abi.SCSIAddress{}, abi.BusTypeNVMe, false},
		{"azure-scsi", "os", "", "600224808f1c2b7ad34e5f6011223301", abi.SCSIAddress{}, abi.BusTypeSAS, false},
		{"azure-scsi", "temp", "", "600224808f1c2b7ad34e5f6011223302", abi.SCSIAddress{LUN: 1}, abi.BusTypeSAS, false},
		{"azure-scsi", "data-lun1", "", "600224803b9ae5f1a0c4d2e655667702", abi.SCSIAddress{Port: 1, LUN: 1}, abi.BusTypeSAS, false},
		{"azure-scsi", "data-lun5", "", "600224803b9ae5f1a0c4d2e655667703", abi.SCSIAddress{Port: 3, LUN: 5}, abi.BusTypeSAS, false},
		{"gce-scsi", "boot", strings.Repeat(" ", 20), "Google  persistent-disk-0", abi.SCSIAddress{Target: 1}, abi.BusTypeSCSI, false},
		{"vsphere-pvscsi", "data", "6000c2957a5d0e1b2c3d4e5f60718293", "6000c2957a5d0e1b2c3d4e5f60718293", abi.SCSIAddress{Port: 1, Target: 1}, abi.BusTypeSAS, true},
	}
	for _, tt := range tests {
		t.Run(tt.node+"/"+tt.disk, func(t *testing.T) {
			spec, err := Named(tt.node)
			if err != nil {
				t.Fatal(err)
			}
			n, err := New(spec)
			if err != nil {
				t.Fatal(err)
			}
			number, ok := n.DiskNumber(tt.disk)
			if !ok {
				if number, err = n.AttachDisk(tt.disk); err != nil {
					t.Fatal(err)
				}
			}
			d := lab{t, n}.drive(number, win.NoAccess)
			descriptor := decode(t, d, abi.IOCTL_STORAGE_QUERY_PROPERTY, abi.PropertyQuery{Property: abi.PropertyDevice}.Encode(), abi.DecodeDeviceDescriptor)
			if descriptor.Serial != tt.serial || descriptor.BusType != tt.bus {
				t.Errorf("serial %q on %s, want %q on %s", descriptor.Serial, descriptor.BusType, tt.serial, tt.bus)
			}
			out := make([]byte, 4096)
			if _, err := d.Control(abi.IOCTL_STORAGE_QUERY_PROPERTY, abi.PropertyQuery{Property: abi.PropertyDeviceID}.Encode(), out); err == nil {
				ids, err := abi.DecodeIdentifiers(out)
				if err != nil || abi.Page83(ids) != tt.page83 {
					t.Errorf("page 83 %q, %v, want %q", abi.Page83(ids), err, tt.page83)
				}
			} else if tt.page83 != "" {
				t.Errorf("page 83: %v", err)
			}
			if got := decode(t, d, abi.IOCTL_SCSI_GET_ADDRESS, nil, abi.DecodeSCSIAddress); got != tt.address {
				t.Errorf("address %+v, want %+v", got, tt.address)
			}
			want := uint64(0)
			if tt.offlineReadOnly {
				want = abi.DISK_ATTRIBUTE_OFFLINE | abi.DISK_ATTRIBUTE_READ_ONLY
			}
			if got := attributesOf(t, d); got != want {
				t.Errorf("attributes %#x, want %#x", got, want)
			}
		})
	}
}

// The critical disks can be told from the registry and the Windows directory
// (docs/architecture.md, rule 3).
func TestSystem(t *testing.T) {
	spec, err := Named("azure-scsi")
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	system := n.Host().System
	if dir, err := system.WindowsDirectory(); err != nil || dir != `C:\Windows` {
		t.Errorf("Windows directory %q, %v", dir, err)
	}
	start, err := system.RegistryValue(`System\setup`, "systempartition")
	if err != nil || start.Type != 1 || abi.DecodeUTF16(start.Data) != "\\Device\\HarddiskVolume2\x00" {
		t.Errorf("SystemPartition %d %q, %v", start.Type, abi.DecodeUTF16(start.Data), err)
	}
	files, err := system.RegistryValue(`SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management`, "ExistingPageFiles")
	if err != nil || files.Type != 7 || abi.DecodeUTF16(files.Data) != "\\??\\D:\\pagefile.sys\x00\x00" {
		t.Errorf("ExistingPageFiles %d %q, %v", files.Type, abi.DecodeUTF16(files.Data), err)
	}
	_, err = system.RegistryValue(`SYSTEM\Setup`, "Nothing")
	wantCode(t, err, win.ERROR_FILE_NOT_FOUND)

	efi := lab{t, n}.open(`\\?\GLOBALROOT\Device\HarddiskVolume2`, win.NoAccess)
	extents := decode(t, efi, abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, abi.DecodeDiskExtents)
	if len(extents) != 1 || extents[0].Disk != 0 || extents[0].Offset != 451<<20 {
		t.Errorf("the system partition's extents are %+v", extents)
	}
}

// A number passes to another disk when its own has gone.
func TestAttach_NumberPassesOn(t *testing.T) {
	l := newLab(t, Switches{}, plain("first"), plain("second"))
	l.must(l.AddDisk(plain("third")))
	l.must(l.DetachDisk("first"))
	number, err := l.AttachDisk("third")
	if err != nil || number != 1 {
		t.Errorf("attached as %d, %v, want 1", number, err)
	}
	if number, err = l.AttachDisk("first"); err != nil || number != 3 {
		t.Errorf("re-attached as %d, %v, want 3", number, err)
	}
	if _, err := l.AttachDisk("first"); err == nil {
		t.Error("a disk was attached twice")
	}
	if diff := cmp.Diff([]string{"boot", "first", "second", "third"}, l.Disks()); diff != "" {
		t.Error(diff)
	}
	if _, err := l.AttachDisk("fourth"); err == nil {
		t.Error("an unknown disk was attached")
	}
	l.must(l.DetachDisk("first"))
	if err := l.DetachDisk("first"); err == nil {
		t.Error("a disk was detached twice")
	}
}

// A disk that goes leaves stale handles and dangling mount points.
func TestDetach(t *testing.T) {
	l := newLab(t, Switches{}, data("data"))
	v := l.only("data")
	d, volume := l.drive(1, win.GenericRead), l.openVolume(v, win.GenericRead)
	l.must(l.mountFolder(`C:\mnt`, v))
	how := win.OpenFile{Access: win.Synchronize | win.FileReadData, Disposition: win.OpenExisting}
	root, err := l.Host().Files.Open(nil, v.name(), how)
	l.must(err)
	defer root.Close()
	l.must(l.DetachDisk("data"))

	_, err = d.Control(abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, nil, make([]byte, 64))
	wantCode(t, err, win.ERROR_NO_SUCH_DEVICE)
	_, err = d.ReadAt(make([]byte, 512), 0)
	wantCode(t, err, win.ERROR_NO_SUCH_DEVICE)
	_, err = volume.Control(abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, make([]byte, 64))
	wantCode(t, err, win.ERROR_NO_SUCH_DEVICE)
	_, err = l.Host().Devices.Open(`\\.\PhysicalDrive1`, win.NoAccess)
	wantCode(t, err, win.ERROR_FILE_NOT_FOUND)
	if s := string(l.Snapshot()); !strings.Contains(s, `mount manager C:\mnt\: `+v.name()+", which is gone\n") {
		t.Errorf("no stale mount point in\n%s", s)
	}

	// It comes back as the same volume, mounted where it was.
	if _, err := l.AttachDisk("data"); err != nil {
		t.Fatal(err)
	}
	if name, err := l.Host().Mounts.VolumeAt(`C:\mnt\`); err != nil || name != v.name() {
		t.Errorf("after the disk is back %q is mounted, %v", name, err)
	}
	_, err = d.Control(abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, nil, make([]byte, 64))
	wantCode(t, err, win.ERROR_NO_SUCH_DEVICE)
	_, err = root.List(make([]byte, 4096), true)
	wantCode(t, err, win.ERROR_FILE_INVALID)
}

func TestSANPolicy(t *testing.T) {
	tests := []struct {
		policy SANPolicy
		bus    string
		want   uint64
	}{
		{"", "sas", 0},
		{OnlineAll, "sas", 0},
		{OfflineShared, "sas", 3},
		{OfflineShared, "scsi", 3},
		{OfflineShared, "iscsi", 3},
		{OfflineShared, "fibre", 3},
		{OfflineShared, "nvme", 0},
		{OfflineShared, "sata", 0},
		{OfflineAll, "nvme", 3},
		{OfflineInternal, "nvme", 3},
		{OfflineInternal, "sas", 0},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %s", tt.policy, tt.bus), func(t *testing.T) {
			disk := plain("data")
			disk.Bus = tt.bus
			n, err := New(NodeSpec{Version: SpecVersion, SANPolicy: tt.policy, Attachable: []DiskSpec{disk}})
			if err != nil {
				t.Fatal(err)
			}
			l := lab{t, n}
			if _, err := n.AttachDisk("data"); err != nil {
				t.Fatal(err)
			}
			d := l.drive(1, readWrite)
			if got := attributesOf(t, d); got != tt.want {
				t.Errorf("attributes %#x, want %#x", got, tt.want)
			}
			if got := attributesOf(t, l.drive(0, win.NoAccess)); got != 0 {
				t.Errorf("the boot disk has attributes %#x", got)
			}

			// What was asked to persist outlives the disk's next arrival.
			set(t, d, 0, 3)
			l.must(l.DetachDisk("data"))
			if _, err := n.AttachDisk("data"); err != nil {
				t.Fatal(err)
			}
			if got := attributesOf(t, l.drive(1, win.NoAccess)); got != 0 {
				t.Errorf("attributes %#x after they were cleared for good", got)
			}
		})
	}
}

func TestGrowDisk_Refused(t *testing.T) {
	l := newLab(t, Switches{}, plain("data"))
	for _, size := range []Size{GiB, GiB - 512, GiB + 1} {
		if err := l.GrowDisk("data", size); err == nil {
			t.Errorf("grown from 1 GiB to %d bytes", size)
		}
	}
}

func TestSetMedia(t *testing.T) {
	l := newLab(t, Switches{}, plain("data"))
	d := l.drive(1, win.GenericRead)
	l.must(l.SetMedia("data", 4096, []byte("hello")))
	if got := read(t, d, 4096, 512); string(got[:5]) != "hello" {
		t.Errorf("read %q", got[:5])
	}
	l.must(l.WriteMedia("data", MediaLUKS))
	if got := read(t, d, 0, 512); string(got[:6]) != "LUKS\xba\xbe" {
		t.Errorf("read %q", got[:6])
	}
	l.must(l.SetUnreadable("data", RangeSpec{Length: 512}))
	_, err := d.ReadAt(make([]byte, 512), 0)
	wantCode(t, err, win.ERROR_CRC)
	if got, err := l.ReadMedia("data", 0, 4); err != nil || string(got) != "LUKS" {
		t.Errorf("medium holds %q, %v", got, err)
	}
	l.must(l.SetUnreadable("data"))
	_ = read(t, d, 0, 512)
	if err := l.SetMedia("data", 1<<30-1, []byte("xx")); err == nil {
		t.Error("written over the end")
	}
	if _, err := l.ReadMedia("data", -1, 1); err == nil {
		t.Error("read before the start")
	}
}

func TestOnCall(t *testing.T) {
	l := newLab(t, Switches{}, plain("data"))
	var seen []string
	l.OnCall(func(c Call, do func() error) error {
		seen = append(seen, c.Method)
		if c.Method == "Device.Control" && c.Code == abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX {
			return win.ERROR_IO_DEVICE
		}
		return do()
	})
	d := l.drive(1, win.NoAccess)
	_, err := d.Control(abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, make([]byte, 4096))
	wantCode(t, err, win.ERROR_IO_DEVICE)
	_ = sizeOf(t, d)
	if diff := cmp.Diff([]string{"Devices.Open", "Device.Control", "Device.Control"}, seen); diff != "" {
		t.Error(diff)
	}
	if got := l.Calls().Total(); got != 3 {
		t.Errorf("%d calls counted, want 3", got)
	}
	l.OnCall(nil)
	_ = layoutOf(t, d)
	if got := l.Calls().ByMethod()["Device.Control"]; got != 3 {
		t.Errorf("%d control codes counted, want 3", got)
	}
}

// A call that hangs holds up neither the node nor other calls.
func TestOnCall_Hang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Switches{}, plain("data"))
		release := make(chan struct{})
		l.OnCall(func(c Call, do func() error) error {
			if c.Method == "Device.Flush" {
				<-release
			}
			return do()
		})
		d := l.drive(1, readWrite)
		flushed := make(chan error)
		go func() { flushed <- d.Flush() }()
		time.Sleep(time.Hour)
		_ = sizeOf(t, d)
		_ = l.Snapshot()
		select {
		case err := <-flushed:
			t.Errorf("the flush did not hang: %v", err)
		default:
		}
		close(release)
		if err := <-flushed; err != nil {
			t.Error(err)
		}
	})
}

// 64 at once: devices come and go while others ask, read, change and look.
func TestConcurrency(t *testing.T) {
	var disks []DiskSpec
	for i := range 8 {
		disks = append(disks, data(fmt.Sprintf("data%d", i)))
	}
	l := newLab(t, Switches{}, disks...)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			name := fmt.Sprintf("data%d", i%8)
			switch i / 8 {
			case 0:
				_ = l.DetachDisk(name) // another may have
				_, _ = l.AttachDisk(name)
			case 1:
				_ = l.Snapshot()
			case 2:
				_ = l.GrowDisk(name, 2*GiB)
			default:
				if err := useDisk(l.Node, uint32(1+i%8)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// useDisk opens, asks, reads, changes and closes a disk that may go meanwhile.
func useDisk(n *Node, number uint32) error {
	d, err := n.Host().Devices.Open(fmt.Sprintf(`\\.\PhysicalDrive%d`, number), readWrite)
	if errors.Is(err, win.ERROR_FILE_NOT_FOUND) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	for _, code := range []uint32{abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, abi.IOCTL_DISK_UPDATE_PROPERTIES, abi.IOCTL_STORAGE_GET_DEVICE_NUMBER} {
		if _, err := d.Control(code, nil, make([]byte, 4096)); err != nil && !errors.Is(err, win.ERROR_NO_SUCH_DEVICE) {
			return err
		}
	}
	if _, err := d.ReadAt(make([]byte, 4096), 0); err != nil && !errors.Is(err, win.ERROR_NO_SUCH_DEVICE) {
		return err
	}
	_, err = d.Control(abi.IOCTL_DISK_GROW_PARTITION, abi.GrowPartition{Partition: 2, BytesToGrow: 1 << 20}.Encode(), nil)
	if err == nil || errors.Is(err, win.ERROR_INVALID_PARAMETER) || errors.Is(err, win.ERROR_NO_SUCH_DEVICE) {
		return nil
	}
	return err
}

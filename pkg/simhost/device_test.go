// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

func TestDevices_Open(t *testing.T) {
	l := newLab(t, Switches{}, data("data"))
	v := l.only("data")
	l.mu.Lock()
	diskPath, volumePath := l.diskNamed("data").interfacePath, v.interfacePath()
	l.mu.Unlock()
	tests := []struct {
		path string
		want win.Errno // 0: opens
	}{
		{`\\.\PhysicalDrive1`, 0},
		{`\\.\physicaldrive1`, 0},
		{`\\.\PhysicalDrive2`, win.ERROR_FILE_NOT_FOUND},
		{`\\.\PhysicalDrive`, win.ERROR_FILE_NOT_FOUND},
		{`\\.\PhysicalDrive4294967297`, win.ERROR_FILE_NOT_FOUND},
		{diskPath, 0},
		{strings.ToUpper(diskPath), 0},
		{volumePath, 0},
		{`\\?\Volume{` + v.id.String() + `}`, 0},
		{`\\.\Volume{` + v.id.String() + `}`, 0},
		{`\\?\Volume{00000000-0000-0000-0000-000000000001}`, win.ERROR_FILE_NOT_FOUND},
		{`\\.\C:`, 0},
		{`\\.\c:`, 0},
		{`\\.\X:`, win.ERROR_FILE_NOT_FOUND},
		{`\\?\GLOBALROOT\Device\HarddiskVolume1`, 0},
		{`\\.\HarddiskVolume1`, 0},
		{`\\.\HarddiskVolume9`, win.ERROR_FILE_NOT_FOUND},
		{`\\.\MountPointManager`, 0},
		{`\\.\Nothing`, win.ERROR_FILE_NOT_FOUND},
		{``, win.ERROR_FILE_NOT_FOUND},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			d, err := l.Host().Devices.Open(tt.path, win.NoAccess)
			if tt.want != 0 {
				wantCode(t, err, tt.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := l.OpenHandles(); got != 1 {
				t.Errorf("%d open handles, want 1", got)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			wantCode(t, d.Close(), win.ERROR_INVALID_HANDLE)
			_, err = d.Control(abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, make([]byte, 16))
			wantCode(t, err, win.ERROR_INVALID_HANDLE)
		})
	}
}

func TestDevices_Interfaces(t *testing.T) {
	l := newLab(t, Switches{}, data("data"), plain("plain"))
	count := func(class abi.GUID) int {
		t.Helper()
		paths, err := l.Host().Devices.Interfaces(class)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			d, err := l.Host().Devices.Open(path, win.NoAccess)
			if err != nil {
				t.Fatalf("open %s: %v", path, err)
			}
			_ = d.Close()
		}
		return len(paths)
	}
	if got := count(abi.GUID_DEVINTERFACE_DISK); got != 3 {
		t.Errorf("%d disks, want 3", got)
	}
	if got := count(abi.GUID_DEVINTERFACE_VOLUME); got != 2 {
		t.Errorf("%d volumes, want 2", got)
	}
	if err := l.DetachDisk("data"); err != nil {
		t.Fatal(err)
	}
	if got := count(abi.GUID_DEVINTERFACE_DISK); got != 2 {
		t.Errorf("%d disks after one has gone, want 2", got)
	}
	if got := count(abi.GUID_DEVINTERFACE_VOLUME); got != 1 {
		t.Errorf("%d volumes after their disk has gone, want 1", got)
	}
}

// A control code needs the rights that it encodes (windows-api.md 0.1).
func TestDevice_Rights(t *testing.T) {
	l := newLab(t, Switches{}, data("data"))
	grow := abi.GrowPartition{Partition: 2, BytesToGrow: 512}.Encode()
	tests := []struct {
		name   string
		access win.Access
		code   uint32
		in     []byte
		want   win.Errno
	}{
		{"geometry needs none", win.NoAccess, abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, nil, 0},
		{"layout needs none", win.NoAccess, abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, 0},
		{"update properties needs none", win.NoAccess, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0},
		{"length needs read", win.NoAccess, abi.IOCTL_DISK_GET_LENGTH_INFO, nil, win.ERROR_ACCESS_DENIED},
		{"length is not read by writing", win.GenericWrite, abi.IOCTL_DISK_GET_LENGTH_INFO, nil, win.ERROR_ACCESS_DENIED},
		{"length with read", win.FileReadData, abi.IOCTL_DISK_GET_LENGTH_INFO, nil, 0},
		{"attributes need both", win.GenericRead, abi.IOCTL_DISK_SET_DISK_ATTRIBUTES, abi.SetDiskAttributes{Version: 40}.Encode(), win.ERROR_ACCESS_DENIED},
		{"attributes with both", readWrite, abi.IOCTL_DISK_SET_DISK_ATTRIBUTES, abi.SetDiskAttributes{Version: 40}.Encode(), 0},
		{"growing needs both", win.GenericWrite, abi.IOCTL_DISK_GROW_PARTITION, grow, win.ERROR_ACCESS_DENIED},
		{"size needs both", win.GenericRead, abi.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, win.ERROR_ACCESS_DENIED},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := l.drive(1, tt.access).Control(tt.code, tt.in, make([]byte, 4096))
			if tt.want != 0 {
				wantCode(t, err, tt.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDisk_BufferSizes(t *testing.T) {
	l := newLab(t, Switches{}, data("data"))
	d := l.drive(1, readWrite)
	tests := []struct {
		name string
		code uint32
		in   []byte
		room int
		want win.Errno
	}{
		{"geometry", abi.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, nil, 31, win.ERROR_INSUFFICIENT_BUFFER},
		{"number", abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, 11, win.ERROR_INSUFFICIENT_BUFFER},
		{"layout of two", abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, abi.LayoutSize(2) - 1, win.ERROR_INSUFFICIENT_BUFFER},
		{"grow", abi.IOCTL_DISK_GROW_PARTITION, make([]byte, 15), 0, win.ERROR_BAD_LENGTH},
		{"attributes", abi.IOCTL_DISK_SET_DISK_ATTRIBUTES, make([]byte, 39), 0, win.ERROR_INVALID_PARAMETER},
		{"query", abi.IOCTL_STORAGE_QUERY_PROPERTY, make([]byte, 7), 64, win.ERROR_INVALID_PARAMETER},
		{"unknown code", 0x70FF0, nil, 64, win.ERROR_INVALID_FUNCTION},
		{"a volume's code", abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, 64, win.ERROR_INVALID_FUNCTION},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := d.Control(tt.code, tt.in, make([]byte, tt.room))
			wantCode(t, err, tt.want)
		})
	}
	if got := len(ask(t, d, abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, abi.LayoutSize(2))); got != abi.LayoutSize(2) {
		t.Errorf("layout has %d bytes, want %d", got, abi.LayoutSize(2))
	}
}

func TestDisk_Layout(t *testing.T) {
	mbr := plain("mbr")
	mbr.Style, mbr.Signature = "mbr", 0xDEADBEEF
	mbr.Partitions = []PartitionSpec{{Type: "0x07", Size: 100 * MiB, Volume: &VolumeSpec{FileSystem: "NTFS"}}}
	floppy := plain("floppy")
	floppy.Style = "superfloppy"
	floppy.Partitions = []PartitionSpec{{Type: "0x07", Volume: &VolumeSpec{FileSystem: "NTFS"}}}
	big := plain("big")
	big.SectorSize, big.Style = 4096, "gpt"
	big.Partitions = []PartitionSpec{{Type: "msr"}}
	l := newLab(t, Switches{}, data("gpt"), mbr, floppy, big, plain("raw"))

	t.Run("GPT", func(t *testing.T) {
		got := layoutOf(t, l.drive(1, win.NoAccess))
		if got.Style != abi.PartitionStyleGPT || got.MaxPartitions != 128 || got.DiskID.IsZero() || len(got.Partitions) != 2 {
			t.Fatalf("layout %+v", got)
		}
		// 34 sectors at either end, less the protective MBR (windows-api.md 5.3).
		if got.StartingUsableOffset != 17408 || got.UsableLength != 1<<30-67*512 {
			t.Errorf("usable %d at %d", got.UsableLength, got.StartingUsableOffset)
		}
		msr, basic := got.Partitions[0], got.Partitions[1]
		if msr.Type != abi.PARTITION_MSFT_RESERVED_GUID || msr.Number != 1 || msr.Offset != 17408 || msr.Offset+msr.Length != 16<<20 {
			t.Errorf("reserved partition %+v", msr)
		}
		if basic.Type != abi.PARTITION_BASIC_DATA_GUID || basic.Number != 2 || basic.Offset != 16<<20 || basic.Length != 1007<<20 || basic.ID.IsZero() {
			t.Errorf("data partition %+v", basic)
		}
	})
	t.Run("MBR", func(t *testing.T) {
		got := layoutOf(t, l.drive(2, win.NoAccess))
		if got.Style != abi.PartitionStyleMBR || got.Signature != 0xDEADBEEF || len(got.Partitions) != 4 {
			t.Fatalf("layout %+v", got)
		}
		if p := got.Partitions[0]; p.MBRType != 7 || p.Offset != 1<<20 || p.Length != 100<<20 || p.Number != 1 || p.HiddenSectors != 2048 {
			t.Errorf("partition %+v", p)
		}
		if !got.Partitions[3].Unused() {
			t.Errorf("fourth entry %+v", got.Partitions[3])
		}
	})
	t.Run("superfloppy", func(t *testing.T) {
		got := layoutOf(t, l.drive(3, win.NoAccess))
		if got.Style != abi.PartitionStyleMBR || len(got.Partitions) != 1 || got.Partitions[0].Offset != 0 || got.Partitions[0].Length != 1<<30 {
			t.Errorf("layout %+v", got)
		}
		if boot := read(t, l.drive(3, win.GenericRead), 0, 512); !bytes.Equal(boot[3:11], []byte("NTFS    ")) {
			t.Errorf("first sector begins with %q", boot[:16])
		}
	})
	t.Run("4096 bytes a sector", func(t *testing.T) {
		got := layoutOf(t, l.drive(4, win.NoAccess))
		if got.StartingUsableOffset != 24576 || got.Partitions[0].Offset != 24576 {
			t.Errorf("usable from %d, reserved partition at %d, want 24576", got.StartingUsableOffset, got.Partitions[0].Offset)
		}
	})
	t.Run("RAW", func(t *testing.T) {
		got := layoutOf(t, l.drive(5, win.NoAccess))
		if got.Style != abi.PartitionStyleRAW || len(got.Partitions) != 0 {
			t.Errorf("layout %+v", got)
		}
	})
}

func TestDisk_LayoutError(t *testing.T) {
	broken := data("broken")
	broken.LayoutError = uint32(win.ERROR_IO_DEVICE)
	l := newLab(t, Switches{}, broken)
	_, err := l.drive(1, win.NoAccess).Control(abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, make([]byte, 4096))
	wantCode(t, err, win.ERROR_IO_DEVICE)
}

func TestDevice_Read(t *testing.T) {
	bad := data("data")
	bad.Unreadable = []RangeSpec{{Offset: 2 * MiB, Length: 512}, {Offset: 3 * MiB, Length: 512, Code: uint32(win.ERROR_IO_DEVICE)}}
	l := newLab(t, Switches{}, bad)
	v := l.only("data")
	d := l.drive(1, win.GenericRead)
	volume := l.openVolume(v, win.GenericRead)

	if got := read(t, d, 512, 512); !bytes.HasPrefix(got, []byte("EFI PART")) {
		t.Errorf("second sector begins with %q", got[:8])
	}
	if got := read(t, volume, 0, 512); string(got[3:11]) != "NTFS    " {
		t.Errorf("volume begins with %q", got[:11])
	}
	if got := read(t, volume, v.length()-512, 4096); len(got) != 512 || string(got[3:11]) != "NTFS    " {
		t.Errorf("%d bytes at the volume's end, %q, want the backup boot sector", len(got), got[:11])
	}
	if got := read(t, d, 1<<30-512, 4096); len(got) != 512 || string(got[:8]) != "EFI PART" {
		t.Errorf("%d bytes at the disk's end, %q, want the backup header", len(got), got[:8])
	}

	tests := []struct {
		name   string
		device win.Device
		offset int64
		length int
		want   win.Errno
	}{
		{"offset is not aligned", d, 100, 512, win.ERROR_INVALID_PARAMETER},
		{"length is not aligned", d, 0, 100, win.ERROR_INVALID_PARAMETER},
		{"offset is negative", d, -512, 512, win.ERROR_INVALID_PARAMETER},
		{"behind the end", d, 1 << 30, 512, win.ERROR_HANDLE_EOF},
		{"behind the volume's end", volume, v.length(), 512, win.ERROR_HANDLE_EOF},
		{"unreadable", d, 1 << 20, 2 << 20, win.ERROR_CRC},
		{"unreadable with another code", d, 3 << 20, 512, win.ERROR_IO_DEVICE},
		{"no right to read", l.drive(1, win.NoAccess), 0, 512, win.ERROR_ACCESS_DENIED},
		{"no medium", l.open(abi.MountPointManager, readWrite), 0, 512, win.ERROR_INVALID_FUNCTION},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.device.ReadAt(make([]byte, tt.length), tt.offset)
			wantCode(t, err, tt.want)
		})
	}
}

func TestVolume_Flush(t *testing.T) {
	frozen := data("frozen")
	frozen.ReadOnly = true
	l := newLab(t, Switches{}, data("data"), frozen)
	if err := l.openVolume(l.only("data"), win.GenericWrite).Flush(); err != nil {
		t.Error(err)
	}
	wantCode(t, l.openVolume(l.only("data"), win.GenericRead).Flush(), win.ERROR_ACCESS_DENIED)
	wantCode(t, l.openVolume(l.only("frozen"), win.GenericWrite).Flush(), win.ERROR_WRITE_PROTECT)
}

func TestDisk_Identity(t *testing.T) {
	spec := plain("data")
	spec.Serial, spec.Revision = "  S N  ", "1.0 "
	spec.Address = &AddressSpec{Port: 3, Path: 1, Target: 2, LUN: 5}
	spec.Identifiers = []IdentifierSpec{
		{CodeSet: "binary", Type: "naa", Hex: "6000c29f00112233445566778899aabb"},
		{CodeSet: "ascii", Type: "t10", Association: "target", Text: "Google  persistent-disk-0"},
	}
	bare := plain("bare")
	bare.Address = nil
	l := newLab(t, Switches{}, spec, bare)
	d := l.drive(1, win.NoAccess)

	number := decode(t, d, abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, abi.DecodeDeviceNumber)
	if want := (abi.DeviceNumber{DeviceType: 7, Number: 1}); number != want {
		t.Errorf("number %+v, want %+v", number, want)
	}
	ex := decode(t, d, abi.IOCTL_STORAGE_GET_DEVICE_NUMBER_EX, nil, abi.DecodeDeviceNumberEx)
	if ex.Number != 1 || ex.GUID.IsZero() || ex.Flags != abi.DeviceGUIDFromPage83 {
		t.Errorf("number %+v", ex)
	}
	address := decode(t, d, abi.IOCTL_SCSI_GET_ADDRESS, nil, abi.DecodeSCSIAddress)
	if want := (abi.SCSIAddress{Port: 3, Path: 1, Target: 2, LUN: 5}); address != want {
		t.Errorf("address %+v, want %+v", address, want)
	}
	query := func(p abi.PropertyID) []byte { return abi.PropertyQuery{Property: p}.Encode() }
	descriptor := decode(t, d, abi.IOCTL_STORAGE_QUERY_PROPERTY, query(abi.PropertyDevice), abi.DecodeDeviceDescriptor)
	want := abi.DeviceDescriptor{Vendor: "Msft    ", Product: "Virtual Disk    ", Revision: "1.0 ", Serial: "  S N  ", BusType: abi.BusTypeSAS}
	if descriptor != want {
		t.Errorf("descriptor %+v, want %+v", descriptor, want)
	}
	ids := decode(t, d, abi.IOCTL_STORAGE_QUERY_PROPERTY, query(abi.PropertyDeviceID), abi.DecodeIdentifiers)
	if diff := cmp.Diff([]abi.Identifier{
		{CodeSet: abi.CodeSetBinary, Type: abi.IdentifierNAA, Value: []byte{0x60, 0, 0xc2, 0x9f, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb}},
		{CodeSet: abi.CodeSetASCII, Type: abi.IdentifierVendorID, Association: abi.AssociationTarget, Value: []byte("Google  persistent-disk-0")},
	}, ids); diff != "" {
		t.Error(diff)
	}
	if got := decode(t, d, abi.IOCTL_STORAGE_QUERY_PROPERTY, query(abi.PropertyAdapter), abi.DecodeAdapterDescriptor); got.BusType != abi.BusTypeSAS {
		t.Errorf("adapter %+v", got)
	}
	// Eight bytes are enough to learn the size (windows-api.md 2.1).
	header := ask(t, d, abi.IOCTL_STORAGE_QUERY_PROPERTY, query(abi.PropertyDevice), 8)
	whole := ask(t, d, abi.IOCTL_STORAGE_QUERY_PROPERTY, query(abi.PropertyDevice), 4096)
	if got := binary.LittleEndian.Uint32(header[4:]); int(got) != len(whole) {
		t.Errorf("header announces %d bytes, descriptor has %d", got, len(whole))
	}

	for _, p := range []abi.PropertyID{abi.PropertyDeviceID, abi.PropertyDeviceProtocol, abi.PropertyAdapterProtocol} {
		_, err := l.drive(2, win.NoAccess).Control(abi.IOCTL_STORAGE_QUERY_PROPERTY, query(p), make([]byte, 64))
		wantCode(t, err, win.ERROR_INVALID_FUNCTION)
	}
	_, err := l.drive(2, win.NoAccess).Control(abi.IOCTL_STORAGE_QUERY_PROPERTY, query(58), make([]byte, 64))
	wantCode(t, err, win.ERROR_NOT_SUPPORTED)
	_, err = l.drive(2, win.NoAccess).Control(abi.IOCTL_SCSI_GET_ADDRESS, nil, make([]byte, 64))
	wantCode(t, err, win.ERROR_INVALID_FUNCTION)
}

func TestDisk_NVMeIdentify(t *testing.T) {
	spec := plain("data")
	spec.Bus = "nvme"
	spec.NVMe = &NVMeSpec{Serial: "vol0123456789abcdef0", Model: "Amazon Elastic Block Store", Namespace: 1, EUI64: "0026b73840825615", ControllerArea: "/dev/sdf", NamespaceArea: "disk-1"}
	l := newLab(t, Switches{}, spec)
	d := l.drive(1, win.NoAccess)
	identify := func(i abi.NVMeIdentify) []byte {
		t.Helper()
		return decode(t, d, abi.IOCTL_STORAGE_QUERY_PROPERTY, i.Query().Encode(), abi.DecodeNVMeIdentifyReply)
	}
	data := identify(abi.NVMeIdentify{CNS: abi.CNSController})
	controller, err := abi.DecodeIdentifyController(data)
	if err != nil || controller.Serial != "vol0123456789abcdef0" || !strings.HasPrefix(controller.Model, "Amazon Elastic Block Store  ") {
		t.Errorf("controller %+v, %v", controller, err)
	}
	if !bytes.HasPrefix(data[3072:], []byte("/dev/sdf\x00")) {
		t.Errorf("vendor's part %q", data[3072:3084])
	}
	namespace, err := abi.DecodeIdentifyNamespace(identify(abi.NVMeIdentify{CNS: abi.CNSNamespace}))
	if err != nil || namespace.Blocks != 1<<21 || namespace.EUI64 != [8]byte{0, 0x26, 0xb7, 0x38, 0x40, 0x82, 0x56, 0x15} || !bytes.HasPrefix(namespace.VendorArea, []byte("disk-1\x00")) {
		t.Errorf("namespace of %d blocks, EUI64 %x, %v", namespace.Blocks, namespace.EUI64, err)
	}
	_, err = d.Control(abi.IOCTL_STORAGE_QUERY_PROPERTY, abi.NVMeIdentify{CNS: abi.CNSNamespace, Namespace: 2}.Query().Encode(), make([]byte, 8192))
	wantCode(t, err, win.ERROR_INVALID_PARAMETER)
	swapped := abi.NVMeIdentify{CNS: abi.CNSNamespace}.Query()
	swapped.Property = abi.PropertyAdapterProtocol
	_, err = d.Control(abi.IOCTL_STORAGE_QUERY_PROPERTY, swapped.Encode(), make([]byte, 8192))
	wantCode(t, err, win.ERROR_INVALID_PARAMETER)
	ask(t, d, abi.IOCTL_STORAGE_QUERY_PROPERTY, abi.PropertyQuery{Property: abi.PropertyAdapterProtocol, Type: abi.QueryExists}.Encode(), 0)
	ask(t, d, abi.IOCTL_DISK_IS_WRITABLE, nil, 0)
}

func TestVolume_Control(t *testing.T) {
	l := newLab(t, Switches{}, data("data"), plain("other"))
	v := l.only("data")
	d := l.openVolume(v, win.GenericRead)

	extents := decode(t, d, abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, abi.DecodeDiskExtents)
	if diff := cmp.Diff([]abi.DiskExtent{{Disk: 1, Offset: 16 << 20, Length: 1007 << 20}}, extents); diff != "" {
		t.Error(diff)
	}
	number := decode(t, d, abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, abi.DecodeDeviceNumber)
	if want := (abi.DeviceNumber{DeviceType: 7, Number: 1, Partition: 2}); number != want {
		t.Errorf("number %+v, want %+v", number, want)
	}
	if got := decode(t, d, abi.IOCTL_DISK_GET_LENGTH_INFO, nil, abi.DecodeLength); got != 1007<<20 {
		t.Errorf("length %d", got)
	}
	ntfs := decode(t, d, abi.FSCTL_GET_NTFS_VOLUME_DATA, nil, abi.DecodeNTFSVolumeData)
	if ntfs.Sectors != 1007<<11-1 || ntfs.TotalClusters != 1007<<8-1 || ntfs.BytesPerCluster != 4096 || ntfs.FreeClusters >= ntfs.TotalClusters {
		t.Errorf("NTFS %+v", ntfs)
	}
	_, err := d.Control(abi.IOCTL_VOLUME_IS_CLUSTERED, nil, nil)
	wantCode(t, err, win.ERROR_GEN_FAILURE)
	_, err = d.Control(abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, make([]byte, 31))
	wantCode(t, err, win.ERROR_INVALID_PARAMETER)
	_, err = d.Control(0x70FF0, nil, nil)
	wantCode(t, err, win.ERROR_INVALID_FUNCTION)
}

// A volume on two disks tells how many extents it has where they do not fit
// (windows-api.md 7.5).
func TestVolume_Spanned(t *testing.T) {
	l := newLab(t, Switches{}, data("data"), plain("other"))
	v := l.only("data")
	l.mu.Lock()
	v.extents = append(v.extents, extent{l.diskNamed("other"), 1 << 20, 64 << 20})
	l.mu.Unlock()
	d := l.openVolume(v, win.GenericRead)
	out := make([]byte, 40)
	n, err := d.Control(abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, out)
	wantCode(t, err, win.ERROR_MORE_DATA)
	if n != 32 || binary.LittleEndian.Uint32(out) != 2 {
		t.Errorf("%d bytes, %d extents, want 32 and 2", n, binary.LittleEndian.Uint32(out))
	}
	if got := decode(t, d, abi.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, abi.DecodeDiskExtents); len(got) != 2 || got[1].Disk != 2 {
		t.Errorf("extents %+v", got)
	}
	_, err = d.Control(abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, make([]byte, 64))
	wantCode(t, err, win.ERROR_INVALID_FUNCTION)
	if got := read(t, d, 1007<<20, 512); len(got) != 512 {
		t.Errorf("%d bytes of the second extent", len(got))
	}
}

func TestMountManager(t *testing.T) {
	l := newLab(t, Switches{}, data("data"))
	v := l.only("data")
	l.mu.Lock()
	p := l.diskNamed("data").partitions[1]
	l.mu.Unlock()
	d := l.open(abi.MountPointManager, win.NoAccess)
	query := func(m abi.MountPoint) []abi.MountPoint {
		t.Helper()
		in, err := m.EncodeQuery()
		if err != nil {
			t.Fatal(err)
		}
		return decode(t, d, abi.IOCTL_MOUNTMGR_QUERY_POINTS, in, abi.DecodeMountPoints)
	}
	all := query(abi.MountPoint{})
	if len(all) != 3 { // C: has a letter too
		t.Errorf("%d entries, want 3: %+v", len(all), all)
	}
	want := []abi.MountPoint{{
		SymbolicLink: `\??\Volume{` + v.id.String() + `}`,
		UniqueID:     abi.UniqueID{Style: abi.PartitionStyleGPT, Partition: p.id}.Encode(),
		Device:       fmt.Sprintf(`\Device\HarddiskVolume%d`, v.device),
	}}
	if diff := cmp.Diff(want, query(abi.MountPoint{UniqueID: want[0].UniqueID})); diff != "" {
		t.Error(diff)
	}
	if got := query(abi.MountPoint{SymbolicLink: `\DosDevices\C:`}); len(got) != 1 {
		t.Errorf("%+v for C:", got)
	}
	if !slices.ContainsFunc(all, func(m abi.MountPoint) bool { return m.SymbolicLink == `\DosDevices\C:` }) {
		t.Errorf("no entry for C: in %+v", all)
	}

	out := make([]byte, 64)
	n, err := d.Control(abi.IOCTL_MOUNTMGR_QUERY_POINTS, abi.QueryEveryMountPoint(), out)
	wantCode(t, err, win.ERROR_MORE_DATA)
	if n != 8 || binary.LittleEndian.Uint32(out) <= 64 {
		t.Errorf("%d bytes, size %d: want the size that it takes", n, binary.LittleEndian.Uint32(out))
	}
	unknown, err := abi.MountPoint{SymbolicLink: `\DosDevices\Q:`}.EncodeQuery()
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Control(abi.IOCTL_MOUNTMGR_QUERY_POINTS, unknown, make([]byte, 4096))
	wantCode(t, err, win.ERROR_FILE_NOT_FOUND)
	_, err = d.Control(abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, make([]byte, 4096))
	wantCode(t, err, win.ERROR_INVALID_FUNCTION)
	_, err = d.Control(abi.IOCTL_MOUNTMGR_QUERY_POINTS, abi.QueryEveryMountPoint()[:3], make([]byte, 4096))
	wantCode(t, err, win.ERROR_INVALID_PARAMETER)
	_, err = d.Control(abi.IOCTL_MOUNTMGR_QUERY_POINTS, abi.QueryEveryMountPoint(), make([]byte, 7))
	wantCode(t, err, win.ERROR_INVALID_PARAMETER)
}

// What a volume answers that NTFS is not mounted on, or that refuses changes.
func TestVolume_Control_Others(t *testing.T) {
	raw, broken, refs, frozen := data("raw"), data("broken"), data("refs"), data("frozen")
	raw.Partitions[1].Volume = nil
	raw.Partitions[1].Attributes = abi.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER
	broken.Partitions[1].Volume.State = uint32(win.ERROR_FILE_CORRUPT)
	refs.Partitions[1].Volume = &VolumeSpec{FileSystem: "ReFS"}
	frozen.ReadOnly = true
	l := newLab(t, Switches{}, raw, broken, refs, frozen)
	extend := abi.EncodeExtendVolume(1007 << 11)
	tests := []struct {
		disk string
		code uint32
		in   []byte
		want win.Errno // 0: success
	}{
		{"raw", abi.FSCTL_GET_NTFS_VOLUME_DATA, nil, win.ERROR_UNRECOGNIZED_VOLUME},
		{"broken", abi.FSCTL_GET_NTFS_VOLUME_DATA, nil, win.ERROR_FILE_CORRUPT},
		{"refs", abi.FSCTL_GET_NTFS_VOLUME_DATA, nil, win.ERROR_INVALID_FUNCTION},
		{"raw", abi.FSCTL_EXTEND_VOLUME, extend, win.ERROR_INVALID_FUNCTION},
		{"raw", abi.FSCTL_IS_VOLUME_DIRTY, nil, win.ERROR_UNRECOGNIZED_VOLUME},
		{"broken", abi.FSCTL_IS_VOLUME_DIRTY, nil, win.ERROR_FILE_CORRUPT},
		{"frozen", abi.FSCTL_EXTEND_VOLUME, extend, win.ERROR_WRITE_PROTECT},
		{"refs", abi.FSCTL_EXTEND_VOLUME, extend[:7], win.ERROR_INVALID_PARAMETER},
		{"frozen", abi.IOCTL_DISK_IS_WRITABLE, nil, win.ERROR_WRITE_PROTECT},
		{"raw", abi.IOCTL_DISK_IS_WRITABLE, nil, 0},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %#x", tt.disk, tt.code), func(t *testing.T) {
			_, err := l.openVolume(l.only(tt.disk), readWrite).Control(tt.code, tt.in, make([]byte, 96))
			if tt.want == 0 {
				l.must(err)
				return
			}
			wantCode(t, err, tt.want)
		})
	}
	d := l.openVolume(l.only("raw"), win.NoAccess)
	if got := ask(t, d, abi.IOCTL_VOLUME_GET_GPT_ATTRIBUTES, nil, 8); binary.LittleEndian.Uint64(got) != abi.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER {
		t.Errorf("attributes % x", got)
	}
	if got := sizeOf(t, d); got != 1<<30 {
		t.Errorf("the geometry tells %d bytes", got)
	}
}

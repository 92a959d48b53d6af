// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

const (
	basicData = "{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}"
	reserved  = "{e3c9e316-0b5c-4db8-817d-f92df00215ae}"
)

// edit changes the model as something other than WMI would.
func (c *wmiClient) edit(name string, f func(n *Node, d *disk) error) {
	c.t.Helper()
	if err := c.node.change(name, func(d *disk) error { return f(c.node, d) }); err != nil {
		c.t.Fatal(err)
	}
}

// partitioned makes disk 1 a GPT disk with one basic partition and returns the
// rows of the partition and its volume.
func (c *wmiClient) partitioned() (partition, volume win.Row) {
	c.t.Helper()
	disk := c.disk(1)
	if code := c.on(disk, "Initialize", param("PartitionStyle", int32(2))); code != 0 {
		c.t.Fatalf("Initialize: %d", code)
	}
	if code := c.on(disk, "CreatePartition", param("UseMaximumSize", true)); code != 0 {
		c.t.Fatalf("CreatePartition: %d", code)
	}
	return c.dataPartition(), c.row("SELECT * FROM MSFT_Volume WHERE DriveLetter = 0")
}

func (c *wmiClient) dataPartition() win.Row {
	c.t.Helper()
	return c.row("SELECT * FROM MSFT_Partition WHERE DiskNumber = 1 AND GptType = '" + basicData + "'")
}

// formatted is partitioned, and NTFS.
func (c *wmiClient) formatted() (partition, volume win.Row) {
	c.t.Helper()
	partition, volume = c.partitioned()
	if code := c.on(volume, "Format", param("FileSystem", "NTFS")); code != 0 {
		c.t.Fatalf("Format: %d", code)
	}
	return partition, volume
}

func TestWMIDisk_Row(t *testing.T) {
	spec := wmiSpec()
	spec.Disks[1].Identifiers = []IdentifierSpec{
		{CodeSet: "ascii", Type: "t10", Text: "Msft    x"},
		{CodeSet: "binary", Type: "naa", Hex: "60022480aabbccdd"},
		{CodeSet: "binary", Type: "naa", Association: "port", Hex: "5000"},
	}
	c := newWMIClient(t, mustNode(t, spec))
	got := c.disk(1)
	for name, want := range map[string]any{
		"Number": int32(1), "Size": "1073741824", "BusType": int32(10), "PartitionStyle": int32(0),
		"SerialNumber": "serial-data", "Manufacturer": "Msft    ", "Model": "Virtual Disk    ", "FriendlyName": "Msft Virtual Disk",
		"Location": "Integrated : Adapter 3 : Port 0 : Target 0 : LUN 1", "LogicalSectorSize": int32(512),
		"UniqueId": "60022480AABBCCDD", "UniqueIdFormat": int32(3),
		"IsOffline": false, "IsReadOnly": false, "IsBoot": false, "IsClustered": false,
		"Guid": nil, "Signature": nil, "OfflineReason": nil, "NumberOfPartitions": int32(0),
		"OperationalStatus": []any{int32(53264)},
	} {
		if !cmp.Equal(got[name], want) {
			t.Errorf("%s: got %T %v, want %T %v", name, got[name], got[name], want, want)
		}
	}
	if boot := c.disk(0); boot["IsBoot"] != true || boot["PartitionStyle"] != int32(2) || boot["Guid"] == nil {
		t.Errorf("boot disk: got %v, %v, %v", boot["IsBoot"], boot["PartitionStyle"], boot["Guid"])
	}
	if p := c.row("SELECT * FROM MSFT_PhysicalDisk WHERE DeviceId = '1'"); p["SerialNumber"] != "serial-data" || p["LogicalSectorSize"] != "512" {
		t.Errorf("physical disk: got %v, %v", p["SerialNumber"], p["LogicalSectorSize"])
	}
}

func TestWMIVolume_Row(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	got := c.row("SELECT * FROM MSFT_Volume WHERE DriveLetter = 'C'")
	for name, want := range map[string]any{
		"FileSystem": "NTFS", "FileSystemType": int32(14), "DriveLetter": int16('C'), "DriveType": int32(3), "AllocationUnitSize": int32(4096),
	} {
		if got[name] != want {
			t.Errorf("%s: got %T %v, want %T %v", name, got[name], got[name], want, want)
		}
	}
	if _, ok := parseVolumeName(got["UniqueId"].(string)); !ok || got["Path"] != got["UniqueId"] {
		t.Errorf("UniqueId %v, Path %v", got["UniqueId"], got["Path"])
	}
	_, raw := c.partitioned()
	for name, want := range map[string]any{"FileSystem": "", "FileSystemType": int32(0), "Size": "0", "SizeRemaining": "0"} {
		if raw[name] != want {
			t.Errorf("RAW: %s: got %v, want %v", name, raw[name], want)
		}
	}
}

// What is not changed by WMI itself shows in its rows after Refresh or
// UpdateHostStorageCache only.
func TestStorageCache(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	stale := c.disk(1)
	if err := c.node.GrowDisk("data", 2*GiB); err != nil {
		t.Fatal(err)
	}
	c.edit("data", func(n *Node, d *disk) error {
		return n.setAttributes(d, abi.DISK_ATTRIBUTE_READ_ONLY, abi.DISK_ATTRIBUTE_READ_ONLY, true)
	})
	if number, err := c.node.AttachDisk("late"); err != nil || number != 2 {
		t.Fatalf("attached as %d, %v", number, err)
	}
	if diff := cmp.Diff(stale, c.disk(1)); diff != "" {
		t.Errorf("native changes show (-was +is):\n%s", diff)
	}
	if rows, _ := c.query("SELECT * FROM MSFT_Disk WHERE Number = 2"); len(rows) != 0 {
		t.Error("a new disk shows")
	}
	if code := c.on(stale, "Refresh"); code != 0 {
		t.Fatalf("Refresh: %d", code)
	}
	if fresh := c.disk(1); fresh["Size"] != "2147483648" || fresh["IsReadOnly"] != true {
		t.Errorf("after Refresh: %v, %v", fresh["Size"], fresh["IsReadOnly"])
	}
	if rows, _ := c.query("SELECT * FROM MSFT_Disk WHERE Number = 2"); len(rows) != 0 {
		t.Error("Refresh of one disk shows another")
	}
	c.rescan()
	if got := c.disk(2)["SerialNumber"]; got != "serial-late" {
		t.Errorf("after the rescan: disk 2 is %v", got)
	}
	if err := c.node.DetachDisk("data"); err != nil {
		t.Fatal(err)
	}
	if code := c.on(c.disk(1), "Refresh"); code != 40003 {
		t.Errorf("Refresh of a disk that is gone: got %d, want 40003", code)
	}
	c.rescan()
	if rows, _ := c.query("SELECT * FROM MSFT_Disk WHERE Number = 1"); len(rows) != 0 {
		t.Error("a disk that is gone shows after the rescan")
	}
}

// A row leads to its own disk, whatever number that has by now.
func TestStorageCache_NumberMoved(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	stale := c.disk(1)
	if err := c.node.DetachDisk("data"); err != nil {
		t.Fatal(err)
	}
	for want, name := range []string{1: "late", 2: "data"} {
		if name == "" {
			continue
		}
		if number, err := c.node.AttachDisk(name); err != nil || int(number) != want {
			t.Fatalf("%s attached as %d, %v", name, number, err)
		}
	}
	if code := c.on(stale, "Initialize"); code != 0 {
		t.Fatalf("Initialize: %d", code)
	}
	c.rescan()
	if got := c.disk(1); got["SerialNumber"] != "serial-late" || got["PartitionStyle"] != int32(0) {
		t.Errorf("disk 1: %v has style %v", got["SerialNumber"], got["PartitionStyle"])
	}
	if got := c.disk(2); got["SerialNumber"] != "serial-data" || got["PartitionStyle"] != int32(2) {
		t.Errorf("disk 2: %v has style %v", got["SerialNumber"], got["PartitionStyle"])
	}
}

// A row also leads to another disk that has taken its disk's place: that is
// what callers must guard against.
func TestStorageCache_PlaceTaken(t *testing.T) {
	spec := wmiSpec()
	const path = `\\?\scsi#disk&ven_nvme#5&1&0&000001#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}`
	spec.Disks[1].InterfacePath, spec.Attachable[0].InterfacePath = path, path
	c := newWMIClient(t, mustNode(t, spec))
	stale := c.disk(1)
	if err := c.node.DetachDisk("data"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.node.AttachDisk("late"); err != nil {
		t.Fatal(err)
	}
	if code := c.on(stale, "Initialize"); code != 0 {
		t.Fatalf("Initialize: %d", code)
	}
	if got := c.disk(1); got["SerialNumber"] != "serial-late" || got["PartitionStyle"] != int32(2) {
		t.Errorf("disk 1: %v has style %v", got["SerialNumber"], got["PartitionStyle"])
	}
}

func TestStorageCache_StaleRowsRefused(t *testing.T) {
	spec := wmiSpec()
	spec.Switches.StaleRowsRefused = true
	c := newWMIClient(t, mustNode(t, spec))
	row := c.disk(1)
	c.edit("data", func(n *Node, d *disk) error {
		return n.setAttributes(d, abi.DISK_ATTRIBUTE_READ_ONLY, abi.DISK_ATTRIBUTE_READ_ONLY, true)
	})
	if code := c.on(row, "Initialize"); code != 40003 {
		t.Errorf("stale: got %d, want 40003", code)
	}
	if code := c.on(row, "Refresh"); code != 0 {
		t.Errorf("Refresh: %d", code)
	}
	if code := c.on(row, "Initialize"); code != 41002 {
		t.Errorf("refreshed: got %d, want 41002", code)
	}
}

func TestWMIDisk_RefreshTellsState(t *testing.T) {
	spec := wmiSpec()
	spec.Switches.RefreshTellsState = true
	spec.Disks[1].Offline = true
	c := newWMIClient(t, mustNode(t, spec))
	for _, step := range []struct {
		before string
		want   uint32
	}{{"", 41003}, {"Online", 41000}, {"Initialize", 0}} {
		if step.before != "" && c.on(c.disk(1), step.before) != 0 {
			t.Fatalf("%s failed", step.before)
		}
		if got := c.on(c.disk(1), "Refresh"); got != step.want {
			t.Errorf("after %q: got %d, want %d", step.before, got, step.want)
		}
	}
}

func TestWMIDisk_Initialize(t *testing.T) {
	for _, tt := range []struct {
		name  string
		disk  func(*DiskSpec)
		in    []win.Param
		want  uint32
		style int32
	}{
		{"GPT by default", nil, nil, 0, 2},
		{"GPT", nil, []win.Param{param("PartitionStyle", int32(2))}, 0, 2},
		{"MBR", nil, []win.Param{param("PartitionStyle", int32(1))}, 0, 1},
		{"no style", nil, []win.Param{param("PartitionStyle", int32(0))}, 41010, 0},
		{"initialised", func(d *DiskSpec) { d.Style = "gpt" }, nil, 41001, 2},
		{"read-only", func(d *DiskSpec) { d.ReadOnly = true }, nil, 41002, 0},
		{"offline", func(d *DiskSpec) { d.Offline = true }, nil, 41003, 0},
		{"too small", func(d *DiskSpec) { d.Size = 8 * MiB }, nil, 41014, 0},
		{"clustered", func(d *DiskSpec) { d.Clustered = true }, nil, 41018, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := wmiSpec()
			if tt.disk != nil {
				tt.disk(&spec.Disks[1])
			}
			c := newWMIClient(t, mustNode(t, spec))
			if got := c.on(c.disk(1), "Initialize", tt.in...); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
			c.rescan()
			if got := c.disk(1)["PartitionStyle"]; got != tt.style {
				t.Errorf("style: got %v, want %v", got, tt.style)
			}
		})
	}
}

// Windows makes the reserved partition itself (windows-api.md 5.3).
func TestWMIDisk_InitializeReserves(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	if code := c.on(c.disk(1), "Initialize"); code != 0 {
		t.Fatal(code)
	}
	if got := c.row("SELECT * FROM MSFT_Partition WHERE DiskNumber = 1")["GptType"]; got != reserved {
		t.Errorf("got %v, want %s", got, reserved)
	}
}

func TestWMIDisk_CreatePartition(t *testing.T) {
	maximum := param("UseMaximumSize", true)
	size := func(mib uint64) win.Param { return param("Size", strconv.FormatUint(mib<<20, 10)) }
	gpt := func(d *DiskSpec) { d.Style = "gpt" }
	mbr := func(d *DiskSpec) { d.Style = "mbr" }
	for _, tt := range []struct {
		name string
		disk func(*DiskSpec)
		in   []win.Param
		want uint32
		made bool
	}{
		{"all of it", gpt, []win.Param{maximum}, 0, true},
		{"a size", gpt, []win.Param{size(100)}, 0, true},
		{"at an offset", gpt, []win.Param{size(100), param("Offset", "104857600")}, 0, true},
		{"a type", gpt, []win.Param{maximum, param("GptType", basicData)}, 0, true},
		{"on MBR", mbr, []win.Param{maximum, param("MbrType", int32(7)), param("IsActive", true)}, 0, true},
		{"a letter", gpt, []win.Param{maximum, param("DriveLetter", int16('X'))}, 0, true},
		{"any letter", gpt, []win.Param{maximum, param("AssignDriveLetter", true)}, 0, true},
		{"hidden", gpt, []win.Param{maximum, param("IsHidden", true)}, 0, true},
		{"a letter in use", gpt, []win.Param{maximum, param("DriveLetter", int16('c'))}, 42002, true},

		{"no size", gpt, nil, 40005, false},
		{"both sizes", gpt, []win.Param{size(1), maximum}, 40005, false},
		{"neither size", gpt, []win.Param{param("UseMaximumSize", false)}, 40005, false},
		{"both letters", gpt, []win.Param{maximum, param("DriveLetter", int16('X')), param("AssignDriveLetter", true)}, 5, false},
		{"hidden with a letter", gpt, []win.Param{maximum, param("IsHidden", true), param("DriveLetter", int16('X'))}, 42004, false},
		{"GptType on MBR", mbr, []win.Param{maximum, param("GptType", basicData)}, 41006, false},
		{"MbrType on GPT", gpt, []win.Param{maximum, param("MbrType", int32(7))}, 41006, false},
		{"active on GPT", gpt, []win.Param{maximum, param("IsActive", true)}, 41006, false},
		{"no type", gpt, []win.Param{maximum, param("GptType", "basic")}, 41010, false},
		{"no type of MBR", mbr, []win.Param{maximum, param("MbrType", int32(256))}, 41010, false},
		{"size 0", gpt, []win.Param{size(0)}, 4097, false},
		{"too large", gpt, []win.Param{size(1024)}, 40000, false},
		{"larger than the disk", gpt, []win.Param{size(1 << 30)}, 40000, false},
		{"alignment", gpt, []win.Param{maximum, param("Alignment", int32(1000))}, 41005, false},
		{"offset", gpt, []win.Param{size(1), param("Offset", "1000")}, 41012, false},
		{"beyond the end", gpt, []win.Param{size(1), param("Offset", "2147483648")}, 41012, false},
		{"RAW", nil, []win.Param{maximum}, 41000, false},
		{"read-only", func(d *DiskSpec) { gpt(d); d.ReadOnly = true }, []win.Param{maximum}, 41002, false},
		{"offline", func(d *DiskSpec) { gpt(d); d.Offline = true }, []win.Param{maximum}, 41003, false},
		{"clustered", func(d *DiskSpec) { gpt(d); d.Clustered = true }, []win.Param{maximum}, 41018, false},
		{"full", func(d *DiskSpec) { gpt(d); d.Partitions = []PartitionSpec{{}} }, []win.Param{maximum}, 40000, false},
		{"fifth on MBR", func(d *DiskSpec) {
			mbr(d)
			for range 4 {
				d.Partitions = append(d.Partitions, PartitionSpec{Size: MiB})
			}
		}, []win.Param{maximum}, 41004, false},
		{"beyond 2 TiB on MBR", func(d *DiskSpec) { mbr(d); d.Size = 4 * TiB }, []win.Param{size(3 << 20)}, 41011, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := wmiSpec()
			if tt.disk != nil {
				tt.disk(&spec.Disks[1])
			}
			c := newWMIClient(t, mustNode(t, spec))
			disk := c.disk(1)
			out := c.out(disk, "CreatePartition", tt.in...)
			if got := c.returned(out); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
			created, _ := out["CreatedPartition"].(win.Row)
			if (created != nil) != tt.made {
				t.Errorf("CreatedPartition: got %v", created)
			}
			c.rescan()
			made := int(c.disk(1)["NumberOfPartitions"].(int32)) - len(spec.Disks[1].Partitions)
			if (made == 1) != tt.made {
				t.Errorf("%d partitions made", made)
			}
			if tt.made && created["DiskNumber"] != int32(1) {
				t.Errorf("CreatedPartition: got %v", created)
			}
		})
	}
}

// The volume of a new partition arrives later; WMI shows it once it looks again.
func TestWMIDisk_LateVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := wmiSpec()
		spec.Arrival = Duration(5 * time.Second)
		spec.Disks[1].Style = "gpt"
		n := mustNode(t, spec)
		time.Sleep(time.Minute)
		c := newWMIClient(t, n)
		c.rescan()
		disk := c.disk(1)
		if code := c.on(disk, "CreatePartition", param("UseMaximumSize", true)); code != 0 {
			t.Fatal(code)
		}
		count := func() int {
			rows, err := c.query("SELECT ObjectId FROM MSFT_Volume")
			if err != nil {
				t.Fatal(err)
			}
			return len(rows)
		}
		if got := count(); got != 1 {
			t.Errorf("at once: %d volumes, want 1", got)
		}
		time.Sleep(5 * time.Second)
		if got := count(); got != 1 {
			t.Errorf("unasked: %d volumes, want 1", got)
		}
		if code := c.on(disk, "Refresh"); code != 0 {
			t.Fatal(code)
		}
		if got := count(); got != 2 {
			t.Errorf("after Refresh: %d volumes, want 2", got)
		}
	})
}

func TestWMIDisk_OnlineOffline(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	for _, step := range []struct {
		number  uint32
		method  string
		want    uint32
		offline bool
	}{
		{1, "Offline", 0, true},
		{1, "Offline", 0, true},
		{1, "Online", 0, false},
		{1, "Online", 0, false},
		{0, "Offline", 41009, false},
	} {
		if got := c.on(c.disk(step.number), step.method); got != step.want {
			t.Errorf("%s of disk %d: got %d, want %d", step.method, step.number, got, step.want)
		}
		if got := c.disk(step.number)["IsOffline"]; got != step.offline {
			t.Errorf("%s of disk %d: offline %v", step.method, step.number, got)
		}
	}
}

// What a cluster owns changes state for the cluster alone.
func TestWMIDisk_Clustered(t *testing.T) {
	spec := wmiSpec()
	spec.Disks[1].Clustered = true
	c := newWMIClient(t, mustNode(t, spec))
	for method, in := range map[string][]win.Param{"Online": nil, "Offline": nil, "SetAttributes": {param("IsReadOnly", true)}} {
		if got := c.on(c.disk(1), method, in...); got != 41018 {
			t.Errorf("%s: got %d, want 41018", method, got)
		}
	}
}

// Offline takes the volumes away, Online brings them back.
func TestWMIDisk_OfflineVolumes(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	_, volume := c.partitioned()
	for _, step := range []struct {
		method string
		want   int
	}{{"Offline", 1}, {"Online", 2}} {
		if code := c.on(c.disk(1), step.method); code != 0 {
			t.Fatalf("%s: %d", step.method, code)
		}
		if rows, _ := c.query("SELECT * FROM MSFT_Volume"); len(rows) != step.want {
			t.Errorf("%s: %d volumes, want %d", step.method, len(rows), step.want)
		}
		if step.method == "Offline" {
			if _, err := c.session.Get(volume[sysRelPath].(string)); err == nil {
				t.Error("the volume of an offline disk is there")
			}
		}
	}
}

func TestWMIDisk_SetAttributes(t *testing.T) {
	const id = "{11111111-2222-3333-4444-555555555555}"
	for _, tt := range []struct {
		name  string
		style string
		in    []win.Param
		want  uint32
		check string
		value any
	}{
		{"read-only", "", []win.Param{param("IsReadOnly", true)}, 0, "IsReadOnly", true},
		{"writable", "", []win.Param{param("IsReadOnly", false)}, 0, "IsReadOnly", false},
		{"GUID", "gpt", []win.Param{param("Guid", id)}, 0, "Guid", id},
		{"signature", "mbr", []win.Param{param("Signature", int32(-2))}, 0, "Signature", int32(-2)},
		{"nothing", "gpt", nil, 5, "IsReadOnly", false},
		{"two at once", "gpt", []win.Param{param("IsReadOnly", true), param("Guid", id)}, 5, "IsReadOnly", false},
		{"NULL counts as not given", "gpt", []win.Param{param("IsReadOnly", true), param("Guid", nil)}, 0, "IsReadOnly", true},
		{"no GUID", "gpt", []win.Param{param("Guid", "x")}, 5, "IsReadOnly", false},
		{"GUID on MBR", "mbr", []win.Param{param("Guid", id)}, 41006, "Guid", nil},
		{"signature on GPT", "gpt", []win.Param{param("Signature", int32(1))}, 41006, "Signature", nil},
		{"GUID on RAW", "", []win.Param{param("Guid", id)}, 41000, "Guid", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := wmiSpec()
			spec.Disks[1].Style = tt.style
			c := newWMIClient(t, mustNode(t, spec))
			if got := c.on(c.disk(1), "SetAttributes", tt.in...); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
			c.rescan()
			if got := c.disk(1)[tt.check]; got != tt.value {
				t.Errorf("%s: got %v, want %v", tt.check, got, tt.value)
			}
		})
	}
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	if got := c.on(c.disk(0), "SetAttributes", param("IsReadOnly", true)); got != 41009 {
		t.Errorf("boot disk: got %d, want 41009", got)
	}
}

func TestWMIDisk_ClearAndConvert(t *testing.T) {
	data := func(d *DiskSpec) { d.Style, d.Partitions = "gpt", []PartitionSpec{{}} }
	for _, tt := range []struct {
		name   string
		number uint32
		disk   func(*DiskSpec)
		method string
		in     []win.Param
		want   uint32
		style  int32
	}{
		{"clear data unasked", 1, data, "Clear", nil, 41008, 2},
		{"clear data", 1, data, "Clear", []win.Param{param("RemoveData", true)}, 0, 0},
		{"clear OEM unasked", 1, func(d *DiskSpec) {
			d.Style, d.Partitions = "gpt", []PartitionSpec{{Type: "recovery"}}
		}, "Clear", []win.Param{param("RemoveData", true)}, 41007, 2},
		{"clear an empty table", 1, func(d *DiskSpec) { d.Style = "gpt" }, "Clear", nil, 0, 0},
		{"clear offline", 1, func(d *DiskSpec) { data(d); d.Offline = true }, "Clear", []win.Param{param("RemoveData", true)}, 41003, 2},
		{"clear clustered", 1, func(d *DiskSpec) { data(d); d.Clustered = true }, "Clear", []win.Param{param("RemoveData", true)}, 41019, 2},
		{"clear RAW", 1, nil, "Clear", nil, 41000, 0},
		{"clear the boot disk", 0, nil, "Clear", []win.Param{param("RemoveData", true), param("RemoveOEM", true)}, 41009, 2},
		{"convert", 1, func(d *DiskSpec) { d.Style = "mbr" }, "ConvertStyle", []win.Param{param("PartitionStyle", int32(2))}, 0, 2},
		{"convert to the same", 1, func(d *DiskSpec) { d.Style = "mbr" }, "ConvertStyle", []win.Param{param("PartitionStyle", int32(1))}, 5, 1},
		{"convert data", 1, data, "ConvertStyle", []win.Param{param("PartitionStyle", int32(1))}, 41013, 2},
		{"convert RAW", 1, nil, "ConvertStyle", []win.Param{param("PartitionStyle", int32(1))}, 41000, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := wmiSpec()
			if tt.disk != nil {
				tt.disk(&spec.Disks[1])
			}
			c := newWMIClient(t, mustNode(t, spec))
			if got := c.on(c.disk(tt.number), tt.method, tt.in...); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
			c.rescan()
			if got := c.disk(tt.number)["PartitionStyle"]; got != tt.style {
				t.Errorf("style: got %v, want %v", got, tt.style)
			}
		})
	}
}

func TestWMIVolume_Format(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []win.Param
		want uint32
		fs   string
	}{
		{"NTFS by default", nil, 0, "NTFS"},
		{"label and unit", []win.Param{param("FileSystem", "ntfs"), param("FileSystemLabel", "data"), param("AllocationUnitSize", int32(65536))}, 0, "NTFS"},
		{"ReFS", []win.Param{param("FileSystem", "ReFS"), param("AllocationUnitSize", int32(65536))}, 0, "ReFS"},
		{"as a job", []win.Param{param("RunAsJob", true)}, 4096, "NTFS"},
		{"unknown file system", []win.Param{param("FileSystem", "ext4")}, 43001, ""},
		{"no file system", []win.Param{param("FileSystem", "")}, 43001, ""},
		{"odd unit", []win.Param{param("AllocationUnitSize", int32(5000))}, 43000, ""},
		{"no unit", []win.Param{param("AllocationUnitSize", int32(0))}, 43000, ""},
		{"ReFS unit", []win.Param{param("FileSystem", "ReFS"), param("AllocationUnitSize", int32(8192))}, 43000, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newWMIClient(t, mustNode(t, wmiSpec()))
			_, volume := c.partitioned()
			out := c.out(volume, "Format", tt.in...)
			if got := c.returned(out); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
			if _, got := out["FormattedVolume"].(win.Row); got != (tt.want == 0) {
				t.Errorf("FormattedVolume: got %v", out["FormattedVolume"])
			}
			if _, got := out["CreatedStorageJob"].(string); got != (tt.want == 4096) {
				t.Errorf("CreatedStorageJob: got %v", out["CreatedStorageJob"])
			}
			after, err := c.session.Get(volume[sysPath].(string))
			if err != nil {
				t.Fatal(err)
			}
			if after["FileSystem"] != tt.fs {
				t.Errorf("file system: got %v, want %v", after["FileSystem"], tt.fs)
			}
		})
	}
}

func TestWMIVolume_FormatRefused(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	_, volume := c.formatted()
	if got := c.on(volume, "Format"); got != 6 {
		t.Errorf("formatted, without Force: got %d, want 6", got)
	}
	if got := c.on(volume, "Format", param("Force", true)); got != 0 {
		t.Errorf("formatted, with Force: got %d, want 0", got)
	}
	system := c.row("SELECT * FROM MSFT_Volume WHERE DriveLetter = 'C'")
	if got := c.on(system, "Format", param("Force", true)); got != 42010 {
		t.Errorf("system volume: got %d, want 42010", got)
	}
	c.edit("data", func(n *Node, d *disk) error {
		return n.setAttributes(d, abi.DISK_ATTRIBUTE_READ_ONLY, abi.DISK_ATTRIBUTE_READ_ONLY, true)
	})
	if got := c.on(volume, "Format", param("Force", true)); got != 43006 {
		t.Errorf("read-only: got %d, want 43006", got)
	}
	if err := c.node.DetachDisk("data"); err != nil {
		t.Fatal(err)
	}
	if got := c.on(volume, "Format", param("Force", true)); got != 40003 {
		t.Errorf("gone: got %d, want 40003", got)
	}
}

// A job formats although its call has ended.
func TestWMIVolume_FormatJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := mustNode(t, wmiSpec())
		c := newWMIClient(t, n)
		_, volume := c.partitioned()
		n.Latency("MSFT_Volume.Format", time.Hour)
		if got := c.on(volume, "Format", param("RunAsJob", true)); got != 4096 {
			t.Fatalf("got %d, want 4096", got)
		}
		for _, want := range []string{"", "NTFS"} {
			row, err := c.session.Get(volume[sysPath].(string))
			if err != nil {
				t.Fatal(err)
			}
			if row["FileSystem"] != want {
				t.Errorf("got %v, want %q", row["FileSystem"], want)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
		}
	})
}

func TestWMIVolume_Flush(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	if got := c.on(c.row("SELECT * FROM MSFT_Volume"), "Flush"); got != 0 {
		t.Errorf("got %d", got)
	}
}

func TestWMIPartition_Resize(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	partition, volume := c.formatted()
	resize := func(size string) uint32 { return c.on(partition, "Resize", param("Size", size)) }
	size, ok := partition["Size"].(string)
	if !ok {
		t.Fatalf("Size is %T", partition["Size"])
	}
	if got := resize(size); got != 4097 {
		t.Errorf("to the size that it has: got %d, want 4097", got)
	}
	if err := c.node.GrowDisk("data", 2*GiB); err != nil {
		t.Fatal(err)
	}
	if got := resize("1610612736"); got != 4097 {
		t.Errorf("before Refresh: got %d, want 4097", got)
	}
	if code := c.on(c.disk(1), "Refresh"); code != 0 {
		t.Fatal(code)
	}
	if got := resize("1610612736"); got != 0 {
		t.Errorf("grow: got %d, want 0", got)
	}
	if got := c.dataPartition()["Size"]; got != "1610612736" {
		t.Errorf("partition: %v", got)
	}
	if row, err := c.session.Get(volume[sysPath].(string)); err != nil || row["Size"] != "1610612736" {
		t.Errorf("file system: %v, %v", row["Size"], err)
	}
	for _, tt := range []struct {
		name string
		in   []win.Param
		want uint32
	}{
		{"smaller", []win.Param{param("Size", "1048576")}, 4097},
		{"beyond the disk", []win.Param{param("Size", "2147483648")}, 4097},
		{"huge", []win.Param{param("Size", "18446744073709551615")}, 4097},
		{"no size", nil, 5},
	} {
		if got := c.on(partition, "Resize", tt.in...); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
	msr := c.row("SELECT * FROM MSFT_Partition WHERE DiskNumber = 1 AND GptType = '" + reserved + "'")
	if got := c.on(msr, "Resize", param("Size", "1073741824")); got != 1 {
		t.Errorf("reserved partition: got %d, want 1", got)
	}
}

// What a partition refuses whatever the size, and one that is gone.
func TestWMIPartition_Refused(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	partition, _ := c.formatted()
	msr := c.row("SELECT * FROM MSFT_Partition WHERE DiskNumber = 1 AND GptType = '" + reserved + "'")
	if got := c.on(msr, "GetSupportedSize"); got != 1 {
		t.Errorf("size of the reserved partition: got %d, want 1", got)
	}
	larger := param("Size", "1610612736")
	if err := c.node.GrowDisk("data", 2*GiB); err != nil {
		t.Fatal(err)
	}
	if code := c.on(c.disk(1), "Refresh"); code != 0 {
		t.Fatal(code)
	}
	readOnly := func(bits uint64) {
		c.edit("data", func(n *Node, d *disk) error { return n.setAttributes(d, bits, abi.DISK_ATTRIBUTE_READ_ONLY, true) })
	}
	readOnly(abi.DISK_ATTRIBUTE_READ_ONLY)
	if got := c.on(partition, "Resize", larger); got != 41002 {
		t.Errorf("read-only: got %d, want 41002", got)
	}
	readOnly(0)
	c.edit("data", func(_ *Node, d *disk) error { d.partitions = d.partitions[:1]; return nil })
	if got := c.on(partition, "Resize", larger); got != 40003 {
		t.Errorf("gone: got %d, want 40003", got)
	}
}

// A cluster's volume is not formatted (windows-api.md 7.10).
func TestWMIVolume_FormatClustered(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	_, volume := c.partitioned()
	c.edit("data", func(_ *Node, d *disk) error { d.clustered = true; return nil })
	if got := c.on(volume, "Format", param("Force", true)); got != 40018 {
		t.Errorf("got %d, want 40018", got)
	}
}

// RAW can grow, a file system that Windows cannot extend cannot.
func TestWMIPartition_ResizeByFileSystem(t *testing.T) {
	for fs, want := range map[string]uint32{"": 0, "NTFS": 0, "ReFS": 0, "FAT32": 42009} {
		t.Run("fs "+fs, func(t *testing.T) {
			spec := wmiSpec()
			spec.Disks[1].Style = "gpt"
			spec.Disks[1].Partitions = []PartitionSpec{{Size: 512 * MiB, Volume: &VolumeSpec{FileSystem: fs}}}
			c := newWMIClient(t, mustNode(t, spec))
			if got := c.on(c.dataPartition(), "Resize", param("Size", "805306368")); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
}

func TestWMIPartition_GetSupportedSize(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	partition, _ := c.formatted()
	out := c.out(partition, "GetSupportedSize")
	if got := c.returned(out); got != 0 {
		t.Fatalf("got %d", got)
	}
	if got := c.on(partition, "Resize", param("Size", out["SizeMax"])); got != 0 {
		t.Errorf("Resize to SizeMax: got %d", got)
	}
	c.node.SetDefragmenter(false)
	out = c.out(partition, "GetSupportedSize")
	if got := c.returned(out); got != 4 || out["SizeMax"] != nil {
		t.Errorf("without defragsvc: got %d, SizeMax %v", got, out["SizeMax"])
	}
	c.node.SetDefragmenter(true)
	if got := c.on(partition, "GetSupportedSize"); got != 0 {
		t.Errorf("with defragsvc again: got %d", got)
	}
}

func TestWMIPartition_Online(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	partition, _ := c.partitioned()
	if got := c.on(partition, "Online"); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
	msr := c.row("SELECT * FROM MSFT_Partition WHERE DiskNumber = 1 AND GptType = '" + reserved + "'")
	if got := c.on(msr, "Online"); got != 42011 {
		t.Errorf("reserved partition: got %d, want 42011", got)
	}
}

func TestMethodInput(t *testing.T) {
	n := mustNode(t, wmiSpec())
	for _, tt := range []struct {
		class, method string
		want          []string
		err           error
	}{
		{"MSFT_Disk", "Initialize", []string{"PartitionStyle"}, nil},
		{"msft_disk", "refresh", nil, nil}, // it has only out parameters
		{"MSFT_StorageSetting", "UpdateHostStorageCache", nil, nil},
		{"MSFT_Disk", "None", nil, win.WBEM_E_INVALID_METHOD},
		{"MSFT_None", "Refresh", nil, win.WBEM_E_NOT_FOUND},
	} {
		got, err := n.MethodInput(storageNamespace, tt.class, tt.method)
		if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%s.%s: got %v, %v; want %v, %v", tt.class, tt.method, got, err, tt.want, tt.err)
		}
	}
}

func TestWMIStorageSetting(t *testing.T) {
	for policy, want := range map[SANPolicy]int32{"": 1, OnlineAll: 1, OfflineShared: 2, OfflineAll: 3, OfflineInternal: 4} {
		t.Run("policy "+string(policy), func(t *testing.T) {
			spec := wmiSpec()
			spec.SANPolicy = policy
			c := newWMIClient(t, mustNode(t, spec))
			out, err := c.call("MSFT_StorageSetting", "", "Get")
			if err != nil {
				t.Fatal(err)
			}
			setting, ok := out["StorageSetting"].(win.Row)
			if !ok || setting["NewDiskPolicy"] != want {
				t.Errorf("got %v, want %d", setting["NewDiskPolicy"], want)
			}
			if rows, err := c.query("SELECT * FROM MSFT_StorageSetting"); err != nil || len(rows) != 0 {
				t.Errorf("instances: %v, %v", rows, err)
			}
		})
	}
}

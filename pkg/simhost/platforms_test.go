// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// shippedDisks are the disks of all shipped nodes, by node and name.
func shippedDisks(t *testing.T) map[string]DiskSpec {
	t.Helper()
	disks := map[string]DiskSpec{}
	for _, name := range Names() {
		spec, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range slices.Concat(spec.Disks, spec.Attachable) {
			disks[name+"/"+d.Name] = d
		}
	}
	return disks
}

// section is a part of windows-api.md, between two headings.
func section(t *testing.T, from, to string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/facts/windows-api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n"+from)
	text, _, ends := strings.Cut(rest, "\n"+to)
	if !found || !ends {
		t.Fatalf("no section %q", from)
	}
	return text
}

var (
	digits     = regexp.MustCompile(`\d+`)
	hexDigits  = regexp.MustCompile(`[0-9A-F]{4}\b`)
	tableCell  = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
	documented = regexp.MustCompile("`(PCIROOT[^`]+)`")
)

// form is a location with every number put out of sight.
func form(location string) string {
	return digits.ReplaceAllString(hexDigits.ReplaceAllString(location, "0"), "0")
}

// Every form of MSFT_Disk.Location that is known is that of a disk of a shipped
// node (windows-api.md 3.2).
func TestNodes_HaveEveryLocationForm(t *testing.T) {
	page := section(t, "### 3.2", "### 3.3")
	var examples []string
	for _, found := range append(tableCell.FindAllStringSubmatch(page, -1), documented.FindAllStringSubmatch(page, -1)...) {
		examples = append(examples, found[1])
	}
	if len(examples) != 15 {
		t.Fatalf("the page has %d examples: %q", len(examples), examples)
	}
	forms := map[string]bool{}
	files, nulls := 0, 0
	for _, d := range shippedDisks(t) {
		forms[form(d.Location)] = true
		if strings.Contains(d.Location, `:\`) {
			files++
		}
		if d.Location == "" {
			nulls++
		}
	}
	for _, example := range examples {
		if isFile := strings.Contains(example, `:\`); isFile && files == 0 || !isFile && !forms[form(example)] {
			t.Errorf("no disk at a place like %q", example)
		}
	}
	if nulls == 0 {
		t.Error("every disk has a location")
	}
}

// What a disk says of itself in one place agrees with what it says in others.
func TestNodes_AreConsistent(t *testing.T) {
	location := regexp.MustCompile(`Adapter (\d+)(?: : Port (\d+))?(?: : Target (\d+) : LUN (\d+))?$`)
	for name, d := range shippedDisks(t) {
		if found := location.FindStringSubmatch(d.Location); found != nil && d.Address != nil {
			a := *d.Address
			for i, number := range []uint8{a.Port, a.Path, a.Target, a.LUN} {
				// The word Port of a SATA disk is another number than its path.
				if said := found[i+1]; said != "" && said != decimal(uint64(number)) && d.Bus != "sata" {
					t.Errorf("%s at %q has the address %+v", name, d.Location, a)
				}
			}
		}
		if (d.NVMe != nil) != (d.Bus == "nvme") {
			t.Errorf("%s: bus %s, NVMe %v", name, d.Bus, d.NVMe != nil)
		}
		if d.NVMe != nil && d.Address != nil && uint32(d.Address.LUN) != d.NVMe.Namespace-1 {
			t.Errorf("%s: LUN %d of namespace %d (windows-api.md 2.4)", name, d.Address.LUN, d.NVMe.Namespace)
		}
		for _, text := range []struct {
			s      string
			length int
		}{{d.Vendor, 8}, {d.Product, 16}} {
			if scsi := d.Bus != "sata" && d.Bus != "ata"; scsi && len(text.s) != text.length {
				t.Errorf("%s: %q has not the %d characters of SCSI inquiry data", name, text.s, text.length)
			}
		}
		if !strings.HasSuffix(d.InterfacePath, "#{"+abi.GUID_DEVINTERFACE_DISK.String()+"}") {
			t.Errorf("%s: interface path %q", name, d.InterfacePath)
		}
	}
}

// The serial number that Windows shows of an NVMe disk is made of its namespace's
// id, or of the controller's serial number and the namespace (windows-api.md 2.4).
func TestNodes_NVMeSerialNumbers(t *testing.T) {
	grouped := func(id string) string {
		var groups []string
		for group := range slices.Chunk([]byte(strings.ToUpper(id)), 4) {
			groups = append(groups, string(group))
		}
		return strings.Join(groups, "_") + "."
	}
	for name, d := range shippedDisks(t) {
		if d.NVMe == nil {
			continue
		}
		want := d.NVMe.Serial + "_0000000" + decimal(uint64(d.NVMe.Namespace)) + "."
		switch {
		case d.NVMe.NGUID != "":
			want = grouped(d.NVMe.NGUID)
		case d.NVMe.EUI64 != "":
			want = grouped(strings.Repeat("0", 16) + d.NVMe.EUI64)
		}
		if d.Serial != want {
			t.Errorf("%s: serial number %q, want %q", name, d.Serial, want)
		}
	}
}

// Each release of Windows Server that nodes differ by is there (windows-api.md
// 15).
func TestNodes_HaveEveryRelease(t *testing.T) {
	nodes := map[uint32]int{}
	for _, name := range Names() {
		spec, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		nodes[spec.Build]++
	}
	for _, build := range []uint32{17763, 20348, 26100} {
		if nodes[build] < 2 {
			t.Errorf("%d nodes of build %d", nodes[build], build)
		}
	}
}

// A disk that arrives is told to whoever watches disks, after it answers.
func TestArrivals(t *testing.T) {
	l := newLab(t, Switches{})
	if err := l.AddDisk(data("late")); err != nil {
		t.Fatal(err)
	}
	var disks, volumes int
	for class, count := range map[abi.GUID]*int{abi.GUID_DEVINTERFACE_DISK: &disks, abi.GUID_DEVINTERFACE_VOLUME: &volumes} {
		if err := l.Host().Arrivals.Watch(class, func() { *count++ }); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := l.AttachDisk("late"); err != nil {
			t.Fatal(err)
		}
		if err := l.DetachDisk("late"); err != nil {
			t.Fatal(err)
		}
	}
	if disks != 2 || volumes != 0 {
		t.Errorf("told of %d disks and %d others", disks, volumes)
	}
}

// The disks below MPIO are listed and open, and have no number (windows-api.md
// 1.2). They come and go with the disk that is made of them.
func TestPathDisks(t *testing.T) {
	spec, err := Named("san-fibre")
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	l := lab{t, n}
	paths := spec.Attachable[0].PathDisks
	listed := func() []string {
		t.Helper()
		all, err := l.Host().Devices.Interfaces(abi.GUID_DEVINTERFACE_DISK)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := listed()
	if _, err := l.AttachDisk("data"); err != nil {
		t.Fatal(err)
	}
	if got, want := listed(), append(append(before, spec.Attachable[0].InterfacePath), paths...); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	d, err := l.Host().Devices.Open(strings.ToUpper(paths[1]), win.NoAccess)
	if err != nil {
		t.Fatal(err)
	}
	number := decode(t, d, abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, abi.DecodeDeviceNumber)
	if number.Number != abi.NoNumber || number.DeviceType != abi.FILE_DEVICE_DISK {
		t.Errorf("got %+v", number)
	}
	about := decode(t, d, abi.IOCTL_STORAGE_QUERY_PROPERTY, abi.PropertyQuery{Property: abi.PropertyDevice}.Encode(), abi.DecodeDeviceDescriptor)
	if about.Serial != spec.Attachable[0].Serial {
		t.Errorf("serial number %q", about.Serial)
	}
	_, err = d.Control(abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, make([]byte, 4096))
	wantCode(t, err, win.ERROR_INVALID_FUNCTION)
	if err := l.DetachDisk("data"); err != nil {
		t.Fatal(err)
	}
	if got := listed(); !slices.Equal(got, before) {
		t.Errorf("got %q, want %q", got, before)
	}
	_, err = d.Control(abi.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, make([]byte, 64))
	wantCode(t, err, win.ERROR_NO_SUCH_DEVICE)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

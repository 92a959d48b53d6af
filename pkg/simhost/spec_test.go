// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := Parse([]byte(`{
		"version": 1, "name": "n", "build": 17763, "arrival": "250ms", "sanPolicy": "offlineAll",
		"switches": {"blankDisk": 2, "largeMSR": true},
		"disks": [{"name": "boot", "size": "64GiB", "bus": "sas", "style": "gpt", "partitions": [
			{"volume": {"fileSystem": "NTFS", "letter": "C"}}]}],
		"attachable": [{"name": "data", "size": 1073741824, "bus": "nvme", "media": ["luks"],
			"unreadable": [{"offset": 0, "length": "1MiB", "code": 1117}]}]
	}`))
	if err != nil {
		t.Fatal(err)
	}
	want := NodeSpec{
		Version: 1, Name: "n", Build: 17763, Arrival: Duration(250 * time.Millisecond), SANPolicy: OfflineAll,
		Switches: Switches{BlankDisk: BlankDiskMBRWithFour, LargeMSR: true},
		Disks: []DiskSpec{{Name: "boot", Size: 64 * GiB, Bus: "sas", Style: "gpt", Partitions: []PartitionSpec{
			{Volume: &VolumeSpec{FileSystem: "NTFS", Letter: "C"}},
		}}},
		Attachable: []DiskSpec{{
			Name: "data", Size: GiB, Bus: "nvme", Media: []Media{MediaLUKS},
			Unreadable: []RangeSpec{{Length: MiB, Code: 1117}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := New(got); err != nil {
		t.Error(err)
	}
}

func TestParse_Strict(t *testing.T) {
	tests := map[string]string{
		"unknown field":         `{"version": 1, "disk": []}`,
		"unknown field inside":  `{"version": 1, "disks": [{"name": "a", "serialNumber": "x"}]}`,
		"unknown switch":        `{"version": 1, "switches": {"blankDisks": 1}}`,
		"no version":            `{"disks": []}`,
		"a later version":       `{"version": 2}`,
		"more data":             `{"version": 1} {}`,
		"no object":             `[]`,
		"nothing":               ``,
		"size without number":   `{"version": 1, "disks": [{"size": "GiB"}]}`,
		"size in unknown unit":  `{"version": 1, "disks": [{"size": "1GB"}]}`,
		"negative size":         `{"version": 1, "disks": [{"size": -1}]}`,
		"size beyond 64 bits":   `{"version": 1, "disks": [{"size": "9000000TiB"}]}`,
		"fraction of a byte":    `{"version": 1, "disks": [{"size": 1.5}]}`,
		"duration without unit": `{"version": 1, "arrival": "5"}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if spec, err := Parse([]byte(text)); err == nil {
				t.Errorf("%s is read as %+v", text, spec)
			}
		})
	}
}

// A description survives being written and read.
func TestSpec_RoundTrip(t *testing.T) {
	for _, name := range Names() {
		spec, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(spec, again); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.json")
	if err := os.WriteFile(path, []byte(`{"version": 1, "name": "from a file"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := Load(path)
	if err != nil || spec.Name != "from a file" {
		t.Errorf("%+v, %v", spec, err)
	}
	if _, err := Load(path + ".not"); !os.IsNotExist(err) {
		t.Errorf("missing file: %v", err)
	}
}

func TestNew_Refuses(t *testing.T) {
	disk := func(edit func(*DiskSpec)) NodeSpec {
		d := data("data")
		edit(&d)
		return NodeSpec{Version: SpecVersion, Attachable: []DiskSpec{d}}
	}
	tests := []struct {
		name string
		spec NodeSpec
		text string // what the error names
	}{
		{"no version", NodeSpec{}, "version"},
		{"unknown policy", NodeSpec{Version: 1, SANPolicy: "offline"}, "SAN policy"},
		{"no such position", NodeSpec{Version: 1, Switches: Switches{BlankDisk: 3}}, "BlankDisk"},
		{"Windows nowhere", NodeSpec{Version: 1, WindowsDirectory: `E:\Windows`}, "windowsDirectory"},
		{"page file nowhere", NodeSpec{Version: 1, PageFiles: []string{`pagefile.sys`}}, "pageFiles"},
		{"bad directory", NodeSpec{Version: 1, Directories: []string{`C:\a*`}}, "directory"},
		{"no name", disk(func(d *DiskSpec) { d.Name = "" }), "name"},
		{"name twice", disk(func(d *DiskSpec) { d.Name = "boot" }), "name is taken"},
		{"unknown bus", disk(func(d *DiskSpec) { d.Bus = "scuzzy" }), "bus"},
		{"odd size", disk(func(d *DiskSpec) { d.Size = GiB + 1 }), "size"},
		{"odd sector", disk(func(d *DiskSpec) { d.SectorSize = 1024 }), "sector size"},
		{"odd physical sector", disk(func(d *DiskSpec) { d.SectorSize, d.PhysicalSectorSize = 4096, 512 }), "physical sector size"},
		{"bad disk at the start", NodeSpec{Version: 1, Disks: []DiskSpec{BootDisk(), {Name: "data", Size: GiB, Bus: "scuzzy"}}}, "bus"},
		{"directory nowhere", NodeSpec{Version: 1, Directories: []string{`Q:\a`}}, "directory"},
		{"bad disk id", disk(func(d *DiskSpec) { d.ID = "x" }), "GUID"},
		{"bad partition id", disk(func(d *DiskSpec) { d.Partitions[1].ID = "x" }), "GUID"},
		{"unknown style", disk(func(d *DiskSpec) { d.Style = "apm" }), "style"},
		{"partitions without table", disk(func(d *DiskSpec) { d.Style = "" }), "raw"},
		{"two in a superfloppy", disk(func(d *DiskSpec) { d.Style = "superfloppy" }), "superfloppy"},
		{"overlap", disk(func(d *DiskSpec) { d.Partitions[1].Offset = MiB }), "overlaps"},
		{"number twice", disk(func(d *DiskSpec) { d.Partitions[1].Number = 1 }), "number"},
		{"over the end", disk(func(d *DiskSpec) { d.Partitions[1].Size = GiB }), "bytes at"},
		{"unknown type", disk(func(d *DiskSpec) { d.Partitions[1].Type = "swap" }), "GUID"},
		{"unknown file system", disk(func(d *DiskSpec) { d.Partitions[1].Volume.FileSystem = "zfs" }), "file system"},
		{"file system too large", disk(func(d *DiskSpec) { d.Partitions[1].Volume.Covers = GiB }), "covers"},
		{"letter twice", disk(func(d *DiskSpec) { d.Partitions[1].Volume.Letter = "C" }), "letter"},
		{"odd letter", disk(func(d *DiskSpec) { d.Partitions[1].Volume.Letter = "c:" }), "letter"},
		{"bad volume id", disk(func(d *DiskSpec) { d.Partitions[1].Volume.ID = "x" }), "GUID"},
		{"unknown media", disk(func(d *DiskSpec) { d.Media = []Media{"ext5"} }), "ext5"},
		{"unknown code set", disk(func(d *DiskSpec) { d.Identifiers = []IdentifierSpec{{CodeSet: "ebcdic", Type: "naa"}} }), "code set"},
		{"text and hex", disk(func(d *DiskSpec) {
			d.Identifiers = []IdentifierSpec{{CodeSet: "ascii", Type: "t10", Text: "a", Hex: "61"}}
		}), "text and hex"},
		{"bad hex", disk(func(d *DiskSpec) { d.Identifiers = []IdentifierSpec{{CodeSet: "binary", Type: "naa", Hex: "6"}} }), "identifier"},
		{"EUI64 of words", disk(func(d *DiskSpec) { d.NVMe = &NVMeSpec{EUI64: "sixteen digits.."} }), "nvme"},
		{"short EUI64", disk(func(d *DiskSpec) { d.NVMe = &NVMeSpec{EUI64: "0026"} }), "eui64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := New(tt.spec)
			if err == nil {
				t.Fatalf("made a node:\n%s", n.Snapshot())
			}
			if !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %q does not name %q", err, tt.text)
			}
		})
	}
}

func TestSize_String(t *testing.T) {
	tests := map[Size]string{0: "0", 1: "1", 512: "512", 1024: "1KiB", 1536: "1536", 10 * GiB: "10GiB", GiB + MiB: "1025MiB", 2 * TiB: "2TiB"}
	for size, want := range tests {
		if got := size.String(); got != want {
			t.Errorf("%d is %q, want %q", int64(size), got, want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	r := &report{}
	if err := r.read(`goos: linux
cpu: Some Processor
BenchmarkNode/1/disk/ListDisks-2         	     120	    446123 ns/op	        15.00 calls/op	         0 com/op	   30120 B/op	     220 allocs/op
BenchmarkNode/1/disk/SetDiskState,_as_it_is-2 	 3	  9949 ns/op	 2.000 calls/op	 0 com/op	 3400 B/op	 69 allocs/op
BenchmarkNode/1/volume/GetVolumeStats-2 	 3	  9949 ns/op	 1.000 calls/op	 0 com/op	 3400 B/op	 69 allocs/op
BenchmarkNode/1000/disk/ListDisks-2      	       1	1429830670 ns/op	      7008 calls/op	         0 com/op	14751616 B/op	   90386 allocs/op
BenchmarkNode/1000/disk/SetDiskState,_as_it_is-2 	 3	  12345678 ns/op	 2.000 calls/op	 0 com/op	 3440 B/op	 72 allocs/op
PASS
`); err != nil {
		t.Fatal(err)
	}
	want := `| operation | calls | of COM | KB | allocations | 1 | 1,000 |
|---|---|---|---|---|--:|--:|
| ListDisks | 15 … 7,008 | 0 | 30 … 14,752 | 220 … 90,386 | 446 µs | 1.4 s |
| SetDiskState, as it is | 2 | 0 | 3 | 69 | 9.9 µs | 12 ms |`
	if got, err := r.table("Node", "disk"); err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	if r.cpu != "Some Processor" {
		t.Errorf("cpu %q", r.cpu)
	}
	if got, err := r.table("Node", "smb"); err == nil {
		t.Errorf("a table of nothing: %s", got)
	}
}

func TestRead_Refuses(t *testing.T) {
	for name, said := range map[string]string{
		"nothing":   "",
		"no result": "BenchmarkNode/1/disk/ListDisks\n",
		"a failure": "BenchmarkNode/1/disk/ListDisks-2 1 5 ns/op\n--- FAIL: BenchmarkNode/1\n",
		"no unit":   "BenchmarkNode/1/disk/ListDisks-2 1 5 ns/op 7\n",
		"no number": "BenchmarkNode/1/disk/ListDisks-2 1 x ns/op\n",
	} {
		t.Run(name, func(t *testing.T) {
			if err := (&report{}).read(said); err == nil {
				t.Error("accepted")
			}
		})
	}
}

// The page has a table of every place and group.
func TestPage(t *testing.T) {
	var said strings.Builder
	for place, groups := range map[string][]string{
		"Node":  {"disk", "volume", "filesystem", "smb", "iscsi", "system"},
		"Fleet": {"fleet"},
		"Lab":   {"disk", "volume", "filesystem", "smb", "iscsi"},
		"Wine":  {"volume", "filesystem", "system"},
	} {
		for _, g := range groups {
			fmt.Fprintf(&said, "Benchmark%s/1/%s/do-2 1 5 ns/op\n", place, g)
		}
	}
	file := filepath.Join(t.TempDir(), "said")
	if err := os.WriteFile(file, []byte(said.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := run(&page, []string{file}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(page.String(), "| do |"); got != 15 {
		t.Errorf("%d tables with a result", got)
	}
}

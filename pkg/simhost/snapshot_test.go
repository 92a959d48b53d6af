// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// The same description and the same changes give the same text.
func TestSnapshot_Deterministic(t *testing.T) {
	run := func() Snapshot {
		l := newLab(t, Switches{}, plain("data"), data("other"))
		l.must(l.stage("data"))
		v := l.only("data")
		l.must(l.with("data", func(*disk) error { return l.format(v, formatting{fs: "NTFS"}) }))
		l.must(l.mountFolder(`C:\b`, v))
		l.must(l.mountFolder(`C:\a`, l.only("other")))
		return l.Snapshot()
	}
	first := run()
	for range 10 {
		if again := run(); again != first {
			t.Fatal(Diff(first, again))
		}
	}
}

// Looking changes nothing.
func TestSnapshot_Reads(t *testing.T) {
	l := newLab(t, Switches{}, data("data"))
	before := l.Snapshot()
	d := l.drive(1, readWrite)
	_ = layoutOf(t, d)
	_ = read(t, d, 0, 4096)
	ask(t, d, abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, 0)
	if after := l.Snapshot(); after != before {
		t.Error(Diff(before, after))
	}
}

// Every change shows.
func TestSnapshot_Changes(t *testing.T) {
	tests := []struct {
		name string
		do   func(l lab) error
		want string // a part of the difference
	}{
		{"media", func(l lab) error { return l.SetMedia("data", 1<<29, []byte{1}) }, "~ disk data media: "},
		{"growth", func(l lab) error { return l.GrowDisk("data", 2*GiB) }, "~ disk data: SAS, 1GiB, serial \"\" -> SAS, 2GiB"},
		{"detached", func(l lab) error { return l.DetachDisk("data") }, "~ disk data state: attached as 1, online -> detached\n"},
		{"volume gone", func(l lab) error { return l.DetachDisk("data") }, "- volume "},
		{"read-only", func(l lab) error {
			return l.with("data", func(d *disk) error { return l.setAttributes(d, 2, 2, true) })
		}, "-> attached as 1, online, read-only\n"},
		{"label", func(l lab) error {
			v := l.only("data")
			return l.with("data", func(*disk) error { return l.format(v, formatting{fs: "NTFS", label: "new", force: true}) })
		}, `NTFS "new"`},
		{"initialised", func(l lab) error { return l.stage("raw") }, "~ disk raw table: none -> GPT, "},
		{"partitioned", func(l lab) error { return l.stage("raw") }, "+ disk raw partition 2: basic data, 1007MiB at 16MiB"},
		{"mounted", func(l lab) error { return l.mountFolder(`C:\mnt`, l.only("data")) }, `+ mount manager C:\mnt\: \\?\Volume{`},
		{"mount point", func(l lab) error { return l.mountFolder(`C:\mnt`, l.only("data")) }, `+ file C:\mnt: mount point to \??\Volume{`},
		{"link", func(l lab) error { return l.Host().Files.SymbolicLink(`\\?\C:\l`, `C:\Windows`, 1) }, `+ file C:\l: directory link to \??\C:\Windows` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, Switches{}, data("data"), plain("raw"))
			before := l.Snapshot()
			l.must(tt.do(l))
			if diff := Diff(before, l.Snapshot()); !strings.Contains(diff, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, diff)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	a := Snapshot("disk a: 1\nfile C:\\x: directory\ngone: yes\n")
	b := Snapshot("disk a: 2\nfile C:\\x: directory\nnew: yes\n")
	want := "~ disk a: 1 -> 2\n- gone: yes\n+ new: yes\n"
	if diff := cmp.Diff(want, Diff(a, b)); diff != "" {
		t.Error(diff)
	}
	spanned, moved := Snapshot("volume v: 1\nvolume v: 2\n"), Snapshot("volume v: 1\nvolume v: 3\n")
	if got, want := Diff(spanned, moved), "~ volume v: 1; 2 -> 1; 3\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Diff(a, a); got != "" {
		t.Errorf("a differs from itself by %q", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// A probe reads 3 MiB, and the tests probe thousands of times on small heaps,
// which would be collected at each.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// linuxData is the GPT type of a Linux file system.
const linuxData = "0fc63daf-8483-4772-8e79-3d69d8477de4"

// blank is a blank SCSI disk, attached from the start.
func blank() simhost.DiskSpec {
	return simhost.DiskSpec{
		Name: "data", Size: 10 * simhost.GiB, Bus: "sas", Vendor: "Msft    ", Product: "Virtual Disk    ", Serial: "data-1",
		Address: &simhost.AddressSpec{Port: 1},
	}
}

// blankWith is a blank disk with something changed.
func blankWith(change func(*simhost.DiskSpec)) simhost.DiskSpec {
	d := blank()
	change(&d)
	return d
}

// unstaged makes a disk one that was in use and is offline now.
func unstaged(d *simhost.DiskSpec) {
	d.Offline, d.ReadOnly = true, true
	d.Style, d.Partitions = "gpt", []simhost.PartitionSpec{{Type: "msr"}, {Volume: &simhost.VolumeSpec{FileSystem: "NTFS"}}}
}

// nodeOf makes a node from a description.
func nodeOf(t testing.TB, spec simhost.NodeSpec) *simhost.Node {
	t.Helper()
	spec.Version = simhost.SpecVersion
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wmi.On(node.Host()).Close() })
	return node
}

// nodeWith makes a node with a boot disk as disk 0 and others from 1 on.
func nodeWith(t testing.TB, disks ...simhost.DiskSpec) *simhost.Node {
	t.Helper()
	return nodeOf(t, simhost.NodeSpec{Disks: append([]simhost.DiskSpec{simhost.BootDisk()}, disks...)})
}

// shipped is the description of a shipped node.
func shipped(t testing.TB, name string) simhost.NodeSpec {
	t.Helper()
	spec, err := simhost.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func attach(t testing.TB, node *simhost.Node, name string) uint32 {
	t.Helper()
	number, err := node.AttachDisk(name)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func group(node *simhost.Node) *disk.Disk {
	d, _ := disk.New(node.Disk())
	return d
}

func partition(ctx context.Context, node *simhost.Node, number uint32) error {
	_, err := group(node).PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number})
	return err
}

// wantUnchanged compares a node with how it was.
func wantUnchanged(t testing.TB, node *simhost.Node, before simhost.Snapshot) {
	t.Helper()
	if diff := simhost.Diff(before, node.Snapshot()); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
}

// wantError checks an error's sentinel and kind.
func wantError(t testing.TB, err, sentinel error, kind errdefs.Kind) {
	t.Helper()
	if !errors.Is(err, sentinel) || errdefs.KindOf(err) != kind {
		t.Errorf("got %v of kind %v, want %v of kind %v", err, errdefs.KindOf(err), sentinel, kind)
	}
}

// facts are the lines of a snapshot about a subject, "disk data partition".
func facts(node *simhost.Node, subject string) []string {
	var found []string
	for line := range strings.Lines(string(node.Snapshot())) {
		if strings.HasPrefix(line, subject) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// table is the partition table of a disk: style, then partition types.
func table(t testing.TB, node *simhost.Node, name string) []string {
	t.Helper()
	var words []string
	for _, line := range facts(node, "disk "+name+" ") {
		switch _, fact, _ := strings.Cut(line, ": "); {
		case strings.HasPrefix(line, "disk "+name+" table:"):
			style, _, _ := strings.Cut(fact, ",")
			words = append(words, style)
		case strings.HasPrefix(line, "disk "+name+" partition "):
			kind, _, _ := strings.Cut(fact, ",")
			words = append(words, kind)
		}
	}
	return words
}

func wantTable(t testing.TB, node *simhost.Node, name string, want ...string) {
	t.Helper()
	if got := table(t, node, name); !slices.Equal(got, want) {
		t.Errorf("disk %s has %q, want %q", name, got, want)
	}
}

// isControl selects a control code.
func isControl(code uint32) func(simhost.Call) bool {
	return func(c simhost.Call) bool { return c.Method == "Device.Control" && c.Code == code }
}

// failing makes the calls that are selected fail.
func failing(node *simhost.Node, selected func(simhost.Call) bool, code error) {
	node.OnCall(func(c simhost.Call, do func() error) error {
		if selected(c) {
			return code
		}
		return do()
	})
}

// changes tells the calls that change a disk.
func changes(c simhost.Call) bool {
	return isControl(abi.IOCTL_DISK_SET_DISK_ATTRIBUTES)(c) ||
		c.Method == "Session.Start" && (strings.HasPrefix(c.Subject, "MSFT_Disk.Initialize") || strings.HasPrefix(c.Subject, "MSFT_Disk.CreatePartition"))
}

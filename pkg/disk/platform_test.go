// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// lookAlike is how a platform's disks differ from each other, and by which rule
// its driver tells them apart.
type lookAlike struct {
	node string
	// become makes a disk the i-th of its kind.
	become func(i int, d *simhost.DiskSpec)
	// rule is that of the i-th disk.
	rule func(i int) disk.Matcher
	// nothing is the rule without a value; the zero value where it always has one.
	nothing disk.Matcher
}

func lookAlikes() []lookAlike {
	page83 := func(node, format string) lookAlike {
		return lookAlike{node, func(i int, d *simhost.DiskSpec) {
			at := slices.IndexFunc(d.Identifiers, func(id simhost.IdentifierSpec) bool { return id.Association == "" })
			d.Identifiers = slices.Clone(d.Identifiers)
			d.Identifiers[at].Hex = fmt.Sprintf(format, i)
		}, func(i int) disk.Matcher { return disk.MatchPage83(fmt.Sprintf(format, i)) }, disk.MatchPage83(" - ")}
	}
	google := func(node string) lookAlike {
		device := func(i int) string { return fmt.Sprintf("pvc-6a0e4b1d-%d", i) }
		return lookAlike{node, func(i int, d *simhost.DiskSpec) {
			d.NVMe.NamespaceArea = fmt.Sprintf(`{"device_name":%q,"disk_type":"PERSISTENT"}`, device(i))
			d.NVMe.Namespace, d.Address.LUN = uint32(i+2), uint8(i+1)
		}, func(i int) disk.Matcher { return disk.MatchGoogleNVMe(device(i)) }, disk.MatchGoogleNVMe(" ")}
	}
	return []lookAlike{
		{"aws-nitro", func(i int, d *simhost.DiskSpec) {
			d.Serial = fmt.Sprintf("vol0123456789abc%04x_00000001.", i)
		}, func(i int) disk.Matcher { return disk.MatchEBS(fmt.Sprintf("vol-0123456789abc%04x", i)) }, disk.MatchEBS("-")},
		{"aws-xen", func(i int, d *simhost.DiskSpec) {
			_, d.Address.Target = ec2Device(i)
		}, func(i int) disk.Matcher {
			name, _ := ec2Device(i)
			return disk.MatchXenDevice(name)
		}, disk.MatchXenDevice("xvd")},
		{"azure-nvme", func(i int, d *simhost.DiskSpec) {
			d.NVMe.Namespace, d.Address.LUN = uint32(i+2), uint8(i+1)
		}, func(i int) disk.Matcher { return disk.MatchAzureNVMe(uint8(i)) }, disk.Matcher{}},
		{"azure-scsi", func(i int, d *simhost.DiskSpec) {
			d.Address.LUN = uint8(i)
		}, func(i int) disk.Matcher { return disk.MatchLUN(uint8(i)) }, disk.Matcher{}},
		google("gce-nvme"),
		google("gce-nvme-2019"),
		{"gce-scsi", func(i int, d *simhost.DiskSpec) {
			d.Identifiers = []simhost.IdentifierSpec{{CodeSet: "ascii", Type: "t10", Text: fmt.Sprintf("Google  pvc-%d", i)}}
		}, func(i int) disk.Matcher { return disk.MatchGooglePage83(fmt.Sprintf("pvc-%d", i)) }, disk.MatchGooglePage83("")},
		page83("hyperv-vhd", "4d53465420202020328d59b360875845ac645473be82%04x"),
		{"kvm-virtio", func(i int, d *simhost.DiskSpec) {
			d.Serial = fmt.Sprintf("6f8c1d2e-3b4a-4c%04x", i)
		}, func(i int) disk.Matcher { return disk.MatchVirtIO(fmt.Sprintf("6f8c1d2e-3b4a-4c%04x-9e0f", i)) }, disk.MatchVirtIO(" ")},
		{"metal-nvme", func(i int, d *simhost.DiskSpec) {
			d.NVMe.EUI64 = fmt.Sprintf("0026b7384082%04x", i)
		}, func(i int) disk.Matcher { return disk.MatchEUI64(fmt.Sprintf("eui.0026B7384082%04X", i)) }, disk.MatchEUI64("eui.")},
		{"metal-sata", func(i int, d *simhost.DiskSpec) {
			d.Serial = fmt.Sprintf("%20s", fmt.Sprintf("V1G%d", i))
		}, func(i int) disk.Matcher { return disk.MatchSerial(fmt.Sprintf("V1G%d", i)) }, disk.MatchSerial(" ")},
		page83("san-fibre", "600a098038304441462b4e527454%04x"),
		page83("san-iscsi", "60014056a3e2f5c1d0b4a988c7e5%04x"),
		page83("storage-spaces", "7e1c9a3fd452084b9e617c0d2a5b%04x"),
		page83("vsphere-pvscsi", "6000c2957a5d0e1b2c3d4e5f6071%04x"),
	}
}

// ec2Device is the name and the SCSI target of the i-th block device: xvdb to
// xvdz are 1 to 25, xvdba to xvdcz 52 to 103 (Amazon's guide).
func ec2Device(i int) (name string, target uint8) {
	const single = 'z' - 'b' + 1
	if i < single {
		return "xvd" + string(rune('b'+i)), uint8(i + 1)
	}
	i -= single
	return "xvd" + string(rune('b'+i/26)) + string(rune('a'+i%26)), uint8(52 + i)
}

func TestLookAlikes_CoverTheShippedNodes(t *testing.T) {
	var nodes []string
	for _, l := range lookAlikes() {
		nodes = append(nodes, l.node)
	}
	if !slices.Equal(nodes, simhost.Names()) {
		t.Errorf("got %q, want %q", nodes, simhost.Names())
	}
}

// crowd is a node with so many of a platform's data disks beside its own, in
// any order.
func (l lookAlike) crowd(t testing.TB, count int) *simhost.Node {
	t.Helper()
	spec := shipped(t, l.node)
	for _, i := range rand.New(rand.NewPCG(2, 5)).Perm(count) {
		d := dataDisk(t, l.node) // a description of its own: the parts behind pointers too
		d.Name, d.InterfacePath, d.PathDisks = nth(i), "", nil
		l.become(i, &d)
		spec.Disks = append(spec.Disks, d)
	}
	return nodeOf(t, spec)
}

func nth(i int) string { return fmt.Sprintf("look-alike %d", i) }

// dataDisk describes the data disk of a shipped node.
func dataDisk(t testing.TB, node string) simhost.DiskSpec {
	t.Helper()
	disks := shipped(t, node).Attachable
	i := slices.IndexFunc(disks, func(d simhost.DiskSpec) bool { return d.Name == "data" })
	if i < 0 {
		t.Fatalf("node %s has no data disk", node)
	}
	return disks[i]
}

// listedOnce tells of the disks what it was told once.
type listedOnce struct {
	hostapi.HostAPI
	disks []disk.Description
}

func (l listedOnce) ListDisks(context.Context) ([]disk.Description, error) { return l.disks, nil }

// On each node its platform's rule finds each of 64 disks that differ in nothing
// else, whatever their order.
func TestFindDisk_AmongLookAlikes(t *testing.T) {
	const count = 64
	for _, l := range lookAlikes() {
		t.Run(l.node, func(t *testing.T) {
			node := l.crowd(t, count)
			disks, err := group(node).ListDisks(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			d, _ := disk.New(listedOnce{node.Disk(), disks})
			for i := range count {
				got, err := d.FindDisk(t.Context(), l.rule(i))
				want, _ := node.DiskNumber(nth(i))
				if err != nil || got.Number != want {
					t.Errorf("%s: disk %d, %v, want disk %d", l.rule(i), got.Number, err, want)
				}
			}
		})
	}
}

// Where a device path is of no form, or the namespace tells nothing, a rule goes
// by what is left.
func TestFindDisk_HalfTold(t *testing.T) {
	azure := disk.Description{BusType: abi.BusTypeNVMe, Product: "MSFT NVMe Accelerator v1.0", Path: "nothing", Err: win.ERROR_IO_DEVICE}
	google := disk.Description{BusType: abi.BusTypeNVMe, Product: "nvme_card-pd", Err: win.ERROR_IO_DEVICE}
	addressed := azure
	addressed.Address = &disk.Address{LUN: 3}
	for name, c := range map[string]struct {
		rule disk.Matcher
		disk disk.Description
		err  error
	}{
		"its address":     {disk.MatchAzureNVMe(2), addressed, nil},
		"another address": {disk.MatchAzureNVMe(3), addressed, errdefs.ErrUnavailable},
		"no address":      {disk.MatchAzureNVMe(0), azure, errdefs.ErrUnavailable},
		"no device name":  {disk.MatchGoogleNVMe("pvc-1"), google, errdefs.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := disk.New(listedOnce{disks: []disk.Description{c.disk}})
			_, err := d.FindDisk(t.Context(), c.rule)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// On no node does a rule choose between two disks: the error lists both, with
// that by which they could be told apart.
func TestFindDisk_TwoMatchOnEachNode(t *testing.T) {
	for _, l := range lookAlikes() {
		t.Run(l.node, func(t *testing.T) {
			spec := shipped(t, l.node)
			for _, name := range []string{"twin 1", "twin 2"} {
				d := dataDisk(t, l.node)
				d.Name, d.InterfacePath, d.PathDisks = name, "", nil
				l.become(3, &d)
				spec.Disks = append(spec.Disks, d)
			}
			node := nodeOf(t, spec)
			_, err := group(node).FindDisk(t.Context(), l.rule(3))
			wantError(t, err, errdefs.ErrFailedPrecondition, errdefs.FailedPrecondition)
			wantCandidates(t, node, err, "twin 1", "twin 2")
			if strings.Contains(err.Error(), "disk 0 (") {
				t.Errorf("%v: disk 0 does not come into question", err)
			}
		})
	}
}

// On no node does a rule without a value choose a disk: the error lists them all.
func TestFindDisk_NoValueOnEachNode(t *testing.T) {
	for _, l := range lookAlikes() {
		t.Run(l.node, func(t *testing.T) {
			node := l.crowd(t, 1)
			_, err := group(node).FindDisk(t.Context(), l.nothing)
			wantError(t, err, errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
			wantCandidates(t, node, err, nth(0), shipped(t, l.node).Disks[0].Name)
		})
	}
}

// wantCandidates: an error lists those disks.
func wantCandidates(t testing.TB, node *simhost.Node, err error, names ...string) {
	t.Helper()
	for _, name := range names {
		number, ok := node.DiskNumber(name)
		if listed := fmt.Sprintf("disk %d (", number); !ok || !strings.Contains(err.Error(), listed) {
			t.Errorf("%v does not list disk %q", err, name)
		}
	}
}

// A matcher that looks for nothing chooses nothing, and says what there is; so
// does one that finds nothing (consumers.md 4, bug 11).
func TestFindDisk_ListsCandidates(t *testing.T) {
	node := allAttached(t, "azure-nvme")
	for name, m := range map[string]disk.Matcher{
		"zero value": {}, "serial": disk.MatchSerial("  "), "page 83": disk.MatchPage83("--"), "device name": disk.MatchGoogleNVMe(""),
		"virtio": disk.MatchVirtIO(" "), "no EC2 device": disk.MatchXenDevice("hda"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := group(node).FindDisk(t.Context(), m)
			wantError(t, err, errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
			wantCandidates(t, node, err, node.Disks()...)
		})
	}
	_, err := group(node).FindDisk(t.Context(), disk.MatchAzureNVMe(7))
	wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
	wantCandidates(t, node, err, node.Disks()...)
}

// An error does not list hundreds.
func TestFindDisk_ListsSomeCandidates(t *testing.T) {
	l := lookAlikes()[0]
	_, err := group(l.crowd(t, 64)).FindDisk(t.Context(), disk.MatchSerial("nobody's"))
	wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
	if !strings.Contains(err.Error(), "and 49 more") { // of 65
		t.Error(err)
	}
}

// EC2's names of block devices, and the targets of Amazon's guide: its tables
// have sda1 to xvdz and xvdca to xvdcl, its script counts the same way.
func TestMatchXenDevice_Names(t *testing.T) {
	spec := shipped(t, "aws-xen")
	for _, target := range []uint8{52, 78, 79, 89, 103} {
		d := dataDisk(t, "aws-xen")
		d.Name, d.InterfacePath, d.Address.Target = fmt.Sprint(target), "", target
		spec.Disks = append(spec.Disks, d)
	}
	node := nodeOf(t, spec)
	for _, d := range spec.Attachable {
		attach(t, node, d.Name)
	}
	for device, want := range map[string]string{
		"/dev/sda1": "root", "sda1": "root", "xvdf": "data", "/dev/xvdf": "data", "/dev/sdf": "data", "xvdg": "data2", "xvdb": "instance-store",
		"xvdba": "52", "xvdca": "78", "/dev/xvdcb": "79", "xvdcl": "89", "xvdcz": "103",
	} {
		got, err := group(node).FindDisk(t.Context(), disk.MatchXenDevice(device))
		if number, _ := node.DiskNumber(want); err != nil || got.Number != number {
			t.Errorf("%s: disk %d, %v, want %s", device, got.Number, err, want)
		}
	}
	for _, device := range []string{"xvda", "xvdaa", "xvdda", "xvdcaa", "sdba", "xvd", "sda", "/dev/", "sda2", "xvdF", "xvdbA", "b"} {
		_, err := group(node).FindDisk(t.Context(), disk.MatchXenDevice(device))
		wantError(t, err, errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
	}
}

// A LUN on Azure's NVMe controller is told by the namespace itself, else by
// address and path, which must agree.
func TestMatchAzureNVMe_Sources(t *testing.T) {
	tail := func(path, digits string) string {
		at := strings.LastIndex(path, "#") // before the class
		return path[:at-len(digits)] + digits + path[at:]
	}
	for name, c := range map[string]struct {
		change   func(*simhost.DiskSpec)
		switches simhost.Switches
		lun      uint8
		none     bool
	}{
		"address and path":     {change: func(*simhost.DiskSpec) {}, lun: 0},
		"no address":           {change: func(*simhost.DiskSpec) {}, switches: simhost.Switches{NVMeWithoutAddress: true}, lun: 0},
		"path in hexadecimal":  {change: func(d *simhost.DiskSpec) { d.Address, d.InterfacePath = nil, tail(d.InterfacePath, "00000b") }, lun: 10},
		"address alone":        {change: func(d *simhost.DiskSpec) { d.InterfacePath = `\\?\nvme#x#{53f56307}` }, lun: 0},
		"they disagree":        {change: func(d *simhost.DiskSpec) { d.InterfacePath = tail(d.InterfacePath, "000002") }, none: true},
		"neither":              {change: func(d *simhost.DiskSpec) { d.Address, d.InterfacePath = nil, `\\?\nvme#x#{53f56307}` }, none: true},
		"the namespace says":   {change: func(d *simhost.DiskSpec) { d.NVMe.NamespaceArea = "type=data,lun=4" }, lun: 4},
		"it says another type": {change: func(d *simhost.DiskSpec) { d.NVMe.NamespaceArea = "type=os" }, none: true},
		"another controller":   {change: func(d *simhost.DiskSpec) { d.Product = "Microsoft NVMe D" }, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := shipped(t, "azure-nvme")
			spec.Switches = c.switches
			d := dataDisk(t, "azure-nvme")
			c.change(&d)
			spec.Disks = append(spec.Disks, d)
			spec.Attachable = nil
			node := nodeOf(t, spec)
			for lun := range uint8(12) {
				got, err := group(node).FindDisk(t.Context(), disk.MatchAzureNVMe(lun))
				if lun == c.lun && !c.none {
					if err != nil || got.Number != 1 {
						t.Errorf("LUN %d: disk %d, %v", lun, got.Number, err)
					}
					continue
				}
				wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
			}
		})
	}
}

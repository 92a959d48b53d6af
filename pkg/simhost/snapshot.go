// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Snapshot is the whole state of a node as text, a line for each fact:
//
//	disk data state: attached as 1, online
//	disk data partition 2: basic data, 10221MiB at 16MiB
//
// The same state always gives the same text, so snapshots compare with ==. It
// holds neither open handles nor what the WMI provider has cached.
type Snapshot string

// Snapshot describes the node as it is now.
func (n *Node) Snapshot() Snapshot {
	n.mu.Lock()
	defer n.mu.Unlock()
	var s snapshot
	for _, d := range n.known {
		n.settle(d)
		s.disk(d)
	}
	for _, v := range n.sortedVolumes() {
		s.volume(n, v)
	}
	for _, key := range slices.Sorted(maps.Keys(n.points)) {
		p := n.points[key]
		state := ""
		if _, ok := n.volumeByID(p.volume); !ok {
			state = ", which is gone"
		}
		s.line("mount manager %s: %s%s", p.text, volumeName(p.volume), state)
	}
	for _, service := range n.sortedServices() {
		s.line("service %s: %s", service.spec.Name, service.describe())
	}
	s.smb(n)
	s.iscsi(n)
	return Snapshot(strings.Join(s.lines, "\n") + "\n")
}

// snapshot collects lines, "subject: fact".
type snapshot struct{ lines []string }

func (s *snapshot) line(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *snapshot) disk(d *disk) {
	s.line("disk %s: %s, %s, serial %q", d.name, d.bus, Size(d.size), d.serial)
	s.line("disk %s state: %s", d.name, d.describeState())
	if d.knownSize != d.size {
		s.line("disk %s known size: %s", d.name, Size(d.knownSize))
	}
	switch d.style {
	case abi.PartitionStyleGPT:
		s.line("disk %s table: GPT, %d bytes usable, id %s", d.name, d.usableLength, d.id)
	case abi.PartitionStyleMBR:
		s.line("disk %s table: MBR, signature %08x", d.name, d.signature)
	default:
		s.line("disk %s table: none", d.name)
	}
	for _, p := range d.partitions {
		s.line("disk %s partition %d: %s, %s at %s%s", d.name, p.number, p.describeType(d.style), Size(p.length), Size(p.offset), p.describeDetails())
	}
	s.line("disk %s media: %s", d.name, d.media.fingerprint())
}

func (d *disk) describeState() string {
	if !d.present {
		return "detached"
	}
	words := []string{fmt.Sprintf("attached as %d", d.number)}
	for _, w := range []struct {
		word string
		is   bool
	}{
		{"online", !d.offline},
		{"offline", d.offline},
		{"read-only", d.readOnly},
		{"boot", d.boot},
		{"system", d.system},
		{"page file", d.pagefile},
		{"clustered", d.clustered},
	} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ", ")
}

// describeType is the partition's type in words.
func (p *partition) describeType(style abi.PartitionStyle) string {
	if style == abi.PartitionStyleMBR {
		return fmt.Sprintf("type 0x%02x", p.mbrType)
	}
	switch p.gptType {
	case abi.PARTITION_BASIC_DATA_GUID:
		return "basic data"
	case abi.PARTITION_MSFT_RESERVED_GUID:
		return "reserved"
	case abi.PARTITION_SYSTEM_GUID:
		return "EFI"
	case abi.PARTITION_MSFT_RECOVERY_GUID:
		return "recovery"
	default:
		return "type " + p.gptType.String()
	}
}

// describeDetails is what not every partition has.
func (p *partition) describeDetails() string {
	var details string
	if !p.id.IsZero() {
		details += ", id " + p.id.String()
	}
	if p.attributes != 0 {
		details += fmt.Sprintf(", attributes %#x", p.attributes)
	}
	if p.active {
		details += ", active"
	}
	return details
}

func (s *snapshot) volume(n *Node, v *volume) {
	name := v.name()
	for _, e := range v.extents {
		s.line("volume %s: on disk %s, %s at %s", name, e.disk.name, Size(e.length), Size(e.offset))
	}
	root := name
	if letter, ok := n.letterOf(v); ok {
		root = string(rune(letter)) + `:\`
		s.line("volume %s letter: %s", name, root)
	}
	switch {
	case v.state != 0:
		s.line("volume %s file system: answers %d", name, uint32(v.state))
	case v.fs == "":
		s.line("volume %s file system: RAW", name)
	default:
		s.line("volume %s file system: %s %q, %s in units of %d, serial %08x", name, v.fs, v.label, Size(v.fsSize), v.unitSize, v.fsSerial)
	}
	if v.tree != nil {
		s.entries(root, v.tree.root)
	}
}

// entries describes what is below a directory.
func (s *snapshot) entries(path string, directory *entry) {
	for _, key := range directory.sortedNames() {
		e := directory.children[key]
		name := path + e.name
		switch {
		case len(e.reparse) > 0:
			s.line("file %s: %s", name, describeReparse(e))
		case e.isDirectory():
			s.line("file %s: directory", name)
		default:
			s.line("file %s: %d bytes", name, e.size)
		}
		s.entries(name+`\`, e)
	}
}

// describeReparse says where a reparse point leads.
func describeReparse(e *entry) string {
	kind := "file"
	if e.isDirectory() {
		kind = "directory"
	}
	point, err := checkReparse(e.reparse)
	if err != nil {
		return fmt.Sprintf("%s with a reparse point that cannot be read", kind)
	}
	switch point.Tag {
	case abi.IO_REPARSE_TAG_MOUNT_POINT:
		return "mount point to " + point.Substitute
	case abi.IO_REPARSE_TAG_SYMLINK:
		return kind + " link to " + point.Substitute
	default:
		return fmt.Sprintf("%s with reparse tag %#x", kind, uint32(point.Tag))
	}
}

// Diff lists what differs between two snapshots, a line for each fact: with
// "- " what only a has, with "+ " what only b has, and with "~ " what changed,
// as "subject: before -> after". It is "" if nothing differs.
func Diff(a, b Snapshot) string {
	before, after := a.facts(), b.facts()
	var out strings.Builder
	for _, f := range before.order {
		now, ok := after.of[f]
		switch {
		case !ok:
			fmt.Fprintf(&out, "- %s: %s\n", f, before.of[f])
		case now != before.of[f]:
			fmt.Fprintf(&out, "~ %s: %s -> %s\n", f, before.of[f], now)
		}
	}
	for _, f := range after.order {
		if _, ok := before.of[f]; !ok {
			fmt.Fprintf(&out, "+ %s: %s\n", f, after.of[f])
		}
	}
	return out.String()
}

// facts are a snapshot's facts by their subject.
type facts struct {
	order []string
	of    map[string]string
}

func (s Snapshot) facts() facts {
	f := facts{of: map[string]string{}}
	for line := range strings.Lines(string(s)) {
		subject, fact, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if old, ok := f.of[subject]; ok { // a volume with several extents
			f.of[subject] = old + "; " + fact
			continue
		}
		f.order = append(f.order, subject)
		f.of[subject] = fact
	}
	return f
}

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func describeVerb() verb {
	return verb{
		use:     "describe DISK",
		short:   "All that is known of a disk: identifiers, sizes, state, partitions",
		long:    "It asks the storage provider too and takes longer than a look into a list.",
		example: "describe 1 --host sim:gce-nvme",
		read: onDisk(func(ctx context.Context, h *host, number uint32) (*table, error) {
			details, err := h.disk.DescribeDisk(ctx, number)
			if err != nil {
				return nil, err
			}
			o := detailed(details)
			return facts(diskFacts(o), o), nil
		}),
	}
}

func describeVolumeVerb() verb {
	return verb{
		use:     "describe VOLUME",
		short:   "All that is known of a volume: file system, space, mount paths",
		long:    spellings,
		example: `describe C:\ --host sim:aws-nitro`,
		read: onVolume(func(ctx context.Context, h *host, id string) (*table, error) {
			d, err := h.volume.DescribeVolume(ctx, id)
			if err != nil {
				return nil, err
			}
			o := describedVolume(d)
			return facts(volumeFacts(o), o), nil
		}),
	}
}

func resolveVerb() verb {
	return verb{
		use:     "resolve PATH",
		short:   "Volume, disk and partition that hold what is at a path, links followed",
		example: `resolve C:\Windows --host sim:aws-nitro`,
		read: func(ctx context.Context, h *host, args []string) (*table, error) {
			at, err := h.volume.Resolve(ctx, args[0])
			if err != nil {
				return nil, err
			}
			t := &table{kind: kindVolume, header: []string{"VOLUME", "DISK", "PARTITION"}}
			t.add(volumeObject{ID: at.VolumeID, Disk: &at.DiskNumber, Partition: &at.PartitionNumber},
				at.VolumeID, fmt.Sprint(at.DiskNumber), fmt.Sprint(at.PartitionNumber))
			return t, nil
		},
	}
}

// fact is a line of a description.
type fact struct{ name, value string }

// facts are those of one object, without those that there are not.
func facts(all []fact, item object) *table {
	t := &table{kind: item.kind(), items: []object{item}}
	for _, f := range all {
		if f.value != "" {
			t.rows = append(t.rows, []string{f.name, f.value})
		}
	}
	return t
}

func diskFacts(o diskObject) []fact {
	all := []fact{
		{"disk", o.name()},
		{"state", o.State},
		{"offline because of", o.OfflineReason},
		{"read-only", optional(o.ReadOnly)},
		{"size", exactly(o.SizeBytes)},
		{"sector", exactly(int64(o.SectorBytes))},
		{"physical sector", exactly(int64(o.PhysicalBytes))},
		{"bus", o.Bus},
		{"vendor", o.Vendor},
		{"product", o.Product},
		{"revision", o.Revision},
		{"serial", quoted(o.Serial)},
		{"address", o.Address},
		{"EUI-64", o.EUI64},
		{"NGUID", o.NGUID},
	}
	for _, i := range o.Identifiers {
		all = append(all, fact{"page 83", fmt.Sprintf("%s of %s: %s", i.Type, i.Association, i.Text)})
	}
	all = append(all, fact{"partition table", o.Style})
	for _, p := range o.Partitions {
		all = append(all, fact{fmt.Sprintf("partition %d", p.Number), fmt.Sprintf("%s at %s, %s", size(p.SizeBytes), size(p.OffsetBytes), p.Type)})
	}
	all = append(all, fact{"needed by Windows", o.NeededBy})
	return append(all, problemFacts(o.Problems)...)
}

func volumeFacts(o volumeObject) []fact {
	all := []fact{
		{"volume", o.ID},
		{"disk", diskCell(o)},
		{"file system", o.FileSystem},
		{"content", o.Content},
		{"label", quoted(o.Label)},
		{"serial", o.Serial},
		{"read-only", optional(o.ReadOnly)},
		{"dirty", optional(o.Dirty)},
		{"size", exactly(o.SizeBytes)},
		{"used", exactly(o.UsedBytes)},
		{"available", exactly(o.AvailableBytes)},
	}
	for _, m := range o.Mounts {
		name := "mounted at"
		if m.Stale {
			name = "stale at"
		}
		all = append(all, fact{name, m.Path})
	}
	return append(all, problemFacts(o.Problems)...)
}

func problemFacts(problems []string) (all []fact) {
	for _, p := range problems {
		all = append(all, fact{"problem", p})
	}
	return all
}

func optional(yes *bool) string {
	if yes == nil {
		return ""
	}
	return yesNo(*yes)
}

func exactly(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return size(bytes).exact()
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return word(text)
}

// described is what a disk told of itself.
func described(d disk.Description) diskObject {
	o := diskObject{
		Number: d.Number, SizeBytes: d.Size, SectorBytes: d.SectorSize,
		Vendor: strings.TrimSpace(d.Vendor), Product: strings.TrimSpace(d.Product), Revision: strings.TrimSpace(d.Revision),
		Serial: d.SerialNumber, Page83: d.Page83(),
	}
	if d.BusType != 0 { // unknown, as of a disk that does not answer
		o.Bus = d.BusType.String()
	}
	if d.StateKnown() {
		o.State, o.ReadOnly = stateName(!d.State.Offline), &d.State.ReadOnly
	}
	for _, i := range d.Identifiers {
		o.Identifiers = append(o.Identifiers, identifier{i.Type.String(), i.Association.String(), i.Text()})
	}
	if a := d.Address; a != nil {
		o.Address = fmt.Sprintf("%d:%d:%d:%d", a.Port, a.Path, a.Target, a.LUN)
	}
	if d.NVMe != nil {
		o.EUI64, o.NGUID = digits(d.NVMe.EUI64[:]), digits(d.NVMe.NGUID[:])
	}
	return o
}

// digits are an identifier's, "" for one of zeros, which stands for none.
func digits(id []byte) string {
	if !slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) {
		return ""
	}
	return hex.EncodeToString(id)
}

// detailed is all that is known of a disk.
func detailed(d disk.Details) diskObject {
	o := described(d.DiskDescription)
	o.PhysicalBytes = d.PhysicalSectorSize
	if d.Provider != nil && d.State.Offline {
		o.OfflineReason = d.Provider.OfflineReason.String()
	}
	if d.Layout != nil {
		o.Style = d.Layout.Style.String()
		for _, p := range d.Layout.Partitions {
			if p.Length > 0 {
				o.Partitions = append(o.Partitions, partitionObject{Number: p.Number, Type: partitionType(p.Type.String(), p.MBRType, d.Layout.IsGPT()), OffsetBytes: p.Offset, SizeBytes: p.Length})
			}
		}
		slices.SortFunc(o.Partitions, func(a, b partitionObject) int { return int(min(1, max(-1, a.OffsetBytes-b.OffsetBytes))) })
	}
	if errors.Is(d.Critical, errdefs.ErrCriticalDisk) {
		o.NeededBy = d.Critical.Error()
	} else if d.Critical != nil {
		o.Problems = append(o.Problems, problem(d.Critical))
	}
	for _, err := range []error{d.Err, d.ProviderErr} {
		if err != nil {
			o.Problems = append(o.Problems, problem(err))
		}
	}
	return o
}

// partitionTypes are the types of GPT partitions that Windows makes.
var partitionTypes = map[string]string{
	"c12a7328-f81f-11d2-ba4b-00a0c93ec93b": "EFI",
	"e3c9e316-0b5c-4db8-817d-f92df00215ae": "reserved",
	"ebd0a0a2-b9e5-4433-87c0-68b6b72699c7": "basic data",
	"5808c8aa-7e8f-42e0-85d2-e1e90434cfb3": "LDM metadata",
	"af9b60a0-1431-4f62-bc68-3311714a69ad": "LDM data",
	"de94bba4-06d1-4d40-a16a-bfd50179d6ac": "recovery",
	"e75caf8f-f680-4cee-afa3-b001e56efc2d": "storage spaces",
}

func partitionType(guid string, mbr byte, isGPT bool) string {
	if !isGPT {
		return fmt.Sprintf("type 0x%02x", mbr)
	}
	if name, ok := partitionTypes[strings.ToLower(strings.Trim(guid, "{}"))]; ok {
		return name
	}
	return guid
}

// problem is an error in words, with the code of Windows.
func problem(err error) string { return errdefs.Wrap("", "", err).Error() }

// What a volume without file system holds.
const (
	contentEmpty   = "empty"
	contentForeign = "foreign"
	contentDamaged = "damaged"
	contentUnknown = "unknown"
)

func describedVolume(d volume.Description) volumeObject {
	o := volumeObject{ID: d.ID.String(), FileSystem: d.FileSystem, Label: d.Label}
	if len(d.Extents) > 0 {
		o.Disk = &d.Extents[0].Disk
	}
	formatted, readOnly := d.FileSystem != "", d.Flags.ReadOnly()
	switch {
	case formatted:
		o.Formatted, o.ReadOnly, o.Dirty = &formatted, &readOnly, &d.Dirty
		o.Serial = fmt.Sprintf("%08x", d.SerialNumber)
		o.SizeBytes, o.UsedBytes, o.AvailableBytes = int64(d.Space.Total), int64(d.Space.Total-d.Space.Free), int64(d.Space.Available)
	case d.Err == nil:
		o.Formatted, o.Content = &formatted, contentOf(d.Content)
	}
	for _, m := range d.Mounts {
		o.Mounts = append(o.Mounts, mountObject{m.Path, m.Stale})
	}
	if d.Content != nil {
		o.Problems = append(o.Problems, problem(d.Content))
	}
	if d.Err != nil {
		o.Problems = append(o.Problems, problem(d.Err))
	}
	return o
}

func contentOf(err error) string {
	switch {
	case err == nil:
		return contentEmpty
	case errors.Is(err, errdefs.ErrForeignContent):
		return contentForeign
	case errors.Is(err, errdefs.ErrDamaged):
		return contentDamaged
	}
	return contentUnknown
}

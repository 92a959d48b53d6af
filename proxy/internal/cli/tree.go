// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

func (a *app) treeCommand() *cobra.Command {
	return a.command("", verb{
		use:   "tree",
		short: "Draw the disks with their partitions, volumes and mount paths",
		long: `What is wrong is marked with !: a disk that is offline or read-only, a volume
without file system, with a foreign or damaged one or one to be checked, a path of
the mount manager where the volume is not mounted any more.`,
		example: "tree --host sim:azure-scsi",
		read:    readTree,
	})
}

func readTree(ctx context.Context, h *host, _ []string) (*table, error) {
	disks, err := h.disk.ListDisks(ctx)
	if err != nil {
		return nil, err
	}
	t := &table{kind: kindDisk}
	root := &branch{}
	for _, d := range disks {
		o, err := diskInFull(ctx, h, d.Number)
		if errors.Is(err, errdefs.ErrNotFound) {
			continue // gone since it was listed, or it does not tell its number
		}
		if err != nil {
			return nil, err
		}
		t.items = append(t.items, o)
		root.below = append(root.below, diskBranch(o))
	}
	for line := range strings.Lines(root.draw("")) {
		t.rows = append(t.rows, []string{strings.TrimSuffix(line, "\n")})
	}
	return t, nil
}

// draw draws the disk or volume that a change is about.
func draw(ctx context.Context, h *host, about subject) (string, error) {
	root := &branch{}
	switch {
	case about.disk != nil:
		o, err := diskInFull(ctx, h, *about.disk)
		if err != nil {
			return "", err
		}
		root.below = append(root.below, diskBranch(o))
	case about.volume != "":
		d, err := h.volume.DescribeVolume(ctx, about.volume)
		switch {
		case about.mayBeGone && errors.Is(err, errdefs.ErrNotFound):
			return "", nil
		case err != nil:
			return "", err
		}
		root.below = append(root.below, volumeBranch(describedVolume(d)))
	}
	return root.draw(""), nil
}

// diskInFull is a disk with its partitions and volumes.
func diskInFull(ctx context.Context, h *host, number uint32) (diskObject, error) {
	details, err := h.disk.DescribeDisk(ctx, number)
	if err != nil {
		return diskObject{}, err
	}
	o := detailed(details)
	if o.State == stateName(true) && len(o.Partitions) > 0 {
		addVolumes(ctx, h, &o)
	}
	return o, nil
}

// treePatience is how long a tree waits for volumes that Windows has not made.
const treePatience = 2 * time.Second

// addVolumes puts a disk's volumes into its partitions.
func addVolumes(ctx context.Context, h *host, o *diskObject) {
	waiting, cancel := context.WithTimeout(ctx, treePatience)
	defer cancel()
	ids, err := volumesOn(waiting, h, o.Number, 0)
	if err != nil {
		o.Problems = append(o.Problems, err.Error())
		return
	}
	for _, id := range ids {
		d, err := h.volume.DescribeVolume(ctx, id)
		if err != nil {
			o.Problems = append(o.Problems, err.Error())
			continue
		}
		v := describedVolume(d)
		for _, e := range d.Extents {
			at := slices.IndexFunc(o.Partitions, func(p partitionObject) bool { return e.Disk == o.Number && e.Offset == p.OffsetBytes })
			if at >= 0 {
				o.Partitions[at].Volume = &v
			}
		}
	}
}

// branch is a node of a tree: some words, what is wrong, and what is below.
type branch struct {
	words []string
	wrong []string
	below []*branch
}

func (b *branch) say(words ...string) {
	for _, w := range words {
		if w != "" {
			b.words = append(b.words, w)
		}
	}
}

// treeWidth is what fits a terminal; problems longer than a line are cut, their
// full text is in -o json.
const treeWidth = 100

// draw draws what is below a branch, behind an indent.
func (b *branch) draw(indent string) string {
	var out strings.Builder
	for i, child := range b.below {
		fork, next := "├─ ", "│  "
		if i == len(b.below)-1 {
			fork, next = "└─ ", "   "
		}
		out.WriteString(cut(indent+fork+strings.Join(child.words, "  ")) + "\n")
		bar := "   "
		if len(child.below) > 0 {
			bar = "│  "
		}
		for _, wrong := range child.wrong {
			out.WriteString(cut(indent+next+bar+"! "+wrong) + "\n")
		}
		out.WriteString(child.draw(indent + next))
	}
	return out.String()
}

func cut(line string) string {
	if utf8.RuneCountInString(line) <= treeWidth {
		return line
	}
	return string([]rune(line)[:treeWidth-3]) + "..."
}

func diskBranch(o diskObject) *branch {
	b := &branch{}
	b.say(fmt.Sprintf("disk %d", o.Number), sizeWord(o.SizeBytes), o.Bus, o.Product, serialWord(o), styleWord(o.Style))
	switch {
	case o.State == "":
		b.wrong = append(b.wrong, "state unknown")
	case o.State == stateName(false) && o.OfflineReason != "" && o.OfflineReason != "none":
		b.wrong = append(b.wrong, "offline: "+o.OfflineReason)
	case o.State == stateName(false):
		b.wrong = append(b.wrong, "offline")
	}
	if o.ReadOnly != nil && *o.ReadOnly {
		b.wrong = append(b.wrong, "read-only")
	}
	b.wrong = append(b.wrong, o.Problems...)
	for _, p := range o.Partitions {
		b.below = append(b.below, partitionBranch(p))
	}
	return b
}

func sizeWord(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return size(bytes).String()
}

// serialWord is the shortest that tells a disk from its likes.
func serialWord(o diskObject) string {
	if serial := strings.TrimSpace(o.Serial); serial != "" {
		return "serial " + serial
	}
	if o.Page83 != "" {
		return "page 83 " + strings.TrimSpace(o.Page83)
	}
	return ""
}

func styleWord(style string) string {
	if style == "RAW" {
		return "no partition table"
	}
	return style
}

func partitionBranch(p partitionObject) *branch {
	b := &branch{}
	b.say(fmt.Sprintf("partition %d", p.Number), sizeWord(p.SizeBytes), p.Type)
	if p.Volume != nil {
		b.below = append(b.below, volumeBranch(*p.Volume))
	}
	return b
}

func volumeBranch(v volumeObject) *branch {
	b := &branch{}
	b.say(v.ID, v.FileSystem, quoted(v.Label))
	if v.UsedBytes > 0 {
		b.say(size(v.UsedBytes).String() + " used")
	}
	switch {
	case v.Formatted == nil:
		b.wrong = append(b.wrong, "file system unknown")
	case !*v.Formatted && v.Content == contentEmpty:
		b.wrong = append(b.wrong, "RAW: not formatted")
	case !*v.Formatted:
		b.wrong = append(b.wrong, "RAW")
	}
	if v.ReadOnly != nil && *v.ReadOnly {
		b.wrong = append(b.wrong, "read-only")
	}
	if v.Dirty != nil && *v.Dirty {
		b.wrong = append(b.wrong, "dirty: Windows wants to check it")
	}
	b.wrong = append(b.wrong, v.Problems...)
	for _, m := range v.Mounts {
		mount := &branch{words: []string{m.Path}}
		if m.Stale {
			mount.wrong = []string{"stale: the volume is not mounted there any more"}
		}
		b.below = append(b.below, mount)
	}
	return b
}
